#!/usr/bin/env python3
"""Fits the closed forms of src/monet/hardware/technology.cpp and says how far they are from what they are fitted to.

    fit_technology.py sample --cacti FOLDER --out samples.csv   run CACTI 7 over sizes, widths, ports and nodes
    fit_technology.py fit --samples samples.csv                 print coefficients, errors, and points to test with

FOLDER holds a CACTI 7 executable named `cacti` with its tech_params; the sources that come with the Python package
hwcomponents-cacti 1.0.40 were compiled for the coefficients in use. Needs numpy and scipy.

Where the figures come from:
  ISSCC2014 "Computing's energy problem (and what we can do about it)": 45 nm, 0.9 V, 64 bit from a memory of that size
  ISCA2021  "Ten lessons from three generations shaped Google's TPUv4i", table 2: 7 nm, the same
  CELL_UM2  high-density six-transistor cells as announced at IEDM and VLSI: Intel 90 to 22 nm, TSMC 16 to 3 nm
  REGISTERS energies of Accelergy's 45 nm library, of the FuseMax artifact (MICRO 2024) and of ZigZag's examples
"""

import argparse
import csv
import math
import os
import subprocess
import tempfile

KIB = 8192  # bits
ISSCC2014 = {8 * KIB: 10.0, 32 * KIB: 20.0, 1024 * KIB: 100.0}
ISCA2021 = {8 * KIB: 7.5, 32 * KIB: 8.5, 1024 * KIB: 14.0}
CELL_UM2 = {90: 1.0, 65: 0.570, 45: 0.346, 32: 0.171, 22: 0.092, 16: 0.070, 10: 0.042, 7: 0.027, 5: 0.021, 3: 0.0199}

# (entries, word bits, node, read pJ, write pJ)
REGISTERS = [
    (1, 32, 45, 0.075, 0.085),  # Accelergy, one entry: middle of idle and toggling
    (128, 32, 45, 9.6, 10.88),  # Accelergy, 128 entries: the same
    (16, 16, 45, 0.653, 0.570),  # FuseMax energy reference table
    (1, 16, 28, 0.021, 0.021),  # ZigZag tpu_like, output register; node not stated there, 28 nm assumed
    (1, 8, 28, 0.01, 0.01),  # ZigZag edge_tpu_like
    (128, 8, 28, 0.095, 0.095),  # ZigZag tpu_like, weight registers
    (1, 16, 28, 0.02, 0.02),  # ZigZag meta_prototype
]

# Published points of adders and multipliers that registers are scaled by: an 8 bit addition, 45 and 7 nm.
LOGIC_45, LOGIC_7 = 0.03, 0.007

CONFIGURATION = """\
-size (bytes) {size}
-block size (bytes) {word}
-output/input bus width {word_bits}
-read-write port {ports}
-exclusive read port 0
-exclusive write port 0
-single ended read ports 0
-technology (u) {node}
-UCA bank count 1
-cache type "ram"
-associativity 1
-tag size (b) 0
-page size (bits) 0
-burst length 8
-internal prefetch width 8
-Data array cell type - "{cell}"
-Data array peripheral type - "{cell}"
-Tag array cell type - "{cell}"
-Tag array peripheral type - "{cell}"
-operating temperature (K) 300
-access mode (normal, sequential, fast) - "fast"
-design objective (weight delay, dynamic power, leakage power, cycle time, area) 0:0:1000000:0:0
-deviate (delay, dynamic power, leakage power, cycle time, area) 20:10:100000:100:100
-NUCAdesign objective (weight delay, dynamic power, leakage power, cycle time, area) 100:100:0:0:100
-NUCAdeviate (delay, dynamic power, leakage power, cycle time, area) 10:10000:10000:10000:10000
-Optimize ED or ED^2 (ED, ED^2, NONE): "ED^2"
-Cache model (NUCA, UCA) - "UCA"
-NUCA bank count 0
-Wire signaling (fullswing, lowswing, default) - "Global_30"
-Wire inside mat - "semi-global"
-Wire outside mat - "semi-global"
-Interconnect projection - "normal"
-Core count 1
-Add ECC - "false"
-Print level (DETAILED, CONCISE) - "CONCISE"
-Print input parameters - "false"
-Force cache config - "false"
-Array Power Gating - "false"
-WL Power Gating - "false"
-CL Power Gating - "false"
-Bitline floating - "false"
-Interconnect Power Gating - "false"
-Power Gating Performance Loss "default"
-dram_type "DDR3"
-io state "WRITE"
-addr_timing 1.0
-mem_density 4 Gb
-bus_freq 800 MHz
-duty_cycle 1.0
-activity_dq 1.0
-activity_ca 0.5
-num_dq 72
-num_dqs 18
-num_ca 25
-num_clk 2
-num_mem_dq 2
-mem_data_width 8
-rtt_value 10000
-ron_value 34
-tflight_value
-num_bobs 1
-capacity 80
-num_channels_per_bob 1
-first metric "Cost"
-second metric "Bandwidth"
-third metric "Energy"
-DIMM model "ALL"
-mirror_in_bob "F"
"""

