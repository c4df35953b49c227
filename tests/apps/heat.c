/*
 * Two-dimensional heat diffusion: a small, ordinary MPI program.
 *
 *          column halo (a vector type)
 *            v                v
 *        +---+----------------+---+
 *        |   |  row halo      |   |      each process holds a block of the plate and one ring of cells around it,
 *        +---+----------------+---+      which its four neighbours on the Cartesian communicator fill; outside the
 *        |   |                |   |      plate there is no neighbour (MPI_PROC_NULL), and the ring keeps the border's
 *        |   |  rows x columns|   |      temperature
 *        |   |                |   |
 *        +---+----------------+---+
 *        |   |                |   |
 *        +---+----------------+---+
 *
 * What it prints depends on the grid, the steps and the number of processes, never on timing.
 *
 * The first rows of the plate may radiate heat (--radiating), which takes longer to compute than conduction. By default
 * the processes share the plate in both directions, so the first ones compute longer than the others. With --bands 1
 * each process has a part of all rows, and all compute as long.
 */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    int rows, columns; /* of the plate */
    int steps, every;  /* the residual is formed every that many steps */
    int radiating;     /* so many first rows lose heat by radiation */
    int bands;         /* rows of the grid of processes; 0: as MPI_Dims_create divides */
};

struct plate {
    MPI_Comm grid, band; /* band: the processes of one row of the grid */
    MPI_Datatype column;
    int place[2]; /* of this process in the grid */
    int above, below, left, right;
    int rows, columns; /* of this process's block */
    int radiating;     /* rows of it */
    int first_row, first_column;
    double *now, *next;
};

/* MPICH's MPI_STATUSES_IGNORE is a small number cast to a pointer, which GCC takes for an array of no size. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

enum { TAG_DOWN = 1, TAG_UP, TAG_RIGHT, TAG_LEFT, NEWTON_STEPS = 4 };

static const double border_temperature = 100.0;

static size_t at(const struct plate *plate, int row, int column)
{
    return (size_t)row * (size_t)(plate->columns + 2) + (size_t)column;
}

/* Divides `cells` among `parts` so that no two shares differ by more than one. */
static int share(int cells, int parts, int part, int *first)
{
    *first = part * (cells / parts) + (part < cells % parts ? part : cells % parts);
    return cells / parts + (part < cells % parts);
}

static void plate_fill(struct plate *plate, const struct options *options)
{
    for (int r = 0; r < plate->rows + 2; r++)
        for (int c = 0; c < plate->columns + 2; c++) {
            int row = plate->first_row + r - 1, column = plate->first_column + c - 1;
            double start = 0;
            if (row < 0)
                start = border_temperature;
            else if (row < options->rows && column >= 0 && column < options->columns)
                start = 10.0 * sin(0.05 * row) * cos(0.03 * column);
            plate->now[at(plate, r, c)] = plate->next[at(plate, r, c)] = start;
        }
}

