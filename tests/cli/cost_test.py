"""What `monet map`, `monet explain` and `monet validate` promise.

    python3 cost_test.py MONET [unittest arguments]
"""
import hashlib
import json
import math
import pathlib
import re
import signal
import subprocess
import sys
import unittest

import commands_test
from commands_test import Commands

CONV = "conv:k=64,c=64,oy=56,ox=56,fy=3,fx=3"
CASES = pathlib.Path(__file__).resolve().parent.parent.parent / "data" / "validation" / "zigzag.json"


def value_of(terms):
    """What an expression of an explanation comes to."""
    return eval(terms.replace(",", "#").replace("# ", ", ").replace("#", "").replace(" x ", " * "),  # noqa: S307
                {"__builtins__": {}, "ceil": math.ceil, "floor": math.floor, "max": max, "min": min})


class Map(Commands):
    def check_sums(self, layer):
        stalls = layer["stall_cycles"]
        self.assertAlmostEqual(layer["latency_cycles"], layer["ideal_cycles"] + sum(stalls.values()), places=6)
        energy = layer["mac_energy_pj"] + sum(layer["memory_energy_pj"].values()) + layer["static_energy_pj"]
        self.assertTrue(math.isclose(layer["energy_pj"], energy, rel_tol=1e-12))

    def test_parts_make_totals(self):
        for arguments in ([CONV, "--on", "tpu_like"], [CONV, "--on", "eyeriss_like", "--phase", "wgrad"],
                          [CONV, "--on", "edge_tpu_like", "--quirks", "zigzag"], ["gemm:d=64,k=96,c=48", "--on", "tpu_v3"]):
            with self.subTest(arguments=arguments):
                layer = self.result("map", *arguments)
                self.check_sums(layer)
                loops = math.prod(loop["factor"] for loop in layer["mapping"]["temporal_inner_to_outer"])
                self.assertEqual(layer["ideal_cycles"] + layer["stall_cycles"]["spatial"], loops)
                for levels in layer["mapping"]["levels"].values():  # each operand has every loop once
                    kept = [loop for level in levels for loop in level["loops"]]
                    self.assertEqual(layer["mapping"]["temporal_inner_to_outer"], kept)

    def test_reproduces_a_figure_of_zigzag(self):
        # ZigZag 3.8.5, resnet18's second convolution on tpu_like, criterion latency, lpf_limit 5 and 6
        layer = self.result("map", CONV, "--on", "tpu_like", "--spatial", "D1=K32 D2=C32", "--quirks", "zigzag")
        self.assertEqual(113739, layer["latency_cycles"])
        self.assertTrue(math.isclose(68294568.736, layer["energy_pj"], rel_tol=1e-9))
        words = {(a["operand"], a["level"], a["direction"]): a["count_words"] for a in layer["accesses"]}
        self.assertEqual(115605504, words["O", "sums", "read_to_low"])
        self.assertEqual(841, words["I", "buffer", "write_from_high"])

    def test_the_best_mapping_is_no_worse_than_a_given_one(self):
        best = self.result("map", "gemm:d=64,k=64,c=64", "--on", "tpu_like")
        self.assertTrue(best["proven_optimal"])
        given = self.result("map", "gemm:d=64,k=64,c=64", "--on", "tpu_like", "--order", "K2 C2 D*")
        self.assertLessEqual(best["latency_cycles"], given["latency_cycles"])
        self.assertEqual(["K", "C", "D"], [loop["dimension"] for loop in given["mapping"]["temporal_inner_to_outer"]][:3])

    def test_placement_and_unrolling_are_kept(self):
        layer = self.result("map", "gemm:d=64,k=64,c=64", "--on", "tpu_like", "--spatial", "D1=K16 D2=C32",
                            "--placement", "W@weights=K2")
        self.assertEqual([{"dimension": "K", "factor": 16}], layer["mapping"]["spatial"]["D1"])
        weights = layer["mapping"]["levels"]["W"][0]
        self.assertEqual("weights", weights["memory"])
        self.assertEqual(2 * 8, weights["tile_bits"])

    def test_phases_have_the_multiplications_of_training(self):
        def cycles(spec, phase):
            layer = self.result("map", spec, "--on", "tpu_like", "--phase", phase)
            return layer["ideal_cycles"]
        for spec in (CONV, "gemm:d=64,k=32,c=64"):
            self.assertEqual(cycles(spec, "forward"), cycles(spec, "wgrad"))
        self.assertEqual(cycles("gemm:d=64,k=32,c=64", "forward"), cycles("gemm:d=64,k=32,c=64", "dgrad"))
        # as a convolution over the output's gradient: 58 x 58 positions of the input, not 56 x 56 of the output
        self.assertEqual(cycles(CONV, "forward") * 58 * 58 / (56 * 56), cycles(CONV, "dgrad"))

    def test_nodes_of_a_model_and_layers_of_a_file(self):
        layers = self.result("map", commands_test.SMALL_RESNET + "/layer1", "--on", "tpu_v3")
        names = [layer["layer"] for layer in layers["layers"]]
        self.assertIn("layer1.0.conv1", names)
        self.assertIn("layer1.0.conv1.weight_gradient", names)
        for key in ("latency_cycles", "energy_pj"):
            self.assertAlmostEqual(layers[key] / sum(work[key] for work in layers["layers"] + layers["vectors"]), 1)
        one = self.result("map", commands_test.SMALL_RESNET + "/layer1.0.conv1", "--on", "tpu_v3")
        self.assertEqual("layer1.0.conv1", one["layer"])
        self.write("net.yaml", "- {id: 7, operator_type: Gemm, equation: 'O[b][k]+=W[k][c]*I[b][c]', loop_dims: [B, K, C], "
                               "loop_sizes: [2, 32, 32], operand_precision: {W: 8, I: 8, O: 16, O_final: 8}}\n")
        self.assertEqual(self.result("map", "net.yaml", "--on", "tpu_like"), self.result("map", "net.yaml/7", "--on", "tpu_like"))
        self.assertIn("no layer '8'", self.refused("map", "net.yaml/8", "--on", "tpu_like"))

    def test_element_wise_work_has_a_cost_too(self):
        work = self.result("map", commands_test.SMALL_RESNET + "/layer1.0.add", "--on", "tpu_v3")
        self.assertEqual("layer1.0.add", work["node"])
        self.assertGreater(work["latency_cycles"], work["ideal_cycles"])
        parts = work["compute_energy_pj"] + sum(work["memory_energy_pj"].values()) + work["static_energy_pj"]
        self.assertAlmostEqual(work["energy_pj"] / parts, 1)
        self.assertEqual([], work["assumed_functions"])
        # No vector unit, and no figure for a root: said to be assumed.
        root = self.result("map", "mlp/layers.0.bias.update.root", "--on", "tpu_like")
        self.assertEqual(["sqrt"], [f["function"] for f in root["assumed_functions"]])
        self.assertIn("assumed  sqrt", self.ok("map", "mlp/layers.0.bias.update.root", "--on", "tpu_like"))
        self.assertIn("no loop nest", self.refused("explain", "mlp/layers.0.bias.update.root", "energy", "--on", "tpu_like"))

    def test_infeasible_says_what_is_missing(self):
        run = self.run_monet("map", "gemm:d=100000,k=100000,c=100000", "--on", "tpu_like")
        self.assertEqual(1, run.returncode)
        self.assertRegex(run.stdout.decode(), r"infeasible: dram: needs \d+ bits .*> has 10000000000 bits")
        document = self.document("map", "gemm:d=100000,k=100000,c=100000", "--on", "tpu_like", exit_code=1)
        self.assertFalse(document["result"]["feasible"])

    def test_refuses_with_the_nearest_name(self):
        for arguments, words in (((CONV, "--on", "tpu_lik"), "did you mean 'tpu_like'?"),
                                 (("conv:kk=3", "--on", "tpu_like"), "did you mean 'k'?"),
                                 (("conv:k=0", "--on", "tpu_like"), "is not k=1…"),
                                 (("gemm:d=4", "--on", "tpu_like/arry"), "did you mean 'array'?"),
                                 (("resnet18/layer1.0.con1", "--on", "tpu_like"), "did you mean 'layer1.0.conv1'?"),
                                 ((CONV, "--on", "tpu_like", "--order", "KK2"), "is no loop of this layer"),
                                 ((CONV, "--on", "tpu_like", "--spatial", "D9=K2"), "no array dimension 'D9'"),
                                 ((CONV, "--on", "tpu_like", "--spatial", "D1=K16 D1=C2"), "'D1' is given twice (its loops stand together: D1=K16,C2)"),
                                 ((CONV, "--on", "tpu_like", "--spatial", "D1=K64"), "D1=K64 takes 64 lanes, and D1 has 32"),
                                 ((CONV, "--on", "tpu_like", "--spatial", "D1=K16,C4"), "takes 64 lanes"),
                                 ((CONV, "--on", "tpu_like", "--batch", "2"), "--batch: error: is for MODEL/node"),
                                 (("gemm:d=4", "--on", "tpu_like", "--precision", "fp32"), "--precision: error: is for MODEL/node"),
                                 ((CONV, "--on", "tpu_like", "--placement", "W@wieghts=K2"), "did you mean 'weights'?"),
                                 ((CONV, "--on", "tpu_like", "--quirks", "zigzg"), "did you mean 'zigzag'?"),
                                 ((CONV, "--on", "tpu_like", "--criterion", "latancy"), "did you mean 'latency'?"),
                                 ((CONV, "--on", "tpu_like", "--bits", "x"), "is not STORED/SUMS"),
                                 (("nothing", "--on", "tpu_like"), "is no layer")):
            with self.subTest(arguments=arguments):
                self.assertIn(words, self.refused("map", *arguments))

    def test_the_same_bytes_twice(self):
        first, second = (self.document("map", CONV, "--on", "tpu_like") for _ in range(2))
        for document in (first, second):
            del document["run"]
        self.assertEqual(first, second)


