#!/usr/bin/env python3
"""Draws docs/picture.svg: one training iteration of ResNet-18 on four cores, out of `monet evaluate --trace`.

    python3 tools/picture.py build/release/monet docs/picture.svg
"""
import json
import os
import subprocess
import sys
import tempfile

MODEL, CHIP, BATCH, HOME, OFFCHIP = "resnet18", "tpu_like_quad_core", "8", "dram", "dram.read_write"
PHASES = {"forward": "#2a78c8", "loss": "#555555", "backward": "#c0552f", "update": "#3a9a5b"}
USES = {"weights": "#9db7d5", "optimizer_state": "#c9c9c9", "io": "#7d7d7d", "gradients": "#e3b08f", "activations": "#2a78c8"}
WIDTH, LEFT, RIGHT, BINS = 860, 110, 16, 340
ROW, MEMORY_TOP, MEMORY = 22, 40, 150


def trace_of(monet):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        subprocess.run([monet, "evaluate", MODEL, "--on", CHIP, "--batch", BATCH, "--quiet", "--trace", path],
                       check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["traceEvents"]


def shares(events, bins, width):
    """By bin and phase: the part of the time in which one of the events runs."""
    rows = [dict.fromkeys(PHASES, 0.0) for _ in range(bins)]
    for event in events:
        begin, end = event["ts"], event["ts"] + event["dur"]
        for b in range(int(begin / width), min(bins - 1, int(end / width)) + 1):
            rows[b][event["cat"]] += max(0.0, min(end, (b + 1) * width) - max(begin, b * width)) / width
    return rows


def memory_over_time(events, bins, width):
    """By bin: bytes of each use, the most of the bin by sum."""
    rows, now, at = [], dict.fromkeys(USES, 0), 0
    samples = sorted((e for e in events if e["ph"] == "C" and e["pid"] == 3 and e["name"] == HOME), key=lambda e: e["ts"])
    for b in range(bins):
        most = now
        while at < len(samples) and samples[at]["ts"] < (b + 1) * width:
            now = {use: samples[at]["args"].get(use, 0) for use in USES}
            most = max(most, now, key=lambda row: sum(row.values()))
            at += 1
        rows.append(most)
    return rows


def main(monet, path):
    events = trace_of(monet)
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    runs = [e for e in events if e["ph"] == "X"]
    end = max(e["ts"] + e["dur"] for e in runs)
    width = end / BINS
    x = lambda b: LEFT + b * (WIDTH - LEFT - RIGHT) / BINS
    memory = memory_over_time(events, BINS, width)
    most = max(sum(row.values()) for row in memory)
    base = MEMORY_TOP + MEMORY
    y = lambda value: base - value / most * (MEMORY - 6)
    used = {(e["pid"], e["tid"]) for e in runs}
    names = [name for track, name in tracks.items() if track in used and (track[0] == 1 or name == OFFCHIP)]
    rows_top = base + 46
    height = rows_top + ROW * len(names) + 34
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
           f'<text x="{LEFT}" y="20" font-weight="bold">One training iteration: ResNet-18, batch {BATCH}, fp16, AdamW, on {CHIP}</text>']
    for share in (0, 0.5, 1):
        svg.append(f'<text x="{LEFT - 8}" y="{y(most * share) + 4:.1f}" text-anchor="end">{most * share / 1e6:.0f} MB</text>')
    below = [0.0] * BINS
    for place, (use, colour) in enumerate(USES.items()):
        above = [low + row[use] for low, row in zip(below, memory)]
        edge = " ".join(f"{x(b):.1f},{y(v):.1f} {x(b + 1):.1f},{y(v):.1f}" for b, v in enumerate(above))
        back = " ".join(f"{x(b + 1):.1f},{y(below[b]):.1f} {x(b):.1f},{y(below[b]):.1f}" for b in reversed(range(BINS)))
        svg.append(f'<polygon points="{edge} {back}" fill="{colour}"/>')
        svg.append(f'<rect x="{LEFT + 132 * place}" y="{base + 10}" width="12" height="12" fill="{colour}"/>')
        svg.append(f'<text x="{LEFT + 132 * place + 17}" y="{base + 21}">{use.replace("_", " ")}</text>')
        below = above
    for row, name in enumerate(names):
        top = rows_top + ROW * row
        label = "off-chip" if name == OFFCHIP else name
        svg.append(f'<text x="{LEFT - 8}" y="{top + 14}" text-anchor="end">{label}</text>')
        svg.append(f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - RIGHT}" height="{ROW - 4}" fill="#f2f2f2"/>')
        for b, busy in enumerate(shares([e for e in runs if tracks[e["pid"], e["tid"]] == name], BINS, width)):
            bottom = float(top + ROW - 4)
            for phase, colour in PHASES.items():
                tall = min(busy[phase], 1.0) * (ROW - 4)
                if tall < 0.2:
                    continue
                bottom -= tall
                svg.append(f'<rect x="{x(b):.1f}" y="{bottom:.1f}" width="{x(1) - x(0) + 0.1:.1f}" height="{tall:.1f}" fill="{colour}"/>')
    for place, (phase, colour) in enumerate((p, c) for p, c in PHASES.items() if p != "loss"):
        svg.append(f'<rect x="{LEFT + 100 * place}" y="{height - 24}" width="12" height="12" fill="{colour}"/>')
        svg.append(f'<text x="{LEFT + 100 * place + 17}" y="{height - 13}">{phase}</text>')
    svg.append(f'<text x="{WIDTH - RIGHT}" y="{height - 13}" text-anchor="end">0 to {end / 1e3:.0f} ms; height: share of time busy</text></svg>')
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(svg) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
