#!/usr/bin/env python3
"""Points per second of `explore` on one and two threads, and on one and two ranks of MPI.

    bench/explore_ranks.py MONET [RUNS]

The best of RUNS (5), taken in turns, so that what else the machine does hits all alike. What a run with a single point
takes is start-up and is left out; processor seconds show what two do twice. Needs Open MPI and two cores.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

POINTS = 60
EXPLORE = "explore resnet18:image=32 --space fusemax --strategy quasi --json --quiet".split()
MPIRUN = "mpirun --oversubscribe --bind-to none -n".split()
CASES = {"1 thread": ([], "1"), "2 threads": ([], "2"), "1 rank": ([*MPIRUN, "1"], "1"), "2 ranks": ([*MPIRUN, "2"], "1")}


def measure(command):
    """(seconds, processor seconds, result) of one run."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    start = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, env=environment, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}")
        out.seek(0)
        return seconds, usage.ru_utime + usage.ru_stime, json.load(out)["result"]


def main(monet, runs="5"):
    monet, whole, single, results = os.path.abspath(monet), {}, {}, []
    for _ in range(int(runs)):
        for name, (launcher, threads) in CASES.items():
            for points, times in ((1, single), (POINTS, whole)):
                command = [*launcher, monet, *EXPLORE, "--threads", threads, "--evaluations", str(points)]
                *used, result = measure(command)
                times.setdefault(name, []).append(used)
            results.append(result)
    best = lambda runs: [min(values) for values in zip(*runs)]
    rate = {}
    print(f"{'':10}  {'points/s':>8}  {'start s':>8}  {'processor s':>11}")
    for name in CASES:
        start, seconds, processor = best(single[name])[0], *best(whole[name])
        rate[name] = (POINTS - 1) / (seconds - start)
        print(f"{name:10}  {rate[name]:8.2f}  {start:8.2f}  {processor:11.2f}")
    for one, two in (("1 thread", "2 threads"), ("1 rank", "2 ranks")):
        print(f"{two} do {rate[two] / rate[one]:.2f} times the work of {one}")
    if any(result != results[0] for result in results):
        sys.exit("results differ")


if __name__ == "__main__":
    main(*sys.argv[1:])
