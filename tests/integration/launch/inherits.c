/*
 * mpirun -n 2 inherits: rank 0 starts this program once more, with the variables that its launcher gave it. MPICH lets
 * that one begin as rank 0 of the same job, where it waits; what is left of the job may not come to its end either.
 */
#include <mpi.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, status;
    alarm(argc == 1 ? 15 : 3);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 1 && rank == 0) {
        pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", argv[0], "once", (char *)NULL);
            _exit(9);
        }
        waitpid(child, &status, 0);
    }
    MPI_Finalize();
    return 0;
}
