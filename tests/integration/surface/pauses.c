/*
 * pauses: a program that knows its own phases and pauses. Each rank prints what has to be recorded.
 *
 *   pauses named      phases with names and numbers, nested, with a pause inside, and misuse in between
 *   pauses regions    the same with regions of <mpit/instrument.h>, without the misuse
 *   pauses paused     begins without recording (mpit-run --start-paused). What is made meanwhile is used later
 *   pauses across     messages and collectives whose other end is not recorded
 *   pauses storm      threads begin and end phases, and switch the recording
 *   pauses wait       waits without recording, until it is killed
 *
 * A line of a rank: "RANK phase COUNT CALLS LEAST MOST NAME", in seconds that the phase takes at least and at most, or
 * "RANK fact NAME NUMBER".
 */
#define _GNU_SOURCE
#include <mpit/instrument.h>

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PHASES = 16, THREADS = 4, TURNS = 200, STRETCHES = 5, MESSAGES = 20 };

struct phase {
    const char *name;
    int count, calls;
    double least, most;
    double before, begun; /* of the one that is open */
    int calls_before;
};

MPIT_REGION(all_region, "Everything.");
MPIT_REGION(setup_region, "Without MPI.");
MPIT_REGION(solve_region, "Part 1.");
MPIT_REGION(exchange_region, "The ring.");
MPIT_REGION(sum_region, "The sum.");
MPIT_REGION(uneven_region, "The rank with more to do makes the other wait.");
MPIT_REGION(pausing_region, "With a time without recording.");

/* Which region stands for which phase. */
static const struct {
    const char *phase;
    struct mpit_region *region;
} regions[] = {{"all", &all_region},           {"setup", &setup_region}, {"solve: part 1", &solve_region},
               {"exchange", &exchange_region}, {"7", &sum_region},       {"uneven", &uneven_region},
               {"pausing", &pausing_region}};

static struct phase phases[PHASES];
static int phase_count, calls, rank, size;
static bool by_region; /* phases are regions */

static void stop(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void rest(int ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static struct phase *phase_of(const char *name)
{
    for (int i = 0; i < phase_count; i++)
        if (strcmp(phases[i].name, name) == 0)
            return &phases[i];
    phases[phase_count].name = name;
    return &phases[phase_count++];
}

static struct mpit_region *region_of(const char *name)
{
    size_t i = 0;
    while (strcmp(regions[i].phase, name) != 0)
        i++;
    return regions[i].region;
}

/* `level`: 1 for a name, or the number. */
static void phase_begin(const char *name, int level)
{
    struct phase *phase = phase_of(name);
    phase->before = MPI_Wtime();
    phase->calls_before = calls;
    if (by_region)
        mpit_region_enter(region_of(name));
    else if (level == 1)
        MPI_Pcontrol(1, name);
    else
        MPI_Pcontrol(level);
    phase->begun = MPI_Wtime();
}

static void phase_end(const char *name, int level)
{
    struct phase *phase = phase_of(name);
    phase->least += MPI_Wtime() - phase->begun;
    if (by_region)
        mpit_region_leave(region_of(name));
    else if (level == 1)
        MPI_Pcontrol(-1, name);
    else
        MPI_Pcontrol(-level);
    phase->most += MPI_Wtime() - phase->before;
    phase->count++;
    phase->calls += calls - phase->calls_before;
}

static void ring(MPI_Comm comm, int messages)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, out = rank, in;
    for (int i = 0; i < messages; i++) {
        MPI_Sendrecv(&out, 1, MPI_INT, to, 3, &in, 1, MPI_INT, from, 3, comm, MPI_STATUS_IGNORE);
        calls++;
        if (in != from)
            stop("a message is wrong");
    }
}

static void all(MPI_Comm comm)
{
    int one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    calls++;
    if (sum != size)
        stop("a sum is wrong");
}

/* Arguments that are no names, and names that are no phases. Each is ignored. */
static void misuse(void)
{
    static char longest[4096];
    static const char bell[] = "ring\a", none[] = "";
    memset(longest, 'x', sizeof longest - 1);
    char *last = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (last == MAP_FAILED || munmap(last + 4096, 4096) != 0)
        stop("no page");
    memset(last, 'y', 4096); /* no end before the next page, which is not there */
    const void *const names[] = {(void *)8,   (void *)UINTPTR_MAX, (void *)(UINTPTR_MAX / 2 + 9), longest, bell, none,
                                 last + 4090, (void *)ring};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        MPI_Pcontrol(1, names[i]);
        MPI_Pcontrol(-1, names[i]);
        MPI_Pcontrol(1, 0.5, names[i]);
    }
    MPI_Pcontrol(-1, "never begun");
    MPI_Pcontrol(-1, NULL);
    MPI_Pcontrol(-7);
    MPI_Pcontrol(3, "not a level of phases");
    MPI_Pcontrol(-3, "nor this");
    MPI_Pcontrol(1, "outer");
    MPI_Pcontrol(1, "inner"); /* never ended */
    MPI_Pcontrol(1, "crossing");
    MPI_Pcontrol(-1, "outer");
    MPI_Pcontrol(-1, "crossing"); /* "outer" has ended it */
    memcpy(last, "at the end", 11);
    memmove(last + 4096 - 11, last, 11);
    MPI_Pcontrol(1, last + 4096 - 11);
    MPI_Pcontrol(-1, last + 4096 - 11);
    munmap(last, 4096);
}

