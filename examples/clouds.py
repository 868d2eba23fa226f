"""Training and inference of ResNet-18 on MONET's Edge-TPU-like chips: do the clouds differ, what are large processing elements good for (MONET, figures 1 and 8).

The space edge_tpu: processing elements (PEs) in a mesh of 1 to 8 by 1 to 8, each with 16 to 1,024 lanes (vector units x lanes), 0.5 to 4 MiB of memory and 8 to 64 KiB of
registers. Training with AdamW, FP16 with master weights.
"""
import math

import study

MODES = ("training", "inference")
VARIABLES = ("x_pes", "y_pes", "simd", "lanes", "local_kib", "registers_kib")
CLASSES = {"16 to 32": (16, 32), "64": (64, 64), "128": (128, 128), "256": (256, 256), "512 to 1,024": (512, 1024)}  # lanes of a PE
LARGE = 256
BUDGETS = (256, 1024, 4096, 16384, 65536)  # lanes of the chip


def lanes(chip):
    return chip["simd"] * chip["lanes"]


def budget(chip):
    return chip["x_pes"] * chip["y_pes"] * lanes(chip)


def latency(mode):
    return lambda chip: chip[mode]["latency_s"]


def energy(mode):
    return lambda chip: chip[mode]["energy_pj"]


def dynamic(mode):
    """Without leakage, which MONET's chips have no figure for and ours is modelled."""
    return lambda chip: chip[mode]["energy_pj"] - chip[mode]["leakage_pj"]


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    ranked, i = [0.0] * len(values), 0
    while i < len(order):
        j = i
        while j < len(order) and values[order[j]] == values[order[i]]:
            j += 1
        for k in order[i:j]:
            ranked[k] = (i + j - 1) / 2
        i = j
    return ranked


def correlation(chips, first, second):
    """Spearman's, of ranks."""
    a, b = ranks([first(c) for c in chips]), ranks([second(c) for c in chips])
    mean = (len(a) - 1) / 2
    var = lambda v: sum((x - mean) ** 2 for x in v)
    return sum((x - mean) * (y - mean) for x, y in zip(a, b)) / (math.sqrt(var(a) * var(b)) or 1)


def near(chips, figure, slack=1.01):
    least = min(map(figure, chips))
    return [c for c in chips if figure(c) <= slack * least]


def share(part, whole):
    return f"{100 * len(part) / len(whole):.0f} %" if whole else "none"


def large(chips):
    return [c for c in chips if lanes(c) >= LARGE]


def by_class(chips, name):
    low, high = CLASSES[name]
    return [c for c in chips if low <= lanes(c) <= high]


def words(chip):
    return f"{chip['x_pes']:.0f} x {chip['y_pes']:.0f} PEs of {lanes(chip):.0f} lanes, {chip['local_kib'] / 1024:g} MiB"


