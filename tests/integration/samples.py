#!/usr/bin/env python3
"""samples.py BUILD [--make | --expect]: files of each format version, which stay in tests/samples, are read as ever.

Of the version of today there is a run file of each shape (plain, compact, ring, counters without a trace) and a summary,
with what mpit-dump --json and --events made of them when they were recorded. Of older versions there are run files, and
mpit-dump refuses them by name, or reads them. All are of x86-64, little endian; xz packs them.

--make records samples of a version that has none yet; --expect keeps today's outputs as what is expected, where an output
has changed on purpose."""
import difflib
import glob
import hashlib
import lzma
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLES = SOURCE + "/tests/samples"
DUMP, SECONDS = BUILD + "/bin/mpit-dump", 120
WORK = tempfile.mkdtemp(prefix="mpit-samples.", dir="/tmp")
SHAPES = ("plain", "compact", "ring", "counters")
MODES = ("--json", "--events")
passed = failed = 0


def say(good, name, details=""):
    """A check's outcome."""
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print("%s %s" % ("ok" if good else "not ok", name) + ("" if good else "\n    " + str(details)[-2000:].replace("\n", "\n    ")))
    sys.stdout.flush()


def constant(path, name):
    """A version, as the sources have it."""
    with open(SOURCE + "/" + path, encoding="utf-8") as file:
        return int(re.search(r"\b%s = (\d+)" % name, file.read()).group(1))


RUN_VERSION = constant("src/events/runfile.h", "RUN_VERSION")
FLAT_VERSION = constant("src/aggregate/summary.c", "FLAT_VERSION")
RUN_SAMPLES, SUMMARY_SAMPLES = "%s/run-%d" % (SAMPLES, RUN_VERSION), "%s/summary-%d" % (SAMPLES, FLAT_VERSION)
EXPECTED = [("%s/%s.mpit.xz" % (RUN_SAMPLES, shape), mode) for shape in SHAPES for mode in MODES]
EXPECTED += [(SUMMARY_SAMPLES + "/job.summary.xz", "--json")]


def put(path, data):
    """Packs what a sample is."""
    with lzma.open(path, "wb", preset=6) as file:
        file.write(data)


def get(path):
    """And takes it out."""
    with lzma.open(path) as file:
        return file.read()


