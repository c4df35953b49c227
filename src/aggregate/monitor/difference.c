#include "monitor/difference.h"

#include "base/array.h"
#include "base/number.h"
#include "monitor/changes.h"
#include "settings/knobs.h"

#include <stdio.h>
#include <string.h>

_Static_assert(PLACE_COUNT == 6, "MPIX_Monitor_counter has a place for each");

#define UNKNOWN MPIX_MONITOR_UNKNOWN

unsigned difference_parts(unsigned options)
{
    unsigned messages = MPIX_MONITOR_PTTOPT | MPIX_MONITOR_COMM | MPIX_MONITOR_MSGSIZE | MPIX_MONITOR_TRAFFIC;
    unsigned collectives = MPIX_MONITOR_COLL | MPIX_MONITOR_COMM | MPIX_MONITOR_MSGSIZE;
    return (options & messages ? SNAPSHOT_MESSAGES : 0) | (options & collectives ? SNAPSHOT_COLLECTIVES : 0) |
           (options & MPIX_MONITOR_OTHER ? SNAPSHOT_OTHER : 0);
}

static uint64_t epoch_ns(uint64_t ticks)
{
    const struct run_header *header = book.run.header;
    return ticks < header->begin_ticks ? header->begin_realtime_ns - change_ns(header->begin_ticks - ticks)
                                       : header->begin_realtime_ns + change_ns(ticks - header->begin_ticks);
}

/* ---- calls under way at the boundaries --------------------------------------------------------------------------- */

static void pending_add_call(MPIX_Monitor_pending *pending, const struct call_snapshot *call)
{
    uint64_t ns = change_ns(call->ticks);
    const struct call_description *called = &call_table[call->call < CALL_COUNT ? call->call : CALL_NONE];
    unsigned class = called->fold == FOLD_CALL ? CLASS_OTHER : called->class; /* not charged to a communicator */
    pending->calls++;
    pending->call_time_ns += ns;
    if (class == CLASS_P2P)
        pending->p2p_time_ns += ns;
    else if (class == CLASS_COMPLETION)
        pending->wait_time_ns += ns;
    else if (class == CLASS_COLLECTIVE)
        pending->coll_time_ns += ns;
}

static void pending_figures_add(MPIX_Monitor_pending *pending, const struct comm_snapshot *record)
{
    pending->sends += record->pending[0];
    pending->recvs += record->pending[1];
    pending->send_bytes += record->pending[2];
}

/* Of one communicator. */
static void pending_take(MPIX_Monitor_pending *pending, const struct snapshot *at, const struct comm_snapshot *record)
{
    pending_figures_add(pending, record);
    for (uint32_t i = 0; i < at->process.calls; i++)
        if (at->calls[i].charged && at->calls[i].slot == record->slot)
            pending_add_call(pending, &at->calls[i]);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static bool comms_prepare(struct difference *difference, uint32_t count)
{
    if (count <= difference->comm_room)
        return true;
    if (!ARRAY_RESIZED(difference->comms, count) || !ARRAY_RESIZED(difference->words, count))
        return false;
    difference->comm_room = count;
    return true;
}

static MPIX_Monitor_coll *coll_find(struct difference *difference, const char *kind, int32_t processes)
{
    MPIX_Monitor_interval *interval = &difference->interval;
    for (uint32_t i = 0; i < interval->coll_count; i++)
        if (difference->colls[i].kind == kind && difference->colls[i].processes == processes)
            return &difference->colls[i];
    if (!ARRAY_RESERVED(difference->colls, &difference->coll_room, interval->coll_count)) {
        difference->whole = false;
        return NULL;
    }
    MPIX_Monitor_coll *coll = &difference->colls[interval->coll_count++];
    *coll = (MPIX_Monitor_coll){.bytes = sizeof *coll, .kind = kind, .processes = processes};
    return coll;
}

static void colls_add(struct difference *difference, const struct comm_snapshot *before,
                      const struct comm_snapshot *after, int32_t processes)
{
    struct change_collectives all;
    if (!change_collectives(before, after, &all))
        return;
    for (unsigned i = 0; i < COLLECTIVE_COUNT; i++) {
        uint64_t count = all.count_after[i] - all.count_before[i];
        uint64_t time_ns = change_time(all.time_before[i], all.time_after[i]);
        uint64_t execution_ns = change_time(all.execution_before[i], all.execution_after[i]);
        MPIX_Monitor_coll *coll = count || time_ns ? coll_find(difference, collective_names[i], processes) : NULL;
        if (coll) {
            coll->count += count;
            coll->time_ns += time_ns;
            coll->execution_time_ns += execution_ns;
        }
    }
}

/* Removes empty entries: the counts that sums had before the interval are zero by now. */
static void colls_clean(struct difference *difference)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < difference->interval.coll_count; i++)
        if (difference->colls[i].count || difference->colls[i].time_ns)
            difference->colls[kept++] = difference->colls[i];
    difference->interval.coll_count = kept;
    difference->interval.coll_bytes = sizeof *difference->colls;
    difference->interval.colls = difference->colls;
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

