#!/usr/bin/env python3
"""counters.py BUILD MPI: counters of the system and of PAPI, from the option to every output, in known numbers."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD, MPI = os.path.abspath(sys.argv[1]), sys.argv[2]
RUN, DUMP, SECONDS = BUILD + "/bin/mpit-run", BUILD + "/bin/mpit-dump", 200
COUNTED = "%s/tests/counted-%s" % (BUILD, MPI)
WORK = tempfile.mkdtemp(prefix="mpit-counters.")
SLACK = 300  # as in counted.c
SOFT = "perf::PAGE-FAULTS,perf::TASK-CLOCK"
judge = trial.Judge()
say = judge.holds


def launcher(ranks):
    """The launcher's line."""
    line = ["mpirun." + MPI, "-n", str(ranks)]
    return line + ["--oversubscribe"] if MPI == "openmpi" else line


def record(name, options, ranks, *arguments, program=COUNTED, settings=None):
    """mpit-run; the run directory is WORK/name."""
    done = subprocess.run([RUN, "--output", WORK + "/" + name, *options, *launcher(ranks), program, *arguments],
                          env=trial.clean(LC_ALL="C", **(settings or {})), capture_output=True, text=True, timeout=SECONDS, check=False)
    return done


def dump(*arguments):
    """mpit-dump."""
    return subprocess.run([DUMP, *arguments], env=trial.clean(LC_ALL="C"), capture_output=True, text=True, timeout=SECONDS, check=False)


def judged(archive):
    """otf2judge."""
    return subprocess.run([BUILD + "/tests/otf2judge", archive], capture_output=True, text=True, timeout=SECONDS, check=False)


def lines_check(name, done, status=0):
    """What the program has found."""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("ok ", "not ok "))]
    bad = [line for line in lines if line.startswith("not ok")]
    say(done.returncode == status and lines and not bad, "%s: %d checks of the program" % (name, len(lines)),
        "status %d\n%s\n%s" % (done.returncode, "\n".join(bad), done.stderr))


def job_of(name):
    """The summary as JSON."""
    return json.loads(dump("--json", WORK + "/" + name).stdout)["jobs"][0]


def counters_of(job):
    """By name."""
    return {counter["name"]: counter for counter in job["counters"]}


def mpit_said(done):
    """The recorder's own lines."""
    return [line for line in done.stderr.splitlines() if line.startswith("mpit: ")]


def rates_check(job):
    """Of the time that was counted: with MPI_Init and MPI_Finalize, which are not in the run time."""
    ends = sum(job["calls"].get(name, {"time_ns": 0})["time_ns"] for name in ("MPI_Init", "MPI_Init_thread", "MPI_Finalize",
                                                                           "MPI_Session_init", "MPI_Session_finalize"))
    seconds = job["run_seconds"]["mean"] * job["ranks"] + ends / 1e9
    for name, counter in counters_of(job).items():
        say(abs(counter["per_second"] * seconds - counter["total"]) <= counter["total"] * 1e-6,
            "%s: as many a second as there are in all" % name, "%s in %f s" % (counter, seconds))
    clock = counters_of(job)["perf::TASK-CLOCK"]["per_second"]
    say(0 < clock < 1.1e9, "one thread has one second in a second", clock)


def soft():
    """Events of the kernel, in places that the program knows; every output has the same figures."""
    done = record("soft", ["--otf2", "--full", "--papi", SOFT], 2)
    lines_check("known pages", done)
    say("perf::PAGE-FAULTS" in done.stderr + done.stdout and "outside_mpi" in done.stderr + done.stdout,
        "the summary has them", done.stderr)
    verify = dump("--verify", WORK + "/soft")
    say(verify.returncode == 0, "a replay of the trace gives the same", verify.stdout + verify.stderr)
    check = judged(WORK + "/soft/otf2")
    say(check.returncode == 0, "the archive is accepted", check.stdout + check.stderr)
    counters = counters_of(job_of("soft"))
    faults = counters.get("perf::PAGE-FAULTS", {"places": {}, "total": -1, "ranks": 0})
    say(sum(faults["places"].values()) == faults["total"] and faults["ranks"] == 2 and faults["places"]["completion"] > 6000,
        "the summary's total is the sum of its places", faults)
    say(counters["perf::TASK-CLOCK"]["unit"] == "ns", "a clock has its unit", counters)
    rates_check(job_of("soft"))
    metrics = archive_values(WORK + "/soft/otf2/traces.otf2")
    say(metrics and all(values == sorted(values) for values in metrics.values()), "metrics grow", str(metrics)[:500])
    last = sum(max(values) for (_, name), values in metrics.items() if name == "perf::PAGE-FAULTS")
    say(0 < last <= faults["total"] and faults["total"] - last < faults["total"] * 0.2 + 4000,
        "the archive's last values are the summary's", "%d and %d" % (last, faults["total"]))


def archive_values(anchor):
    """By location and metric: the values in their order."""
    text = subprocess.run(["otf2-print", anchor], capture_output=True, text=True, timeout=SECONDS, check=False).stdout
    found = {}
    for line in text.splitlines():
        if line.startswith("METRIC") and "Value: (" in line:
            location = line.split()[1]
            name, value = line.split("Value: (")[1].split(";")[0], line.split("Value: (")[1].split(";")[2]
            found.setdefault((location, name.split('"')[1]), []).append(int(value.strip(" )").split(")")[0]))
    return found


