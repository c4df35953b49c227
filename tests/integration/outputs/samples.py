#!/usr/bin/env python3
"""samples.py BUILD [--make | --expect | --record DIRECTORY]: files of each format version, which stay in tests/samples, are read as ever.

Of the version of today, and of those from 7 on, there is a run file of each shape (plain, compact, ring, counters without a
trace; from 9 on one with samples) and a summary, with what mpit-dump --json and --events made of them. Those of older versions are recordings of
tests/samples/specimen.c, whose numbers are known: those that are read must have them, the others must be refused with a
word that names the version, those that are read, and what to do. All are of x86-64, little endian; xz packs them.

--record DIRECTORY records today's run files there, for fuzzers. --make records samples of a version that has none yet; --expect keeps today's outputs as what is expected, where an output
has changed on purpose."""
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
SHAPES = ("plain", "compact", "ring", "counters", "sampled")
MODES = ("--json", "--events", "--profile")
judge = trial.Judge()
say = judge.holds


def constant(path, name):
    """A version, as the sources have it."""
    with open(SOURCE + "/" + path, encoding="utf-8") as file:
        return int(re.search(r"\b%s = (\d+)" % name, file.read()).group(1))


RUN_VERSION = constant("src/events/format/runfile.h", "RUN_VERSION")
FLAT_VERSION = constant("src/aggregate/summary/summaryflat.c", "FLAT_VERSION")
RUN_VERSION_LEAST = constant("src/events/format/runfile.h", "RUN_VERSION_LEAST")
FLAT_VERSION_LEAST = constant("src/aggregate/summary/summaryflat.c", "FLAT_VERSION_LEAST")
RUN_SAMPLES, SUMMARY_SAMPLES = "%s/run-%d" % (SAMPLES, RUN_VERSION), "%s/summary-%d" % (SAMPLES, FLAT_VERSION)
SHOWN = [(shape, mode) for shape in SHAPES for mode in MODES if mode != "--profile" or shape == "sampled"]
EXPECTED = [("%s/%s.mpit.xz" % (RUN_SAMPLES, shape), mode) for shape, mode in SHOWN]
EXPECTED += [("%s/run-%d/%s.mpit.xz" % (SAMPLES, version, shape), mode) for version in range(RUN_VERSION_LEAST, RUN_VERSION)
             for shape, mode in SHOWN if os.path.exists("%s/run-%d/%s.mpit.xz" % (SAMPLES, version, shape))]
EXPECTED += [("%s/summary-%d/job.summary.xz" % (SAMPLES, version), "--json") for version in range(7, FLAT_VERSION + 1)]


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
    return trial.clean(MPIT_OUTPUT=run, LD_PRELOAD=library, **settings), heat


def record(name, steps, settings, kill=False):
    """A run of one process; returns its files."""
    run = "%s/%s" % (WORK, name)
    env, heat = environment(run, settings)
    process = subprocess.Popen([heat, "--rows", "8", "--columns", "8", "--steps", str(steps)], env=env,
                               stdout=subprocess.DEVNULL, cwd=WORK)
    if kill:
        time.sleep(2)
        process.send_signal(signal.SIGKILL)
    process.wait(timeout=SECONDS)
    subprocess.run([BUILD + "/bin/mpit-collect", run], check=True, timeout=SECONDS, stdout=subprocess.DEVNULL)
    return run


def only(run, ending):
    """The one file of this kind."""
    (path,) = glob.glob("%s/*%s" % (run, ending))
    with open(path, "rb") as file:
        return file.read()


def run_samples_record(keep):
    """Of the version of today. `keep` gets the name and the bytes of each."""
    plain = record("plain", 20, {"MPIT_TRACE": "1"})
    keep("plain.mpit", only(plain, ".mpit"))
    keep("ring.mpit", only(record("ring", 20000, {
        "MPIT_TRACE": "1", "MPIT_TRACE_POLICY": "ring", "MPIT_TRACE_LIMIT_BYTES": "40000"}), ".mpit"))
    keep("counters.mpit", only(record("counters", 10 ** 9, {"MPIT_FLIGHT_EVENTS": "50"}, True), ".mpit"))
    keep("sampled.mpit", only(record("sampled", 500000, {"MPIT_SAMPLE_HZ": "200"}), ".mpit"))
    subprocess.run([DUMP, "--compact", plain], check=True, timeout=SECONDS, stdout=subprocess.DEVNULL)
    keep("compact.mpit", only(plain, ".mpit"))


def run_samples_make():
    os.makedirs(RUN_SAMPLES)
    run_samples_record(lambda name, data: put("%s/%s.xz" % (RUN_SAMPLES, name), data))