static void words_set(struct comm_words *words, const struct comm *comm, uint32_t lives)
{
    static const char gone[sizeof words->name] = "(freed communicator)";
    bool same = comm->lives == lives;
    memcpy(words->name, same ? comm->name : gone, sizeof words->name);
    words->label[0] = '\0';
    if (same)
        memcpy(words->label, comm->record->label, sizeof words->label);
    words->label[sizeof words->label - 1] = '\0'; /* the program may be writing it */
}

/* Begin of the first communication in the interval, end of the last one. A communication of another thread may have
 * ended between the time of a snapshot and the read of its cell. Then its end is the interval's end. */
static void span_set(MPIX_Monitor_comm *entry, const struct snapshot *begin, const struct snapshot *end,
                     const struct comm_snapshot *before, const struct comm_snapshot *after, const struct comm *comm)
{
    if (after->last <= begin->ticks || (before && before->freed))
        return;
    uint64_t first = before ? least(cell_load(&before->first), after->first_beside)
                            : least(after->first_beside, cell_load(&comm->shared->closed[EXTREME_SPAN_FIRST]));
    if (first == LOW_NEUTRAL || first > after->last)
        return;
    first = least(first < begin->ticks ? begin->ticks : first, end->ticks);
    entry->first_ns = epoch_ns(first);
    entry->last_ns = epoch_ns(least(after->last, end->ticks));
    entry->span_ns = entry->last_ns - entry->first_ns;
}

static bool has_calls(const struct snapshot *at, uint32_t slot)
{
    for (uint32_t i = 0; i < at->process.calls; i++)
        if (at->calls[i].charged && at->calls[i].slot == slot)
            return true;
    return false;
}

/*
 * `before` is the older record, or NULL if it had counted nothing. Unless `always`, silent communicators are left out.
 */
static void comm_growth_add(struct difference *difference, const struct snapshot *begin, const struct snapshot *end,
                            const struct comm_snapshot *before, const struct comm_snapshot *after, struct comm *comm,
                            bool always)
{
    MPIX_Monitor_interval *interval = &difference->interval;
    if (before)
        pending_figures_add(&interval->before, before);
    pending_figures_add(&interval->after, after);
    bool busy = after->pending[0] || after->pending[1] || has_calls(begin, after->slot) || has_calls(end, after->slot);
    if (!always && !busy && before && change_none(before, after))
        return;
    MPIX_Monitor_comm *entry = &difference->comms[interval->comm_count];
    memset(entry, 0, sizeof *entry);
    change_add(&entry->figures, before, after);
    if (!always && !busy && change_is_zero(&entry->figures))
        return;
    colls_add(difference, before, after, after->size);
    if (before)
        pending_take(&entry->before, begin, before);
    pending_take(&entry->after, end, after);
    entry->bytes = sizeof *entry;
    bool gone = after->freed || comm->freed || comm->lives != after->lives;
    entry->flags = (before ? 0 : MPIX_MONITOR_COMM_CREATED) | (gone ? MPIX_MONITOR_COMM_FREED : 0);
    entry->size = after->size;
    entry->rank = after->rank;
    entry->remote_size = after->remote_size;
    span_set(entry, begin, end, before, after, comm);
    words_set(&difference->words[interval->comm_count++], comm, after->lives);
}

/* The growth of the sums, minus the counts at the interval's begin of the communicators that were added to them. */
static void freed_add(struct difference *difference, const MPIX_Monitor_figures *freed)
{
    MPIX_Monitor_interval *interval = &difference->interval;
    if (change_is_zero(freed))
        return;
    MPIX_Monitor_comm *entry = &difference->comms[interval->comm_count];
    struct comm_words *words = &difference->words[interval->comm_count++];
    *entry = (MPIX_Monitor_comm){.bytes = sizeof *entry,
                                 .flags = MPIX_MONITOR_COMM_FREED | MPIX_MONITOR_COMM_SUM,
                                 .rank = -1,
                                 .figures = *freed};
    memset(words, 0, sizeof *words);
    snprintf(words->name, sizeof words->name, "(freed communicators)");
}