COLUMNS = {
    "read_pj": (" Dynamic read energy (nJ)", 1e3),
    "write_pj": (" Dynamic write energy (nJ)", 1e3),
    "leakage_mw": (" Standby leakage per bank(mW)", 1.0),
    "area_mm2": (" Area (mm2)", 1.0),
}


def sample(folder, out):
    """Energies and areas with low-standby-power transistors, whose energies at 45 nm are near those of ISSCC 2014;
    leakage with low-operating-power ones, since the former leak a thousandth of that."""
    plan = []
    for cell in ("itrs-lstp", "itrs-lop"):
        for node in (45, 22, 32, 65, 90):
            words = [32, 64, 128, 256, 512, 1024, 2048] if cell == "itrs-lstp" else [64, 512]
            for kib in [2**i for i in range(0, 17, 1 if cell == "itrs-lstp" else 2)]:
                for word in ([8, 16] if node == 45 else []) + words:
                    for ports in (1, 2, 4) if node == 45 else (1, 2):
                        if kib * KIB // word >= 32:
                            plan.append((cell, node, kib * KIB, word, ports))
    with open(out, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["cell", "node", "size_bits", "word_bits", "ports", *COLUMNS])
        for cell, node, size, word, ports in plan:
            with tempfile.TemporaryDirectory() as scratch:
                path = os.path.join(scratch, "memory.cfg")
                with open(path, "w") as cfg:
                    cfg.write(CONFIGURATION.format(size=size // 8, word=word // 8, word_bits=word, ports=ports,
                                                   node=node / 1000, cell=cell))
                subprocess.run(["./cacti", "-infile", path], cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, timeout=300, check=False)
                if os.path.exists(path + ".out"):  # some shapes it does not find an organisation for
                    with open(path + ".out") as result:
                        row = list(csv.DictReader(result))[-1]
                    writer.writerow([cell, node, size, word, ports,
                                     *("%.6g" % (float(row[key]) * unit) for key, unit in COLUMNS.values())])


# ---- The forms. All coefficients are non-negative, so each grows with size, width and ports. ----


def energy_terms(size, word, ports):
    more, side = ports - 1, math.sqrt(size)
    terms = [word, side, side * math.sqrt(word), side * word, size]
    return terms + [t * more for t in terms]


def area_terms(size, word, ports):
    more = ports - 1
    return [word, word * more, word * more * more, size, size * more, size * more * more]


