#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <assert.h>
#include <mpi.h>

/* Global variables for the tool */
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;

int MPI_Init(int *argc, char ***argv)
{
    int err, num, i, index, namelen, verbosity;
    int var_class, bind, threadsup;
    int readonly, continuous, atomic, count;
    char name[18];
    MPI_Comm comm;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;

    err = PMPI_Init(argc, argv);
    if (err != MPI_SUCCESS)
        return err;

    err = PMPI_T_init_thread(MPI_THREAD_SINGLE, &threadsup);
    if (err != MPI_SUCCESS)
        return err;

    err = PMPI_T_pvar_get_num(&num);
    if (err != MPI_SUCCESS)
        return err;
    index = -1;
    i = 0;
    while ((i < num) && (index < 0) && (err == MPI_SUCCESS)) {
        /* Pass a buffer that is at least one character longer than */
        /* the name of the variable being searched for to avoid */
        /* finding variables that have a name that has a prefix */
        /* equal to the name of the variable being searched. */
        namelen = 18;
        err = PMPI_T_pvar_get_info(i, name, &namelen, &verbosity, &var_class, &datatype, &enumtype, NULL, NULL, &bind,
                                   &readonly, &continuous, &atomic);
        if (strcmp(name, "MPI_T_UMQ_LENGTH") == 0)
            index = i;
        i++;
    }
    if (err != MPI_SUCCESS)
        return err;

    /* this could be handled in a more flexible way for a generic tool */
    assert(index >= 0);
    assert(var_class == MPI_T_PVAR_CLASS_LEVEL);
    assert(datatype == MPI_INT);
    assert(bind == MPI_T_BIND_MPI_COMM);

    /* Create a session */
    err = PMPI_T_pvar_session_create(&session);
    if (err != MPI_SUCCESS)
        return err;

    /* Get a handle and bind to MPI_COMM_WORLD */
    comm = MPI_COMM_WORLD;
    err = PMPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count);
    if (err != MPI_SUCCESS)
        return err;

    /* this could be handled in a more flexible way for a generic tool */
    assert(count == 1);

    /* Start variable */
    err = PMPI_T_pvar_start(session, handle);
    if (err != MPI_SUCCESS)
        return err;

    return MPI_SUCCESS;
}

#define THRESHOLD 5

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int value, err;

    if (comm == MPI_COMM_WORLD) {
        err = PMPI_T_pvar_read(session, handle, &value);
        if ((err == MPI_SUCCESS) && (value > THRESHOLD)) {
            /* tool identified receive called with long UMQ */
            /* execute tool functionality, */
            /* e.g., gather and print call stack */
        }
    }

    return PMPI_Recv(buf, count, datatype, source, tag, comm, status);
}

int MPI_Finalize(void)
{
    int err;
    err = PMPI_T_pvar_handle_free(session, &handle);
    err = PMPI_T_pvar_session_free(&session);
    err = PMPI_T_finalize();
    return PMPI_Finalize();
}
