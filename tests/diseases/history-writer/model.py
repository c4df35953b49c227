# A model that writes its history through rank 0 after each step: rows are gathered to rank 0 (Gatherv), which writes for 16 ms (it sleeps as a slow file
# system makes it sleep). The others wait for it where the next step begins. Fixed: it writes once, at the end.
import sys, os
sys.path.insert(0, os.environ["BENCH_DIR"])
from array import array
from mpi4py import MPI
from bench import Bench

bench = Bench(sys.argv[1:])
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
counts = [100 + 10 * r for r in range(size)]
rows = array("d", [rank] * counts[rank])
everything = array("d", [0.0] * sum(counts)) if rank == 0 else None
STEPS = 40

def next_dt():
    return comm.allreduce(1.0 / (1 + rank), op=MPI.MIN)                  # @symptom

def integrate(dt):
    bench.work(0.014)

def collect():
    comm.Gatherv([rows, MPI.DOUBLE], [everything, counts, None, MPI.DOUBLE] if rank == 0 else None, root=0)    # @cause

def write_history():
    mode, bench.mode = bench.mode, "sleep"
    bench.work(0.016)                                                    # @cause
    bench.mode = mode

comm.Barrier()
bench.begin(rank)
for step in range(STEPS):
    dt = next_dt()
    integrate(dt)
    if bench.sick or step == STEPS - 1:
        collect()
        if rank == 0:
            write_history()
comm.Barrier()
bench.end()
