#!/usr/bin/env python3
"""Points per second of `explore` on MONET's two spaces, how long all of each would take, and what bounds it.

    bench/explore_rate.py MONET [THREADS]

A block of each grid (neighbours, which share mappings as on the whole grid) is run twice: with nothing known, and with
every mapping known. The difference is the search of mappings; the rest are schedules. Training and inference of each
point. Exit code 1 where the two differ.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

CASES = [
    ("resnet18", "edge_tpu_hda", 10_000, {
        "x_pes": [2, 6], "y_pes": [4], "simd": [32, 128], "lanes": [1, 8], "local_kib": [512, 2048, 4096],
        "registers_kib": [8, 64]}),
    ("gpt2-mini", "fusemax_monet", 5_120, {
        "x": [64, 256], "y": [64, 256], "vector_lanes": [32, 128], "buffer_bits": [2048, 8192],
        "buffer_mib": [4, 16], "offchip_bits": [512, 2048]}),
]


def run(monet, folder, model, threads):
    command = [monet, "explore", model, "--space", "block.yaml", "--cache", "mappings.json", "--json", "--quiet",
               "--threads", threads]
    done = subprocess.run(command, cwd=folder, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr.decode()}")
    return json.loads(done.stdout)


def main(monet, threads="2"):
    monet = str(pathlib.Path(monet).resolve())
    print(f"{'model':10}  {'chip':14}  {'points':>6}  {'tiles each':>10}  {'points/s':>8}  {'mappings known':>14}  "
          f"{'mappings searched':>17}  {'searching':>9}  {'all of the space':>16}")
    for model, chip, size, variables in CASES:
        with tempfile.TemporaryDirectory() as folder:
            lines = [f"  {name}: {values}" for name, values in variables.items()]
            pathlib.Path(folder, "block.yaml").write_text(
                "\n".join(["monet: space", "name: block", f"chip: {chip}", "variables:", *lines]) + "\n")
            cold, warm = (run(monet, folder, model, threads) for _ in range(2))
        if cold["result"] != warm["result"]:
            sys.exit(f"{model}: figures hang on what is known")
        seconds, known = cold["run"]["elapsed_s"], warm["run"]["elapsed_s"]
        rows = cold["result"]["points"]  # one for each workload
        points = len({json.dumps(row["decision"]) for row in rows})
        tiles = sum(row.get("tiles", 0) for row in rows) / points
        print(f"{model:10}  {chip:14}  {points:6}  {tiles:10,.0f}  {points / seconds:8.2f}  {points / known:14.2f}  "
              f"{cold['run']['mappings_searched']:17}  {100 * (1 - known / seconds):7.0f} %  "
              f"{size * seconds / points / 60:12.1f} min")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
