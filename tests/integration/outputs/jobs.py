#!/usr/bin/env python3
"""jobs.py BUILD: mpit-jobs over a log tree of jobs that were recorded here.

Each row has to agree with `mpit-dump --json` of the job's summary. Filters, the index, parts of a job, damaged files, and
how a job differs from the usual, which is calculated here again."""
import datetime
import glob
import json
import os
import re
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD = os.path.abspath(sys.argv[1])
JOBS, DUMP = BUILD + "/bin/mpit-jobs", BUILD + "/bin/mpit-dump"
judge = trial.Judge()
if not os.path.exists(JOBS):
    judge.skip("mpit-jobs", "this build has no SQLite, and so no mpit-jobs")
    sys.exit(judge.verdict())
WORK = tempfile.mkdtemp(prefix="mpit-jobs.", dir="/tmp")
LOGS = WORK + "/logs"
SECONDS = 60


def tool(*words):
    return trial.run([JOBS, *words], SECONDS, trial.environment())


def listed(*words):
    ended = tool("--json", *words)
    judge.holds(ended.status == 0, "mpit-jobs %s" % " ".join(words), str(ended))
    return json.loads(ended.out) if ended.status == 0 else {"jobs": [], "read": None}


def recorded(mpi, ranks, number, user, program, *words, **env):
    """A job without mpit-run, into the log tree. -> exit status"""
    exported = {"LD_PRELOAD": trial.preload(BUILD, mpi), "MPIT_OUTPUT": LOGS + "/%Y/%m/%d/%p-%j", "USER": user,
                "LSB_JOBID": str(number), **env}
    return trial.run([*trial.launcher(mpi, ranks, exported), *program, *words], SECONDS, trial.environment()).status


def shown(*words):
    """Finding and directory of each line of the table."""
    head, *lines = tool(*words).out.splitlines()
    if not head.startswith("when"):
        return []
    first = head.index("first finding")
    return [re.match("(.*?)  +(.*)", line[first:]).groups() for line in lines]


def traced(mpi):
    """A trace tells more than the counters: the job's finding is the one of its own screen."""
    run = "%s/traced-%s" % (WORK, mpi)
    ended = trial.run([BUILD + "/bin/mpit-run", "--quiet", "--trace", "--output", run, *trial.launcher(mpi, 2, {}),
                       BUILD + "/tests/diseases-" + mpi, "late_rank", WORK], SECONDS, trial.environment())
    judge.holds(ended.status == 0, mpi + ": a job with a trace", str(ended))
    rows_agree(mpi, listed(run)["jobs"])
    judge.holds([directory for _, directory in shown(run)] == [run], mpi + ": its directory", str(shown(run)))


def number_of(job):
    return int((job["scheduler_job"] or "lsf 0").split()[1])


def rows_agree(mpi, rows):
    """Each row, with the JSON of its summary."""
    wrong = []
    for row in rows:
        if row["source"].startswith("job "):
            continue
        job = json.loads(trial.run([DUMP, "--json", row["source"]], SECONDS, trial.environment()).out)["jobs"][0]
        findings = job["findings"] or [{"rule": None, "text": None}]
        finding = next((one for one in findings if not one.get("note")), findings[0])
        expected = {
            "job": job["job"], "user": job["origin"]["user"],
            "scheduler_job": job["origin"]["scheduler_job"], "program": os.path.basename(job["program"]),
            "path": job["program"], "command": job["origin"]["command"], "mpi": job["mpi"], "size": job["world_size"],
            "ranks": job["ranks"], "hosts": 1, "host_names": " ".join(job["origin"]["hosts"]),
            "ended_badly": job["ended_badly"], "seconds": job["run_seconds"]["max"], "mpi_share": job["mpi_share"]["mean"],
            "parallel_efficiency": job["efficiency"]["parallel"], "load_balance": job["efficiency"]["load_balance"],
            "communication_efficiency": job["efficiency"]["communication"],
            "messages": sum(rank["messages_sent"] for rank in job["by_rank"]),
            "bytes": sum(rank["bytes_sent"] for rank in job["by_rank"]), "rule": finding["rule"], "finding": finding["text"]}
        if os.getuid() != 0:
            del expected["user"]  # the file's owner, whatever USER says
        for key, value in expected.items():
            same = abs(row[key] - value) <= 1e-9 * abs(value) if isinstance(value, float) else row[key] == value
            if not same:
                wrong.append("%s of %s: %s, expected %s" % (key, row["source"], row[key], value))
        if abs(row["begin"] - job["origin"]["begin_ns"] / 1e9) > 1e-5:
            wrong.append("begin: %s" % row["begin"])
    judge.check(mpi + ": rows are as mpit-dump says", wrong)


