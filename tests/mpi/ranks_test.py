"""Does `mpirun -n N monet explore` give what one process gives, and what is left when ranks die?

    python3 ranks_test.py MONET [unittest arguments]

Exit code 77 where there is no Open MPI to run it with. A monet that was built without MPI must say so.
"""
import json
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import commands_test

MONET = ""
MODEL = "mlp:in=16,hidden=16,layers=1,classes=4"
TIMEOUT_S = 60
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
FRAME = 4096 + 24  # bytes by which SQLite's log grows for a page


def space(**variables):
    lines = "".join(f"  {name}: {values}\n" for name, values in variables.items())
    return f"monet: space\nname: few\ndescription: for tests\nchip: fusemax_monet\nvariables:\n{lines}"


FEW = space(x=[16, 32, 64], y=[16, 64], vector_lanes=[32, 64], buffer_mib=[4, 8])
MANY = space(x=list(range(8, 72, 8)), y=list(range(8, 72, 8)), vector_lanes=[32, 64, 128], buffer_mib=[4, 8])


def mpirun(ranks, *words):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *words]


def without_run(path):
    document = json.loads(pathlib.Path(path).read_text())
    return document, document.pop("run")


class Ranks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "few.yaml").write_text(FEW)
        (self.folder / "many.yaml").write_text(MANY)

    def start(self, command, **more):
        process = subprocess.Popen(command, cwd=self.folder, env={**os.environ, **AS_ROOT}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def run_to_end(self, command, exit_code=0, **more):
        """(stdout, stderr) of a command that must end with a code."""
        process = self.start(command, **more)
        out, err = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(exit_code, process.returncode, f"{command}\n{out[-2000:]}\n{err[-2000:]}")
        return out, err

    def explore(self, *more, ranks=0, exit_code=0, model=MODEL, space="few.yaml"):
        command = [MONET, "explore", model, "--space", space, *map(str, more)]
        return self.run_to_end(mpirun(ranks, *command) if ranks else command, exit_code)

    def said_once(self, err, words):
        self.assertEqual(1, err.count(words), err)


class Results(Ranks):
    def test_bytes_are_the_same_for_all_ranks_and_threads(self):
        some, all = ((0, 1), (2, 1)), ((0, 1), (0, 2), (0, 4), (1, 1), (2, 1), (4, 1), (2, 2))
        for how, numbers in ((("grid",), all), (("nsga2", "--evaluations", "30", "--seed", "3"), some)):
            expected = None
            for ranks, threads in numbers:
                with self.subTest(how=how, ranks=ranks, threads=threads):
                    out, _ = self.explore("--strategy", *how, "--threads", threads, "--out", "run", ranks=ranks)
                    document, run = without_run(self.folder / "run/result.json")
                    found = out, document, (self.folder / "run/points.csv").read_bytes()
                    self.assertEqual((threads, max(ranks, 1)), (run["threads"], run["ranks"]))
                    expected = expected or found
                    self.assertEqual(expected, found)
                shutil.rmtree(self.folder / "run", ignore_errors=True)

    def test_ranks_share_what_constants_are_tried_on(self):
        (self.folder / "het.yaml").write_text("monet: space\nname: het\nchip: heterogeneous\nvariables: {vector_lanes: [8, 32], large_side: [16, 32]}\n")
        alone, _ = self.explore("--sensitivity", "--threads", 1, "--out", "alone", space="het.yaml")
        shared, _ = self.explore("--sensitivity", "--threads", 1, "--out", "shared", space="het.yaml", ranks=2)
        self.assertEqual(alone, shared)
        (expected, _), (found, run) = (without_run(self.folder / f"{name}/result.json") for name in ("alone", "shared"))
        self.assertEqual(expected, found)
        again = sum(c["run_again"] for c in found["result"]["sensitivity"]["cases"])
        self.assertEqual(4 + again, sum(r["tasks"] for r in run["by_rank"]))
        self.assertGreater(run["by_rank"][1]["tasks"], 4)

    def test_more_ranks_than_tasks(self):
        (self.folder / "one.yaml").write_text(space(x=[16]))
        alone, _ = self.explore(space="one.yaml")
        self.assertEqual(alone, self.explore(space="one.yaml", ranks=4)[0])

    def test_codes_are_those_of_one_process(self):
        alone, _ = self.explore("--area", "0.001", exit_code=1)
        self.assertEqual(alone, self.explore("--area", "0.001", ranks=2, exit_code=1)[0])

    def test_json_is_one_document(self):
        out, _ = self.explore("--json", ranks=3)
        document = json.loads(out)
        self.assertEqual(3, document["run"]["ranks"])
        self.assertEqual(3, len(document["run"]["by_rank"]))
        if commands_test.jsonschema:
            commands_test.validator("explore").validate(document)

    def test_ranks_of_a_host_have_a_thread_each(self):
        out, _ = self.explore("--json", ranks=2)
        self.assertEqual(1, json.loads(out)["run"]["threads"])

    def test_a_cache_holds_what_all_ranks_found(self):
        self.explore("--cache", "alone.json")
        self.explore("--cache", "ranks.json", ranks=2)
        self.assertEqual((self.folder / "alone.json").read_bytes(), (self.folder / "ranks.json").read_bytes())

    def test_ranks_share_the_mappings_they_find(self):
        """Two that told each other nothing would search nearly all of them twice: points differ in the vector unit."""
        (self.folder / "near.yaml").write_text(space(x=[32, 64], vector_lanes=[32, 64, 128, 256], buffer_mib=[4, 8]))
        run = {}
        for ranks in (0, 2):
            out, _ = self.explore("--json", "--threads", 1, ranks=ranks, space="near.yaml", model="resnet18:image=32")
            run[ranks] = json.loads(out)["run"]
        alone, by_rank = run[0]["mappings_searched"], run[2]["by_rank"]
        self.assertNotIn("by_rank", run[0])
        self.assertEqual(run[2]["mappings_searched"], sum(rank["mappings_searched"] for rank in by_rank))
        self.assertLessEqual(alone, run[2]["mappings_searched"])
        self.assertLess(run[2]["mappings_searched"], 1.5 * alone)
        self.assertEqual(16, sum(rank["tasks"] for rank in by_rank))
        for rank in by_rank:
            self.assertEqual((os.uname().nodename, 1), (rank["host"], rank["threads"]))
            self.assertGreater(rank["mappings_searched"], 0)
            self.assertGreater(rank["busy_s"], rank["idle_s"])


class Refusals(Ranks):
    def test_verbs_that_ranks_cannot_share(self):
        out, err = self.run_to_end(mpirun(2, MONET, "evaluate", MODEL, "--on", "fusemax"), 2)
        self.assertEqual("", out)
        self.said_once(err, "monet evaluate: error: a launcher of MPI started 2 ranks")
        self.assertIn("perceptron", self.run_to_end(mpirun(1, MONET, "models", "mlp"))[0])

    def test_mistakes_are_said_once(self):
        self.said_once(self.explore(model="nobody", ranks=3, exit_code=2)[1], "unknown model 'nobody'")
        self.said_once(self.explore("--strategy", "best", ranks=3, exit_code=2)[1], "unknown value 'best'")
        self.said_once(self.explore("--bogus", ranks=3, exit_code=2)[1], "unknown option '--bogus'")
        self.said_once(self.run_to_end(mpirun(2, MONET, "explore", "--help"))[0], "--space")

    def test_the_launcher_of_another_mpi(self):
        """Its ranks do not find one another: each would do all of the work."""
        for rank, code in ((0, 2), (1, 0)):  # the first one speaks
            run = subprocess.run([MONET, "explore", MODEL, "--space", "few.yaml"], cwd=self.folder, text=True, capture_output=True,
                                 env={**os.environ, "PMI_SIZE": "2", "PMI_RANK": str(rank)})
            self.assertEqual((code, ""), (run.returncode, run.stdout))
            self.assertEqual(rank == 0, "the launcher started 2 ranks, of which MPI knows 1" in run.stderr)

    def elsewhere(self, text):
        """The second rank runs in a folder of its own, with its own space."""
        other = self.folder / "other"
        other.mkdir(exist_ok=True)
        if text:
            (other / "few.yaml").write_text(text)
        command = [MONET, "explore", MODEL, "--space", "few.yaml"]
        return mpirun(1, *command, ":", "-n", "1", "--wdir", str(other), *command)

    def test_ranks_must_have_the_same_files(self):
        host = os.uname().nodename
        _, err = self.run_to_end(self.elsewhere(""), 2)
        self.said_once(err, f"few.yaml: error: rank 1 on {host}: no such file")
        _, err = self.run_to_end(self.elsewhere(FEW.replace("64", "128")), 2)
        self.said_once(err, f"rank 1 on {host}: error: not what rank 0 on {host} works on: 'few.yaml' holds something else")
        self.run_to_end(self.elsewhere(FEW))

    def test_ranks_must_have_the_same_command_line(self):
        first, second = ([MONET, "explore", MODEL, "--space", "few.yaml", "--batch", n] for n in "12")
        _, err = self.run_to_end(mpirun(1, *first, ":", "-n", "1", *second), 2)
        self.assertIn("its command line or its version of monet is another", err)


class Deaths(Ranks):
    """What was stored is there, and --resume comes to the same result as a run that nobody disturbed."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "many.yaml").write_text(MANY)
            subprocess.run([MONET, "explore", MODEL, "--space", "many.yaml", "--out", "run"], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL)
            cls.whole = without_run(pathlib.Path(folder) / "run/result.json")[0]

    def started(self, ranks=2, **more):
        """A run that has stored something."""
        process = self.start(mpirun(ranks, MONET, "explore", MODEL, "--space", "many.yaml", "--out", "run"), **more)
        log, end = self.folder / "run/points.sqlite-wal", time.monotonic() + TIMEOUT_S
        while not log.exists() or log.stat().st_size < 30 * FRAME:
            self.assertIsNone(process.poll(), "it ended before it could be disturbed")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)
        return process

    def pid_of(self, process, rank):
        for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            if f"OMPI_COMM_WORLD_RANK={rank}\0" in pathlib.Path(f"/proc/{child}/environ").read_text():
                return int(child)
        self.fail(f"no rank {rank}")

    def stored(self):
        """How many results; waits for a rank that is still about to end."""
        end = time.monotonic() + TIMEOUT_S
        while True:
            database = sqlite3.connect(self.folder / "run/points.sqlite", timeout=1)
            try:
                return database.execute("SELECT count(*) FROM points").fetchone()[0]
            except sqlite3.OperationalError:
                self.assertLess(time.monotonic(), end, "its ranks live on")
            finally:
                database.close()

    def check_resumed(self, ranks=2, can_be_done=False):
        stored = self.stored()
        self.assertGreater(stored, 0)
        self.assertTrue(can_be_done or stored < 2 * self.whole["result"]["size"])
        out, _ = self.explore("--out", "run", "--resume", ranks=ranks, space="many.yaml")
        self.assertIn(f"({stored} results looked up)", out.replace(",", ""))
        self.assertEqual(self.whole, without_run(self.folder / "run/result.json")[0])

    def test_a_rank_is_killed(self):
        for rank in (1, 0):
            with self.subTest(rank=rank):
                process = self.started()
                os.kill(self.pid_of(process, rank), signal.SIGKILL)
                process.communicate(timeout=TIMEOUT_S)
                self.assertNotEqual(0, process.returncode)
                self.check_resumed(can_be_done=rank > 0)  # the others have a second to end
            shutil.rmtree(self.folder / "run")

    def test_the_launcher_is_killed(self):
        process = self.started()
        process.kill()
        process.wait()
        self.check_resumed(ranks=0, can_be_done=True)  # ranks notice it within a second

    def test_the_launcher_is_interrupted(self):
        process = self.started(ranks=3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT_S)
        self.assertNotEqual(0, process.returncode)
        self.check_resumed(can_be_done=True)  # mpirun tells them a second later

    def test_an_interrupt_gives_what_was_found(self):
        process = self.started()
        os.kill(self.pid_of(process, 0), signal.SIGINT)
        out, _ = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(130, process.returncode)
        self.assertIn("stopped early", out)
        self.assertFalse(without_run(self.folder / "run/result.json")[0]["result"]["complete"])
        self.check_resumed()

    def test_the_time_is_over(self):
        out, _ = self.explore("--time", "0.15", "--out", "run", ranks=2, space="many.yaml")
        self.assertIn("stopped early", out)
        self.check_resumed()

    def test_a_run_in_progress_is_left_alone(self):
        process = self.started()
        _, err = self.explore("--out", "run", "--resume", space="many.yaml", exit_code=2)
        self.assertIn("another run has it open (wait for it, or choose another --out)", err)
        process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(0, process.returncode)
        self.assertEqual(self.whole, without_run(self.folder / "run/result.json")[0])

    def test_no_file_may_grow_any_more(self):
        most = 40 * FRAME
        _, err = self.run_to_end([MONET, "explore", MODEL, "--space", "many.yaml", "--out", "run"], 2,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        self.said_once(err, "what was saved before is in the file: make room, then --resume")
        self.check_resumed()

    def test_the_disk_is_full(self):
        disk = self.folder / "run"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk], capture_output=True).returncode != 0:
            self.skipTest("no file system can be mounted here")
        try:
            _, err = self.explore("--out", "run", ranks=2, space="many.yaml", exit_code=2)
            self.said_once(err, "points.sqlite: error: the disk is full (what was saved before is in the file: make room")
            subprocess.run(["mount", "-o", "remount,size=100m", disk], check=True)
            self.check_resumed()
        finally:
            subprocess.run(["umount", "--lazy", disk], check=True)


class WithoutMpi(Ranks):
    def test_several_ranks_are_refused_with_what_to_do(self):
        for rank, code in ((0, 2), (1, 0)):  # the first one speaks
            run = subprocess.run([MONET, "explore", MODEL, "--space", "few.yaml"], cwd=self.folder, text=True, capture_output=True,
                                 env={**os.environ, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": str(rank)})
            self.assertEqual((code, ""), (run.returncode, run.stdout))
            self.assertEqual(rank == 0, "but this was built without MPI (start it without mpirun; or install" in run.stderr)


def classes():
    linked = subprocess.run(["ldd", MONET], capture_output=True, text=True).stdout
    if "libmpi" not in linked:
        return [WithoutMpi]
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout if shutil.which("mpirun") else ""
    return [Results, Refusals, Deaths] if "Open MPI" in version else []


def load_tests(loader, _, __):
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, classes()))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    MONET = str(pathlib.Path(sys.argv.pop(1)).resolve())
    if not classes():
        print("skipped: no mpirun of Open MPI")
        sys.exit(77)
    unittest.main()
