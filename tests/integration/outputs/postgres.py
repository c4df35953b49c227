#!/usr/bin/env python3
"""mpit-jobs --sql into a PostgreSQL server of its own: the rows are those of the index, also after some have changed. Then
each query of the dashboard for Grafana gives the rows that SQLite gives for it.

    postgres.py BUILD [JOBS]
"""
import glob
import json
import math
import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import grafana
import trial

BUILD, COUNT = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000
SHARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../share")
JOBS, NEW, HOUR, NOW = BUILD + "/bin/mpit-jobs", 100, 3600, int(time.time())
USERS, PROGRAMS, RULES = ["ann", "o'hara", "bob"], ["heat", "solver 'x'", "halo", "sort"], [None, "load_imbalance", "late_sender"]
SERVERS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
WORK = tempfile.mkdtemp(prefix="mpit-postgres.", dir="/tmp")
judge = trial.Judge()


def server_user():
    """The server refuses root."""
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []


def server(*words, **more):
    return subprocess.run([*server_user(), f"{SERVERS[-1]}/{words[0]}", *words[1:]], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, cwd=WORK, text=True, **more).stdout


def asked(sql):
    """Rows of texts; None for NULL."""
    text = server("psql", "-h", WORK, "-d", "postgres", "-At", "-F", "\x1f", "-R", "\x1e", "-P", "null=\x1d", "-v", "ON_ERROR_STOP=1", "-c", sql)
    text = text.removesuffix("\n")
    return [[None if value == "\x1d" else value for value in line.split("\x1f")] for line in text.split("\x1e")] if text else []


def is_same(text, value):
    """What PostgreSQL shows is the value of SQLite."""
    if text is None or value is None or isinstance(value, str):
        return text == value
    return math.isclose(float(text), value, rel_tol=1e-9, abs_tol=1e-9)


def rows_differ(rows, wanted):
    """The first pair of rows that differ, or their numbers."""
    if len(rows) != len(wanted):
        return [len(rows), len(wanted)]
    return [(a, b) for a, b in zip(rows, wanted) if len(a) != len(b) or not all(map(is_same, a, b))][:1]


def taken(index, *words):
    """Statements into the server. -> seconds to write, and to take"""
    begin = time.monotonic()
    statements = trial.run([JOBS, "--index", index, "--sql", *words], 120)
    made = time.monotonic() - begin
    with open(f"{WORK}/sql", "w", encoding="utf-8") as out:
        out.write(statements.out)
    said = server("psql", "-h", WORK, "-d", "postgres", "-q", "-v", "ON_ERROR_STOP=1", "-f", f"{WORK}/sql")
    took = time.monotonic() - begin - made
    judge.holds(said == "", "the server has nothing to say", said)
    return statements.out, made, took


def judge_rows(index, what, *words):
    statements, made, took = taken(index, *words)
    database = sqlite3.connect(index)
    columns = ", ".join(f'"{row[1]}"' for row in database.execute("PRAGMA table_info(jobs)"))
    wanted = database.execute(f"SELECT {columns} FROM jobs ORDER BY job").fetchall()
    database.close()
    wrong = rows_differ(asked(f'SELECT {columns} FROM jobs ORDER BY job COLLATE "C"'), wanted)
    judge.holds(not wrong, f"{what}: {len(wanted)} rows ({made:.1f} s to write, {took:.1f} s to take)", wrong)
    return statements


def like(first, i):
    """A row like a recorded one, with texts that need quotes. Each began an hour before the one before. Some lack figures."""
    return {**first, "job": f"{i:016x}", "source": f"/logs/{i}'s.mpit", "command": "app 'a b' \\n \"x\"; DROP TABLE jobs; --",
            "seconds": (i + 1) / 7, "begin": NOW - HOUR * (i + 0.5), "user": USERS[i % 3], "program": PROGRAMS[i % 4], "size": 2 << i % 5,
            "ranks": (2 << i % 5) - (i % 50 == 0), "ended_badly": int(i % 20 == 0), "rule": RULES[i % 7 % 3], "label": f"commit-{i // 10}",
            "parallel_efficiency": None if i % 11 == 0 else i % 97 / 97, "mpi_share": None if i % 13 == 0 else i % 89 / 89}


def index_make(index):
    mpi = trial.mpis(BUILD)[0]
    trial.run([f"{BUILD}/bin/mpit-run", "--quiet", "--output", f"{WORK}/run", *trial.launcher(mpi, 2), f"{BUILD}/tests/heat-{mpi}", "--steps", "5",
               "--rows", "48", "--columns", "48"], 60, trial.environment())
    trial.run([JOBS, "--index", index, "--json", f"{WORK}/run"], 60)
    database = sqlite3.connect(index)
    names = [row[1] for row in database.execute("PRAGMA table_info(jobs)")]
    first = dict(zip(names, database.execute("SELECT * FROM jobs").fetchone()))
    for i in range(COUNT):
        database.execute(f"INSERT INTO jobs VALUES ({','.join('?' * len(names))})", list(like(first, i).values()))
    database.commit()
    return database