static void freed_take(struct difference *difference, MPIX_Monitor_figures *freed, const struct comm_snapshot *before,
                       const struct comm_snapshot *after)
{
    change_add(freed, before, after);
    colls_add(difference, before, after, 0);
}

static void comms_compare(struct difference *difference, const struct snapshot *begin, const struct snapshot *end,
                          const struct comm *only)
{
    MPIX_Monitor_figures freed;
    memset(&freed, 0, sizeof freed);
    for (uint32_t slot = 1; slot < end->slots; slot++) {
        const struct comm_snapshot *after = snapshot_of(end, slot), *before = snapshot_of(begin, slot);
        struct comm *comm = book.comms[slot];
        if (!after)
            continue;
        if (after->is_sum) {
            if (!before || !change_none(before, after))
                freed_take(difference, &freed, before, after);
            continue;
        }
        if (before && before->lives != after->lives) {
            freed_take(difference, &freed, before, NULL);
            pending_figures_add(&difference->interval.before, before);
            before = NULL;
        }
        comm_growth_add(difference, begin, end, before, after, comm, comm == only);
    }
    freed_add(difference, &freed);
}

static uint32_t records_of(const struct snapshot *snapshot)
{
    uint32_t count = 0;
    for (uint32_t slot = 1; slot < snapshot->slots; slot++)
        count += snapshot->index[slot] != 0;
    return count;
}

static void comms_finish(struct difference *difference, unsigned options, bool fabric, bool stall)
{
    MPIX_Monitor_interval *interval = &difference->interval;
    for (uint32_t i = 0; i < interval->comm_count; i++) {
        MPIX_Monitor_comm *entry = &difference->comms[i];
        change_finish(&entry->figures);
        change_sum(&interval->sum, &entry->figures);
        change_limit(&entry->figures, options, fabric, stall);
        entry->name = difference->words[i].name;
        entry->label = difference->words[i].label;
    }
    change_limit(&interval->sum, options, fabric, stall);
    interval->comms = difference->comms;
    interval->comm_bytes = sizeof *difference->comms;
    if (!(options & MPIX_MONITOR_COMM))
        interval->comm_count = 0;
    colls_clean(difference);
    if (!(options & MPIX_MONITOR_COLL))
        interval->coll_count = 0;
}

/* ---- calls under way, services below ----------------------------------------------------------------------------- */

static const char *call_comm(const struct difference *difference, const struct snapshot *at,
                             const struct call_snapshot *call, uint32_t word)
{
    struct comm *comm = call->slot && call->slot < book.comm_count ? book.comms[call->slot] : NULL;
    const struct comm_snapshot *record = snapshot_of(at, call->slot);
    if (!comm || (record && record->lives != comm->lives)) /* the slot is another one's by now */
        return "";
    snprintf(difference->words[word].name, COMM_NAME_BYTES, "%s", comm->name);
    return difference->words[word].name;
}

static void calls_make(struct difference *difference, const struct snapshot *begin, const struct snapshot *end,
                       uint32_t word)
{
    MPIX_Monitor_interval *interval = &difference->interval;
    const struct snapshot *const edges[] = {begin, end};
    uint32_t count = begin->process.calls + end->process.calls, made = 0;
    if (count > difference->call_room) {
        if (!ARRAY_RESIZED(difference->calls, count)) {
            difference->whole = false;
            return;
        }
        difference->call_room = count;
    }
    for (unsigned edge = 0; edge < 2; edge++)
        for (uint32_t i = 0; i < edges[edge]->process.calls; i++, made++) {
            const struct call_snapshot *call = &edges[edge]->calls[i];
            pending_add_call(edge ? &interval->after : &interval->before, call);
            difference->calls[made] =
                (MPIX_Monitor_call){.bytes = sizeof *difference->calls,
                                    .thread = call->thread,
                                    .tid = call->tid,
                                    .peer = call->peer,
                                    .function = call_table[call->call < CALL_COUNT ? call->call : CALL_NONE].name,
                                    .comm = call_comm(difference, edges[edge], call, word + made),
                                    .since_ns = epoch_ns(edges[edge]->ticks - call->ticks),
                                    .inside_ns = change_ns(call->ticks)};
        }
    interval->calls_before = difference->calls;
    interval->calls_after = count ? difference->calls + begin->process.calls : NULL;
    interval->call_before_count = begin->process.calls;
    interval->call_after_count = end->process.calls;
    interval->call_bytes = sizeof *difference->calls;
}