def filters(mpi, made):
    """`made`: {number: (user, ranks, program)}"""
    def numbers(*words):
        return sorted(number_of(job) for job in listed(*words, LOGS)["jobs"])

    everyone = sorted(made)
    ann = sorted(n for n, (user, _, _) in made.items() if user == "ann")
    twos = sorted(n for n, (_, ranks, _) in made.items() if ranks == 2)
    heats = sorted(n for n, (_, _, program) in made.items() if program == "heat")
    cases = [((), everyone), (("--ranks", "2"), twos), (("--ranks", "2-3"), everyone), (("--ranks", "64"), []),
             (("--program", "heat-" + mpi), heats), (("--program", "hea*"), heats), (("--program", "hea"), []),
             (("--since", "1h"), everyone), (("--until", "1h"), []), (("--since", "2020-01-01"), everyone),
             (("--since", (datetime.datetime.now() + datetime.timedelta(days=1)).strftime("%Y-%m-%d %H:%M")), []),
             (("--host", os.uname().nodename), everyone), (("--host", "there-is-none"), []),
             (("--where", "size = 2 AND messages > 0", "--program", "heat*"), sorted(set(heats) & set(twos)))]
    if os.getuid() == 0:
        cases += [(("--user", "ann"), ann), (("--user", "nobody"), [])]
    for words, expected in cases:
        found = numbers(*words)
        judge.holds(found == expected, "%s: %s" % (mpi, " ".join(words) or "no filter"), "%s, expected %s" % (found, expected))
    rule = listed(LOGS)["jobs"][0]["rule"]
    judge.holds(rule is None or all(job["rule"] == rule for job in listed("--finding", rule, LOGS)["jobs"]), mpi + ": --finding")
    wrong = []
    for found, directory in shown(LOGS):
        wrong += [directory] if not glob.glob(directory + "/*.mpit") else []
        wrong += [found] if found and found not in [one for one, _ in shown("--finding", found, LOGS)] else []
    judge.check(mpi + ": the table has directories, and findings that --finding takes", wrong)
    longest = [job["seconds"] for job in listed("--sort", "seconds", LOGS)["jobs"]]
    judge.holds(longest == sorted(longest, reverse=True), mpi + ": --sort")
    newest = [job["begin"] for job in listed("--limit", "2", LOGS)["jobs"]]
    judge.holds(newest == sorted((job["begin"] for job in listed(LOGS)["jobs"]), reverse=True)[:2], mpi + ": the newest come first")
    text = tool(LOGS, "--limit", "1").out.splitlines()
    judge.holds(len(text) == 3 and text[0].startswith("when") and "%d more: --limit 0" % (len(made) - 1) in text[2],
                mpi + ": the text has a line a job, and says what it leaves out", str(text))


def usual(mpi):
    """Jobs 1 to 5 are alike. Job 6 sends ten times as many messages."""
    rows = {number_of(job): job for job in listed(LOGS)["jobs"]}
    told = listed("--usual", "6", LOGS)
    others = [rows[number] for number in range(1, 6)]
    wrong = []
    for name, figure in told["figures"].items():
        values = [row[name] for row in others if row[name] is not None]
        value = rows[6][name]
        if len(values) < 3 or value is None:
            wrong += [name] if figure is not None else []
            continue
        median = statistics.median(values)
        outside = (value < min(values) or value > max(values)) and abs(value - median) > 0.05 * abs(median)
        expected = {"value": value, "median": median, "min": min(values), "max": max(values), "jobs": 5, "unusual": outside}
        if any(abs(figure[key] - expected[key]) > 1e-9 * abs(expected[key]) for key in expected):
            wrong.append("%s: %s, expected %s" % (name, figure, expected))
    if not told["figures"]["messages"]["unusual"] or told["others"] != 5 or number_of(told["job"]) != 6:
        wrong.append(str(told))
    judge.check(mpi + ": how a job differs from the usual", wrong)
    text = tool("--usual", "6", LOGS).out
    judge.holds("compared with 5 other jobs" in text and "higher than in all of them" in text and
                "lower" not in text.partition("messages")[2], mpi + ": in words", text)
    few = tool("--usual", "7", LOGS)
    judge.holds("At least 3 are needed" in few.out, mpi + ": few jobs have no usual", few.out)
    absent = tool("--usual", "4711", LOGS)
    judge.holds(absent.status == 1 and "there is no job 4711" in absent.err, mpi + ": a job that there is not", str(absent))


