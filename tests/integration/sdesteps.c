/*
 * A software-defined event of the program's own, counted by PAPI for mpit: the program knows each step and its place.
 *
 *     MPIT_PAPI_EVENTS=sde:::program::steps sdesteps        status 1: a figure is wrong, 77: PAPI cannot count it here
 */
#include <mpi.h>

#include <sde_lib.h>
#include <stdio.h>
#include <string.h>

enum { PLACES = 6, OUTSIDE = 0, COMPLETION = 2, OTHER = 5 };

static long long steps;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    steps += 7;
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

int main(int argc, char *argv[])
{
    unsigned long long values[PLACES], wanted[PLACES] = {[OUTSIDE] = 300, [COMPLETION] = 21};
    int provided, index, count;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_Request request;
    papi_handle_t sde = papi_sde_init("program");
    papi_sde_register_counter(sde, "steps", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &steps);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    if (MPI_T_pvar_get_index("mpit_papi_sde:::program::steps", MPI_T_PVAR_CLASS_AGGREGATE, &index) != MPI_SUCCESS)
        return 77;
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    MPI_T_pvar_start(session, handle);
    for (int i = 0; i < 3; i++) {
        steps += 100;
        MPI_Grequest_start(query, nothing, cancel, NULL, &request);
        MPI_Grequest_complete(request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_T_pvar_read(session, handle, values);
    int good = memcmp(values, wanted, sizeof wanted) == 0;
    printf("%s 300 steps outside and 21 in completion: %llu %llu %llu %llu %llu %llu\n", good ? "ok" : "not ok",
           values[0], values[1], values[2], values[3], values[4], values[5]);
    MPI_T_pvar_session_free(&session);
    MPI_Finalize();
    MPI_T_finalize();
    return !good;
}
