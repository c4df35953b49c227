#!/usr/bin/env python3
"""mpit-dump --sqlite against the program's own counts, the JSON, and itself.

    sqlite.py BUILD MPI SOURCE
"""
import collections
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "common"))
import trial

BUILD, MPI, SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
judge = trial.Judge()
FIGURES = ("count", "messages_sent", "bytes_sent", "messages_received", "bytes_received")
PROGRAMS = [("traffic", 3, ["1", "20"]), ("objects", 2, ["objects-file"]), ("collectives", 2, []), ("requests", 2, []),
            ("threads", 2, []), ("pauses", 2, ["named"])]
REFERENCES = [("calls", "path", "paths"), ("calls", "communicator", "communicators"), ("calls", "collective", "collectives"),
              ("messages", "communicator", "communicators"), ("messages", "send_call", "calls"), ("messages", "post_call", "calls"),
              ("messages", "receive_call", "calls"), ("collectives", "communicator", "communicators"), ("waits", "call", "calls"),
              ("waits", "cause_call", "calls"), ("waits", "path", "paths"), ("segments", "from_path", "paths"),
              ("segments", "to_path", "paths"), ("frames", "path", "paths"), ("findings", "path", "paths"), ("counted", "call", "calls"), ("samples", "path", "paths")]
TRACED = ("calls", "messages", "collectives", "waits", "segments", "counted")


def dump(*words):
    return trial.run([f"{BUILD}/bin/mpit-dump", *words], 120, trial.environment())


def recorded(work, name, ranks, words, options=("--trace",)):
    """-> (how it ended, the database, JSON of the summary). The database is None if there is none."""
    run, file = f"{work}/{name}", f"{work}/{name}.db"
    # MPI_Compare_and_swap crashes in Open MPI 4.1.4 with the default component
    ended = trial.run([f"{BUILD}/bin/mpit-run", "--quiet", "--output", run, *options, *trial.launcher(MPI, ranks), *words], 120,
                      trial.environment(**trial.OSC), work)
    made = dump("--sqlite", file, run)
    judge.holds(ended.status == 0 and made.status == 0, f"{name} is recorded and written", f"{ended}\n{made}")
    if made.status != 0:
        return ended, None, None
    return ended, sqlite3.connect(file), json.loads(dump("--json", run).out)


def rows(db, sql, *values):
    return db.execute(sql, values).fetchall()


def one(db, sql, *values):
    return rows(db, sql, *values)[0][0]


def equal(name, is_, should):
    judge.holds(is_ == should, name, f"{is_}\nis not\n{should}")


