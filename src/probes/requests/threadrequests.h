/* What a thread keeps of requests, in its log. */
#ifndef MPIT_PROBES_THREADREQUESTS_H
#define MPIT_PROBES_THREADREQUESTS_H

#include "format/event.h"

struct request;

struct thread_requests {
    struct request *displaced; /* requests whose ends were missed, as the call that is being left has shown */
    uint32_t unkept_count;
    struct event unkept[2];   /* posted by that call, and lost for lack of memory */
    uint64_t reported_handle; /* the request that MPI_Request_get_status last found complete, */
    uint64_t reported_at;     /* when (0: no clock was read), */
    uint64_t reported_events; /* and the number of records after it */
};

#endif
