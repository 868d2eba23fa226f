"""A small GPT-2 on MONET's FuseMax chips: a tight cloud? what decides? training against inference (MONET, figure 9).

gpt2-mini (4 layers, width 512, 256 tokens, batch 1) on the space fusemax, training (AdamW, FP16 with master weights; the tables of tokens and
positions are not trained, as there) and inference.
"""
import study

VARIABLES = ("x", "y", "vector_lanes", "buffer_bits", "buffer_mib", "offchip_bits")
MODES = ("training", "inference")
PARTS = ("compute_pj", "memory_pj", "offchip_pj", "leakage_pj")
POINT = dict(x=256, y=256, vector_lanes=128, buffer_bits=4096, buffer_mib=16, offchip_bits=2048)  # that of MONET's comparisons
LAYERS = ("--train", "transformer|fc_out")
OTHER = "gpt2-mini:layers=2,width=384,heads=6,ff=1536,vocab=20000"  # in two more of its scripts
WIDER = ("--set", "cores.vector.memories.local.bits_per_cycle=1024")


def figure(mode, name):
    return lambda chip: chip[mode][name]


def spread(chips, mode, name):
    values = [chip[mode][name] for chip in chips]
    middle = study.quantile(values, 0.95) / study.quantile(values, 0.05)
    return f"{max(values) / min(values):.2f} ({middle:.2f} without the outermost 5 % on each side)"


def between(values, unit=""):
    return f"{min(values):.1f} to {max(values):.1f}{unit}, median {study.quantile(values, 0.5):.1f}{unit}"


