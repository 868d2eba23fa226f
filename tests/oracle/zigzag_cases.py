"""Random cases for the compatibility mode of the cost model, made with ZigZag itself.

    zigzag_cases.py generate --out DIR [--seed N] [--fixed N] [--searched N] [--imc | --roomy] [--full]
    zigzag_cases.py replay --cases FILE --accelerators FILE [--most N]

`generate` writes accelerators.json, fixed.json, searched.json and infeasible.json in the formats of the golden files
(`monet validate zigzag` reads them); the same seed and counts give the same files but for the times. `replay` runs the
cases of such files with the installed ZigZag and says which figures differ: golden data of another version is found out
that way. Needs the environment of tools/peers.sh.
"""
import argparse
import json
import math
import random
import resource
import sys
import traceback
from pathlib import Path

import zigzag
import zigzag_runner
from zigzag_random import (
    orderings_of,
    random_accelerator,
    random_imc,
    random_inputs,
    random_layer,
    random_ordering,
    random_pattern,
    word_and_bit_lines,
)

SECONDS_PER_CASE = 20.0
MOST_CYCLES = 60_000  # ZigZag writes out one period cycle by cycle where windows overlap
MOST_ORDERINGS = 400
VERDICTS = {"MemoryTooSmallException", "MemoryHierarchyTooSmallException", "NoValidLoopOrderingFoundException"}


# ---- Generation ----


class Generator:
    def __init__(self, arguments):
        self.random = random.Random(arguments.seed)
        self.arguments = arguments
        self.accelerators, self.fixed, self.searched, self.infeasible = {}, [], [], []
        self.facts, self.built, self.uses = None, None, 0
        self.dropped = 0

    def next_accelerator(self):
        if self.uses == 0:
            name = f"random_{self.arguments.seed}_{len(self.accelerators)}"
            if self.arguments.imc:
                self.facts = random_imc(self.random, name)
            else:
                self.facts = random_accelerator(self.random, name, self.arguments.roomy)
            self.built = zigzag_runner.build_accelerator(self.facts)
            self.accelerators[name] = self.facts
            self.uses = self.random.choice([2, 3, 4, 5])
        self.uses -= 1

    def one(self, searched):
        self.next_accelerator()
        kind = None
        if self.arguments.imc:
            kind = random_layer(self.random, ("conv", "conv", "pointwise", "gemm"))
            kind[1]["operand_precision"] |= dict(zip("IW", self.facts["operational_array"]["input_precision"]))
            kind[1]["operand_precision"] |= {"O": 16, "O_final": 8}
        name, inputs = random_inputs(self.random, self.facts, kind, searched)
        if self.arguments.imc and self.random.random() < 0.8:
            inputs["spatial_mapping_user"] = word_and_bit_lines(self.random, self.facts, inputs["layer"])
        number = len(self.searched if searched else self.fixed) + len(self.infeasible)
        case = {"id": f"{'search' if searched else 'fixed'}/{self.facts['name']}/{name}/{number}", "inputs": inputs}
        # Drawn before ZigZag runs, so that what follows does not depend on how long it took.
        drawn = random.Random(self.random.random())
        try:
            with zigzag_runner.time_limit(SECONDS_PER_CASE):
                self.complete(case, drawn, searched)
        except zigzag_runner.TookTooLong:
            self.dropped += 1
        except (MemoryError, RecursionError):
            self.dropped += 1
        except Exception as error:  # whatever ZigZag raises is the result of the case
            if Path(traceback.extract_tb(error.__traceback__)[-1].filename).parent == Path(__file__).parent:
                raise
            self.refused(case, error)

    def complete(self, case, drawn, searched):
        inputs = case["inputs"]
        loops = zigzag_runner.temporal_loops(self.built, inputs)
        cycles = max((math.prod(sizes.values()) for sizes in loops), default=1)
        if cycles > MOST_CYCLES:
            self.dropped += 1
            return
        if searched:
            limit = inputs["search"]["lpf_limit"]
            if sum(orderings_of(sizes, limit) for sizes in loops) > MOST_ORDERINGS:
                self.dropped += 1
                return
            if drawn.random() < 0.35:
                inputs["temporal_ordering_user_inner_to_outer"] = random_pattern(drawn, loops[0])
        else:
            nothing_left = [[inputs["layer"]["loop_dims"][0], 1]]  # what ZigZag's own search then tries
            inputs["temporal_ordering_inner_to_outer"] = random_ordering(drawn, loops[0]) or nothing_left
        case |= zigzag_runner.run_case(self.built, inputs, self.arguments.full)
        if case["outputs"]["total_mac_count"] and not self.arguments.imc:
            found = case["outputs"]["ideal_temporal_cycles"]
            if found not in [math.prod(sizes.values()) for sizes in loops]:
                case["note"] = f"ZigZag's loops make {found} cycles, not what the layer leaves for time"
        (self.searched if searched else self.fixed).append(case)

    def refused(self, case, error):
        """Keeps a case without a result; a crash (not a verdict about the memories) says where it happened."""
        inputs = case["inputs"]
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}: {frame.name}"
        note = "refused" if type(error).__name__ in VERDICTS else f"crashes upstream in {place}"
        mapping = {
            "spatial_mapping": inputs["spatial_mapping_user"],
            "spatial_mapping_hint": inputs["spatial_mapping_hint"],
            "temporal_ordering": inputs["temporal_ordering_user_inner_to_outer"],
            "memory_operand_links": inputs["memory_operand_links"],
        }
        self.infeasible.append(
            {
                "id": case["id"],
                "inputs": {
                    "accelerator": inputs["accelerator"],
                    "layer": inputs["layer"],
                    "mapping": {key: value for key, value in mapping.items() if value is not None},
                    "ordering": inputs.get("temporal_ordering_inner_to_outer"),
                    "search": inputs["search"],
                },
                "error": f"{type(error).__name__}: {error}",
                "note": note,
            }
        )

    def run(self):
        while len(self.fixed) < self.arguments.fixed:
            self.one(False)
            self.tell(len(self.fixed), self.arguments.fixed)
        while len(self.searched) < self.arguments.searched:
            self.one(True)
            self.tell(len(self.searched), self.arguments.searched)

    def tell(self, done, wanted):
        if done % 100 == 0 and done:
            text = f"{done}/{wanted}, {len(self.infeasible)} infeasible, {self.dropped} dropped"
            print(text, file=sys.stderr)

    def write(self):
        folder = Path(self.arguments.out)
        folder.mkdir(parents=True, exist_ok=True)
        meta = {
            "tool": "ZigZag (zigzag-dse)",
            "version": zigzag.__version__,
            "seed": self.arguments.seed,
            "options": {"access_same_data_considered_as_no_access": True},
            "units": {"energy": "pJ", "latency": "clock cycles", "size": "bits", "bandwidth": "bits per cycle"},
        }
        for name, key, value in [
            ("accelerators", "accelerators", self.accelerators),
            ("fixed", "cases", self.fixed),
            ("searched", "cases", self.searched),
            ("infeasible", "cases", self.infeasible),
        ]:
            (folder / f"{name}.json").write_text(json.dumps({"meta": meta, key: value}, allow_nan=False) + "\n")


