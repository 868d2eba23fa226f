"""What `monet fuse` and plans with savings promise.

    python3 search_test.py MONET [unittest arguments]
"""
import pathlib
import sys
import unittest

import commands_test
from commands_test import Commands

MODEL = "mlp:in=64,hidden=32,layers=2,classes=8"
CHIP = "fusemax"


class Savings(Commands):
    """What a plan says of saved activations."""

    def evaluated(self, saving, chip="tpu_like_quad_core"):
        self.write("plan.yaml", f"monet: plan\nsaved:\n  \"*act*\": {saving}\n")
        return self.result("evaluate", *self.MODEL, "--on", chip, "--plan", "plan.yaml")

    MODEL = ("resnet18:image=32,width=8,classes=10", "--batch", "4")

    def test_each_saving_does_what_it_says(self):
        kept = self.evaluated("keep")
        plain = self.result("evaluate", *self.MODEL, "--on", "tpu_like_quad_core")
        self.assertEqual(plain["latency_cycles"], kept["latency_cycles"])
        self.assertEqual(0, kept["energy_by_phase_pj"]["recompute"])
        recomputed, each = self.evaluated("recompute"), self.evaluated("recompute_each")
        self.assertGreater(recomputed["energy_by_phase_pj"]["recompute"], 0)
        self.assertGreater(each["energy_by_phase_pj"]["recompute"], recomputed["energy_by_phase_pj"]["recompute"])
        spilled = self.evaluated("spill")
        self.assertEqual(kept["macs"], spilled["macs"])
        self.assertGreater(spilled["offchip_written_bytes"], kept["offchip_written_bytes"])
        narrow = self.evaluated("f8e4m3")
        self.assertIn(".wide", " ".join(node["name"] for node in narrow["nodes"]))

    def test_what_is_rebuilt_tile_by_tile_stands_with_its_reader(self):
        self.write("plan.yaml", "monet: plan\nsaved: {layer1.0.bn1.act: recompute_tiles, layer1.0.conv1: recompute_tiles}\n")
        nodes = {n["name"]: n for n in self.result("evaluate", *self.MODEL, "--on", CHIP, "--plan", "plan.yaml")["nodes"]}
        clones = [n for name, n in nodes.items() if name.startswith("layer1.0.conv1.recompute")]
        self.assertTrue(clones)
        readers = {n["group"] for name, n in nodes.items() if n["phase"] == "backward"}
        for clone in clones:
            self.assertIn(clone["group"], readers)

    def test_schedules_of_savings_compute_the_same(self):
        for saving in ("recompute_each", "recompute_tiles", "spill", "f8e5m2"):
            self.write("plan.yaml", f"monet: plan\nsaved:\n  \"*act*\": {saving}\n")
            self.assertIn("the schedule is right", self.ok("verify", *self.MODEL, "--on", CHIP, "--plan", "plan.yaml"))

    def test_what_is_wrong_is_said_with_its_place(self):
        for saved, message in (("layer1.0.bn1.akt: recompute", "plan.yaml:3:3: saved: error: no saved activation is named 'layer1.0.bn1.akt'"),
                               ("bn1.act: forget", "plan.yaml:3:12: error: 'forget' is nothing that can be done"),
                               ("layer1.0.bn1.act: f64", "for which f64 is not narrower")):
            self.write("plan.yaml", f"monet: plan\nsaved:\n  {saved}\n")
            self.assertIn(message, self.refused("evaluate", *self.MODEL, "--on", CHIP, "--plan", "plan.yaml"))