class Stopped(Commands):
    """Searches that are stopped. None of these waits for a clock to agree with it: only that a search of minutes ends."""

    MANY = [CONV, "--on", "eyeriss_like", "--quirks", "zigzag", "--lpf", "none", "--spatial", "D1=OY14 D2=FY3"]

    def orderings(self):
        """How many there are, from the refusal."""
        refusal = self.refused("map", *self.MANY)
        count = re.search(r"has ([\d,]+) loop orderings to try, more than 1,000,000,000", refusal)
        self.assertTrue(count, refusal)
        self.assertIn("--lpf N", refusal)
        self.assertIn("--time S", refusal)
        return int(count[1].replace(",", ""))

    def test_too_many_orderings_are_refused_unless_time_is_given(self):
        orderings = self.orderings()
        self.assertGreater(orderings, 10 ** 9)
        run = self.run_monet("map", *self.MANY, "--time", "0.3")
        self.assertEqual(0, run.returncode, run.stderr.decode())
        self.assertIn("loop orderings to try", run.stderr.decode())
        self.assertIn("stopped by --time 0.3", run.stderr.decode())
        found = re.search(r"stopped by --time: the best of ([\d,]+) out of ([\d,]+) loop orderings", run.stdout.decode())
        self.assertTrue(found, run.stdout.decode())
        self.assertEqual(orderings, int(found[2].replace(",", "")))
        layer = self.result("map", *self.MANY, "--time", "0.3")
        self.assertTrue(layer["stopped"])
        self.assertFalse(layer["proven_optimal"])
        self.assertEqual(orderings, layer["orderings"])
        self.assertLess(layer["mappings_evaluated"], orderings)
        self.assertEqual(b"", self.run_monet("map", *self.MANY, "--time", "0.1", "--quiet").stderr)

    def test_no_time_at_all_is_not_infeasible(self):
        run = self.run_monet("map", CONV, "--on", "eyeriss_like", "--time", "0.000001")
        self.assertEqual(1, run.returncode)
        self.assertIn("not known: no mapping was found in time", run.stdout.decode())
        self.assertNotIn("infeasible", run.stdout.decode())
        self.assertIn("no mapping was found yet", run.stderr.decode())
        layer = self.document("map", CONV, "--on", "eyeriss_like", "--time", "0.000001", exit_code=1)["result"]
        self.assertIsNone(layer["feasible"])
        self.assertTrue(layer["stopped"])

    def test_enough_time_changes_nothing(self):
        for arguments in ([CONV, "--on", "tpu_like"], [CONV, "--on", "tpu_like", "--quirks", "zigzag"]):
            self.assertEqual(self.result("map", *arguments), self.result("map", *arguments, "--time", "1000"))

    def test_an_interrupt_gives_what_was_found(self):
        process = subprocess.Popen([commands_test.MONET, "map", *self.MANY, "--time", "100", "--out", "run"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn(b"loop orderings to try", process.stderr.readline())  # it has begun
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=commands_test.TIMEOUT_S)
        self.assertEqual(130, process.returncode)
        self.assertIn("interrupted: the best of", out.decode())
        self.assertIn("monet: interrupted", error.decode())
        self.assertTrue(json.loads((self.folder / "run" / "result.json").read_text())["result"]["stopped"])

    def test_refuses_what_is_no_time(self):
        for text in ("0", "-1", "x", "nan", "inf", "1e99", "1s"):
            self.assertIn("not a number of seconds", self.refused("map", CONV, "--on", "tpu_like", f"--time={text}"))


class Cached(Commands):
    LAYERS = [commands_test.SMALL_RESNET + "/layer1", "--on", "tpu_v3"]

    def same(self, *arguments):
        document = self.document("map", *arguments)
        del document["run"]
        return document

    def test_results_do_not_change(self):
        for extra in ([], ["--quirks", "zigzag"], ["--criterion", "edp", "--threads", "1"]):
            with self.subTest(extra=extra):
                alone = self.same(*self.LAYERS, *extra)
                first = self.same(*self.LAYERS, *extra, "--cache", "cache.json")
                stored = (self.folder / "cache.json").read_bytes()
                again = self.same(*self.LAYERS, *extra, "--cache", "cache.json")
                self.assertEqual(alone, first)
                self.assertEqual(alone, again)
                self.assertEqual(stored, (self.folder / "cache.json").read_bytes())
        self.assertEqual(self.ok("map", *self.LAYERS), self.ok("map", *self.LAYERS, "--cache", "cache.json"))
        # Identical layers are stored once.
        entries = json.loads(stored)["entries"]
        self.assertEqual(len(entries), len({entry["key"] for entry in entries}))
        self.assertLess(len(entries), 3 * len(alone["result"]["layers"]))

    def test_a_stored_mapping_is_what_is_used(self):
        # A proof that kept another number of labels than any search does can only come from the file.
        self.ok("map", CONV, "--on", "tpu_like", "--cache", "cache.json")
        cache = json.loads((self.folder / "cache.json").read_text())
        entry = cache["entries"][0]
        del entry["digest"]
        entry["evaluated"] = 123456789
        entry["digest"] = hashlib.sha256(json.dumps(entry, separators=(",", ":")).encode()).hexdigest()[:16]
        self.write("cache.json", json.dumps(cache))
        layer = self.result("map", CONV, "--on", "tpu_like", "--cache", "cache.json")
        self.assertEqual(123456789, layer["mappings_evaluated"])

    def test_damage_is_located_and_other_versions_are_left_out(self):
        self.ok("map", CONV, "--on", "tpu_like", "--cache", "cache.json")
        good = (self.folder / "cache.json").read_text()
        self.write("bad.json", good.replace('"proven":true', '"proven":false'))
        self.assertIn("bad.json:2:1: error: an entry does not match its digest", self.refused("map", CONV, "--on", "tpu_like", "--cache", "bad.json"))
        self.write("half.json", good[:len(good) // 2])
        self.assertIn("half.json:2:", self.refused("map", CONV, "--on", "tpu_like", "--cache", "half.json"))
        self.write("other.json", re.sub('"version": [0-9]+', '"version": 1', good))
        run = self.run_monet("map", CONV, "--on", "tpu_like", "--cache", "other.json")
        self.assertEqual(0, run.returncode)
        self.assertIn("1 mappings were stored by another version", run.stderr.decode())
        self.assertEqual(good, (self.folder / "other.json").read_text())

    def test_what_was_cut_short_is_not_stored(self):
        self.run_monet("map", *Stopped.MANY, "--time", "0.2", "--cache", "cache.json")
        self.assertEqual([], json.loads((self.folder / "cache.json").read_text())["entries"])

    def test_processes_share_a_file(self):
        layers = [f"gemm:d={size},k=64,c=64" for size in range(40, 52)]
        runs = [subprocess.Popen([commands_test.MONET, "map", layer, "--on", "tpu_like", "--cache", "cache.json"],
                                 cwd=self.folder, stdout=subprocess.DEVNULL) for layer in layers]
        self.assertEqual([0] * len(layers), [run.wait() for run in runs])
        for layer in layers:  # whoever was last: the file is whole, and can be added to
            self.ok("map", layer, "--on", "tpu_like", "--cache", "cache.json")
        self.assertEqual(len(layers), len(json.loads((self.folder / "cache.json").read_text())["entries"]))
        self.assertEqual([], [path.name for path in self.folder.iterdir() if path.name != "cache.json"])

    def test_a_file_that_cannot_be_written_costs_no_result(self):
        run = self.run_monet("map", CONV, "--on", "tpu_like", "--cache", "no/such/folder/cache.json")
        self.assertEqual(0, run.returncode)
        self.assertIn("warning: there is no folder", run.stderr.decode())
        self.assertIn("latency", run.stdout.decode())


class Explain(Commands):
    def test_every_line_is_arithmetic_that_holds(self):
        self.ok("map", CONV, "--on", "tpu_like", "--out", "run")
        result = json.loads((self.folder / "run" / "result.json").read_text())["result"]
        checked = 0
        for what in ("latency", "energy", "stall", "accesses", "O", "W@weights", "buffer"):
            for line in self.result("explain", "run", what)["lines"]:
                if line["terms"]:
                    self.assertTrue(math.isclose(value_of(line["terms"]), line["value"], rel_tol=1e-9, abs_tol=1e-9), line)
                    checked += 1
        self.assertGreater(checked, 50)
        latency = self.result("explain", "run", "latency")["lines"][-1]
        self.assertEqual(("latency_cycles", result["latency_cycles"]), (latency["name"], latency["value"]))
        energy = self.result("explain", "run", "energy")["lines"][-1]
        self.assertEqual(("energy_pj", result["energy_pj"]), (energy["name"], energy["value"]))

    def test_the_same_from_a_layer_or_a_folder_and_under_quirks(self):
        for arguments in (["--on", "edge_tpu_like", "--quirks", "zigzag"], ["--on", "eyeriss_like", "--phase", "wgrad"]):
            self.ok("map", CONV, *arguments, "--out", "run")
            for what in ("latency", "accesses"):
                lines = self.result("explain", "run", what)["lines"]
                self.assertEqual(lines, self.result("explain", CONV, what, *arguments)["lines"])
                for line in lines:
                    if line["terms"]:
                        self.assertTrue(math.isclose(value_of(line["terms"]), line["value"], rel_tol=1e-9, abs_tol=1e-9), line)

    def test_text_names_equations_that_are_documented(self):
        text = self.ok("explain", CONV, "latency", "--on", "tpu_like") + self.ok("explain", CONV, "O", "--on", "tpu_like")
        numbers = set(re.findall(r"^  \((\d+)\) ", text, re.MULTILINE))
        self.assertGreater(len(numbers), 5)
        document = (commands_test.SCHEMAS.parent / "cost.md").read_text()
        for number in numbers:
            self.assertIn(f"({number})", document)

    def test_refuses_with_the_nearest_name(self):
        self.assertIn("did you mean 'W@weights'?", self.refused("explain", CONV, "W@wieghts", "--on", "tpu_like"))
        self.assertIn("is no folder", self.refused("explain", "run", "latency"))
        self.write("result.json", "{}")
        self.assertIn("not the result of", self.refused("explain", ".", "latency"))


class Validate(Commands):
    def test_own_cases_agree(self):
        suites = self.result("validate")["suites"]
        self.assertGreater(sum(suite["cases"] for suite in suites), 40)
        for suite in suites:
            self.assertEqual(suite["cases"], suite["exact"] + suite["uncomparable"])
            self.assertEqual(0, suite["worst_abs_error"])

    def changed(self, change):
        data = json.loads(CASES.read_text())
        data["cases"] = [case for case in data["cases"] if "outputs" in case][:3]
        change(data["cases"][1])
        self.write("cases.json", json.dumps(data))
        return self.document("validate", "zigzag", "--cases", "cases.json", exit_code=1)["result"]["suites"][0]

    def test_any_figure_that_is_off_is_found(self):
        def accesses(case):
            case["outputs"]["word_accesses"]["W"][0]["rd_out_to_low"] += 1

        def energy(case):
            case["outputs"]["mem_energy_pJ"]["W"][0] *= 1 + 1e-8

        def buffers(case):
            case["derived"]["double_buffer"]["W"][1] ^= True

        def latency(case):
            case["outputs"]["latency_total2"] += 1

        for change, figure in ((accesses, "accesses W 0 rd_out_to_low"), (energy, "energy W 0"),
                               (buffers, "double buffer W 0"), (latency, "latency_total2")):
            with self.subTest(figure=figure):
                suite = self.changed(change)
                self.assertEqual((3, 2), (suite["cases"], suite["exact"]))
                self.assertEqual([figure], [row["figure"] for row in suite["rows"] if not row["exact"]])

    def test_refuses_what_is_no_case(self):
        self.write("other.json", "{}")
        self.assertIn("not a file of cases", self.refused("validate", "zigzag", "--cases", "other.json"))
        self.write("broken.json", '{"cases": [{"id": "x"}]}')
        self.assertIn("broken.json:1:12: error: a case needs 'inputs'", self.refused("validate", "--cases", "broken.json"))
        self.assertIn("did you mean 'zigzag'?", self.refused("validate", "zigzga"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    commands_test.MONET = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