def index(mpi, count):
    path = "%s/%s.index" % (WORK, mpi)
    first, second = listed("--index", path, LOGS), listed("--index", path, LOGS)
    judge.holds(first["read"] == first["files"] and second["read"] == 0 and second["jobs"] == first["jobs"] and
                len(first["jobs"]) == count, mpi + ": with an index files are read once", "%s %s" % (first["read"], second["read"]))
    judge.holds(os.stat(path).st_mode & 0o077 == 0, mpi + ": an index is its user's alone", oct(os.stat(path).st_mode))
    link = WORK + "/link-" + mpi
    os.symlink(LOGS, link)
    ended = trial.run([JOBS, "--json", "--index", path, "."], SECONDS, trial.environment(), cwd=LOGS)
    again = json.loads(ended.out) if ended.status == 0 else {"read": -1, "jobs": []}
    linked = listed("--index", path, link)
    judge.holds(again["read"] == linked["read"] == 0 and again["jobs"] == linked["jobs"] == first["jobs"],
                mpi + ": whatever the way to the directory", "%s %s" % (again["read"], linked["read"]))
    last = glob.glob(LOGS + "/*/*/*/heat*-1/*.mpit")[0]
    shutil.copytree(os.path.dirname(last), LOGS + "/copy")
    third = listed("--index", path, LOGS)
    judge.holds(third["read"] == 1 and len(third["jobs"]) == count + 1, mpi + ": then what is new", str(third["read"]))
    shutil.rmtree(LOGS + "/copy")
    judge.holds(len(listed("--index", path)["jobs"]) == count + 1, mpi + ": jobs whose files are gone stay")
    found = sqlite3.connect(path).execute("select count(*), sum(messages) from jobs").fetchone()
    judge.holds(found == (count + 1, sum(job["messages"] for job in third["jobs"])), mpi + ": SQLite reads the index", str(found))
    with open(path + "x", "w") as file:
        file.write("no database" * 100)
    refused = tool("--index", path + "x", LOGS)
    judge.holds(refused.status == 1 and "not a database" in refused.err, mpi + ": a file that is none", str(refused))
    sqlite3.connect(path + "y").execute("create table other (x)")
    refused = tool("--index", path + "y", LOGS)
    judge.holds(refused.status == 1 and "is not an index of mpit-jobs" in refused.err, mpi + ": another database", str(refused))
    database = sqlite3.connect(path)
    database.execute("insert into files values ('x', 0, 0, NULL, 1, 0), ('y', 0, 0, ?, 1, 0)", ("z" * 100,))
    database.execute("update jobs set user = char(27) || ']0;evil' || char(7)")
    database.commit()
    strange = tool("--index", path)
    judge.holds(strange.status == 0 and "evil" in strange.out and "\x1b" not in strange.out + strange.err,
                mpi + ": an index that somebody has changed", repr(strange.out))
    database.execute("update jobs set size = -9223372036854775807 - 1, ranks = 1, ended_badly = 0, seconds = 9e999, begin = -1e300, messages = 1e300")
    database.commit()
    strange, one = tool("--index", path), database.execute("select source from jobs").fetchone()[0]
    judge.holds(strange.status == 0 and "inf s" in strange.out and "incomplete" not in strange.out, mpi + ": numbers that nobody can count", str(strange))
    database.execute("update jobs set ranks = size")
    database.commit()
    for words in ((), ("--json",)):
        strange = tool("--index", path, "--usual", one, *words)
        judge.holds(strange.status == 0 and ("others" in strange.out or "other jobs" in strange.out), mpi + ": the usual of them", str(strange))
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
        refused = tool("--index", path, LOGS)
        judge.holds(refused.status == 1 and "belongs to user nobody" in refused.err, mpi + ": an index of another user", str(refused))
        os.chown(path, 0, 0)
    else:
        judge.skip(mpi + ": an index of another user", "only root can give files away")
    database.execute("pragma user_version = 99")
    database.commit()
    database.close()
    refused = tool("--index", path, LOGS)
    judge.holds(refused.status == 1 and "of another version" in refused.err, mpi + ": another version", str(refused))


def read_once(mpi, output, files):
    """A job may have very many parts."""
    log = WORK + "/opened"
    if not shutil.which("strace") or trial.run(["strace", "-o", log, "true"], SECONDS, trial.environment()).status:
        judge.skip(mpi + ": each part is read once", "strace is not installed, or may not trace here")
        return
    trial.run(["strace", "-e", "trace=openat", "-o", log, JOBS, output], SECONDS, trial.environment())
    with open(log) as opened:
        text = opened.read()
    times = [text.count('"%s"' % file) for file in files]
    judge.holds(times == [1] * len(files), mpi + ": each part is read once", str(times))


