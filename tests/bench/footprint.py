#!/usr/bin/python3
"""What a recorded job does to its output directory and to node-local storage, and what start and end of a process cost.

    footprint.py BUILD [--mpi openmpi|mpich] [--ranks 1,2,4,8] [--calls N] [--pairs N] [--only storage|times]

Storage: strace follows each rank of marked.c and its children. A table has the system calls that name the output directory, or
the spool of live files, and their bytes. Over the numbers of ranks a line is laid: so much each rank, so much each job.
Times: /bin/true, and an MPI program that calls MPI_Init and MPI_Finalize only, alternately without and with mpit.
"""
import argparse
import collections
import glob
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration", "common"))
import trial  # noqa: E402

PLACES = {"output directory": "watched-output", "node-local": "watched-spool"}
LEFT_OUT = "sched_yield,poll,epoll_wait,futex,clock_nanosleep,nanosleep,getrusage"
KINDS = {  # by the system call; the rest are "others"
    "mkdir, symlink": ("mkdir", "mkdirat", "symlink", "symlinkat", "link", "linkat"),
    "unlink, rmdir": ("unlink", "unlinkat", "rmdir"),
    "rename": ("rename", "renameat", "renameat2"),
    "stat, access, readlink": ("stat", "lstat", "fstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink",
                               "readlinkat", "statfs", "fstatfs"),
    "list": ("getdents64",),
    "write": ("write", "writev", "pwrite64", "pwritev", "pwritev2"),
    "read": ("read", "readv", "pread64", "preadv", "preadv2"),
    "copy": ("copy_file_range", "sendfile"),
    "fallocate, truncate": ("fallocate", "ftruncate", "truncate"),
    "fsync": ("fsync", "fdatasync", "syncfs", "msync"),
    "lock": ("flock", "fcntl"),
}
KIND_OF = {call: kind for kind, calls in KINDS.items() for call in calls}
ROWS = ["create", "open", *KINDS, "mmap, shared", "mmap, private", "others", "all calls", "bytes written", "bytes read",
        "bytes copied", "bytes allocated", "files left", "bytes left"]
SILENT = ("close", "munmap", "lseek", "execve")  # they do not get to a file system, or are no recorder's


def counted(line, rows):
    """Adds one line of strace."""
    found = re.match(r"[\d.]+ (\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+|\?)", line)
    if not found or found[1] in SILENT:
        return
    call, words, result = found[1], found[2], found[3]
    if call in ("open", "openat", "openat2", "creat"):
        kind = "create" if "O_CREAT" in words else "open"
    elif call == "mmap":
        kind = "mmap, shared" if "MAP_SHARED" in words else "mmap, private"
    else:
        kind = KIND_OF.get(call, "others")
    rows[kind] += 1
    rows["all calls"] += 1
    bytes_row = {"write": "bytes written", "read": "bytes read", "copy": "bytes copied"}.get(kind)
    if bytes_row and result.isdigit():
        rows[bytes_row] += int(result)
    if call == "fallocate":
        rows["bytes allocated"] += int(words.rsplit(", ", 1)[1])


def storage(build, mpi, ranks, calls, traced):
    """One job. -> {place: Counter of ROWS}"""
    with tempfile.TemporaryDirectory(prefix="mpit-footprint.") as work:
        run, spool = f"{work}/{PLACES['output directory']}", f"{work}/{PLACES['node-local']}"
        os.mkdir(spool)
        variables = {"LD_PRELOAD": trial.preload(build, mpi), "MPIT_OUTPUT": run, "MPIT_SPOOL": spool, "MPIT_TRACE": str(int(traced))}
        strace = ["strace", "-ff", "-ttt", "-y", "-s", "0", "-e", f"trace=!{LEFT_OUT}"]
        for pair in variables.items():
            strace += ["-E", "=".join(pair)]
        words = ["sh", "-c", f'exec "$@" -o "$0/rank.$$" {build}/tests/marked-{mpi} {calls} 2 0', work, *strace]
        ended = trial.run([*trial.launcher(mpi, ranks), *words], 300)
        if ended.status or ended.hung:
            raise SystemExit(f"footprint.py: {ranks} ranks: {ended}")
        time.sleep(1)  # what collects the results may outlive the job
        places = {place: collections.Counter() for place in PLACES}
        for path in glob.glob(work + "/rank.*"):
            with open(path, encoding="utf-8", errors="replace") as file:
                for line in file:
                    line = re.sub(r'symlink(at)?\(".*?", ', "symlink(", line)  # the link is touched, not what it leads to
                    for place, name in PLACES.items():
                        if f"{work}/{name}" in line:
                            counted(line, places[place])
        for place, name in PLACES.items():
            left = [os.path.join(top, file) for top, _, files in os.walk(f"{work}/{name}") for file in files]
            places[place]["files left"] = len(left)
            places[place]["bytes left"] = sum(os.lstat(file).st_size for file in left)
        return places


