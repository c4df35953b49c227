#!/usr/bin/python3
"""Tools on the summaries of a job of 10,000 ranks on 100 nodes: what they show is right, and their memory is bounded.

    scaletools.py BUILD

The summaries are made by `scale`. Bounds are some times what was measured, and judge memory, not time.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile

RANKS, NODES = 10000, 100


def tool(build, bound, *words):
    """Returns the output. The memory of all tools so far must be below the bound, so that the bounds must grow."""
    done = subprocess.run([f"{build}/bin/{words[0]}", *words[1:]], capture_output=True, text=True)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"{' '.join(words[:2])}: {memory} MiB", flush=True)
    if done.returncode or memory > bound:
        sys.exit(f"not ok: status {done.returncode}, {memory} of {bound} MiB\n{done.stderr[-1000:]}")
    return done.stdout


def job_check(build, directory):
    jobs = json.loads(tool(build, 256, "mpit-dump", "--json", directory))["jobs"]
    sent = sum(comm["send_count"] for job in jobs for comm in job["communicators"])
    if len(jobs) != 1 or jobs[0]["ranks"] != RANKS or sent != 12 * RANKS:
        sys.exit(f"not ok: {len(jobs)} jobs, {jobs[0]['ranks']} ranks, {sent} messages")


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="mpit-scale-") as directory:
        subprocess.run([f"{build}/tests/scale", str(RANKS), str(NODES), directory], check=True)
        if f"{RANKS:,} on {NODES} hosts" not in tool(build, 128, "mpit-dump", directory):
            sys.exit("not ok: the summary lacks ranks or hosts")
        tool(build, 128, "mpit-jobs", directory)
        job_check(build, directory)
        tool(build, 256, "mpit-collect", "--join", directory)
        if len(os.listdir(directory)) != 1:
            sys.exit(f"not ok: {len(os.listdir(directory))} files after the join")
        job_check(build, directory)
    print("ok")


main()
