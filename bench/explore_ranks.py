#!/usr/bin/env python3
"""Points per second of `explore` on one and two threads, and on one and two ranks of MPI, and what keeps two ranks from
doing twice the work of one.

    bench/explore_ranks.py MONET [RUNS [POINTS [MODEL SPACE]]]

The best of RUNS (5) with POINTS (200) of a SPACE (fusemax) for a MODEL (a small ResNet-18), taken in turns, so that what
else the machine does hits all alike. What a run with a single point takes is start-up and is left out of the rate;
processor seconds and mappings searched show what two do twice. Needs Open MPI and two cores. Exit code 1 where results
differ.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

OPTIONS = "--strategy quasi --json --quiet".split()
MPIRUN = "mpirun --oversubscribe --bind-to none -n".split()
CASES = {"1 thread": ([], "1"), "2 threads": ([], "2"), "1 rank": ([*MPIRUN, "1"], "1"), "2 ranks": ([*MPIRUN, "2"], "1")}


def measure(command):
    """(seconds, processor seconds, document) of one run."""
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
        return seconds, usage.ru_utime + usage.ru_stime, json.load(out)


def say_what_bounds(one, two, start):
    """Where the seconds of two cores go while two ranks work; `one` and `two`: their best runs."""
    seconds, processor, document = two
    ranks = document["run"]["by_rank"]
    idle = sum(rank["idle_s"] for rank in ranks)
    twice = document["run"]["mappings_searched"] - one[2]["run"]["mappings_searched"]
    parts = {"work that one rank does, too": one[1],
             f"what it does not: {twice} mappings searched again, messages, a second set-up": processor - one[1],
             "threads without a task": idle,
             "start and end of the job": 2 * start}
    parts["the machine had other work, or was waited for"] = 2 * seconds - sum(parts.values())
    print(f"where 2 x {seconds:.2f} s of 2 ranks go (less than none: the same work took less time)")
    for what, part in parts.items():
        print(f"  {part:7.2f} s  {100 * part / (2 * seconds):5.1f} %  {what}")
    for number, rank in enumerate(ranks):
        print(f"  rank {number}: {rank['tasks']} points, {rank['mappings_searched']} mappings searched, "
              f"busy {rank['busy_s']:.2f} s, idle {rank['idle_s']:.2f} s")


def main(monet, runs="5", points="200", model="resnet18:image=32", space="fusemax"):
    points, whole, single, results = int(points), {}, {}, []
    explore = [os.path.abspath(monet), "explore", model, "--space", space, *OPTIONS]
    for _ in range(int(runs)):
        for name, (launcher, threads) in CASES.items():
            for count, measured in ((1, single), (points, whole)):
                command = [*launcher, *explore, "--threads", threads, "--evaluations", str(count)]
                measured.setdefault(name, []).append(measure(command))
            results.append(whole[name][-1][2]["result"])
    rate, starts = {}, {}
    print(f"{points} points\n{'':10}  {'points/s':>8}  {'start s':>8}  {'processor s':>11}  {'mappings searched':>17}")
    for name in CASES:
        starts[name] = min(run[0] for run in single[name])
        rate[name] = (points - 1) / (min(run[0] for run in whole[name]) - starts[name])
        processor = min(run[1] for run in whole[name])
        searched = min(run[2]["run"]["mappings_searched"] for run in whole[name])
        print(f"{name:10}  {rate[name]:8.2f}  {starts[name]:8.2f}  {processor:11.2f}  {searched:17}")
    for one, two in (("1 thread", "2 threads"), ("1 rank", "2 ranks")):
        print(f"{two} do {rate[two] / rate[one]:.2f} times the work of {one}")
    best = {name: min(runs, key=lambda run: run[0]) for name, runs in whole.items()}
    say_what_bounds(best["1 rank"], best["2 ranks"], starts["2 ranks"])
    if any(result != results[0] for result in results):
        sys.exit("results differ")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