class Fusion(Commands):
    def test_the_result_is_a_plan_that_evaluates_to_the_same(self):
        document = self.document("fuse", MODEL, "--on", CHIP, "--out", "run")
        if commands_test.jsonschema:
            commands_test.validator("fuse").validate(document)
        result = document["result"]
        self.assertTrue(result["proven_optimal"])
        self.assertEqual(result["objective"], result["bound"])
        evaluated = self.result("evaluate", MODEL, "--on", CHIP, "--plan", "run/plan.yaml")
        for key in ("latency_cycles", "energy_pj", "peak_total_bytes"):
            self.assertEqual(evaluated[key], result["after"][key])
        by_default = self.result("evaluate", MODEL, "--on", CHIP)
        self.assertEqual(by_default["latency_cycles"], result["before"]["latency_cycles"])
        names = [name for group in result["groups"] for name in group]
        self.assertEqual(sorted(names), sorted(node["name"] for node in by_default["nodes"]))

    def test_a_gradient_fused_with_its_update_never_leaves_the_chip(self):
        model, chip = "mlp:in=2048,hidden=2048,layers=1,classes=512", "tpu_like_quad_core"
        parameters = 2048 * 2048 + 2048 + 2048 * 512 + 512
        self.ok("fuse", model, "--precision", "fp32", "--on", chip, "--out", "run")
        fused = self.result("evaluate", model, "--precision", "fp32", "--on", chip, "--plan", "run/plan.yaml")
        moved = sum(node["offchip_bytes"] for node in fused["nodes"] if node["phase"] == "update")
        self.assertAlmostEqual(24, moved / parameters, delta=0.001)

    def test_what_is_solved_is_no_worse_by_its_measure(self):
        for objective in ("groups", "traffic", "latency", "energy"):
            result = self.result("fuse", MODEL, "--on", CHIP, "--objective", objective)
            one_by_one = next(v for v in result["variants"] if v["name"] == "one by one")
            self.assertLessEqual(result["objective"], one_by_one["objective"])

    def test_the_same_bytes_on_any_number_of_threads(self):
        documents = [self.document("fuse", MODEL, "--on", CHIP, "--refine", "--evaluations", "40", "--threads", n)
                     for n in ("1", "2", "4")]
        for document in documents:
            document.pop("run")
        self.assertEqual(documents[0], documents[1])
        self.assertEqual(documents[0], documents[2])

    def test_refining_never_makes_it_worse(self):
        result = self.result("fuse", MODEL, "--on", CHIP, "--refine", "--evaluations", "40")
        self.assertLessEqual(result["after"]["latency_cycles"],
                             min(v["latency_cycles"] for v in result["variants"] if v["name"] != "refined"))

    def test_rules_are_parameters(self):
        self.write("rules.yaml", "monet: fusion_rules\nlimit: 2\nkinds: [{of: [matmul], most: 0}]\n")
        result = self.result("fuse", MODEL, "--on", CHIP, "--rules", "rules.yaml", "--objective", "groups")
        self.assertEqual(2, result["limit"])
        self.assertIn("fusion rules, at most 2 nodes a group", self.ok("check", "rules.yaml"))
        self.write("bad.yaml", "monet: fusion_rules\nlimmit: 2\n")
        self.assertIn("bad.yaml:2:1: error: unknown key 'limmit'", self.refused("fuse", MODEL, "--on", CHIP, "--rules", "bad.yaml"))
        self.assertIn("did you mean 'monet'?", self.refused("fuse", MODEL, "--on", CHIP, "--rules", "money"))
        self.assertIn("--limit", self.refused("fuse", MODEL, "--on", CHIP, "--limit", "0"))

    def test_groups_by_hand_stand_beside_it(self):
        said = self.ok("fuse", MODEL, "--on", CHIP, "--stacks", "[(0, 1, 2)]", "--rules", "monet")
        self.assertIn("by hand", said)
        self.assertIn("by hand, against the rules", said)
        self.assertIn("Stream's rule", self.ok("fuse", MODEL, "--on", CHIP, "--rules", "stream"))

    def test_time_that_is_over_leaves_a_legal_plan(self):
        result = self.result("fuse", "resnet18:image=32,classes=10,width=16", "--on", CHIP, "--time", "0.001")
        self.assertTrue(result["after"]["feasible"])
        self.assertLessEqual(result["bound"], result["objective"])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    commands_test.MONET = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
