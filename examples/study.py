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


def arguments(doc):
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--monet", default=str(HERE.parent / "build/release/monet"))
    parser.add_argument("--quick", action="store_true", help="smaller, to see that it runs; writes into --out")
    parser.add_argument("--out", type=pathlib.Path, default=HERE)
    return parser.parse_args()


class Monet:
    def __init__(self, binary):
        self.binary = binary

    def __call__(self, verb, *words):
        """The result of a command."""
        command = [self.binary, verb, *map(str, words), "--json", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)["result"]


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


def plot(series, x_name, y_name, title, height=400):
    """An SVG of points and lines. Series: (name, [(x, y)], "line" or "points")."""
    left, right, top, bottom = 70, 40 + 7 * max(len(name) for name, _, _ in series), 34, 48
    width = 490 + right
    points = [p for _, list_, _ in series for p in list_]
    lows = [min(p[k] for p in points) for k in (0, 1)]
    highs = [max(p[k] for p in points) for k in (0, 1)]
    for k in (0, 1):
        margin = (highs[k] - lows[k]) * 0.05 or abs(highs[k]) * 0.05 or 1
        lows[k] -= margin
        highs[k] += margin
    x = lambda v: left + (v - lows[0]) / (highs[0] - lows[0]) * (width - left - right)
    y = lambda v: height - bottom - (v - lows[1]) / (highs[1] - lows[1]) * (height - top - bottom)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="20" font-size="14">{html.escape(title)}</text>']
    for tick in _ticks(lows[0], highs[0]):
        out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{height - bottom}" stroke="#e4e4e4"/>'
                   f'<text x="{x(tick):.1f}" y="{height - bottom + 16}" text-anchor="middle">{tick:g}</text>')
    for tick in _ticks(lows[1], highs[1]):
        out.append(f'<line x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#e4e4e4"/>'
                   f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 10}" text-anchor="middle">{html.escape(x_name)}</text>'
               f'<text transform="translate(16,{(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle">{html.escape(y_name)}</text>')
    for i, (name, list_, kind) in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        if kind == "line":
            path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in list_)
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        out += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="3" fill="{colour}" fill-opacity="0.75"/>' for a, b in list_]
        out.append(f'<circle cx="{width - right + 14}" cy="{top + 10 + 18 * i}" r="4" fill="{colour}"/>'
                   f'<text x="{width - right + 24}" y="{top + 14 + 18 * i}">{html.escape(name)}</text>')
    return "\n".join(out + ["</svg>", ""])


def write(folder, name, figure, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.svg").write_text(figure)
    (folder / f"{name}.md").write_text(text)
    print(text)
