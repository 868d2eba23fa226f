"""What `monet evaluate`, `explain RUN`, `compare`, `sweep` and `verify --on` promise.

    python3 evaluate_test.py MONET [unittest arguments]
"""
import csv
import json
import math
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import commands_test
from commands_test import Commands

MODEL = "mlp"
CHIP = "tpu_like_quad_core"


# An array that keeps some operands in a buffer; the others come from the DRAM and go there while it works.
SLOTS_AT_HOME = """monet: hardware
name: slots
node: 28 nm
clock: 500 MHz
cores:
  array:
    count: {count}
    array: {{dimensions: {{D1: 32, D2: 32}}, mac_energy: 0.04 pJ}}
    memories:
      inputs: {{kind: register, size: 4 B, holds: [input], serves: [D1], bits_per_cycle: 32, read_energy: 0.02 pJ, write_energy: 0.02 pJ}}
      weights: {{kind: register, size: 128 B, holds: [weight], serves: [], bits_per_cycle: 32, read_energy: 0.1 pJ, write_energy: 0.1 pJ}}
      sums: {{kind: register, size: 4 B, holds: [output], serves: [], bits_per_cycle: 32, read_energy: 0.02 pJ, write_energy: 0.02 pJ}}
{buffer}    unrolling: {{D1: {{K: 32}}, D2: {{C: 32}}}}
  mem:
    memories:
      dram: {{kind: dram, size: 1 GiB, holds: all, bits_per_cycle: 64, read_energy: 700 pJ, write_energy: 750 pJ}}
offchip: mem
links:
  - {{bus: all, bits_per_cycle: 64, energy: 1 pJ/bit}}
"""
BUFFER = "      buffer: {{size: 2 MiB, holds: [{}], bits_per_cycle: 2048, read_energy: 400 pJ, write_energy: 400 pJ}}\n"