# ---- Replay ----


def differences(expected, found, path=""):
    if isinstance(expected, dict) and isinstance(found, dict):
        both = [key for key in expected if key in found]
        return [line for key in both for line in differences(expected[key], found[key], f"{path}/{key}")]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [line for i, pair in enumerate(zip(expected, found)) for line in differences(*pair, f"{path}/{i}")]
    numbers = all(isinstance(value, (int, float)) for value in (expected, found))
    if expected == found or (numbers and math.isclose(expected, found, rel_tol=1e-9)):
        return []
    return [f"{path}: {expected} expected, {found} found"]


def replay(arguments):
    accelerators = json.loads(Path(arguments.accelerators).read_text())["accelerators"]
    cases = json.loads(Path(arguments.cases).read_text())["cases"]
    wrong = tried = 0
    for case in cases:
        if case["run"]["evaluated_mappings"] > arguments.most:
            continue
        tried += 1
        found = zigzag_runner.run_case(
            zigzag_runner.build_accelerator(accelerators[case["inputs"]["accelerator"]]), case["inputs"]
        )
        lines = differences(case["outputs"], found["outputs"]) + differences(case["derived"], found["derived"])
        lines += differences(case["run"]["evaluated_mappings"], found["run"]["evaluated_mappings"], "evaluated")
        wrong += bool(lines)
        for line in lines[:5]:
            print(f"{case['id']} {line}")
    print(f"zigzag-dse {zigzag.__version__}: {tried - wrong} of {tried} cases as recorded")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    generate = verbs.add_parser("generate")
    generate.add_argument("--out", required=True)
    generate.add_argument("--seed", type=int, default=1)
    generate.add_argument("--fixed", type=int, default=300)
    generate.add_argument("--searched", type=int, default=60)
    generate.add_argument("--imc", action="store_true", help="in-memory-compute cores only")
    generate.add_argument("--roomy", action="store_true", help="memories that hold whole operands: loads and unloads")
    generate.add_argument("--full", action="store_true", help="data movement and cycles of every direction")
    again = verbs.add_parser("replay")
    again.add_argument("--cases", required=True)
    again.add_argument("--accelerators", required=True)
    again.add_argument("--most", type=int, default=800, help="leave out searches of more orderings")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    if arguments.verb == "replay":
        return replay(arguments)
    generator = Generator(arguments)
    generator.run()
    generator.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
