/*
 * Monitor windows around the phases of a program: one that calls a function, one that is printed.
 *
 *     mpicc phases.c $(pkg-config --cflags mpit) -o phases
 *     mpit-run mpirun -n 2 ./phases
 *
 * Without mpit the same program runs, and says that nothing monitors.
 */
#include <mpit/monitor.h>

#include <stdio.h>

static void told(const MPIX_Monitor_report *report, void *own)
{
    const MPIX_Monitor_figures *sum = &report->period->sum;
    if (report->rank == 0)
        printf("%s: %llu messages, %llu bytes, %.3f ms in MPI%s\n", report->name, (unsigned long long)sum->completed,
               (unsigned long long)(sum->sent_bytes + sum->received_bytes), (double)report->period->inside_ns / 1e6,
               *(const int *)own ? "" : ", of a process alone");
}

static void exchange(int rank, int size)
{
    double value = rank;
    for (int i = 0; i < 50 && size > 1; i++)
        MPI_Sendrecv_replace(&value, 1, MPI_DOUBLE, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, size;
    double sum = 0, mine;
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    MPIX_Monitor_request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    handle.name = "exchange";
    handle.own = &size;
    if (MPIX_Start_monitor(&request, &handle, told) == MPIX_MONITOR_ABSENT && rank == 0)
        printf("nothing monitors: mpit is not loaded\n");
    exchange(rank, size);
    MPIX_End_monitor(&request, &handle);

    handle.name = "reduce";
    MPIX_Start_monitor(&request, &handle, MPIT_MONITOR_NULL);
    mine = rank;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPIX_End_monitor(&request, &handle);
    MPI_Finalize();
    return sum == size * (size - 1) / 2 ? 0 : 1;
}