def run_samples_give(directory):
    """Not packed."""
    def write(name, data):
        with open(directory + "/" + name, "wb") as file:
            file.write(data)
    run_samples_record(write)


def summary_samples_make():
    """Likewise."""
    os.makedirs(SUMMARY_SAMPLES)
    put(SUMMARY_SAMPLES + "/job.summary.xz", only(record("summary", 20, {}), ".summary"))


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
    command = "record them: python3 tests/integration/outputs/samples.py BUILD --make (and commit tests/samples)"
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
    for version in range(10, FLAT_VERSION + 1):
        part_judge(version)
    for shape in ("plain", "compact"):
        if os.path.exists("%s/%s.mpit.xz" % (RUN_SAMPLES, shape)):
            done = dumped("%s/%s.mpit.xz" % (RUN_SAMPLES, shape), "--verify")
            say(done.returncode == 0, "  the replay of %s equals its tallies" % shape, outcome(done))


def part_judge(version):
    """A part of a summary has the figures of its ranks; what the summary does not have is not 0 there."""
    sample = "%s/summary-%d/job.summary.xz" % (SAMPLES, version)
    ranks = [json.loads(dumped(sample, "--json", *words).stdout)["jobs"][0]["by_rank"] for words in ([], ["--ranks", "0"])]
    say(ranks[0] and ranks[0] == ranks[1], "--ranks of summary-%d has the same figures" % version, ranks)


# What specimen.c does, in both processes together.
CALLS = {"MPI_Init": 2, "MPI_Finalize": 2, "MPI_Isend": 200, "MPI_Irecv": 200, "MPI_Waitall": 204, "MPI_Sendrecv": 6,
         "MPI_Send_init": 2, "MPI_Recv_init": 2, "MPI_Startall": 4, "MPI_Request_free": 4, "MPI_Comm_dup": 2, "MPI_Bcast": 8,
         "MPI_Comm_split": 2, "MPI_Barrier": 4, "MPI_Comm_free": 4, "MPI_Allreduce": 10, "MPI_Win_allocate": 2,
         "MPI_Win_fence": 4, "MPI_Put": 4, "MPI_Win_lock": 2, "MPI_Win_unlock": 2, "MPI_Win_post": 2, "MPI_Win_start": 2,
         "MPI_Get": 2, "MPI_Win_complete": 2, "MPI_Win_wait": 2, "MPI_Win_free": 2, "MPI_File_open": 2,
         "MPI_File_write_at": 2, "MPI_File_close": 2, "MPI_Iprobe": 8000}
OBJECT_BYTES = [384, 128]  # of windows and of files
MESSAGES, MESSAGE_BYTES = 2 * (100 + 3 + 2), 2 * (sum(range(100)) + 3 * 64 + 2 * 32)


def numbers_judge(title, samples, calls, objects=True):
    """The counts are those of the program; `objects`: what was on windows and files is known."""
    laid_out(samples)
    done = tool("--json", "run")
    job = json.loads(done.stdout)["jobs"][0] if done.returncode == 0 else {"calls": {}, "communicators": []}
    counts = {name: call["count"] for name, call in job["calls"].items()}
    world = [comm for comm in job["communicators"] if comm["name"] == "MPI_COMM_WORLD"]
    sent = [(comm["send_count"], comm["send_bytes"], comm["recv_count"], comm["recv_bytes"]) for comm in world]
    on_objects = [comm[name] for comm in world for name in ("rma_bytes", "io_bytes")]
    times = [comm[name] is not None and comm[name] > 0 for comm in world for name in ("rma_time_ns", "io_time_ns")]
    ends = [job.get(name) for name in ("ranks", "world_size", "ended_badly", "spawned", "threads")]
    say(done.returncode == 0 and not done.stderr and counts == calls and ends == [2, 2, 0, False, 2] and
        sent == [(MESSAGES, MESSAGE_BYTES, MESSAGES, MESSAGE_BYTES)] and times == [objects] * 2 and
        on_objects == (OBJECT_BYTES if objects else [None] * 2), title + ": --json has the program's numbers",
        "%s\n%s\n%s %s %s %s" % (done.stderr, {name: (counts.get(name), calls.get(name)) for name in {*counts, *calls}
                                         if counts.get(name) != calls.get(name)}, sent, ends, on_objects, times))


def text_judge(title):
    """The summary as text says how many calls there were, and how many records; one for each message besides."""
    done = tool("--full", "run")
    found = re.search(r"; ([\d,]+) calls, ([\d,]+) event records\n", done.stdout)
    calls, records = [int(number.replace(",", "")) for number in found.groups()] if found else (0, 0)
    say(calls == sum(CALLS.values()) and records > calls, title + ": the summary counts calls, and records beside them",
        outcome(done))