def system():
    """Handles, and the option."""
    done = record("handles", [], 1, "os")
    lines_check("started handles", done)
    done = record("os", ["--os", "--otf2"], 2, "os")
    job = job_of("os")
    faults = counters_of(job).get("minor page faults", {"places": {"completion": 0, "outside_mpi": 0}})
    say(faults["places"]["completion"] >= 2 * 2 * 3000 and faults["places"]["outside_mpi"] >= 2 * 3000,
        "--os counts where pages were touched", faults)
    told = [list(map(int, line.split()[1:])) for line in done.stdout.splitlines() if line.startswith("faults ")]
    least, most = (sum(rank[end] for rank in told) for end in (0, 1))
    total = sum(faults["places"].values())
    say(len(told) == 2 and total == faults["total"] and least - 2 * SLACK <= total <= most + 2 * SLACK,
        "the sum over the places is what the kernel counted, short calls included", "%d, not %d to %d" % (total, least, most))
    metrics = archive_values(WORK + "/os/otf2/traces.otf2")
    last = sum(max(values) for (_, name), values in metrics.items() if name == "minor page faults")
    say(all(values == sorted(values) for values in metrics.values()) and total - 2 * SLACK <= last <= total,
        "so are the last values of the archive", "%d and %d" % (last, total))
    check = judged(WORK + "/os/otf2")
    say(check.returncode == 0, "which is accepted", check.stdout + check.stderr)
    say(len([line for line in mpit_said(done) if "mpit_os_time" in line]) <= 1, "what the kernel cannot tell is said once",
        done.stderr)
    verify = dump("--verify", WORK + "/os")
    say(verify.returncode == 0, "a replay gives the same", verify.stdout + verify.stderr)


def refused():
    """Names that cannot be counted: said once, with others that can, and the rest is counted."""
    done = record("refused", ["--papi", "perf::PAGE-FALUTS,perf::PAGE-FAULTS,PAPI_NO_SUCH"], 2, "os")
    said = mpit_said(done)
    wrong = [line for line in said if "perf::PAGE-FALUTS is not counted" in line]
    say(done.returncode == 0 and len(wrong) == 1 and "perf::PAGE-FAULTS" in wrong[0],
        "an unknown name is said once, with one like it", done.stderr)
    say(len([line for line in said if "PAPI_NO_SUCH is not counted" in line]) == 1, "and the next one", done.stderr)
    say("perf::PAGE-FAULTS" in counters_of(job_of("refused")), "the run goes on with the others", done.stderr)
    many = ",".join("perf::%s" % name for name in ("PAGE-FAULTS", "TASK-CLOCK", "CPU-CLOCK", "CS", "MINOR-FAULTS"))
    done = record("many", ["--papi", many], 1, "os")
    say(done.returncode == 0 and set(many.split(",")) == set(counters_of(job_of("many"))) - {"kernel time"} - SYSTEM,
        "five at once", done.stderr)
    done = subprocess.run([RUN, "--papi", "with blanks", "true"], env=trial.clean(LC_ALL="C"), capture_output=True, text=True,
                          timeout=SECONDS, check=False)
    say(done.returncode == 2, "what cannot be a list of names ends mpit-run", done.stderr)


def events_of_programs():
    """PAPI itself, with events whose values the program knows; and mpit's variables as events of PAPI."""
    steps, tool = ("%s/tests/%s-%s" % (BUILD, name, MPI) for name in ("sdesteps", "sdetool"))
    if not os.path.exists(steps):
        judge.skip("events of programs", "there is no PAPI with software-defined events")
        return
    done = record("steps", ["--trace", "--papi", "sde:::program::steps,sde:::program::length"], 1, program=steps)
    lines_check("an event of the program, by PAPI", done)
    say(len(re.findall("sde:::program::length decreased by 50: it is a level, not a counter", done.stderr)) == 1,
        "a level that falls is told once", done.stderr)
    counter = counters_of(job_of("steps")).get("sde:::program::steps", {"places": {}})
    say(counter["places"].get("outside_mpi") == 300 and counter["places"].get("completion") == 21, "in the summary, too", counter)
    verify = dump("--verify", WORK + "/steps")
    say(verify.returncode == 0, "and in a replay", verify.stdout + verify.stderr)
    done = record("tool", [], 2, program=tool, settings={"MPIT_SDE": "1"})
    lines_check("a tool of PAPI reads mpit", done)
    done = record("theirs", ["--papi", "PAPI_TOT_INS"], 1, program=tool, settings={"MPIT_SDE": "1"})
    lines_check("a program that uses PAPI keeps it", done)
    say("itself has loaded PAPI" in done.stderr, "and is told so", done.stderr)


def loaded():
    """What nobody asks for is not there."""
    for options, there in ((["--os"], False), (["--papi", SOFT], False), ([], False), (["--papi", "PAPI_TOT_CYC"], True)):
        done = subprocess.run([RUN, "--output", WORK + "/maps", *options, *launcher(1), "sh", "-c",
                               "LD_DEBUG=files exec " + COUNTED + " os"], env=trial.clean(LC_ALL="C"), capture_output=True, text=True,
                              timeout=SECONDS, check=False)
        say(("libpapi" in done.stderr.replace("libpapi cannot", "")) == there, "libpapi is loaded with %s: %s" %
            (" ".join(options) or "no option", there), done.stderr[-300:])
        shutil.rmtree(WORK + "/maps", ignore_errors=True)


SYSTEM = {"voluntary switches", "involuntary switches", "minor page faults", "major page faults"}

try:
    soft()
    system()
    refused()
    events_of_programs()
    loaded()
finally:
    if judge.failed:
        print("left in " + WORK)
    else:
        shutil.rmtree(WORK, ignore_errors=True)
sys.exit(judge.verdict())