static uint64_t time_inside_mpi(const uint64_t before[PLACE_COUNT], const uint64_t after[PLACE_COUNT])
{
    uint64_t sum = 0;
    for (unsigned place = PLACE_P2P; place < PLACE_COUNT; place++)
        sum += after[place] - before[place];
    return sum;
}

static void counters_make(struct difference *difference, const struct process_snapshot *a,
                          const struct process_snapshot *b)
{
    MPIX_Monitor_other *other = &difference->interval.other;
    uint32_t count = book.counters ? (uint32_t)book.counters->count : 0;
    for (uint32_t i = 0; i < count; i++) {
        MPIX_Monitor_counter *counter = &difference->counters[i];
        *counter = (MPIX_Monitor_counter){
            .bytes = sizeof *counter, .name = book.counters->list[i].name, .unit = book.counters->list[i].unit};
        for (unsigned place = 0; place < PLACE_COUNT; place++)
            counter->places[place] = b->counters[COUNTER_ASKED + i][place] - a->counters[COUNTER_ASKED + i][place];
    }
    other->counters = difference->counters;
    other->counter_count = count;
    other->counter_bytes = sizeof *difference->counters;
}

static void other_make(struct difference *difference, const struct process_snapshot *a,
                       const struct process_snapshot *b, bool fabric)
{
    MPIX_Monitor_other *other = &difference->interval.other;
    bool os = a->counters_known && b->counters_known;
    other->fabric_time_ns = fabric ? change_ns(b->fabric[0]) - change_ns(a->fabric[0]) : UNKNOWN;
    other->fabric_polls = fabric ? b->fabric[1] - a->fabric[1] : UNKNOWN;
    other->fabric_empty_polls = fabric ? b->fabric[2] - a->fabric[2] : UNKNOWN;
    other->fabric_poll_time_ns = fabric ? change_ns(b->fabric[3]) - change_ns(a->fabric[3]) : UNKNOWN;
    other->fabric_ops = fabric ? b->fabric[4] - a->fabric[4] : UNKNOWN;
    other->fabric_bytes = fabric ? b->fabric[5] - a->fabric[5] : UNKNOWN;
    const uint64_t(*before)[PLACE_COUNT] = a->counters, (*after)[PLACE_COUNT] = b->counters;
    other->os_time_ns = os ? time_inside_mpi(before[COUNTER_OS_TIME], after[COUNTER_OS_TIME]) : UNKNOWN;
    other->os_switches =
        os ? time_inside_mpi(before[COUNTER_SWITCHES_VOLUNTARY], after[COUNTER_SWITCHES_VOLUNTARY]) +
                 time_inside_mpi(before[COUNTER_SWITCHES_INVOLUNTARY], after[COUNTER_SWITCHES_INVOLUNTARY])
           : UNKNOWN;
    other->os_faults = os ? time_inside_mpi(before[COUNTER_FAULTS_MINOR], after[COUNTER_FAULTS_MINOR]) +
                                time_inside_mpi(before[COUNTER_FAULTS_MAJOR], after[COUNTER_FAULTS_MAJOR])
                          : UNKNOWN;
    counters_make(difference, a, b);
}

/* Time that was not recorded, or not timed, would count as useful. */
static uint64_t useful_ns(const MPIX_Monitor_interval *interval)
{
    const struct run_header *header = book.run.header;
    if (!interval->threads || !knob_load(KNOB_TIMING) || header->timed_changed || header->filter[0] ||
        header->off_since || header->off_count)
        return UNKNOWN;
    uint64_t inside = interval->inside_ns / interval->threads;
    return interval->duration_ns > inside ? interval->duration_ns - inside : 0;
}