static void named(void)
{
    double off = 0, since, useful;
    phase_begin("all", 1);
    for (int i = 0; i < 3; i++) {
        phase_begin("setup", 1);
        rest(5);
        phase_end("setup", 1);
    }
    if (!by_region) {
        MPI_Pcontrol(1, "outer");
        MPI_Pcontrol(-1, "outer");
        misuse();
    }
    for (int i = 0; i < 4; i++) {
        phase_begin("solve: part 1", 1);
        rest(rank == 0 ? 10 : 2);
        phase_begin("exchange", 1);
        ring(MPI_COMM_WORLD, 10);
        phase_end("exchange", 1);
        phase_begin("7", 7);
        all(MPI_COMM_WORLD);
        phase_end("7", 7);
        phase_end("solve: part 1", 1);
    }
    phase_begin("uneven", 1);
    since = MPI_Wtime();
    rest(50 * (rank + 1));
    useful = MPI_Wtime() - since;
    calls++;
    MPI_Barrier(MPI_COMM_WORLD);
    phase_end("uneven", 1);
    phase_begin("pausing", 1);
    rest(5);
    MPI_Pcontrol(0);
    since = MPI_Wtime();
    int counted = calls;
    rest(30);
    ring(MPI_COMM_WORLD, 10);
    calls = counted;
    off = MPI_Wtime() - since;
    MPI_Pcontrol(1);
    all(MPI_COMM_WORLD);
    phase_end("pausing", 1);
    phase_end("all", 1);
    printf("%d fact off %.9f\n", rank, off);
    printf("%d fact useful %.9f\n", rank, useful);
    printf("%d fact calls %d\n", rank, calls);
}

/* Made while nothing is recorded: communicators, requests of all kinds, a window, a type. */
static void paused(void)
{
    MPI_Comm dup, half;
    MPI_Win window;
    MPI_Datatype type;
    MPI_Request persistent[2], early[2];
    int to = (rank + 1) % size, from = (rank + size - 1) % size, out = rank, in = -1, late = -1, shared = 0;
    int messages = 0, collectives = 0;
    rest(20);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_name(dup, "made while paused");
    MPI_Comm_split(dup, 0, rank, &half);
    MPI_Win_create(&shared, sizeof shared, 1, MPI_INFO_NULL, dup, &window);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Send_init(&out, 1, MPI_INT, to, 5, dup, &persistent[0]);
    MPI_Recv_init(&in, 1, MPI_INT, from, 5, dup, &persistent[1]);
    MPI_Irecv(&late, 1, MPI_INT, from, 6, dup, &early[0]);
    MPI_Isend(&out, 1, MPI_INT, to, 6, dup, &early[1]);
    ring(MPI_COMM_WORLD, 3);
    for (int stretch = 0; stretch < STRETCHES; stretch++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(1);
        if (rank == 0)
            rest(20);
        ring(half, MESSAGES);
        messages += MESSAGES;
        MPI_Startall(2, persistent);
        MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
        messages++;
        all(half);
        collectives++;
        if (stretch == 0) /* their messages were not recorded */
            MPI_Waitall(2, early, MPI_STATUSES_IGNORE);
        int triple[3] = {rank, rank, rank}, got[3];
        MPI_Sendrecv(triple, 1, type, to, 9, got, 1, type, from, 9, half, MPI_STATUS_IGNORE);
        messages++;
        MPI_Win_fence(0, window);
        MPI_Put(&rank, 1, MPI_INT, to, 0, 1, MPI_INT, window);
        MPI_Win_fence(0, window);
        MPI_Pcontrol(0);
        ring(half, 2);
        all(half);
        rest(10);
    }
    if (in != from || late != from)
        stop("a value is wrong");
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&persistent[i]);
    MPI_Type_free(&type);
    MPI_Win_free(&window);
    MPI_Comm_free(&half);
    MPI_Comm_free(&dup);
    printf("%d fact messages %d\n%d fact collectives %d\n", rank, messages, rank, collectives);
}