def line_through(points):
    """Least squares. -> (a rank, a job)"""
    mean_x, mean_y = (statistics.mean(axis) for axis in zip(*points))
    square = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / square if square else 0.0
    return slope, mean_y - slope * mean_x


def storage_table(build, mpi, ranks, calls):
    """Both places, without a trace and with one."""
    for traced in (False, True):
        jobs = {count: storage(build, mpi, count, calls, traced) for count in ranks}
        print(f"\n{mpi}, {calls} calls a rank, {'with' if traced else 'without'} a trace, ranks {', '.join(map(str, ranks))}\n")
        print("| | " + " | ".join(f"{place}, a rank | a job" for place in PLACES) + " |\n|---" + "|---:" * 2 * len(PLACES) + "|")
        for row in ROWS:
            cells = [value for place in PLACES for value in line_through([(count, jobs[count][place][row]) for count in ranks])]
            if any(abs(cell) >= 0.05 for cell in cells):
                print(f"| {row} | " + " | ".join(f"{cell:.0f}" if abs(cell) >= 100 else f"{cell:.1f}" for cell in cells) + " |")
        sys.stdout.flush()


def timed(words, env):
    """-> (seconds, seconds of processor time of the command and what it waited for)"""
    begin = time.perf_counter()
    process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"footprint.py: {' '.join(words)}: status {process.returncode}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def times_row(name, pairs, bare, recorded):
    """Alternating pairs; the differences are medians over the pairs."""
    seen = [(bare(), recorded()) for _ in range(pairs)]
    print(f"| {name} |", end="")
    for column in (0, 1):
        without, with_mpit = ([pair[i][column] * 1e3 for pair in seen] for i in (0, 1))
        added = statistics.median(b - a for a, b in zip(without, with_mpit))
        ratio = statistics.median(with_mpit) / statistics.median(without) if statistics.median(without) else float("nan")
        print(f" {statistics.median(without):.2f} | {statistics.median(with_mpit):.2f} | {added:+.2f} | {ratio:.2f} |", end="")
    print(flush=True)


def times_table(build, mpi, pairs):
    """A process without MPI, and an MPI program."""
    print(f"\n{mpi}, start and end, ms: medians over alternating pairs\n\n| | native | with mpit | added | ratio "
          "| processor: native | with mpit | added | ratio |\n|---" + "|---:" * 8 + "|")
    with tempfile.TemporaryDirectory(prefix="mpit-footprint.") as work, trial.spool() as spool:
        variables = {"LD_PRELOAD": trial.preload(build, mpi), "MPIT_OUTPUT": work + "/run", "MPIT_SPOOL": spool}
        bare, preloaded = trial.environment(), trial.environment(**variables)
        times_row(f"/bin/true ({20 * pairs} pairs)", 20 * pairs, lambda: timed(["/bin/true"], bare), lambda: timed(["/bin/true"], preloaded))
        for ranks in (1, 2):
            program = [f"{build}/tests/marked-{mpi}", "0", "0", "0"]
            times_row(f"MPI_Init, MPI_Finalize, {ranks} rank{'s' * (ranks > 1)} ({pairs} pairs)", pairs,
                      lambda n=ranks: timed([*trial.launcher(mpi, n), *program], bare),
                      lambda n=ranks: timed([*trial.launcher(mpi, n, variables), *program], bare))


def main():
    """Tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--mpi")
    parser.add_argument("--ranks", default="1,2,4,8", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--calls", default=20000, type=int)
    parser.add_argument("--pairs", default=20, type=int)
    parser.add_argument("--only", choices=("storage", "times"))
    words = parser.parse_args()
    for mpi in [words.mpi] if words.mpi else trial.mpis(words.build):
        if words.only != "times":
            storage_table(words.build, mpi, words.ranks, words.calls)
        if words.only != "storage":
            times_table(words.build, mpi, words.pairs)


main()
