#!/usr/bin/env python3
"""AccelForge's mapper (PyPI accelforge) on small nests whose optimum a plain count of accesses can state too.

    build/peers_accelforge/bin/python bench/peers/accelforge_cases.py --out FILE [--only NAME…] [--list]

Per case: the memories, the nest, and for the objectives energy and latency the optimum AccelForge found, its mapping,
its accesses per memory, tensor and direction, and the CPU seconds it took on one thread. Where the case has one memory
under the outer one and few prime factors, an exhaustive search over all orderings of the prime factors and all
placements under the plain count (section "plain count" below) is recorded beside it and has to give the same energy.
"""
import argparse
import copy
import itertools
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

BITS = 8  # of every value; one access moves one value

# ---- The cases ----


def level(name, size, read, write, per_cycle, **more):
    """A memory: bits, pJ per value read and written, values per cycle (reads and writes together)."""
    return {"name": name, "bits": size, "read_pj": read, "write_pj": write, "values_per_cycle": per_cycle} | more


def two_levels(values):
    return [level("dram", None, 100, 110, 8), level("buffer", values * BITS, 2, 3, 8)]


def three_levels(values, registers):
    return two_levels(values) + [level("registers", registers * BITS, 0.5, 0.75, 4)]


def array(values, registers, fanout):
    return two_levels(values) + [level("registers", registers * BITS, 0.5, 0.75, 4, fanout=fanout)]


def latched(levels):
    """With a register of one value before each multiplier input: repeated reads of the same value are free."""
    return levels + [level(f"latch_{t}", BITS, 0, 0, None, tensor=t) for t in ("A", "B")]


GEMM = {"A": ["m", "k"], "B": ["k", "n"], "C": ["m", "n"]}
BATCHED = {"A": ["b", "m", "k"], "B": ["b", "k", "n"], "C": ["b", "m", "n"]}
WEIGHT_GRADIENT = {"A": ["b", "k"], "B": ["b", "c"], "C": ["k", "c"]}
POINTWISE = {"A": ["c", "p", "q"], "B": ["k", "c"], "C": ["k", "p", "q"]}
PATCHES = {"A": ["c", "2*p+r"], "B": ["k", "c", "r"], "C": ["k", "p"]}  # stride as wide as the kernel: no overlap
CONV = {"A": ["c", "p+r"], "B": ["k", "c", "r"], "C": ["k", "p"]}  # windows overlap


def nest(tensors, **sizes):
    return {"tensors": tensors, "sizes": sizes}


CASES = {
    "gemm_8_8_8": (two_levels(48), nest(GEMM, m=8, n=8, k=8)),
    "gemm_8_8_8_small": (two_levels(20), nest(GEMM, m=8, n=8, k=8)),
    "gemm_16_8_4": (two_levels(40), nest(GEMM, m=16, n=8, k=4)),
    "gemm_4_4_32": (two_levels(24), nest(GEMM, m=4, n=4, k=32)),
    "gemm_9_6_10": (two_levels(30), nest(GEMM, m=9, n=6, k=10)),
    "gemm_16_32_8": (two_levels(256), nest(GEMM, m=16, n=32, k=8)),
    "gemm_64_64_64": (two_levels(1024), nest(GEMM, m=64, n=64, k=64)),
    "gemm_8_8_8_latched": (latched(two_levels(48)), nest(GEMM, m=8, n=8, k=8)),
    "gemm_4_4_32_latched": (latched(two_levels(24)), nest(GEMM, m=4, n=4, k=32)),
    "gemm_9_6_10_latched": (latched(two_levels(30)), nest(GEMM, m=9, n=6, k=10)),
    "batched_4_4_8_4": (two_levels(40), nest(BATCHED, b=4, m=4, n=8, k=4)),
    "weight_gradient_8_16_4": (two_levels(36), nest(WEIGHT_GRADIENT, b=8, k=16, c=4)),
    "pointwise_8_4_4_4": (two_levels(40), nest(POINTWISE, k=8, c=4, p=4, q=4)),
    "pointwise_8_4_4_4_latched": (latched(two_levels(40)), nest(POINTWISE, k=8, c=4, p=4, q=4)),
    "patches_8_4_8": (two_levels(40), nest(PATCHES, k=8, c=4, p=8, r=2)),
    "gemm_8_8_8_registers": (three_levels(96, 8), nest(GEMM, m=8, n=8, k=8)),
    "gemm_16_16_16_registers": (three_levels(256, 16), nest(GEMM, m=16, n=16, k=16)),
    "gemm_8_8_8_array4": (array(96, 8, 4), nest(GEMM, m=8, n=8, k=8)),
    "gemm_16_16_16_array4": (array(256, 8, 4), nest(GEMM, m=16, n=16, k=16)),
    "conv_8_4_16_overlap": (two_levels(40), nest(CONV, k=8, c=4, p=16, r=3)),
}

