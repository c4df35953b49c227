/*
 * Sessions where a run ends, on an MPI that has them. One mode:
 *
 *   exit     a session, and an exit
 *   killed   a session, and then SIGKILL while none is open; a child of fork has come to its exit before
 *   after    (latesession) a session behind MPI_Finalize
 *   during   (latesession) a session that another thread opens while MPI_Finalize is under way
 */
#define _GNU_SOURCE
#include "../common/mpi4.h"

#include <mpi.h>
#include <mpit/monitor.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if HAS_MPI4

static void session_use(void)
{
    MPI_Session session;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS ||
        MPI_Session_finalize(&session) != MPI_SUCCESS)
        exit(1);
}

static void killed(void)
{
    session_use();
    pid_t child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
    raise(SIGKILL);
}

static void world_use(void)
{
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static int reports;

static void told(const MPIX_Monitor_report *report, void *own)
{
    (void)report, (void)own;
    reports++;
}

static void during(void)
{
    int (**call)(MPI_Info, MPI_Errhandler, MPI_Session *) = NULL;
    MPI_Session (*held)(void) = NULL;
    *(void **)&call = dlsym(RTLD_DEFAULT, "latesession_call");
    *(void **)&held = dlsym(RTLD_DEFAULT, "latesession_held");
    if (!call || !held)
        exit(2);
    world_use();
    *call = MPI_Session_init;
    MPI_Finalize();
    MPI_Session session = held(); /* it is open: the run goes on */
    MPIX_Monitor_request request;
    if (MPIX_Start_monitor(&request, NULL, told) != MPIX_MONITOR_OK ||
        MPIX_End_monitor(&request, NULL) != MPIX_MONITOR_OK || reports != 1)
        exit(3); /* and so do windows */
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "killed") == 0) {
        killed();
    } else if (strcmp(mode, "after") == 0) {
        world_use();
        MPI_Finalize();
        session_use();
    } else if (strcmp(mode, "during") == 0) {
        during();
    } else {
        session_use();
    }
    return 0;
}

#else

int main(void)
{
    return 77;
}

#endif
