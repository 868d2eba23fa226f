"""What `monet explain` says of inputs, bounds, levers and several layers.

    python3 explain_test.py MONET [unittest arguments]
"""
import json
import math
import pathlib
import re
import sys
import unittest

import commands_test
from commands_test import SMALL_RESNET, Commands

CONV = "conv:k=64,c=64,oy=28,ox=28,fy=3,fx=3"
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

ZIGZAG = """name: little
memories:
  regs:
    size: 64
    r_cost: 0.25
    w_cost: 0.5
    area: 0
    latency: 1
    operands: [I1, I2, O]
    ports:
      - {name: r, type: read, bandwidth_min: 16, bandwidth_max: 16, allocation: ["I1, tl", "I2, tl", "O, tl", "O, th"]}
      - {name: w, type: write, bandwidth_min: 16, bandwidth_max: 16, allocation: ["I1, fh", "I2, fh", "O, fh", "O, fl"]}
    served_dimensions: []
  dram:
    size: 1000000000
    r_cost: 700
    w_cost: 750
    area: 0
    latency: 1
    operands: [I1, I2, O]
    ports:
      - name: rw
        type: read_write
        bandwidth_min: 64
        bandwidth_max: 64
        allocation: ["I1, fh", "I1, tl", "I2, fh", "I2, tl", "O, fh", "O, tl", "O, fl", "O, th"]
    served_dimensions: [D1, D2]
operational_array:
  unit_energy: 0.125
  unit_area: 1
  dimensions: [D1, D2]
  sizes: [4, 4]
"""

STREAM = """name: two
cores:
  0: core.yaml
offchip_core: offchip.yaml
unit_energy_cost: 0
bandwidth: 32
core_connectivity: []
core_memory_sharing: []
"""

OFFCHIP = """name: offchip
memories:
  far:
    size: 1000000000
    r_cost: 100
    w_cost: 150
    area: 0
    latency: 1
    operands: [I1, I2, O]
    ports:
      - name: rw
        type: read_write
        bandwidth_min: 64
        bandwidth_max: 64
        allocation: ["I1, fh", "I1, tl", "I2, fh", "I2, tl", "O, fh", "O, tl", "O, fl", "O, th"]
    served_dimensions: [D1, D2]
operational_array:
  unit_energy: 0
  unit_area: 0
  dimensions: [D1, D2]
  sizes: [0, 0]
"""


class Where(Commands):
    def inputs(self, *arguments):
        """{figure: its input}, over all lines."""
        return {i["figure"]: i for line in self.result("explain", *arguments)["lines"] for i in line["where"]}

    def test_given_figures_stand_in_the_line_that_is_named(self):
        for chip in ("tpu_like", "edge_tpu_like", "eyeriss_like", "meta_prototype"):
            for what in ("energy", "stall", "latency"):
                for name, figure in self.inputs(CONV, what, "--on", chip).items():
                    if figure["file"] is None or name == "clock":
                        continue
                    line = (ROOT / figure["file"]).read_text().splitlines()[figure["line"] - 1]
                    if "${" in line:  # the value is a parameter's
                        continue
                    value = f"{figure['value']:g}" if figure["value"] < 1e6 else str(int(figure["value"]))
                    with self.subTest(chip=chip, figure=name):
                        self.assertIn(value, re.findall(r"[0-9.]+", line))

    def test_a_figure_without_a_line_says_why(self):
        figures = self.inputs(CONV, "energy", "--on", "tpu_v3")
        self.assertEqual(("modelled", None), (figures["vmem.read_energy"]["provenance"], figures["vmem.read_energy"]["line"]))
        self.assertNotEqual("", figures["vmem.read_energy"]["source"])
        text = self.ok("explain", CONV, "energy", "--on", "tpu_v3")
        self.assertRegex(text, r"vmem.read_energy [0-9.]+ pJ \(modelled\)")
        self.assertIn("(docs/technology.md)", text)
        self.assertRegex(self.ok("explain", CONV, "energy", "--on", "tpu_like"),
                         r"clock 500,000,000 Hz \(assumed, data/hardware/tpu_like.yaml:6\)")

    def test_files_of_zigzag_and_stream(self):
        self.write("core.yaml", ZIGZAG)
        self.write("offchip.yaml", OFFCHIP)
        self.write("chip.yaml", STREAM)
        arguments = ("gemm:d=8,k=16,c=16", "energy", "--bits", "8/16", "--on")
        figures = self.inputs(*arguments, "core.yaml")
        for figure, line in (("array.mac_energy", 29), ("regs.read_energy", 5), ("dram.write_energy", 17)):
            self.assertEqual(("core.yaml", line, "given"), tuple(figures[figure][k] for k in ("file", "line", "provenance")))
        figures = self.inputs("gemm:d=8,k=16,c=16", "stall", "--bits", "8/16", "--on", "core.yaml")
        self.assertEqual((11, 25), (figures["regs.r"]["line"], figures["dram.rw"]["line"]))
        figures = self.inputs(*arguments, "chip.yaml/little")
        for figure, file, line in (("dram.read_energy", "core.yaml", 16), ("far.read_energy", "offchip.yaml", 5)):
            self.assertEqual((file, line), (figures[figure]["file"], figures[figure]["line"]))


