#!/usr/bin/python3
"""A model of mpit in jobs that no machine here can run, and a check of it in jobs that this machine can run.

    scalemodel.py                                   tables for a usual cluster and for a slow file system
    scalemodel.py --check BUILD [--ranks N,...] [--nodes N,...]
                                                    the same for real jobs here: modelled beside measured

What the model has: a server of metadata that all nodes share, with a rate and a delay; a bandwidth; delays of the network;
processors that are not shared. What it has not: other jobs, caches of clients, failures. Every count names the function
that it was taken from. Times of the processor were measured on the machine of tests/bench/README.md.

The check needs strace and root. A node is a mount namespace with a /dev/shm and a host name of its own. Judged are counts:
files, bytes, collectors, and operations on the output directory of each node. Times are shown.
"""
import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration", "common"))
import trial


@dataclass
class Cluster:
    name: str
    metadata_rate: float  # operations a second that the file system does, for all nodes together
    metadata_delay: float  # s, of one operation on an idle file system
    bandwidth: float  # bytes a second of the file system
    round_trip: float  # s, of a small message over TCP
    ranks_per_node: int = 100


CLUSTERS = (Cluster("usual cluster: 20,000 metadata operations a second, 0.5 ms each, 50 GB/s", 2e4, 5e-4, 5e10, 3e-5),
            Cluster("slow file system (NFS): 2,000 a second, 2 ms each, 0.5 GB/s", 2e3, 2e-3, 5e8, 1e-4))

# ---- what mpit does --------------------------------------------------------------------------------------------------

INIT_CPU = 1.2e-3  # s a rank: its part of MPI_Init (growth.py, 1 to 128 ranks)
FINALIZE_CPU = 0.2e-3  # s a rank: its part of MPI_Finalize (growth.py)
LIVE_BYTES = 392 << 10  # a rank, in /dev/shm (run_open)
SCAN = 5e-6  # s for each header of the node that the last process reads (is_last in handover.c)
COLLECT_START = 5e-3  # s: mpit-collect is started (collector_run in handover.c)
COLLECT_RANK = 0.15e-3  # s: it opens a live file and merges it (spool_runs_open, sum_write in collect.c)
GIVES_UP = 0.8  # s: the process goes on if mpit-collect neither reads nor writes for so long (WAIT_MS in handover.c)
HEAD_BYTES, RANK_BYTES = 1000, 45  # of a job file with a summary (summary_section_make); a rank's row in it

# Operations of a node on the output directory before its results can be seen. Each is one trip to the server at most.
VISIBLE = {
    "readlink": 1,  # realpath in spools_find
    "stat": 2,  # spools_find, spools_find's comparison: which spool belongs to the directory?
    "mkdir": 1,  # run_directory_make
    "access": 1,  # some_are_suspect: is the name free?
    "create": 1,  # part_make; the first write has no trip of its own
    "rename": 1,  # result_show
}
FOLDER = 2  # more of a node that makes the directory (folder_open), or finds that another node makes it
AFTERWARDS = {"open": 1, "fsync": 2}  # results_settle: no process waits for it
JOIN = {"open": 7, "read": 8, "close": 7, "unlink": 1}  # a file: its index, its total, looks at it, its sections (runpieces.c, join.c)
JOIN_PART = 50e-6  # s: a summary is unpacked and merged (summary_join)
JOIN_ROW = 0.3e-6  # s: for each rank in it

# Traced jobs of several nodes: clocks_tcp.c, clockparty.c
BURST = 5e-3  # s: BURST_USUAL_NS, a measurement of one node
GATHER, WHOLE = 0.08, 0.2  # s: GATHER_NS, WHOLE_NS, the bounds
ACCEPT = 20e-6  # s: rank 0's leader takes a node (clock_party_gather)
PEERS = 512  # nodes that it takes with 1,024 descriptors a process (peers_most)


def collector(ranks):
    """Of one node, without its file system."""
    return ranks * SCAN + COLLECT_START + ranks * COLLECT_RANK


def summary_bytes(ranks):
    return HEAD_BYTES + RANK_BYTES * ranks


def shared(operations, nodes, cluster):
    """All nodes do so many operations at once: the last one has its answer."""
    return max(operations * cluster.metadata_delay, operations * nodes / cluster.metadata_rate)


def model(ranks, nodes, cluster):
    each = math.ceil(ranks / nodes)
    visible = collector(each) + shared(sum(VISIBLE.values()), nodes, cluster) + nodes * summary_bytes(each) / cluster.bandwidth
    rounds = math.ceil(math.log2(nodes)) if nodes > 1 else 0
    measured = min(nodes, PEERS, int(GATHER / ACCEPT))
    clocks = min(WHOLE, 3 * cluster.metadata_delay + nodes * ACCEPT + rounds * (BURST + cluster.round_trip)) if nodes > 1 else 0
    return {
        "start": INIT_CPU,
        "clocks": clocks,
        "measured": measured,
        "visible": visible,
        "wait": FINALIZE_CPU + min(visible, collector(each) + GIVES_UP),
        "join": nodes * (sum(JOIN.values()) * max(cluster.metadata_delay, 1 / cluster.metadata_rate) + JOIN_PART) + ranks * JOIN_ROW,
        "operations": nodes * (sum(VISIBLE.values()) + sum(AFTERWARDS.values())),
        "files": nodes,
        "bytes": nodes * summary_bytes(each),
        "memory": each * LIVE_BYTES,
    }


# ---- tables ----------------------------------------------------------------------------------------------------------


def seconds(value):
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.1f} s"


def size(value):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}"
        value /= 1024
    return f"{value:.0f} TiB"


