"""Continual learning at the edge: one chip looks at every frame, has some labelled by a larger network, and trains on them in the time that is left.

A student (ResNet-18) infers each frame within its period; a teacher labels sampled frames and the student is trained on them, interrupted by every frame. One adaptation is the labelling, the validation
and the training of one window. Which chip adapts soonest, and for what energy? Is it the one that is best for inference?
"""
import argparse
import math
import pathlib

import study

DACAPO = "Dacapo"
# name, default, what it is, source
SETTING = (
    ("--student", "resnet18:classes=9", "network that looks at every frame", DACAPO),
    ("--teacher", "resnet50:classes=9", "network that labels", "assumed; Dacapo has Wide ResNet-50-2, which is nearly three times as large"),
    ("--fps", 30.0, "frames a second; a frame is due before the next one comes", DACAPO),
    ("--label", 108, "frames labelled for an adaptation", DACAPO + ": at least 108"),
    ("--label-batch", 1, "frames labelled at once", "assumed"),
    ("--validate", 108, "labelled frames the student is tried on", DACAPO),
    ("--train", 324, "labelled frames it is trained on", DACAPO),
    ("--train-batch", 16, "frames in an iteration", DACAPO),
    ("--epochs", 1, "times it sees each of them", DACAPO),
    ("--optimizer", "momentum", "of the training", DACAPO),
    ("--switch", 0.0, "ms that a frame's interruption takes", "assumed: between two operators, whose results lie off the chip"),
    ("--window", 120.0, "s in which one adaptation is wanted", DACAPO),
)
OTHERWISE = (("432 frames labelled (Dacapo's most)", {"label": 432}), ("3 epochs", {"epochs": 3}), ("60 frames a second", {"fps": 60.0}), ("5 ms for an interruption", {"switch": 5.0}))
VARIABLES = ("x_pes", "y_pes", "simd", "lanes", "local_kib")


def adapted(chip, setting):
    """What a second and an adaptation take on this chip. Energies in J, times in s."""
    infer, label, train = ((chip[k]["latency_s"], chip[k]["energy_pj"] * 1e-12) for k in ("inference", "labelling", "training"))
    labellings, iterations = math.ceil(setting.label / setting.label_batch), setting.epochs * math.ceil(setting.train / setting.train_batch)
    busy = setting.fps * (infer[0] + setting.switch * 1e-3)
    total = lambda k: labellings * label[k] + setting.validate * infer[k] + iterations * train[k]
    work, energy = total(0), total(1)
    idle = 1 - busy - work / setting.window
    leakage = chip["inference"]["leakage_pj"] * 1e-12 / infer[0]
    return chip | {"holds": busy <= 1, "busy": busy, "adaptation_s": work / (1 - busy) if busy < 1 else math.inf, "adaptation_j": energy, "in_time": idle >= 0,
                   "parts_j": (labellings * label[1], setting.validate * infer[1], iterations * train[1]),
                   "most_w": setting.fps * infer[1] + (1 - busy) / work * energy, "window_w": setting.fps * infer[1] + energy / setting.window + leakage * max(idle, 0)}


def words(chip):
    return f"{chip['x_pes']:.0f} x {chip['y_pes']:.0f} PEs of {chip['simd']:.0f} x {chip['lanes']:.0f} lanes, {chip['local_kib'] / 1024:g} MiB"


