/* Two halves of a city with agents that move. After each agent, which takes about a tenth of a microsecond, the program asks whether a traveller
 * has come from the other half. Fixed: it asks after every 500 agents. The work is real arithmetic, too short to be timed (W and P are 0). */
#include <mpi.h>
#include "bench.h"

enum { HOURS = 60, AGENTS = 25000, EVERY = 500, MOVES = 15 };
static int rank, size, arrived;
static double place = 0.3, traveller[4];

static void move_agent(void)
{
    double x = place;
    for (int i = 0; i < MOVES; i++)
        x = 3.7 * x * (1 - x);
    place = x;
}

static void look_for_traveller(void)
{
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &there, &status); /* @cause @symptom */
    if (there) {
        MPI_Recv(traveller, 4, MPI_DOUBLE, status.MPI_SOURCE, 4, MPI_COMM_WORLD, &status);
        arrived++;
    }
}

static void depart(void)
{
    double who[4] = {place};
    MPI_Send(who, 4, MPI_DOUBLE, 1 - rank, 4, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bench_begin(rank);
    for (int hour = 0; hour < HOURS; hour++) {
        depart();
        for (int agent = 0; agent < AGENTS * bench.scale; agent++) {
            move_agent();
            if (bench.sick || agent % EVERY == 0)
                look_for_traveller(); /* @cause @symptom */
        }
    }
    while (arrived < HOURS) {
        MPI_Recv(traveller, 4, MPI_DOUBLE, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        arrived++;
    }
    bench_end();
    MPI_Finalize();
    return place < 0;
}
