#include "recorder/jobcomm.h"

static struct {
    bool made;
    MPI_Comm comm;
} ours;

/* For the program's communicator: an error there is not the program's fault, and must not end it. */
static MPI_Errhandler errors_hold(void)
{
    MPI_Errhandler own = native.errors_return;
    if (native.Comm_get_errhandler(native.comm_world, &own) == MPI_SUCCESS)
        native.Comm_set_errhandler(native.comm_world, native.errors_return);
    return own;
}

static void errors_release(MPI_Errhandler own)
{
    native.Comm_set_errhandler(native.comm_world, own);
    if (own != native.errors_return)
        native.Errhandler_free(&own);
}

static void made(int result)
{
    ours.made = result == MPI_SUCCESS;
    if (ours.made)
        native.Comm_set_errhandler(ours.comm, native.errors_return);
}

void job_comm_make_early(void)
{
    /* a split, and not a duplicate, which would run the program's attribute callbacks */
    if (ours.made)
        return;
    MPI_Errhandler own = errors_hold();
    made(native.Comm_split(native.comm_world, 0, 0, &ours.comm));
    errors_release(own);
}

MPI_Comm job_comm(void)
{
    return ours.made ? ours.comm : native.comm_null;
}

void job_comm_free(void)
{
    if (ours.made)
        native.Comm_free(&ours.comm);
    ours.made = false;
}
