/* The team of a tool that is not an MPI program. */
#include "archive/team.h"

const struct team *team_join(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return &team_of_one;
}

void team_work(bool on)
{
    (void)on;
}
