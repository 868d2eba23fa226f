"""Every header of src compiles alone: whoever includes it needs nothing before it.

    python3 headers.py SOURCE_DIR BUILD_DIR

A header that some .cpp file includes before anything else is proved by every build file by file (the fuzz preset); the
others are compiled here, with the compiler and flags with which compile_commands.json compiles their room.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys


def room_commands(source, build):
    """Room: the compiler and flags of one of its .cpp files (or of a batch of them), without the file and its output."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"])
        batch = re.search(r"/monet(?:_(\w+))?\.dir/Unity/", entry["file"])
        if not batch and source / "src" / "monet" not in file.parents:
            continue
        room = batch[1] or "cli" if batch else file.parent.name
        words = shlex.split(entry["command"])
        while os.path.basename(words[0]) == "ccache":
            words.pop(0)
        output = words.index("-o")
        del words[output:output + 2]
        commands.setdefault(room, [w for w in words if w not in ("-c", entry["file"])])
    return commands


def proved_by_build(source):
    """Headers, as written in an include, that are the first include of a .cpp file."""
    first = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
    matches = (first.search(p.read_text()) for p in (source / "src" / "monet").rglob("*.cpp"))
    return {m[1] for m in matches if m}


def compile_alone(command, header, folder):
    """What the compiler says against the header, or nothing."""
    run = subprocess.run([*command, "-O0", "-fsyntax-only", "-x", "c++", "-"], input=f'#include "{header}"\n',
                         text=True, cwd=folder, capture_output=True)
    return "" if run.returncode == 0 else f"{header} does not compile alone:\n{run.stderr}"


def main(source, build):
    source, build = pathlib.Path(source).resolve(), pathlib.Path(build).resolve()
    commands = room_commands(source, build)
    headers = sorted(p.relative_to(source / "src").as_posix() for p in (source / "src" / "monet").rglob("*.h"))
    if not headers or not commands:
        print("no headers, or no compile commands for them")
        return 1
    rest = sorted(set(headers) - proved_by_build(source))
    # A room of headers only is compiled as any other.
    fallback = commands[min(commands)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda h: compile_alone(commands.get(h.split("/")[1], fallback), h, build), rest)
        faults = list(filter(None, results))
    print("\n".join(faults) if faults else f"headers ok ({len(headers)}, of which {len(rest)} compiled here)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