def main():
    options = [(name, {"type": type(default), "default": default, "help": f"{meaning} ({source})"}) for name, default, meaning, source in SETTING]
    space = ("--space", {"default": str(pathlib.Path(__file__).with_suffix(".yaml"))})
    arguments = study.arguments(__doc__, *options, space, *study.exploration("continual", "grid", 36))
    if arguments.quick:
        arguments.student, arguments.teacher = "resnet18:classes=9,image=32,width=8", "resnet34:classes=9,image=32,width=8"
        arguments.train_batch = 4
    monet = study.Monet(arguments.monet)
    asked = {"inference": (arguments.student, "--mode", "inference"),
             "labelling": (arguments.teacher, "--mode", "inference", "--batch", arguments.label_batch),
             "training": (arguments.student, "--mode", "training", "--batch", arguments.train_batch, "--optimizer", arguments.optimizer)}
    found = {}
    for job, command in asked.items():
        ran, chips, _ = monet.explore(arguments, job, *command, "--space", arguments.space)
        for chip in chips:
            chip.setdefault("y_pes", chip["x_pes"])  # computed in our space: not among its decisions
            found.setdefault(tuple(chip[v] for v in VARIABLES), {v: chip[v] for v in VARIABLES})[job] = chip[command[2]]
    chips = [adapted(c, arguments) for c in found.values() if all(job in c for job in asked)]
    able = [c for c in chips if c["holds"]]
    if not able:
        raise SystemExit(f"no chip infers {arguments.fps:g} frames a second: lower --fps or take another --space")

    sooner, cheaper, spare = (lambda c: c["adaptation_s"]), (lambda c: c["adaptation_j"]), (lambda c: c["window_w"])
    front = study.front(able, sooner, cheaper)
    goals = {"soonest adaptation": sooner, "least energy of an adaptation": cheaper, f"least power, an adaptation every {arguments.window:g} s": spare}
    best = {goal: min(able, key=figure) for goal, figure in goals.items()}
    inference = {"latency": lambda c: c["inference"]["latency_s"], "energy": lambda c: c["inference"]["energy_pj"],
                 "latency x energy": lambda c: c["inference"]["latency_s"] * c["inference"]["energy_pj"]}
    chosen = {by: min(able, key=figure) for by, figure in inference.items()}
    row = lambda name, c: (name, words(c), f"{c['inference']['latency_s'] * 1e3:.2f}", f"{100 * c['busy']:.0f} %", f"{c['adaptation_s']:.1f}", f"{60 / c['adaptation_s']:.1f}", f"{c['adaptation_j']:.2f}",
                           "/".join(f"{100 * part / c['adaptation_j']:.0f}" for part in c["parts_j"]), f"{c['most_w']:.2f}", f"{c['window_w']:.2f}" + ("" if c["in_time"] else " (late)"))
    rows = [row("front", c) for c in front] + [row(f"best in inference by {by}", c) for by, c in chosen.items()]
    regret = [(f"inference's {by}", words(c), *(study.percent(figure(c), figure(best[goal])) for goal, figure in goals.items())) for by, c in chosen.items()]

    other_rows = []
    for name, change in (("as above", {}), *OTHERWISE):
        others = [c for chip in chips if (c := adapted(chip, argparse.Namespace(**vars(arguments) | change)))["holds"]]
        if others:
            soon, by_energy = min(others, key=sooner), min(others, key=inference["energy"])
            other_rows.append((name, len(others), f"{soon['adaptation_s']:.1f}", words(soon), f"{min(map(cheaper, others)):.2f}", study.percent(sooner(by_energy), sooner(soon)), study.percent(cheaper(by_energy), min(map(cheaper, others)))))
    most = lambda figure: study.percent(max(map(figure, able)), min(map(figure, able)))

    # Why: the chip that inference alone would choose by the product, beside the one that adapts soonest, both training.
    pair = {"inference": chosen["latency x energy"], "adaptation": best["soonest adaptation"]}
    runs = {name: arguments.run / f"best_{name}" for name in pair}
    common = asked["training"][:1] + asked["training"][3:]
    for name, chip in pair.items():
        monet("evaluate", *common, "--on", "edge_tpu_hda", *study.settings(chip, VARIABLES), "--updates", "fused", "--out", runs[name])
    compared = monet.compare(runs["inference"], runs["adaptation"])

    place = lambda c: (c["adaptation_s"], c["adaptation_j"])
    sizes = sorted({c["local_kib"] for c in able})
    colours = (*study.RAMP[1:1 + len(sizes)], "#222222")
    clouds = [(f"{size / 1024:g} MiB a PE", [c for c in able if c["local_kib"] == size]) for size in sizes]
    left = [(name, [place(c) for c in of], "points") for name, of in clouds] + [("front", [place(c) for c in front], "path")]
    frame = lambda c: (c["inference"]["latency_s"] * 1e3, c["inference"]["energy_pj"] / 1e9)
    right = [(name, [frame(c) for c in of], "points") for name, of in clouds] + [("front of adaptations", [frame(c) for c in front], "rings")]
    figure = study.drawing([study.panel(left, "s to an adaptation, beside every frame", "J of an adaptation", "adaptation", colours=colours),
                            study.panel(right, "ms of a frame", "mJ of a frame", "inference of the same chips", colours=colours)])
    late = [c for c in chips if not c["holds"]]
    ratio = lambda c: c["training"]["latency_s"] / c["inference"]["latency_s"] / arguments.train_batch
    ratios = [ratio(c) for c in chips]
    head = ("", "chip", "ms a frame", "of the time", "s to an adaptation", "adaptations a minute", "J of one", "of it labelling/validation/training, %", "W, adapting always", f"W, one every {arguments.window:g} s")
    text = f"""# Learning beside looking

`python3 examples/continual.py`: {' '.join(__doc__.split())} Space [continual.yaml](continual.yaml), {ran}.

![adaptations](continual.svg)

{study.table(("option", "here", "what", "source"), [(f"`{name}`", getattr(arguments, name[2:].replace("-", "_")), meaning, source) for name, _, meaning, source in SETTING])}
Dacapo (ISCA 2024, arXiv 2403.14353): the configuration of its published simulator for ResNet-18 with Wide ResNet-50-2.

A frame takes the inference and the interruption; what is left of the second goes to adaptations, and to leakage where nothing is to be done. {len(able)} of {len(chips)} chips look at every frame in time{f" ({len(late)} do not)" if late else ""}; {sum(c["in_time"] for c in able)} of them
adapt once in {arguments.window:g} s. From the best of them to the worst: {most(inference['latency'])} for the time of a frame, {most(sooner)} for the time to an adaptation, {most(cheaper)} for its energy.

{study.table(head, rows)}
## If inference alone chooses the chip
What it then costs, against the chip that is best for each goal:

{study.table(("chosen by", "chip", *goals), regret)}
The best: {'; '.join(f"{goal}: {words(c)}" for goal, c in best.items())}.

If the setting were another one:

{study.table(("", "chips in time", "soonest adaptation, s", "its chip", "least J of one", "best in inference by energy: s to an adaptation", "its J of one"), other_rows)}
## Why
The chip that is best in inference by latency x energy and the one that adapts soonest, an iteration of {arguments.train_batch}: cycles by phase, by `monet compare`.

{study.table(("phase", "best in inference", "soonest adaptation", "change"), study.differences(compared["latency, by phase"]))}
What was waited for, by `monet explain RUN latency`: {monet.waited(runs['inference'])} on the first, {monet.waited(runs['adaptation'])} on the second.

```sh
monet evaluate {' '.join(map(str, common))} --on edge_tpu_hda {' '.join(study.settings(pair['inference'], VARIABLES))} --updates fused --out inference
monet evaluate {' '.join(map(str, common))} --on edge_tpu_hda {' '.join(study.settings(pair['adaptation'], VARIABLES))} --updates fused --out adaptation
monet compare inference adaptation
monet explain adaptation latency
```

| reported (Dacapo's published simulator, MX9, 500 MHz) | ours | why they differ |
|---|---|---|
| a frame of an iteration of 16 takes 2.8 times as long as an inference: 0.825 s / 16 against 18.3 ms | {min(ratios):.1f} to {max(ratios):.1f} times | there, memory is hardly waited for, and multiply-adds decide: three times those of an inference. Here an inference waits for the weights it reads, an iteration reads them for {arguments.train_batch} frames at once |
"""
    study.write(arguments.out, "continual", figure, text)


if __name__ == "__main__":
    main()
