#!/usr/bin/python3
"""Applications of Debian natively and with mpit: the same results, on each way that Open MPI sends messages.

    apps.py BUILD [--work DIR] [--only APPLICATION]... [--ways WAY]... [--ranks N] [--timeout SECONDS]

    hpcc     the HPC Challenge benchmarks, C               apt-get install hpcc
    lammps   molecular dynamics of 4000 atoms, C++         apt-get install lammps
    nwchem   SCF energy and gradient of water, Fortran     apt-get install nwchem-openmpi

Ways: ob1 (pml ob1), ucx (pml ucx), ofi (pml cm with mtl ofi). Each application runs on each way natively, with mpit, and
with mpit and a trace; what it computed is compared without what was timed, as are the status and what stood on standard
error; `mpit-dump --verify` has to replay the trace to the same tallies. Where an application does not run natively on a
way, its last line of output is shown. Status 1 if anything differs.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

WAYS = {"ob1": "--mca pml ob1",
        "ucx": "--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any",
        "ofi": "--mca pml cm --mca mtl ofi"}
SETTINGS = {"LC_ALL": "C", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
MELT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 4711 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 10
run 100
write_data atoms.data
"""
WATER = """\
start water
geometry units angstrom
  O 0.0 0.0 0.1173
  H 0.0 0.7572 -0.4692
  H 0.0 -0.7572 -0.4692
end
basis
  * library 6-31g
end
scf
  thresh 1e-8
end
task scf gradient
"""


def hpcc_result(place, out):
    """The results without times, rates, what follows from them, and residuals of matrices that differ each time."""
    gone = (r"[Ss]econds|[GT][Uu][Pp]|[Gg]flop|GB/s|Byte/s|MB/s|msecs?|usec|[0-9] sec\b|^CPU |^Scaled residual|"
            r"_[Tt]ime[0-9]*=|CheckTime=|[GT]flops?=|GBs=|STREAM_[A-Z][a-z]+=|Latency|Bandwidth|ping pong|client pings|"
            r"granularity|Wtick|(Start|End) of |^(Copy|Scale|Add|Triad): |^(Begin|End) of |^Current time|"
            r"^(Generation time|Tuning|Computing|Inverse FFT): |each test below|clock ticks|precision")
    lines = [line for line in open(f"{place}/hpccoutf.txt", errors="replace") if not re.search(gone, line)]
    lines = [re.sub(r"^(WALL .*) [0-9.]+ (PASSED|FAILED).*", r"\1 \2", line) for line in lines]
    return [re.sub(r"^(W[RC][0-9A-Z]+( +[0-9]+){4}) .*", r"\1", line).rstrip() for line in lines]


def lammps_result(place, out):
    """Temperature, energies and pressure of each step that was printed, and each atom at the end, in all digits."""
    steps = re.findall(r"(?m)^ *\d+( +-?[0-9.e+-]+){5} *$", out)
    if len(steps) < 11:
        return ["no steps"]
    steps = [line.strip() for line in out.splitlines() if re.fullmatch(r" *\d+( +-?[0-9.e+-]+){5} *", line)]
    return steps + [line.strip() for line in sorted(open(f"{place}/atoms.data"))]


def nwchem_result(place, out):
    """Energies to nine digits and forces. Tasks go to whoever is free, so sums are not formed in one order: the last
    digits differ from run to run without mpit, too."""
    energies = [f"{what.strip()} {float(number):.8f}"
                for what, number in re.findall(r"(Total SCF energy|-electron energy|repulsion energy) *= *(-?[0-9.]+)", out)]
    forces = re.findall(r"(?m)^ +\d+ [OH] +.*$", out)
    return energies + [" ".join(f"{float(w) + 0.0:.5f}" if "." in w else w for w in line.split()) for line in forces]


APPLICATIONS = {"hpcc": (["hpcc"], {}, hpcc_result),
                "lammps": (["lmp", "-in", "in.melt"], {"in.melt": MELT}, lammps_result),
                "nwchem": (["nwchem.openmpi", "water.nw"], {"water.nw": WATER}, nwchem_result)}


