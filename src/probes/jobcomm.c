#include "jobcomm.h"

static struct {
    bool made;
    MPI_Comm comm;
} ours;

void job_comm_make(void)
{
    /* a split, and not a duplicate: that would run the program's attribute callbacks */
    if (ours.made || native.Comm_split(native.comm_world, 0, 0, &ours.comm) != MPI_SUCCESS)
        return;
    native.Comm_set_errhandler(ours.comm, native.errors_return);
    ours.made = true;
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