class Bounds(Commands):
    def test_parts_make_totals_and_name_the_resource(self):
        for arguments in ((CONV, "--on", "tpu_like"), (CONV, "--on", "eyeriss_like", "--phase", "wgrad"),
                          (CONV, "--on", "edge_tpu_like", "--quirks", "zigzag"), ("gemm:d=4,k=512,c=512", "--on", "h100")):
            with self.subTest(arguments=arguments):
                layer = self.result("map", *arguments)
                bound = self.result("explain", arguments[0], "stall", *arguments[1:])["bound"]
                for total, parts, unit in (("latency_cycles", "latency", "cycles"), ("energy_pj", "energy", "pj")):
                    self.assertTrue(math.isclose(layer[total], sum(p[unit] for p in bound[parts]), rel_tol=1e-9))
                    self.assertTrue(math.isclose(1, sum(p["share"] for p in bound[parts]), rel_tol=1e-9))
                waits = sum(p["cycles"] for p in bound["latency"] if p["name"].startswith("waiting"))
                self.assertTrue(math.isclose(layer["stall_cycles"]["temporal"], waits, rel_tol=1e-9, abs_tol=1e-6))

    def test_a_narrow_port_is_what_bounds(self):
        self.write("core.yaml", ZIGZAG.replace("bandwidth_min: 64", "bandwidth_min: 1").replace("bandwidth_max: 64", "bandwidth_max: 1"))
        result = self.result("explain", "gemm:d=32,k=32,c=32", "latency", "--bits", "8/16", "--on", "core.yaml")
        self.assertEqual("dram.rw", result["bound"]["resource"])
        lever = result["levers"][0]
        self.assertEqual(("dram.rw", 1, 2, "bit/cycle"), tuple(lever[k] for k in ("resource", "from", "to", "unit")))
        self.assertEqual("dram.rw 1 -> 2 bits/cycle", lever["text"])
        # Twice the bandwidth of all that is waited for: about half the time.
        latency = result["lines"][-1]["value"]
        self.assertAlmostEqual(0.5, lever["new_mapping"]["latency_cycles"] / latency, delta=0.05)
        self.assertTrue(math.isclose(latency - lever["new_mapping"]["latency_cycles"], lever["gain_per_unit"]["latency_cycles"]))


class Levers(Commands):
    def test_only_the_list(self):
        result = self.result("explain", CONV, "levers", "--on", "tpu_like")
        self.assertEqual([], result["lines"])
        self.assertIn("array.D1", [lever["resource"] for lever in result["levers"]])
        self.assertNotIn("(10)", self.ok("explain", CONV, "levers", "--on", "tpu_like"))

    def test_of_an_operand_only_its_memories(self):
        levers = self.result("explain", CONV, "W", "--on", "tpu_like")["levers"]
        self.assertEqual({"weights", "dram"}, {lever["resource"].split(".")[0] for lever in levers})

    def test_the_same_bytes_twice_and_on_any_number_of_threads(self):
        runs = [self.ok("explain", CONV, "levers", "--on", "edge_tpu_like", *more)
                for more in ((), ("--threads", "1"), ("--threads", "3"))]
        self.assertEqual(1, len(set(runs)))


class Layers(Commands):
    def test_shares_are_of_what_map_says(self):
        model = SMALL_RESNET + "/layer1.0"
        total = self.result("map", model, "--on", "tpu_v3")
        result = self.result("explain", model, "energy", "--on", "tpu_v3")
        self.assertEqual(len(total["layers"]) + len(total["vectors"]), len(result["layers"]))
        for figure, share in (("latency_cycles", "latency_share"), ("energy_pj", "energy_share")):
            self.assertTrue(math.isclose(total[figure], sum(layer[figure] for layer in result["layers"]), rel_tol=1e-9))
            self.assertTrue(math.isclose(1, sum(layer[share] for layer in result["layers"]), rel_tol=1e-9))
        most = max(total["layers"], key=lambda layer: layer["energy_pj"])
        self.assertEqual(most["energy_pj"], result["lines"][-1]["value"])
        self.assertRegex(self.ok("explain", model, "energy", "--on", "tpu_v3"), r"layers, most energy first.*\n")

    def test_a_name_before_chooses_another(self):
        model = SMALL_RESNET + "/layer1.0"
        name = "layer1.0.conv2"
        result = self.result("explain", model, name + "/latency", "--on", "tpu_v3")
        self.assertEqual((name, "latency"), (result["layer"], result["what"]))
        alone = self.result("explain", SMALL_RESNET + "/" + name, name + "/latency", "--on", "tpu_v3")
        self.assertEqual(alone["lines"], result["lines"])
        self.assertNotIn("longest first", self.ok("explain", model, name + "/latency", "--on", "tpu_v3"))
        self.assertIn("did you mean 'layer1.0.conv2'?",
                      self.refused("explain", model, "layer1.0.cnv2/latency", "--on", "tpu_v3"))

    def test_of_a_folder_too(self):
        self.ok("map", SMALL_RESNET + "/layer1.0", "--on", "tpu_v3", "--out", "run")
        stored = json.loads((self.folder / "run" / "result.json").read_text())["result"]
        result = self.result("explain", "run", "latency")
        self.assertTrue(math.isclose(stored["latency_cycles"], sum(layer["latency_cycles"] for layer in result["layers"])))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    commands_test.MONET = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