def environment(run, settings):
    """That of a program which is recorded by the first MPI that there is."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MPIT_") and name != "LD_PRELOAD"}
    mpi = "mpich" if os.path.exists(BUILD + "/lib/libmpit-mpich.so") else "openmpi"
    kept.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MPIT_OUTPUT=run,
                LD_PRELOAD="%s/lib/libmpit-%s.so" % (BUILD, mpi), **settings)
    heat = WORK + "/heat"  # its place is written into the file
    shutil.copy("%s/tests/heat-%s" % (BUILD, mpi), heat)
    return kept, heat


def record(name, steps, settings, kill=False):
    """A run of one process; returns its files."""
    run = "%s/%s" % (WORK, name)
    env, heat = environment(run, settings)
    process = subprocess.Popen([heat, "--rows", "8", "--columns", "8", "--steps", str(steps)], env=env,
                               stdout=subprocess.DEVNULL)
    if kill:
        time.sleep(2)
        process.send_signal(signal.SIGKILL)
    process.wait(timeout=SECONDS)
    return run


def only(run, ending):
    """The one file of this kind."""
    (path,) = glob.glob("%s/*%s" % (run, ending))
    with open(path, "rb") as file:
        return file.read()


def run_samples_make():
    """Of the version of today."""
    os.makedirs(RUN_SAMPLES)
    plain = record("plain", 20, {"MPIT_TRACE": "1"})
    put(RUN_SAMPLES + "/plain.mpit.xz", only(plain, ".mpit"))
    put(RUN_SAMPLES + "/ring.mpit.xz", only(record("ring", 20000, {
        "MPIT_TRACE": "1", "MPIT_TRACE_POLICY": "ring", "MPIT_TRACE_LIMIT_BYTES": "40000"}), ".mpit"))
    put(RUN_SAMPLES + "/counters.mpit.xz", only(record("counters", 10 ** 9, {"MPIT_FLIGHT_EVENTS": "50"}, True), ".mpit"))
    subprocess.run([DUMP, "--compact", plain], check=True, timeout=SECONDS, stdout=subprocess.DEVNULL)
    put(RUN_SAMPLES + "/compact.mpit.xz", only(plain, ".mpit"))


def summary_samples_make():
    """Likewise."""
    os.makedirs(SUMMARY_SAMPLES)
    put(SUMMARY_SAMPLES + "/job.summary.xz", only(record("summary", 20, {}), ".summary"))


def dumped(sample, *words):
    """What mpit-dump makes of a sample; the same words wherever it lies."""
    run = WORK + "/run"
    shutil.rmtree(run, ignore_errors=True)
    os.mkdir(run)
    with open("%s/%s" % (run, os.path.basename(sample)[:-3]), "wb") as file:
        file.write(get(sample))
    return subprocess.run([DUMP, *words, "run"], cwd=WORK, env=dict(os.environ, LC_ALL="C", TZ="UTC"), text=True,
                          capture_output=True, timeout=SECONDS, check=False)


def expectation(sample, mode):
    """Where that is kept."""
    return re.sub(r"\.[a-z]+\.xz$", "." + mode[2:] + ".xz", sample)


def outcome(done):
    """All that a caller sees; of a long text its begin, its end, and a hash of all of it."""
    text = "status %d\n%s%s" % (done.returncode, done.stdout, done.stderr)
    lines = text.splitlines(True)
    if len(lines) <= 400:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()
    return "".join(lines[:60] + ["... %d lines, sha256 %s ...\n" % (len(lines), digest)] + lines[-60:])


def today():
    """What was recorded by this version."""
    command = "record them: python3 tests/integration/samples.py BUILD --make (and commit tests/samples)"
    for directory, name, version in ((RUN_SAMPLES, "RUN_VERSION", RUN_VERSION),
                                     (SUMMARY_SAMPLES, "FLAT_VERSION", FLAT_VERSION)):
        say(os.path.isdir(directory), "there are samples of %s %d" % (name, version),
            "%s is missing; %s" % (os.path.relpath(directory, SOURCE), command))
    for sample, mode in EXPECTED:
        name = "%s of %s" % (mode, os.path.relpath(sample, SAMPLES))
        if not os.path.exists(sample) or not os.path.exists(expectation(sample, mode)):
            say(False, name, "it is missing; " + command)
            continue
        wanted, got = get(expectation(sample, mode)).decode(), outcome(dumped(sample, mode))
        say(got == wanted, name + " is as it was", "".join(difflib.unified_diff(
            wanted.splitlines(True), got.splitlines(True), "expected", "got", n=0))[:2000] +
            "\n(on purpose? samples.py BUILD --expect)")
    for shape in ("plain", "compact"):
        if os.path.exists("%s/%s.mpit.xz" % (RUN_SAMPLES, shape)):
            done = dumped("%s/%s.mpit.xz" % (RUN_SAMPLES, shape), "--verify")
            say(done.returncode == 0, "  the replay of %s equals its tallies" % shape, outcome(done))


def older():
    """Refused with a word that names both versions, or read."""
    for kind, current in (("run", RUN_VERSION), ("summary", FLAT_VERSION)):
        for sample in sorted(glob.glob("%s/%s-*/*.xz" % (SAMPLES, kind))):
            version = int(re.search(r"-(\d+)/", sample).group(1))
            if version == current or not re.search(r"\.(mpit|summary)\.xz$", sample):
                continue
            for mode in ("--json", "--events", "--verify", "--crash"):
                done = dumped(sample, mode)
                word = "version %d; this mpit reads version %d" % (version, current)
                say(done.returncode == 1 and word in done.stderr or
                    mode == "--verify" and done.returncode == 0 and "equals the tallies" in done.stdout,
                    "%s of %s names both versions" % (mode, os.path.relpath(sample, SAMPLES)), outcome(done))


def main():
    """Makes, or judges."""
    try:
        if sys.argv[2:] == ["--make"]:
            for directory, make in ((RUN_SAMPLES, run_samples_make), (SUMMARY_SAMPLES, summary_samples_make)):
                if os.path.isdir(directory):
                    print("%s is there; its samples stay" % os.path.relpath(directory, SOURCE))
                    continue
                make()
                for sample, mode in EXPECTED:
                    if os.path.dirname(sample) == directory:
                        put(expectation(sample, mode), outcome(dumped(sample, mode)).encode())
            return
        if sys.argv[2:] == ["--expect"]:
            for sample, mode in EXPECTED:
                put(expectation(sample, mode), outcome(dumped(sample, mode)).encode())
            return
        today()
        older()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed or not passed else 0)


main()
