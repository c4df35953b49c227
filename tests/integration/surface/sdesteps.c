/*
 * A software-defined event of the program's own, counted by PAPI for mpit: the program knows each step and its place.
 *
 *     MPIT_PAPI_EVENTS=sde:::program::steps,sde:::program::length sdesteps
 *
 * Status 1: a figure is wrong, 77: PAPI cannot count it here. `length` is a level, which falls inside of the calls.
 */
#include <mpi.h>

#include <sde_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 6, OUTSIDE = 0, COMPLETION = 2, OTHER = 5 };

static long long steps, length = 55; /* which falls through 0 */

static int query(void *state, MPI_Status *status)
{
    (void)state;
    steps += 7;
    length -= 50;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static MPI_T_pvar_handle handle_make(MPI_T_pvar_session session, const char *name)
{
    int index, count;
    MPI_T_pvar_handle handle;
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index) != MPI_SUCCESS)
        exit(77);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    MPI_T_pvar_start(session, handle);
    return handle;
}

static int is(MPI_T_pvar_session session, MPI_T_pvar_handle handle, unsigned long long outside,
              unsigned long long completion, const char *what)
{
    unsigned long long values[PLACES], wanted[PLACES] = {[OUTSIDE] = outside, [COMPLETION] = completion};
    MPI_T_pvar_read(session, handle, values);
    int good = memcmp(values, wanted, sizeof wanted) == 0;
    printf("%s %llu %s outside and %llu in completion: %llu %llu %llu %llu %llu %llu\n", good ? "ok" : "not ok",
           outside, what, completion, values[0], values[1], values[2], values[3], values[4], values[5]);
    return good;
}

int main(int argc, char *argv[])
{
    int provided;
    MPI_T_pvar_session session;
    MPI_Request request;
    papi_handle_t sde = papi_sde_init("program");
    papi_sde_register_counter(sde, "steps", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &steps);
    papi_sde_register_counter(sde, "length", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &length);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle counter = handle_make(session, "mpit_papi_sde:::program::steps");
    MPI_T_pvar_handle level = handle_make(session, "mpit_papi_sde:::program::length");
    for (int i = 0; i < 3; i++) {
        steps += 100;
        length += 10;
        MPI_Grequest_start(query, nothing, cancel, NULL, &request);
        MPI_Grequest_complete(request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    int good = is(session, counter, 300, 21, "steps");
    good &= is(session, level, 30, 0, "rises of the length");
    MPI_T_pvar_session_free(&session);
    MPI_Finalize();
    MPI_T_finalize();
    return !good;
}
