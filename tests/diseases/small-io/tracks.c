/* A detector simulation. Each track (32 bytes) is written by a call of its own, and each hit of the last event (16 bytes) is read by one.
 * Fixed: the tracks of an event are one write, and its hits one read. */
#include <mpi.h>
#include "bench.h"

enum { EVENTS = 20, TRACKS = 1500, HITS = 1000 };
struct track {
    double vertex[3], energy;
};
struct hit {
    float x, y, z;
    int cell;
};
static int rank, size;
static struct track tracks[TRACKS];
static struct hit hits[HITS];
static MPI_File file;

static void propagate(void)
{
    bench_work(0.006);
}

static void store_tracks(int event)
{
    MPI_Offset begin = (MPI_Offset)(event * size + rank) * sizeof tracks;
    if (bench.sick)
        for (int i = 0; i < TRACKS; i++)
            MPI_File_write_at(file, begin + (MPI_Offset)(i * sizeof(struct track)), &tracks[i], sizeof(struct track),
                              MPI_BYTE, MPI_STATUS_IGNORE); /* @cause @symptom */
    else
        MPI_File_write_at(file, begin, tracks, sizeof tracks, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void load_hits(int event)
{
    MPI_Offset begin = (MPI_Offset)(event * size + rank) * sizeof tracks;
    if (bench.sick)
        for (int i = 0; i < HITS; i++)
            MPI_File_read_at(file, begin + (MPI_Offset)(i * sizeof(struct hit)), &hits[i], sizeof(struct hit), MPI_BYTE,
                             MPI_STATUS_IGNORE); /* @cause @symptom */
    else
        MPI_File_read_at(file, begin, hits, sizeof hits, MPI_BYTE, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_File_open(MPI_COMM_WORLD, "tracks.dat", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    bench_begin(rank);
    for (int event = 0; event < EVENTS; event++) {
        propagate();
        store_tracks(event); /* @cause @symptom */
        load_hits(event);    /* @cause @symptom */
    }
    bench_end();
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
