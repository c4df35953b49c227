#!/usr/bin/env python3
"""mpit-jobs --sql into a PostgreSQL server of its own: the rows are those of the index, also after some have changed.

    postgres.py BUILD [JOBS]
"""
import glob
import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD, COUNT = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000
JOBS, NEW = BUILD + "/bin/mpit-jobs", 100
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
    return server("psql", "-h", WORK, "-d", "postgres", "-At", "-F", "\x1f", "-R", "\x1e", "-P", "null=\x1d", "-c", sql)


def shown(value):
    return "\x1d" if value is None else str(value)


def judge_rows(index, what):
    begin = time.monotonic()
    statements = trial.run([JOBS, "--index", index, "--sql"], 120)
    made = time.monotonic() - begin
    with open(f"{WORK}/sql", "w", encoding="utf-8") as out:
        out.write(statements.out)
    server("psql", "-h", WORK, "-d", "postgres", "-q", "-v", "ON_ERROR_STOP=1", "-f", f"{WORK}/sql")
    taken = time.monotonic() - begin - made
    database = sqlite3.connect(index)
    names = [row[1] for row in database.execute("PRAGMA table_info(jobs)")]
    columns = ", ".join(f'"{name}"' for name in names)
    wanted = [[shown(value) for value in row] for row in database.execute(f"SELECT {columns} FROM jobs ORDER BY job")]
    database.close()
    rows = [line.split("\x1f") for line in asked(f'SELECT {columns} FROM jobs ORDER BY job COLLATE "C"').rstrip("\n").split("\x1e")]
    wrong = [(a, b) for a, b in zip(rows, wanted) if any(x != y and float(x) != float(y) for x, y in zip(a, b) if x != y)]
    judge.holds(len(rows) == len(wanted) and not wrong, f"{what}: {len(wanted)} rows ({made:.1f} s to write, {taken:.1f} s to take)",
                [len(rows), wrong[:1]])


def index_make(index):
    """One recorded job, and COUNT rows like it, with texts that need quotes."""
    mpi = trial.mpis(BUILD)[0]
    trial.run([f"{BUILD}/bin/mpit-run", "--quiet", "--output", f"{WORK}/run", *trial.launcher(mpi, 2), f"{BUILD}/tests/heat-{mpi}", "--steps", "5",
               "--rows", "48", "--columns", "48"], 60, trial.environment())
    trial.run([JOBS, "--index", index, "--json", f"{WORK}/run"], 60)
    database = sqlite3.connect(index)
    names = [row[1] for row in database.execute("PRAGMA table_info(jobs)")]
    first = dict(zip(names, database.execute("SELECT * FROM jobs").fetchone()))
    for i in range(COUNT):
        row = {**first, "job": f"{i:016x}", "source": f"/logs/{i}'s.mpit", "command": "app 'a b' \\n \"x\"; DROP TABLE jobs; --", "seconds": i / 7}
        database.execute(f"INSERT INTO jobs VALUES ({','.join('?' * len(names))})", list(row.values()))
    database.commit()
    return database


def judge_all():
    index = f"{WORK}/index"
    database = index_make(index)
    judge_rows(index, "a new table")
    database.execute("UPDATE jobs SET seconds = 1.5, rule = NULL, label = 'it''s' WHERE job < ?", [f"{NEW:016x}"])
    database.execute("INSERT INTO jobs SELECT 'new ' || job, " + ", ".join(
        f"'new ' || {row[1]}" if row[1] == "source" else f'"{row[1]}"' for row in database.execute("PRAGMA table_info(jobs)").fetchall()[1:]) +
        " FROM jobs WHERE job < ?", [f"{NEW:016x}"])
    database.commit()
    database.close()
    judge_rows(index, f"{NEW} changed, {NEW} new")


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