/* Only some channels have an end that is not recorded. */
static void across(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, out = rank, in;
    MPI_Request request;
    ring(MPI_COMM_WORLD, MESSAGES);
    all(MPI_COMM_WORLD);
    MPI_Isend(&out, 1, MPI_INT, to, 11, MPI_COMM_WORLD, &request); /* recorded, received while it is off */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(0);
    MPI_Recv(&in, 1, MPI_INT, from, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(&out, 1, MPI_INT, to, 12, MPI_COMM_WORLD, &request); /* the other way round */
    rest(10);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    MPI_Recv(&in, 1, MPI_INT, from, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ring(MPI_COMM_WORLD, MESSAGES);
    if (rank == 0) { /* here only rank 0 is off: the others cannot tell which of their operations it shared */
        MPI_Pcontrol(0);
        all(MPI_COMM_WORLD);
        MPI_Pcontrol(1);
    } else {
        all(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void *thread_main(void *argument)
{
    int number = (int)(intptr_t)argument, out = number, in = -1;
    char name[16];
    snprintf(name, sizeof name, "thread%d", number);
    for (int i = 0; i < TURNS; i++) {
        MPI_Pcontrol(1, name);
        MPI_Sendrecv(&out, 1, MPI_INT, 0, number, &in, 1, MPI_INT, 0, number, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        if (i % 8 == number)
            MPI_Pcontrol(0);
        MPI_Pcontrol(1, "shared");
        MPI_Sendrecv(&out, 1, MPI_INT, 0, number, &in, 1, MPI_INT, 0, number, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Pcontrol(-1, "shared");
        MPI_Pcontrol(-1, name);
        if (in != number)
            stop("a message is wrong");
    }
    return NULL;
}

static void storm(int provided)
{
    pthread_t threads[THREADS];
    int count = provided == MPI_THREAD_MULTIPLE ? THREADS : 1;
    for (int i = 1; i < count; i++)
        pthread_create(&threads[i], NULL, thread_main, (void *)(intptr_t)i);
    thread_main(NULL);
    for (int i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
    MPI_Pcontrol(1);
    printf("%d fact threads %d\n%d fact turns %d\n", rank, count, rank, TURNS);
}

int main(int argc, char **argv)
{
    int provided = MPI_THREAD_SINGLE;
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv, strcmp(what, "storm") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    by_region = strcmp(what, "regions") == 0;
    if (by_region || strcmp(what, "named") == 0)
        named();
    else if (strcmp(what, "paused") == 0)
        paused();
    else if (strcmp(what, "across") == 0)
        across();
    else if (strcmp(what, "storm") == 0)
        storm(provided);
    else if (strcmp(what, "wait") == 0) {
        rest(200);
        MPI_Pcontrol(0);
        rest(60000);
    } else
        stop("named, regions, paused, across, storm or wait?");
    for (int i = 0; i < phase_count; i++)
        printf("%d phase %d %d %.9f %.9f %s\n", rank, phases[i].count, phases[i].calls, phases[i].least, phases[i].most,
               by_region ? region_of(phases[i].name)->name : phases[i].name);
    MPI_Finalize();
    return 0;
}
