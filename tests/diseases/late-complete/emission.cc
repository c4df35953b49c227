// Air quality: rank 3 puts the emissions of an hour into the windows of the transport ranks 0 to 2. It puts at once, but ends its access
// (MPI_Win_complete) only after it has computed the next inventory: the others wait in MPI_Win_wait. Fixed: it completes right after the puts.
#include <mpi.h>
#include <vector>
#include "bench.h"

static const int hours = 30, species = 100, source = 3;

class Exchange
{
    MPI_Win window;
    MPI_Group emitter, domains;
    double *received;

  public:
    int rank;
    std::vector<double> emissions = std::vector<double>(species, 1.0);

    void open()
    {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Win_allocate(species * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &received, &window);
        MPI_Group world;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, 1, &source, &emitter);
        MPI_Group_excl(world, 1, &source, &domains);
        MPI_Group_free(&world);
    }
    void close()
    {
        MPI_Group_free(&emitter);
        MPI_Group_free(&domains);
        MPI_Win_free(&window);
    }
    void put_emissions()
    {
        MPI_Win_start(domains, 0, window); // @cause
        for (int to = 0; to < source; to++)
            MPI_Put(emissions.data(), species, MPI_DOUBLE, to, 0, species, MPI_DOUBLE, window); // @cause
    }
    void finish_access()
    {
        MPI_Win_complete(window); // @cause
    }
    void accept_emissions()
    {
        MPI_Win_post(emitter, 0, window);
        MPI_Win_wait(window); // @symptom
    }
    void inventory()
    {
        bench_work(0.016);
    } // @cause
    void traffic()
    {
        bench_work(0.008);
    }
    void transport()
    {
        bench_work(0.024);
    }
    void next_hour()
    {
        MPI_Barrier(MPI_COMM_WORLD);
    }
};

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    Exchange x;
    x.open();
    MPI_Barrier(MPI_COMM_WORLD);
    bench_begin(x.rank);
    for (int hour = 0; hour < hours; hour++) {
        if (x.rank == source) {
            x.put_emissions(); // @cause
            if (!bench.sick)
                x.finish_access();
            x.inventory(); // @cause
            if (bench.sick)
                x.finish_access(); // @cause
            x.traffic();
        } else {
            x.accept_emissions(); // @symptom
            x.transport();
        }
        x.next_hour();
    }
    bench_end();
    x.close();
    MPI_Finalize();
}
