#include "recorder/clocks.h"

#include "recorder/clocks_own.h"
#include "recorder/clocks_tcp.h"
#include "recorder/job.h"
#include "settings/knobs.h"

#include <string.h>

static bool over_tcp; /* from clocks_expect on */
static bool ends;     /* the library's MPI_Finalize is under way */

void clocks_expect(bool traced)
{
    char way[KNOB_TEXT_BYTES];
    knob_read_text(KNOB_CLOCK_SYNC, way);
    over_tcp = strcmp(way, "tcp") == 0;
    if (over_tcp && traced)
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
    if (!traced)
        return;
    if (over_tcp)
        clocks_tcp_measure(CLOCKS_BEGIN);
    else if (may_be_wide())
        clock_own_say(CLOCK_WAY_NONE, CLOCK_TROUBLE_OFF);
}

void clocks_end(bool traced)
{
    ends = over_tcp && traced;
    if (ends)
        clocks_tcp_expect(CLOCKS_END);
}

void clocks_ended(void)
{
    if (ends)
        clocks_tcp_measure(CLOCKS_END);
    ends = false;
}
