#!/usr/bin/python3
"""A result file of a job without a trace that is damaged: mpit-dump says so, and never shows other figures instead.

    bitflips.py BUILD [FLIPS]

Flips one bit of a file at a time, and cuts the file short. Each must be told: status 1 and a line on stderr.
"""
import os
import random
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

CUTS = 30


def recorded(build, mpi, directory):
    """A job's results. -> the paths of its files"""
    words = [build + "/bin/mpit-run", "--quiet", "--output", directory + "/run", *trial.launcher(mpi, 2),
             f"{build}/tests/chaos-{mpi}", directory, "7", "30", "finalize", "0"]
    ended = trial.run(words, 60)
    if ended.status or ended.hung:
        raise SystemExit(f"bitflips.py: {' '.join(words)}: {ended}")
    return [os.path.join(place, name) for place, _, names in os.walk(directory + "/run") for name in names]


def flipped(draw, content):
    """One bit is another one."""
    damaged = bytearray(content)
    damaged[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return damaged


def shortened(draw, content):
    """Its end is missing."""
    return content[:draw.randrange(len(content))]


def tried(build, directory, files, damage, times):
    """Damages one of the files in turn, many times. -> what was not told"""
    draw, wrong = random.Random(9), []
    whole = {mode: trial.run([build + "/bin/mpit-dump", *mode, directory + "/run"], 30).out for mode in ((), ("--json",))}
    for number in range(times):
        path = draw.choice(files)
        with open(path, "rb") as file:
            content = file.read()
        mode = ((), ("--json",))[number % 2]
        try:
            with open(path, "wb") as file:
                file.write(damage(draw, content))
            ended = trial.run([build + "/bin/mpit-dump", *mode, directory + "/run"], 30)
        finally:
            with open(path, "wb") as file:
                file.write(content)
        if ended.status != 1 or not ended.err.strip():
            seen = "the same output" if ended.out == whole[mode] else "other output"
            wrong.append(f"{os.path.basename(path)}, {number}: status {ended.status}, {seen}, {ended.err.strip() or 'not a word'}")
    return wrong


def main():
    """Both MPIs."""
    build, flips = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 150
    judge = trial.Judge()
    for mpi in trial.mpis(build):
        directory = tempfile.mkdtemp(prefix="mpit-bitflips.")
        try:
            files = recorded(build, mpi, directory)
            names = ", ".join(f"{os.path.basename(path)} of {os.path.getsize(path)} bytes" for path in files)
            judge.check(f"{mpi}: a job without a trace left {names}", [] if files else ["nothing"])
            if not files:
                continue
            for what, damage, times in (("single bit flips", flipped, flips), ("cuts", shortened, CUTS)):
                wrong = tried(build, directory, files, damage, times)
                silent = sum("other output" in line and "not a word" in line for line in wrong)
                judge.check(f"{mpi}: {times} {what} are told",
                            [f"{len(wrong)} are not told, {silent} of them with other output"] + wrong[:5] if wrong else [])
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    sys.exit(judge.verdict())


main()