def run(words, place, limit):
    """(status or None, standard output, standard error, seconds)"""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MPIT_") and k != "LD_PRELOAD"}
    start = time.time()
    with open(f"{place}/stdout", "w") as out, open(f"{place}/stderr", "w") as err:
        process = subprocess.Popen(words, cwd=place, env=dict(env, **SETTINGS), stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err, start_new_session=True)
        try:
            status = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)  # the launcher ends its processes
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            status = None
    read = [open(f"{place}/{name}", errors="replace").read() for name in ("stdout", "stderr")]
    return status, read[0], read[1], time.time() - start


def measure(app, way, recorded, options, tree):
    """{status, result, err, seconds, said} of one run; recorded is "", "mpit" or "trace" """
    words, inputs, result = APPLICATIONS[app]
    place = f"{options.work}/{app}-{way}-{recorded or 'native'}"
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    for name, text in inputs.items():
        open(f"{place}/{name}", "w").write(text)
    if app == "hpcc":
        shutil.copy(f"{tree}/apps/hpccinf.txt", place)
    line = ["mpirun.openmpi", "-n", str(options.ranks)] + WAYS[way].split() + words
    if recorded:
        line = [f"{options.build}/bin/mpit-run", "--quiet", "--output", f"{place}/run"] + \
            (["--trace"] if recorded == "trace" else []) + line
    status, out, err, seconds = run(line, place, options.timeout)
    try:
        values = result(place, out)
    except (OSError, ValueError) as error:
        values = [f"no result: {error}"]
    said = (out + err).strip().splitlines()
    # process numbers and addresses stand in messages of libraries
    err = re.sub(r"\[[^]\n]*:\d+\]|\b0x[0-9a-f]+|\[\d+\.\d+\]", "", err)
    return {"place": place, "status": status, "result": values, "err": err, "seconds": seconds,
            "said": said[-1] if said else ""}


def verify(found, options):
    done = subprocess.run([f"{options.build}/bin/mpit-dump", "--verify", f"{found['place']}/run"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    open(f"{found['place']}/verify", "w").write(done.stdout)
    return done.returncode == 0, done.stdout.strip()


def compare(app, way, options, tree):
    """0 if everything is the same"""
    native = measure(app, way, "", options, tree)
    title = f"{app:8} {way:4}"
    if native["status"] != 0 or len(native["result"]) < 3:
        end = "no end" if native["status"] is None else f"status {native['status']}"
        print(f"{title} natively: {end}: {native['said'] or native['result'][0]}", flush=True)
        return 0
    wrong, words = [], []
    for recorded in ("mpit", "trace"):
        other = measure(app, way, recorded, options, tree)
        for what in ("status", "result", "err"):
            if native[what] != other[what]:
                wrong.append(f"{recorded}: {what} differs, see {other['place']}")
                if what == "result":
                    wrong += [f"  natively {a}\n           with mpit {b}"
                              for a, b in zip(native[what], other[what]) if a != b][:5]
        words.append(f"{recorded} {other['seconds']:.0f} s")
    same, said = verify(other, options)
    if not same:
        wrong.append(f"the trace does not verify: {said[-600:]}")
    print(f"{title} {len(native['result'])} lines of results, natively {native['seconds']:.0f} s, {', '.join(words)}: " +
          ("the same" if not wrong else "DIFFERS") + (f"; verified: {said.splitlines()[-1]}" if same and said else ""))
    for line in wrong:
        print("        " + line)
    sys.stdout.flush()
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--work", default="apps-work")
    parser.add_argument("--only", action="append", choices=list(APPLICATIONS))
    parser.add_argument("--ways", action="append", choices=list(WAYS))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=600)
    options = parser.parse_args()
    options.build, options.work = os.path.abspath(options.build), os.path.abspath(options.work)
    tree = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    wrong = 0
    for app in options.only or APPLICATIONS:
        if not shutil.which(APPLICATIONS[app][0][0]):
            print(f"{app:8} is not installed")
            continue
        for way in options.ways or WAYS:
            wrong += compare(app, way, options, tree)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
