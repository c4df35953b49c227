#include "jobcomm.h"

static struct {
    bool made;
    MPI_Comm comm;
} ours;

static void made(int result)
{
    ours.made = result == MPI_SUCCESS;
    if (ours.made)
        native.Comm_set_errhandler(ours.comm, native.errors_return);
}

void job_comm_make_early(void)
{
    /* a split, and not a duplicate: that would run the program's attribute callbacks */
    if (!ours.made)
        made(native.Comm_split(native.comm_world, 0, 0, &ours.comm));
}

void job_comm_make_late(void)
{
    enum { TAG = 2411 }; /* of a space of its own: no message of the program has it */
    MPI_Group group = native.group_null;
    if (ours.made || native.Comm_group(native.comm_world, &group) != MPI_SUCCESS)
        return;
    made(native.Comm_create_group(native.comm_world, group, TAG, &ours.comm));
    native.Group_free(&group);
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
