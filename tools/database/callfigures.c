#include "database/callfigures.h"

#include "figures/fold.h"

#include <stdlib.h>

/* The fold also adds to counters of the thread and of the communicator. Nobody reads those here. */
struct call_figures {
    struct path_cells path;
    struct thread_cells thread;
    struct fabric_call_cells fabric_calls;
    struct comm_cells comm;
    struct shared_cells shared;
    struct peer_cells page;
};

struct call_figures *call_figures_open(void)
{
    return calloc(1, sizeof(struct call_figures));
}

void call_figures_close(struct call_figures *figures)
{
    free(figures);
}

const struct path_cells *call_figures_of(struct call_figures *figures, const struct traced_call *call)
{
    struct comm_tally comm = {.cells = &figures->comm, .shared = &figures->shared, .page = &figures->page};
    struct tally tally = {
        .cells = &figures->thread, .path = &figures->path, .fabric_calls = &figures->fabric_calls, .unseen = true};
    const struct event_extension own = {.duration = call->end - call->event.begin, .bytes_out = call->bytes_out};
    figures->path = (struct path_cells){0};
    fold(&tally, call->event.comm ? &comm : NULL, &call->event, &own);
    for (size_t i = 0; i < call->part_count; i++) {
        const struct call_part *part = &call->parts[i];
        const struct event_extension more = {.duration = part->event.duration, .bytes_out = part->bytes_out};
        fold(&tally, part->event.comm ? &comm : NULL, &part->event, &more);
    }
    return &figures->path;
}
