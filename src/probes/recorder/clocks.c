#include "recorder/clocks.h"

#include "registry/book.h"
#include "recorder/clocks_mpi.h"
#include "recorder/clocks_own.h"
#include "recorder/clocks_tcp.h"
#include "recorder/job.h"
#include "settings/knobs.h"
#include "wrappers/switchboard.h"

#include <string.h>

bool clocks_following;

static enum clock_way way; /* how they are measured, from clocks_expect on */
static bool ends_over_tcp; /* when the library's MPI_Finalize has returned */

static enum clock_way way_chosen(void)
{
    char text[KNOB_TEXT_BYTES];
    knob_read_text(KNOB_CLOCK_SYNC, text);
    return strcmp(text, "tcp") == 0 ? CLOCK_WAY_TCP : strcmp(text, "mpi") == 0 ? CLOCK_WAY_MPI : CLOCK_WAY_NONE;
}

void clocks_expect(bool traced)
{
    way = way_chosen();
    if (way == CLOCK_WAY_TCP && traced)
        clocks_tcp_expect(CLOCKS_BEGIN);
}

/* True if the launcher says that there are several nodes, or says nothing. */
static bool may_be_wide(void)
{
    struct launch launch = job_launch();
    return launch.rank < 0 || (launch.local_size < 0 && launch.nodes < 0) || job_launch_is_wide(&launch);
}

void clocks_begin(bool traced)
{
    if (way == CLOCK_WAY_NONE && traced && may_be_wide())
        clock_own_say(CLOCK_WAY_NONE, CLOCK_TROUBLE_OFF);
    if (way == CLOCK_WAY_TCP && traced)
        clocks_tcp_measure(CLOCKS_BEGIN);
    if (way != CLOCK_WAY_MPI || !may_be_wide() || !clocks_mpi_begin(traced))
        return;
    __atomic_store_n(&clocks_following, true, __ATOMIC_RELAXED);
    switchboard_set();
}

void clocks_barrier(MPI_Comm comm)
{
    if (comm == native.comm_world)
        clocks_mpi_barrier();
}

void clocks_end(bool traced)
{
    __atomic_store_n(&clocks_following, false, __ATOMIC_RELAXED);
    if (way == CLOCK_WAY_MPI && may_be_wide())
        clocks_mpi_end(traced);
    ends_over_tcp = way == CLOCK_WAY_TCP && traced;
    if (ends_over_tcp)
        clocks_tcp_expect(CLOCKS_END);
}

void clocks_ended(void)
{
    if (ends_over_tcp)
        clocks_tcp_measure(CLOCKS_END);
    ends_over_tcp = false;
}
