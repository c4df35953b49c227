#!/usr/bin/env python3
"""samples.py BUILD [--make | --expect]: files of the present formats, which stay in tests/samples, are read as ever.

There is a live file of each shape (plain, ring, counters without a trace, with samples), and a job file with a packed run and one
with a summary, with what mpit-dump --json and --events made of them. All are of x86-64, little endian; xz packs them. Files of another version are
refused with a word that names the versions, and what to do.

--make records the samples anew, after a change of a format.
--expect keeps today's outputs as what is expected, where an output has changed on purpose."""
import difflib
import glob
import hashlib
import json
import lzma
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD = os.path.abspath(sys.argv[1])
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
SAMPLES = SOURCE + "/tests/samples"
DUMP, SECONDS = BUILD + "/bin/mpit-dump", 120
WORK = tempfile.mkdtemp(prefix="mpit-samples.", dir="/tmp")
SHAPES = ("plain", "packed", "ring", "counters", "sampled", "summary")
MODES = ("--json", "--events", "--profile")
judge = trial.Judge()
say = judge.holds


def constant(path, name):
    """A version, as the sources have it."""
    with open(SOURCE + "/" + path, encoding="utf-8") as file:
        return int(re.search(r"\b%s = (\d+)" % name, file.read()).group(1))


RUN_VERSION = constant("src/events/format/runfile.h", "RUN_VERSION")
RUN_SAMPLES = SAMPLES + "/run"
SUMMARY = RUN_SAMPLES + "/summary.mpit.xz"
EXPECTED = [("%s/%s.mpit.xz" % (RUN_SAMPLES, shape), mode) for shape in SHAPES for mode in MODES
            if shape != "summary" and (mode != "--profile" or shape == "sampled")] + [(SUMMARY, "--json")]


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
    mpi = "mpich" if os.path.exists(BUILD + "/lib/libmpit-mpich.so") else "openmpi"
    library, heat = WORK + "/libmpit.so", WORK + "/heat"  # their places are written into the file
    shutil.copy(BUILD + "/lib/libmpit.so", library)
    shutil.copy("%s/lib/libmpit-%s.so" % (BUILD, mpi), WORK)
    subprocess.run(["strip", "-g", "-o", heat, "%s/tests/heat-%s" % (BUILD, mpi)], check=True)  # no names of source files
    if "MPIT_SAMPLE_HZ" in settings:
        library = shutil.copy(BUILD + "/lib/libmpit-sampler.so", WORK) + ":" + library
    return trial.clean(MPIT_OUTPUT=run, MPIT_SPOOL=WORK + "/spool", LD_PRELOAD=library, **settings), heat


def record(name, steps, settings, kill=False):
    """A run of one process, whose live file stays in the spool: there is no directory for its results. Its bytes."""
    os.makedirs(WORK + "/spool", exist_ok=True)
    env, heat = environment("/proc/no/" + name, settings)
    process = subprocess.Popen([heat, "--rows", "8", "--columns", "8", "--steps", str(steps)], env=env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=WORK)
    if kill:
        time.sleep(2)
        process.send_signal(signal.SIGKILL)
    process.wait(timeout=SECONDS)
    (path,) = glob.glob(WORK + "/spool/*/*/*.mpit")
    with open(path, "rb") as file:
        return path, file.read()


def collected(live):
    """The job file that becomes of a live file."""
    run = WORK + "/collected"
    subprocess.run([BUILD + "/bin/mpit-collect", "--to", run, os.path.dirname(live)], check=True, timeout=SECONDS, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, MPIT_SPOOL=WORK + "/spool"))
    (path,) = glob.glob(run + "/*.mpit")
    with open(path, "rb") as file:
        data = file.read()
    os.unlink(path)
    return data


def samples_make():
    """Of the version of today."""
    for name, steps, settings, kill in (
            ("plain", 20, {"MPIT_TRACE": "1"}, False),
            ("ring", 20000, {"MPIT_TRACE": "1", "MPIT_TRACE_POLICY": "ring", "MPIT_TRACE_LIMIT_BYTES": "40000"}, False),
            ("counters", 10 ** 9, {"MPIT_FLIGHT_EVENTS": "50"}, True),
            ("sampled", 500000, {"MPIT_SAMPLE_HZ": "200"}, False),
            ("summary", 20, {}, False)):
        path, data = record(name, steps, settings, kill)
        packed = collected(path)
        if name == "plain":
            put(RUN_SAMPLES + "/packed.mpit.xz", packed)
        put("%s/%s.mpit.xz" % (RUN_SAMPLES, name), packed if name == "summary" else data)


