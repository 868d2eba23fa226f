"""Does the command line keep its promises?

    python3 commands_test.py MONET [unittest arguments]

Exit codes, what goes to stdout and to stderr, the words of errors, the documents of --json against docs/schema, the
same bytes for the same command, and that what is written can be read again.
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

MONET = ""
SCHEMAS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "schema"
SMALL_GPT2 = "gpt2:layers=2,width=32,heads=4,vocab=100,seq=16"
SMALL_RESNET = "resnet18:image=32,classes=10,width=16"
TIMEOUT_S = 120

TEXT_GRAPH = """graph "two layers"
input x : f32[4,8]
weight first : f32[16,8]
weight second : f32[3,16]

forward hidden = matmul{trans_b=true}(x, first) -> hidden : f32[4,16]
forward active = relu(hidden) -> active : f32[4,16]
forward logits = matmul{trans_b=true}(active, second) -> logits : f32[4,3]

output logits
"""


class Commands(unittest.TestCase):
    """Each test runs in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def run_monet(self, *arguments):
        return subprocess.run([MONET, *arguments], cwd=self.folder, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=TIMEOUT_S)

    def ok(self, *arguments):
        """What a command prints that must succeed."""
        run = self.run_monet(*arguments)
        self.assertEqual(0, run.returncode, f"{arguments}: {run.stderr.decode()}")
        return run.stdout.decode()

    def refused(self, *arguments):
        """What a command that must be refused says: all of it on stderr, nothing on stdout."""
        run = self.run_monet(*arguments)
        self.assertEqual(2, run.returncode, f"{arguments}: {run.stdout.decode()[:500]} {run.stderr.decode()}")
        self.assertEqual("", run.stdout.decode())
        return run.stderr.decode()

    def document(self, *arguments, exit_code=0):
        """The document of a command, checked against its schema."""
        run = self.run_monet(*arguments, "--json")
        self.assertEqual(exit_code, run.returncode, f"{arguments}: {run.stderr.decode()}")
        document = json.loads(run.stdout)
        self.assertEqual(arguments[0], document["monet"]["command"])
        if jsonschema:
            validator(arguments[0]).validate(document)
        return document

    def result(self, *arguments):
        return self.document(*arguments)["result"]


def validator(verb):
    """Of the documents of a verb; the frame they share is a file beside theirs."""
    frame = json.loads((SCHEMAS / "document.json").read_text())
    schema = json.loads((SCHEMAS / f"{verb}.json").read_text())
    resolver = jsonschema.RefResolver.from_schema(schema, store={"document.json": frame})
    return jsonschema.Draft202012Validator(schema, resolver=resolver)


