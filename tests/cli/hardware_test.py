"""What `monet hardware` and `monet check` promise of hardware, mapping and workload files.

    python3 hardware_test.py MONET [unittest arguments]
"""
import hashlib
import pathlib
import resource
import sys
import unittest

import commands_test
from commands_test import Commands

CHIP = """monet: hardware
name: small
source: a paper
clock: 500 MHz
parameters: {rows: 4}
cores:
  array:
    array: {dimensions: {D1: "${rows}", D2: 4}, mac_energy: 0.1 pJ}
    memories:
      buffer: {size: 64 KiB, holds: all, bits_per_cycle: 512, read_energy: 20 pJ}
"""


def processor_seconds():
    """Of the commands run so far; others may be busy beside us."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Hardware(Commands):
    def test_lists_the_built_in_chips_and_shows_each(self):
        chips = self.result("hardware")["chips"]
        self.assertGreater(len(chips), 5)
        listing = self.ok("hardware")
        for chip in chips:
            with self.subTest(chip=chip["name"]):
                self.assertIn(chip["name"], listing)
                shown = self.document("hardware", chip["name"])
                self.assertEqual(chip["cores"], len(shown["result"]["cores"]))
                self.assertIn("core ", self.ok("hardware", chip["name"]))

    def test_says_where_each_figure_comes_from(self):
        data = self.write("chip.yaml", CHIP).read_bytes()
        document = self.document("hardware", "chip.yaml")
        self.assertEqual({"path": "chip.yaml", "sha256": hashlib.sha256(data).hexdigest()}, document["inputs"]["hardware"])
        memory = document["result"]["cores"][0]["memories"][0]
        self.assertEqual({"value": 20.0, "provenance": "given", "source": "a paper"}, memory["read_energy_pj"])
        self.assertNotEqual("given", memory["write_energy_pj"]["provenance"])
        self.assertEqual(64 * 1024 * 8, memory["size_bits"])
        self.assertRegex(self.ok("hardware", "chip.yaml"), r"20 \[2\](.|\n)*\[2\] a paper")

    def test_sets_parameters(self):
        self.write("chip.yaml", CHIP)
        document = self.document("hardware", "chip.yaml", "--set", "rows=16")
        self.assertEqual(16, document["result"]["cores"][0]["array"]["dimensions"][0]["size"])
        self.assertEqual({"rows": "16"}, document["options"]["set"])
        self.assertIn("did you mean 'rows'?", self.refused("hardware", "chip.yaml", "--set", "row=16"))
        self.assertIn("is not name=value", self.refused("hardware", "chip.yaml", "--set", "rows"))

    def test_prints_a_file_that_reads_back(self):
        self.write("chip.yaml", CHIP)
        printed = self.ok("hardware", "chip.yaml", "--yaml")
        self.write("again.yaml", printed)
        self.assertEqual(printed, self.ok("hardware", "again.yaml", "--yaml"))
        self.assertEqual(self.result("hardware", "chip.yaml"), self.result("hardware", "again.yaml"))

    def test_refuses_with_the_place_and_the_nearest_name(self):
        self.assertIn("did you mean 'tpu_like'?", self.refused("hardware", "tpu_lik"))
        self.assertIn("none.yaml: error: no such file", self.refused("hardware", "none.yaml"))
        self.write("bad.yaml", CHIP.replace("clock:", "clokc:"))
        self.assertIn("bad.yaml:4:1: error: unknown key 'clokc' in the file (did you mean 'clock'?)",
                      self.refused("hardware", "bad.yaml"))
        self.assertIn("bad.yaml:4:1: error: ", self.refused("check", "bad.yaml"))
        self.write("other.yaml", "a: 1\n")
        self.assertIn("not a hardware description", self.refused("hardware", "other.yaml"))
        self.assertIn("not a kind of configuration MONET reads", self.refused("check", "other.yaml"))

    def test_clock_and_node_are_above_zero(self):
        clock = next(line for line in CHIP.splitlines() if line.startswith("clock:"))
        for key, line in (("clock", "clock: 0 MHz"), ("clock", "clock_hz: 0"), ("node", f"{clock}\nnode: 0 nm")):
            self.write("zero.yaml", "".join(l + "\n" for l in CHIP.splitlines() if not l.startswith("node")).replace(clock, line))
            self.assertRegex(self.refused("check", "zero.yaml"), rf"zero.yaml:\d+:\d+: error: '{key}' must be above zero")

    def test_checks_every_kind_of_file(self):
        self.write("chip.yaml", CHIP)
        self.write("mapping.yaml", "- name: default\n  spatial_mapping: {D1: ['K, 4']}\n")
        self.write("workload.yaml", "- {id: 0, operator_type: Gemm, equation: 'O[b]+=W[b]*I[b]', loop_dims: [B], "
                                    "loop_sizes: [4], operand_precision: {W: 8, I: 8, O: 8}}\n")
        text = self.ok("check", "chip.yaml", "mapping.yaml", "workload.yaml")
        self.assertIn("chip.yaml: ok, MONET hardware", text)
        self.assertIn("mapping.yaml: ok, mapping, 1 entries", text)
        self.assertIn("workload.yaml: ok, ZigZag workload, 1 layers", text)

    def test_hostile_files_are_refused_within_a_second(self):
        cases = {"deep": "[" * 1_000_000, "keys": "".join(f"{i}: 1\n" for i in range(1_000_000)),
                 "laughs": "a: &a [x,x]\n" + "".join(f"{chr(c)}: &{chr(c)} [*{chr(c - 1)},*{chr(c - 1)}]\n" for c in range(98, 123)),
                 "huge": CHIP.replace("64 KiB", "9" * 1000 + " KiB"), "negative": CHIP.replace("64 KiB", "-64 KiB"),
                 "bytes": "\0" * 1000, "unknown": CHIP + "".join(f"key{i}: 1\n" for i in range(40_000))}
        for name, text in cases.items():
            with self.subTest(name=name):
                self.write(f"{name}.yaml", text)
                for verb in ("hardware", "check"):
                    start = processor_seconds()
                    self.assertIn(f"{name}.yaml", self.refused(verb, f"{name}.yaml"))
                    self.assertLess(processor_seconds() - start, 1)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    commands_test.MONET = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
