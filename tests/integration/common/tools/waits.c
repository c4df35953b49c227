/* Waits for what never comes. */
#include <mpi.h>
int main(int argc, char *argv[])
{
    char byte;
    MPI_Init(&argc, &argv);
    MPI_Recv(&byte, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return 0;
}
