/*
 * What calls of MPI_T cost, in one process, for the library's own variables and for mpit's.
 *
 *     mpitcost N        nanoseconds of processor time: the median of 9 rounds of N calls each
 *
 * Prints lines "what <tab> whose <tab> variable <tab> nanoseconds"; whose is "native", "mpit" or "-". What does not
 * exist is left out: natively there is nothing of mpit, and MPICH has no variables of its own.
 */
#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 9, VALUES_MOST = 4096, NAME_MOST = 256 };

struct subject {
    int index, class, count;
    char name[NAME_MOST];
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
};

static MPI_Comm comm;
static unsigned long long values[VALUES_MOST];
static int failed;

/* Of this thread: others have the processor in between. */
static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- what is timed: each does it n times ------------------------------------------------------------------------- */

static void do_read(struct subject *s, long n)
{
    for (long i = 0; i < n; i++)
        failed |= MPI_T_pvar_read(s->session, s->handle, values);
}

static void do_start_stop(struct subject *s, long n)
{
    for (long i = 0; i < n; i++) {
        failed |= MPI_T_pvar_stop(s->session, s->handle);
        failed |= MPI_T_pvar_start(s->session, s->handle);
    }
}

static void do_reset(struct subject *s, long n)
{
    for (long i = 0; i < n; i++)
        failed |= MPI_T_pvar_reset(s->session, s->handle);
}

static void do_readreset(struct subject *s, long n)
{
    for (long i = 0; i < n; i++)
        failed |= MPI_T_pvar_readreset(s->session, s->handle, values);
}

static void do_alloc_free(struct subject *s, long n)
{
    MPI_T_pvar_handle handle;
    int count;
    for (long i = 0; i < n; i++) {
        failed |= MPI_T_pvar_handle_alloc(s->session, s->index, &comm, &handle, &count);
        failed |= MPI_T_pvar_handle_free(s->session, &handle);
    }
}

static void do_get_index(struct subject *s, long n)
{
    int index;
    for (long i = 0; i < n; i++)
        failed |= MPI_T_pvar_get_index(s->name, s->class, &index);
}

static void do_session(struct subject *s, long n)
{
    MPI_T_pvar_session session;
    (void)s;
    for (long i = 0; i < n; i++) {
        failed |= MPI_T_pvar_session_create(&session);
        failed |= MPI_T_pvar_session_free(&session);
    }
}

static void measure(const char *what, const char *whose, struct subject *s, void (*run)(struct subject *, long), long n)
{
    double rounds[ROUNDS];
    failed = 0;
    run(s, n / 10 + 1);
    for (int i = 0; i < ROUNDS && !failed; i++) {
        double begin = now_ns();
        run(s, n);
        rounds[i] = (now_ns() - begin) / (double)n;
    }
    if (failed)
        return; /* refused: the variable cannot do that */
    qsort(rounds, ROUNDS, sizeof rounds[0], by_size);
    printf("%s\t%s\t%s\t%.1f\n", what, whose, s ? s->name : "", rounds[ROUNDS / 2]);
}

/* ---- what there is ----------------------------------------------------------------------------------------------- */

/* A started handle of the first variable of that name, or (name NULL) of the first native one: a COUNTER, if it is to
 * be started. */
static bool find(struct subject *s, const char *name, int class, bool startable)
{
    int num = 0;
    MPI_T_pvar_get_num(&num);
    for (int i = 0; i < num; i++) {
        int length = NAME_MOST, bind, continuous, readonly;
        if (MPI_T_pvar_get_info(i, s->name, &length, NULL, &s->class, NULL, NULL, NULL, NULL, &bind, &readonly,
                                &continuous, NULL) != MPI_SUCCESS)
            continue;
        bool own = strncmp(s->name, "mpit_", 5) == 0 || strncmp(s->name, "MPI_T_", 6) == 0;
        if (name ? strcmp(s->name, name) != 0 || s->class != class
                 : own || strncmp(s->name, "mtl_psm", 7) == 0 || (startable && s->class != MPI_T_PVAR_CLASS_COUNTER))
            continue;
        if (bind != MPI_T_BIND_NO_OBJECT && bind != MPI_T_BIND_MPI_COMM)
            continue;
        s->index = i;
        MPI_T_pvar_session_create(&s->session);
        if (MPI_T_pvar_handle_alloc(s->session, i, &comm, &s->handle, &s->count) == MPI_SUCCESS &&
            s->count <= VALUES_MOST && (name || s->count == 1)) {
            if (!continuous)
                MPI_T_pvar_start(s->session, s->handle);
            return true;
        }
    }
    return false;
}

static void measure_native(long n)
{
    struct subject read, started;
    if (find(&read, NULL, 0, false)) {
        measure("read, 1 value", "native", &read, do_read, n);
        measure("handle alloc + free", "native", &read, do_alloc_free, n / 10);
        measure("get_index", "native", &read, do_get_index, n / 10);
    }
    if (find(&started, NULL, 0, true)) {
        measure("stop + start", "native", &started, do_start_stop, n);
        measure("reset", "native", &started, do_reset, n);
        measure("readreset", "native", &started, do_readreset, n);
    }
}

static void measure_own(long n)
{
    struct subject counter, array, timer, level, mark;
    if (find(&counter, "mpit_send_count", MPI_T_PVAR_CLASS_COUNTER, true)) {
        measure("read, 1 value", "mpit", &counter, do_read, n);
        measure("stop + start", "mpit", &counter, do_start_stop, n);
        measure("reset", "mpit", &counter, do_reset, n);
        measure("readreset", "mpit", &counter, do_readreset, n);
        measure("handle alloc + free", "mpit", &counter, do_alloc_free, n / 10);
        measure("get_index", "mpit", &counter, do_get_index, n / 10);
    }
    if (find(&array, "mpit_send_size_count", MPI_T_PVAR_CLASS_COUNTER, true)) {
        measure("read, 40 values", "mpit", &array, do_read, n);
        measure("stop + start, 40 values", "mpit", &array, do_start_stop, n);
    }
    if (find(&timer, "mpit_p2p_time", MPI_T_PVAR_CLASS_TIMER, true))
        measure("read, a timer", "mpit", &timer, do_read, n);
    if (find(&level, "mpit_pending_recvs", MPI_T_PVAR_CLASS_LEVEL, false))
        measure("read, a level", "mpit", &level, do_read, n);
    if (find(&mark, "mpit_pending_recvs", MPI_T_PVAR_CLASS_HIGHWATERMARK, true))
        measure("read, a watermark", "mpit", &mark, do_read, n);
}

int main(int argc, char **argv)
{
    int provided;
    long n = argc == 2 ? atol(argv[1]) : 0;
    if (n < 100) {
        fprintf(stderr, "usage: mpitcost N, with N at least 100: calls in a round\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    comm = MPI_COMM_WORLD;
    measure_native(n);
    measure_own(n);
    measure("session create + free", "-", NULL, do_session, n / 10);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