def main():
    arguments = study.arguments(__doc__, ("--model", {"default": "resnet18"}), *study.exploration("clouds", "grid", 400))
    if arguments.quick:
        arguments.model = "resnet18:image=32,classes=10,width=8"
    monet = study.Monet(arguments.monet)
    ran, chips, result = monet.explore(arguments, "chips", arguments.model, "--space", "edge_tpu", "--sensitivity")

    figures = [("latency", latency), ("energy", energy), ("energy without leakage", dynamic)]
    least = {(name, mode): min(chips, key=of(mode)) for name, of in figures for mode in MODES}
    cloud_rows = []
    for name, of in figures:
        t, i = of("training"), of("inference")
        ratios = [t(c) / i(c) for c in chips]
        tenth = {mode: {id(c) for c in sorted(chips, key=of(mode))[:max(1, len(chips) // 10)]} for mode in MODES}
        most = lambda f: f"{max(map(f, chips)) / min(map(f, chips)):.2f}"
        cloud_rows.append((name, most(t), most(i), f"{min(ratios):.1f} to {max(ratios):.1f}, median {study.quantile(ratios, 0.5):.1f}", f"{correlation(chips, t, i):.2f}",
                           f"{100 * len(tenth['training'] & tenth['inference']) / len(tenth['training']):.0f} %", study.percent(t(least[name, "inference"]), t(least[name, "training"]))))
    class_rows = []
    for name in CLASSES:
        if of_class := by_class(chips, name):
            row = [study.percent(min(map(of(mode), of_class)), of(mode)(least[what, mode])) for what, of in figures for mode in MODES]
            class_rows.append((name, len(of_class), *row))
    effects = {(what, mode): study.main_effects(chips, VARIABLES, of(mode)) for what, of in figures for mode in MODES}
    effect_rows = [(v, *(f"{100 * e[v]:.0f} %" for e in effects.values())) for v in VARIABLES]
    fronts = {(mode, what): study.front(chips, latency(mode), of(mode)) for mode in MODES for what, of in figures[1:]}
    front_rows = [(mode, what, len(front), share(large(front), front), f"{2 ** (sum(math.log2(lanes(c)) for c in front) / len(front)):.0f}",
                   f"{sum(c['local_kib'] for c in front) / len(front) / 1024:.1f}", f"{sum(c['x_pes'] * c['y_pes'] for c in front) / len(front):.1f}")
                  for (mode, what), front in fronts.items()]
    budget_rows = []
    for low, high in zip((0, *BUDGETS), BUDGETS):
        within = [c for c in chips if low < budget(c) <= high]
        if not large(within) or len(large(within)) == len(within):
            continue
        small = [c for c in within if lanes(c) < LARGE]
        row = [study.percent(min(map(of(mode), large(within))), min(map(of(mode), small))) for mode in MODES for of in (energy, dynamic)]
        frugal = [min(of_size, key=dynamic("training")) for of_size in (small, large(within))]
        moved = " and ".join(f"{c['training']['offchip_bytes'] / 1e6:.0f}" for c in frugal)
        held = " and ".join(f"{c['x_pes'] * c['y_pes'] * c['local_kib'] / 1024:g}" for c in frugal)
        budget_rows.append((f"{low + 1:,} to {high:,}", len(small), len(large(within)), *row, moved, held))
    quick_chips = {mode: near(chips, latency(mode)) for mode in MODES}
    leaks = study.quantile([c["training"]["leakage_pj"] / c["training"]["energy_pj"] for c in chips], 0.5)
    memory = {mode: f"{100 * effects['energy without leakage', mode]['local_kib']:.0f} %" for mode in MODES}

    # Why: the chip that is fastest in inference beside the one that is fastest in training, both training.
    runs = {mode: arguments.run / f"fastest_{mode}" for mode in MODES}
    sets = {mode: study.settings(least["latency", mode], VARIABLES) for mode in MODES}
    common = (arguments.model, "--on", "edge_tpu_hda")
    for mode, run in runs.items():
        monet("evaluate", *common, *sets[mode], "--updates", "fused", "--out", run)
    monet("evaluate", *common, *sets["inference"], "--mode", "inference", "--out", arguments.run / "inference")
    compared = monet.compare(runs["inference"], runs["training"])
    phase_rows = study.differences(compared["latency, by phase"])
    cycles = compared["latency, by phase"]
    update = next((p["second"] for p in cycles["parts"] if p["name"] == "update"), 0) / cycles["second"]

    drawn = []
    for mode in MODES:
        place = lambda c: (latency(mode)(c) * 1e3, energy(mode)(c) / 1e9)
        series = [(f"{name} lanes", [place(c) for c in by_class(chips, name)], "cloud") for name in CLASSES]
        series.append(("front", [place(c) for c in fronts[mode, "energy"]], "path"))
        shown = [(s, colour) for s, colour in zip(series, (*study.RAMP, "#222222")) if s[1]]
        drawn.append(study.panel([s for s, _ in shown], "latency, ms", "energy, mJ", f"{mode}, by lanes of a PE", colours=[c for _, c in shown], logarithmic=True))
    lines = []
    for mode in MODES:
        series = []
        for name in CLASSES:
            fit = lambda most: [dynamic(mode)(c) / 1e9 for c in by_class(chips, name) if budget(c) <= most]
            series.append((f"{name} lanes", [(most, min(fit(most))) for most in (2 ** k for k in range(4, 17)) if fit(most)], "line"))
        shown = [(s, colour) for s, colour in zip(series, study.RAMP) if s[1]]
        lines.append(study.panel([s for s, _ in shown], "lanes of the chip, at most", "least energy without leakage, mJ", f"{mode}: least energy by budget", colours=[c for _, c in shown], logarithmic=True))

    inference, training = quick_chips["inference"], quick_chips["training"]
    text = f"""# Edge chips for training and for inference

`python3 examples/clouds.py`: {' '.join(__doc__.split())} Here {arguments.model}, batch 1, {ran}{"" if arguments.strategy == "grid" else f": `--evaluations {arguments.evaluations}`; all of them with `--strategy grid`"}.

![clouds](clouds.svg)

| reported (MONET, figures 1 and 8) | ours | why they differ |
|---|---|---|
| the same chips make different clouds in training and in inference | ranks of chips agree by {cloud_rows[0][4]} in latency, {cloud_rows[1][4]} in energy and {cloud_rows[2][4]} in energy without leakage (1: same order, 0: none); of the best tenth {cloud_rows[0][5]}, {cloud_rows[1][5]} and {cloud_rows[2][5]} are the same. The best for inference takes {cloud_rows[0][6]} latency, {cloud_rows[1][6]} energy, {cloud_rows[2][6]} energy without leakage in training, against the best there | leakage is {100 * leaks:.0f} % of a training's energy (median) and goes by the memory on the chip, in both alike; MONET's chips have none. Without it they differ as reported: a PE's memory alone has {memory['training']} of the variance in training, where activations and gradients stay in it or do not, and {memory['inference']} in inference |
| large PEs are good for the latency of inference, but not on the front of training | of the chips at most 1 % slower than the fastest, {share(large(inference), inference)} have PEs of {LARGE} lanes and more in inference ({len(inference)} chips) and {share(large(training), training)} in training ({len(training)}); of all chips {share(large(chips), chips)}. Of the fronts of latency and energy: {front_rows[2][3]} in inference, {front_rows[0][3]} in training; of latency and energy without leakage {front_rows[3][3]} and {front_rows[1][3]} | leakage again: large PEs bring less memory for a lane. For latency, the update is {100 * update:.0f} % of the fastest training. It moves 26 bytes a weight (28 where its gradient has left the chip) through 8 bytes a cycle and the vector core, and no PE has a part in it; what PEs do for the rest they do in both. How much of its time MONET's schedule spends on updates is not known to us |
| for energy, large PEs pay only if the chip has many resources | least energy of training without leakage, large PEs against small ones: {'; '.join(f"{r[0]} lanes {r[4]} ({r[3]} with leakage)" for r in budget_rows) or "too few chips"} | few lanes in large PEs are few PEs, and each brings its own memory: less is kept on the chip, more goes off it (last table). Leakage turns it around: what does not fit costs less than memory that leaks |
| training takes about 10 times the energy and 6 times the latency of inference (fronts in a notebook of its published scripts, preliminary) | {cloud_rows[1][3]} times the energy ({cloud_rows[2][3]} without leakage), {cloud_rows[0][3]} times the latency | at batch 1 it is the update again, which an inference does not have. The notebook's model may be another |

## The clouds
{study.table(("", "training: most over least", "inference: most over least", "training over inference", "correlation of ranks", "of the best tenth in both", "the best for inference, in training"), cloud_rows)}
Best of a size of PE against the best of all:

{study.table(("lanes of a PE", "chips", *(f"{what}, {mode}" for what, _ in figures for mode in MODES)), class_rows)}
Share of the variance of the logarithm that the means by one variable alone have{"" if arguments.strategy == "grid" else " (estimates: not all chips were run)"}:

{study.table(("", *(f"{what}, {mode}" for what, _ in figures for mode in MODES)), effect_rows)}
Fronts of latency and energy:

{study.table(("", "of latency and", "chips", f"with PEs of {LARGE} lanes and more", "lanes of a PE (geometric mean)", "MiB of a PE (mean)", "PEs (mean)"), front_rows)}
Least energy with PEs of {LARGE} lanes and more against the least with smaller ones, by lanes of the whole chip:

{study.table(("lanes of the chip", "small PEs", "large PEs", *(f"{mode}, {what}" for mode in MODES for what in ("energy", "without leakage")), "MB off-chip in training (small, large)", "MiB in all PEs (small, large)"), budget_rows)}
## Is a chip for inference good for training?
What the chip that is best for inference costs more in training than the best one there, by what both were chosen by; and the same with every modelled or assumed constant (areas, leakage: {result["sensitivity"]["constants"]} of them) {100 * result["sensitivity"]["share"]:.0f} % smaller and larger.

{study.table(("by", "more in training", "with a constant changed", "the best chip"), study.regrets(result, "inference", "training"))}
## Why
The fastest chip for inference ({words(least['latency', 'inference'])}) and the fastest for training ({words(least['latency', 'training'])}), both training: cycles by phase, by `monet compare`.

{study.table(("phase", "fastest for inference", "fastest for training", "change"), phase_rows)}
What was waited for (`monet explain RUN latency`): the fastest for inference in inference {monet.waited(arguments.run / 'inference')}; in training {monet.waited(runs['inference'])}. The fastest for training: {monet.waited(runs['training'])}.
Off the chip they move {least['latency', 'inference']['training']['offchip_bytes'] / 1e6:.0f} and {least['latency', 'training']['training']['offchip_bytes'] / 1e6:.0f} MB in training ({least['latency', 'inference']['inference']['offchip_bytes'] / 1e6:.0f} and {least['latency', 'training']['inference']['offchip_bytes'] / 1e6:.0f} MB in inference): what the forward pass leaves for the backward pass stays in the memory of the PEs or does not.

```sh
monet evaluate {' '.join(map(str, common))} {' '.join(sets['inference'])} --updates fused --out inference
monet evaluate {' '.join(map(str, common))} {' '.join(sets['training'])} --updates fused --out training
monet compare inference training
monet explain training latency
```
"""
    study.write(arguments.out, "clouds", study.drawing(drawn, lines), text)


if __name__ == "__main__":
    main()
