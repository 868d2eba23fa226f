#!/usr/bin/env python3
"""The dependency rule, executable: which room of src/monet may include which.

    python3 tools/check_layers.py [src/monet]

Prints "layers ok (N files)", or every violation as file:line: text with exit code 1. Checked:
- a room includes itself and the rooms its row in ROOMS lists, which all have lower numbers;
- CMakeLists.txt links a room against what its row lists;
- every include of ours is written "monet/<room>/<file>.h" and the file exists;
- a header begins with #pragma once and includes nothing but ours and the standard library;
- a third-party header stays in the room THIRD_PARTY gives it; a header of ours that lets one through
  (WRAPPERS, and whatever includes it) is not included from another room;
- no file is longer than MAX_LINES.
"""
import pathlib
import re
import sys

# Room: (number, rooms it may include). Rooms of one number never see each other; numbers left out are for rooms that
# have nothing to hold yet. A new room is a new line here and in ARCHITECTURE.md.
ROOMS = {
    "base": (0, ""),
    "numeric": (1, "base"),
    "solve": (1, "base"),
    "store": (1, "base"),
    "work": (2, "base numeric"),
    "graph": (3, "base numeric work"),
    "hardware": (3, "base numeric work"),
    "cost": (4, "base numeric work hardware"),
    "interpret": (4, "base numeric graph"),
    "onnx": (5, "base numeric graph interpret"),
    "models": (5, "base numeric graph"),
    "training": (5, "base numeric graph"),
    "rewrite": (5, "base numeric work graph interpret"),
    "plan": (6, "base numeric work graph hardware cost"),
    "schedule": (7, "base numeric work graph hardware cost plan"),
    "replay": (8, "base numeric work graph hardware cost interpret plan schedule"),
    "search": (9, "base numeric work solve graph hardware cost rewrite plan schedule"),
    "report": (10, "base numeric work graph hardware cost plan schedule"),
    "verbs": (11, "base numeric solve store work graph hardware cost interpret onnx models training rewrite plan schedule replay search report"),
    "mpi": (12, "base cost search report verbs"),
    "cli": (13, "base numeric solve store work graph hardware cost interpret onnx models training rewrite plan schedule replay search report verbs mpi"),
}

# First part of a third-party include: rooms whose .cpp files may have it.
THIRD_PARTY = {
    "fmt": set(ROOMS),
    "onnx": {"onnx"},
    "google": {"onnx"},
    "CLI": {"cli"},
    "yaml-cpp": {"base"},
    "zlib.h": {"base"},
    "coin": {"solve"},
    "sqlite3.h": {"store"},
    "mpi.h": {"mpi"},
}

# Headers that exist to let a third-party header in, for their own room only.
WRAPPERS = {"onnx/proto.h"}

# In .cpp files only: what the standard library cannot say.
POSIX = {"unistd.h", "fcntl.h", "sched.h", "sys/stat.h", "sys/resource.h"}

STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint
cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem forward_list fstream functional
future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore
set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view strstream
syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
variant vector version
""".split())

MAX_LINES = 600

INCLUDE = re.compile(r'^\s*#\s*include\s*(<[^>]*>|"[^"]*"|\S.*)')
OURS = re.compile(r"monet/([a-z_]+)/([a-z0-9_]+\.h)")


def allowed(room):
    return set(ROOMS[room][1].split())


def table_faults():
    """The table must obey the rule it states."""
    for room, (number, _) in ROOMS.items():
        for other in sorted(allowed(room)):
            if other not in ROOMS:
                yield f"check_layers.py: {room} may include {other}, which is no room"
            elif ROOMS[other][0] >= number:
                yield f"check_layers.py: {room} ({number}) may not include {other} ({ROOMS[other][0]})"


def cmake_faults(root):
    """What the build links must be what may be included; `root` is src/monet."""
    cmake = root.parent.parent / "CMakeLists.txt"
    if not cmake.is_file():
        return
    call = re.compile(r"^\s*monet_room\((\w+)(?:\s+USES((?:\s+[a-z_]+)*))?")
    for number, line in enumerate(cmake.read_text().splitlines(), 1):
        if not (match := call.match(line)):
            continue
        room, uses = match[1], set((match[2] or "").split())
        if room not in ROOMS:
            yield f"{cmake}:{number}: room '{room}' is not in the table of check_layers.py"
        elif uses != allowed(room):
            yield f"{cmake}:{number}: '{room}' uses {sorted(uses)}, the table says {sorted(allowed(room))}"


def includes(text):
    """(line number, what is included, as written) of each #include."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1].strip()


