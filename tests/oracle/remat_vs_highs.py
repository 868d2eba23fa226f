"""Are our optima of rematerialisation those that HiGHS finds for the same integer programs?

    python3 remat_vs_highs.py RUN_REMAT [--seeds N] [--forward N]

Random chains and graphs of 3 to N (6) forward steps with their gradients, seeds 0 to N - 1 (6), budgets from the least
that could do to nearly enough, in every model that RUN_REMAT knows. HiGHS reads the program as RUN_REMAT wrote it. Exit
code 77 where highspy is missing.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    import highspy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

MODELS = ("checkmate", "relaxed", "moccasin", "poet", "knapsack")
SHARES = ("0", "0.3", "0.7")


def theirs(path):
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("mip_abs_gap", 1e-7)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk, f"{path} is not understood"
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    assert status == highspy.HighsModelStatus.kOptimal, f"HiGHS ended with {status}"
    return solver.getInfo().objective_function_value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--forward", type=int, default=6)
    arguments = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.mps"
        for model in MODELS:
            cases = infeasible = 0
            for forward in range(3, arguments.forward + 1):
                for seed in range(arguments.seeds):
                    for skips in ("0", "1"):
                        for share in SHARES:
                            words = [model, str(seed), str(forward), skips, share]
                            said = subprocess.run([arguments.program, *words, str(path)], check=True,
                                                  capture_output=True, text=True).stdout.strip()
                            ours, other = None if said == "infeasible" else float(said), theirs(path)
                            is_same = ours is None and other is None or (
                                None not in (ours, other) and abs(ours - other) <= 1e-5 * max(1, abs(other)))
                            if not is_same:
                                print(f"FAIL {' '.join(words)}: ours {ours}, HiGHS {other}", flush=True)
                            passed, failed = passed + is_same, failed + (not is_same)
                            cases, infeasible = cases + 1, infeasible + (other is None)
            print(f"{model}: {cases} programs, {infeasible} infeasible", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
