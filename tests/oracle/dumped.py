"""What dump_iteration writes, as torch tensors. Importing it ends the script with 77, ctest's code for a skipped test,
if torch is not installed."""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
except ImportError:
    print("skipped: torch is not installed")
    sys.exit(77)


class Dump:
    """One run of dump_iteration: saved is a list of descriptions, the others are tensors by name."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        index = json.loads((folder / "index.json").read_text())
        self.dtype = getattr(torch, index["number"])
        self.saved = index["saved"]
        self.notes = index["notes"]
        self.losses = index.get("losses", [])

        numbers = np.fromfile(folder / "numbers.bin", dtype=index["number"])

        def read(entry):
            start = entry["offset"] // numbers.itemsize
            count = int(np.prod(entry["shape"], dtype=np.int64))
            return torch.from_numpy(numbers[start:start + count].reshape(entry["shape"]).copy())

        sources = index.get("sources", [])
        self.weights = {e["name"]: read(e) for e in sources if e["category"] == "weight"}
        self.states = {e["name"]: read(e) for e in sources if e["category"] == "model_state"}
        self.inputs = {e["name"]: read(e) if e["category"] == "input" else read(e).long()
                       for e in sources if e["category"] in ("input", "index")}
        self.target = next((self.inputs.pop(name) for name in ("labels", "target") if name in self.inputs), None)
        self.gradients = {e["weight"]: read(e) for e in index.get("gradients", [])}
        self.after = {e["name"]: read(e) for e in index.get("after", [])}


def dump(binary, model, **options):
    with tempfile.TemporaryDirectory() as folder:
        words = [binary, model, folder, *(f"{key}={value}" for key, value in options.items())]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words[1:])}: {done.stderr.strip()}")
        return Dump(folder)


def load(model, d):
    """Gives the module the dump's numbers. Names and shapes must be the same on both sides."""
    parameters = dict(model.named_parameters())
    if parameters.keys() != d.weights.keys():
        raise RuntimeError(f"weights differ: {sorted(parameters.keys() ^ d.weights.keys())}")
    buffers = dict(model.named_buffers())
    with torch.no_grad():
        for name, value in {**d.weights, **d.states}.items():
            place = parameters.get(name, buffers.get(name))
            if place is None or place.shape != value.shape:
                raise RuntimeError(f"{name} {list(value.shape)} has no counterpart in torch")
            place.copy_(value)


class Tally:
    """Counts outcomes, prints a line for each, and the closing line."""

    def __init__(self):
        self.passed = self.failed = 0

    def report(self, passed, text):
        self.passed += passed
        self.failed += not passed
        print(("ok    " if passed else "FAIL  ") + text, flush=True)

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)