def laid_out(samples):
    """A run directory with these files; its path."""
    run = WORK + "/run"
    shutil.rmtree(run, ignore_errors=True)
    os.mkdir(run)
    for sample in samples:
        with open("%s/%s" % (run, os.path.basename(sample)[:-3]), "wb") as file:
            file.write(get(sample))
    return run


def tool(*words, name="mpit-dump"):
    """A tool, in the directory of the runs."""
    return subprocess.run(["%s/bin/%s" % (BUILD, name), *words], cwd=WORK, env=dict(os.environ, LC_ALL="C", TZ="UTC"),
                          text=True, capture_output=True, timeout=SECONDS, check=False)


def dumped(sample, *words):
    """What mpit-dump makes of a sample; the same words wherever it lies."""
    laid_out([sample])
    if words == ("--profile",):
        return profile_without_names(tool("--profile", "--json", "run"))
    return tool(*words, "run")


def profile_without_names(done):
    """What of a profile does not depend on the symbols of the libraries that are installed here."""
    if done.returncode == 0:
        (job,) = json.loads(done.stdout)["jobs"]
        calls = sorted((call["name"], call["time"]) for call in job["calls"])
        done.stdout = json.dumps([job[name] for name in ("program", "processes", "threads", "period_ns", "lost", "damaged_threads",
                                                         "effective_samples", "time", "states", "timers")] + calls, indent=1)
    return done


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
    for sample, mode in EXPECTED:
        name = "%s of %s" % (mode, os.path.relpath(sample, SAMPLES))
        wanted, got = get(expectation(sample, mode)).decode(), outcome(dumped(sample, mode))
        say(got == wanted, name + " is as it was", "".join(difflib.unified_diff(
            wanted.splitlines(True), got.splitlines(True), "expected", "got", n=0))[:2000] +
            "\n(on purpose? samples.py BUILD --expect. Another format? samples.py BUILD --make)")
    ranks = [json.loads(dumped(SUMMARY, "--json", *words).stdout)["jobs"][0]["by_rank"] for words in ([], ["--ranks", "0"])]
    say(ranks[0] and ranks[0] == ranks[1], "--ranks of a summary has the same figures", ranks)
    for shape in ("plain", "packed"):
        done = dumped("%s/%s.mpit.xz" % (RUN_SAMPLES, shape), "--verify")
        say(done.returncode == 0, "  the replay of %s equals its tallies" % shape, outcome(done))


def refused():
    """A file of another version: nothing is shown, nothing is written, and it is said why. (Of summaries: unit.summary.)"""
    run, other = laid_out([RUN_SAMPLES + "/plain.mpit.xz"]), RUN_VERSION - 1
    (path,) = glob.glob(run + "/*")
    with open(path, "r+b") as file:
        data = file.read(8) + other.to_bytes(4, "little") + file.read()[4:]
        file.seek(0)
        file.write(data)
    words = ("version %d, but this mpit reads version %d" % (other, RUN_VERSION), "the mpit that")
    for mode in (["--summary"], ["--json"], ["--events"], ["--csv"], ["--verify"], ["--crash"], ["--analyze"],
                 ["--otf2", "refused"], ["--perfetto", "refused"], ["--json", "--analyze"]):
        ends = tool(*mode, "run"), tool(*mode, path)
        good = [one.returncode == 1 and not one.stdout and all(word in one.stderr for word in words) for one in ends]
        say(all(good) and not os.path.exists(WORK + "/refused"), "%s of another version names the versions" % " ".join(mode),
            outcome(ends[0]) + outcome(ends[1]))
    done = tool("--output", "run", "true", name="mpit-run")
    say("this run is written to run.1" in done.stderr, "mpit-run does not record into its directory", outcome(done))
    with open(path, "rb") as file:
        say(file.read() == data and os.listdir(run) == [os.path.basename(path)], "and the file stays as it is")


def main():
    """Makes, or judges."""
    try:
        if sys.argv[2:] == ["--make"]:
            os.makedirs(RUN_SAMPLES, exist_ok=True)
            samples_make()
        if sys.argv[2:] in (["--make"], ["--expect"]):
            for sample, mode in EXPECTED:
                put(expectation(sample, mode), outcome(dumped(sample, mode)).encode())
            return
        today()
        refused()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    sys.exit(judge.verdict())


main()
