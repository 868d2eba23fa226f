"""Every study in examples/ runs, quickly, and writes its figure and its text.

    python3 examples_test.py MONET
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


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


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    MONET = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
