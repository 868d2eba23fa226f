"""Runs what README.md and docs/*.md tell a reader to type, and compares what they say it prints.

    python3 documented_commands.py SOURCE_DIR MONET [DOCUMENT…]

Read are the fenced blocks of sh and console. In them
- a line that begins with "$ " is a command; the lines after it, up to the next command, are what it prints
  (stdout and stderr); where there are none, only the exit code is checked;
- in a block without any "$ ", each line that begins with monet or build/release/monet is a command;
- a line that ends in a backslash goes on in the next;
- a printed line that is "…" stands for any number of lines, a "…" within a line for any text;
- "# exit 2" after a command says with what it ends (0 if not said), "# not run" skips it. make is not run here.

The commands of one document run in one temporary folder, with monet in PATH and at build/release/monet and with the
project's data, docs, examples and tests beside it, so that a command can use what an earlier one wrote.
"""
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TIMEOUT_S = 300
SHARED = ("data", "docs", "examples", "tests")


@dataclasses.dataclass
class Command:
    document: str
    line: int
    text: str
    exit_code: int = 0
    printed: list = dataclasses.field(default_factory=list)
    skipped: bool = False


def blocks(text):
    """(number of the first line, lines) of each fenced block of sh or console."""
    lines, start, fence = text.splitlines(), None, ""
    for i, line in enumerate(lines):
        stripped = line.strip()
        if start is None:
            if match := re.fullmatch(r"(```+|~~~+)\s*(\w*).*", stripped):
                start, fence, language = i + 1, match[1], match[2]
        elif stripped == fence:
            if language in ("sh", "console"):
                yield start + 1, lines[start:i]
            start = None


def new_command(document, line, text):
    """A command with the mark at its end taken off."""
    command = Command(document, line, text)
    if match := re.search(r"\s+#\s*(not run|exit (\d+))\b[^'\"]*$", text):
        command.text = text[:match.start()]
        command.skipped = match[1] == "not run"
        command.exit_code = int(match[2] or 0)
    command.text = command.text.strip()
    command.skipped = command.skipped or command.text.split()[:1] == ["make"]
    return command


def commands(document, text):
    for first, lines in blocks(text):
        prompted = any(line.startswith("$ ") for line in lines)
        command, i = None, 0
        while i < len(lines):
            start, line = i, lines[i]
            is_command = line.startswith("$ ") if prompted else bool(re.match(r"(build/release/)?monet\b", line))
            while is_command and line.endswith("\\") and i + 1 < len(lines):
                i += 1
                line = line[:-1] + lines[i].strip()
            if is_command:
                if command:
                    yield command
                command = new_command(document, first + start, line.removeprefix("$ "))
            elif command and prompted:
                command.printed.append(line.rstrip())
            i += 1
        if command:
            yield command


def trimmed(lines):
    """Without blanks at the ends of lines and empty lines at the end."""
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def line_matches(expected, found):
    return re.fullmatch(".*".join(map(re.escape, expected.split("…"))), found) is not None


def first_difference(expected, found):
    """Where what was printed departs from the document: (expected line, printed line), or None if it does not."""
    reach = {0}  # lines of `found` that can have been used up so far
    for line in expected:
        if line.strip() == "…":
            reach = set(range(min(reach), len(found) + 1))
            continue
        after = {i + 1 for i in reach if i < len(found) and line_matches(line, found[i])}
        if not after:
            i = min(reach)
            return line, found[i] if i < len(found) else "(nothing more)"
        reach = after
    return None if len(found) in reach else ("(nothing more)", found[max(reach)])


def fault_of(command, folder, path):
    """What went otherwise than the document says, or None."""
    try:
        run = subprocess.run(["bash", "-c", command.text], cwd=folder, env={**os.environ, "PATH": path},
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"not done after {TIMEOUT_S} s"
    found = trimmed(run.stdout.decode(errors="replace").splitlines())
    if run.returncode != command.exit_code:
        return f"ended with {run.returncode}, not {command.exit_code}\n  " + "\n  ".join(found[-10:])
    expected = trimmed(command.printed)
    if expected and (difference := first_difference(expected, found)):
        return f"prints something else\n  document: {difference[0]}\n  printed:  {difference[1]}"
    return None


def run_document(source, monet, path):
    """(commands run, commands skipped, faults) of one document."""
    document = str(path.relative_to(source)) if path.is_relative_to(source) else str(path)
    run, skipped, faults = 0, 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "build" / "release").mkdir(parents=True)
        (folder / "build" / "release" / "monet").symlink_to(monet)
        for shared in SHARED:
            if (source / shared).is_dir():
                (folder / shared).symlink_to(source / shared)
        search = f"{folder / 'build' / 'release'}:{os.environ['PATH']}"
        for command in commands(document, path.read_text()):
            if command.skipped:
                skipped += 1
                continue
            run += 1
            if fault := fault_of(command, folder, search):
                faults.append(f"{command.document}:{command.line}: $ {command.text}\n  {fault}")
    return run, skipped, faults


def main(source, monet, *documents):
    source, monet = pathlib.Path(source).resolve(), pathlib.Path(monet).resolve()
    paths = [pathlib.Path(d).resolve() for d in documents] or [source / "README.md", *sorted(source.glob("docs/*.md"))]
    run, skipped, faults = 0, 0, []
    for path in paths:
        if not path.is_file():
            faults.append(f"{path.name} is missing")
            continue
        counts = run_document(source, monet, path)
        run, skipped, faults = run + counts[0], skipped + counts[1], faults + counts[2]
    if run == 0:
        faults.append("no documented command was found")
    print("\n".join(faults) if faults else f"documented commands ok ({run} run, {skipped} not run)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