class Evaluations(Commands):
    def test_cores_that_keep_nothing_share_the_dram(self):
        model = ("mlp:in=1024,hidden=1024,layers=1", "--batch", "4", "--mode", "inference", "--on", "chip.yaml")
        cycles = []
        for count in (1, 2):
            self.write("chip.yaml", SLOTS_AT_HOME.format(count=count, buffer=""))
            r = self.result("evaluate", *model)
            weights = sum(t["offchip_read_bytes"] for t in r["tensors"] if t["category"] == "weights")
            self.assertGreaterEqual(weights, 4 * 1024 * 1024)
            self.assertGreater(r["energy_breakdown_pj"]["link"], 0)
            self.assertGreaterEqual(r["latency_cycles"], weights / 8)
            cycles.append(r["latency_cycles"])
        self.assertGreater(cycles[1], 0.95 * cycles[0])

    def test_what_is_updated_in_place_is_counted_by_the_way_it_takes(self):
        size = 4 * 512 * 512
        for held in ("input, weight", "weight, output", "input, weight, output"):
            self.write("chip.yaml", SLOTS_AT_HOME.format(count=1, buffer=BUFFER.format(held)))
            r = self.result("evaluate", "mlp:in=512,hidden=512,layers=1", "--on", "chip.yaml", "--optimizer", "sgd",
                            "--precision", "fp32", "--batch", "8")
            weight, = (t for t in r["tensors"] if t["name"] == "layers.0.weight")
            self.assertEqual(weight["offchip_written_bytes"], size, held)
            self.assertGreaterEqual(weight["offchip_read_bytes"], size, held)  # it may stay on the chip from its first use on
            self.assertLessEqual(weight["offchip_read_bytes"], 2 * size, held)
            change, = (t for t in r["tensors"] if t["name"] == "layers.0.weight.update.change")
            self.assertLessEqual(change["offchip_read_bytes"], size, held)

    def test_off_chip_bandwidth_reaches_operands_without_a_buffer(self):
        points = self.result("sweep", "mlp:in=1024,hidden=1024,layers=1", "--on", "tpu_like", "--mode", "inference", "--vary",
                             "offchip_bandwidth=1,4")["points"]
        self.assertLess(points[1]["latency_cycles"], 0.3 * points[0]["latency_cycles"])

    def test_every_iteration_has_data_of_its_own_and_a_tensor_is_as_large_as_in_one(self):
        one, three = ({t["name"]: t for t in self.result("evaluate", MODEL, "--on", CHIP, "--iterations", n)["tensors"]}
                      for n in ("1", "3"))
        for name, tensor in three.items():
            self.assertEqual(tensor["bytes"], one[name]["bytes"], name)
        for name in ("input", "labels"):
            self.assertEqual(three[name]["offchip_read_bytes"], 3 * one[name]["offchip_read_bytes"], name)

    def test_cores_use_what_is_neither_links_nor_off_chip_nor_leakage(self):
        r = self.result("evaluate", MODEL, "--on", CHIP)
        parts = r["energy_breakdown_pj"]
        self.assertAlmostEqual(sum(r["energy_by_core_pj"].values()) / (parts["compute"] + sum(parts["memory"].values())), 1)

    def test_plans_of_too_many_parts_are_not_possible_and_say_so(self):
        self.write("parts.yaml", "monet: plan\nnodes:\n  layers.0: {tiles: {K: 16384}}\n  layers.0.act: {tiles: {A1: 16384}}\n"
                                 "  layers.1: {tiles: {K: 16384}}\n")
        done = self.run_monet("evaluate", "mlp:in=1,hidden=16384,layers=1,classes=16384", "--on", "fusemax", "--mode", "inference",
                              "--plan", "parts.yaml")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"parts of tensors", done.stdout)

    def test_totals_are_the_sums_of_their_parts(self):
        for mode in ("training", "inference"):
            r = self.result("evaluate", MODEL, "--on", CHIP, "--mode", mode)
            self.assertTrue(r["feasible"])
            parts = r["energy_breakdown_pj"]
            total = parts["compute"] + parts["link"] + parts["offchip"] + parts["static"] + sum(parts["memory"].values())
            self.assertTrue(math.isclose(total, r["energy_pj"], rel_tol=1e-9))
            self.assertTrue(math.isclose(sum(r["energy_by_phase_pj"].values()), r["energy_pj"], rel_tol=1e-9))
            self.assertTrue(math.isclose(sum(r["latency_by_phase_cycles"].values()), r["latency_cycles"], rel_tol=1e-12))
            self.assertEqual(r["latency_cycles"], int(r["latency_cycles"]))
            for store, peak in r["peak_memory_bytes"].items():
                self.assertEqual(sum(r["memory_at_peak_bytes"][store].values()), peak)
            self.assertLessEqual(max(n["end_cycle"] for n in r["nodes"]), r["latency_cycles"])

    def test_the_work_is_that_of_the_graph(self):
        graph = self.result("graph", MODEL)
        r = self.result("evaluate", MODEL, "--on", CHIP)
        for phase in ("forward", "backward", "update"):
            self.assertEqual(graph["macs"][phase], r["macs"][phase])

    def test_the_same_bytes_on_any_number_of_threads(self):
        documents = [self.document("evaluate", MODEL, "--on", CHIP, "--threads", n) for n in ("1", "2")]
        for document in documents:
            document.pop("run")
        self.assertEqual(*documents)

    def test_a_written_plan_gives_the_same_result(self):
        first = self.document("evaluate", MODEL, "--on", CHIP, "--out", "run")["result"]
        again = self.document("evaluate", MODEL, "--on", CHIP, "--plan", "run/plan.yaml", "--out", "again")["result"]
        self.assertEqual(first, again)
        page = (self.folder / "run" / "report.html").read_text()
        self.assertIn(MODEL, page)
        self.assertNotIn("http://", page.replace("http://www.w3.org", ""))
        compared = self.result("compare", "run", "again")
        self.assertTrue(all(not figure["parts"] for figure in compared["figures"]))

    def test_plans_that_are_not_legal_are_refused_where_they_say_so(self):
        self.write("bad.yaml", "monet: plan\nnodes:\n  layers.0: {tiles: {Q: 2}}\n  nowhere: {tiles: {K: 2}}\n")
        message = self.refused("evaluate", MODEL, "--on", CHIP, "--plan", "bad.yaml")
        self.assertIn("bad.yaml:4:", message)
        self.write("bad.yaml", "monet: plan\nnodes:\n  layers.0: {tiles: {Q: 2}}\n")
        self.assertIn("bad.yaml:3:", self.refused("evaluate", MODEL, "--on", CHIP, "--plan", "bad.yaml"))

    def test_updates_are_steps_or_one_node(self):
        steps = self.document("evaluate", MODEL, "--on", CHIP)
        fused = self.document("evaluate", MODEL, "--on", CHIP, "--updates", "fused", "--out", "fused")
        self.assertEqual(("steps", "fused"), (steps["options"]["updates"], fused["options"]["updates"]))
        self.assertEqual(steps["result"], self.document("evaluate", MODEL, "--on", CHIP, "--updates", "steps")["result"])
        for figure in ("macs", "vector_ops"):
            self.assertEqual(steps["result"][figure], fused["result"][figure])
        names = [n["name"] for n in fused["result"]["nodes"] if n["phase"] == "update"]
        self.assertIn("layers.0.weight.update", names)
        self.assertNotIn("layers.0.weight.update.m", names)
        self.assertLess(fused["result"]["tiles"], steps["result"]["tiles"])
        self.assertIn("layers.0.weight.update", self.ok("explain", "fused", "layers.0.weight.update"))
        # A plan of single steps is one of another graph.
        self.ok("evaluate", MODEL, "--on", CHIP, "--out", "steps")
        message = self.refused("evaluate", MODEL, "--on", CHIP, "--updates", "fused", "--plan", "steps/plan.yaml")
        self.assertIn("layers.0.weight.update.m", message)
        again = self.document("evaluate", MODEL, "--on", CHIP, "--updates", "fused", "--plan", "fused/plan.yaml")
        self.assertEqual(fused["result"], again["result"])
        for verb in (["evaluate"], ["verify"], ["fuse"], ["checkpoint"], ["sweep", "--vary", "batch=1,2"]):
            message = self.refused(verb[0], MODEL, "--on", CHIP, "--updates", "fuse", *verb[1:])
            self.assertIn("--updates", message)
            self.assertIn("known: steps, fused", message)
        self.assertTrue(self.result("verify", MODEL, "--on", CHIP, "--updates", "fused")["agrees"])
        points = self.document("sweep", MODEL, "--on", CHIP, "--updates", "fused", "--vary", "batch=1,2")
        self.assertEqual("fused", points["options"]["updates"])

    def test_what_is_no_plan_is_said(self):
        for text in ("", "groups: []\n"):
            self.write("none.yaml", text)
            message = self.refused("evaluate", MODEL, "--on", CHIP, "--plan", "none.yaml")
            self.assertIn("none.yaml:1:1: error: neither a plan nor a mapping file of Stream", message)
            self.assertIn("'monet: plan'", message)
        self.ok("evaluate", MODEL, "--on", CHIP, "--out", "run")
        both = ("evaluate", MODEL, "--on", CHIP, "--mode", "both", "--plan")
        self.assertIn("one plan cannot serve both modes", self.refused(*both, "run/plan.yaml"))
        self.write("any.yaml", "monet: plan\nsaved: {\"*\": keep}\n")
        self.ok(*both, "any.yaml")

    def test_plans_are_checked(self):
        self.ok("evaluate", MODEL, "--on", CHIP, "--out", "run")
        self.assertIn("ok, plan, ", self.ok("check", "run/plan.yaml"))
        self.write("bad.yaml", "monet: plan\nnodes:\n  layers.0: {tiels: {K: 2}}\n")
        message = self.refused("check", "bad.yaml")
        self.assertIn("bad.yaml:3:", message)
        self.assertIn("did you mean 'tiles'?", message)
        # Longer than what other files may be.
        lines = "".join(f"  node{i}: {{tiles: {{K: 2}}}}\n" for i in range(70000))
        self.write("long.yaml", "monet: plan\nnodes:\n" + lines)
        self.assertIn("70000 entries", self.ok("check", "long.yaml"))
        self.assertIn("no node is named", self.refused("evaluate", MODEL, "--on", CHIP, "--plan", "long.yaml"))

    def test_patterns_of_many_stars_take_no_time_and_match_what_they_say(self):
        stars = "*a" * 40 + "*zz"
        self.write("stars.yaml", f"monet: plan\nnodes:\n  \"{stars}\": {{tiles: {{K: 2}}}}\n")
        self.assertIn("no node is named", self.refused("evaluate", MODEL, "--on", CHIP, "--plan", "stars.yaml"))
        self.write("some.yaml", "monet: plan\nnodes:\n  \"l*s.*\": {cores: [tpu_0]}\n")
        nodes = self.result("evaluate", MODEL, "--on", CHIP, "--plan", "some.yaml", "--mode", "inference")["nodes"]
        for node in nodes:
            if node["name"].startswith("layers."):
                self.assertEqual(["tpu_0"], node["cores"])

    def test_more_tiles_than_can_be_held_are_refused_at_once(self):
        run = self.run_monet("evaluate", MODEL, "--on", CHIP, "--iterations", "100000000")
        self.assertEqual(1, run.returncode)
        self.assertIn("tiles are more than the", run.stdout.decode())

    def test_the_trace_is_a_list_of_events(self):
        self.ok("evaluate", MODEL, "--on", CHIP, "--trace", "trace.json")
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        self.assertTrue(any(e.get("ph") == "X" for e in events))

    def test_what_does_not_fit_is_said_with_the_inequality(self):
        run = self.run_monet("evaluate", "resnet18", "--on", "diana", "--mode", "inference")
        self.assertEqual(1, run.returncode)
        self.assertIn("l2: weights, states and inputs take 47398564 B > 4194304 B", run.stdout.decode())
        self.assertIn("would help:", run.stdout.decode())

    def test_several_iterations_take_about_as_long_as_as_many_alone(self):
        one = self.result("evaluate", MODEL, "--on", CHIP)["latency_cycles"]
        three = self.result("evaluate", MODEL, "--on", CHIP, "--iterations", "3")
        self.assertEqual(3, three["iterations"])
        self.assertLess(three["latency_cycles"], 3.3 * one)
        self.assertLess(2 * one, three["latency_cycles"])


