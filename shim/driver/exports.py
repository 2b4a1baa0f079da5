#!/usr/bin/env python3
"""Keeps the rows of the .def files, the wrappers and the exports of libcuquota.so the same set.

exports.py map OUT DEF...            write the linker's version script (anonymous: a version node would hide
                                     the exports from callers bound to another version, see shim/README.md)
exports.py wrappers DEF... -- OBJ... fail unless the objects define exactly the HOOK rows
exports.py library LIB DEF...        fail unless the library exports exactly the HOOK rows and the doors
"""
import os
import re
import subprocess
import sys

DOORS = ["dlmopen", "dlopen", "dlsym", "dlvsym"]
ROW = re.compile(r"^(HOOK|CALL|PASS)\((\w+)\)\s*(?:/\*.*\*/)?$")
OURS = re.compile(r"^(cu|nvml)[A-Z]")


def fail(message):
    sys.exit("exports.py: " + message)


def hooks(paths):
    found = []
    for path in paths:
        names = []
        for line in re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S).splitlines():
            line = line.strip()
            if not line or line.startswith("#undef"):
                continue
            row = ROW.match(line)
            if not row:
                fail(f"{path}: not a row: {line}")
            names.append(row[2])
            if row[1] == "HOOK":
                found.append(row[2])
        for one, two in zip(names, names[1:]):
            if one >= two:
                fail(f"{path}: {two} must stand before {one}: rows are sorted, each name once")
    return set(found)


def nm(*args):
    text = subprocess.run([os.environ.get("NM", "nm"), *args], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines() if line and not line.endswith(":")]
    # A compiler may split a function: its part "name.cold" is no name of ours.
    return [row for row in rows if "." not in row[-1]]


def same(want, have, what):
    wrong = [f"no {what} for row HOOK({name})" for name in sorted(want - have)]
    wrong += [f"{what} {name} has no row" for name in sorted(have - want)]
    if wrong:
        fail("\n".join(wrong))


def main(verb, *args):
    if verb == "map":
        names = sorted(hooks(args[1:])) + DOORS
        with open(args[0], "w") as out:
            out.write("{\nglobal:\n" + "".join(f"\t{name};\n" for name in names) + "local:\n\t*;\n};\n")
    elif verb == "wrappers":
        split = args.index("--")
        defined = {sym[2] for sym in nm(*args[split + 1:]) if len(sym) == 3 and sym[1] in "TtWi"}
        same(hooks(args[:split]), {name for name in defined if OURS.match(name)}, "wrapper")
    elif verb == "library":
        exported = {sym[2] for sym in nm("-D", "--defined-only", args[0])}
        same(hooks(args[1:]) | set(DOORS), exported, "export")
        text = subprocess.run([os.environ.get("NM", "nm"), "-D", "--undefined-only", args[0]], check=True,
                              capture_output=True, text=True).stdout
        wrong = [word for word in text.split() if OURS.match(word)]
        if wrong:
            fail("undefined: " + " ".join(wrong))
    else:
        fail(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
