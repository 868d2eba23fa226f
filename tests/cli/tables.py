"""Are the tables of docs/evaluate.md and docs/fuse.md what MONET gives today?

    python3 tables.py MONET DOCS

Every row of figures is evaluated again, and each figure compared as it is written. Exit code 1 if one is another, or if
a table is not found any more. Two minutes.
"""
import json
import pathlib
import re
import subprocess
import sys

MODELS = {"ResNet-18, batch-norm trained": "resnet18", "ResNet-18, batch-norm frozen": "resnet18:norm=frozen",
          "ResNet-18, batch-norm folded": "resnet18:norm=folded", "ResNet-18, GroupNorm": "resnet18:norm=group",
          "GPT-2 small, 1,024 tokens": "gpt2", "ResNet-18": "resnet18", "GPT-2 small": "gpt2"}
UNITS = {"ms": ("latency_s", 1e3), "mJ": ("energy_pj", 1e-9), "MB": ("peak_total_bytes", 1e-6)}


class Tables:
    def __init__(self, monet):
        self.monet, self.rows, self.faults = monet, 0, []

    def evaluate(self, *arguments):
        command = [self.monet, "evaluate", *arguments, "--json", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)["result"]

    def compare(self, row, cell, result):
        """Figures such as '118.4 ms, 96.83 mJ, 194.3 MB': rounded as they are written."""
        for number, unit in re.findall(r"([\d.,]*\d) (ms|mJ|MB)", cell):
            key, factor = UNITS[unit]
            value, written = result[key] * factor, number.replace(",", "")
            decimals = len(written.partition(".")[2])
            if abs(value - float(written)) > 0.5001 * 10.0 ** -decimals:
                self.faults.append(f"{row}: {number} {unit} is {value:.6g} {unit}")
        self.rows += 1

    def training_beside_inference(self, text):
        for name, batch, chip, training, inference in re.findall(
                r"^\| ([^|]+) \| (\d+) \| (\w+) \| ([^|]+ MB) \| ([^|]+ MB) \| [\d.]+ × \|$", text, re.M):
            result = self.evaluate(MODELS[name], "--on", chip, "--batch", batch, "--mode", "both")
            for mode, cell in (("training", training), ("inference", inference)):
                self.compare(f"{name}, batch {batch}, {chip}, {mode}", cell, result[mode])

    def updates(self, text):
        model = chip = None
        for name, updates, cell in re.findall(
                r"^\| ([^|]*)\| (steps|fused) \| [\d,]+ \| [\d,]+ \| ([\d.,]+ ms \| [\d.,]+ mJ) \|", text, re.M):
            if name.strip():
                model, chip = name.strip().split(" on ")
            self.compare(f"{model}, {chip}, updates {updates}", cell,
                         self.evaluate(MODELS[model], "--on", chip, "--updates", updates))

    def groups(self, text):
        for chip, alone, default in re.findall(
                r"^\| `(\w+)` \| [\d,]+ · ([^|]*?) · [\d,]+ MB \| \d+ · ([^|]*?) · \d+ MB \|", text, re.M):
            self.compare(f"{chip}, one by one", alone, self.evaluate("resnet18", "--on", chip, "--stacks", "[0]"))
            self.compare(f"{chip}, by default", default, self.evaluate("resnet18", "--on", chip))


def main(monet, docs):
    tables = Tables(str(pathlib.Path(monet).resolve()))
    for page, part, least in (("evaluate.md", tables.training_beside_inference, 74), ("evaluate.md", tables.updates, 8),
                              ("fuse.md", tables.groups, 6)):
        before = tables.rows
        part(pathlib.Path(docs, page).read_text())
        if tables.rows - before < least:
            tables.faults.append(f"{page}: {tables.rows - before} of {least} rows were recognised")
    print(*tables.faults, f"{tables.rows} rows, {len(tables.faults)} faults", sep="\n")
    return 1 if tables.faults else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