class Quirks(Commands):
    MAPPING = """- {name: default, core_allocation: [0, 1, 2, 3], inter_core_tiling: ["K, 4"]}
- {name: Relu, core_allocation: [0]}
"""

    def setUp(self):
        super().setUp()
        self.write("mapping.yaml", self.MAPPING)
        self.command = ("evaluate", MODEL, "--on", CHIP, "--plan", "mapping.yaml", "--quirks", "stream", "--mode")

    def test_schedules_by_streams_rules_have_the_form_of_every_evaluation(self):
        document = self.document(*self.command, "inference", "--out", "run")
        r = document["result"]
        self.assertEqual(["stream"], document["options"]["quirks"])
        buckets = dict(r["energy_by_bucket_pj"])
        total = buckets.pop("onchip") + sum(part for bucket in buckets.values() for part in bucket.values())
        self.assertTrue(math.isclose(total, r["energy_pj"], rel_tol=1e-12))
        self.assertEqual(r["tiles"], sum(node["tiles"] for node in r["nodes"]))
        self.assertLessEqual(max(node["end_cycle"] for node in r["nodes"]), r["latency_cycles"])
        ours = self.result("evaluate", MODEL, "--on", CHIP, "--mode", "inference", "--out", "ours")
        self.assertEqual(set(r["peak_memory_bytes"]), set(ours["peak_memory_bytes"]))
        self.assertIn("quirks: stream, default", self.ok("compare", "run", "ours"))
        self.assertIn("run/result.json:", self.refused("explain", "run", "latency"))

    def test_an_onnx_file_is_the_model_it_was_written_of(self):
        self.ok("graph", MODEL, "--train", "none", "--write", "model.onnx")
        written = self.result(self.command[0], "model.onnx", *self.command[2:], "inference")
        self.assertEqual(self.result(*self.command, "inference"), written)
        self.assertIn("its shapes are fixed", self.refused(self.command[0], "model.onnx", *self.command[2:], "inference",
                                                           "--batch", "2"))

    def test_stacks_are_what_is_fused(self):
        alone = self.result(*self.command, "inference", "--stacks", "[0]")
        self.assertEqual(list(range(5)), [node["group"] for node in alone["nodes"]])
        two = self.result(*self.command, "inference", "--stacks", "[(0, layers.0.act), (2, 3, 4)]")
        self.assertEqual([0, 0, 1, 1, 1], [node["group"] for node in two["nodes"]])
        self.assertIn("there is no layer 5", self.refused(*self.command, "inference", "--stacks", "[(0, 5)]"))

    def test_what_streams_model_does_not_know_is_refused(self):
        for mode in ("training", "both"):
            self.assertIn("Stream's model knows no training", self.refused(*self.command, mode))
        self.assertIn("--precision", self.refused(*self.command, "inference", "--precision", "fp16"))
        self.assertIn("--trace", self.refused(*self.command, "inference", "--trace", "trace.json"))
        self.assertIn("needs a mapping file",
                      self.refused("evaluate", MODEL, "--on", CHIP, "--mode", "inference", "--quirks", "stream"))
        self.write("mapping.yaml", "monet: plan\n")
        self.assertIn("a plan of MONET's own", self.refused(*self.command, "inference"))
        self.assertIn("did you mean 'stream'?", self.refused("evaluate", MODEL, "--on", CHIP, "--quirks", "strem"))

    def test_where_stream_would_stop_the_reason_is_said(self):
        self.write("mapping.yaml", "- {name: default, core_allocation: [0, 1]}\n")
        document = self.document(*self.command, "inference", exit_code=1)
        self.assertFalse(document["result"]["feasible"])
        self.assertIn("genetic search", document["result"]["reason"])


