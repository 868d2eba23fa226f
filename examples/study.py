"""What the studies share: running monet, drawing, writing down.

A study is a script of this folder. It runs `monet` and writes NAME.svg and NAME.md beside itself; NAME.md says what was
reported, what we find, and why they differ. Only Python's own library is needed.

    python3 examples/NAME.py [--monet build/release/monet] [--quick]
"""
import argparse
import html
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
COLOURS = ("#1b6ca8", "#c0552f", "#4a8f3c", "#8253a4", "#b08a1e", "#5f6b6d", "#c23b78")
RAMP = ("#3b2a75", "#28698f", "#1e9c89", "#7cc653", "#f0c62b")  # for what has an order


def arguments(doc, *options):
    """The options of every study and those of this one: (name, what argparse is told of it)."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--monet", default=str(HERE.parent / "build/release/monet"))
    parser.add_argument("--quick", action="store_true", help="smaller, to see that it runs; writes into --out")
    parser.add_argument("--out", type=pathlib.Path, default=HERE)
    for name, words in options:
        parser.add_argument(name, **words)
    parsed = parser.parse_args()
    if parsed.quick and "strategy" in parsed:
        parsed.strategy, parsed.evaluations, parsed.run = "quasi", 8, parsed.out / "runs"
    return parsed


def exploration(name, strategy, evaluations):
    """The options of a study that explores a space of chips."""
    return (("--strategy", {"default": strategy, "help": "of monet explore"}),
            ("--evaluations", {"type": int, "default": evaluations, "help": "chips, but for the grid"}),
            ("--run", {"type": pathlib.Path, "default": pathlib.Path("out") / name, "help": "the folder of its runs"}),
            ("--resume", {"action": "store_true", "help": "go on with the results in --run"}))


class Monet:
    def __init__(self, binary):
        self.binary = binary

    def __call__(self, verb, *words):
        """The result of a command. What takes long shows on a terminal how far it is."""
        shown = verb == "explore" and sys.stderr.isatty()
        command = [self.binary, verb, *map(str, words), "--json", *([] if shown else ["--quiet"])]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=None if shown else subprocess.PIPE, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)}\n{done.stderr or ''}")
        return json.loads(done.stdout)["result"]

    def explore(self, arguments, name, *words):
        """What was run, in words, the chips (dictionaries of variables, numbers, and by workload figures; only those that all workloads run on), and the result."""
        result = self("explore", *words, "--strategy", arguments.strategy, "--evaluations", arguments.evaluations,
                      "--out", arguments.run / name, *(["--resume"] if arguments.resume else []))
        found = {}
        for point in result["points"]:
            found.setdefault(tuple(point["decision"].items()), {})[point["workload"]] = point
        chips = [{name: float(value) for name, value in key} | by for key, by in found.items() if all(p["feasible"] for p in by.values())]
        ran = f"{result['evaluations']:,} of {result['size']:,.0f} chips (`--strategy {result['strategy']}`)"
        return ran + (f", {len(found) - len(chips):,} of which cannot run it" if len(chips) < len(found) else ""), chips, result

    def compare(self, first, second):
        """Figures of both runs by title."""
        return {figure["title"]: figure for figure in self("compare", first, second)["figures"]}

    def waited(self, run):
        """What most of the latency was waited for, in words."""
        return ", ".join(f"{100 * row['share']:.0f} % `{row['resource']}`" for row in self.explain(run, "latency")["What was waited for"][:3])

    def explain(self, run, what):
        """Rows by the first words of their section's title."""
        return {section["title"].split(":")[0].split(" (")[0]: section["rows"] for section in self("explain", run, what)["sections"]}


def regrets(result, chosen_for, used_for):
    """A row for each measure by which the chip that is best for one workload can be used for another: how much worse it is there than the best, with all constants
    as they are and with each of them changed, and whether the best chips stay the same."""
    judged, rows = result["sensitivity"], []
    best = lambda outcomes, workload, by: next(o["best"][by] for o in outcomes if o["workload"] == workload)
    for i, regret in enumerate(result["regret"]):
        if (regret["chosen_for"], regret["used_for"]) != (chosen_for, used_for):
            continue
        by, stays = regret["by"], []
        ratios = [ratio for ratio in (regret["ratio"], *(case["regret_ratios"][i] for case in judged["cases"])) if ratio is not None]
        if regret["ratio"] is None:  # not possible on the chip chosen, or on none
            continue
        for workload in (chosen_for, used_for):
            others = sorted({f"{case['constant']} x {case['factor']:g}" for case in judged["cases"] if best(case["outcomes"], workload, by) != best(judged["as_it_is"], workload, by)})
            stays.append(f"{workload}: {'another with ' + ', '.join(others) if others else 'always the same'}")
        rows.append((by, percent(regret["ratio"], 1), f"{percent(min(ratios), 1)} to {percent(max(ratios), 1)}", "; ".join(stays)))
    return rows


def settings(chip, variables):
    """The words that make a chip of its template this one."""
    return [word for name in variables for word in ("--set", f"{name}={chip[name]:g}")]


def differences(whole, scale=1, form=",.0f"):
    """A row for each part of a figure of two runs: both, and what they differ by. What is alike has one row."""
    alike = whole["first"] - sum(p["first"] for p in whole["parts"])
    is_alike = abs(alike) > 1e-9 * abs(whole["first"])
    parts = whole["parts"] + ([{"name": "what is alike", "first": alike, "second": alike, "change": 0}] if is_alike else []) + [{"name": "all", **whole}]
    return [(p["name"], f"{p['first'] * scale:{form}}", f"{p['second'] * scale:{form}}", f"{p['change'] * scale:+{form}}") for p in parts]


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def percent(value, base):
    return f"{100 * (value / base - 1):+.1f} %"


