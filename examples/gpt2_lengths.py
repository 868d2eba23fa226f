"""Which activations of a small GPT-2 to keep, by sequence length and batch.

The small GPT-2 of MONET (4 layers, width 512) on fusemax: the front of latency, energy and peak memory for several lengths and
batches, and what the peak is lowered to for at most 5 and 10 % more latency.
"""
import study


def main():
    arguments = study.arguments(__doc__)
    monet = study.Monet(arguments.monet)
    cases = [(64, 1), (256, 1), (1024, 1), (256, 4), (256, 16)]
    options, evaluations = "", 300
    if arguments.quick:
        cases, options, evaluations = [(16, 2)], ",layers=1,width=32,heads=2,ff=64,vocab=100", 20
    rows, series = [], []
    for length, batch in cases:
        result = monet("checkpoint", f"gpt2-mini:seq={length}{options}", "--batch", batch, "--on", "fusemax",
                       "--evaluations", evaluations, "--least-share", 0.01)
        points = [result["points"][i] for i in result["front"]]
        base = next(p for p in result["points"] if not p["decision"])
        within = lambda slower: min((p["peak_total_bytes"] for p in points if p["latency_cycles"] <= slower * base["latency_cycles"]),
                                    default=base["peak_total_bytes"])
        rows.append((length, batch, study.megabytes(result["saved_bytes"]), study.megabytes(base["peak_total_bytes"]), len(points),
                     study.percent(within(1.05), base["peak_total_bytes"]), study.percent(within(1.10), base["peak_total_bytes"]),
                     study.percent(min(p["peak_total_bytes"] for p in points), base["peak_total_bytes"])))
        series.append((f"{length} tokens x {batch}", sorted((100 * (p["peak_total_bytes"] / base["peak_total_bytes"] - 1),
                       100 * (p["latency_cycles"] / base["latency_cycles"] - 1)) for p in points), "points"))
    figure = study.plot(series, "peak memory against everything kept, %", "latency against everything kept, %",
                        "Small GPT-2, training on fusemax: fronts")
    text = f"""# A small GPT-2 by length and batch

`python3 examples/gpt2_lengths.py`: {' '.join(__doc__.split())}

![fronts](gpt2_lengths.svg)

{study.table(("tokens", "batch", "saved", "peak, all kept", "points of the front", "peak at most 5 % slower", "at most 10 % slower", "lowest peak of the front"), rows)}
Nothing was reported for these by MONET.
"""
    study.write(arguments.out, "gpt2_lengths", figure, text)


if __name__ == "__main__":
    main()