def table(cluster):
    print(f"\n{cluster.name}\n")
    print("| ranks | nodes | MPI_Init | with a trace: clocks, nodes measured | results visible after | the job waits | "
          "metadata operations | files, bytes | join | live files of a node |\n" + "|---" * 10 + "|")
    for ranks, nodes in ((1, 1), (100, 1), (300, 3), (10**4, 100), (10**5, 1000), (10**6, 10**4)):
        m = model(ranks, nodes, cluster)
        print(f"| {ranks:,} | {nodes:,} | {seconds(m['start'])} | {seconds(m['clocks'])}, {m['measured']:,} | "
              f"{seconds(m['visible'])} | {seconds(m['wait'])} | {m['operations']:,} | {m['files']:,}, {size(m['bytes'])} | "
              f"{seconds(m['join'])} | {size(m['memory'])} |")


# ---- the check -------------------------------------------------------------------------------------------------------


class Nodes:
    """Mount namespaces with a /dev/shm and a host name each. The first is this one, if there is only one."""

    def __init__(self, count):
        script = "mount --make-rprivate / && mount -t tmpfs none /dev/shm && hostname node{} && echo ok && exec sleep infinity"
        self.kept = [subprocess.Popen(["unshare", "--mount", "--uts", "--ipc", "sh", "-c", script.format(i)], stdout=subprocess.PIPE,
                                      text=True) for i in range(count)]
        self.usable = all(each.stdout.readline() == "ok\n" for each in self.kept)

    def close(self):
        for each in self.kept:
            each.kill()
            each.wait()

    def line(self):
        """A shell that goes to the node of its rank."""
        pids = " ".join(str(each.pid) for each in self.kept)
        return ["bash", "-c", f"pids=({pids}); exec nsenter -t ${{pids[${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} % {len(self.kept)}]}} "
                "-m -u -i env LD_PRELOAD=$RECORD \"$@\"", "node"]


def run(build, mpi, ranks, nodes, traced):
    """Returns waits of the ranks in s, operations by call on the output directory, collectors, files, bytes."""
    with tempfile.TemporaryDirectory(prefix="mpit-model-", dir="/var/tmp") as directory:
        output, ends, trace = f"{directory}/output", f"{directory}/ends", f"{directory}/trace"
        env = trial.clean(MPIT_OUTPUT=output, GROWTH_ENDS=ends, RECORD=f"{trial.preload(build, mpi)}:{build}/tests/libmarks-{mpi}.so")
        names = ("MPIT_OUTPUT", "GROWTH_ENDS", "RECORD")
        launch = [f"mpirun.{mpi}" if shutil.which(f"mpirun.{mpi}") else "mpirun"]
        if mpi == "openmpi":
            launch += ["--oversubscribe", "--mca", "btl", "tcp,self", *(word for name in names for word in ("-x", name))]
        line = [*launch, "-n", str(ranks), *nodes.line(), f"{build}/tests/growth-{mpi}", "ranks", "1"]
        if traced:
            line = ["strace", "-f", "-qq", "-s", "4096", "-e", "trace=%file,fsync", "-o", trace, *line]
        subprocess.run(line, env=env, check=True, timeout=1200, stdout=subprocess.DEVNULL)
        waits = [float(text) / 1e6 for text in open(ends)]
        files = [os.path.getsize(os.path.join(output, name)) for name in os.listdir(output)]
        calls = open(trace, errors="replace").read() if traced else ""
    collectors = len(re.findall(r'execve\("[^"]*mpit-collect"', calls))
    operations = {}
    pids = set(re.findall(r'(\d+) +execve\("[^"]*mpit-collect"', calls))
    for pid, call in re.findall(rf'^(\d+) +(\w+)\([^"\n]*"{re.escape(output)}', calls, re.MULTILINE):
        if pid in pids and call != "execve":
            operations[call] = operations.get(call, 0) + 1
    return waits, operations, collectors, files


def check(build, ranks_list, nodes_list):
    mpi = next(iter(trial.mpis(build)), None)
    if not mpi or not shutil.which("strace") or os.geteuid() != 0:
        print("skipped: needs MPI, strace and root")
        return trial.SKIPPED
    print("| ranks | nodes | the job waits: modelled | measured | collectors: modelled | measured | operations a node: modelled | "
          "measured | bytes: modelled | measured |\n" + "|---" * 10 + "|")
    failed = 0
    here = Cluster("here", 1e6, 1e-5, 1e9, 3e-5)
    for count in nodes_list:
        nodes = Nodes(count)
        if not nodes.usable:
            print("skipped: namespaces are not permitted here")
            nodes.close()
            return trial.SKIPPED
        for ranks in (each for each in ranks_list if each >= count):
            waits, _, _, _ = run(build, mpi, ranks, nodes, False)
            _, operations, collectors, files = run(build, mpi, ranks, nodes, True)
            m = model(ranks, count, here)
            wanted = (sum(VISIBLE.values()) + AFTERWARDS["open"]) * count
            asked = sum(operations.values())
            good = collectors == count and len(files) == count and wanted <= asked <= wanted + FOLDER * count and sum(files) < 2 * m["bytes"]
            failed += not good
            print(f"| {ranks} | {count} | {seconds(m['wait'])} | {seconds(max(waits))} | {count} | {collectors} | {wanted / count:.0f} | "
                  f"{asked / count:.1f} | {m['bytes']} | {sum(files)} |{'' if good else ' <- differs: ' + str(operations)}", flush=True)
        nodes.close()
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", metavar="BUILD", type=os.path.abspath)
    parser.add_argument("--ranks", default="1,4,16,64")
    parser.add_argument("--nodes", default="1,3")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.check, *([int(word) for word in text.split(",")] for text in (arguments.ranks, arguments.nodes)))
    for cluster in CLUSTERS:
        table(cluster)
    return 0


sys.exit(main())
