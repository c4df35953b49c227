#!/usr/bin/env python3
"""The functions that a preload library has trampolines for, as the recorders' objects ask for their gates.

    names.py PREFIX NM OBJECT...

PREFIX: mpit_gate_ or mpit_guard_. Writes PRELOAD_NAMES(X), with X(number, name) for each, to standard output.
"""
import subprocess
import sys


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    prefix, nm, objects = sys.argv[1], sys.argv[2], sys.argv[3:]
    listed = subprocess.run([nm, "-u", *objects], check=True, capture_output=True, text=True).stdout
    words = (line.split()[-1] for line in listed.splitlines() if line.split())
    names = sorted({word[len(prefix):] for word in words if word.startswith(prefix)})
    if not names:
        sys.exit(f"names.py: no symbol {prefix}* in {' '.join(objects)}")
    print("/* Generated from the recorders' objects. */")
    print(f"enum {{ PRELOAD_COUNT = {len(names)}, PRELOAD_NAME_BYTES = {max(map(len, names)) + 1} }};")
    print("#define PRELOAD_NAMES(X) \\")
    print(" \\\n".join(f"    X({i}, {name})" for i, name in enumerate(names)))


main()