static void process_make(MPIX_Monitor_interval *interval, const struct snapshot *begin, const struct snapshot *end,
                         bool stall)
{
    const struct process_snapshot *a = &begin->process, *b = &end->process;
    interval->bytes = sizeof *interval;
    interval->threads = b->threads;
    interval->begin_ns = epoch_ns(begin->ticks);
    interval->end_ns = epoch_ns(end->ticks);
    interval->duration_ns = interval->end_ns - interval->begin_ns;
    interval->events = b->events - a->events;
    /* If a thread's nested calls return very fast, a snapshot may have missed some of them. */
    interval->mpi_time_ns = b->folded > a->folded ? change_ns(b->folded) - change_ns(a->folded) : 0;
    interval->begun_before_ns = change_ns(a->progress);
    interval->unfinished_ns = change_ns(b->progress);
    uint64_t inside = interval->mpi_time_ns + interval->unfinished_ns;
    interval->inside_ns = inside > interval->begun_before_ns ? inside - interval->begun_before_ns : 0;
    interval->stall_time_ns = stall ? change_ns(b->stalled) - change_ns(a->stalled) : UNKNOWN;
    interval->useful_time_ns = useful_ns(interval);
}

/*
 * True if it was watched all the time, and at the end there was something to watch. Libraries become known by their
 * first operation.
 */
static bool fabric_is_known(const struct snapshot *begin, const struct snapshot *end)
{
    return begin->process.fabric_watched && end->process.fabric_known;
}

void difference_make(struct difference *difference, const struct snapshot *begin, const struct snapshot *end,
                     const struct comm *only, unsigned options)
{
    bool fabric = fabric_is_known(begin, end);
    bool stall = book.run.header->stall_known;
    memset(&difference->interval, 0, sizeof difference->interval);
    difference->whole = begin->whole && end->whole;
    pthread_mutex_lock(&book.lock);
    uint32_t records = records_of(end) + 1; /* and all freed ones */
    if (comms_prepare(difference, records + begin->process.calls + end->process.calls)) {
        comms_compare(difference, begin, end, only);
        calls_make(difference, begin, end, records);
    } else {
        difference->whole = false;
    }
    process_make(&difference->interval, begin, end, stall);
    comms_finish(difference, options, fabric, stall);
    if (options & MPIX_MONITOR_OTHER)
        other_make(difference, &begin->process, &end->process, fabric);
    pthread_mutex_unlock(&book.lock);
}

/* ---- warnings ---------------------------------------------------------------------------------------------------- */

static void warn(const char *warnings[WARNINGS_MOST], unsigned *count, const char *text)
{
    if (*count < WARNINGS_MOST)
        warnings[(*count)++] = text;
}

static void warn_recording(const char *warnings[WARNINGS_MOST], unsigned *count)
{
    const struct run_header *header = book.run.header;
    if (!knob_load(KNOB_TIMING))
        warn(warnings, count, "times are unknown: mpit_timing is 0, so calls are only counted");
    if (header->filter[0])
        warn(warnings, count, "calls are missing: mpit_filter excludes them");
    if (header->off_since || header->off_count)
        warn(warnings, count,
             "calls may be missing: recording was off for a part of this run (MPI_Pcontrol, mpit_recording)");
    if (!header->stall_known)
        warn(warnings, count, "stalls are unknown: mpit cannot observe the progress engine of this MPI library");
}

unsigned difference_warnings(const struct difference *difference, const struct snapshot *begin,
                             const struct snapshot *end, unsigned options, const char *warnings[WARNINGS_MOST])
{
    unsigned count = 0;
    bool watched = begin->process.fabric_watched && end->process.fabric_watched;
    bool known = fabric_is_known(begin, end);
    bool os = begin->process.counters_known && end->process.counters_known;
    if (!difference->whole)
        warn(warnings, &count, "values are missing: there was not enough memory for the window");
    if ((options & MPIX_MONITOR_COLL) && !(options & MPIX_MONITOR_OTHER) && !known)
        warn(warnings, &count, "transfers inside collectives are unknown: only the option \"other\" counts them");
    if ((options & MPIX_MONITOR_OTHER) && !watched)
        warn(warnings, &count, "time and transfers below MPI are unknown: libfabric and UCX are not recorded");
    else if ((options & MPIX_MONITOR_OTHER) && !known)
        warn(warnings, &count,
             "time and transfers below MPI are unknown: MPI has called neither libfabric nor UCX since their recording "
             "began");
    if ((options & MPIX_MONITOR_OTHER) && !os)
        warn(warnings, &count, "time in the operating system is unknown: its counters are not read");
    if ((options & MPIX_MONITOR_OTHER) && !difference->interval.other.counter_count)
        warn(warnings, &count, "no hardware counters: MPIT_PAPI_EVENTS names none, or none is available");
    warn_recording(warnings, &count);
    return count;
}
