#include "instruments/regionrecord.h"

/*
 * Sums over all calls of the thread. Each call has an event, so the number of events tells whether the last sums are
 * still true. A region without calls of MPI takes them as they are. A handler that has interrupted a call's record keeps
 * no sums.
 */
struct call_sums call_sums(struct log *log)
{
    const struct thread_cells *cells = log->own.tally.cells;
    struct call_sums sums = {.events = cells->events};
    if (log->sums.events == sums.events)
        return log->sums;
    for (unsigned kind = 1; kind < CALL_COUNT; kind++) {
        sums.calls += cells->call_count[kind];
        sums.mpi += cells->call_time[kind];
    }
    sums.mpi -= cells->nested_time;
    for (unsigned i = 0; i < STATE_COUNT; i++)
        sums.stall += cells->stall_time[i];
    if (!log->innermost || log->below)
        log->sums = sums;
    return sums;
}

void region_begin(struct region_begin *begin, struct log *log)
{
    begin->log = log;
    if (!log)
        return;
    begin->ticks = clock_now();
    begin->off = run_off_ticks(book.run.header, begin->ticks);
    begin->sums = call_sums(log);
}

uint16_t region_slot(const struct instrument_instance *instance)
{
    const struct comm *comm = RELAXED_LOAD(&instance->comm);
    return comm ? (uint16_t)comm->slot : 0;
}

/* With an extension, if one is needed. Calls of MPI, or a time without recording, need one. */
static void record_commit(struct log *log, struct region_cells *cells, struct event *event,
                          const struct event_extension *extension)
{
    union {
        struct event_extension extension;
        struct event event;
    } more = {.extension = *extension};
    if (event->tag || extension->reserved || extension->bytes_high)
        event->kind |= EVENT_CALLS | EVENT_WIDE;
    if (extension->duration >= EVENT_DURATION_WIDE)
        event->kind |= EVENT_WIDE;
    event->duration = event->kind & EVENT_WIDE ? EVENT_DURATION_WIDE : (uint32_t)extension->duration;
    fold_region(cells, event, &more.extension);
    log_commit(log, event);
    if (event->kind & EVENT_WIDE)
        log_commit(log, &more.event);
}

void region_record(struct log *log, const struct instrument_instance *instance, const struct region_begin *begin,
                   uint64_t now, bool nested)
{
    uint16_t slot = region_slot(instance);
    struct region_cells *cells = book_region(&log->own, instance->id, slot);
    if (!cells)
        return; /* counted as lost */
    struct call_sums sums = call_sums(log);
    uint64_t off = run_off_ticks(book.run.header, now), calls = sums.calls - begin->sums.calls;
    struct event event = {.begin = begin->ticks,
                          .kind = nested ? EVENT_REGION | EVENT_NESTED : EVENT_REGION,
                          .comm = slot,
                          .peer = (int32_t)instance->id,
                          .tag = (int32_t)(uint32_t)calls,
                          .bytes = calls ? sums.mpi - begin->sums.mpi : 0};
    struct event_extension more = {.duration = now - begin->ticks,
                                   .reserved = (uint32_t)(calls >> 32),
                                   .kind = RECORD_EXTENSION,
                                   .bytes_out = calls ? sums.stall - begin->sums.stall : 0,
                                   .bytes_high = off > begin->off ? off - begin->off : 0};
    record_commit(log, cells, &event, &more);
    sums.events = log->own.tally.cells->events; /* the record is no call */
    log->sums = sums;
}