MAC_PJ = 1


# ---- AccelForge ----


def memory_text(facts):
    keep = facts.get("tensor", "All")
    size = "inf" if facts["bits"] is None else facts["bits"]
    rate = "inf" if facts["values_per_cycle"] is None else facts["values_per_cycle"]
    lines = [
        "  - !Memory",
        f"    name: {facts['name']}",
        f"    size: {size}",
        "    leak_power: 0",
        "    area: 0",
        f"    tensors: {{keep: {keep}}}",
    ]
    if "fanout" in facts:
        lines += ["    spatial:", f"    - {{name: X, fanout: {facts['fanout']}}}"]
    lines.append("    actions:")
    for action in ("read", "write"):
        energy = facts[f"{action}_pj"]
        lines.append(f"    - {{name: {action}, energy: {energy}, bits_per_action: {BITS}, throughput: {rate}}}")
    return lines


def specification(levels, loops):
    """The text of AccelForge's input; throughputs are per cycle, so that latencies are cycles."""
    lines = ["arch:", "  nodes:"]
    for facts in levels:
        lines += memory_text(facts)
    lines += ["  - !Compute", "    name: mac", "    leak_power: 0", "    area: 0", "    actions:"]
    lines += [f"    - {{name: compute, energy: {MAC_PJ}, throughput: 1}}"]
    sizes = ", ".join(f"{name.upper()}: {size}" for name, size in loops["sizes"].items())
    lines += ["workload:", f"  rank_sizes: {{{sizes}}}", "  einsums:", "  - name: Nest", "    tensor_accesses:"]
    for tensor, axes in loops["tensors"].items():
        ranks = [axis.upper() if axis.isalpha() else f"{tensor}{i}" for i, axis in enumerate(axes)]
        projection = ", ".join(f"{rank}: {axis}" for rank, axis in zip(ranks, axes))
        output = ", output: True" if tensor == "C" else ""
        lines.append(f"    - {{name: {tensor}, projection: {{{projection}}}, bits_per_value: {BITS}{output}}}")
    return "\n".join(lines) + "\n"


def mapping_of(mapping):
    """The nest from outside in: memories with what they keep there, and loops with the tile they leave inside."""
    lines = []
    for node in mapping.nodes:
        kind = type(node).__name__
        if kind == "Storage":
            lines.append(f"{node.component} keeps {' '.join(sorted(str(t) for t in node.tensors))}")
        elif kind in ("Temporal", "Spatial"):
            where = f" across {node.component}" if kind == "Spatial" else ""
            lines.append(f"{kind.lower()} {node.rank_variable} tile {node.tile_shape}{where}")
    return lines