def trace_judge(title, samples):
    """Every output that goes through the events."""
    laid_out(samples)
    done = tool("--verify", "run")
    say(done.returncode == 0 and done.stdout.count("equals the counters") == 2, title + ": the replay equals the counters",
        outcome(done))
    done = tool("--events", "run")
    found = {name: len(re.findall(r"\b%s\b" % name, done.stdout)) for name in ("MPI_Waitall", "MPI_Sendrecv", "MPI_Bcast", "MPI_Put", "MPI_Iprobe")}
    say(done.returncode == 0 and all(found[name] == CALLS[name] for name in found), title + ": --events has all calls",
        "%s\n%s" % (found, done.stderr))
    for mode in ("--csv", "--analyze", "--crash"):
        done = tool(mode, "run")
        say(done.returncode == 0 and done.stdout and not done.stderr, "%s: %s" % (title, mode), outcome(done))
    shutil.rmtree(WORK + "/archive", ignore_errors=True)
    done = tool("--otf2", "archive", "run")
    checked = tool("--check", "archive")
    say(done.returncode == 0 and checked.returncode == 0 and "%d messages matched" % MESSAGES in checked.stdout,
        title + ": --otf2 writes a sound archive with all messages", outcome(done) + outcome(checked))


def readable_judge(version):
    """A version that is read as today's is."""
    directory = "%s/run-%d/" % (SAMPLES, version)
    for shape in ("rank", "compact"):
        samples, title = [directory + shape + "%d.mpit.xz" % rank for rank in (0, 1)], "run-%d/%s" % (version, shape)
        numbers_judge(title, samples, CALLS)
        text_judge(title)
        trace_judge(title, samples)
        before = tool("--events", "run")
        done = tool("--compact", "run")
        after = tool("--events", "run")
        verified = tool("--verify", "run")
        say(done.returncode == 0 and after.returncode == 0 and before.stdout == after.stdout and
            verified.returncode == 0, title + ": --compact changes nothing that is shown", outcome(done) + outcome(verified))


def refused_judge(sample, kind, version, least, current):
    """A version that is not read: nothing is shown, nothing is written, and it is said why."""
    title, run = os.path.relpath(sample, SAMPLES), laid_out([sample])
    (path,) = glob.glob(run + "/*")
    words = ("version %d, but this mpit reads versions %d to %d" % (version, least, current), "the mpit that")
    for mode in (["--summary"], ["--json"], ["--events"], ["--csv"], ["--verify"], ["--crash"], ["--analyze"], ["--compact"],
                 ["--otf2", "refused"], ["--perfetto", "refused"], ["--json", "--analyze"]):
        done = tool(*mode, "run")
        alone = tool(*mode, path)
        good = [one.returncode == 1 and not one.stdout and all(word in one.stderr for word in words) for one in (done, alone)]
        say(all(good) and not os.path.exists(WORK + "/refused"), "%s of %s names the versions" % (" ".join(mode), title),
            outcome(done) + outcome(alone))
    if kind == "run":
        done = tool("--output", "run", "true", name="mpit-run")
        say("this run is written to run.1" in done.stderr, "mpit-run does not record into its directory", outcome(done))
    with open(path, "rb") as file:
        say(file.read() == get(sample) and os.listdir(run) == [os.path.basename(path)], "and the file stays as it is")


def older():
    """What users have kept."""
    for version in range(RUN_VERSION_LEAST, RUN_VERSION):
        say(os.path.isdir("%s/run-%d" % (SAMPLES, version)), "there are samples of RUN_VERSION %d" % version)
        readable_judge(version)
    for version in range(FLAT_VERSION_LEAST, 7):
        numbers_judge("summary-%d" % version, ["%s/summary-%d/job.summary.xz" % (SAMPLES, version)],
                      {name: count for name, count in CALLS.items() if name != "MPI_Finalize"},  # it was made in there
                      objects=version >= 6)
    refused = 0
    for kind, least, current in (("run", RUN_VERSION_LEAST, RUN_VERSION), ("summary", FLAT_VERSION_LEAST, FLAT_VERSION)):
        for sample in sorted(glob.glob("%s/%s-*/*.xz" % (SAMPLES, kind))):
            version = int(re.search(r"-(\d+)/", sample).group(1))
            if version < least and re.search(r"\.(mpit|summary)\.xz$", sample):
                refused += 1
                refused_judge(sample, kind, version, least, current)
    say(refused >= 4, "samples of versions that are refused", refused)


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
        if sys.argv[2:3] == ["--record"]:
            run_samples_give(sys.argv[3])
            return
        if sys.argv[2:] == ["--expect"]:
            for sample, mode in EXPECTED:
                put(expectation(sample, mode), outcome(dumped(sample, mode)).encode())
            return
        today()
        older()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    sys.exit(judge.verdict())


main()
