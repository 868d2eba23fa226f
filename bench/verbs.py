#!/usr/bin/env python3
"""Wall time and memory of the verbs, as a user meets them: process start, model, result.

    bench/verbs.py MONET [RUNS]

Prints the median of RUNS (5) and the spread; the peak is of the resident memory. Exit code 1 if a command fails.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

CASES = [
    "models",
    "graph mlp",
    "graph resnet18",
    "graph resnet50 --batch 32",
    "graph resnet50 --batch 32 --recompute all",
    "graph gpt2 --batch 8",
    "graph gpt2-xl",
    "graph gpt3-175b",
    "graph resnet18 --write resnet18.onnx",
    "graph resnet18.onnx",
    "verify mlp",
    "verify resnet18:image=32,classes=10,width=16 --batch 2 --samples 1",
    "verify gpt2:layers=2,width=32,heads=4,vocab=100,seq=16 --batch 2 --samples 1",
]


def measure(command, folder):
    """(seconds, peak bytes, exit code) of one run."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return seconds, usage.ru_maxrss * 1024, process.returncode


def main(monet, runs="5"):
    monet, failed = os.path.abspath(monet), 0
    width = max(map(len, CASES))
    print(f"{'command':{width}}  {'median s':>9}  {'min s':>9}  {'max s':>9}  {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            results = [measure([monet, *case.split()], folder) for _ in range(int(runs))]
            times = [r[0] for r in results]
            verdict = "" if all(r[2] == 0 for r in results) else f"  FAILED with {results[0][2]}"
            failed += verdict != ""
            print(f"{case:{width}}  {statistics.median(times):9.3f}  {min(times):9.3f}  {max(times):9.3f}  "
                  f"{max(r[1] for r in results) / 1e6:8.1f}{verdict}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