def parts(mpi):
    """Each rank has a spool of its own, as on a node of its own. So each writes a part of the job."""
    script = WORK + "/apart.sh"
    with open(script, "w") as file:
        file.write('#!/bin/sh\nexport MPIT_SPOOL=%s/spool-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\nmkdir -p "$MPIT_SPOOL"\nexec "$@"\n' % WORK)
    os.chmod(script, 0o755)
    output, index_ = WORK + "/parts-" + mpi, WORK + "/parts-%s.index" % mpi
    status = recorded(mpi, 3, 8, "ann", [script, BUILD + "/tests/heat-" + mpi], "--rows", "48", "--columns", "48", "--steps", "5",
                      MPIT_OUTPUT=output)
    files = sorted(glob.glob(output + "/*.mpit"))
    judge.holds(status == 0 and len(files) == 3, mpi + ": a job in three parts", "%s %s" % (status, files))
    whole = json.loads(trial.run([DUMP, "--json", output], SECONDS, trial.environment()).out)["jobs"][0]
    expected = (3, 3, sum(rank["messages_sent"] for rank in whole["by_rank"]), whole["run_seconds"]["max"])

    def row_of(*words):
        rows = listed(*words)["jobs"]
        return [(row["size"], row["ranks"], row["messages"], row["seconds"]) for row in rows]
    judge.holds(row_of(output) == [expected], mpi + ": is one row", "%s, expected %s" % (row_of(output), expected))
    opened = tool("--open", "8", "--json", output)
    judge.holds(opened.status == 0 and [job["ranks"] for job in json.loads(opened.out)["jobs"]] == [3], mpi + ": --open shows all of its parts", str(opened))
    read_once(mpi, output, files)
    os.rename(files[2], files[2] + ".later")
    rows = row_of("--index", index_, output)
    judge.holds(len(rows) == 1 and rows[0][1] == 2, mpi + ": as long as a part is missing", str(rows))
    found = [one for one, _ in shown("--index", index_)]
    judge.holds(found[0].startswith("incomplete") and shown("--finding", found[0], "--index", index_) == [(found[0], output)],
                mpi + ": the text says so, and --finding takes it", str(shown("--index", index_)))
    os.rename(files[2] + ".later", files[2])
    rows = row_of("--index", index_, output)
    judge.holds(rows == [expected], mpi + ": until it comes", str(rows))
    again, at_once = listed("--index", index_, output)["jobs"], listed(output)["jobs"]
    judge.holds(again == at_once, mpi + ": parts that come later make the same row", "%s, at once %s" % (again, at_once))
    os.rename(files[0], files[0] + ".gone")
    os.utime(files[1])
    rows = row_of("--index", index_, output)
    judge.holds(rows == [expected], mpi + ": parts that are gone leave the row as it is", str(rows))
    os.rename(files[0] + ".gone", files[0])
    if os.getuid() == 0:
        os.chown(files[1], 65534, 65534)
        rows = row_of(output)
        judge.holds(sorted(row[1] for row in rows) == [1, 2], mpi + ": files of two users are two jobs", str(rows))
        os.chown(files[1], 0, 0)


def joined_parts(mpi):
    """The parts of a job become one summary. A join may be ended between its rename and the end: a part is still there."""
    output, index_ = WORK + "/parts-" + mpi, WORK + "/joined-%s.index" % mpi

    def seen(title, files):
        rows = [{key: value for key, value in row.items() if key != "source"} for row in listed("--index", index_, output)["jobs"]]
        new = [{key: value for key, value in row.items() if key != "source"} for row in listed(output)["jobs"]]
        judge.holds(len(rows) == 1 and rows == new, mpi + ": %s: one row, also in the index" % title, "%s, new %s" % (rows, new))
        names = sorted(os.listdir(output))
        judge.holds(len(names) == files, mpi + ": %s: %d files" % (title, files), str(names))
        return rows, json.loads(trial.run([DUMP, "--json", output], SECONDS, trial.environment()).out)["jobs"]

    def join():
        ended = trial.run([BUILD + "/bin/mpit-collect", "--join", output], SECONDS, trial.environment())
        judge.holds(ended.status == 0, mpi + ": the parts are joined", str(ended))
    before = seen("parts", 3)
    kept = {name: open(output + "/" + name, "rb").read() for name in os.listdir(output)}
    join()
    judge.holds(seen("joined", 1) == before, mpi + ": joined, they say the same")
    (name,) = os.listdir(output)
    for part in sorted(set(kept) - {name}):
        with open(output + "/" + part, "wb") as file:
            file.write(kept[part])
        judge.holds(seen("a part stays", 2) == before, mpi + ": a part that stays is not counted twice")
        join()
        judge.holds(seen("joined again", 1) == before, mpi + ": joined again, it says the same")


