"""How near `monet explore --strategy nsga2` comes to the fronts of a whole space.

    python3 explore_fronts.py MONET [--model gpt2-mini] [--space fusemax] [--seeds 3] [--keep DIR]

All chips of the space are evaluated; then the search is given a tenth of that many evaluations, with several seeds, and
beside it as many chips spread evenly. Shown is for each workload the hypervolume of latency and energy that they reach, as
a part of that of the true front (reference: 1.1 times its worst in each). Fails if one seed of the search reaches less than
99 %, or if `prune` gives other fronts than the grid. --keep DIR keeps the evaluations there, or takes those of a run of
`monet explore MODEL --space SPACE --out DIR`: a search needs no new ones then.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

LEAST = 0.99
FIGURES = ("latency_s", "energy_pj")


def hypervolume(points, reference):
    volume, height = 0.0, reference[1]
    for x, y in sorted(points):
        if x < reference[0] and y < height:
            volume += (reference[0] - x) * (height - y)
            height = y
    return volume


def explore(arguments, store, *more):
    """The number of chips evaluated, and by workload the figures of the chips on its front."""
    command = [arguments.monet, "explore", arguments.model, "--space", arguments.space, "--json", "--quiet", "--out", str(store), "--resume", *map(str, more)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    result = json.loads(done.stdout)["result"]
    return result["evaluations"], {f["workload"]: {tuple(result["points"][i][k] for k in FIGURES) for i in f["front"]} for f in result["fronts"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("monet")
    parser.add_argument("--model", default="gpt2-mini")
    parser.add_argument("--space", default="fusemax")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = arguments.keep or pathlib.Path(folder)
        evaluations, fronts = explore(arguments, store)
        good = explore(arguments, store, "--strategy", "prune")[1] == fronts
        print(f"{arguments.model} on {arguments.space}: {evaluations} evaluated; prune: {'the same fronts' if good else 'OTHER FRONTS'}")
        reference = {w: [1.1 * max(p[k] for p in front) for k in range(len(FIGURES))] for w, front in fronts.items()}
        reached = {(w, s): [] for w in fronts for s in ("nsga2", "quasi")}
        for strategy in ("nsga2", "quasi"):
            for seed in range(1, arguments.seeds + 1):
                _, found = explore(arguments, store, "--strategy", strategy, "--evaluations", evaluations // 10, "--seed", seed)
                for w, front in fronts.items():
                    reached[w, strategy].append(hypervolume(found[w], reference[w]) / hypervolume(front, reference[w]))
        for (workload, strategy), shares in reached.items():
            as_promised = strategy != "nsga2" or min(shares) >= LEAST
            good = good and as_promised
            print(f"{'ok  ' if as_promised else 'MISS'} {workload}, front of {len(fronts[workload])}, {strategy} with {evaluations // 10}: {', '.join(f'{100 * s:.2f}' for s in shares)} %")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