static void plate_open(struct plate *plate, const struct options *options)
{
    int processes, rank, dims[2] = {options->bands, 0}, periods[2] = {0, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    MPI_Dims_create(processes, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &plate->grid);
    MPI_Comm_rank(plate->grid, &rank);
    MPI_Cart_coords(plate->grid, rank, 2, plate->place);
    MPI_Cart_shift(plate->grid, 0, 1, &plate->above, &plate->below);
    MPI_Cart_shift(plate->grid, 1, 1, &plate->left, &plate->right);
    MPI_Comm_split(plate->grid, plate->place[0], plate->place[1], &plate->band);

    plate->rows = share(options->rows, dims[0], plate->place[0], &plate->first_row);
    plate->columns = share(options->columns, dims[1], plate->place[1], &plate->first_column);
    int radiating = options->radiating - plate->first_row;
    plate->radiating = radiating < 0 ? 0 : radiating < plate->rows ? radiating : plate->rows;
    MPI_Type_vector(plate->rows, 1, plate->columns + 2, MPI_DOUBLE, &plate->column);
    MPI_Type_commit(&plate->column);

    size_t cells = (size_t)(plate->rows + 2) * (size_t)(plate->columns + 2);
    plate->now = malloc(cells * sizeof *plate->now);
    plate->next = malloc(cells * sizeof *plate->next);
    if (!plate->now || !plate->next) {
        fprintf(stderr, "heat: no memory for a block of %d x %d cells\n", plate->rows, plate->columns);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    plate_fill(plate, options);
}

static void plate_close(struct plate *plate)
{
    free(plate->now);
    free(plate->next);
    MPI_Type_free(&plate->column);
    MPI_Comm_free(&plate->band);
    MPI_Comm_free(&plate->grid);
}

static void halo_exchange(struct plate *plate)
{
    double *now = plate->now;
    int rows = plate->rows, columns = plate->columns;
    MPI_Request requests[8];
    MPI_Irecv(&now[at(plate, 0, 1)], columns, MPI_DOUBLE, plate->above, TAG_DOWN, plate->grid, &requests[0]);
    MPI_Irecv(&now[at(plate, rows + 1, 1)], columns, MPI_DOUBLE, plate->below, TAG_UP, plate->grid, &requests[1]);
    MPI_Irecv(&now[at(plate, 1, 0)], 1, plate->column, plate->left, TAG_RIGHT, plate->grid, &requests[2]);
    MPI_Irecv(&now[at(plate, 1, columns + 1)], 1, plate->column, plate->right, TAG_LEFT, plate->grid, &requests[3]);
    MPI_Isend(&now[at(plate, rows, 1)], columns, MPI_DOUBLE, plate->below, TAG_DOWN, plate->grid, &requests[4]);
    MPI_Isend(&now[at(plate, 1, 1)], columns, MPI_DOUBLE, plate->above, TAG_UP, plate->grid, &requests[5]);
    MPI_Isend(&now[at(plate, 1, columns)], 1, plate->column, plate->right, TAG_RIGHT, plate->grid, &requests[6]);
    MPI_Isend(&now[at(plate, 1, 1)], 1, plate->column, plate->left, TAG_LEFT, plate->grid, &requests[7]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

/* What is left of a temperature after radiation: t + t^4 / 10^7 = mean, by Newton's method. */
static double radiated(double mean)
{
    double t = mean;
    for (int i = 0; i < NEWTON_STEPS; i++)
        t -= (t + 1e-7 * t * t * t * t - mean) / (1 + 4e-7 * t * t * t);
    return t;
}

/* One step of Jacobi's method; returns the sum of the squared changes in this block. */
static double plate_step(struct plate *plate)
{
    double change = 0;
    for (int r = 1; r <= plate->rows; r++)
        for (int c = 1; c <= plate->columns; c++) {
            const double *cell = &plate->now[at(plate, r, c)];
            double mean = 0.25 * (cell[-1] + cell[1] + cell[-(plate->columns + 2)] + cell[plate->columns + 2]);
            if (r <= plate->radiating)
                mean = radiated(mean);
            plate->next[at(plate, r, c)] = mean;
            change += (mean - *cell) * (mean - *cell);
        }
    double *old = plate->now;
    plate->now = plate->next;
    plate->next = old;
    return change;
}

static double plate_sum(const struct plate *plate)
{
    double sum = 0;
    for (int r = 1; r <= plate->rows; r++)
        for (int c = 1; c <= plate->columns; c++)
            sum += plate->now[at(plate, r, c)];
    return sum;
}

/* The mean temperature of the band of the plate that this row of processes holds, known to all of them. */
static double band_mean(const struct plate *plate, const struct options *options)
{
    double sum = plate_sum(plate), total = 0;
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, plate->band);
    total /= (double)plate->rows * options->columns;
    MPI_Bcast(&total, 1, MPI_DOUBLE, 0, plate->band);
    return total;
}

static void simulate(struct plate *plate, const struct options *options, int rank)
{
    double warmest = 0;
    for (int step = 1; step <= options->steps; step++) {
        halo_exchange(plate);
        double change = plate_step(plate), residual;
        if (step % options->every != 0 && step != options->steps)
            continue;
        MPI_Allreduce(&change, &residual, 1, MPI_DOUBLE, MPI_SUM, plate->grid);
        double mean = band_mean(plate, options);
        warmest = mean > warmest ? mean : warmest;
        if (rank == 0)
            printf("step %6d  residual %.12e\n", step, sqrt(residual));
    }
    double sum = plate_sum(plate), checksum, band;
    MPI_Allreduce(&sum, &checksum, 1, MPI_DOUBLE, MPI_SUM, plate->grid);
    MPI_Allreduce(&warmest, &band, 1, MPI_DOUBLE, MPI_MAX, plate->grid);
    if (rank == 0)
        printf("checksum %.12e  warmest band %.12e\n", checksum, band);
}

static int options_read(struct options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        int value = i + 1 < argc ? atoi(argv[i + 1]) : 0;
        if (value < 1)
            return -1;
        if (strcmp(argv[i], "--rows") == 0)
            options->rows = value;
        else if (strcmp(argv[i], "--columns") == 0)
            options->columns = value;
        else if (strcmp(argv[i], "--steps") == 0)
            options->steps = value;
        else if (strcmp(argv[i], "--every") == 0)
            options->every = value;
        else if (strcmp(argv[i], "--radiating") == 0)
            options->radiating = value;
        else if (strcmp(argv[i], "--bands") == 0)
            options->bands = value;
        else
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = {.rows = 256, .columns = 256, .steps = 500, .every = 100};
    struct plate plate;
    int rank, processes;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    if (options_read(&options, argc, argv) != 0 || options.rows < processes || options.columns < processes ||
        (options.bands && processes % options.bands)) {
        if (rank == 0)
            fprintf(
                stderr,
                "usage: heat [--rows N] [--columns N] [--steps N] [--every N] [--radiating N] [--bands N]\n"
                "Each N is 1 or more; rows and columns at least the number of processes (%d), which N bands divide.\n",
                processes);
        MPI_Finalize();
        return 2;
    }
    plate_open(&plate, &options);
    if (rank == 0)
        printf("plate %d x %d, %d steps, %d processes\n", options.rows, options.columns, options.steps, processes);
    simulate(&plate, &options, rank);
    plate_close(&plate);
    MPI_Finalize();
    return 0;
}
