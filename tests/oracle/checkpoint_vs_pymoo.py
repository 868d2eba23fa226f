"""Does `monet checkpoint` find as much of the front as pymoo's NSGA-II and every rule of others, with as many evaluations?

    python3 checkpoint_vs_pymoo.py RUN_CHECKPOINT MONET [--seeds N] [--evaluations N]

Problems of 19 and more decisions. pymoo's NSGA-II with binary variables (random sampling, two-point crossover, bit-flip
mutation, no duplicates) is served by RUN_CHECKPOINT; all it evaluated counts, not its last population alone. Hypervolume
from 1.1 times the worst of the front that all of them together found. Fails where ours is below pymoo's in the median
of the seeds, or below a rule's. Exit code 77 where pymoo is missing.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem
    from pymoo.indicators.hv import HV
    from pymoo.operators.crossover.pntx import TwoPointCrossover
    from pymoo.operators.mutation.bitflip import BitflipMutation
    from pymoo.operators.sampling.rnd import BinaryRandomSampling
    from pymoo.optimize import minimize
    from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# Model, batch, chip, part of the saved bytes below which nothing is decided.
CASES = [("resnet18:image=64,width=16", 32, "fusemax", 0.02), ("gpt2:layers=3,width=64,heads=2,vocab=256,seq=64", 8, "fusemax", 0.01),
         ("unet:image=64,width=4,levels=3", 8, "tpu_v3", 0.01)]
OBJECTIVES = ("latency_cycles", "energy_pj", "peak_total_bytes")


class Decisions(Problem):
    def __init__(self, program, model, batch, chip, share):
        self.process = subprocess.Popen([program, model, str(batch), chip, str(share)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.seen = []
        super().__init__(n_var=int(self.process.stdout.readline()), n_obj=3, vtype=bool)

    def _evaluate(self, x, out, *args, **kwargs):
        self.process.stdin.write(" ".join("".join("1" if bit else "0" for bit in one) for one in x) + "\n")
        self.process.stdin.flush()
        numbers = [float(word) for word in self.process.stdout.readline().split()]
        out["F"] = np.nan_to_num(np.array(numbers).reshape(len(x), 3), posinf=1e300)
        self.seen += [tuple(row) for row in out["F"]]


def ours(monet, case, evaluations, seed, store):
    model, batch, chip, share = case
    words = [monet, "checkpoint", model, "--batch", str(batch), "--on", chip, "--least-share", str(share), "--out", store, "--resume",
             "--quiet", "--json"]
    words += ["--strategy", "baselines"] if seed is None else ["--evaluations", str(evaluations), "--seed", str(seed)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)["result"]


def figures(points):
    return [tuple(p[k] for k in OBJECTIVES) for p in points if p["feasible"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("monet")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--evaluations", type=int, default=400)
    arguments = parser.parse_args()
    failed = 0
    for case in CASES:
        problem, peer, own = Decisions(arguments.program, *case), [], []
        with tempfile.TemporaryDirectory() as folder:
            store = str(pathlib.Path(folder) / "run")
            for seed in range(1, arguments.seeds + 1):
                problem.seen = []
                minimize(problem, NSGA2(pop_size=50, sampling=BinaryRandomSampling(), crossover=TwoPointCrossover(), mutation=BitflipMutation(),
                                        eliminate_duplicates=True), ("n_eval", arguments.evaluations), seed=seed)
                peer.append(problem.seen[:arguments.evaluations])
                own.append(figures(ours(arguments.monet, case, arguments.evaluations, seed, store)["points"]))
            rules = {}
            result = ours(arguments.monet, case, 0, None, store)
            for rule in result["baselines"]:
                rules.setdefault(rule["name"], []).append(result["points"][rule["point"]])
        problem.process.stdin.close()
        everything = np.array(sorted(set(sum(peer + own, []))))
        front = everything[NonDominatedSorting().do(everything, only_non_dominated_front=True)]
        volume = HV(ref_point=1.1 * front.max(axis=0))
        share = lambda points: float(volume(np.array(points)) / volume(front)) if points else 0.0
        a, b = [share(points) for points in own], [share(points) for points in peer]
        best = max((share(figures(points)), name) for name, points in rules.items())
        good = statistics.median(a) >= statistics.median(b) and min(a) >= best[0]
        failed += not good
        print(f"{'ok  ' if good else 'WORSE'} {case[0]}, batch {case[1]}, {case[2]}: {problem.n_var} decisions, {arguments.evaluations} evaluations; "
              f"ours {', '.join(f'{100 * v:.2f}' for v in a)} %; pymoo {', '.join(f'{100 * v:.2f}' for v in b)} %; "
              f"best rule {best[1]} {100 * best[0]:.2f} %", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
