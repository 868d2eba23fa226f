"""Is our NSGA-II as good as pymoo's on ZDT and DTLZ?

    python3 nsga2_vs_pymoo.py RUN_NSGA2 [--seeds N]

Both with populations of 100 and as many evaluations, seeds 1 to N (15): the hypervolume of the last population, from the
reference point that all of a problem's populations lie before. Ours may not be worse: a one-sided rank test (Mann and
Whitney) at 1 %, and no more than 1 % in the median. Exit code 77 where pymoo is missing.
"""
import argparse
import math
import statistics
import subprocess
import sys

try:
    import numpy as np
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.indicators.hv import HV
    from pymoo.optimize import minimize
    from pymoo.problems import get_problem
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

POPULATION = 100
PROBLEMS = {"zdt1": 15_000, "zdt2": 15_000, "zdt3": 15_000, "zdt4": 20_000, "zdt6": 20_000,
            "dtlz1": 20_000, "dtlz2": 10_000, "dtlz3": 30_000}


def ours(program, problem, evaluations, seed):
    said = subprocess.run([program, problem, str(POPULATION), str(evaluations), str(seed)], check=True,
                          capture_output=True, text=True).stdout
    return np.array([[float(word) for word in line.split()] for line in said.splitlines()])


def theirs(problem, evaluations, seed):
    made = get_problem(problem, n_var=7, n_obj=3) if problem == "dtlz1" else get_problem(
        problem, n_var=12, n_obj=3) if problem.startswith("dtlz") else get_problem(problem)
    return minimize(made, NSGA2(pop_size=POPULATION), ("n_eval", evaluations), seed=seed).F


def worse_by_rank(a, b):
    """The chance that values as small as `a` are drawn beside `b` if both are alike (normal approximation)."""
    ranks = sorted((value, group) for group, values in ((0, a), (1, b)) for value in values)
    positions = {}
    for position, (value, _) in enumerate(ranks, 1):
        positions.setdefault(value, []).append(position)
    total = sum(statistics.mean(positions[value]) for value in a)
    u = total - len(a) * (len(a) + 1) / 2
    mean, deviation = len(a) * len(b) / 2, math.sqrt(len(a) * len(b) * (len(a) + len(b) + 1) / 12)
    return 0.5 * (1 + math.erf((u - mean) / deviation / math.sqrt(2)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=15)
    arguments = parser.parse_args()
    passed = failed = 0
    for problem, evaluations in PROBLEMS.items():
        seeds = range(1, arguments.seeds + 1)
        fronts = [[ours(arguments.program, problem, evaluations, s) for s in seeds],
                  [theirs(problem, evaluations, s) for s in seeds]]
        reference = 1.1 * np.max([f.max(axis=0) for side in fronts for f in side], axis=0)
        volumes = [[float(HV(ref_point=reference)(f)) for f in side] for side in fronts]
        medians = [statistics.median(v) for v in volumes]
        chance = worse_by_rank(*volumes)
        is_good = chance > 0.01 or medians[0] >= medians[1]
        is_good = is_good and medians[0] >= 0.99 * medians[1]
        print(f"{'ok  ' if is_good else 'FAIL'} {problem}: median hypervolume ours {medians[0]:.6g}, pymoo {medians[1]:.6g} "
              f"({100 * (medians[0] / medians[1] - 1):+.3f} %), chance of being alike {chance:.3g}", flush=True)
        passed, failed = passed + is_good, failed + (not is_good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
