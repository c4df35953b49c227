/* A library to preload behind mpit: sessions that no MPI library opens, where stock MPICH would crash (it cannot begin
 * again once MPI_Finalize has ended it); and, if LATESESSION says so, one that another thread opens in MPI_Finalize. */
#include "../common/mpi4.h"

#include <mpi.h>
#if HAS_MPI4
#include <pthread.h>
#include <stdlib.h>

/* No handle by name: Open MPI has them in its library, which the launcher does not load. */
static int opened;
static MPI_Session held;

int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    (void)info, (void)errhandler;
    *session = (MPI_Session)(size_t)(0x1000 + ++opened);
    return MPI_SUCCESS;
}

int MPI_Session_finalize(MPI_Session *session)
{
    *session = (MPI_Session)0;
    return MPI_SUCCESS;
}

/* As the program calls it, so that it comes by mpit. */
static void *session_open(void *call)
{
    MPI_Session session;
    (*(int (**)(MPI_Info, MPI_Errhandler, MPI_Session *))call)((MPI_Info)0, (MPI_Errhandler)0, &session);
    held = session;
    return NULL;
}

/* The program's way to MPI_Session_init, and what was opened in it. */
int (*latesession_call)(MPI_Info, MPI_Errhandler, MPI_Session *);

MPI_Session latesession_held(void)
{
    return held;
}

int MPI_Finalize(void)
{
    pthread_t thread;
    if (latesession_call && pthread_create(&thread, NULL, session_open, &latesession_call) == 0)
        pthread_join(thread, NULL);
    return PMPI_Finalize();
}

#endif