def judge_new(index, database):
    """The newest rows alone, with --since, as a daily job of the site does it."""
    begin = f"SELECT count(*) FROM jobs WHERE begin >= {NOW - 2 * 24 * HOUR}"
    wanted = database.execute(begin).fetchone()[0]
    database.execute("UPDATE jobs SET seconds = seconds + 1, rule = 'late_sender' WHERE job < ?", [f"{NEW // 5:016x}"])
    database.commit()
    statements = judge_rows(index, f"with --since, {NEW // 5} changed", "--since", "2d")
    sent = statements.count("/logs/") + statements.count(WORK)  # each row has its source once
    judge.holds(NEW // 5 < wanted < COUNT / 10 and sent == wanted, f"of them {wanted} rows were sent", [sent, wanted])


def judge_parts(index, database):
    """A job that was in parts is in one file now: the row of its parts goes."""
    names = [row[1] for row in database.execute("PRAGMA table_info(jobs)")]
    row = dict(zip(names, database.execute("SELECT * FROM jobs WHERE job = ?", [f"{7:016x}"]).fetchone()))
    parts = [f"job {COUNT:016x} of user {user}" for user in ("1000", "it's")]
    for i, source in enumerate(parts):
        database.execute(f"INSERT INTO jobs VALUES ({','.join('?' * len(names))})", list({**row, "source": source, "job": f"parts {i}"}.values()))
    database.commit()
    judge_rows(index, "two jobs in parts")
    database.execute("DELETE FROM jobs WHERE source = ?", parts[1:])
    database.execute(f"INSERT INTO jobs VALUES ({','.join('?' * len(names))})", list({**row, "source": "/logs/whole", "job": "whole"}.values()))
    database.execute("INSERT INTO files VALUES ('/logs/whole', 1, 1, ?, 0, 1)", [parts[1].removeprefix("job ")])
    database.commit()
    judge_rows(index, "one of them in one file")


def judge_board(index):
    """The queries with all jobs, and with some users and programs, whose sums are calculated here again."""
    with open(f"{SHARE}/grafana/mpi-history.json", encoding="utf-8") as file:
        board = json.load(file)
    judge.check("the dashboard: places, numbers and descriptions", grafana.faults(board))
    database = sqlite3.connect(index)
    database.create_function("floor", 1, math.floor)
    queries = {panel["title"]: target["rawSql"] for panel in board["panels"] for target in panel["targets"]}
    queries |= {variable["label"]: variable["query"] for variable in board["templating"]["list"] if variable["type"] == "query"}
    begin, end = NOW - 30 * 24 * HOUR, NOW
    for what, chosen in (("all", {}), ("some", {"user": USERS[1:], "program": PROGRAMS[1:3]})):
        wrong = []
        for title, query in queries.items():
            sql = grafana.replaced(query, board, chosen, begin, end, 24 * HOUR)
            wanted = database.execute(sql).fetchall()
            differ = ["a variable or macro is not known"] if "$" in sql else rows_differ(asked(sql), wanted)
            wrong += [f"{title}: {differ}"] if differ else []
            wrong += [f"{title}: no rows"] if not wanted else []
        judge.check(f"the dashboard, {what}: {len(queries)} queries give what SQLite gives", wrong)
        jobs = database.execute("SELECT * FROM jobs").fetchall()
        names = [row[1] for row in database.execute("PRAGMA table_info(jobs)")]
        rows = [row for row in (dict(zip(names, job)) for job in jobs) if begin <= row["begin"] <= end and
                row["user"] in chosen.get("user", [row["user"]]) and row["program"] in chosen.get("program", [row["program"]])]
        hours = [row["ranks"] * row["seconds"] / HOUR for row in rows]
        known = [(hour, row["parallel_efficiency"]) for hour, row in zip(hours, rows) if row["parallel_efficiency"] is not None]
        lost = sum(hour * (1 - share) for hour, share in known)
        told = asked(grafana.replaced(queries["All"], board, chosen, begin, end, 24 * HOUR))
        mine = [len(rows), sum(hours), lost, 1 - lost / sum(hour for hour, _ in known), sum(row["ended_badly"] > 0 for row in rows)]
        judge.holds(not rows_differ(told, [mine]), f"the dashboard, {what}: hours, lost hours, efficiency", [told, mine])
    database.close()


def judge_all():
    index = f"{WORK}/index"
    database = index_make(index)
    judge_rows(index, "a new table")
    judge_new(index, database)
    judge_parts(index, database)
    database.execute("UPDATE jobs SET seconds = 1.5, rule = NULL, label = 'it''s' WHERE job < ?", [f"{NEW:016x}"])
    database.execute("INSERT INTO jobs SELECT 'new ' || job, " + ", ".join(
        f"'new ' || {row[1]}" if row[1] == "source" else f'"{row[1]}"' for row in database.execute("PRAGMA table_info(jobs)").fetchall()[1:]) +
        " FROM jobs WHERE job < ?", [f"{NEW:016x}"])
    database.commit()
    database.close()
    judge_rows(index, f"{NEW} changed, {NEW} new")
    judge.holds(asked("SELECT indexname FROM pg_indexes WHERE tablename = 'jobs' ORDER BY 1") == [["jobs_begin"], ["jobs_pkey"]], "indexes on begin and source")
    judge_board(index)


if not os.path.exists(JOBS):
    judge.skip("mpit-jobs", "this build has no SQLite, and so no mpit-jobs")
elif not SERVERS:
    judge.skip("PostgreSQL", "there is no server: install postgresql")
else:
    if os.geteuid() == 0:
        os.chown(WORK, pwd.getpwnam("postgres").pw_uid, -1)
    os.chmod(WORK, 0o755)
    server("initdb", "-D", f"{WORK}/data", "-U", "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name)
    server("pg_ctl", "-D", f"{WORK}/data", "-w", "-l", f"{WORK}/log", "-o", f"-k {WORK} -c listen_addresses=", "start")
    try:
        judge_all()
    finally:
        server("pg_ctl", "-D", f"{WORK}/data", "-m", "immediate", "stop")
shutil.rmtree(WORK, ignore_errors=True)
sys.exit(judge.verdict())