def sound(db, name):
    """The file, its words, and its references."""
    wrong = [] if rows(db, "PRAGMA integrity_check") == [("ok",)] else ["the file is damaged"]
    tables = {table: [column[1] for column in rows(db, f"PRAGMA table_info({table})")]
              for table, in rows(db, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    described = {(table, column) for table, column in rows(db, "SELECT table_name, column_name FROM described WHERE text > ''")}
    wanted = {(table, column) for table in tables for column in [None, *tables[table]]}
    wrong += [f"described: {described ^ wanted}"] if described != wanted else []
    units = rows(db, "SELECT column_name, unit FROM described WHERE (column_name LIKE '%_ns') <> (unit = 'ns') AND column_name > ''")
    wrong += [f"units: {units}"] if units else []
    for table, column, other in REFERENCES:
        lost = one(db, f"SELECT count(*) FROM {table} WHERE {column} NOT NULL AND {column} NOT IN (SELECT {other[:-1]} FROM {other})")
        wrong += [f"{lost} rows of {table}.{column} refer to nothing"] if lost else []
    for table in tables:
        if not one(db, f"SELECT count(*) FROM {table}") and table not in ("notes", "waits", "messages", "collectives"):
            noted = one(db, "SELECT count(*) FROM notes WHERE table_name = ? AND text > ''", table)
            wrong += [] if noted else [f"{table} is empty and no note says why"]
    judge.check(f"{name}: words, references and notes are complete", wrong)


def ns(seconds):
    return None if seconds is None else round(seconds * 1e9)


def phases_wrong(db, number, job):
    """Phases and findings against the JSON."""
    phases = rows(db, "SELECT phase, rank, count, calls, recorded_ns, off_ns, mpi_ns, stalled_ns FROM phases WHERE job = ?", number)
    wanted = [(phase["name"], row["rank"], row["count"], row["calls"],
               *(ns(row[key + "_seconds"]) for key in ("recorded", "off", "mpi", "stalled")))
              for phase in job["phases"] for row in phase["by_rank"]]
    wrong = [] if phases == wanted else [f"job {number}, phases: {phases}, not {wanted}"]
    phases = rows(db, "SELECT phase, ranks, parallel_efficiency, load_balance, communication_efficiency FROM phase_efficiencies "
                  "WHERE job = ? ORDER BY phase", number)
    wanted = sorted((phase["name"], phase["ranks"], *(phase["efficiency"][key] for key in ("parallel", "load_balance", "communication")))
                    for phase in job["phases"])
    wrong += [] if near(phases, wanted) else [f"job {number}, efficiencies of phases: {phases}, not {wanted}"]
    found = [(*row[:5], json.loads(row[5] or "[]"), row[6:] if any(row[6:]) else None)
             for row in rows(db, "SELECT rule, text, advice, cost_ns / 1e9, share_of_run, f.ranks, mpi, r.function, r.file, r.line "
                             "FROM findings f LEFT JOIN paths USING (path) LEFT JOIN frames r ON r.path = f.path AND place "
                             "WHERE f.job = ? ORDER BY finding", number)]
    wanted = [(*(finding[key] for key in ("rule", "text", "advice", "seconds", "share_of_run", "ranks")),
               finding["place"] and tuple(finding["place"][key] for key in ("mpi", "function", "file", "line")))
              for finding in job["findings"] or []]
    return wrong + ([] if near(found, wanted) else [f"job {number}, findings: {found}, not {wanted}"])


def near(is_, should):
    """Equal, but for the last digits of numbers."""
    return len(is_) == len(should) and all(
        len(a) == len(b) and all(abs(x - y) < 1e-6 if isinstance(x, float) and isinstance(y, float) else x == y for x, y in zip(a, b))
        for a, b in zip(is_, should))


def summary_judged(db, document, name):
    """The tables of the summary against the JSON."""
    wrong = []
    equal(f"{name}: its jobs", rows(db, "SELECT number, world_size FROM jobs ORDER BY job"),
          [(job["job"], job["world_size"]) for job in document["jobs"]])
    for number, job in enumerate(document["jobs"], 1):
        functions = {function: dict(count=count, time_ns=time, stall_ns=stalled) for function, count, time, stalled in
                     rows(db, "SELECT function, count, time_ns, stalled_ns FROM functions WHERE job = ?", number)}
        wanted = {function: {key: call[key] for key in ("count", "time_ns", "stall_ns")} for function, call in job["calls"].items()}
        wrong += [] if functions == wanted else [f"job {number}, functions: {functions}, not {wanted}"]
        comms = rows(db, "SELECT name, size, messages_sent, bytes_sent, messages_received, bytes_received, coll_count, coll_bytes, "
                     "rma_bytes, io_bytes, time_ns FROM communicators WHERE job = ? AND messages_sent NOT NULL ORDER BY name", number)
        keys = ("name", "size", "send_count", "send_bytes", "recv_count", "recv_bytes", "coll_count", "coll_bytes", "rma_bytes",
                "io_bytes", "comm_time_ns")
        wanted = sorted(tuple(comm[key] for key in keys) for comm in job["communicators"])
        wrong += [] if comms == wanted else [f"job {number}, communicators: {comms}, not {wanted}"]
        keys = ("mpi", "function", "file", "line", *FIGURES, "small_messages", "empty_tests", "longest_ns", "ranks")
        paths = collections.Counter(rows(db, "SELECT mpi, function, file, line, count, messages_sent, bytes_sent, messages_received, "
                                         "bytes_received, small_messages, empty_tests, longest_ns, ranks FROM paths "
                                         "WHERE job = ? AND count NOT NULL", number))
        wanted = collections.Counter(tuple(site[key] for key in keys) for site in job["callsites"])
        wrong += [] if paths == wanted else [f"job {number}, paths: {paths - wanted}, not {wanted - paths}"]
        frames = rows(db, "SELECT count(*) FROM frames JOIN paths USING (path) WHERE job = ? AND count NOT NULL", number)[0][0]
        wanted = sum(len(site["path"]) for site in job["callsites"])
        wrong += [] if frames == wanted else [f"job {number}: {frames} frames, not {wanted}"]
        ranks = rows(db, "SELECT rank, host, messages_sent, bytes_sent, threads FROM ranks WHERE job = ? ORDER BY rank", number)
        wanted = [tuple(row[key] for key in ("rank", "host", "messages_sent", "bytes_sent", "threads")) for row in job["by_rank"]]
        wrong += [] if ranks == wanted else [f"job {number}, ranks: {ranks}, not {wanted}"]
        wrong += phases_wrong(db, number, job)
        times = rows(db, "SELECT run_ns, recorded_ns FROM ranks WHERE job = ? ORDER BY rank", number)
        wanted = [tuple(round(row[key] * 1e9) for key in ("run_seconds", "recorded_seconds")) for row in job["by_rank"]]
        wrong += [] if times == wanted else [f"job {number}, times of ranks: {times}, not {wanted}"]
        longest = rows(db, "SELECT run_ns, recorded_ns FROM jobs WHERE job = ?", number)[0]
        wrong += [] if all(abs(one - max(column)) <= 1 for one, column in zip(longest, zip(*times))) else [f"job {number}: {longest}"]
        useful, efficiency = rows(db, "SELECT avg(useful_ns), parallel_efficiency FROM ranks JOIN jobs USING (job) WHERE job = ?", number)[0]
        wrong += [] if efficiency is None or abs(useful / longest[1] - efficiency) < 1e-6 else [f"job {number}: efficiency {efficiency}, {useful}, {longest}"]
        counters = rows(db, "SELECT counter, sum(value) FROM counters WHERE job = ? GROUP BY counter ORDER BY counter", number)
        wanted = sorted((counter["name"], counter["total"]) for counter in job["counters"])
        wrong += [] if counters == wanted else [f"job {number}, counters: {counters}, not {wanted}"]
        sums = rows(db, "SELECT f.function, f.count, (SELECT sum(p.count) FROM paths p WHERE p.job = f.job AND p.mpi = f.function) s "
                    "FROM functions f WHERE job = ? AND f.count <> s", number)
        wrong += [f"job {number}, paths do not add up: {sums}"] if sums else []
    judge.check(f"{name}: the summary's tables are equal to the JSON", wrong)


def trace_judged(db, run, name):
    """The tables of a trace against the summary's and against --analyze."""
    wrong = []
    for what, sql in (
            ("calls by function", "SELECT f.job, f.function, f.count, (SELECT count(*) FROM calls c WHERE c.job = f.job AND "
             "c.function = f.function) n FROM functions f WHERE f.count <> n"),
            ("calls by path", "SELECT p.path, p.mpi, p.count, n, ms, bs, mr, br FROM paths p JOIN (SELECT path, count(*) n, "
             "sum(messages_sent) ms, sum(bytes_sent) bs, sum(messages_received) mr, sum(bytes_received) br FROM calls GROUP BY path) "
             "USING (path) WHERE p.count <> n OR p.messages_sent <> ms OR p.bytes_sent <> bs OR p.messages_received <> mr OR "
             "p.bytes_received <> br"),
            ("calls without a path", "SELECT call, function FROM calls WHERE path IS NULL"),
            ("times", "SELECT f.function, f.time_ns, t, f.stalled_ns, s FROM functions f JOIN (SELECT job, function, "
             "sum(duration_ns) t, sum(stalled_ns) s, count(*) n FROM calls GROUP BY job, function) USING (job, function) "
             "WHERE abs(f.time_ns - t) > n + 100 OR abs(f.stalled_ns - s) > n + 100"),
            ("messages of ranks", "SELECT r.rank, r.messages_sent, m, b FROM ranks r JOIN (SELECT job, rank, sum(messages_sent) m, "
             "sum(CASE WHEN messages_sent THEN bytes_sent ELSE 0 END) b FROM calls GROUP BY job, rank) USING (job, rank) "
             "WHERE r.messages_sent <> m OR r.bytes_sent <> b"),
            ("counters", "SELECT counter, sum(value), s FROM counters JOIN (SELECT counter, sum(inside + outside) s FROM counted "
             "GROUP BY counter) USING (counter) GROUP BY counter HAVING sum(value) <> s"),
            ("messages and their calls", "SELECT m.message FROM messages m JOIN calls s ON s.call = m.send_call JOIN calls p ON "
             "p.call = m.post_call LEFT JOIN calls r ON r.call = m.receive_call WHERE m.sender <> s.rank OR m.receiver <> p.rank OR "
             "m.receiver <> coalesce(r.rank, m.receiver) OR m.sent_ns <> s.begin_ns OR m.posted_ns <> p.begin_ns OR "
             "s.messages_sent = 0 AND s.function NOT LIKE '%_init' OR coalesce(r.messages_received, 1) = 0"),
            ("waits and their calls", "SELECT w.call FROM waits w JOIN calls c USING (call) JOIN calls l ON l.call = w.cause_call "
             "WHERE w.rank <> c.rank OR w.function <> c.function OR w.cause_rank <> l.rank OR w.begin_ns <> c.begin_ns OR "
             "w.wait_ns > c.duration_ns + 1000"),
            ("collectives and their calls", "SELECT collective, arrived, n FROM collectives JOIN (SELECT collective, count(*) n "
             "FROM calls WHERE function <> 'MPI_Startall' GROUP BY collective) USING (collective) WHERE n > arrived")):
        found = rows(db, sql)
        wrong += [f"{what}: {found[:5]}"] if found else []
    judge.check(f"{name}: calls add up", wrong)
    wrong = []
    for number, job in enumerate(json.loads(dump("--analyze", "--json", run).out)["jobs"], 1):
        pairs = [("matched messages", [(job["messages"]["matched"],)] if job["messages"] else [(0,)],
                  "SELECT count(*) FROM messages WHERE job = ?"),
                 ("collectives", sorted(collections.Counter({(entry["function"],): 0 for entry in job["collectives"] or []})),
                  "SELECT DISTINCT function FROM collectives WHERE job = ? ORDER BY function"),
                 ("operations", [(sum(entry["count"] for entry in job["collectives"] or []),
                                  sum(entry["complete"] for entry in job["collectives"] or []))],
                  "SELECT count(*), coalesce(sum(complete), 0) FROM collectives WHERE job = ?"),
                 ("segments", [(sum(entry["count"] for entry in job["segments"] or []),)],
                  "SELECT coalesce(sum(count), 0) FROM segments WHERE job = ?"),
                 ("caused waits", [(sum(entry["caused_ns"] for entry in job["segments"] or []),)],
                  "SELECT coalesce(sum(caused_ns), 0) FROM segments WHERE job = ?")]
        waits = collections.defaultdict(lambda: [0, 0])
        for entry in job["waits"] or []:
            waits[entry["pattern"], entry["function"], entry["rank"]][0] += entry["count"]
            waits[entry["pattern"], entry["function"], entry["rank"]][1] += entry["time_ns"]
        pairs.append(("waits", sorted((*key, *value) for key, value in waits.items()),
                      "SELECT pattern, function, rank, count(*), sum(wait_ns) FROM waits WHERE job = ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"))
        for what, wanted, sql in pairs:
            found = rows(db, sql, number)
            wrong += [] if found == wanted else [f"{what}: {found}, not {wanted}"]
    judge.check(f"{name}: messages, collectives, waits and segments are equal to --analyze", wrong)


def lines_judge(work):
    """A program that counts calls, messages and bytes by its lines."""
    program = f"{work}/pathcounts-program"
    built = trial.run([f"mpicc.{MPI}", "-g", "-O2", f"{HERE}/../callpaths/pathcounts.c", "-o", program], 60)
    judge.holds(built.status == 0, "pathcounts.c is built", built)
    ended, db, document = recorded(work, "lines", 2, [program, "20", f"{work}/file"], ["--trace", "--os", "--sample", "100"])
    if not db:
        return
    wanted = collections.defaultdict(collections.Counter)
    for line in re.findall(r"^site (.*)$", ended.out, re.MULTILINE):
        number, function, *values = line.split()
        wanted[int(number), function].update(dict(zip(FIGURES, map(int, values))))
    for table, sql in (("paths", "SELECT line, mpi, sum(count), sum(messages_sent), sum(bytes_sent), sum(messages_received), "
                        "sum(bytes_received) FROM paths WHERE file LIKE '%pathcounts.c' AND kind = 'call' GROUP BY 1, 2"),
                       ("calls", "SELECT p.line, c.function, count(*), sum(c.messages_sent), sum(c.bytes_sent), "
                        "sum(c.messages_received), sum(c.bytes_received) FROM calls c JOIN paths p USING (path) "
                        "WHERE p.file LIKE '%pathcounts.c' GROUP BY 1, 2")):
        found = {(line, function): collections.Counter(dict(zip(FIGURES, values))) for line, function, *values in rows(db, sql)}
        wrong = [f"line {key}: {found.get(key)}, not {counts}" for key, counts in wanted.items() if found.get(key) != counts]
        judge.check(f"{table} have the calls, messages and bytes that the program counted in {len(wanted)} lines",
                    wrong + ([] if len(wanted) > 30 else ["the program counted nothing"]))
    sound(db, "lines")
    summary_judged(db, document, "lines")
    trace_judged(db, f"{work}/lines", "lines")
    profile = json.loads(dump("--profile", "--json", f"{work}/lines").out)["jobs"][0]
    equal("samples are those of --profile", rows(db, "SELECT count(*), sum(weight_ns) FROM samples"),
          [(profile["time"]["samples"], profile["time"]["ns"])])


def programs_judge(work):
    for name, ranks, arguments in PROGRAMS:
        _, db, document = recorded(work, name, ranks, [f"{BUILD}/tests/{name}-{MPI}", *arguments])
        if db:
            sound(db, name)
            summary_judged(db, document, name)
            trace_judged(db, f"{work}/{name}", name)
        if db and name == "pauses":
            equal("it has phases of two ranks", rows(db, "SELECT DISTINCT ranks FROM phase_efficiencies"), [(2,)])


def plain_judge(work):
    """Without a trace, and two jobs in one directory."""
    heat = f"{BUILD}/tests/heat-{MPI}"
    launch = " ".join(trial.launcher(MPI, 2))
    script = f"{launch} {heat} --rows 64 --columns 64 --steps 10 && {launch} {heat} --rows 64 --columns 64 --steps 30"
    ended = trial.run([f"{BUILD}/bin/mpit-run", "--quiet", "--trace", "--output", f"{work}/two", "sh", "-c", script], 120,
                      trial.environment(), work)
    made = dump("--sqlite", f"{work}/two.db", f"{work}/two")
    judge.holds(ended.status == 0 and made.status == 0, "two jobs are recorded and written", f"{ended}\n{made}")
    if made.status == 0:
        db = sqlite3.connect(f"{work}/two.db")
        sound(db, "two jobs")
        summary_judged(db, json.loads(dump("--json", f"{work}/two").out), "two jobs")
        trace_judged(db, f"{work}/two", "two jobs")
        equal("numbers are of both jobs together", one(db, "SELECT count(DISTINCT job) = 2 AND max(call) = count(*) FROM calls"), 1)
    _, db, document = recorded(work, "plain", 2, [heat, "--rows", "64", "--columns", "64", "--steps", "10"], [])
    if not db:
        return
    sound(db, "without a trace")
    summary_judged(db, document, "without a trace")
    equal("without a trace its tables are empty", [table for table in TRACED if one(db, f"SELECT count(*) FROM {table}")], [])
    equal("  and say why", rows(db, "SELECT DISTINCT text FROM notes WHERE table_name IN ('calls', 'messages', 'waits', 'segments')"),
          [("the run has no trace: mpit-run --trace records every call",)])


def paused_judge(work):
    """Recording was off for a while."""
    _, db, document = recorded(work, "paused", 3, [f"{BUILD}/tests/pauses-{MPI}", "paused"], ["--start-paused"])
    if not db:
        return
    summary_judged(db, document, "paused")
    judge.holds(one(db, "SELECT run_ns > recorded_ns FROM jobs"), "its recorded time is shorter", rows(db, "SELECT * FROM jobs"))


def cut_judge(work):
    """A trace with a limit."""
    heat = [f"{BUILD}/tests/heat-{MPI}", "--rows", "64", "--columns", "64", "--steps", "2000"]
    _, db, document = recorded(work, "limited", 2, heat, ["--trace", "--trace-limit", "100000"])
    if not db:
        return
    summary_judged(db, document, "a limited trace")
    calls = sum(call["count"] for call in document["jobs"][0]["calls"].values())
    kept = one(db, "SELECT count(*) FROM calls")
    equal("a limited trace: a note has the number of missing calls", rows(db, "SELECT text FROM notes WHERE table_name = 'calls'"),
          [(f"{calls - kept} of {calls} calls are not in the trace",)])
    judge.holds(0 < kept < calls, "  and some are there", [kept, calls])


def refusals_judge(work):
    run = f"{work}/two"
    with open(f"{work}/mine.db", "w", encoding="utf-8") as file:
        file.write("mine")
    ended = dump("--sqlite", f"{work}/mine.db", run)
    with open(f"{work}/mine.db", encoding="utf-8") as file:
        judge.holds(ended.status == 1 and "exists; remove it, or name a new file" in ended.err and file.read() == "mine",
                    "an existing file is refused, and stays", ended)
    ended = dump("--sqlite", f"{work}/none/such.db", run)
    judge.holds(ended.status == 1 and "cannot be written: No such file or directory" in ended.err, "a missing directory is refused", ended)
    for name in ("-", "/dev/stdout", "/dev/null"):
        ended = dump("--sqlite", name, run)
        judge.holds(ended.status == 1 and ("exists" in ended.err or "allowed is the name of a new file" in ended.err),
                    f"{name} is refused", ended)
    ended = dump("--sqlite", f"{work}/part.db", "--ranks", "0", run)
    judge.holds(ended.status == 2 and "--ranks, --window" in ended.err, "a part of a run is refused", ended)
    small = trial.run(["sh", "-c", f"ulimit -f 64; exec {BUILD}/bin/mpit-dump --sqlite {work}/full.db {run}"], 60)
    left = [name for name in os.listdir(work) if name.startswith(("full", "part"))]
    judge.holds(small.status == 1 and "cannot be written" in small.err and not left, "a full disk leaves no file", f"{small}\n{left}")


def interrupt_judge(work):
    """A large job is interrupted while its database grows."""
    os.mkdir(f"{work}/large")
    made = trial.run([f"{BUILD}/tests/pagejob", f"{work}/large", "8", "20000"], 60)
    judge.holds(made.status == 0, "a large job is made", made)
    for sent in (signal.SIGTERM, signal.SIGINT):
        process = subprocess.Popen([f"{BUILD}/bin/mpit-dump", "--sqlite", f"{work}/cut.db", f"{work}/large"], stderr=subprocess.PIPE)
        partial = f"{work}/cut.db.partial.{process.pid}"
        while process.poll() is None and not (os.path.exists(partial) and os.path.getsize(partial)):
            time.sleep(0.001)
        process.send_signal(sent)
        err = process.communicate(timeout=60)[1]
        left = [name for name in os.listdir(work) if name.startswith("cut")]
        judge.holds(process.returncode == -sent and not left, f"{sent.name} leaves no file", f"{process.returncode} {left} {err}")


def page_judge(work):
    """The queries of the page, on a job like the one there."""
    with open(f"{SOURCE}/share/doc/sqlite.md", encoding="utf-8") as file:
        text = file.read()
    heat = [f"{BUILD}/tests/heat-{MPI}", "--rows", "256", "--columns", "256", "--steps", "200"]
    _, db, _ = recorded(work, "run", 2, heat, ["--trace", "--os", "--sample", "100"])
    if not db:
        return
    blocks = ["\n".join(line[4:] for line in block.splitlines()) for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)]
    queries = [number for number, block in enumerate(blocks) if re.match(r"(SELECT|WITH) ", block)]
    wrong = []
    for number in queries:
        try:
            cursor = db.execute(blocks[number])
            names, found = [column[0] for column in cursor.description], cursor.fetchall()
        except sqlite3.Error as error:
            wrong.append(f"{error}:\n{blocks[number]}")
            continue
        shown = blocks[number + 1].splitlines()[0].split()
        wrong += [] if shown == names else [f"the page shows the columns {shown}, not {names}"]
        wrong += [] if found else [f"no row:\n{blocks[number]}"]
    judge.check(f"{len(queries)} queries of sqlite.md work and print the columns that the page shows", wrong)
    judge.holds(len(queries) >= 10, "there are ten or more", queries)
    tables = {table for table, in rows(db, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    named = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    judge.holds(tables == named, "sqlite.md lists each table, and no others", tables ^ named)
    python = next((block for block in blocks if block.startswith("import ")), "")
    judge.holds(len([line for line in python.splitlines() if line]) >= 5, "there are five lines of pandas", python)
    if trial.run(["/usr/bin/python3", "-c", "import pandas"], 60).status != 0:
        judge.skip("the lines of pandas", "python3-pandas is not installed")
        return
    shutil.copy(f"{work}/run.db", f"{work}/job.db")
    ended = trial.run(["/usr/bin/python3", "-c", python], 60, trial.environment(MPLBACKEND="Agg"), work)
    judge.holds(ended.status == 0 and ended.out, "the lines of pandas work", ended)


def main():
    if not shutil.which(f"mpicc.{MPI}"):
        return trial.SKIPPED
    with tempfile.TemporaryDirectory(prefix="mpit-sqlite.") as work:
        lines_judge(work)
        programs_judge(work)
        plain_judge(work)
        paused_judge(work)
        cut_judge(work)
        refusals_judge(work)
        interrupt_judge(work)
        page_judge(work)
    return judge.verdict()


sys.exit(main())
