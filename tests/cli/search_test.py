"""What `monet fuse`, `monet checkpoint` and plans with savings promise.

    python3 search_test.py MONET [unittest arguments]
"""
import itertools
import json
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import time
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


class Checkpoints(Commands):
    MODEL = ("resnet18:image=32,width=8,classes=10", "--batch", "16", "--least-share", "0.02")
    FEW = ("mlp:in=64,hidden=32,layers=5,classes=8", "--batch", "64")

    def search(self, *more, model=MODEL, exit_code=0):
        return self.document("checkpoint", *model, "--on", CHIP, *more, exit_code=exit_code)

    def test_points_of_the_front_are_plans_that_evaluate_to_the_same(self):
        result = self.search("--evaluations", "60", "--out", "run")["result"]
        self.assertEqual(60, result["evaluations"])
        for index in result["front"][:3]:
            point = result["points"][index]
            evaluated = self.result("evaluate", *self.MODEL[:3], "--on", CHIP, "--plan", f"run/plans/{index}.yaml")
            for key in ("latency_cycles", "energy_pj", "peak_total_bytes", "peak_memory_bytes"):
                self.assertEqual(point[key], evaluated[key])
        self.assertIn("the schedule is right",
                      self.ok("verify", *self.MODEL[:3], "--on", CHIP, "--plan", f"run/plans/{result['front'][-1]}.yaml"))

    def test_the_front_is_that_of_its_points(self):
        result = self.search("--evaluations", "60")["result"]
        keys = ("latency_cycles", "energy_pj", "peak_total_bytes")
        points = [tuple(p[k] for k in keys) for p in result["points"] if p["feasible"]]
        front = {tuple(result["points"][i][k] for k in keys) for i in result["front"]}
        dominated = lambda p: any(q != p and all(a <= b for a, b in zip(q, p)) for q in points)
        self.assertEqual({p for p in points if not dominated(p)}, front)

    def test_all_decisions_are_tried_where_there_are_few(self):
        result = self.search("--strategy", "exhaustive", model=self.FEW)["result"]
        self.assertTrue(result["exact"])
        self.assertEqual(2 ** len(result["activations"]), result["evaluations"])
        searched = self.search("--evaluations", "1000", model=self.FEW)["result"]
        figures = lambda r: {tuple(r["points"][i][k] for k in ("latency_cycles", "energy_pj", "peak_total_bytes"))
                             for i in r["front"]}
        self.assertEqual(figures(result), figures(searched))

    def test_what_fits_is_the_fastest_that_does(self):
        result = self.search("--strategy", "exhaustive", model=self.FEW)["result"]
        peaks = sorted(p["peak_total_bytes"] for p in result["points"])
        limit = peaks[len(peaks) // 3]
        fit = self.search("--strategy", "exhaustive", "--fit", str(int(limit)), model=self.FEW)["result"]["fit"]
        best = min(p["latency_cycles"] for p in result["points"] if p["peak_total_bytes"] <= limit)
        self.assertEqual(best, result["points"][fit["point"]]["latency_cycles"])
        refused = self.search("--fit", "1kB", model=self.FEW, exit_code=1)["result"]
        self.assertFalse(refused["fit"]["feasible"])
        self.assertEqual([], refused["front"])

    def test_rules_of_others_are_priced_beside_one_another(self):
        result = self.search("--strategy", "baselines", model=self.FEW)["result"]
        rules = {rule["name"]: rule for rule in result["rules"]}
        self.assertEqual({"keep_all", "recompute_all", "chen", "greedy", "rotor", "additive", "checkmate", "moccasin", "poet"},
                         set(rules))
        exact = self.search("--strategy", "exhaustive", model=self.FEW)["result"]
        for rule in rules.values():
            self.assertLessEqual(rule["hypervolume_share"], 1 + 1e-12)
        self.assertLessEqual(result["evaluations"], exact["evaluations"])
        kept = next(b for b in result["baselines"] if b["name"] == "keep_all")
        self.assertEqual({}, result["points"][kept["point"]]["decision"])
        alone = self.search("--strategy", "checkmate", model=self.FEW)["result"]
        self.assertTrue(all(b["name"] == "checkmate" and b["proven"] for b in alone["baselines"]))

    def test_more_ways_to_decide_are_tried(self):
        result = self.search("--decide", "recompute,recompute_each,recompute_tiles,spill,f8e4m3", "--evaluations", "80")["result"]
        words = {word for point in result["points"] for word in point["decision"].values()}
        self.assertEqual({"recompute", "recompute_each", "recompute_tiles", "spill", "f8e4m3"}, words)

    def test_fusion_tiles_cores_and_batch_are_decided_together_with_it(self):
        model, chip = ("mlp:in=64,hidden=64,layers=4,classes=8", "--batch", "32"), "tpu_like_quad_core"
        also = ("--also", "fusion=2,4", "--also", "tiles=0.5,2", "--also", "cores=latency", "--also", "batch=16")
        result = self.result("checkpoint", *model, "--on", chip, *also, "--evaluations", "60", "--out", "run")
        self.assertEqual([("batch", 2), ("fusion", 3), ("cores", 2), ("tiles", 3)],
                         [(a["name"], len(a["alternatives"])) for a in result["axes"]])
        self.assertIn("latency_cycles_per_sample", result["reference"])
        for axis in result["axes"]:  # everything was tried
            self.assertEqual(set(axis["alternatives"]), {p["ways"][axis["name"]] for p in result["points"]})
        by_sample = []
        for index in result["front"]:
            point, batch = result["points"][index], result["points"][index]["ways"]["batch"]
            by_sample.append(tuple(point[k] / int(batch) for k in ("latency_cycles", "energy_pj")) + (point["peak_total_bytes"],))
            evaluated = self.result("evaluate", model[0], "--batch", batch, "--on", chip, "--plan", f"run/plans/{index}.yaml")
            for key in ("latency_cycles", "energy_pj", "peak_total_bytes"):
                self.assertEqual(point[key], evaluated[key], point["ways"])
        for a, b in itertools.permutations(by_sample, 2):
            self.assertFalse(all(x <= y for x, y in zip(a, b)) and a != b, (a, b))
        again = self.result("checkpoint", *model, "--on", chip, *also, "--evaluations", "60", "--out", "run", "--resume", "--threads", "1")
        self.assertEqual(result, again)

    def test_where_nothing_is_possible_the_reason_is_said(self):
        run = self.run_monet("checkpoint", "mlp:in=2048,hidden=2048,layers=3,classes=8", "--on", "jia_4x4_aimc", "--evaluations", "4", "--quiet")
        self.assertEqual(1, run.returncode)
        self.assertIn("4 evaluations, 4 not possible", run.stdout.decode())
        self.assertIn("With everything kept: dram: weights, states and inputs take", run.stdout.decode())

    def test_groups_of_a_plan_are_kept(self):
        self.ok("fuse", *self.MODEL[:3], "--on", CHIP, "--out", "fused")
        fused = self.result("evaluate", *self.MODEL[:3], "--on", CHIP, "--plan", "fused/plan.yaml")
        result = self.search("--plan", "fused/plan.yaml", "--strategy", "keep_all")["result"]
        kept = next(p for p in result["points"] if not p["decision"])
        self.assertEqual(fused["latency_cycles"], kept["latency_cycles"])

    def test_the_same_bytes_on_any_number_of_threads(self):
        documents = [self.search("--evaluations", "50", "--threads", n) for n in ("1", "2", "4")]
        for document in documents:
            document.pop("run")
        self.assertEqual(documents[0], documents[1])
        self.assertEqual(documents[0], documents[2])

    def test_nothing_is_lost_when_it_is_killed_twenty_times(self):
        arguments = ["--evaluations", "300", "--quiet"]
        whole = self.search(*arguments)
        whole.pop("run")
        draw, kills = random.Random(1), 0
        for folder in map("run{}".format, range(20)):
            command = [commands_test.MONET, "checkpoint", *self.MODEL, "--on", CHIP, *arguments, "--out", folder, "--resume"]
            is_done = False
            while kills < 20 and not is_done:
                process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    process.wait(draw.uniform(0.02, 0.3))
                    is_done = True  # before it could be killed
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    kills += 1
            resumed = self.search(*arguments, "--out", folder, "--resume")
            resumed.pop("run")
            self.assertEqual(whole, resumed)
            if kills == 20:
                break
        self.assertEqual(20, kills)

    def test_an_interrupt_saves_what_was_found(self):
        command = [commands_test.MONET, "checkpoint", *self.MODEL, "--on", CHIP, "--evaluations", "100000", "--out", "run"]
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(130, process.returncode)
        self.assertIn("stopped early", out)
        result = json.loads((self.folder / "run/result.json").read_text())["result"]
        self.assertTrue(result["stopped"])
        self.assertTrue(result["front"])
        self.assertTrue((self.folder / f"run/plans/{result['front'][0]}.yaml").exists())

    def test_the_command_that_is_shown_gives_the_figures_of_the_point(self):
        flags = ("--set", "side=8", "--microbatches", "4", "--precision", "fp32", "--optimizer", "sgd", "--updates", "fused")
        said = self.ok("checkpoint", *self.FEW, "--on", CHIP, *flags, "--evaluations", "8", "--out", "run")
        command = shlex.split(said.splitlines()[-1].split(": monet ")[1])
        result = json.loads((self.folder / "run/result.json").read_text())["result"]
        self.assertEqual(result["points"][result["front"][0]]["latency_cycles"], self.result(*command)["latency_cycles"])

    def test_plans_are_those_of_the_front_and_others_in_the_store_are_said(self):
        self.ok("checkpoint", *self.FEW, "--on", CHIP, "--evaluations", "30", "--out", "run")
        said = self.ok("checkpoint", *self.FEW, "--on", CHIP, "--evaluations", "10", "--seed", "5", "--out", "run", "--resume")
        result = json.loads((self.folder / "run/result.json").read_text())["result"]
        self.assertEqual({f"{i}.yaml" for i in result["front"]}, {p.name for p in (self.folder / "run/plans").iterdir()})
        self.assertIn("more evaluations are in the store, of other searches", said)

    def test_time_that_is_over_leaves_everything_kept(self):
        for more in ((), ("--fit", "10GB"), ("--also", "fusion=4")):
            result = self.search("--time", "0.000001", *more)["result"]
            self.assertEqual((1, True, [0]), (result["evaluations"], result["stopped"], result["front"]))

    def test_it_ends_where_the_front_does_not_change(self):
        said = self.ok("checkpoint", *self.MODEL, "--on", CHIP, "--evaluations", "2000", "--stagnation", "2")
        self.assertIn("ended as the front did not change any more", said)

    def test_what_is_there_is_not_overwritten(self):
        self.ok("checkpoint", *self.FEW, "--on", CHIP, "--evaluations", "10", "--out", "run")
        self.assertIn("--resume goes on with them", self.refused("checkpoint", *self.FEW, "--on", CHIP, "--out", "run"))
        self.assertIn("results of another question",
                      self.refused("checkpoint", *self.MODEL, "--on", CHIP, "--out", "run", "--resume"))

    def test_bad_values_are_refused_with_their_flag(self):
        for arguments, message in ((("--strategy", "nsga3"), "did you mean 'nsga2'?"),
                                   (("--decide", "forget"), "--decide: error: unknown value 'forget'"),
                                   (("--memory", "buffer"), "known: total, dram"),
                                   (("--fit", "12 apples"), "is not a number of bytes"),
                                   (("--least-share", "2"), "from 0 to 1"),
                                   (("--resume",), "name the folder"),
                                   (("--mode", "inference"), "an inference saves nothing"),
                                   (("--also", "fuse=2"), "unknown value 'fuse=2'"),
                                   (("--also", "tiles=none"), "tiles: 'none' is no number from"),
                                   (("--also", "batch=64"), "batch 64 is there already"),
                                   (("--also", "cores=area"), "latency or energy"),
                                   (("--also", "tiles=2,2"), "tiles: 2 is there twice"),
                                   (("--also", "tiles=1"), "1 is what is tried anyway"),
                                   (("--strategy", "chen", "--decide", "spill"), "chen rebuilds activations, which --decide does not allow"),
                                   (("--strategy", "exhaustive", "--evaluations", "3"), "--evaluations: error: is for --strategy nsga2"),
                                   (("--recompute", "all"), "nothing is left to decide on (leave it away"),
                                   (("--decide", "keep"), "--decide: error: there is nothing to decide"),
                                   (("--train", "none"), "nothing is trained")):
            self.assertIn(message, self.refused("checkpoint", *self.FEW, "--on", CHIP, *arguments))


    def test_one_iteration_is_compared(self):
        for verb in ("fuse", "checkpoint"):
            message = self.refused(verb, MODEL, "--on", CHIP, "--iterations", "2")
            self.assertIn("--iterations: error: ", message)
            self.assertIn("evaluate takes it", message)

    def test_a_batch_that_a_file_does_not_take_is_refused(self):
        # Inputs that disagree on their leading dimension keep it.
        self.write("net.monet", """graph "fixed"
input x : f32[4,8]
input y : f32[8,16]
weight w : f32[3,16]
forward h = matmul(x, y) -> h : f32[4,16]
forward logits = matmul{trans_b=true}(h, w) -> logits : f32[4,3]
output logits
""")
        self.ok("graph", "net.monet", "--train", "none", "--write", "net.onnx")
        self.ok("checkpoint", "net.onnx", "--on", CHIP, "--evaluations", "4", "--least-share", "0")
        for arguments in (("--batch", "2"), ("--batch", "4", "--also", "batch=8")):
            self.assertIn("stays as it is", self.refused("checkpoint", "net.onnx", "--on", CHIP, *arguments))


class Fusion(Commands):
    def test_a_solution_that_is_slower_than_the_default_is_said_to_be(self):
        command = ("fuse", "mlp:in=64,hidden=32,layers=2,classes=8", "--on", "tpu_v3")
        result, said = self.result(*command), self.ok(*command)
        self.assertGreater(result["after"]["latency_cycles"], result["before"]["latency_cycles"])
        self.assertIn("slower than by default, by the scheduler: --refine", said)
        self.assertIn("a group (a weight's update counts as one)", said)
        self.assertNotIn("slower than by default", self.ok(*command, "--refine", "--evaluations", "20"))

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

    def test_what_is_proven_is_said_of_the_groups_that_are_given(self):
        result = self.result("fuse", MODEL, "--on", CHIP, "--limit", "2", "--refine", "--evaluations", "60")
        refined = next(v for v in result["variants"] if v["name"] == "refined")
        self.assertGreater(result["refined"]["steps"], 0)
        self.assertFalse(result["proven_optimal"])
        self.assertEqual(refined["objective"], result["objective"])

    def test_where_nothing_can_be_scheduled_the_measure_is_said(self):
        small = ("--on", CHIP, "--set", "cores.dram.memories.dram.size=10 KiB")
        for asked, used in (("latency", "traffic"), ("energy", "traffic"), ("traffic", "traffic"), ("groups", "groups")):
            result = self.document("fuse", MODEL, *small, "--objective", asked, exit_code=1)["result"]
            self.assertEqual(used, result["measure"])
            if used == "groups":
                self.assertEqual(len(result["groups"]), result["objective"])

    PLACED = ("hetero_quad_core", "tpu_like_quad_core")

    def test_a_placement_is_a_plan_that_evaluates_to_the_same(self):
        for chip, method in itertools.product(self.PLACED, ("local", "ga")):
            document = self.document("fuse", MODEL, "--on", chip, "--place", method, "--evaluations", "30", "--out", f"{chip}_{method}")
            if commands_test.jsonschema:
                commands_test.validator("fuse").validate(document)
            result = document["result"]
            solved, placed = result["variants"][-2:]
            self.assertEqual(("solved", "placed"), (solved["name"], placed["name"]))
            self.assertLessEqual(placed["latency_cycles"], solved["latency_cycles"])
            self.assertLessEqual(result["placed"]["evaluations"], 30)
            evaluated = self.result("evaluate", MODEL, "--on", chip, "--plan", f"{chip}_{method}/plan.yaml")
            for key in ("latency_cycles", "energy_pj", "peak_total_bytes"):
                self.assertEqual(evaluated[key], result["after"][key])
                self.assertEqual(evaluated[key], placed[key])
        self.assertIn("the schedule is right",
                      self.ok("verify", MODEL, "--on", self.PLACED[0], "--plan", f"{self.PLACED[0]}_local/plan.yaml"))

    def test_placements_are_the_same_bytes_on_any_number_of_threads(self):
        for method in ("local", "ga"):
            documents = [self.document("fuse", MODEL, "--on", self.PLACED[0], "--place", method, "--evaluations", "40", "--threads", n)
                         for n in ("1", "2", "4")]
            for document in documents:
                document.pop("run")
            self.assertEqual(documents[0], documents[1])
            self.assertEqual(documents[0], documents[2])

    def test_all_placements_are_tried_where_there_are_few(self):
        small = ("mlp:in=64,hidden=32,layers=1,classes=8", "--mode", "inference", "--on", self.PLACED[0])
        for objective, value in (("latency", lambda f: f["latency_cycles"]), ("energy", lambda f: f["energy_pj"]),
                                 ("edp", lambda f: f["latency_cycles"] * f["energy_pj"])):
            exact = self.result("fuse", *small, "--place", "exact", "--place-objective", objective)
            self.assertTrue(exact["placed"]["exact"])
            for method in ("local", "ga"):
                found = self.result("fuse", *small, "--place", method, "--place-objective", objective)
                self.assertGreaterEqual(value(found["after"]), value(exact["after"]))
        self.assertIn("are too many to try all of them", self.refused("fuse", MODEL, "--on", self.PLACED[0], "--place", "exact"))

    def test_bad_placements_are_refused_with_their_flag(self):
        self.assertIn("--place: error: unknown value 'locl'", self.refused("fuse", MODEL, "--on", CHIP, "--place", "locl"))
        self.assertIn("--place-objective: error: unknown value 'edq'",
                      self.refused("fuse", MODEL, "--on", CHIP, "--place", "local", "--place-objective", "edq"))

    def test_an_interrupted_placement_gives_the_best_so_far(self):
        command = [commands_test.MONET, "fuse", "resnet18:image=32,width=8,classes=10", "--on", self.PLACED[0], "--place", "local",
                   "--evaluations", "100000", "--out", "run"]
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        self.assertEqual(130, process.returncode)
        self.assertIn("placed for latency (local)", out)
        self.assertTrue((self.folder / "run/plan.yaml").exists())

    def test_rules_are_parameters(self):
        self.write("rules.yaml", "monet: fusion_rules\nlimit: 2\nkinds: [{of: [matmul], most: 0}]\n")
        result = self.result("fuse", MODEL, "--on", CHIP, "--rules", "rules.yaml", "--objective", "groups")
        self.assertEqual(2, result["limit"])
        self.assertIn("fusion rules, at most 2 nodes a group", self.ok("check", "rules.yaml"))
        self.write("bad.yaml", "monet: fusion_rules\nlimmit: 2\n")
        self.assertIn("bad.yaml:2:1: error: unknown key 'limmit'", self.refused("fuse", MODEL, "--on", CHIP, "--rules", "bad.yaml"))
        self.write("bad.yaml", "monet: fusion_rules\nkinds: [{of: [matml], most: 1, with: [contracton]}]\n")
        message = self.refused("check", "bad.yaml")
        self.assertIn("bad.yaml:2:15: error: 'matml' is no kind of node (did you mean 'matmul'?)", message)
        self.assertIn("bad.yaml:2:39: error: 'contracton' is no kind of node (did you mean 'contraction'?)", message)
        self.write("bad.yaml", "monet: fusion_rules\nkinds: [{of: [softmax], most: 1}]\n")  # none is left after decompose
        self.assertIn("bad.yaml:2:15: error: 'softmax' is no kind of node", self.refused("check", "bad.yaml"))
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
