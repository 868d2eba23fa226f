#!/usr/bin/env python3
"""How far the model is from what was measured, as `monet explore` shows it: data/validation/bands.json.

    python3 tools/error_bands.py MONET --write          makes the file anew (five minutes)
    python3 tools/error_bands.py MONET --check          does it say what this program gives?
    python3 tools/error_bands.py MONET --check quick    the same of the suites that take seconds

Every row that has a figure of both is in its band, whether it meets its aim or not. Errors are those of latency and energy,
ours over theirs less one: a rate that is twice the measured one is a latency of -50 %. README.md and docs/validation.md
quote them as errors of what was measured, cycles or rates; both checks compare these with the file.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "data" / "validation" / "bands.json"
DATA = ROOT / "data" / "validation"

# What the measured chips ran; their cases do not say it in a word.
CHIP_WORKLOADS = {"DepFiN": "FSRCNN", "DIANA": "part of ResNet-18", "Jia et al. 4x4 scalable analog IMC array": "part of ResNet-50"}


def run(monet, *arguments):
    done = subprocess.run([monet, "validate", *arguments, "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):  # 1: not all meet their aim
        sys.exit(f"monet validate {' '.join(arguments)} ended with {done.returncode}")
    return json.loads(done.stdout)["result"]["suites"]


def rows_of(suites, row):
    out = []
    for suite in suites:
        for each in suite["rows"]:
            if isinstance(each["ours"], str):
                sys.exit(f"{each['id']} has no figure: {each['ours']}")
            chip, workload, error = row(suite["name"], each)
            out.append({"chip": chip, "workload": workload, "error": round(error, 6)})
    return out


def chip_row(_, row):
    if row["id"] not in CHIP_WORKLOADS:
        sys.exit(f"{row['id']}: which workload? CHIP_WORKLOADS of tools/error_bands.py says it of the others")
    return row["id"], CHIP_WORKLOADS[row["id"]], row["error"]


def rate_row(_, row):
    device, model = row["id"].split(", ")[:2]
    for more in (" ImageNet", " pre-train"):  # one network, whichever source names it
        model = model.removesuffix(more)
    return device, model, row["theirs"] / row["ours"] - 1


def fusemax_row(suite, row):
    return suite.split()[0], row["id"], row["error"]


# A band: what it is of, how its rows are made, whether that takes seconds only.
BANDS = [
    ({"figure": "latency", "mode": "inference", "against": "measurement", "of": "cycles of chips",
      "command": "monet validate silicon --cases data/validation/silicon_chips.json"}, True,
     lambda monet: rows_of(run(monet, "silicon", "--cases", DATA / "silicon_chips.json"), chip_row)),
    ({"figure": "latency", "mode": "training", "against": "measurement", "of": "training rates of devices",
      "command": "monet validate silicon --cases data/validation/silicon_training.json"}, False,
     lambda monet: rows_of(run(monet, "silicon", "--cases", DATA / "silicon_training.json"), rate_row)),
    ({"figure": "energy", "mode": "inference", "against": "model", "of": "tables of FuseMax's artifact, dynamic, without registers",
      "command": "monet validate fusemax"}, False,
     lambda monet: rows_of([s for s in run(monet, "fusemax") if s["name"].endswith(" energy")], fusemax_row)),
]


def quoted_errors(name, cell):
    """Of the table rows whose cell (a number) is a signed figure in percent: all these figures, as they are written."""
    for line in (ROOT / name).read_text().splitlines():
        cells = line.split("|")
        if len(cells) > cell and (figures := re.findall(r"[+−-]\d+(?:\.\d+)?", re.sub(r"\(.*?\)", "", cells[cell]))) and "%" in cells[cell]:
            yield cells[1].strip(), figures


def quotation_faults(bands):
    measured = [b for b in bands if b["against"] == "measurement"]
    errors = [1 / (1 + row["error"]) - 1 if b["mode"] == "training" else row["error"] for b in measured for row in b["rows"]]
    for name, cell in (("docs/validation.md", 4), ("README.md", 3)):
        left = list(errors)
        for row, figures in quoted_errors(name, cell):
            for figure in figures:
                number = figure.replace("−", "-")
                decimals = len(number.partition(".")[2])
                near = [e for e in left if abs(100 * e - float(number)) <= 0.5001 * 10.0 ** -decimals]
                if near:
                    left.remove(near[0])
                else:
                    yield f"{name}, {row}: {figure} % is none of the errors"
        for e in left:
            yield f"{name}: {100 * e:+.2f} % is not quoted"


def text_of(bands):
    """One line for each row."""
    parts = []
    for band in bands:
        head = ",\n     ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in band.items() if k != "rows")
        rows = ",\n".join("       " + json.dumps(row) for row in band["rows"])
        parts.append(f"    {{{head},\n     \"rows\": [\n{rows}]}}")
    return '{\n  "made_by": "tools/error_bands.py",\n  "bands": [\n' + ",\n".join(parts) + "]\n}\n"


def main(arguments):
    if not arguments or arguments[1:] not in (["--write"], ["--check"], ["--check", "quick"]):
        sys.exit(__doc__)
    monet = arguments[0]
    bands = [{**head, "rows": rows(monet)} for head, is_quick, rows in BANDS if is_quick or "quick" not in arguments]
    if "--write" in arguments:
        FILE.write_text(text_of(bands))
        return 0
    kept = json.loads(FILE.read_text())["bands"]
    if "quick" not in arguments and [b["command"] for b in kept] != [b["command"] for b in bands]:
        sys.exit(f"{FILE.name} has other bands than tools/error_bands.py makes: write it anew")
    quoted = list(quotation_faults(kept))
    print("".join(fault + "\n" for fault in quoted), end="")
    differ = 0
    for band in bands:
        old = next((b for b in kept if b["command"] == band["command"]), {"rows": []})
        for was, now in [(w, n) for w, n in zip(old["rows"], band["rows"]) if w != n]:
            print(f"{band['command']}: {was} is now {now}")
        differ += old != band
    print(f"{len(bands)} bands, {differ} differ from {FILE.name}"
          + (": python3 tools/error_bands.py MONET --write, then build" if differ else ""))
    return 1 if differ or quoted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
