/* The part of instrument_check with threads, signals and a fork: updates and readings at the same time. */
#define _GNU_SOURCE
#include "instrument_check.h"

#include <mpit/instrument.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

MPIT_COUNTER(storm_count, "A counter for all threads.");
MPIT_LEVEL(storm_level, "A level for all threads.");
MPIT_AGGREGATE_DOUBLE(storm_sum, "A sum for all threads.");
MPIT_REGION(storm_region, "A region.");

enum { THREADS = 4, ADDS = 300000 };

static MPI_T_pvar_handle storm;
static volatile unsigned long long taken;

static void take(int signal)
{
    unsigned long long value = 0;
    (void)signal;
    if (MPI_T_pvar_readreset(session, storm, &value) == MPI_SUCCESS)
        __atomic_fetch_add(&taken, value, __ATOMIC_RELAXED);
}

static void *adder(void *unused)
{
    for (int i = 0; i < ADDS; i++) {
        mpit_add(&storm_count, 1);
        mpit_level_add(&storm_level, 2);
        mpit_level_subtract(&storm_level, 2);
        mpit_add_double(&storm_sum, 1.0);
    }
    return unused;
}

void nothing_is_lost_or_doubled(void)
{
    pthread_t threads[THREADS];
    unsigned long long value = 0;
    struct sigaction action = {.sa_handler = take, .sa_flags = SA_RESTART};
    const struct itimerval fast = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    MPI_T_pvar_handle high = handle_of("storm_level", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL);
    MPI_T_pvar_handle level = handle_of("storm_level", MPI_T_PVAR_CLASS_LEVEL, NULL);
    MPI_T_pvar_handle sum = handle_of("storm_sum", MPI_T_PVAR_CLASS_AGGREGATE, NULL);
    unsigned long long before = value_of(level);
    storm = handle_of("storm_count", MPI_T_PVAR_CLASS_COUNTER, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &fast, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, adder, NULL);
    for (int i = 0; i < 20000; i++)
        if (MPI_T_pvar_readreset(session, storm, &value) == MPI_SUCCESS)
            __atomic_fetch_add(&taken, value, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    take(0);
    CHECK(taken == (unsigned long long)THREADS * ADDS);
    CHECK(value_of(level) == before && value_of(high) > before && value_of(high) <= before + 2 * THREADS);
    CHECK(real_of(sum) == (double)THREADS * ADDS);
}

static volatile int over;

static void *reader(void *handle)
{
    unsigned long long values[4];
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        int result = MPI_T_pvar_read(session, *(MPI_T_pvar_handle *)handle, values);
        if (result != MPI_SUCCESS && result != MPI_T_ERR_INVALID_HANDLE)
            return handle;
    }
    return NULL;
}

/* Into memory that is given back each time: mpit must not look there any more. */
void removal_is_safe_while_others_read(void)
{
    struct mpit_variable *v = malloc(sizeof *v);
    const struct mpit_variable initial = MPIT_VARIABLE_INITIAL(
        "check_removed", MPIT_CLASS_COUNTER, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_NONE, 0, NULL, "");
    *v = initial;
    CHECK(mpit_variable_register(v) == MPIT_OK);
    MPI_T_pvar_handle handle = handle_of("check_removed", MPI_T_PVAR_CLASS_COUNTER, NULL);
    pthread_t thread;
    void *wrong = v;
    pthread_create(&thread, NULL, reader, &handle);
    for (int i = 0; i < 2000; i++) {
        mpit_add(v, 1);
        mpit_variable_remove(v);
        memset(v, 0xff, sizeof *v);
        free(v);
        v = malloc(sizeof *v);
        *v = initial;
        if (mpit_variable_register(v) != MPIT_OK)
            break;
    }
    over = 1;
    pthread_join(thread, &wrong);
    CHECK(!wrong && value_of(handle) == 2000);
    mpit_variable_remove(v);
    free(v);
}

void child_of_fork_counts_for_itself(void)
{
    MPI_T_pvar_handle count = handle_of("storm_count", MPI_T_PVAR_CLASS_COUNTER, NULL);
    MPI_T_pvar_handle times = handle_of("storm_region", MPI_T_PVAR_CLASS_COUNTER, NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        mpit_add(&storm_count, 1000);
        mpit_region_enter(&storm_region);
        mpit_region_leave(&storm_region);
        static struct mpit_variable own =
            MPIT_VARIABLE_INITIAL("child", MPIT_CLASS_SIZE, MPIT_TYPE_UNSIGNED, 1, MPIT_BIND_NONE, 0, NULL, "");
        _exit(mpit_variable_register(&own) == MPIT_OK ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(value_of(count) == 0 && value_of(times) == 0);
}
