#!/usr/bin/env python3
"""The best mappings AccelForge found (bench/peers/accelforge_cases.py) against monet's proven optimum, same cases.

    build/peers_accelforge/bin/python bench/peers/accelforge_cases.py --out build/accelforge.json
    python3 bench/peers/against_accelforge.py --cases build/accelforge.json --monet build/release/monet

Energy is compared: both count accesses per value, first sums are not read back, one copy of each tile. What differs:
monet keeps an operand at the multiplier while only irrelevant loops move, which AccelForge does only in its "latched"
cases, so there the two must be equal and elsewhere monet may be lower; with overlapping windows AccelForge keeps the
sliding part of a tile, monet fetches tiles whole (not compared). Latency is a pure bandwidth bound in AccelForge and
has no counterpart. Exit code 1 if monet is worse in any compared case.
"""
import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

BITS = 8
LARGE = 1 << 40


def memory(level, slots, dimensions):
    width = BITS * (level["values_per_cycle"] or 1)
    uses = [f"{slot}, {direction}" for slot in slots for direction in (("fh", "tl", "fl", "th") if slot == "O" else ("fh", "tl"))]
    return {
        "size": level["bits"] or LARGE,
        # Costs are per word of the full width; AccelForge counts values.
        "r_cost": level["read_pj"] * width / BITS,
        "w_cost": level["write_pj"] * width / BITS,
        "area": 0,
        "latency": 1,
        "operands": slots,
        "ports": [{"name": "rw_port_1", "type": "read_write", "bandwidth_min": BITS, "bandwidth_max": width, "allocation": uses}],
        "served_dimensions": dimensions,
    }


def accelerator(case):
    """Lowest memory first; a latch is what monet's array does anyway."""
    levels = [level for level in case["levels"] if "tensor" not in level or level["tensor"] is None]
    fanout = max((level.get("fanout") or 1) for level in levels)
    memories = {}
    for level in reversed(levels):
        served = [] if level.get("fanout") else ["D1"]
        memories[level["name"]] = memory(level, ["I1", "I2", "O"], served)
    return {
        "name": case["name"],
        "memories": memories,
        "operational_array": {"unit_energy": case["mac_pj"], "unit_area": 0, "dimensions": ["D1"], "sizes": [fanout]},
    }


def workload(case):
    tensors, sizes = case["nest"]["tensors"], case["nest"]["sizes"]
    relations = []

    def index(expression):
        if "+" not in expression:
            return expression
        name = f"i{len(relations)}"
        a, b = expression.split("+")
        terms = [term if "*" in term else f"1*{term}" for term in (a, b)]
        relations.append(f"{name}={terms[0]}+{terms[1]}")
        return name

    def operand(letter, tensor):
        return letter + "".join(f"[{index(axis)}]" for axis in tensors[tensor])

    equation = f"{operand('O', 'C')}+={operand('I', 'A')}*{operand('W', 'B')}"
    return [{
        "id": 0,
        "operator_type": "Gemm",
        "equation": equation,
        "dimension_relations": relations,
        "loop_dims": [name.upper() for name in sizes],
        "loop_sizes": list(sizes.values()),
        "operand_precision": {"W": BITS, "I": BITS, "O": BITS, "O_final": BITS},
        "operand_source": {"I": 0, "W": 0},
    }]


def monet_optimum(monet, folder, case):
    """(energy, CPU seconds, proven) of monet's search over all unrollings and mappings."""
    layer, chip = Path(folder, "layer.yaml"), Path(folder, "chip.yaml")
    layer.write_text(json.dumps(workload(case)))
    chip.write_text(json.dumps(accelerator(case)))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [monet, "map", str(layer), "--on", str(chip), "--criterion", "energy", "--spatials", "1000", "--mixed", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    if done.returncode != 0:
        sys.exit(f"{case['name']}: {done.stderr}{done.stdout}")
    result = json.loads(done.stdout)["result"]
    result = result["layers"][0] if "layers" in result else result
    return result["energy_pj"], spent, result["proven_optimal"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", required=True, help="what accelforge_cases.py wrote")
    parser.add_argument("--monet", default="build/release/monet")
    arguments = parser.parse_args()
    cases = json.loads(Path(arguments.cases).read_text())["cases"]
    worse, ratios = 0, []
    print(f"{'case':28}{'AccelForge pJ':>15}{'monet pJ':>14}{'':>10}{'s':>9}{'s':>9}{'faster':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            theirs = case["accelforge_energy"]
            ours, spent, proven = monet_optimum(arguments.monet, folder, case)
            compared = "overlap" not in case["name"]
            verdict = "" if not compared else "equal" if abs(ours - theirs["energy_pj"]) < 1e-6 * ours else "lower" if ours < theirs["energy_pj"] else "WORSE"
            must_equal = "latched" in case["name"]
            worse += compared and (verdict == "WORSE" or not proven or (must_equal and verdict != "equal"))
            ratios.append(theirs["cpu_s"] / max(spent, 1e-3))
            print(f"{case['name']:28}{theirs['energy_pj']:15,.0f}{ours:14,.0f}{verdict or 'differs':>10}{theirs['cpu_s']:9.3f}{spent:9.3f}{ratios[-1]:8.0f}x")
    ratios.sort()
    print(f"{len(cases)} cases, {worse} worse; faster by {ratios[0]:.0f}x to {ratios[-1]:.0f}x, median {ratios[len(ratios) // 2]:.0f}x")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
