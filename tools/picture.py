#!/usr/bin/env python3
"""Draws docs/picture.svg: the activations alive over one training iteration of ResNet-18, out of `monet graph --text`.

    python3 tools/picture.py build/release/monet docs/picture.svg
"""
import math
import re
import subprocess
import sys

BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "i64": 64, "i32": 32, "u8": 8, "u4": 4, "bool": 8, "bit": 1}
RUNS = [
    ("torch saves", ["--save", "torch"], "#b33"),
    ("lean (default)", [], "#27c"),
    ("recompute all ReLU outputs", ["--recompute", "act"], "#2a7"),
]


def tensor_bytes(kind, shape):
    sizes = [int(s) for s in shape.split(",")] if shape else []
    return math.prod(sizes) * BITS[kind] / 8


def live_bytes(monet, flags):
    """Bytes of forward results alive after each node up to the first update."""
    text = subprocess.run([monet, "graph", "resnet18", "--batch", "8", "--text", *flags], check=True, capture_output=True, text=True).stdout
    made, last, views, phases = {}, {}, {}, []
    for line in text.splitlines():
        match = re.match(r"(forward|loss|backward|recompute) (\S+) = (\w+)[^(]*(?:\{.*?\})?\((.*?)\) -> (.*)", line)
        if not match:
            continue
        phase, _, operator, inputs, outputs = match.groups()
        at = len(phases)
        phases.append(phase)
        names = [name.strip() for name in inputs.split(",")]
        for name in names + re.findall(r"holds\((.*?)\)", outputs):
            last[views.get(name, name)] = at
        for name, kind, shape in re.findall(r"(\S+) : (\w+)\[([\d,]*)\]", outputs):
            if operator == "view":
                views[name] = views.get(names[0], names[0])
            elif phase in ("forward", "loss", "recompute"):
                made[name] = (at, tensor_bytes(kind, shape))
    change = [0.0] * (len(phases) + 1)
    for name, (born, size) in made.items():
        change[born] += size
        change[last.get(name, born) + 1 if last.get(name, born) + 1 < len(change) else -1] -= size
    alive, total = [], 0.0
    for step in change[:-1]:
        total += step
        alive.append(total / 1e6)
    return alive, phases


def main(monet, path):
    width, height, left, top, right, bottom = 860, 330, 64, 34, 20, 44
    curves = [(label, colour, *live_bytes(monet, flags)) for label, flags, colour in RUNS]
    most = max(max(alive) for _, _, alive, _ in curves) * 1.05
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="20" font-weight="bold">Forward results alive during one training iteration: ResNet-18, batch 8, fp16</text>']
    x = lambda share: left + share * (width - left - right)
    y = lambda value: height - bottom - value / most * (height - top - bottom)
    for value in range(0, int(most) + 1, 25):
        svg.append(f'<line x1="{left}" x2="{width - right}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>')
        svg.append(f'<text x="{left - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value} MB</text>')
    for row, (label, colour, alive, phases) in enumerate(curves):
        points = " ".join(f"{x(i / (len(alive) - 1)):.1f},{y(v):.1f}" for i, v in enumerate(alive))
        svg.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        legend = f"{label}: peak {max(alive):.0f} MB"
        svg.append(f'<line x1="{left + 250}" x2="{left + 274}" y1="{height - bottom - 60 + 19 * row}" y2="{height - bottom - 60 + 19 * row}" stroke="{colour}" stroke-width="3"/>')
        svg.append(f'<text x="{left + 282}" y="{height - bottom - 56 + 19 * row}">{legend}</text>')
    svg.append(f'<text x="{left}" y="{height - 14}">forward →</text><text x="{width / 2}" y="{height - 14}" text-anchor="middle">nodes of the iteration, in order</text>')
    svg.append(f'<text x="{width - right}" y="{height - 14}" text-anchor="end">→ backward</text></svg>')
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(svg) + "\n")
    for label, _, alive, _ in curves:
        print(f"{label}: peak {max(alive):.1f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
