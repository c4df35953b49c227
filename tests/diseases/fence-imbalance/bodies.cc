// Gravity: each rank sums the forces of its bodies and puts its multipoles into the window of the next rank, between two fences. The dense cluster
// lies on rank 1. Fixed: bodies are spread evenly.
#include <mpi.h>
#include <vector>
#include "bench.h"

static const int steps = 36, terms = 64;

struct Tree {
    int rank, size;
    double *foreign;
    MPI_Win window;
    std::vector<double> multipoles = std::vector<double>(terms, 1.0);

    Tree()
    {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Win_allocate(terms * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &foreign, &window);
        MPI_Win_fence(0, window);
    }
    void sum_forces()
    {
        double ms = 12;
        if (bench.sick && rank == 1)
            ms = 30; // @cause
        if (!bench.sick)
            ms = (12.0 * (size - 1) + 30) / size;
        bench_work(ms * 1e-3); // @cause
    }
    void share_multipoles()
    {
        MPI_Put(multipoles.data(), terms, MPI_DOUBLE, (rank + 1) % size, 0, terms, MPI_DOUBLE, window); // @cause
        MPI_Win_fence(0, window); // @cause @symptom
    }
    void drift()
    {
        bench_work(0.003);
    }
};

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    {
        Tree tree;
        bench_begin(tree.rank);
        for (int step = 0; step < steps; step++) {
            tree.drift();
            tree.sum_forces();
            tree.share_multipoles(); // @cause @symptom
        }
        bench_end();
        MPI_Win_free(&tree.window);
    }
    MPI_Finalize();
}
