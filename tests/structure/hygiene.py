"""What no file of the project may hold, and the files it must have.

    python3 hygiene.py SOURCE_DIR

Refused: absolute paths of somebody's machine, marks of unfinished work, addresses of package registries, tabs and
trailing blanks in sources, carriage returns, files that do not end in a newline.
"""
import os
import pathlib
import re
import sys

REQUIRED = ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "LICENSE", "CITATION.cff", "Makefile",
            ".ci/run"]
LEFT_OUT = {".git", "build", "out", "node_modules", "__pycache__", ".cache", ".venv"}
SOURCES = {".h", ".cpp", ".py", ".sh", ".cmake", ".md", ".json", ".yaml", ".yml", ".txt", ".cff", ".ts", ".monet"}

# Each with what is said of it. A path counts only where it starts, so that src/monet/work/ is none.
PATTERNS = [
    (re.compile(r"(?<![\w.~$})*-])/(?:work|root|home|Users)/"), "absolute path of a machine"),
    (re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b"), "mark of unfinished work"),
    (re.compile(r"\b(?:py" r"pi|np" r"mjs|crates)\.(?:org|com|io)\b"), "address of a package registry"),
]


def text_of(path):
    """The text of a file, or None if it is no text."""
    data = path.read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def file_faults(name, text):
    is_source = pathlib.PurePath(name).suffix in SOURCES
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, what in PATTERNS:
            if match := pattern.search(line):
                yield f"{name}:{number}: {what}: {match[0]}"
        if is_source and "\t" in line:
            yield f"{name}:{number}: tab"
        if is_source and line != line.rstrip(" "):
            yield f"{name}:{number}: blanks at the end of the line"
        if line.endswith("\r"):
            yield f"{name}:{number}: carriage return"
    if is_source and text and not text.endswith("\n"):
        yield f"{name}: does not end in a newline"


def version_faults(root):
    """The version is stated in the build; who states it again must agree."""
    stated = {}
    for name, pattern in (("CMakeLists.txt", r"^project\(monet VERSION (\S+)"), ("CITATION.cff", r"^version: (\S+)$")):
        text = (root / name).read_text() if (root / name).is_file() else ""
        if match := re.search(pattern, text, re.MULTILINE):
            stated[name] = match[1]
    if len(set(stated.values())) > 1:
        yield "versions differ: " + ", ".join(f"{version} in {name}" for name, version in stated.items())


def check(root):
    """(faults, number of files read)."""
    faults = [f"{name} is missing" for name in REQUIRED if not (root / name).is_file()]
    faults += version_faults(root)
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in LEFT_OUT)
        for name in sorted(names):
            path = pathlib.Path(folder) / name
            # Fuzzing corpora hold whatever broke something once.
            if "corpus" in path.relative_to(root).parts or path.is_symlink() or not path.is_file():
                continue
            text = text_of(path)
            if text is not None:
                count += 1
                faults += file_faults(path.relative_to(root).as_posix(), text)
    return faults, count


def main(source):
    faults, count = check(pathlib.Path(source).resolve())
    print("\n".join(faults) if faults else f"hygiene ok ({count} files)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
