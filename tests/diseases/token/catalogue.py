# A sky survey. Each rank searches its field, then merges its sources into the common catalogue. Only the rank that holds the token may merge, so
# merges happen one after the other though they touch different parts. Fixed: all merge at once.
import sys, os
sys.path.insert(0, os.environ["BENCH_DIR"])
import mpi4py
from mpi4py import MPI
from bench import Bench

bench = Bench(sys.argv[1:])
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
ROUNDS = 30

def search_field():
    bench.work(0.012)

def merge_sources():
    bench.work(0.009)                                               # @cause

def take_token():
    return comm.recv(source=(rank - 1) % size, tag=5)               # @cause @symptom

def pass_token(token):
    comm.send(token + 1, dest=(rank + 1) % size, tag=5)             # @cause

bench.begin(rank)
token = 0
for field in range(ROUNDS):
    search_field()
    if bench.sick:
        if rank > 0 or field > 0:
            token = take_token()                                    # @cause @symptom
        merge_sources()                                             # @cause
        if rank < size - 1 or field < ROUNDS - 1:
            pass_token(token)                                       # @cause
    else:
        merge_sources()
        token = comm.sendrecv(token, dest=(rank + 1) % size, source=(rank - 1) % size)
comm.barrier()
bench.end()