def solve(text, objective):
    import accelforge
    from accelforge.frontend.mapper.metrics import Metrics
    from accelforge.mapper.FFM.main import map_workload_to_arch
    from accelforge.model.main import evaluate_mapping

    accelforge.set_n_parallel_jobs(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.yaml"
        path.write_text(text)
        specification_ = accelforge.Spec.from_yaml(str(path))
        specification_.mapper.metrics = {"energy": Metrics.ENERGY, "latency": Metrics.LATENCY}[objective]
        start = time.process_time()
        found = map_workload_to_arch(specification_, print_progress=False, eval_in_detail=False)
        seconds = time.process_time() - start
        # Its own detailed evaluation draws the mapping with Graphviz; this one only counts.
        detailed = copy.deepcopy(specification_)
        detailed.model.metrics = detailed.mapper.info_metrics
        detailed.mapping = found.data.iloc[0]["Total<SEP>mapping"](_for_model=True)
        figures = evaluate_mapping(
            detailed, flattened_arches=found.flattened_arches, evaluated_specs=found.evaluated_specs
        ).data.iloc[0]
    accesses = {}
    for column in figures.index:
        parts = column.split("<SEP>")
        if len(parts) == 5 and parts[1] == "action" and parts[3] != "None":
            accesses.setdefault(parts[2], {}).setdefault(parts[3], {})[parts[4]] = float(figures[column])
    return {
        "energy_pj": float(figures["Total<SEP>energy"]),
        "latency_cycles": float(figures["Total<SEP>latency"]),
        "accesses": accesses,
        "mapping": mapping_of(detailed.mapping),
        "cpu_s": round(seconds, 3),
    }


# ---- Plain count ----
#
# One memory under the outer one. A tensor's place is the number of loops outside it; its tile is the footprint of the
# loops inside; it is filled as often as the loops outside say, without those directly outside it that do not touch it.
#   inputs   outer reads = inner writes = fills * tile; inner reads = multiplications, with a latch those that change
#   output   up = fills * tile; inner writes = multiplications + (up - size), inner reads = (multiplications - size)
#            + up, outer writes = up, outer reads = up - size: only the first sum of an element needs no value
# All tiles lie in the memory together; nothing is kept twice.


def prime_factors(number):
    factors, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 1
    return factors


def orderings(loops):
    """Every order of a multiset of loops, outermost first."""
    if not loops:
        yield ()
        return
    for loop in sorted(set(loops)):
        rest = list(loops)
        rest.remove(loop)
        for tail in orderings(rest):
            yield (loop, *tail)


def letters(axes):
    return {letter for axis in axes for letter in axis if letter.isalpha()}


def footprint(axes, extents):
    """Values of a tensor under loops of the given extents; windows do not overlap in what this is used for."""
    size = 1
    for name in letters(axes):
        size *= extents.get(name, 1)
    return size


def fills(order, place, touched):
    """Product of the loops outside `place`, without the innermost ones of them that do not touch the tensor."""
    while place and order[place - 1][0] not in touched:
        place -= 1
    return math.prod(size for _, size in order[:place])


def plain_optimum(levels, loops):
    """(least energy, orderings tried) of all orders of the prime factors and all places of the tensors."""
    outer, inner = levels[0], levels[1]
    latch = len(levels) > 2
    work = math.prod(loops["sizes"].values())
    factors = [(name, f) for name, size in loops["sizes"].items() for f in prime_factors(size)]
    touched = {tensor: letters(axes) for tensor, axes in loops["tensors"].items()}
    whole = footprint(loops["tensors"]["C"], loops["sizes"])
    best, tried = math.inf, 0
    for order in orderings(factors):
        tried += 1
        options = []
        for tensor, axes in loops["tensors"].items():
            mine = {}
            for place in range(len(order) + 1):
                extents = {}
                for name, size in order[place:]:
                    extents[name] = extents.get(name, 1) * size
                tile = footprint(axes, extents)
                moved = fills(order, place, touched[tensor]) * tile
                if tensor == "C":
                    energy = outer["write_pj"] * moved + outer["read_pj"] * (moved - whole)
                    energy += inner["write_pj"] * (work + moved - whole) + inner["read_pj"] * (work - whole + moved)
                else:
                    read = fills(order, len(order), touched[tensor]) if latch else work
                    energy = (outer["read_pj"] + inner["write_pj"]) * moved + inner["read_pj"] * read
                mine[tile] = min(energy, mine.get(tile, math.inf))
            options.append(list(mine.items()))
        for choice in itertools.product(*options):
            if sum(tile for tile, _ in choice) * BITS <= inner["bits"]:
                best = min(best, sum(energy for _, energy in choice))
    return best + MAC_PJ * work, tried


def counted(loops, nodes):
    """Accesses per memory and tensor of a mapping as mapping_of writes it, by the same rules for any number of levels.

    Across an array every instance is written, but the memory above is read once for all that get the same value. What
    the instances of an array add up for the same output reaches the memory above as one value, free of charge, and each
    of them begins without one.
    """
    work = math.prod(loops["sizes"].values())
    accesses = {}
    for tensor, axes in loops["tensors"].items():
        touched, whole = letters(axes), footprint(axes, loops["sizes"])
        extents, outside, instances, multicast = dict(loops["sizes"]), 1, 1, 1
        above, begun = None, whole  # the last memory that keeps the tensor; first sums made under it
        for line in nodes:
            words = line.split()
            if words[0] in ("temporal", "spatial"):
                times = extents[words[1]] // int(words[3])
                extents[words[1]] = int(words[3])
                if words[0] == "temporal":
                    outside *= times
                    continue
                instances *= times
                multicast *= 1 if words[1] in touched else times
            elif tensor in words[2:]:
                entry = accesses.setdefault(words[0], {}).setdefault(tensor, {"read": 0, "write": 0})
                if above is not None:
                    moved = outside * footprint(axes, extents) * instances
                    if tensor == "C":
                        accesses[above][tensor]["write"] += moved // multicast
                        accesses[above][tensor]["read"] += moved // multicast - begun
                        begun *= multicast
                        entry["read"] += moved
                        entry["write"] += moved - begun
                    else:
                        accesses[above][tensor]["read"] += moved // multicast
                        entry["write"] += moved
                above, multicast = words[0], 1
        accesses[above][tensor]["read"] += work - (begun if tensor == "C" else 0)
        accesses[above][tensor]["write"] += work if tensor == "C" else 0
    return accesses


def overlaps(loops):
    return any(axis.startswith("p+") for axes in loops["tensors"].values() for axis in axes)


def plain_can_tell(levels, loops):
    memories = [facts for facts in levels if "tensor" not in facts]
    factors = sum(len(prime_factors(size)) for size in loops["sizes"].values())
    return len(memories) == 2 and not overlaps(loops) and factors <= 9


# ---- Run ----


def run(name):
    levels, loops = CASES[name]
    text = specification(levels, loops)
    record = {"name": name, "levels": levels, "nest": loops, "bits_per_value": BITS, "mac_pj": MAC_PJ}
    for objective in ("energy", "latency"):
        found = solve(text, objective)
        record[f"accelforge_{objective}"] = found
        if not overlaps(loops):
            found["plain_count_agrees"] = counted(loops, found["mapping"]) == found["accesses"]
    if plain_can_tell(levels, loops):
        start = time.process_time()
        energy, tried = plain_optimum(levels, loops)
        theirs = record["accelforge_energy"]["energy_pj"]
        record["plain_count"] = {
            "energy_pj": energy,
            "orderings": tried,
            "cpu_s": round(time.process_time() - start, 3),
            "agrees": math.isclose(energy, theirs, rel_tol=1e-6),
        }
    return record


def agree(record):
    """Whether the plain count says the same of AccelForge's mappings, and of its optimum where it was searched."""
    for objective in ("energy", "latency"):
        if not record[f"accelforge_{objective}"].get("plain_count_agrees", True):
            return False
    return record.get("plain_count", {"agrees": True})["agrees"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="where the records go (JSON)")
    parser.add_argument("--only", nargs="*", choices=list(CASES), help="these cases only")
    parser.add_argument("--list", action="store_true", help="say which cases there are")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(CASES))
        return 0
    if not arguments.out:
        parser.error("--out is needed")
    import accelforge
    from importlib.metadata import version

    records = []
    for name in arguments.only or CASES:
        record = run(name)
        records.append(record)
        energy, latency = record["accelforge_energy"], record["accelforge_latency"]
        plain = record.get("plain_count", {}).get("energy_pj", "-")
        print(
            f"{name:28} energy {energy['energy_pj']:12.2f} pJ in {energy['cpu_s']:7.2f} s, plain {plain}; "
            f"latency {latency['latency_cycles']:8.0f} in {latency['cpu_s']:7.2f} s",
            file=sys.stderr,
            flush=True,
        )
        written = {"tool": "accelforge", "version": version(accelforge.__name__), "cases": records}
        Path(arguments.out).write_text(json.dumps(written, indent=1) + "\n")
    return 0 if all(agree(record) for record in records) else 1


if __name__ == "__main__":
    sys.exit(main())
