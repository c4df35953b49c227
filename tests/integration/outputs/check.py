#!/usr/bin/python3
"""check.py BUILD WORK: otf2judge finds each planted fault with its rule and rank, and nothing in sound archives;
damaged archives are told as such, by exit status 1 or 2, whatever the OTF2 library does with them.
"""
import json
import os
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

build, work = sys.argv[1:]
judge = trial.Judge()


def verdict(name, fine, why=""):
    judge.holds(fine, name, why)


def check(path):
    """Exit status, what it says, what is on standard error."""
    done = subprocess.run([f"{build}/tests/otf2judge", "--json", path], capture_output=True, timeout=300)
    text = done.stdout.decode()
    return done.returncode, json.loads(text) if text else None, done.stderr.decode()


def plant(fault, path):
    subprocess.run([f"{build}/tests/plantedfaults", fault, path], check=True)


def faults():
    listed = subprocess.run([f"{build}/tests/plantedfaults", "--list"], capture_output=True, check=True, text=True)
    lines = listed.stdout.splitlines()
    verdict("there are faults to be planted", len(lines) > 60, lines)
    for line in lines:
        name, rule, rank = line.split()
        path = f"{work}/{name}"
        plant(name, path)
        status, said, errors = check(path)
        told = "; ".join(f"{f['rule']} rank {f.get('rank', -1)}: {f['text']}" for f in said["findings"]) + errors
        if rule == "-":
            verdict(f"nothing is found in the archive {name}", status == 0 and not said["findings"] and not said["found"],
                    told)
            continue
        found = [f for f in said["findings"] if f["rule"] == rule]
        error = any(f["severity"] == "error" for f in found)
        at = [f for f in found if int(rank) in (-2, f.get("rank", -1))]
        verdict(f"{name} is found by {rule}", at and status == (1 if error else 0 if said["errors"] == 0 else 1), told)
        shutil.rmtree(path)


def damage(name, change, statuses, text=""):
    path = f"{work}/damaged"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(f"{work}/none", path)
    change(path)
    status, said, errors = check(path)
    words = errors + json.dumps(said)
    verdict(f"{name}: exit status {status}", status in statuses and text in words, words[-600:])


def write(name, data):
    def change(path):
        with open(f"{path}/{name}", "wb") as file:
            file.write(data)
    return change


def edit(old, new):
    def change(path):
        anchor = f"{path}/traces.otf2"
        data = open(anchor, "rb").read()
        assert data.count(old) == 1, (old, data)
        open(anchor, "wb").write(data.replace(old, new))
    return change


def unlink(name):
    return lambda path: os.unlink(f"{path}/{name}")


def damaged():
    events, local = "traces/0.evt", "traces/0.def"
    damage("a missing anchor", unlink("traces.otf2"), (2,), "not an OTF2 archive")
    damage("an empty anchor", write("traces.otf2", b""), (2,), "cannot be read")
    damage("an anchor of noise", write("traces.otf2", bytes(range(256)) * 8), (2,), "cannot be read")
    damage("missing definitions", unlink("traces.def"), (2,), "cannot be")
    damage("missing events", unlink(events), (1,), "file-missing")
    damage("missing definitions of a location", unlink(local), (1,), "file-missing")
    damage("an event file that is a pipe", lambda path: (os.unlink(f"{path}/{events}"), os.mkfifo(f"{path}/{events}")),
           (1,), "file-missing")
    damage("events of nobody", write("traces/4711.evt", b"x"), (0,), "file-unknown")
    damage("an anchor of another name", lambda path: (os.rename(f"{path}/traces.otf2", f"{path}/other.otf2"),
                                                      os.rename(f"{path}/traces", f"{path}/other"),
                                                      os.rename(f"{path}/traces.def", f"{path}/other.def")),
           (0,), "anchor-name")
    # the anchor is binary: sizes of chunks, ... , number of locations, of definitions
    damage("chunks that are too small", edit(struct.pack("<Q", 1 << 20), struct.pack("<Q", 1 << 16)), (1,), "chunk-size")
    damage("chunks beyond all measure", edit(struct.pack("<Q", 1 << 20), struct.pack("<Q", 1 << 32)), (2,), "chunk-size")
    damage("a wrong number of locations", edit(b"\x01\x01" + struct.pack("<Q", 8), b"\x01\x01" + struct.pack("<Q", 9)),
           (1,), "anchor-count")
    for name in ("traces.otf2", "traces.def", events, local):
        data = open(f"{work}/none/{name}", "rb").read()
        ends = set()
        for part in range(6):
            damage_data = data[:len(data) * part // 6]
            shutil.rmtree(f"{work}/damaged", ignore_errors=True)
            shutil.copytree(f"{work}/none", f"{work}/damaged")
            write(name, damage_data)(f"{work}/damaged")
            status, said, errors = check(f"{work}/damaged")
            ends.add(status if status in (1, 2) and (said or errors) else f"status {status} at {len(damage_data)}")
        verdict(f"{name} cut anywhere: {sorted(map(str, ends))}", ends <= {1, 2}, ends)
        ends = set()
        for part in range(10):
            noise = bytearray(data)
            for i in range(8):
                noise[(part * 7919 + i * 104729) % len(noise)] ^= 1 << (part + i) % 8
            write(name, noise)(f"{work}/damaged")
            status, said, errors = check(f"{work}/damaged")
            ends.add(status if status in (0, 1, 2) and (said or errors) else f"status {status} of {part}")
        verdict(f"{name} with bits turned: {sorted(map(str, ends))}", ends <= {0, 1, 2}, ends)


faults()
damaged()
sys.exit(judge.verdict())