def megabytes(value):
    return f"{value / 1e6:.2f} MB"


def _ticks(low, high, count=5):
    span = high - low or abs(high) or 1
    step = 10 ** math.floor(math.log10(span / count))
    step *= min((m for m in (1, 2, 5, 10) if span / (m * step) <= count + 1), default=10)
    first = math.ceil(low / step - 1e-9)
    return [first * step + i * step for i in range(int((high - first * step) / step + 1e-9) + 1)]


def _logarithmic_ticks(low, high):
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    ticks = [t for e in powers for m in (1, 2, 5) if low <= (t := m * 10.0 ** e) <= high]
    if len(ticks) > 8:
        return [t for t in ticks if math.log10(t).is_integer()]
    return ticks if len(ticks) > 2 else _ticks(low, high)


def panel(series, x_name, y_name, title, height=400, colours=COLOURS, logarithmic=False):
    """Points and lines over axes: (width, height, lines of SVG). Series: (name, [(x, y)], kind), a kind being "points", "cloud" (small points, thousands
    of them), "rings" (around points), "line" (through points) or "path" (a line alone)."""
    left, right, top, bottom = 70, 40 + 7 * max(len(name) for name, _, _ in series), 34, 48
    width = 490 + right
    at = math.log10 if logarithmic else float
    points = [p for _, list_, _ in series for p in list_]
    lows = [at(min(p[k] for p in points)) for k in (0, 1)]
    highs = [at(max(p[k] for p in points)) for k in (0, 1)]
    for k in (0, 1):
        margin = (highs[k] - lows[k]) * 0.05 or abs(highs[k]) * 0.05 or 1
        lows[k] -= margin
        highs[k] += margin
    x = lambda v: left + (at(v) - lows[0]) / (highs[0] - lows[0]) * (width - left - right)
    y = lambda v: height - bottom - (at(v) - lows[1]) / (highs[1] - lows[1]) * (height - top - bottom)
    ticks = (lambda k: _logarithmic_ticks(10 ** lows[k], 10 ** highs[k])) if logarithmic else (lambda k: _ticks(lows[k], highs[k]))
    out = [f'<text x="{left}" y="20" font-size="14">{html.escape(title)}</text>']
    for tick in ticks(0):
        out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{height - bottom}" stroke="#e4e4e4"/>'
                   f'<text x="{x(tick):.1f}" y="{height - bottom + 16}" text-anchor="middle">{tick:g}</text>')
    for tick in ticks(1):
        out.append(f'<line x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#e4e4e4"/>'
                   f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 10}" text-anchor="middle">{html.escape(x_name)}</text>'
               f'<text transform="translate(16,{(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle">{html.escape(y_name)}</text>')
    for i, (name, list_, kind) in enumerate(series):
        colour = colours[i % len(colours)]
        if kind in ("line", "path"):
            path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in list_)
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        if kind == "cloud":
            dots = "".join(sorted({f"M{x(a):.0f} {y(b):.0f}h0" for a, b in list_}))
            out.append(f'<path d="{dots}" stroke="{colour}" stroke-width="{3 if len(points) > 1000 else 5}" stroke-linecap="round"/>')
        if kind == "rings":
            out += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="6" fill="none" stroke="{colour}"/>' for a, b in list_]
        if kind in ("line", "points"):
            out += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="3" fill="{colour}" fill-opacity="0.75"/>' for a, b in list_]
        out.append(f'<circle cx="{width - right + 14}" cy="{top + 10 + 18 * i}" r="4" fill="{colour}"/>'
                   f'<text x="{width - right + 24}" y="{top + 14 + 18 * i}">{html.escape(name)}</text>')
    return width, height, out


def drawing(*rows):
    """An SVG of rows of panels."""
    width = max(sum(w for w, _, _ in row) for row in rows)
    height = sum(max(h for _, h, _ in row) for row in rows)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    down = 0
    for row in rows:
        across = 0
        for wide, _, lines in row:
            out += [f'<g transform="translate({across},{down})">', *lines, "</g>"] if across or down else lines
            across += wide
        down += max(h for _, h, _ in row)
    return "\n".join(out + ["</svg>", ""])


def plot(series, x_name, y_name, title, height=400):
    return drawing([panel(series, x_name, y_name, title, height)])


def front(chips, first, second):
    """The chips that no other one beats in one figure and equals in the other, in the order of the first."""
    kept = []
    for chip in sorted(chips, key=lambda c: (first(c), second(c))):
        if not kept or second(chip) < second(kept[-1]):
            kept.append(chip)
    return kept


def main_effects(chips, variables, figure):
    """By variable: the share of the variance of the figure's logarithm that its means by that variable alone have. On a full grid they
    are exact and sum to at most 1; the rest is in variables that act together."""
    values = [math.log(figure(c)) for c in chips]
    mean = sum(values) / len(values)
    whole = sum((v - mean) ** 2 for v in values) or 1
    shares = {}
    for name in variables:
        groups = {}
        for chip, value in zip(chips, values):
            groups.setdefault(chip[name], []).append(value)
        shares[name] = sum(len(g) * (sum(g) / len(g) - mean) ** 2 for g in groups.values()) / whole
    return shares


def quantile(values, share):
    values = sorted(values)
    return values[round(share * (len(values) - 1))]


def write(folder, name, figure, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.svg").write_text(figure)
    (folder / f"{name}.md").write_text(text)
    print(text)
