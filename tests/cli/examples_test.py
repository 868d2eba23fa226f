"""Every study in examples/ runs, quickly, and writes its figure and its text; what they compute of results is right by hand.

    python3 examples_test.py MONET
"""
import math
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
sys.dont_write_bytecode = True
import clouds
import continual
import study


class Studies(unittest.TestCase):
    def test_each_runs(self):
        studies = sorted(p for p in EXAMPLES.glob("*.py") if p.name != "study.py")
        self.assertTrue(studies)
        for study in studies:
            with self.subTest(study.name), tempfile.TemporaryDirectory() as folder:
                run = subprocess.run([sys.executable, study, "--monet", MONET, "--quick", "--out", folder],
                                     capture_output=True, text=True, timeout=600)
                self.assertEqual(0, run.returncode, run.stderr)
                text = (pathlib.Path(folder) / f"{study.stem}.md").read_text()
                self.assertIn("|", text)
                self.assertIn("<svg", (pathlib.Path(folder) / f"{study.stem}.svg").read_text())

    def test_one_that_explores_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, EXAMPLES / "gpt2_fusemax.py", "--monet", MONET, "--quick", "--out", folder]
            self.assertEqual(0, subprocess.run(command, capture_output=True).returncode)
            text = (pathlib.Path(folder) / "gpt2_fusemax.md").read_text()
            self.assertNotEqual(0, subprocess.run(command, capture_output=True).returncode, "results are not overwritten")
            self.assertEqual(0, subprocess.run([*command, "--resume"], capture_output=True).returncode)
            self.assertEqual(text, (pathlib.Path(folder) / "gpt2_fusemax.md").read_text())


class Arithmetic(unittest.TestCase):
    def test_main_effects_of_a_product_are_those_of_its_factors(self):
        chips = [{"a": a, "b": b, "c": c} for a in (1, 2) for b in (1, 4) for c in (1, 2)]
        shares = study.main_effects(chips, "abc", lambda chip: chip["a"] * chip["b"])
        self.assertAlmostEqual(0.2, shares["a"])  # variances of log2: 1/4 and 1
        self.assertAlmostEqual(0.8, shares["b"])
        self.assertAlmostEqual(0, shares["c"])
        together = study.main_effects(chips, "abc", lambda chip: 2 if (chip["a"] == 1) == (chip["b"] == 1) else 1)
        self.assertAlmostEqual(0, sum(together.values()))

    def test_a_front_has_no_ties(self):
        chips = [(1, 5), (1, 4), (2, 4), (2, 3), (3, 3), (4, 1)]
        self.assertEqual([(1, 4), (2, 3), (4, 1)], study.front(chips, lambda c: c[0], lambda c: c[1]))

    def test_ranks(self):
        self.assertEqual([0, 1.5, 3, 1.5], clouds.ranks([1, 2, 9, 2]))
        chips = [(1, 8), (2, 7), (3, 2), (4, 1)]
        self.assertAlmostEqual(-1, clouds.correlation(chips, lambda c: c[0], lambda c: c[1]))
        self.assertAlmostEqual(1, clouds.correlation(chips, lambda c: c[0], lambda c: c[0] ** 3))

    def test_an_adaptation(self):
        figures = lambda ms, mj, leakage=0: {"latency_s": ms * 1e-3, "energy_pj": mj * 1e9, "leakage_pj": leakage * 1e9}
        setting = types.SimpleNamespace(fps=30, switch=2, label=5, label_batch=2, validate=10, train=9, train_batch=4, epochs=2, window=2)
        chip = continual.adapted({"inference": figures(10, 1, 0.2), "labelling": figures(20, 3), "training": figures(100, 50)}, setting)
        self.assertTrue(chip["holds"])
        self.assertAlmostEqual(0.36, chip["busy"])
        self.assertAlmostEqual((3 * 20 + 10 * 10 + 6 * 100) * 1e-3 / 0.64, chip["adaptation_s"])
        self.assertAlmostEqual((3 * 3 + 10 * 1 + 6 * 50) * 1e-3, chip["adaptation_j"])
        self.assertAlmostEqual(0.030 + 0.319 * 0.64 / 0.76, chip["most_w"])
        self.assertAlmostEqual(0.030 + 0.319 / 2 + 0.26 * 0.020, chip["window_w"])
        self.assertTrue(chip["in_time"])
        slow = continual.adapted({"inference": figures(40, 1), "labelling": figures(20, 3), "training": figures(100, 50)}, setting)
        self.assertFalse(slow["holds"])
        self.assertEqual(math.inf, slow["adaptation_s"])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    MONET = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