def built(samples):
    """The cheapest way to build each sampled memory: as one, as 2, 4, … banks side by side that each hold a part of the
    word, or with a wider word than asked for; words to 32768 bits as banks only. CACTI builds one bank as wide as the word, which for a wide word is many
    times worse than what anybody would build. The area is that of the organisation with the least energy."""
    known = {(s["cell"], s["node"], s["size_bits"], s["word_bits"], s["ports"]): s for s in samples}
    wanted = set(known) | {(cell, node, size, 2048 * 2**i, ports) for cell, node, size, word, ports in known
                           for i in range(1, 5) if size >= 32 * 2048 * 2**i}
    memories = []
    for cell, node, size, word, ports in sorted(wanted):
        if ports > 2 and size > 2048 * KIB:  # nobody builds them, and CACTI's figures for them say why
            continue
        ways = [(1, known.get((cell, node, size, 2 * word, ports)))]
        ways += [(2**i, known.get((cell, node, size // 2**i, word // 2**i, ports))) for i in range(13)]
        known_ways = [(n, way) for n, way in ways if way]
        if known_ways:
            count, best = min(known_ways, key=lambda w: w[0] * (w[1]["read_pj"] + w[1]["write_pj"]))
            memories.append({"cell": cell, "node": node, "size_bits": size, "word_bits": word, "ports": ports}
                            | {key: count * best[key] for key in COLUMNS})
    return memories


def fit(points, terms):
    """Least squares of logarithms over points [(size, word, ports, value, weight)], coefficients >= 0."""
    import numpy
    from scipy.optimize import least_squares, nnls

    rows = numpy.array([terms(size, word, ports) for size, word, ports, *_ in points], dtype=float)
    values = numpy.array([value for *_, value, _ in points])
    weights = numpy.array([weight for *_, weight in points])
    scale = 1 / (rows / values[:, None]).max(axis=0)
    rows = rows * scale
    start = nnls(rows / values[:, None], numpy.ones(len(points)))[0]
    # squares keep the coefficients from becoming negative
    found = least_squares(lambda root: weights * numpy.log(rows @ (root * root) / values), numpy.sqrt(start + 1e-3))
    coefficients = found.x**2
    coefficients[coefficients < 1e-6] = 0
    return [float(x) for x in coefficients * scale]


def value_of(coefficients, terms):
    return sum(c * t for c, t in zip(coefficients, terms))


def errors(pairs):
    """Median and worst factor by which ours and theirs differ."""
    ratios = sorted(max(ours / theirs, theirs / ours) for ours, theirs in pairs)
    return "median x%.3f, 90 %% within x%.3f, worst x%.3f (%d points)" % (
        ratios[len(ratios) // 2], ratios[(9 * len(ratios)) // 10], ratios[-1], len(ratios))


def log_slope(pairs):
    """Slope of log y over log x."""
    xs, ys = [math.log(x) for x, _ in pairs], [math.log(y) for _, y in pairs]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def show(name, coefficients):
    print("%s{%s}" % (name, ", ".join("%.5g" % c for c in coefficients)))


def fit_energy(samples):
    at45 = [s for s in samples if s["cell"] == "itrs-lstp" and s["node"] == 45]
    forms = {}
    for key in ("read_pj", "write_pj"):
        points = [(s["size_bits"], s["word_bits"], s["ports"], s[key], 1.0) for s in at45]
        if key == "read_pj":  # the three published points weigh as much as a tenth of the samples
            points += [(size, 64, 1, pj, math.sqrt(len(at45) / 30)) for size, pj in ISSCC2014.items()]
        forms[key] = fit(points, energy_terms)
        show(key + " 45 nm ", forms[key])
        print("  against CACTI:   ", errors([(value_of(forms[key], energy_terms(a, b, c)), v)
                                             for a, b, c, v, w in points if w == 1.0]))
        above = [(s["node"] / 45,
                  s[key] / value_of(forms[key], energy_terms(s["size_bits"], s["word_bits"], s["ports"])))
                 for s in samples if s["cell"] == "itrs-lstp" and s["node"] >= 45]
        print("  exponent of the node above 45 nm: %.3f" % log_slope(above))
    read = forms["read_pj"]
    print("  ISSCC 2014:", {k // KIB: round(value_of(read, energy_terms(k, 64, 1)), 2) for k in ISSCC2014})
    # 7 nm: a part by the bit and a scaled 45 nm form; relative least squares over its points.
    pairs = [(64.0, value_of(read, energy_terms(size, 64, 1)), pj) for size, pj in ISCA2021.items()]
    a11 = sum(x * x / v / v for x, _, v in pairs)
    a12 = sum(x * y / v / v for x, y, v in pairs)
    a22 = sum(y * y / v / v for _, y, v in pairs)
    b1, b2 = sum(x / v for x, _, v in pairs), sum(y / v for _, y, v in pairs)
    det = a11 * a22 - a12 * a12
    per_bit, scale = (b1 * a22 - b2 * a12) / det, (b2 * a11 - b1 * a12) / det
    print("  7 nm: %.5g pJ/bit + %.5g x 45 nm ->" % (per_bit, scale),
          {size // KIB: round(per_bit * x + scale * y, 2) for (x, y, _), size in zip(pairs, ISCA2021)})
    compare_at_22(samples, read, per_bit, scale)


def compare_at_22(samples, read, per_bit, scale):
    """What CACTI says at 22 nm against the interpolation between the two published tables: they do not agree."""
    t = math.log(45 / 22) / math.log(45 / 7)
    pairs = []
    for s in samples:
        if s["cell"] == "itrs-lstp" and s["node"] == 22:
            e45 = value_of(read, energy_terms(s["size_bits"], s["word_bits"], s["ports"]))
            e7 = min(per_bit * s["word_bits"] + scale * e45, ISCA2021[8 * KIB] / ISSCC2014[8 * KIB] * e45)
            pairs.append((e45 ** (1 - t) * e7**t, s["read_pj"]))
    print("  at 22 nm ours is larger than CACTI's by", errors(pairs))


def fit_area(samples):
    at45 = [s for s in samples if s["cell"] == "itrs-lstp" and s["node"] == 45]
    form = fit([(s["size_bits"], s["word_bits"], s["ports"], s["area_mm2"], 1.0) for s in at45], area_terms)
    show("area_mm2 45 nm ", form)
    for node in (45, 22, 32, 65, 90):
        print("  %d nm, scaled by the cell: " % node, errors(
            [(value_of(form, area_terms(s["size_bits"], s["word_bits"], s["ports"])) * CELL_UM2[node] / CELL_UM2[45],
              s["area_mm2"]) for s in samples if s["cell"] == "itrs-lstp" and s["node"] == node]))


def fit_leakage(samples):
    samples = [s for s in samples if s["cell"] == "itrs-lop" and s["size_bits"] >= 128 * s["word_bits"]]
    at45 = [s for s in samples if s["node"] == 45]
    form = fit([(s["size_bits"], s["word_bits"], s["ports"], s["leakage_mw"], 1.0) for s in at45], area_terms)
    show("leakage_mw 45 nm ", form)
    ours = lambda s: value_of(form, area_terms(s["size_bits"], s["word_bits"], s["ports"]))
    print("  45 nm:    ", errors([(ours(s), s["leakage_mw"]) for s in at45]))
    slope = log_slope([(s["node"], s["leakage_mw"] / ours(s)) for s in samples])
    print("  exponent of the node: %.3f" % slope)
    print("  all nodes:", errors([(ours(s) * (s["node"] / 45) ** slope, s["leakage_mw"])
                                  for s in samples]))


def fit_registers():
    node_exponent = math.log(LOGIC_45 / LOGIC_7) / math.log(45 / 7)
    for k, name in ((3, "read"), (4, "write")):
        points = [(r[0], r[k] / r[1] * (45 / r[2]) ** node_exponent) for r in REGISTERS]
        slope = log_slope(points)
        level = math.exp(sum(math.log(y) - slope * math.log(x) for x, y in points) / len(points))
        print("register %s, 45 nm: %.4g pJ/bit x entries^%.3f" % (name, level, slope),
              errors([(level * x**slope, y) for x, y in points]))


def show_points(samples, memories):
    """What tests/unit/hardware/technology_test.cpp compares with."""
    print("memories at 45 nm: KiB, word, ports, read pJ, write pJ, mm2")
    for s in [m for m in memories if m["cell"] == "itrs-lstp" and m["node"] == 45][5::19]:
        print("  {%d, %d, %d, %.4g, %.4g, %.4g}," % (s["size_bits"] // KIB, s["word_bits"], s["ports"], s["read_pj"],
                                                    s["write_pj"], s["area_mm2"]))
    print("leakage: KiB, word, ports, node, mW")
    for s in [s for s in samples if s["cell"] == "itrs-lop" and s["size_bits"] >= 128 * s["word_bits"]][3::23]:
        print("  {%d, %d, %d, %g, %.4g}," % (s["size_bits"] // KIB, s["word_bits"], s["ports"], s["node"],
                                             s["leakage_mw"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    sampling = verbs.add_parser("sample")
    sampling.add_argument("--cacti", required=True)
    sampling.add_argument("--out", required=True)
    fitting = verbs.add_parser("fit")
    fitting.add_argument("--samples", required=True)
    options = parser.parse_args()
    if options.verb == "sample":
        sample(options.cacti, options.out)
        return
    with open(options.samples) as file:
        samples = [{k: v if k == "cell" else float(v) for k, v in row.items()} for row in csv.DictReader(file)]
    memories = built(samples)
    fit_energy(memories)
    fit_area(memories)
    fit_leakage(samples)
    fit_registers()
    show_points(samples, memories)


if __name__ == "__main__":
    main()
