# A pipelined conjugate gradient: the reduction of the dot product is started, a preconditioner is applied meanwhile, then the result is awaited.
# Rank 2 has the longest matrix rows and starts its reductions late. Fixed: rows are spread evenly.
import sys, os
sys.path.insert(0, os.environ["BENCH_DIR"])
from array import array
import mpi4py
from mpi4py import MPI
from bench import Bench

bench = Bench(sys.argv[1:])
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
ITERATIONS = 34
partial, dot = array("d", [1.0]), array("d", [0.0])

def matrix_vector():
    ms = 10
    if bench.sick and rank == 2:
        ms = 30                                                     # @cause
    if not bench.sick:
        ms = (10 * (size - 1) + 30) / size
    bench.work(ms * 1e-3)                                           # @cause

def start_dot():
    return comm.Iallreduce([partial, MPI.DOUBLE], [dot, MPI.DOUBLE], op=MPI.SUM)    # @cause

def precondition():
    bench.work(0.008)

def finish_dot(request):
    request.Wait()                                                  # @cause @symptom

bench.begin(rank)
for iteration in range(ITERATIONS):
    matrix_vector()
    request = start_dot()                                           # @cause
    precondition()
    finish_dot(request)                                             # @cause @symptom
bench.end()
