#!/usr/bin/python3
"""What MPI_T costs with mpit: its own variables against the library's, in runs that alternate.

    mpitcost.py BUILD [--pairs N] [--calls N] [--mpi openmpi|mpich] [--judge]

Each pair is a run of the native library and one with mpit. Medians over the pairs, in nanoseconds, and as ratios of mpit's
to the native ones of Open MPI in the same sitting: machines are shared and noisy, ratios hold. --judge: status 1 if a read
of one value of mpit's is slower than Open MPI's of its own.
"""
import argparse
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration", "common"))
import trial



def run(build, mpi, recorded, calls):
    """{(what, whose): ns}"""
    env = trial.clean(OMPI_MCA_pml_monitoring_enable="2")  # else Open MPI has nothing that can be started
    if recorded:
        env["LD_PRELOAD"] = f"{build}/lib/libmpit.so"
    out = subprocess.run([f"{build}/tests/mpitcost-{mpi}", str(calls)], env=env, capture_output=True, text=True,
                         check=True, preexec_fn=lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})).stdout
    rows = (line.split("\t") for line in out.splitlines() if line.count("\t") == 3)
    return {(what, whose): float(ns) for what, whose, _, ns in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--mpi", action="append", choices=["openmpi", "mpich"])
    parser.add_argument("--judge", action="store_true")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    mpis = [m for m in options.mpi or ["openmpi", "mpich"] if os.path.exists(f"{build}/tests/mpitcost-{m}")]
    if not mpis:
        sys.exit(f"mpitcost.py: {build}/tests has no mpitcost-openmpi and no mpitcost-mpich: build first")
    samples = {}
    for _ in range(options.pairs):
        for mpi in mpis:
            for recorded in (False, True):
                for (what, whose), ns in run(build, mpi, recorded, options.calls).items():
                    if whose == "-":
                        whose = "mpit" if recorded else "native"
                    elif recorded and whose.startswith("native"):
                        whose += ", by way of mpit"
                    samples.setdefault((what, mpi, whose), []).append(ns)
    median = {key: statistics.median(values) for key, values in samples.items()}
    print("| ns | Open MPI's own | the same by way of mpit | mpit's, on Open MPI | ratio | mpit's, on MPICH |")
    print("|---|---|---|---|---|---|")
    for what in dict.fromkeys(key[0] for key in median):
        native, forwarded, own, mpich = (median.get((what, mpi, whose)) for mpi, whose in (
            ("openmpi", "native"), ("openmpi", "native, by way of mpit"), ("openmpi", "mpit"), ("mpich", "mpit")))
        cells = ["" if v is None else f"{v:.0f}" for v in (native, forwarded, own)]
        ratio = f"{own / native:.2f}" if own and native else ""
        print(f"| {what} | " + " | ".join(cells) + f" | {ratio} | " + ("" if mpich is None else f"{mpich:.0f}") + " |")
    read = median.get(("read, 1 value", "openmpi", "mpit")), median.get(("read, 1 value", "openmpi", "native"))
    if options.judge and all(read) and read[0] > read[1]:
        sys.exit(f"mpitcost.py: a read of mpit's takes {read[0]:.1f} ns, one of Open MPI's own {read[1]:.1f} ns")


main()
