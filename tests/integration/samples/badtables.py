#!/usr/bin/env python3
"""badtables.py LIBRARY COPY HOW: a copy whose unwind tables are wrong: `far` (each function's entry says that what it
has in common with others lies 2 GiB before it), `long` (each is longer than the file), `noise`."""
import random
import struct
import subprocess
import sys

library, copy, how = sys.argv[1:]
for line in subprocess.run(["readelf", "-SW", library], capture_output=True, text=True, check=True).stdout.splitlines():
    if " .eh_frame " in line:
        offset, size = (int(word, 16) for word in line.split("]")[1].split()[3:5])
data = bytearray(open(library, "rb").read())
if how == "noise":
    random.seed(1)
    data[offset:offset + size] = bytes(random.randrange(256) for _ in range(size))
at, changed = offset, 0
while how != "noise" and at < offset + size - 4:
    length, common = struct.unpack_from("<II", data, at)
    if length == 0:
        break
    if common != 0:
        struct.pack_into("<I", data, at + 4 if how == "far" else at, 0x7FFFFFF0)
        changed += 1
    at += 4 + length
assert changed or how == "noise"
open(copy, "wb").write(data)
