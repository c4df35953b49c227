#!/usr/bin/env python3
"""Phases and regions of Python and Fortran programs, with the modules of share/: the summary has them. A run of Python has the name of its
script. Without mpit the programs run as well.

    phaselanguages.py BUILD
"""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD = os.path.abspath(sys.argv[1])
SHARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "share")
PYTHON = "/usr/bin/python3"  # which Debian installs its mpi4py for
RANKS, PASSES = 2, 7
SCRIPT = f"""
from mpi4py import MPI
import mpit

@mpit.phase("assemble")
def assemble():
    MPI.COMM_WORLD.Barrier()

for _ in range({PASSES}):
    assemble()
    with mpit.phase("solve"), mpit.region("solver"):
        MPI.COMM_WORLD.allreduce(1)
try:
    with mpit.phase("fails"):
        raise ValueError
except ValueError:
    print("rank", MPI.COMM_WORLD.rank, "is done")
"""
PROGRAM = f"""
program phases
  use mpi
  use mpit_phases
  use mpit_regions
  integer :: error, i, rank
  type(mpit_region), save :: solver
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  do i = 1, {PASSES}
    call mpit_phase_begin("assemble")
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call mpit_phase_end("assemble")
    call mpit_phase_begin("solve   ")
    call mpit_region_enter(solver, "solver ")
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call mpit_region_leave(solver)
    call mpit_phase_end("solve")
  end do
  print *, "rank", rank, "is done"
  call MPI_Finalize(error)
end program
"""


def judge_program(judge, mpi, work, name, command, phases):
    environment = trial.environment(PYTHONPATH=os.path.join(SHARE, "python"), PYTHONDONTWRITEBYTECODE="1")
    native = trial.run([*trial.launcher(mpi, RANKS), *command], 60, environment, work)
    judge.holds(native.out.count("is done") == RANKS, f"{mpi}: {name} runs without mpit", native.out + native.err)
    run = f"{work}/run-{name}"
    ended = trial.run([f"{BUILD}/bin/mpit-run", "--output", run, *trial.launcher(mpi, RANKS), *command], 60, environment, work)
    job = json.loads(trial.run([f"{BUILD}/bin/mpit-dump", "--json", run], 20).out)["jobs"][0]
    told = {phase["name"]: [rank["count"] for rank in phase["by_rank"]] for phase in job["phases"] or []}
    solver = [one for one in job["instruments"] if one["name"].endswith("solver")]
    judge.holds({one["sum"] for one in solver if one["class"] == "COUNTER"} == {RANKS * PASSES}, f"{mpi}: region of {name}", job["instruments"])
    judge.holds(ended.out.count("is done") == RANKS and told == {phase: [count] * RANKS for phase, count in phases.items()},
                f"{mpi}: phases of {name}", [told, ended.out, ended.err])
    judge.holds(os.path.basename(job["program"]) == name, f"{mpi}: the run is called {name}", job["program"])


def judge_all(judge, _, mpi, work):
    if mpi == "openmpi" and trial.run([PYTHON, "-c", "import mpi4py"], 20).status == 0:
        with open(f"{work}/steps.py", "w") as out:
            out.write(SCRIPT)
        judge_program(judge, mpi, work, "steps.py", [PYTHON, f"{work}/steps.py"], {"assemble": PASSES, "solve": PASSES, "fails": 1})
    elif mpi == "openmpi":
        judge.skip(f"{mpi}: Python", "there is no mpi4py")
    if not shutil.which("gfortran") or not shutil.which(f"mpif90.{mpi}"):
        judge.skip(f"{mpi}: Fortran", "there is no compiler of it")
        return
    with open(f"{work}/main.f90", "w") as out:
        out.write(PROGRAM)
    built = trial.run([f"mpif90.{mpi}", "-o", f"{work}/steps", f"{SHARE}/fortran/mpit_phases.f90", f"{SHARE}/fortran/mpit_regions.f90",
                       f"{work}/main.f90"], 60, None, work)
    judge.holds(built.status == 0, f"{mpi}: the module is compiled", built.err)
    judge_program(judge, mpi, work, "steps", [f"{work}/steps"], {"assemble": PASSES, "solve": PASSES})


trial.judge_mpis(BUILD, trial.Judge(), judge_all)