def include_fault(root, room, is_header, written, name):
    """What is wrong with one include of a file called `name` in `room`, or None."""
    target = written[1:-1]
    if written.startswith('"'):
        match = OURS.fullmatch(target)
        if not match:
            return f'{written} is not written "monet/<room>/<file>.h"'
        if not (root / match[1] / match[2]).is_file():
            return f"{written} does not exist"
        if match[1] != room and match[1] not in allowed(room):
            return f"room '{room}' may not include room '{match[1]}' ({target})"
        return None
    if not written.startswith("<"):
        return f"cannot read the include of {written}"
    if target in STANDARD or (target in POSIX and not is_header):
        return None
    first = target.split("/")[0]
    if first == "monet":
        return f'{written} must be in quotes: "{target}"'
    if first not in THIRD_PARTY:
        return f"unknown third-party header {written}" if target not in POSIX else f"{written} in a header"
    if room not in THIRD_PARTY[first]:
        return f"{written} may be included only in {', '.join(sorted(THIRD_PARTY[first]))}"
    if is_header and name not in WRAPPERS:
        return f"third-party header {written} in a header"
    return None


def leaking_headers(files):
    """Headers through which a third-party header reaches who includes them."""
    reach = {name: {w[len('"monet/'):-1] for _, w in includes(text) if w.startswith('"monet/')}
             for name, text in files.items()}
    leaking = set(WRAPPERS)
    while more := {n for n in files if n.endswith(".h") and n not in leaking and reach[n] & leaking}:
        leaking |= more
    return leaking


def file_faults(root, name, text, leaking):
    room, is_header = name.split("/")[0], name.endswith(".h")
    where = root / name
    for number, written in includes(text):
        if fault := include_fault(root, room, is_header, written, name):
            yield f"{where}:{number}: {fault}"
        target = written.strip('"').removeprefix("monet/")
        if target in leaking and target.split("/")[0] != room:
            yield f"{where}:{number}: {written} lets a third-party header out of its room"
    lines = text.splitlines()
    if is_header and "#pragma once" not in lines:
        yield f"{where}:1: no #pragma once"
    if len(lines) > MAX_LINES:
        yield f"{where}:{len(lines)}: {len(lines)} lines, at most {MAX_LINES} are allowed: split it"


def check(root):
    """(violations, number of files) of the tree whose rooms are the folders of `root`."""
    faults = [*table_faults(), *cmake_faults(root)]
    paths = sorted(p for p in root.rglob("*") if p.suffix in {".h", ".cpp"})
    files = {p.relative_to(root).as_posix(): p.read_text() for p in paths}
    leaking = leaking_headers(files)
    for name, text in files.items():
        parts = name.split("/")
        if len(parts) != 2:
            faults.append(f"{root / name}:1: files are in src/monet/<room>/, not deeper or higher")
        elif parts[0] not in ROOMS:
            faults.append(f"{root / name}:1: room '{parts[0]}' is not in the table of check_layers.py")
        else:
            faults += file_faults(root, name, text, leaking)
    if not files:
        faults.append(f"{root}: no source files")
    return faults, len(files)


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).resolve().parent.parent / "src" / "monet")
    faults, count = check(root)
    if faults:
        print("\n".join(faults))
        return 1
    print(f"layers ok ({count} files)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