def damaged(mpi):
    tree = WORK + "/damaged-" + mpi
    good = glob.glob(LOGS + "/*/*/*/*-1/*.mpit")[0]
    os.makedirs(tree + "/sub")
    shutil.copy(good, tree + "/sub/good.mpit")
    data = open(good, "rb").read()
    for name, content in (("cut", data[:len(data) // 2]), ("empty", b""), ("text", b"hello"), ("bent", data[:200] + b"x" + data[201:])):
        with open("%s/%s.mpit" % (tree, name), "wb") as file:
            file.write(content)
    os.mkfifo(tree + "/pipe.mpit")
    os.rename(tree + "/text.mpit", tree + "/\x1b]0;text.mpit")
    ended = tool("--json", tree)
    told = json.loads(ended.out) if ended.status == 0 else {"jobs": []}
    judge.holds(len(told["jobs"]) == 1 and told["unreadable"] == 4 and
                all("%s.mpit" % name in ended.err for name in ("/cut", "/empty", "text", "/bent")) and "\x1b" not in ended.err and
                "4 summaries cannot be read, and are left out" in ended.err, mpi + ": damaged files are named, and the others count",
                str(ended))


def one_mpi(mpi):
    shutil.rmtree(LOGS, ignore_errors=True)
    os.mkdir(LOGS)
    judge.holds(tool(LOGS).out == "no job fits\n", mpi + ": an empty tree")
    heat, made = BUILD + "/tests/heat-" + mpi, {}
    for number, ranks, user, steps in ((1, 2, "ann", 5), (2, 2, "bob", 5), (3, 2, "ann", 5), (4, 2, "ann", 5), (5, 2, "bob", 5),
                                       (6, 2, "ann", 50), (7, 3, "bob", 5)):
        status = recorded(mpi, ranks, number, user, [heat], "--rows", "48", "--columns", "48", "--steps", str(steps))
        judge.holds(status == 0, "%s: job %d runs" % (mpi, number))
        made[number] = (user, ranks, "heat")
    status = recorded(mpi, 2, 9, "ann", [BUILD + "/tests/pauses-" + mpi], "named")
    judge.holds(status == 0, mpi + ": job 9 runs")
    made[9] = ("ann", 2, "pauses")
    rows = listed(LOGS)["jobs"]
    judge.holds(sorted(map(number_of, rows)) == sorted(made), mpi + ": each job is a row", str([job["scheduler_job"] for job in rows]))
    rows_agree(mpi, rows)
    filters(mpi, made)
    usual(mpi)
    index(mpi, len(made))
    parts(mpi)
    joined_parts(mpi)
    damaged(mpi)
    traced(mpi)


for mpi in trial.mpis(BUILD):
    one_mpi(mpi)
for words, what in ((("--since", "soon", "/"), "--since soon cannot be used: allowed are times such as 2026-11-27, '2026-11-27 08:00', 30m (minutes)"), (("--ranks", "4-2", "/"), "--ranks 4-2 cannot be used"),
                    (("--limit", "few", "/"), "--limit few cannot be used"), (("--sort", "size)", "/"), "there is no such column; did you mean size?"),
                    (("--sort", "nonsense", "/"), "there is no such column; man mpit-jobs lists them"),
                    (("--usual", "1", "--user", "ann", LOGS), "--usual takes no filter"),
                    (("--where", "size >", LOGS), "--where: "), (("--where", "1; drop table jobs", LOGS), "are not allowed"),
                    (("--html", "page", "--json", LOGS), "--html takes filters and --limit, and not --json"), ((), "A directory with summaries is missing")):
    ended = tool(*words)
    judge.holds(ended.status == 2 and what in ended.err, "bad options: " + " ".join(words), str(ended))
ended = tool(WORK + "/there-is-none")
judge.holds(ended.status == 1 and "there-is-none cannot be read: No such file" in ended.err, "a directory that there is not", str(ended))
shutil.rmtree(WORK, ignore_errors=True)
sys.exit(judge.verdict())
