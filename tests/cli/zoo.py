"""Does every model of the library evaluate on every chip of the library, or say precisely why it cannot?

    python3 zoo.py MONET [--models NAME,…] [--chips NAME,…] [--seconds N] [--jobs N]

Training and inference of batch 1, without a plan; images of 32 x 32 pixels and sequences of 32 tokens. Each evaluation
must end within --seconds (300), with exit code 0 and figures, or with exit code 1 and an inequality: bytes (or tiles)
needed and bytes that are there. The largest take 12 GB of memory: think before using --jobs. Prints a table: seconds of
each, and what went wrong. Exit code 1 if anything did.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import string
import subprocess
import sys
import time

SMALL = {"image": "32", "seq": "32"}
MODES = ("inference", "training")
SLOW_S = 20


def library(monet, verb, key):
    document = subprocess.run([monet, verb, "--json"], check=True, capture_output=True, timeout=60).stdout
    return json.loads(document)["result"][key]


def small(model):
    sizes = [f"{o['name']}={SMALL[o['name']]}" for o in model["options"] if o["name"] in SMALL]
    return model["name"] + (":" + ",".join(sizes) if sizes else "")


def is_inequality(reason):
    """Whether it says how many bytes (or tiles) are needed and how many there are."""
    if match := re.search(r"(\d+) (?:tiles|parts of tensors[^.]*) are more than the (\d+) that are scheduled", reason):
        return int(match[1]) > int(match[2])
    if match := re.search(r"(\d+) B .*> (\d+) B", reason):
        return int(match[1]) > int(match[2])
    if match := re.search(r"no room for (\d+) B .* take (\d+) B of (\d+) B", reason):
        return int(match[1]) > 0 and int(match[3]) > 0
    return False


def fault_of(run):
    """What is wrong with how an evaluation ended, and whether it was possible."""
    if run.returncode not in (0, 1):
        return f"ended with {run.returncode}: {run.stderr.decode(errors='replace').strip()[-200:]}", False
    try:
        result = json.loads(run.stdout)["result"]
    except (ValueError, KeyError):
        return f"no result: {run.stderr.decode(errors='replace').strip()[-200:]}", False
    if result["feasible"] != (run.returncode == 0):
        return f"exit code {run.returncode}, but feasible is {result['feasible']}", False
    if not result["feasible"]:
        return ("" if is_inequality(result["reason"]) else f"no inequality: {result['reason']}"), False
    if not (result["latency_cycles"] > 0 and result["energy_pj"] > 0 and result["peak_total_bytes"] > 0):
        return "figures that are not above zero", False
    return "", True


def evaluate(monet, model, chip, mode, limit):
    """(cell of the table, fault, seconds)."""
    command = [monet, "evaluate", model, "--on", chip, "--mode", mode, "--threads", "1", "--quiet", "--json"]
    start = time.monotonic()
    try:
        run = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=limit)
    except subprocess.TimeoutExpired:
        return "LONG", f"not done after {limit} s", float(limit)
    seconds = time.monotonic() - start
    fault, possible = fault_of(run)
    return "FAIL" if fault else f"{seconds:.1f}" if possible else "-", fault, seconds


def print_table(models, chips, begun):
    """Row by row, as they are done."""
    names = dict(zip(chips, string.ascii_lowercase + string.ascii_uppercase))
    width = max(map(len, models)) + 2
    print("".join(f"{names[chip]} {chip}\n" for chip in chips))
    print("seconds; -: not possible, with the inequality\n")
    print(f"{'':{width}}{'':11}" + "".join(f"{names[chip]:>6}" for chip in chips), flush=True)
    for model in models:
        for mode in MODES:
            row = "".join(f"{begun[model, chip, mode].result()[0]:>6}" for chip in chips)
            print(f"{model:{width}}{mode:11}{row}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("monet")
    parser.add_argument("--models", default="")
    parser.add_argument("--chips", default="")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    monet = str(pathlib.Path(asked.monet).resolve())
    models = [small(m) for m in library(monet, "models", "models") if not asked.models or m["name"] in asked.models.split(",")]
    chips = [c["name"] for c in library(monet, "hardware", "chips") if not asked.chips or c["name"] in asked.chips.split(",")]
    if not models or not chips:
        sys.exit("no such model or chip")
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        begun = {(model, chip, mode): pool.submit(evaluate, monet, model, chip, mode, asked.seconds)
                 for model in models for mode in MODES for chip in chips}
        print_table(models, chips, begun)
        cells = {key: job.result() for key, job in begun.items()}
    slow = sorted(((c[2], key) for key, c in cells.items() if c[2] > SLOW_S and not c[1]), reverse=True)
    if slow:
        print(f"\nlonger than {SLOW_S} s:")
    for seconds, (model, chip, mode) in slow:
        print(f"  {seconds:6.1f} s  {model} on {chip}, {mode}")
    faults = [(key, c[1]) for key, c in cells.items() if c[1]]
    for (model, chip, mode), fault in faults:
        print(f"FAULT {model} on {chip}, {mode}: {fault}")
    possible = sum(c[0] not in ("-", "FAIL", "LONG") for c in cells.values())
    print(f"\n{len(cells)} evaluations: {possible} possible, {len(cells) - possible - len(faults)} not, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
