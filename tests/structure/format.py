"""Every C++ file is as clang-format writes it (`make format` does it).

    python3 format.py SOURCE_DIR

Exit code 77 (skipped) where clang-format-14 is missing: another version formats otherwise.
"""
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77


def main(source):
    if not shutil.which("clang-format-14"):
        print("skipped: no clang-format-14")
        return SKIPPED
    root = pathlib.Path(source)
    files = sorted(str(p) for folder in ("src", "tests", "bench") for p in (root / folder).rglob("*")
                   if p.suffix in {".h", ".cpp"})
    if not files:
        print("no C++ files")
        return 1
    run = subprocess.run(["clang-format-14", "--dry-run", "-Werror", *files], capture_output=True, text=True)
    if run.returncode == 0:
        print(f"format ok ({len(files)} files)")
        return 0
    heads = sorted({line.split(":")[0] for line in run.stderr.splitlines() if ": error:" in line})
    print("\n".join(f"{head}: not formatted (make format)" for head in heads) or run.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