class Questions(Commands):
    def test_explanations_of_a_run(self):
        self.ok("evaluate", MODEL, "--on", CHIP, "--out", "run")
        for what in ("latency", "energy", "peak-memory", "levers", "layers.0", "layers.0.weight", "simd"):
            self.assertIn(what, self.ok("explain", "run", what))
        self.assertIn("did you mean 'latency'?", self.refused("explain", "run", "latencyy"))
        result = json.loads((self.folder / "run" / "result.json").read_text())["result"]
        for what in ("latency", "peak-memory", "layers.0", "layers.0.weight", "simd"):
            self.assertEqual(what, self.result("explain", "run", what)["what"])
        sections = self.result("explain", "run", "energy")["sections"]
        self.assertTrue(math.isclose(sections[0]["rows"][-1]["energy"], result["energy_pj"], rel_tol=1e-9))

    def test_what_waits_for_a_port_says_so(self):
        self.ok("evaluate", "mlp", "--on", "ascend_910", "--batch", "4", "--out", "run")
        self.assertRegex(self.ok("explain", "run", "core_0"), r"port core_0\.l2\.write +[1-9][\d,]* ")
        self.assertRegex(self.ok("explain", "run", "levers"), r"port core_0\.l2\.write +125 B/cycle +250 B/cycle")

    def test_more_bandwidth_is_never_slower_by_much(self):
        result = self.result("sweep", MODEL, "--on", CHIP, "--vary", "offchip_bandwidth=1,4")
        latencies = [p["latency_cycles"] for p in result["points"]]
        self.assertLess(latencies[1], latencies[0])
        self.assertIn("--vary", self.refused("sweep", MODEL, "--on", CHIP, "--vary", "batch"))

    def test_points_that_are_not_possible_have_a_reason_and_no_figures(self):
        said = self.ok("sweep", MODEL, "--on", "diana", "--vary", "hidden=64,4096", "--mode", "both", "--out", "swept")
        self.assertIn("hidden=4096, training: l2: weights, states and inputs take", said)
        document = json.loads((self.folder / "swept" / "result.json").read_text())
        if commands_test.jsonschema:
            commands_test.validator("sweep").validate(document)
        self.assertEqual("both", document["options"]["mode"])
        points = document["result"]["points"]
        self.assertEqual([True, True, False, False], [p["feasible"] for p in points])
        rows = list(csv.DictReader((self.folder / "swept" / "points.csv").read_text().splitlines()))
        self.assertEqual(["1", "1", "0", "0"], [row["feasible"] for row in rows])
        for row, point in zip(rows, points):
            self.assertEqual(row["reason"], point.get("reason", ""))
            self.assertEqual(row["latency_cycles"] == "", "latency_cycles" not in point)

    def test_what_can_be_varied_is_said(self):
        message = self.refused("sweep", MODEL, "--on", CHIP, "--vary", "hiden=1,2")
        self.assertIn("'hiden' cannot be varied (did you mean 'hidden'?", message)
        for name in ("batch", "microbatches", "iterations", "onchip_memory", "classes"):
            self.assertIn(name, message)
        self.assertIn("vector_lanes", self.refused("sweep", MODEL, "--on", "fusemax", "--vary", "lanes=1,2"))
        self.assertIn("'batch' is given twice",
                      self.refused("sweep", MODEL, "--on", CHIP, "--vary", "batch=1,2", "--vary", "batch=3,4"))
        self.assertIn("above 1000000", self.refused("sweep", MODEL, "--on", CHIP, "--vary", "offchip_bandwidth=1e7"))

    def test_an_interrupted_sweep_gives_what_is_there(self):
        batches = ",".join(str(n) for n in range(1, 3000))
        process = subprocess.Popen([commands_test.MONET, "sweep", MODEL, "--on", CHIP, "--vary", f"batch={batches}", "--out", "swept"],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
        self.assertEqual(130, process.returncode)
        self.assertIn(" of 2999 points", out)
        self.assertIn("interrupted", said)
        document = json.loads((self.folder / "swept" / "result.json").read_text())
        if commands_test.jsonschema:
            commands_test.validator("sweep").validate(document)
        self.assertFalse(document["result"]["complete"])
        rows = list(csv.DictReader((self.folder / "swept" / "points.csv").read_text().splitlines()))
        self.assertEqual(len(document["result"]["points"]), len(rows))
        self.assertGreater(len(rows), 0)

    def test_runs_are_compared_in_the_mode_they_share(self):
        for mode in ("training", "inference", "both"):
            self.ok("evaluate", MODEL, "--on", CHIP, "--mode", mode, "--out", mode)
        for one in ("training", "inference"):
            for pair in ((one, "both"), ("both", one)):
                figures = self.result("compare", *pair)["figures"]
                self.assertTrue(all(figure["title"].startswith(one) for figure in figures))
                self.assertEqual(0, figures[0]["change"])
                self.assertGreater(figures[0]["first"], 0)
        beside = self.result("compare", "inference", "training")  # one each: what training costs beside inference
        self.assertIn("mode: inference, training", beside["options"])
        self.assertGreater(beside["figures"][0]["change"], 0)
        document = json.loads((self.folder / "training" / "result.json").read_text())
        broken = json.loads(json.dumps(document))
        broken["result"]["mode"] = "sleep"
        self.write("inference/result.json", json.dumps(broken))
        self.assertIn("nothing to compare", self.refused("compare", "inference", "both"))
        for key in ("latency_cycles", "energy_pj", "mode", "feasible"):
            broken = json.loads(json.dumps(document))
            del broken["result"][key]
            self.write("both/result.json", json.dumps(broken))
            self.assertIn(f"the result has no '{key}'", self.refused("compare", "training", "both"))

    def test_an_inference_has_the_whole_batch(self):
        base = ("evaluate", MODEL, "--on", CHIP, "--mode", "inference")
        whole = self.result(*base, "--batch", "8")
        for flags in (("--batch", "8", "--microbatches", "2"), ("--microbatches", "8")):
            self.assertEqual(whole["macs"], self.result(*base, *flags)["macs"])
        self.assertEqual(whole["macs"], self.result(*base[:4], "--mode", "both", "--batch", "8", "--microbatches", "2")["inference"]["macs"])

    def test_what_was_not_possible_is_said_where_runs_are_compared(self):
        self.ok("evaluate", "resnet18:image=32", "--on", CHIP, "--mode", "inference", "--out", "fits")
        run = self.run_monet("evaluate", "resnet18:image=32", "--on", "diana", "--mode", "inference", "--out", "not")
        self.assertEqual(1, run.returncode)
        compared = self.result("compare", "fits", "not")
        self.assertTrue(any("not possible" in line for line in compared["options"]))
        self.assertTrue(all("first" not in figure and not figure["parts"] for figure in compared["figures"]))

    def test_schemas_refuse_what_is_not_so(self):
        if not commands_test.jsonschema:
            self.skipTest("no python3-jsonschema")
        self.ok("evaluate", MODEL, "--on", CHIP, "--out", "run")
        breaks = {
            ("sweep", MODEL, "--on", CHIP, "--vary", "batch=1"): [
                lambda d: d["result"]["points"][0].pop("energy_pj"), lambda d: d["options"].pop("plan"),
                lambda d: d["result"]["points"][0].update(feasible=False), lambda d: d["options"].update(more=1)],
            ("compare", "run", "run"): [lambda d: d["result"]["figures"][0].pop("first"),
                                        lambda d: d["result"]["figures"][1].update(unit="s")],
            ("explain", "run", "latency"): [lambda d: d["result"].pop("mode"),
                                            lambda d: d["result"]["sections"][0]["rows"].append({})],
            ("verify", MODEL, "--on", CHIP): [lambda d: d["result"].pop("agrees"), lambda d: d["options"].pop("on")],
            ("evaluate", MODEL, "--on", CHIP): [lambda d: d["result"].update(quirks=["stream"]),
                                                lambda d: d["options"].update(more=1)],
        }
        for arguments, ways in breaks.items():
            document = self.document(*arguments)
            for way in ways:
                broken = json.loads(json.dumps(document))
                way(broken)
                self.assertFalse(commands_test.validator(arguments[0]).is_valid(broken), arguments)

    def test_schedules_are_right_on_numbers(self):
        for chip in (CHIP, "fusemax"):
            self.assertIn("the schedule is right", self.ok("verify", MODEL, "--on", chip))
            self.assertTrue(self.result("verify", MODEL, "--on", chip)["agrees"])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    commands_test.MONET = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
