"""The true peak against the budget that a rule was given: it does not fall evenly, and not always.

Users of checkpointing in PyTorch report peaks that rise when more is checkpointed. Here: ResNet-18 (64 x 64, batch 32) and
a perceptron on fusemax; the greedy rule forgets one activation after the other, Checkmate's program is given less and less.
"""
import study

CASES = {"ResNet-18": ("resnet18:image=64,width=16", 32, 0.02), "perceptron": ("mlp:in=64,hidden=128,layers=10,classes=10", 512, 0.02)}
RULES = ("greedy", "checkmate", "chen")


def main():
    arguments = study.arguments(__doc__)
    monet = study.Monet(arguments.monet)
    rows, series = [], []
    for name, (model, batch, share) in CASES.items():
        if arguments.quick and name != "perceptron":
            continue
        common = (model, "--batch", batch, "--on", "fusemax", "--least-share", share, "--strategy")
        base = monet("checkpoint", *common, "keep_all")["points"][0]["peak_total_bytes"]
        for rule in RULES[:1] if arguments.quick else RULES:
            result = monet("checkpoint", *common, rule)
            size = {a["name"]: a["bytes"] for a in result["activations"]}
            points = [result["points"][b["point"]] for b in result["baselines"]]
            points = sorted({(sum(size[t] for t in p["decision"]), p["peak_total_bytes"], p["latency_cycles"])
                             for p in points if p["feasible"]})
            rises = sum(b[1] > a[1] for a, b in zip(points, points[1:]))
            lowest = min(points, key=lambda p: p[1])
            rows.append((name, rule, len(points), f"{rises} of {len(points) - 1}",
                         f"{study.megabytes(lowest[1])} ({study.percent(lowest[1], base)}) with {study.megabytes(lowest[0])} forgotten",
                         f"{study.percent(points[-1][1], base)} with {study.megabytes(points[-1][0])} forgotten"))
            if name == "perceptron" or not arguments.quick:
                series.append((f"{name}, {rule}", [(forgotten / 1e6, 100 * (peak / base - 1)) for forgotten, peak, _ in points], "line"))
    figure = study.plot(series, "saved bytes forgotten, MB", "peak of all memories against everything kept, %", "Forgetting more does not always need less")
    text = f"""# Peak against budget

`python3 examples/peak_against_budget.py`: {' '.join(__doc__.split())}

![peak](peak_against_budget.svg)

{study.table(("model", "rule", "decisions", "steps at which more is forgotten and the peak rises", "lowest peak", "peak with the most forgotten"), rows)}
| reported | ours | why they differ |
|---|---|---|
| users of PyTorch see peaks that rise with more checkpoints | the same, without an allocator's fragments and caches in it | a clone lives from where it is made again until its last reader, and chains of them live together: what is won at the end of the forward pass is needed again in the middle of the backward pass. An accounting sum of forgotten bytes, as MONET's script uses, cannot see it |
"""
    study.write(arguments.out, "peak_against_budget", figure, text)


if __name__ == "__main__":
    main()