class Errors(Commands):
    def test_unknown_verbs_are_refused_with_the_nearest_one(self):
        self.assertIn("unknown verb 'verfy' (did you mean 'verify'?)", self.refused("verfy", "mlp"))
        self.assertIn("unknown verb 'banana'", self.refused("banana"))

    def test_no_verb_is_refused(self):
        self.assertNotEqual("", self.refused())

    def test_unknown_flags_are_refused_by_name(self):
        for verb in (["graph", "mlp"], ["verify", "mlp"], ["check", "x.onnx"], ["models"], ["demo"]):
            self.assertIn("--bogus", self.refused(*verb, "--bogus"))

    def test_missing_and_superfluous_arguments_are_refused(self):
        self.assertIn("MODEL", self.refused("graph"))
        self.assertIn("MODEL", self.refused("verify"))
        self.assertIn("FILE", self.refused("check"))
        self.assertIn("extra", self.refused("graph", "mlp", "extra"))

    def test_bad_values_are_refused_with_their_flag(self):
        cases = [("--batch", "x", "whole number"), ("--batch", "0", "whole number"), ("--batch", "-1", "whole number"),
                 ("--batch", "1.5", "whole number"), ("--batch", "99999999999999999999", "whole number"),
                 ("--microbatches", "0", "whole number"), ("--optimizer", "adm", "did you mean 'adam'?"),
                 ("--loss", "hinge", "cross_entropy, mse"), ("--precision", "fp9", "fp16, bf16, fp32, fp64"),
                 ("--save", "greedy", "lean, torch"), ("--attention", "flash", "written, online"),
                 ("--wgrad", "winograd", "direct, im2col"), ("--train", "(", "regular expression"),
                 ("--train", "no such weight", "matches no weight"), ("--recompute", "(", "regular expression"),
                 ("--recompute", "no such tensor", "matches no saved activation"), ("--clip", "nan", "above zero"),
                 ("--clip", "-1", "above zero"), ("--dim", "batch", "name=value"), ("--dim", "n=0", "whole number")]
        for flag, value, words in cases:
            with self.subTest(flag=flag, value=value):
                text = self.refused("graph", "mlp", f"{flag}={value}")
                self.assertIn(flag, text)
                self.assertIn("error: ", text)
                self.assertIn(words, text)
        for flag in ("--samples", "--steps", "--seed"):
            self.assertIn(flag, self.refused("verify", "mlp", flag, "0x"))

    def test_microbatches_must_divide_the_batch(self):
        self.assertIn("3 microbatches do not divide a batch of 4",
                      self.refused("graph", "mlp", "--batch", "4", "--microbatches", "3"))
        self.ok("graph", "mlp", "--batch", "4", "--microbatches", "2")

    def test_unknown_models_and_options_are_refused_with_the_nearest_one(self):
        for verb in ("graph", "verify", "models"):
            self.assertIn("unknown model 'resnt18' (did you mean 'resnet18'?)", self.refused(verb, "resnt18"))
        self.assertIn("mobilenet_v2", self.refused("graph", "zzz"))  # nothing near: all are listed
        self.assertIn("did you mean 'hidden'?", self.refused("graph", "mlp:hiden=3"))
        self.assertIn("option 'hidden' must be a whole number", self.refused("graph", "mlp:hidden=many"))
        self.refused("graph", "")

    def test_missing_files_and_folders_are_refused_by_name(self):
        self.assertIn("none.onnx: error: no such file", self.refused("graph", "none.onnx"))
        self.assertIn("none.onnx: error: no such file", self.refused("check", "none.onnx"))
        self.assertIn("none.monet: error: no such file", self.refused("graph", "none.monet"))
        self.assertIn("none", self.refused("graph", "mlp", "--write", "none/x.onnx"))
        (self.folder / "folder.onnx").mkdir()
        self.assertIn("folder.onnx", self.refused("graph", "folder.onnx"))

    def test_files_that_are_no_model_are_refused(self):
        self.write("empty.onnx", b"")
        self.assertIn("empty.onnx: error: ", self.refused("graph", "empty.onnx"))
        self.write("text.onnx", "this is no protobuf\n" * 40)
        self.assertIn("text.onnx", self.refused("graph", "text.onnx"))
        self.write("notes.txt", "hello\n")
        self.assertIn("notes.txt: error: not a kind of file MONET reads", self.refused("check", "notes.txt"))

    def test_truncated_onnx_is_refused_wherever_it_is_cut(self):
        self.ok("graph", "mlp:in=8,hidden=8", "--weights", "--write", "whole.onnx")
        whole = (self.folder / "whole.onnx").read_bytes()
        self.ok("check", "whole.onnx")
        for tenth in range(1, 10):
            with self.subTest(tenth=tenth):
                self.write("cut.onnx", whole[:len(whole) * tenth // 10])
                self.assertIn("cut.onnx: ", self.refused("check", "cut.onnx"))
        self.write("cut.onnx", whole[:len(whole) // 2])
        self.assertIn("truncated", self.refused("graph", "cut.onnx"))

    def test_damaged_onnx_never_crashes(self):
        self.ok("graph", "mlp:in=8,hidden=8", "--write", "whole.onnx")
        whole = (self.folder / "whole.onnx").read_bytes()
        for i in range(60):
            data = bytearray(whole)
            position = int.from_bytes(hashlib.sha256(f"position {i}".encode()).digest()[:4], "big") % len(data)
            data[position] ^= 1 << (i % 8)
            self.write("damaged.onnx", bytes(data))
            run = self.run_monet("graph", "damaged.onnx")
            self.assertIn(run.returncode, (0, 2), f"byte {position}, bit {i % 8}: {run.stderr.decode()}")
            if run.returncode == 2:
                self.assertIn("error: ", run.stderr.decode())

    def test_text_graphs_are_refused_with_line_and_column(self):
        cases = [("relu(hidden)", "rellu(hidden)", "7:18", "did you mean 'relu'?"),
                 ("weight first : f32", "weight first : f33", "3:16", "f33"),
                 ("(active, second)", "(activ, second)", "8:39", "activ"),
                 ("active : f32[4,16]", "active : f32[4,17]", "7:43", "f32[4,16]"),
                 ("output logits", "output nothing", "10:8", "nothing")]
        for before, after, where, words in cases:
            with self.subTest(after=after):
                self.assertIn(before, TEXT_GRAPH)
                self.write("bad.monet", TEXT_GRAPH.replace(before, after))
                for verb in ("graph", "check"):
                    text = self.refused(verb, "bad.monet")
                    self.assertIn(f"bad.monet:{where}: error: ", text)
                    self.assertIn(words, text)

    def test_flags_without_effect_are_refused(self):
        recompute = ("--recompute", "all")
        for arguments, flags in ((("verify", "mlp", "--plan", "p", "--iterations", "2", "--mode", "training"), ("--plan", "--iterations", "--mode")),
                                 (("verify", "mlp", "--on", "fusemax", "--samples", "2", "--steps", "3"), ("--samples", "--steps")),
                                 (("fuse", "mlp", "--on", "fusemax", "--evaluations", "3"), ("--evaluations",)),
                                 (("fuse", "mlp", "--on", "fusemax", "--refine", "--seed", "2", "--place-objective", "edp"), ("--seed", "--place-objective")),
                                 (("evaluate", "mlp", "--on", "fusemax", "--mode", "inference", *recompute), ("--recompute",)),
                                 (("graph", "mlp", "--train", "none", *recompute), ("--recompute",))):
            message = self.refused(*arguments)
            for flag in flags:
                self.assertIn(f"{flag}: error: ", message)
        self.ok("evaluate", "mlp", "--on", "fusemax", "--mode", "both", *recompute)

    def test_what_check_cannot_read_is_said(self):
        (self.folder / "folder").mkdir()
        self.assertIn("nothing: error: no such file", self.refused("check", "nothing"))
        self.assertIn("folder: error: is a folder", self.refused("check", "folder"))
        self.write("other.yaml", "a: 1\n")
        self.assertIn("'monet: space'", self.refused("check", "other.yaml"))

    def test_sizes_of_text_graphs_cannot_be_changed(self):
        self.write("net.monet", TEXT_GRAPH)
        for flag, value in (("--batch", "8"), ("--microbatches", "2"), ("--dim", "n=2")):
            for verb in (["graph"], ["verify"], ["evaluate", "--on", "fusemax"]):
                message = self.refused(verb[0], "net.monet", *verb[1:], flag, value)
                self.assertIn(f"{flag}: error: ", message)
                self.assertIn("the sizes it was written with", message)

    def test_an_iteration_that_is_read_has_its_own_microbatches(self):
        self.ok("graph", "mlp:in=8,hidden=4,layers=1,classes=2", "--batch", "4", "--write", "it.onnx")
        self.assertIn("--microbatches: error: the file contains gradients",
                      self.refused("graph", "it.onnx", "--batch", "4", "--microbatches", "2"))

    def test_every_fault_of_a_text_graph_is_reported_at_once(self):
        self.write("bad.monet", TEXT_GRAPH.replace("f32[16,8]", "f33[16,8]").replace("relu(", "rellu("))
        text = self.refused("check", "bad.monet")
        self.assertIn("bad.monet:3:16", text)
        self.assertIn("bad.monet:7:18", text)

    def test_one_bad_file_does_not_hide_the_others(self):
        self.write("good.monet", TEXT_GRAPH)
        self.write("bad.monet", "nonsense\n")
        run = self.run_monet("check", "bad.monet", "good.monet")
        self.assertEqual(2, run.returncode)
        self.assertIn("good.monet: ok, 3 nodes", run.stdout.decode())
        self.assertIn("bad.monet:1:1: error: ", run.stderr.decode())
        files = self.document("check", "bad.monet", "good.monet", exit_code=2)["result"]["files"]
        self.assertEqual([("bad.monet", False), ("good.monet", True)], [(f["file"], f["sound"]) for f in files])

    def test_gradients_of_a_training_graph_are_not_verified(self):
        self.ok("graph", "mlp", "--write", "x.onnx")
        self.assertIn("x.onnx: error: contains gradients already", self.refused("verify", "x.onnx"))


class Help(Commands):
    def test_help_and_version_go_to_stdout(self):
        self.assertRegex(self.ok("--version"), r"^\d+\.\d+\.\d+\n$")
        verbs = ("models", "graph", "verify", "check", "demo")
        for verb in verbs:
            self.assertIn(verb, self.ok("--help"))
            self.assertIn("--quiet", self.ok(verb, "--help"))

    def test_the_version_is_that_of_the_project(self):
        cmake = (SCHEMAS.parent.parent / "CMakeLists.txt").read_text()
        self.assertIn(f"VERSION {self.ok('--version').strip()} ", cmake)


class Documents(Commands):
    def test_every_verb_keeps_its_schema(self):
        if not jsonschema:
            self.skipTest("no python3-jsonschema")
        for path in sorted(SCHEMAS.glob("*.json")):
            jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))
        # A schema that accepts everything would prove nothing.
        document = self.document("graph", "mlp")
        for breaks in (lambda d: d["result"].pop("macs"), lambda d: d["result"]["macs"].update(forward=-1),
                       lambda d: d["result"].update(more=1), lambda d: d["options"].update(more=1),
                       lambda d: d.pop("run"), lambda d: d["monet"].update(command="verify"),
                       lambda d: d["inputs"].update(model={"path": "x"})):
            broken = json.loads(json.dumps(document))
            breaks(broken)
            self.assertFalse(validator("graph").is_valid(broken))

    def test_models(self):
        models = self.result("models")["models"]
        names = [m["name"] for m in models]
        for name in ("mlp", "resnet18", "resnet50", "gpt2", "bert-base", "vit_b_16"):
            self.assertIn(name, names)
        self.assertEqual(len(names), len(set(names)))
        for m in models:
            self.assertEqual(m, self.result("models", m["name"]))
            self.assertIn(m["name"], self.ok("models"))

    def test_graph_of_a_model_that_can_be_counted_by_hand(self):
        # 8 -> 16 -> 16 -> 3, batch 4: forward 4·(8·16 + 16·16 + 16·3) MACs; backward the weight gradients, as many,
        # and the data gradients of all layers but the first.
        layers = [8 * 16, 16 * 16, 16 * 3]
        r = self.result("graph", "mlp:in=8,hidden=16,classes=3", "--batch", "4")
        self.assertEqual(4 * sum(layers), r["macs"]["forward"])
        self.assertEqual(4 * (sum(layers) + sum(layers[1:])), r["macs"]["backward"])
        self.assertEqual(0, r["macs"]["update"])
        self.assertEqual(sum(layers) + 16 + 16 + 3, r["parameters"])
        self.assertEqual(r["parameters"], r["trained_parameters"])
        # fp16: input 4·8, two hidden activations 4·16; log-probabilities are fp32, labels int64
        saved = {s["tensor"]: s["bytes"] for s in r["saved_activations"]}
        self.assertEqual(sorted([4 * 8 * 2, 4 * 16 * 2, 4 * 16 * 2, 4 * 3 * 4, 4 * 8]), sorted(saved.values()))
        self.assertEqual({}, r["fallback_operators"])

    def test_totals_are_the_sums_of_their_parts(self):
        for model in ("mlp", SMALL_RESNET, SMALL_GPT2):
            r = self.result("graph", model)
            self.assertEqual(r["nodes"], sum(r["nodes_by_phase"].values()))
            self.assertEqual(r["nodes"], sum(r["operators"].values()))
            self.assertEqual(r["saved_bytes"], sum(s["bytes"] for s in r["saved_activations"]))
            for key in ("macs", "vector_ops", "vector_bytes"):
                self.assertEqual(set(r["nodes_by_phase"]), set(r[key]))

    def test_inference_has_no_backward(self):
        r = self.result("graph", "mlp", "--train", "none")
        training = self.result("graph", "mlp")
        self.assertEqual(training["macs"]["forward"], r["macs"]["forward"])
        self.assertEqual((0, 0, 0, []), (r["nodes_by_phase"]["backward"], r["nodes_by_phase"]["update"],
                                         r["trained_parameters"], r["saved_activations"]))

    def test_verify(self):
        d = self.document("verify", SMALL_GPT2, "--samples", "1", "--steps", "2", "--seed", "7")
        r = d["result"]
        self.assertEqual((1, 2, 7), tuple(d["options"][k] for k in ("samples", "steps", "seed")))
        self.assertTrue(r["gradients_agree"] and r["decomposed_agrees"])
        self.assertEqual(2, len(r["losses"]))
        worst = max(r["weights"], key=lambda w: w["error"])
        self.assertEqual((worst["error"], worst["name"]), (r["worst_error"], r["worst_weight"]))
        self.assertLess(r["worst_error"], 1e-4)
        elements = sum(w["elements"] for w in r["weights"])
        self.assertEqual(self.result("graph", SMALL_GPT2)["trained_parameters"], elements)

    def test_check_and_graph_name_their_inputs(self):
        data = self.write("two.monet", TEXT_GRAPH).read_bytes()
        d = self.document("graph", "two.monet")
        self.assertEqual({"path": "two.monet", "sha256": hashlib.sha256(data).hexdigest()}, d["inputs"]["model"])
        self.assertEqual([{"file": "two.monet", "sound": True, "diagnostics": []}],
                         self.result("check", "two.monet")["files"])

    def test_what_changes_the_result_is_in_the_options(self):
        plain = self.document("graph", SMALL_RESNET, "--batch", "4")
        for flags in (["--optimizer", "sgd"], ["--loss", "mse"], ["--train", "last"], ["--train", "none"],
                      ["--precision", "fp32"], ["--save", "torch"], ["--recompute", "all"], ["--clip", "1"],
                      ["--loss-scaling"], ["--microbatches", "2"], ["--wgrad", "im2col"]):
            with self.subTest(flags=flags):
                other = self.document("graph", SMALL_RESNET, "--batch", "4", *flags)
                self.assertNotEqual(plain["result"], other["result"])
                self.assertNotEqual(plain["options"], other["options"])


class Determinism(Commands):
    def without_run(self, *arguments):
        """Everything of a document but `run`, which comes last, as the bytes that were printed."""
        run = self.run_monet(*arguments, "--json")
        self.assertIn(run.returncode, (0, 2))
        head, mark, _ = run.stdout.rpartition(b'\n  "run": ')
        self.assertNotEqual(b"", mark)
        return head

    def test_the_same_command_prints_the_same_bytes(self):
        self.write("two.monet", TEXT_GRAPH)
        for arguments in (["models"], ["graph", "mlp"], ["graph", SMALL_RESNET, "--recompute", "all"],
                          ["graph", SMALL_GPT2, "--train", "lora:rank=2"], ["graph", "two.monet"],
                          ["check", "two.monet"], ["verify", SMALL_GPT2, "--samples", "1"]):
            self.assertEqual(self.without_run(*arguments), self.without_run(*arguments), arguments)
            if arguments[0] != "check":
                self.assertEqual(self.ok(*arguments), self.ok(*arguments))

    def test_the_seed_changes_what_is_tried(self):
        losses = {seed: self.result("verify", "mlp:in=8,hidden=8", "--seed", seed)["losses"] for seed in ("1", "2")}
        self.assertNotEqual(losses["1"], losses["2"])
        self.assertEqual(losses["1"], self.result("verify", "mlp:in=8,hidden=8")["losses"])

    def test_the_same_files_are_written(self):
        for model in ("mlp:in=8,hidden=8", SMALL_GPT2):
            for name in ("a.onnx", "b.onnx"):
                self.ok("graph", model, "--weights", "--write", name)
            self.assertEqual((self.folder / "a.onnx").read_bytes(), (self.folder / "b.onnx").read_bytes())


class RoundTrips(Commands):
    def assertReadsBack(self, *arguments):
        """What is written as ONNX is read as the same iteration, though some operators become several there."""
        written = self.result("graph", *arguments, "--write", "x.onnx")
        read = self.result("graph", "x.onnx", *(["--train", "none"] if "none" in arguments else []))
        for key in ("macs", "parameters", "trained_parameters"):
            self.assertEqual(written[key], read[key], key)
        self.assertEqual(written["nodes_by_phase"].keys(), read["nodes_by_phase"].keys())
        self.assertEqual(written["nodes_by_phase"]["update"], read["nodes_by_phase"]["update"])
        return written, read

    def test_a_training_iteration_is_read_back(self):
        # Strides halve an image of 33 without remainder, one of 32 with.
        for model in ("mlp", "resnet18:image=32,classes=10,width=16", "resnet18:image=33,classes=10,width=16", SMALL_GPT2):
            with self.subTest(model):
                written, read = self.assertReadsBack(model)
                # ONNX has neither 1-bit masks nor 4-bit offsets of pools: they are saved wider.
                if "resnet" in model:
                    self.assertLessEqual(written["saved_bytes"], read["saved_bytes"])
                else:
                    self.assertEqual(written["saved_bytes"], read["saved_bytes"])

    def test_an_inference_is_read_back(self):
        written, read = self.assertReadsBack("mlp", "--train", "none")
        self.assertEqual(written["nodes_by_phase"], read["nodes_by_phase"])
        self.assertEqual(written["operators"], read["operators"])

    def test_an_inference_read_back_trains_like_the_original(self):
        self.ok("graph", "mlp", "--train", "none", "--write", "x.onnx")
        original, read = self.result("graph", "mlp"), self.result("graph", "x.onnx")
        for key in ("nodes_by_phase", "macs", "vector_ops", "vector_bytes", "operators", "saved_bytes"):
            self.assertEqual(original[key], read[key])

    def test_stored_weights_are_used_to_verify(self):
        self.ok("graph", "mlp:in=8,hidden=8", "--train", "none", "--weights", "--write", "x.onnx")
        self.assertTrue(self.result("verify", "x.onnx")["gradients_agree"])

    def test_text_is_read_back(self):
        for model in ("mlp", SMALL_RESNET, SMALL_GPT2):
            for flags in (["--train", "none"], ["--precision", "fp32"]):
                with self.subTest(model, flags=flags):
                    text = self.ok("graph", model, *flags, "--text")
                    self.write("x.monet", text)
                    self.assertEqual(text, self.ok("graph", "x.monet", *flags, "--text"))

    def test_an_iteration_that_is_read_keeps_its_own_formats(self):
        # Half-precision storage with single-precision master weights: which tensor has which is the file's word.
        for model in ("mlp", SMALL_RESNET, SMALL_GPT2):
            with self.subTest(model):
                self.write("x.monet", self.ok("graph", model, "--text"))
                written, read = self.result("graph", model), self.result("graph", "x.monet")
                for key in ("nodes_by_phase", "macs", "vector_ops", "vector_bytes", "saved_bytes"):
                    self.assertEqual(written[key], read[key], key)

    def test_json_stays_clean_of_warnings(self):
        # The embedding's gradient is written as ScatterElements, of which the reader warns.
        self.ok("graph", SMALL_GPT2, "--write", "x.onnx")
        run = self.run_monet("graph", "x.onnx", "--json")
        json.loads(run.stdout)
        if run.stderr:
            self.assertIn("warning: ", run.stderr.decode())
            self.assertEqual(b"", self.run_monet("graph", "x.onnx", "--json", "--quiet").stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    MONET = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
