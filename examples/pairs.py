"""Two recomputations together cost and save something else than each alone (MONET, figure 11).

ResNet-18 (32 x 32, batch 32) on fusemax and tpu_v3: every activation forgotten alone, and every two of them,
each priced by the whole scheduler. If costs added up, the two together would cost the sum.
"""
import study


def examine(monet, model, batch, chip, share):
    result = monet("checkpoint", model, "--batch", batch, "--on", chip, "--strategy", "pairs", "--least-share", share)
    points = {tuple(sorted(p["decision"])): p for p in result["points"] if p["feasible"]}
    base, out = points[()], []
    names = [a["name"] for a in result["activations"]]
    for i, a in enumerate(names):
        for b in names[i + 1:]:
            both = points.get(tuple(sorted((a, b))))
            if both is None or (a,) not in points or (b,) not in points:
                continue
            added = {key: points[(a,)][key] + points[(b,)][key] - 2 * base[key]
                     for key in ("latency_cycles", "energy_pj", "peak_total_bytes")}
            truly = {key: both[key] - base[key] for key in added}
            out.append((a, b, added, truly))
    return base, out


def main():
    arguments = study.arguments(__doc__)
    monet = study.Monet(arguments.monet)
    model, batch, share = ("resnet18:stem=cifar,image=32,classes=10,norm=folded", 32, 0.01)
    if arguments.quick:
        model, batch, share = ("mlp:in=64,hidden=64,layers=4,classes=8", 64, 0.02)
    rows, series = [], []
    for chip in ("fusemax",) if arguments.quick else ("fusemax", "tpu_v3"):
        base, pairs = examine(monet, model, batch, chip, share)
        for key, words in (("latency_cycles", "latency"), ("energy_pj", "energy"), ("peak_total_bytes", "peak memory")):
            off = [truly[key] - added[key] for _, _, added, truly in pairs]
            apart = [o for o in off if abs(o) > 1e-9 * base[key]]
            low, high = min(off), max(off)
            scale = max(abs(truly[key]) for _, _, _, truly in pairs) or 1
            rows.append((chip, words, len(pairs), f"{len(apart)} ({100 * len(apart) / len(pairs):.0f} %)",
                         f"{100 * low / base[key]:+.2f} %", f"{100 * high / base[key]:+.2f} %",
                         f"{100 * max(abs(low), abs(high)) / scale:.0f} %"))
        series.append((chip, [(100 * added["latency_cycles"] / base["latency_cycles"],
                               100 * truly["latency_cycles"] / base["latency_cycles"]) for _, _, added, truly in pairs], "points"))
    ends = [f(p[0] for _, list_, _ in series for p in list_) for f in (min, max)]
    series.append(("if they added up", [(e, e) for e in ends], "line"))
    figure = study.plot(series, "sum of what each costs alone, % of the latency", "what both cost together, %",
                        f"{model.split(':')[0]}, batch {batch}: pairs of recomputations")
    text = f"""# Pairs of recomputations

`python3 examples/pairs.py`: {' '.join(__doc__.split())}

![pairs](pairs.svg)

{study.table(("chip", "figure", "pairs", "do not add up", "least difference", "largest difference", "largest, over the largest change of any pair"), rows)}
A difference is what both together change, less what each changes alone, over the figure with everything kept.

| reported (MONET, figure 11) | ours | why they differ |
|---|---|---|
| of one pair: both together do not cost what each costs, since recomputation changes what is near and what can be fused | the table, for all pairs | the same mechanism, on another chip and with another scheduler; and on the true peak of all memories, where it is strongest: forgetting one activation lowers the peak only if nothing else stands as high at that moment |
| therefore an additive model (a linear program) cannot be exact | `monet checkpoint --strategy baselines` prices the additive knapsack and Checkmate, Moccasin and POET beside the search ([docs/checkpoint.md](../docs/checkpoint.md)) | no such program was run there |
"""
    study.write(arguments.out, "pairs", figure, text)


if __name__ == "__main__":
    main()
