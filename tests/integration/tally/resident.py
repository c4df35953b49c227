#!/usr/bin/env python3
"""The memory of ranks, its growth by pass, and what they read and write, against a program that counts for itself.

    resident.py BUILD
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD = os.path.abspath(sys.argv[1])
RANKS, PASSES, LARGE, LEAK, FILE_BYTES = 2, 40, 300 << 20, 1 << 20, 10 << 20
OWN_BYTES, OWN_CALLS = 64 << 10, 60  # the program's looks at /proc, and what MPI reads and writes


def near(figure, wanted, share, least=0):
    return wanted - least <= figure <= wanted * (1 + share) + least


def judge_kind(judge, mpi, work, kind):
    run, data = f"{work}/{kind}", f"{work}/data"
    with open(data, "wb") as out:
        out.write(bytes(FILE_BYTES))
    ended = trial.run([f"{BUILD}/bin/mpit-run", kind, "--output", run, *trial.launcher(mpi, RANKS), f"{BUILD}/tests/resident-{mpi}", data],
                      60, trial.environment(), work)
    told = {rank: figures for rank, *figures in (map(int, numbers.split()) for numbers in re.findall("resident ([0-9 ]+)", ended.out))}
    job = json.loads(trial.run([f"{BUILD}/bin/mpit-dump", "--json", run], 20).out)["jobs"][0]
    full = trial.run([f"{BUILD}/bin/mpit-dump", "--full", run], 20).out
    judge.holds(len(told) == RANKS == len(job["by_rank"]), f"{mpi} {kind}: all ranks tell", ended.out + ended.err)
    for row in job["by_rank"]:
        peak, read, reads, written, writes, loop_us = told[row["rank"]]
        name = f"{mpi} {kind}: rank {row['rank']}"
        judge.holds(abs(row["memory_bytes"] - peak) < 2 << 20, f"{name}: peak", [row["memory_bytes"], peak])
        judge.holds(0 < row["memory_begin_bytes"] < row["memory_bytes"] <= row["node_memory_bytes"], f"{name}: order", row)
        judge.holds(near(row["bytes_read"], read, 0, OWN_BYTES) and near(row["bytes_written"], written, 0, OWN_BYTES),
                    f"{name}: bytes", [row, read, written])
        judge.holds(near(row["read_calls"], reads, 0, OWN_CALLS) and near(row["write_calls"], writes, 0, OWN_CALLS), f"{name}: calls",
                    [row, reads, writes])
        seconds = row["memory_growth_seconds"]
        rate = row["memory_growth_bytes"] / seconds if seconds else 0
        wanted = PASSES * LEAK / (loop_us * 1e-6) if row["rank"] else 0  # the peak of rank 0 was before
        judge.holds(0.75 * wanted <= rate <= 1.25 * wanted, f"{name}: growth", [rate, wanted])
    judge.holds(job["by_rank"][0]["memory_bytes"] > LARGE > 2 * job["by_rank"][1]["memory_bytes"], f"{mpi} {kind}: rank 0 has most", job["by_rank"])
    judge.holds("at most, on rank 0" in full and "first seen before MPI_Barrier (resident.c:" in full and " mesh_read)" in full
                and "still grows in the second half of the run on 1 rank" in full and "20.0 MiB in" in full, f"{mpi} {kind}: --full", full[-6000:])


def judge_all(judge, _, mpi, work):
    for kind in ("--no-trace", "--trace"):
        judge_kind(judge, mpi, work, kind)


trial.judge_mpis(BUILD, trial.Judge(), judge_all)