def main():
    arguments = study.arguments(__doc__, ("--model", {"default": "gpt2-mini"}), *study.exploration("gpt2_fusemax", "grid", 256))
    if arguments.quick:
        arguments.model = "gpt2-mini:seq=16,layers=1,width=32,heads=2,ff=64,vocab=100"
    monet = study.Monet(arguments.monet)
    ran, chips, result = monet.explore(arguments, "layers", arguments.model, "--space", "fusemax", *LAYERS, "--sensitivity")
    _, trained, _ = monet.explore(arguments, "all", arguments.model, "--space", "fusemax", "--mode", "training")
    tables = {tuple(c[v] for v in VARIABLES): c["training"]["energy_pj"] for c in trained}
    least = lambda of, mode: min(map(figure(mode, "energy_pj"), of))
    ratio = lambda name: [c["training"][name] / c["inference"][name] for c in chips]
    with_tables = [tables[key] / c["inference"]["energy_pj"] for c in chips if (key := tuple(c[v] for v in VARIABLES)) in tables]

    effects = {(mode, name): study.main_effects(chips, VARIABLES, figure(mode, name)) for mode in MODES for name in ("latency_s", "energy_pj")}
    share = lambda value: f"{100 * value:.1f} %"
    effect_rows = [(v, *(share(effects[key][v]) for key in effects)) for v in VARIABLES]
    if arguments.strategy == "grid":
        effect_rows.append(("only together", *(share(1 - sum(e.values())) for e in effects.values())))
    most = lambda mode, name: max(VARIABLES, key=effects[mode, name].get)
    buffer_rows = []
    for bits in sorted({c["buffer_bits"] for c in chips}):
        of = [c for c in chips if c["buffer_bits"] == bits]
        mean = lambda mode, name, scale: f"{sum(c[mode][name] for c in of) / len(of) * scale:.2f}"
        buffer_rows.append((f"{bits:,.0f}", *(mean(mode, name, scale) for mode in MODES for name, scale in (("latency_s", 1e3), ("memory_pj", 1e-9), ("energy_pj", 1e-9)))))

    # One chip, part by part: that of MONET's comparisons.
    sets = study.settings(POINT, VARIABLES)
    runs = {mode: arguments.run / mode for mode in MODES}
    for mode, run in runs.items():
        monet("evaluate", arguments.model, "--on", "fusemax_monet", *sets, "--mode", mode, "--updates", "fused", *LAYERS, "--out", run)
    figures = monet.compare(runs["inference"], runs["training"])
    energy, phases = figures["energy, by part"], {p["name"]: p["second"] for p in figures["energy, by phase"]["parts"]}
    part_rows = [(p["name"], f"{p['first'] / 1e9:.2f}", f"{p['second'] / 1e9:.2f}", f"{p['second'] / p['first']:.1f}") for p in energy["parts"] if p["first"]]
    part_rows.append(("all", f"{energy['first'] / 1e9:.2f}", f"{energy['second'] / 1e9:.2f}", f"{energy['second'] / energy['first']:.1f}"))
    waited = {mode: monet.explain(run, "latency")["What was waited for"][0] for mode, run in runs.items()}
    vector = monet.explain(runs["training"], "vector")
    busy, updates = vector["How busy it is"][0], sum(r["share"] for r in vector["What it spends its time on"] if r["node"].endswith(".update"))

    # The chip that is best for inference beside the one that is best for training, by energy, both training.
    frugal = {mode: min(chips, key=figure(mode, "energy_pj")) for mode in MODES}
    for mode, chip in frugal.items():
        monet("evaluate", arguments.model, "--on", "fusemax_monet", *study.settings(chip, VARIABLES), "--updates", "fused", *LAYERS, "--out", arguments.run / f"best_{mode}")
    regret = monet.compare(arguments.run / "best_inference", arguments.run / "best_training")["energy, by part"]
    spoken = lambda chip: ", ".join(f"{v} {chip[v]:g}" for v in VARIABLES)

    # The same chip, if something were otherwise.
    other_rows = []
    for name, model, words in (("as above", arguments.model, LAYERS), ("tables trained, too", arguments.model, ()), ("SGD", arguments.model, (*LAYERS, "--optimizer", "sgd")),
                               ("the other small GPT-2 of its scripts (2 layers, width 384, 20,000 words)", OTHER, LAYERS),
                               ("1,024 bits a cycle from the vector core's own memory instead of 512", arguments.model, (*LAYERS, *WIDER))):
        t, i = (monet("evaluate", model, "--on", "fusemax_monet", *sets, "--mode", mode, "--updates", "fused", *words) for mode in MODES)
        other_rows.append((name, *(f"{e['latency_s'] * 1e3:.2f}" for e in (t, i)), *(f"{e['energy_pj'] / 1e9:.2f}" for e in (t, i)), f"{t['energy_pj'] / i['energy_pj']:.1f}"))

    drawn = []
    for mode in MODES:
        place = lambda c: (c[mode]["latency_s"] * 1e3, c[mode]["energy_pj"] / 1e9)
        series = [(f"{bits:,.0f} bits", [place(c) for c in chips if c["buffer_bits"] == bits], "cloud") for bits in sorted({c["buffer_bits"] for c in chips})]
        series.append(("front", [place(c) for c in study.front(chips, figure(mode, "latency_s"), figure(mode, "energy_pj"))], "path"))
        drawn.append(study.panel(series, "latency, ms", "energy, mJ", f"{mode}, by the buffer's bits a cycle", colours=(*study.RAMP[:len(series) - 1], "#222222")))
    heads = [f"{mode}: {what}" for mode in MODES for what in ("latency", "energy")]
    text = f"""# A small GPT-2 on the chips of FuseMax

`python3 examples/gpt2_fusemax.py`: {' '.join(__doc__.split())} {ran}.

![clouds](gpt2_fusemax.svg)

| reported (MONET, figure 9) | ours | why they differ |
|---|---|---|
| the cloud is tight | most over least: latency {spread(chips, 'training', 'latency_s')} in training, {spread(chips, 'inference', 'latency_s')} in inference; energy {spread(chips, 'training', 'energy_pj')} and {spread(chips, 'inference', 'energy_pj')} | they agree, latency above all. Not that the chips are alike (arrays of 4,096 to 262,144 lanes): the vector core's own memory gives 512 bits a cycle on all of them, and everything waits for it (below) |
| the buffer's bandwidth decides | of the variance of energy (logarithm) it alone has {share(effects['training', 'energy_pj']['buffer_bits'])} in training and {share(effects['inference', 'energy_pj']['buffer_bits'])} in inference; of latency {share(effects['training', 'latency_s']['buffer_bits'])} and {share(effects['inference', 'latency_s']['buffer_bits'])} (most has `{most('training', 'latency_s')}` and `{most('inference', 'latency_s')}`) | it decides the energy of accesses, for these chips pay 1 pJ for every bit of the buffer's word, used or not: a wider buffer costs more and is hardly faster |
| training takes 4 to 5 times the energy of inference | {between(ratio('energy_pj'))}; least by least {least(chips, 'training') / least(chips, 'inference'):.1f}. If the tables of tokens and positions are trained, too: {between(with_tables)}; least by least {least(trained, 'training') / least(chips, 'inference'):.1f} | what was reported lies between. Whether the tables are trained decides most of it: their gradients and updates are dense. How many steps its updates have, and which of its two small GPT-2s was meant, moves it as much (last table). Latency: {between(ratio('latency_s'), ' times')} |

## What decides
Share of the variance of the logarithm that the means by one variable alone have{", exact for the grid" if arguments.strategy == "grid" else " (estimates: not all chips were run)"}; the rest is in variables that act together.

{study.table(("", *heads), effect_rows)}
Means by the buffer's bits a cycle (ms and mJ; memories: those on the chip):

{study.table(("bits", *(f"{mode}: {what}" for mode in MODES for what in ("latency", "memories", "energy"))), buffer_rows)}
## Is a chip for inference good for training?
What the chip that is best for inference costs more in training than the best one there, by what both were chosen by; and the same with every modelled or assumed constant (areas, leakage: {result["sensitivity"]["constants"]} of them) {100 * result["sensitivity"]["share"]:.0f} % smaller and larger.

{study.table(("by", "more in training", "with a constant changed", "the best chip"), study.regrets(result, "inference", "training"))}
Energy of training in mJ, by `monet compare`, on the chip of least energy for inference ({spoken(frugal["inference"])}) and on the one for training ({spoken(frugal["training"])}):

{study.table(("part", "best for inference", "best for training", "change"), study.differences(regret, 1e-9, ".2f"))}
## One chip, part by part
The chip of MONET's comparisons ({', '.join(f'{k} {v}' for k, v in POINT.items())}), energy in mJ, by `monet compare`:

{study.table(("part", "inference", "training", "times"), part_rows)}
Of the training's {energy['second'] / 1e9:.2f} mJ the update has {phases['update'] / 1e9:.2f}, the backward pass {phases['backward'] / 1e9:.2f}, the forward pass {phases['forward'] / 1e9:.2f}. An update moves 28 bytes a weight to and from off-chip memory, where inference reads 2: the ratio is high where energy goes by
bytes moved, and 2 to 3 where it goes by multiply-adds.

`monet explain RUN latency`: {share(waited['training']['share'])} of the training's cycles are waited for `{waited['training']['resource']}`, {share(waited['inference']['share'])} of the inference's for `{waited['inference']['resource']}`. `monet explain RUN vector`: it is busy for {share(busy['share'])} of
the training, {share(updates)} with updates. Not its lanes are too few: what it computes on passes its own memory at 512 bits a cycle, 16 numbers of 4 bytes, on every chip of the space. The last line of this table has twice as many and
changes more than all 5,120 chips differ by.

{study.table(("the same chip", "training, ms", "inference, ms", "training, mJ", "inference, mJ", "times"), other_rows)}
```sh
monet evaluate {arguments.model} --on fusemax_monet --train '{LAYERS[1]}' --updates fused --mode inference --out inference
monet evaluate {arguments.model} --on fusemax_monet --train '{LAYERS[1]}' --updates fused --out training
monet compare inference training
monet explain training latency
monet explain training vector
monet evaluate {arguments.model} --on fusemax_monet --train '{LAYERS[1]}' --updates fused {' '.join(WIDER)}
```
"""
    study.write(arguments.out, "gpt2_fusemax", study.drawing(drawn), text)


if __name__ == "__main__":
    main()
