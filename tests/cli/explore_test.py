"""What `monet explore` promises.

    python3 explore_test.py MONET [unittest arguments]
"""
import contextlib
import csv
import io
import json
import os
import pathlib
import pty
import random
import shlex
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
import unittest

import commands_test
from commands_test import Commands

HARDWARE = pathlib.Path(__file__).resolve().parents[2] / "data" / "hardware"
MODEL = "mlp:in=64,hidden=32,layers=2,classes=8"
SPACE = """monet: space
name: small
chip: fusemax_monet
variables:
  x: {powers_of_two: [64, 128]}
  vector_lanes: [32, 64]
  cores.vector.memories.local.size: [64 KiB, 128 KiB]
  offchip_bits: {powers_of_two: [512, 2048]}
constraints:
  - x * vector_lanes <= 4096
"""


class Explore(Commands):
    def setUp(self):
        super().setUp()
        self.write("small.yaml", SPACE)

    def explored(self, *arguments):
        return self.document("explore", MODEL, "--space", "small.yaml", *arguments)

    def rows(self, folder):
        return list(csv.DictReader(io.StringIO((self.folder / folder / "points.csv").read_text())))

    def test_all_points_are_there_with_figures_or_reasons(self):
        result = self.explored()["result"]
        self.assertEqual(24, result["size"])
        self.assertEqual(48, len(result["points"]))
        possible = [p for p in result["points"] if p["feasible"]]
        self.assertEqual(36, len(possible))
        for point in result["points"]:
            if not point["feasible"]:
                self.assertEqual("x * vector_lanes <= 4096: 8192 > 4096", point["reason"])
        for point in possible:
            parts = sum(point[k] for k in ("compute_pj", "memory_pj", "link_pj", "offchip_pj", "leakage_pj"))
            self.assertAlmostEqual(1, parts / point["energy_pj"], places=9)
        for front in result["fronts"]:
            mine = [p for p in possible if p["workload"] == front["workload"]]
            chosen = [result["points"][i] for i in front["front"]]
            for p in chosen:
                self.assertEqual(front["workload"], p["workload"])
                for q in mine:
                    better = q["latency_s"] <= p["latency_s"] and q["energy_pj"] <= p["energy_pj"]
                    same = q["latency_s"] == p["latency_s"] and q["energy_pj"] == p["energy_pj"]
                    self.assertFalse(better and not same)
        for regret in result["regret"]:
            self.assertGreaterEqual(regret["ratio"], 1)
            best = min(p["energy_pj"] for p in possible if p["workload"] == regret["used_for"])
            if regret["by"] == "energy":
                self.assertEqual(best, result["points"][regret["best"]]["energy_pj"])
                self.assertAlmostEqual(regret["ratio"], result["points"][regret["chosen"]]["energy_pj"] / best, places=12)

    def test_every_point_alone_gives_the_same_figures(self):
        result = self.explored("--strategy", "random", "--evaluations", "4")["result"]
        for point in result["points"]:
            if not point["feasible"]:
                continue
            settings = [a for name, value in point["decision"].items() for a in ("--set", f"{name}={value}")]
            alone = self.result("evaluate", MODEL, "--on", "fusemax_monet", "--mode", point["workload"], "--updates", "fused", *settings)
            for key in ("latency_cycles", "latency_s", "energy_pj", "peak_total_bytes"):
                self.assertEqual(point[key], alone[key], key)
            chip = self.result("hardware", "fusemax_monet", *settings)
            self.assertEqual(point["area_mm2"], chip["area_mm2"])
            self.assertEqual(point["tdp_w"], chip["tdp_w"])

    def test_pruning_gives_the_fronts_of_the_grid(self):
        for objectives in ("latency,energy", "energy,area"):
            self.ok("explore", MODEL, "--space", "small.yaml", "--out", "all", "--objectives", objectives)
            self.ok("explore", MODEL, "--space", "small.yaml", "--out", "few", "--objectives", objectives,
                    "--strategy", "prune")
            fronts = []
            for folder in ("all", "few"):
                fronts.append([{k: v for k, v in row.items() if k != "point"} for row in self.rows(folder)
                               if "1" in (row["on_front"], row["on_common_front"])])
            self.assertEqual(fronts[0], fronts[1])
            for folder in ("all", "few"):
                for file in (self.folder / folder).rglob("*.sqlite*"):
                    file.unlink()

    def test_pruning_keeps_the_reasons_of_chips_that_are_not_valid(self):
        results = [self.explored("--strategy", s)["result"] for s in ("grid", "prune")]
        reasons = [sorted(p["reason"] for p in r["points"] if not p["feasible"]) for r in results]
        self.assertEqual(reasons[0], reasons[1])
        self.assertEqual(12, len(reasons[0]))
        none = self.run_monet("explore", MODEL, "--space", "small.yaml", "--strategy", "prune", "--area", "1")
        self.assertEqual(1, none.returncode)
        self.assertIn("not possible, such as: area_mm2 <= 1: ", none.stdout.decode())
        self.assertIn("--strategy grid tries all",
                      self.refused("explore", MODEL, "--space", "small.yaml", "--strategy", "prune", "--sensitivity"))

    def test_regrets_are_by_what_is_an_objective(self):
        for objectives, measures in (("latency,energy", {"latency", "energy", "edp"}), ("energy,area", {"energy"}), ("area,tdp", set())):
            self.assertEqual(measures, {r["by"] for r in self.explored("--objectives", objectives)["result"]["regret"]})

    def test_every_file_is_an_input(self):
        for name in ("a", "b"):
            self.ok("graph", f"mlp:in=16,hidden={8 if name == 'a' else 16},layers=1,classes=4", "--train", "none", "--write", f"{name}.onnx")
        inputs = self.document("explore", "a.onnx", "b.onnx", "--space", "small.yaml", "--mode", "inference")["inputs"]
        paths = [i["path"] for i in inputs.values()]
        self.assertEqual(["a.onnx", "b.onnx"], [p for p in paths if p.endswith(".onnx")])
        self.assertEqual(1, sum(p.endswith("fusemax_monet.yaml") for p in paths))

    def test_threads_change_nothing(self):
        documents = []
        for threads in ("1", "2", "4"):
            document = self.explored("--threads", threads, "--strategy", "nsga2", "--evaluations", "12", "--also", "fusion=3")
            document.pop("run")
            documents.append(document)
        self.assertEqual(documents[0], documents[1])
        self.assertEqual(documents[0], documents[2])

    def test_killed_again_and_again_it_ends_as_if_it_never_was(self):
        command = ["explore", MODEL, "--space", "small.yaml", "--threads", "1"]
        self.ok(*command, "--out", "whole")
        draw = random.Random(1)
        for _ in range(8):
            process = subprocess.Popen([commands_test.MONET, *command, "--out", "run", "--resume", "--quiet"],
                                       cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(draw.uniform(0.005, 0.15))
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.ok(*command, "--out", "run", "--resume")
        for name in ("points.csv",):
            self.assertEqual((self.folder / "whole" / name).read_bytes(), (self.folder / "run" / name).read_bytes())
        documents = [json.loads((self.folder / folder / "result.json").read_text()) for folder in ("whole", "run")]
        for document in documents:
            document.pop("run")
        self.assertEqual(documents[0], documents[1])

    def test_runs_are_extended_and_merged(self):
        def command(strategy, out, *more):
            return ("explore", MODEL, "--space", "small.yaml", "--strategy", strategy, "--evaluations", "8", "--out", out, *more)
        self.ok(*command("random", "a"))
        self.ok(*command("quasi", "b", "--seed", "3"))
        text = self.ok(*command("grid", "a", "--resume", "--merge", "b"))
        self.assertIn("results looked up", text)
        self.ok("explore", MODEL, "--space", "small.yaml", "--out", "whole")
        self.assertEqual((self.folder / "whole" / "points.csv").read_bytes(), (self.folder / "a" / "points.csv").read_bytes())
        self.ok("explore", "mlp", "--mode", "inference", "--space", "small.yaml", "--out", "c")
        self.assertIn("another question", self.refused(*command("grid", "a", "--resume", "--merge", "c")))
        self.assertIn("results of this question", self.refused(*command("grid", "a")))
        # Faults are told of the file that has them.
        (self.folder / "g").mkdir()
        self.write("g/points.sqlite", "this is no database, and long enough to be taken for one" * 4)
        self.assertIn("g/points.sqlite: error: this is no run store", self.refused(*command("grid", "a", "--resume", "--merge", "g")))
        self.assertIn("a/points.sqlite: error: this is the run itself", self.refused(*command("grid", "a", "--resume", "--merge", "a")))

    def test_figures_that_contradict_are_not_mixed(self):
        command = ("explore", MODEL, "--space", "small.yaml", "--out")
        self.ok(*command, "a")
        shutil.copytree(self.folder / "a", self.folder / "changed")
        with contextlib.closing(sqlite3.connect(self.folder / "changed/points.sqlite")) as store, store:
            store.execute("update points set energy_pj = energy_pj * 0.5")
        said = self.refused(*command, "a", "--resume", "--merge", "changed")
        self.assertIn("changed/points.sqlite: error: its point 0.0.0.0/0 has other figures", said)
        self.assertIn("its first point has other figures today", self.refused(*command, "changed", "--resume"))
        self.assertIn("24 of 24 points", self.ok(*command, "a", "--resume"))

    def test_sizes_of_one_model_are_not_asked_of_the_others(self):
        convnet = str(pathlib.Path(__file__).parents[1] / "fuzz/corpus/onnx/convnet.onnx")
        command = ("explore", MODEL, convnet, "--space", "small.yaml", "--mode", "inference", "--dim")
        result = self.document(*command, "N=3")["result"]
        alone = self.document("explore", convnet, "--space", "small.yaml", "--mode", "inference", "--dim", "N=3")["result"]
        energies = [p.get("energy_pj") for p in alone["points"]]
        self.assertTrue(any(energies))
        self.assertEqual(energies, [p.get("energy_pj") for p in result["points"] if p["workload"].startswith(convnet)])
        text = self.ok(*command, "N=3")
        self.assertIn(f"one of them alone: monet evaluate {MODEL} --on", text)
        self.assertNotIn("--dim", text)
        self.assertIn(" --dim N=3 ", self.ok("explore", convnet, *command[1:2], *command[3:], "N=3"))
        self.assertIn("--dim: error: no model has a symbolic dimension 'M'", self.refused(*command, "M=3"))

    def test_only_chips_of_fronts_are_replaced(self):
        (self.folder / "run/chips").mkdir(parents=True)
        (self.folder / "run/chips/parts").symlink_to(HARDWARE / "parts")
        mine = (HARDWARE / "fusemax_monet.yaml").read_text()
        self.write("run/chips/mine.yaml", mine)
        self.write("run/chips/999.yaml", "of an earlier front")
        self.write("run/own.yaml", "monet: space\nname: own\nchip: ./chips/mine.yaml\nvariables:\n  x: [64, 128]\n")
        self.ok("explore", MODEL, "--space", "run/own.yaml", "--out", "run")
        self.assertEqual(mine, (self.folder / "run/chips/mine.yaml").read_text())
        self.assertFalse((self.folder / "run/chips/999.yaml").exists())
        self.ok("explore", MODEL, "--space", "run/own.yaml", "--out", "run", "--resume")

    def test_a_chip_without_clock_has_no_seconds(self):
        (self.folder / "parts").symlink_to(HARDWARE / "parts")
        text = (HARDWARE / "fusemax_monet.yaml").read_text()
        self.write("chip.yaml", "".join(line for line in text.splitlines(True) if not line.startswith("clock:")))
        space = "monet: space\nname: s\nchip: ./chip.yaml\nvariables:\n  x: [64, 128]\n"
        self.write("s.yaml", space)
        self.ok("explore", MODEL, "--space", "s.yaml", "--out", "run")
        self.assertEqual([], self.queried("training.latency_s < 1"))
        self.assertEqual([], self.queried("tdp_w >= 0"))
        row = self.queried("training.latency_cycles > 0 and x == 64")[0]
        self.assertEqual(("", ""), (row["tdp_w"], row["training.latency_s"]))
        self.write("s.yaml", space + "constraints: [tdp_w < 5]\n")
        self.assertIn("s.yaml:6:15: error: unknown parameter 'tdp_w' (chip.yaml has no clock", self.refused("explore", MODEL, "--space", "s.yaml"))

    def test_an_answer_that_cannot_be_written_is_an_error(self):
        self.ok("explore", MODEL, "--space", "small.yaml", "--out", "run")
        for arguments in (("--query", "x < 100", "--out", "run"), (MODEL, "--space", "small.yaml", "--count")):
            with open("/dev/full", "w") as full:
                run = subprocess.run([commands_test.MONET, "explore", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, cwd=self.folder)
            self.assertEqual(2, run.returncode)
            self.assertRegex(run.stderr, "not everything could be written|No space left on device")
        self.assertIn("--out: error: it names no folder", self.refused("explore", MODEL, "--space", "small.yaml", "--out", ""))

    def test_a_run_goes_on_wherever_its_files_lie(self):
        self.ok("explore", MODEL, "--space", "small.yaml", "--out", "a")
        (self.folder / "elsewhere").mkdir()
        self.write("elsewhere/other.yaml", SPACE)
        self.assertIn("results looked up", self.ok("explore", MODEL, "--space", "elsewhere/other.yaml", "--out", "a", "--resume"))

    def test_a_store_without_results_belongs_to_nobody(self):
        large = "\n".join(f"  v{i}: {{range: [1, 10]}}" for i in range(12))
        self.write("large.yaml", f"monet: space\nname: large\nchip: fusemax_monet\nvariables:\n{large}\n"
                                 "  x: {is: \"${64 + 0 * (" + " + ".join(f"v{i}" for i in range(12)) + ")}\"}\nconstraints: [v1 >= 2]\n")
        self.assertIn("too many to try all", self.refused("explore", MODEL, "--space", "large.yaml", "--out", "a"))
        self.ok("explore", MODEL, "--space", "small.yaml", "--out", "a")
        # And what is counted of it is drawn from all of it.
        counted = self.document("explore", MODEL, "--space", "large.yaml", "--count")["result"]
        self.assertEqual((1e12, 20_000), (counted["size"], counted["looked_at"]))
        self.assertAlmostEqual(0.9, counted["valid"] / counted["looked_at"], delta=0.01)

    def test_chips_of_earlier_fronts_go(self):
        command = ("explore", MODEL, "--space", "small.yaml", "--out", "a")
        self.ok(*command, "--strategy", "random", "--evaluations", "5")
        self.ok(*command, "--resume")
        self.ok("explore", MODEL, "--space", "small.yaml", "--out", "whole")
        chips = [sorted((p.name, p.read_bytes()) for p in (self.folder / out / "chips").iterdir()) for out in ("a", "whole")]
        self.assertEqual(chips[0], chips[1])

    def test_figures_by_sample_say_so(self):
        headers = ("latency a sample", "energy a sample", "off-chip a sample")
        said = self.ok("explore", MODEL, "--space", "small.yaml", "--batch", "4")
        alone = self.ok("explore", MODEL, "--space", "small.yaml")
        for header in headers:
            self.assertIn(header, said)
            self.assertNotIn(header, alone)
        # Microbatches without a batch are one sample each, for training and for inference.
        points = self.explored("--microbatches", "4")["result"]["points"]
        self.assertEqual({4}, {p["samples"] for p in points if p["feasible"]})
        whole = self.explored("--batch", "4", "--mode", "inference")["result"]["points"]
        self.assertEqual([p.get("energy_pj") for p in whole], [p.get("energy_pj") for p in points if p["workload"] == "inference"])

    def test_a_batch_that_a_file_does_not_take_is_refused(self):
        self.write("net.monet", 'graph "fixed"\ninput x : f32[4,8]\ninput y : f32[8,16]\n'
                                "forward h = matmul(x, y) -> h : f32[4,16]\noutput h\n")
        self.ok("graph", "net.monet", "--train", "none", "--write", "net.onnx")
        command = ("explore", "net.onnx", "--space", "small.yaml", "--mode", "inference")
        self.ok(*command)
        for arguments in (("--batch", "2"), ("--batch", "4", "--also", "batch=8")):
            self.assertIn("stays as it is", self.refused(*command, *arguments))
        self.assertIn("recompute: an inference", self.refused(*command, "--also", "recompute=all"))

    def test_chips_of_fronts_are_files(self):
        self.ok("explore", MODEL, "--space", "small.yaml", "--out", "run")
        result = json.loads((self.folder / "run" / "result.json").read_text())["result"]
        files = sorted((self.folder / "run" / "chips").iterdir())
        self.assertTrue(files)
        index = int(files[0].stem)
        points = [p for p in result["points"][2 * index:2 * index + 2]]
        alone = self.result("evaluate", MODEL, "--on", str(files[0]), "--mode", "training", "--updates", "fused")
        self.assertEqual(points[0]["energy_pj"], alone["energy_pj"])

    def test_another_fusion_than_the_default_has_its_plan(self):
        """What is printed as one point alone gives its figures, flags of the model and plan included."""
        model = "mlp:in=256,hidden=256,layers=4,classes=8"
        command = ("explore", model, "--space", "small.yaml", "--batch", "8", "--optimizer", "adam", "--precision", "bf16",
                   "--also", "fusion=8", "--also", "recompute=all", "--strategy", "random", "--evaluations", "60")
        text = self.ok(*command, "--out", "run")
        alone = shlex.split(text[text.index("one of them alone: monet ") + 25:].splitlines()[0])
        result = json.loads((self.folder / "run" / "result.json").read_text())["result"]
        names = {f.name for f in (self.folder / "run" / "chips").iterdir()}
        planned = 0
        for front in result["fronts"]:
            for at in front["front"]:
                point = result["points"][at]
                name = f"{at // 2}.{front['workload']}.plan.yaml"
                self.assertIn(f"{at // 2}.yaml", names)
                self.assertEqual(point["decision"]["fusion"] != "default", name in names, name)
                if name not in names:
                    continue
                planned += 1
                recompute = [] if point["decision"]["recompute"] == "none" or front["workload"] == "inference" else ["--recompute", point["decision"]["recompute"]]
                again = self.result("evaluate", model, "--on", f"run/chips/{at // 2}.yaml", "--mode", front["workload"], "--batch", "8",
                                    "--optimizer", "adam", "--precision", "bf16", "--updates", "fused", *recompute,
                                    "--plan", f"run/chips/{name}")
                for key in ("latency_cycles", "latency_s", "energy_pj", "peak_total_bytes"):
                    self.assertEqual(point[key], again[key], (name, key))
        self.assertGreater(planned, 0)
        first = result["points"][result["fronts"][0]["front"][0]]
        self.assertIn("--plan", alone)
        self.assertIn("--batch", alone)
        again = self.result(*alone)
        for key in ("latency_cycles", "latency_s", "energy_pj", "peak_total_bytes"):
            self.assertEqual(first[key], again[key], key)
        self.assertIn("--out DIR writes the chips of the fronts with their plans", self.ok(*command))

    def test_decisions_beside_the_chip(self):
        document = self.explored("--mode", "training", "--batch", "4", "--also", "batch=8", "--also", "recompute=all",
                                 "--also", "fusion=3", "--strategy", "random", "--evaluations", "20")
        points = document["result"]["points"]
        self.assertEqual({"4", "8"}, {p["decision"]["batch"] for p in points})
        self.assertEqual({"none", "all"}, {p["decision"]["recompute"] for p in points})
        self.assertEqual({"default", "limit 3"}, {p["decision"]["fusion"] for p in points})
        for p in points:
            if p["feasible"]:
                self.assertEqual(float(p["decision"]["batch"]), p["samples"])

    def test_counting_runs_nothing(self):
        text = self.ok("explore", MODEL, "--space", "small.yaml", "--count")
        self.assertIn("24 points, 18 valid", text)
        self.assertIn("6 not, by x * vector_lanes <= 4096; x=128 vector_lanes=64", text)
        result = self.explored("--count", "--area", "49")["result"]
        self.assertTrue(0 < result["valid"] < 18)
        self.assertEqual(18, result["valid"] + sum(b["count"] for b in result["invalid"] if "area" in b["by"]))
        self.assertEqual(1, self.run_monet("explore", MODEL, "--space", "small.yaml", "--count", "--area", "0.001").returncode)

    def test_counts_are_of_points(self):
        text = self.ok("explore", MODEL, "--space", "small.yaml", "--count", "--batch", "2", "--also", "batch=4,8")
        self.assertIn("24 points, ", text)
        self.assertIn("\nwith what is decided together with the chip (--also): 72 points\n", text)
        self.write("long.yaml", "monet: space\nname: long\nchip: fusemax_monet\nvariables: {x: {range: [1, 60000]}}\n")
        self.assertIn("1, 2, 3, …, 59998, 59999, 60000 (60,000 values)", self.ok("explore", MODEL, "--space", "long.yaml", "--count"))
        self.write("some.yaml", "monet: space\nname: some\nchip: fusemax_monet\nvariables: {x: [64, 128, 256]}\nconstraints: [x <= 64]\n")
        self.assertIn("3 of 3 points: all there are, the fronts are exact\n  2 not possible, such as: x <= 64: ",
                      self.ok("explore", MODEL, "--space", "some.yaml"))

    def test_the_command_for_a_point_is_one_for_a_shell(self):
        (self.folder / "it's one").mkdir()
        self.write("it's one/my chip.yaml", (HARDWARE / "fusemax_monet.yaml").read_text().replace("include: parts", f"include: {HARDWARE}/parts"))
        self.write("it's one/space.yaml", "monet: space\nname: s\nchip: my chip.yaml\nvariables: {x: [64]}\n")
        found = self.document("explore", MODEL, "--space", "it's one/space.yaml", "--mode", "inference")["result"]
        words = shlex.split(self.ok("explore", MODEL, "--space", "it's one/space.yaml", "--mode", "inference").splitlines()[-1].split(": ", 1)[1])
        self.assertEqual("it's one/my chip.yaml", words[words.index("--on") + 1])
        alone = self.document(*words[1:])["result"]
        self.assertEqual(found["points"][0]["energy_pj"], alone["energy_pj"])

    def test_a_constant_that_leaves_no_chip_is_said(self):
        least = self.explored("--count")["result"]["area_mm2"][0]
        limited = ("--sensitivity", "--area", str(least * 1.0001))
        result = self.explored(*limited)["result"]
        gone = [c for c in result["sensitivity"]["cases"] if all(o["best"]["latency"] is None for o in c["outcomes"])]
        self.assertTrue(gone)
        for case in result["sensitivity"]["cases"]:
            self.assertEqual(len(result["regret"]), len(case["regret_ratios"]))
            for outcome in case["outcomes"]:
                self.assertEqual(case in gone, outcome["hypervolume_held"] is None)
        text = self.ok("explore", MODEL, "--space", "small.yaml", *limited)
        name = f"{gone[0]['constant']} x {gone[0]['factor']:g}"
        self.assertRegex(text, rf"best in latency point \d+, or none \([^)]*{name}")
        self.assertRegex(text, rf"nothing is possible with [^\n]*{name}")
        self.assertRegex(text, rf"by energy: \+0.0 % \(\+0.0 to \+0.0; not possible with [^)]*{name}")

    def test_a_peak_that_is_a_goal_is_shown(self):
        self.assertIn("peak memory", self.ok("explore", MODEL, "--space", "small.yaml", "--objectives", "peak,latency"))
        self.assertNotIn("peak memory", self.ok("explore", MODEL, "--space", "small.yaml"))

    def test_built_in_spaces_are_those_published(self):
        self.assertIn("10,000 points, 10,000 valid", self.ok("explore", MODEL, "--space", "edge_tpu", "--count"))
        self.assertIn("5,120 points, 5,120 valid", self.ok("explore", MODEL, "--space", "fusemax", "--count"))

    def test_what_is_wrong_is_said(self):
        self.assertIn("no such space (did you mean 'edge_tpu'?)", self.refused("explore", MODEL, "--space", "edge_tup"))
        for flag, value, message in (("--strategy", "gird", "did you mean 'grid'"), ("--objectives", "speed", "known: latency"),
                                     ("--mode", "trainig", "did you mean 'training'"), ("--also", "batch=2", "beside which one"),
                                     ("--also", "tiles=2", "unknown value"), ("--area", "-1", "not a number above zero"),
                                     ("--also", "fusion=2,2", "2 is there twice"), ("--area", "1e30", "no chip comes near it"),
                                     ("--objectives", "latency,latency", "is there twice"), ("--also", "fusion=", "a value is missing"),
                                     ("--resume", None, "nothing to go on with"), ("--merge", "x", "where to?")):
            arguments = [flag] if value is None else [flag, value]
            self.assertIn(message, self.refused("explore", MODEL, "--space", "small.yaml", *arguments))
        self.write("bad.yaml", SPACE.replace("vector_lanes: [32", "vector_lnes: [32").replace("x * vector_lanes", "x * y"))
        said = self.refused("explore", MODEL, "--space", "bad.yaml")
        self.assertIn("bad.yaml:6:3: error: nothing uses the variable 'vector_lnes' (did you mean 'vector_lanes'?)", said)
        self.assertIn("bad.yaml:10:5: error: unknown parameter 'y'", said)
        for change, message in ((("x: {powers_of_two: [64", "x: {powers_of_two: [0.25"), "powers of two begin with 1"),
                                (("constraints:", "  batch: [1, 2]\n  y: {is: \"${batch}\"}\nconstraints:"), "a variable 'batch': tables have a column of that name"),
                                (("constraints:\n  - x", "  size: [1 KiB, 2 KiB]\nconstraints:\n  - size * x"), "it is a variable, but defined below, or its values are no plain numbers")):
            self.write("bad.yaml", SPACE.replace(*change))
            self.assertIn(message, self.refused("explore", MODEL, "--space", "bad.yaml", "--batch", "4", "--also", "batch=8"))
        self.assertIn("is there twice", self.refused("explore", MODEL, MODEL, "--space", "small.yaml"))
        self.assertIn("'x' is set twice", self.refused("evaluate", MODEL, "--on", "fusemax_monet", "--set", "x=64", "--set", "x=128"))
        self.assertIn("batch 4 is there already", self.refused("explore", MODEL, "--space", "small.yaml", "--batch", "4", "--also", "batch=4"))
        # An expression without a value at the first point has one at others.
        self.write("zero.yaml", "monet: space\nname: z\nchip: fusemax_monet\nvariables:\n  a: [0, 1, 2]\n  x: {is: \"${128 / a}\"}\n")
        self.assertIn("3 points, 2 valid", self.ok("explore", MODEL, "--space", "zero.yaml", "--count"))
        self.assertIn("space of chips, 4 variables, 24 points, 1 constraints", self.ok("check", "small.yaml"))

    def test_what_holds_if_constants_are_others(self):
        result = self.explored("--sensitivity")["result"]["sensitivity"]
        self.assertEqual(0.3, result["share"])
        names = {c["constant"] for c in result["cases"]}
        self.assertIn("array.buffer.leakage", names)
        self.assertIn("vector.local.area", names)
        self.assertEqual(2 * len(names), len(result["cases"]))
        self.assertEqual({0}, {c["became_valid"] + c["became_invalid"] for c in result["cases"]})
        # Limits among the areas of the space: larger areas are out, smaller ones let chips in, other constants do nothing.
        cases = self.explored("--sensitivity", "--area", "49")["result"]["sensitivity"]["cases"]
        self.assertTrue(any(c["became_valid"] > 0 for c in cases if c["factor"] < 1))
        self.assertTrue(any(c["became_invalid"] > 0 for c in cases if c["factor"] > 1))
        for c in cases:
            if not c["constant"].endswith("area"):
                self.assertEqual((0, 0), (c["became_valid"], c["became_invalid"]), c["constant"])
        self.assertIn("points become valid, and are evaluated",
                      self.ok("explore", MODEL, "--space", "small.yaml", "--sensitivity", "--area", "49"))
        self.assertIn("what holds if one of", self.ok("explore", MODEL, "--space", "small.yaml", "--sensitivity", "10"))
        self.assertNotIn("which are not all", self.ok("explore", MODEL, "--space", "small.yaml", "--sensitivity"))
        self.assertIn("among the 5 points that were evaluated, which are not all",
                      self.ok("explore", MODEL, "--space", "small.yaml", "--sensitivity", "--strategy", "random", "--evaluations", "5"))
        self.assertIn("is not below 100 percent", self.refused("explore", MODEL, "--space", "small.yaml", "--sensitivity", "120"))

    def test_what_holds_is_what_runs_of_the_changed_chips_say(self):
        chip = (HARDWARE / "heterogeneous.yaml").read_text().replace("parameters:\n", "parameters:\n  bus_pj: 10\n", 1)
        chip = chip.replace('"${offchip_bits}", energy: {value: 0.1 pJ/bit', '"${offchip_bits}", energy: {value: "${bus_pj} pJ/bit"')
        self.write("het.yaml", chip.replace("include: parts", f"include: {HARDWARE}/parts"))

        def explored(bus, *more):
            self.write("het_space.yaml", "monet: space\nname: het\nchip: ./het.yaml\nvariables:\n  offchip_bits: [256, 2048]\n"
                       f"  vector_lanes: [8, 32, 128]\n  large_side: [16, 32]\n  bus_pj: [{bus}]\n")
            return self.document("explore", MODEL, "--space", "het_space.yaml", *more)["result"]
        for objectives in ("latency,energy", "latency,tdp", "area,tdp"):
            found = explored(10, "--objectives", objectives, "--sensitivity")
            for factor, bus in ((0.7, 7), (1.3, 13)):
                case = next(c for c in found["sensitivity"]["cases"] if c["constant"] == "bus energy" and c["factor"] == factor)
                truth = explored(bus, "--objectives", objectives)
                for w, outcome in enumerate(case["outcomes"]):
                    old, new = (set(r["fronts"][w]["front"]) for r in (found, truth))
                    self.assertEqual((len(old & new), len(new - old)), (outcome["front_kept"], outcome["front_entered"]), objectives)
                    points = truth["points"][w::2]
                    for by, measure in (("latency", lambda p: p["latency_s"]), ("energy", lambda p: p["energy_pj"]),
                                        ("edp", lambda p: p["latency_s"] * p["energy_pj"])):
                        self.assertEqual(min(map(measure, points)), measure(points[outcome["best"][by]]))
                self.assertEqual(len(truth["regret"]), len(case["regret_ratios"]))
                for true, said in zip(truth["regret"], case["regret_ratios"]):
                    self.assertAlmostEqual(true["ratio"], said, places=12)

    def test_what_a_file_states_stays(self):
        chip = (HARDWARE / "heterogeneous.yaml").read_text().replace("include: parts", f"include: {HARDWARE}/parts")
        self.write("het.yaml", chip.replace("[large, vector], bits_per_cycle: \"${link_bits}\", energy: {value: 0.1 pJ/bit, assumed: true}",
                                            "[large, vector], bits_per_cycle: \"${link_bits}\", energy: 5 pJ/bit"))
        ratios = []
        for small in ("0.1", "0.13"):
            self.write("het.yaml", (self.folder / "het.yaml").read_text().replace(
                "[small, vector], bits_per_cycle: \"${link_bits}\", energy: {value: 0.1", "[small, vector], bits_per_cycle: \"${link_bits}\", energy: {value: " + small))
            self.write("het_space.yaml", "monet: space\nname: het\nchip: ./het.yaml\nvariables: {vector_lanes: [8, 32], large_side: [16, 32]}\n")
            found = self.document("explore", MODEL, "--space", "het_space.yaml", "--sensitivity")["result"]
            cases = [c for c in found["sensitivity"]["cases"] if c["constant"] == "link energy"]
            ratios.append(([r["ratio"] for r in found["regret"]], [c["regret_ratios"] for c in cases if c["factor"] > 1][0]))
        for said, true in zip(ratios[0][1], ratios[1][0]):
            self.assertAlmostEqual(true, said, places=12)

    def test_what_constants_were_tried_on_is_kept(self):
        self.write("het.yaml", "monet: space\nname: het\nchip: heterogeneous\nvariables: {vector_lanes: [8, 32], large_side: [16, 32]}\n")
        explore = ("explore", MODEL, "--space", "het.yaml", "--out", "a")

        def asked(statement):
            with contextlib.closing(sqlite3.connect(self.folder / "a/points.sqlite")) as store, store:
                return store.execute(statement).fetchone()
        self.ok(*explore)
        self.assertEqual((8,), asked("select count(*) from points"))
        first = self.document(*explore, "--resume", "--sensitivity")
        self.assertTrue(first["result"]["sensitivity"]["complete"])
        again = sum(c["run_again"] for c in first["result"]["sensitivity"]["cases"])
        self.assertGreater(again, 0)
        self.assertEqual((8 + 2 * again,), asked("select count(*) from points"))
        self.assertGreater(first["run"]["mappings_searched"], 0)
        # Half of them lost: they are found again, with the same result. Then nothing is left to do.
        asked("delete from points where key like '%*1.3'")
        for _ in range(2):
            second = self.document(*explore, "--resume", "--sensitivity")
            self.assertEqual(first["result"], second["result"])
        self.assertLess(second["run"]["mappings_searched"], first["run"]["mappings_searched"], "those of one point, which is compared")
        self.assertEqual(5, len(self.ok("explore", "--query", "training.feasible == 1", "--out", "a").splitlines()), "points as they are")

    def test_a_chip_without_a_clock_has_no_power(self):
        chip = "\n".join(line for line in (HARDWARE / "heterogeneous.yaml").read_text().replace(
            "include: parts", f"include: {HARDWARE}/parts").splitlines() if not line.startswith("clock:"))
        self.write("het.yaml", chip)
        self.write("het_space.yaml", "monet: space\nname: het\nchip: ./het.yaml\nvariables: {vector_lanes: [8, 32]}\n")
        result = self.document("explore", MODEL, "--space", "het_space.yaml")["result"]
        self.assertEqual({None}, {p["tdp_w"] for p in result["points"]})
        self.assertIn("no clock, so no TDP", self.ok("explore", MODEL, "--space", "het_space.yaml", "--count"))
        for more in (("--tdp", "10"), ("--objectives", "latency,tdp")):
            self.assertIn("has no clock, so no TDP", self.refused("explore", MODEL, "--space", "het_space.yaml", *more))

    def test_queries_of_a_single_chip(self):
        self.write("one.yaml", "monet: space\nname: one\nchip: fusemax_monet\nvariables:\n  x: {is: \"64\"}\n")
        self.ok("explore", MODEL, "--space", "one.yaml", "--out", "one")
        said = list(csv.DictReader(io.StringIO(self.ok("explore", "--query", "training.latency_s > 0", "--out", "one"))))
        for workload in ("training", "inference"):
            row = next(r for r in self.rows("one") if r["workload"] == workload)
            self.assertEqual(float(row["latency_cycles"]), float(said[0][workload + ".latency_cycles"]))

    def test_figures_have_the_error_of_the_model_beside_them(self):
        bands = json.loads((pathlib.Path(__file__).parents[2] / "data" / "validation" / "bands.json").read_text())["bands"]
        result = self.explored()["result"]
        self.assertEqual(len(bands), len(result["validation"]["bands"]))
        for kept, shown in zip(bands, result["validation"]["bands"]):
            errors = [row["error"] for row in kept["rows"]]
            self.assertEqual((len(errors), min(errors), max(errors)), (shown["rows"], shown["low"], shown["high"]))
            self.assertAlmostEqual(statistics.median(errors), shown["median"], places=12)
            self.assertAlmostEqual((1 + max(errors)) / (1 + min(errors)), shown["span"], places=12)
        self.assertEqual(["training", "inference"], [lead["workload"] for lead in result["validation"]["latency_leads"]])
        for lead in result["validation"]["latency_leads"]:
            latencies = sorted(p["latency_s"] for p in result["points"] if p["feasible"] and p["workload"] == lead["workload"])
            self.assertEqual(latencies[:2], [result["points"][lead[k]]["latency_s"] for k in ("best", "next")])
            self.assertEqual(len(latencies) - 1, lead["others"])
            self.assertEqual(sum(l < lead["span"] * latencies[0] for l in latencies[1:]), lead["within"])
        text = self.ok("explore", MODEL, "--space", "small.yaml", "--mode", "inference")
        low, high = (100 * f(row["error"] for row in bands[0]["rows"]) for f in (min, max))
        self.assertIn(f"latency ({low:+.0f} to {high:+.0f} %)", text)
        self.assertIn(f"latency, inference: {low:+.1f} to {high:+.1f} %", text)
        self.assertIn("energy, inference: nothing measured; beside another model", text)
        self.assertNotIn("training", text)
        self.assertIn("energy, training: nothing measured to compare with", self.ok("explore", MODEL, "--space", "small.yaml"))

    def queried(self, expression, out="run"):
        return list(csv.DictReader(io.StringIO(self.ok("explore", "--query", expression, "--out", out))))

    def test_queries_give_points_of_a_run(self):
        self.ok("explore", MODEL, "--space", "small.yaml", "--out", "run")
        (self.folder / "small.yaml").unlink()  # nothing but the run is read
        rows = self.rows("run")
        pairs = list(zip(rows[0::2], rows[1::2]))  # training and inference
        size = "cores.vector.memories.local.size"
        found = self.queried(f"x >= 128 and {size} == 64 and training.latency_s < 1 and area_mm2 <= 60")
        wanted = [p for p in pairs if int(p[0]["x"]) >= 128 and p[0][size] == "64 KiB" and p[0]["feasible"] == "1"
                  and float(p[0]["area_mm2"]) <= 60]
        self.assertTrue(0 < len(wanted) < len(pairs))
        self.assertEqual(len(wanted), len(found))
        for (training, inference), row in zip(wanted, found):
            for name in ("x", "vector_lanes", size, "offchip_bits", "area_mm2", "tdp_w"):
                self.assertEqual(training[name], row[name])
            for name in ("latency_s", "energy_pj", "feasible", "reason", "tiles"):
                self.assertEqual(training[name], row["training." + name])
                self.assertEqual(inference[name], row["inference." + name])
        middle = sorted(float(p[1]["latency_s"]) for p in pairs if p[1]["feasible"] == "1")[9]
        found = self.queried(f"not inference.latency_s > {middle!r} or training.feasible == 0")
        self.assertEqual(sum(p[1]["feasible"] == "0" or float(p[1]["latency_s"]) <= middle for p in pairs), len(found))
        self.assertEqual(24, len(self.queried("x > 0")))
        self.assertEqual([], self.queried("x < 0"))
        self.assertEqual(6, len(self.queried('training.reason == "x * vector_lanes <= 4096: 8192 > 4096"')))

    def test_queries_of_a_killed_run(self):
        command = ["explore", MODEL, "--space", "small.yaml", "--threads", "1"]
        self.ok(*command, "--out", "whole")
        process = subprocess.Popen([commands_test.MONET, *command, "--out", "run", "--quiet"], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        log = self.folder / "run" / "points.sqlite-wal"  # what is there before the first point, and some points
        while process.poll() is None and not (log.exists() and log.stat().st_size > 40_000):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        whole, some = self.queried("x > 0", "whole"), self.queried("x > 0")
        self.assertTrue(some)
        for row in some:
            self.assertIn(row, whole)
        self.ok(*command, "--out", "run", "--resume")
        self.assertEqual(whole, self.queried("x > 0"))

    def test_queries_of_several_models(self):
        self.ok("explore", MODEL, "mlp:in=8,hidden=8,layers=1,classes=2", "--space", "small.yaml", "--mode", "inference", "--out", "run")
        rows = [r for r in self.rows("run") if r["workload"].startswith("mlp:in=8") and r["feasible"] == "1"]
        least = min(float(r["latency_s"]) for r in rows)
        found = self.queried(f"`mlp:in=8,hidden=8,layers=1,classes=2 inference`.latency_s <= {least!r}")
        self.assertEqual(sum(float(r["latency_s"]) == least for r in rows), len(found))
        self.assertIn("which one", self.refused("explore", "--query", "latency_s < 1", "--out", "run"))

    def test_queries_take_no_flags_of_a_run(self):
        for flags in (("--strategy", "random"), ("--merge", "other"), ("--objectives", "area"), ("--batch", "2"), ("--resume",)):
            self.assertIn(f"{flags[0]}: error: a run that is asked evaluates nothing", self.refused("explore", "--query", "x == 64", "--out", "run", *flags))

    def test_queries_that_cannot_be_answered(self):
        self.ok("explore", MODEL, "--space", "small.yaml", "--mode", "training", "--out", "run")
        self.assertEqual(18, len(self.queried("latency_s > 0")))  # of one workload the name is enough
        self.assertIn("--query:1:10: error: there is no column 'training.latncy_s' (did you mean 'training.latency_s'?)",
                      self.refused("explore", "--query", "x > 1 and training.latncy_s < 1".replace("and ", "or "), "--out", "run"))
        self.assertIn("write '=='", self.refused("explore", "--query", "x = 64", "--out", "run"))
        self.assertIn("there is no such file", self.refused("explore", "--query", "x == 64", "--out", "nowhere"))
        self.assertIn("of which run?", self.refused("explore", "--query", "x == 64"))
        self.assertIn("leave MODEL", self.refused("explore", MODEL, "--query", "x == 64", "--out", "run"))
        self.assertIn("leave --json away", self.refused("explore", "--query", "x == 64", "--out", "run", "--json"))
        self.assertIn("MODEL is required", self.refused("explore", "--space", "small.yaml"))
        self.assertIn("--space is required", self.refused("explore", MODEL))
        self.ok("checkpoint", MODEL, "--on", "fusemax_monet", "--out", "other", "--evaluations", "4")
        self.assertIn("does not say what its points are", self.refused("explore", "--query", "x == 64", "--out", "other"))

    def test_no_point_is_possible(self):
        run = self.run_monet("explore", MODEL, "--space", "small.yaml", "--tdp", "0.001")
        self.assertEqual(1, run.returncode)
        self.assertIn("not possible, such as: tdp_w <= 0.001", run.stdout.decode())

    def test_points_that_are_the_same_chip_are_evaluated_once(self):
        (self.folder / "mirrored.yaml").write_text(
            "monet: space\nname: mirrored\nchip: edge_tpu_hda\nvariables:\n  x_pes: [1, 2, 3]\n  y_pes: [1, 2, 3]\n")
        found = json.loads(self.ok("explore", MODEL, "--space", "mirrored.yaml", "--json"))
        self.assertEqual(3, found["run"]["shared_points"])
        figures = {}
        for p in found["result"]["points"]:
            sides = (int(p["decision"]["x_pes"]), int(p["decision"]["y_pes"]))
            figures.setdefault(tuple(sorted(sides)), []).append((p["workload"], p["latency_cycles"], p["energy_pj"]))
            if sides in ((3, 1), (2, 3)):  # what nobody evaluated is what evaluate gives
                alone = json.loads(self.ok("evaluate", MODEL, "--on", "edge_tpu_hda", "--set", f"x_pes={sides[0]}", "--set", f"y_pes={sides[1]}",
                                           "--mode", p["workload"], "--json", *(("--updates", "fused") if p["workload"] == "training" else ())))["result"]
                self.assertEqual((alone["latency_cycles"], alone["energy_pj"]), (p["latency_cycles"], p["energy_pj"]))
        for same in figures.values():
            self.assertEqual(2, len(set(same)), "training and inference")
        self.assertIn("9 of 9 points, 3 chips that others are, too: all there are", self.ok("explore", MODEL, "--space", "mirrored.yaml"))

    def test_a_terminal_shows_how_it_stands_and_a_file_does_not(self):
        command = [commands_test.MONET, "explore", "resnet18:image=64", "--space", "edge_tpu", "--strategy", "quasi", "--time", "3", "--evaluations", "1000", "--threads", "1"]
        master, slave = pty.openpty()
        with open(master, "rb", buffering=0) as terminal:
            process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=slave)
            os.close(slave)
            shown = b""
            try:  # read while it runs: a terminal holds a few thousand bytes, and who writes more waits
                while piece := terminal.read(65536):
                    shown += piece
            except OSError:  # the end of what a terminal was told
                pass
            said, _ = process.communicate(timeout=60)
        self.assertEqual(0, process.returncode)
        self.assertRegex(shown.decode(), r"\d+/1000 points, [0-9.]+/s, front \d+ training \d+ inference, \d+ s left")
        self.assertIn("latency", shown.decode(), "no drawing")
        self.assertIn("stopped early", said.decode())
        written = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        self.assertNotIn(b"points, ", written.stderr, "within a minute")

    def test_interrupted_it_keeps_what_it_has(self):
        process = subprocess.Popen([commands_test.MONET, "explore", "resnet18", "--space", "edge_tpu", "--out", "run"],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.time() + 60
        while time.time() < deadline and not os.path.exists(self.folder / "run" / "points.sqlite"):
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(130, process.returncode)
        self.assertIn("stopped early", out.decode())
        self.assertTrue((self.folder / "run" / "result.json").exists())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    commands_test.MONET = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
