#include "summary/summary.h"

#include "base/script.h"
#include "figures/figures.h"
#include "format/label.h"
#include "summary/summaryfabric.h"
#include "summary/summarycomms.h"
#include "summary/summarycounters.h"
#include "summary/summaryinstruments.h"
#include "summary/summaryopenmp.h"
#include "summary/summaryphases.h"
#include "summary/summarysites.h"

#include <stdlib.h>
#include <string.h>

static void spread_set(struct summary_spread *spread, double value, int32_t rank)
{
    *spread = (struct summary_spread){value, value, value, rank, rank};
}

void summary_spread_merge(struct summary_spread *spread, const struct summary_spread *other)
{
    if (spread->min_rank < 0) { /* it had no rank yet, so it cannot be the rank of an extreme */
        double sum = spread->sum + other->sum;
        *spread = *other;
        spread->sum = sum;
        return;
    }
    spread->sum += other->sum;
    if (other->min_rank < 0)
        return;
    if (other->min < spread->min || (other->min == spread->min && other->min_rank < spread->min_rank)) {
        spread->min = other->min;
        spread->min_rank = other->min_rank;
    }
    if (other->max > spread->max || (other->max == spread->max && other->max_rank < spread->max_rank)) {
        spread->max = other->max;
        spread->max_rank = other->max_rank;
    }
}

void summary_spread_add(struct summary_spread *spread, double value, int32_t rank, bool first)
{
    const struct summary_spread one = {value, value, value, rank, rank};
    if (first)
        *spread = one;
    else
        summary_spread_merge(spread, &one);
}

/* Calls are found by name, as the file may have been written with another table. */
/* Finds a call of the file, first at `likely`, its number in the file. CALL_COUNT: there is none of this name. */
static size_t kind_named(const char *name, size_t likely)
{
    if (likely < CALL_COUNT && strcmp(call_table[likely].name, name) == 0)
        return likely;
    size_t kind = 1;
    while (kind < CALL_COUNT && strcmp(call_table[kind].name, name) != 0)
        kind++;
    return kind;
}

static void calls_fill(struct summary *summary, const struct figures *from)
{
    enum { MOST = EVENT_KIND_MASK + 1 };
    static uint64_t counts[MOST], times[MOST], stalls[MOST], fabric[MOST];
    size_t n = figures_read(from, "mpit_call_count", VARIABLE_COUNTER, NULL, counts, MOST);
    figures_read(from, "mpit_call_time", VARIABLE_TIMER, NULL, times, MOST);
    figures_read(from, "mpit_call_stall_time", VARIABLE_TIMER, NULL, stalls, MOST);
    figures_read(from, "mpit_call_fabric_time", VARIABLE_TIMER, NULL, fabric, MOST);
    figures_read(from, "mpit_stall_time", VARIABLE_TIMER, NULL, summary->stall_ns, STATE_COUNT);
    for (size_t i = 1; i < n && i < MOST; i++) {
        if (!counts[i] && !times[i])
            continue;
        size_t kind = kind_named(run_reader_call_name(from->run, (unsigned)i), i);
        if (kind >= CALL_COUNT)
            continue;
        summary->calls[kind] = (struct summary_call){counts[i], times[i]};
        summary->call_stall_ns[kind] = stalls[i];
        summary->call_fabric_ns[kind] = fabric[i];
    }
}

/* The calls that were not recorded on purpose. */
static void selection_fill(struct summary *summary, const struct run_header *header, struct clock_scale scale,
                           uint64_t end_ticks)
{
    uint64_t off = run_off_ticks(header, end_ticks);
    spread_set(&summary->off_seconds, (double)clock_ns(scale, off) / 1e9, header->world_rank);
    summary->timed = header->timed;
    summary->timed_mixed = header->timed_changed != 0;
    memcpy(summary->filter, header->filter, sizeof summary->filter);
    text_tidy(summary->filter, sizeof summary->filter);
    if (header->lost[LOSS_TRACE_LIMIT] && !header->trace_bytes_over) {
        summary->trace_limit_ns = header->trace_limit_ns;
        summary->trace_policy = header->trace_policy;
    }
}

static void names_fill(struct summary *summary, const struct run_header *header)
{
    memcpy(summary->mpi, header->mpi, sizeof summary->mpi);
    memcpy(summary->program, header->program, sizeof summary->program);
    text_tidy(summary->mpi, sizeof summary->mpi);
    text_tidy(summary->program, sizeof summary->program);
}

static void selection_merge(struct summary *summary, const struct summary *other)
{
    summary_spread_merge(&summary->off_seconds, &other->off_seconds);
    if (other->timed != summary->timed || other->timed_mixed)
        summary->timed_mixed = 1;
    if (other->filter_mixed || strcmp(other->filter, summary->filter) != 0)
        summary->filter_mixed = 1;
    if (other->trace_limit_ns > summary->trace_limit_ns) {
        summary->trace_limit_ns = other->trace_limit_ns;
        summary->trace_policy = other->trace_policy;
    }
}

struct part_facts {
    uint64_t init_ticks, end_ticks;
    int32_t rank;
    uint64_t threads;
};

static bool has_lost(const struct summary *summary)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < LOSS_COUNT; i++)
        all |= summary->lost[i];
    return all != 0;
}

/* Any number may come from a damaged file. */
static uint64_t ns_of(double seconds)
{
    return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
}

/* The figures of one process, which have just been filled in. */
static void row_fill(struct summary_row *row, const struct summary *summary, const struct run_header *header,
                     uint64_t threads, struct row_memory memory)
{
    double useful = summary->recorded_seconds.sum - summary->mpi_seconds.sum / (double)threads;
    row->off_ns = ns_of(summary->off_seconds.sum);
    row->run_ns = ns_of(summary->run_seconds.sum);
    row->mpi_ns = ns_of(summary->mpi_seconds.sum);
    row->useful_ns = ns_of(useful);
    row->threads = (uint32_t)threads;
    row->processors = header->processors;
    row->processor_set = header->processor_set;
    row->usage = header->usage;
    row->memory = memory;
    for (unsigned i = 0; i < STATE_COUNT; i++)
        row->stall_ns += summary->stall_ns[i];
    for (unsigned i = 0; i < CALL_COUNT; i++)
        if (call_is_end(i))
            row->stall_ns -= summary->call_stall_ns[i] < row->stall_ns ? summary->call_stall_ns[i] : row->stall_ns;
    for (size_t i = 0; i < summary->comm_count; i++) {
        row->sent += summary->comms[i].send_count;
        row->sent_bytes += summary->comms[i].send_bytes;
        row->received += summary->comms[i].recv_count;
        row->received_bytes += summary->comms[i].recv_bytes;
    }
}

/* A process without room for any thread has no figures. It does not count as recorded. */
static int part_fill(struct summary *summary, const struct figures *from, struct part_facts facts)
{
    struct clock_scale scale = run_reader_scale(from->run);
    uint64_t ticks = facts.init_ticks && facts.end_ticks > facts.init_ticks ? facts.end_ticks - facts.init_ticks : 0;
    double seconds = (double)clock_ns(scale, ticks) / 1e9;
    summary->threads = facts.threads;
    summary->events = figures_one(from, "mpit_events_recorded", VARIABLE_COUNTER, NULL);
    memcpy(summary->lost, from->run->header.lost, sizeof summary->lost);
    summary->ranks = facts.threads || !has_lost(summary);
    if (!summary->ranks)
        return 0;
    calls_fill(summary, from);
    summary_fabric_fill(summary, from);
    summary_counters_fill(summary, from, facts.rank);
    const struct run_header *header = &from->run->header;
    summary->stall_known = header->stall_known == 1;
    /* Time outside of [MPI_Init, MPI_Finalize] does not count for the share of the run. */
    uint64_t outside = summary->calls[CALL_MPI_Init].time_ns + summary->calls[CALL_MPI_Init_thread].time_ns +
                       summary->calls[CALL_MPI_Finalize].time_ns + clock_ns(scale, header->session_ticks);
    uint64_t inside = figures_one(from, "mpit_mpi_time", VARIABLE_TIMER, NULL);
    double mpi = inside > outside ? (double)(inside - outside) / 1e9 : 0;
    double off = summary->off_seconds.sum < seconds ? summary->off_seconds.sum : seconds;
    double whole = (seconds - off) * (double)(facts.threads ? facts.threads : 1);
    spread_set(&summary->off_seconds, off, facts.rank);
    spread_set(&summary->run_seconds, seconds, facts.rank);
    spread_set(&summary->recorded_seconds, seconds - off, facts.rank);
    spread_set(&summary->mpi_seconds, mpi, facts.rank);
    spread_set(&summary->mpi_share, summary_share(mpi, whole, off > 0), facts.rank);
    if (summary_comms_fill(summary, from) != 0 || summary_instruments_fill(summary, from, facts.rank) != 0)
        return -1;
    row_fill(&summary->rows[0], summary, header, facts.threads ? facts.threads : 1,
             summary_memory_of(from->run, facts.end_ticks));
    summary_left_of(from->run, summary->rows[0].left);
    return summary_openmp_fill(summary, from->run, facts.end_ticks) != 0 ? -1 : summary_sites_fill(summary, from->run);
}

/* When the last recorded call of a thread returned. 0: not known. */
static uint64_t tail_last_ticks(const struct run_reader *reader, uint32_t thread, uint64_t events, bool *whole)
{
    struct event_cursor cursor;
    const struct event *event;
    uint64_t last = 0, begin = 0;
    event_cursor_open(&cursor, reader, thread);
    cursor.whole = true;
    event_cursor_skip(&cursor, cursor.end > events ? cursor.end - events : 0);
    *whole = cursor.end <= events;
    while ((event = event_cursor_next(&cursor)) != NULL) {
        uint64_t end = 0;
        if (begin && event_kind(event) == RECORD_EXTENSION) {
            struct event_extension more;
            memcpy(&more, event, sizeof more);
            end = begin + more.duration;
        } else if (event_kind(event) > CALL_NONE && event_kind(event) < CALL_COUNT) {
            end = event->begin + event->duration;
        } else if (event_kind(event) == EVENT_SWITCHED) {
            end = event->begin;
        }
        begin = end && (event->kind & EVENT_WIDE) ? event->begin : 0; /* records of a call may have extensions, too */
        last = end > last ? end : last;
    }
    event_cursor_close(&cursor);
    return last;
}

/* After its last call there may be any number of records: of its requests, and of other libraries' instruments. */
static uint64_t thread_last_ticks(const struct run_reader *reader, uint32_t thread)
{
    uint64_t last = 0;
    bool whole = false;
    for (uint64_t events = 4 * RING_SPARE; !last && !whole && events < UINT64_MAX / 8; events *= 8)
        last = tail_last_ticks(reader, thread, events, &whole);
    return last;
}

/* The time of the last action of a process that did not finish. */
static uint64_t last_ticks(const struct run_reader *reader)
{
    uint64_t last = reader->header.init_ticks;
    for (size_t i = 0; i < reader->block_count; i++) {
        const struct run_block *block = &reader->blocks[i];
        size_t at = offsetof(struct comm_cells, span_last) / sizeof(uint64_t);
        if (block->kind == BLOCK_COMM && at < block->cells && tally_cells(block)[at] > last)
            last = tally_cells(block)[at];
    }
    for (size_t i = 0; i < reader->thread_count; i++) {
        uint64_t thread = reader->threads[i] ? thread_last_ticks(reader, (uint32_t)i) : 0;
        last = thread > last ? thread : last;
    }
    return last;
}

/* Fills in the row, and the origin. Returns 0, or -1 without memory. */
static int origin_fill(struct summary *summary, const struct run_reader *reader)
{
    const struct run_header *header = &reader->header;
    struct summary_origin *origin = &summary->origin;
    const struct origin_record *record = run_reader_origin(reader);
    char host[sizeof header->host], script[sizeof summary->program];
    origin->rank = run_rank(header);
    origin->recorder = header->recorder < UINT32_MAX ? (uint32_t)header->recorder : 0;
    origin->begin_ns = header->begin_realtime_ns;
    origin->end_ns = header->end_realtime_ns;
    if (record) {
        origin->told = 1;
        origin->uid = header->uid;
        label_clean(origin->user, sizeof origin->user, record->user, sizeof record->user);
        label_clean(origin->scheduler_job, sizeof origin->scheduler_job, record->scheduler_job,
                    sizeof record->scheduler_job);
        label_clean(origin->label, sizeof origin->label, record->label, sizeof record->label);
        label_clean(origin->command, sizeof origin->command, record->command, sizeof record->command);
        label_clean(origin->directory, sizeof origin->directory, record->directory, sizeof record->directory);
        if (script_of(script, sizeof script, summary->program, origin->command))
            memcpy(summary->program, script, sizeof script);
    }
    label_clean(host, sizeof host, header->host, sizeof header->host);
    struct summary_row row = {.rank = origin->rank, .pid = header->pid, .phase = header->phase};
    return summary_row_add(summary, row, host);
}

int summary_of_process(struct summary *summary, const struct run_reader *reader)
{
    const struct run_header *header = &reader->header;
    *summary = (struct summary){.job = header->job,
                                .world_size = run_size(header) > 0 ? (uint32_t)run_size(header) : 0,
                                .ended_badly = !run_ended_well(header),
                                .ended_later = header->phase == RUN_CLOSED && !run_ended_well(header),
                                .spawned = header->spawned != 0,
                                .parent_job = header->parent_job};
    names_fill(summary, header);
    return origin_fill(summary, reader);
}

int summary_of_run(struct summary *summary, const struct run_reader *reader)
{
    const struct run_header *header = &reader->header;
    uint64_t threads = 0;
    if (summary_of_process(summary, reader) != 0)
        return -1;
    for (size_t i = 0; i < reader->thread_count; i++)
        threads += reader->threads[i] != NULL;
    uint64_t end = header->finalize_ticks ? header->finalize_ticks
                   : header->end_ticks    ? header->end_ticks
                                          : last_ticks(reader);
    selection_fill(summary, header, run_reader_scale(reader), end);
    return part_fill(summary, &(struct figures){reader},
                     (struct part_facts){header->init_ticks, end, header->world_rank, threads});
}

/* Facts that are also known of processes without figures. */
struct ends {
    uint32_t badly, later, world_size;
    uint64_t lost[LOSS_COUNT];
};

static struct ends ends_of(const struct summary *summary)
{
    struct ends ends = {
        .badly = summary->ended_badly, .later = summary->ended_later, .world_size = summary->world_size};
    memcpy(ends.lost, summary->lost, sizeof ends.lost);
    return ends;
}

static void ends_add(struct summary *summary, struct ends ends)
{
    summary->ended_badly += ends.badly;
    summary->ended_later += ends.later;
    for (unsigned i = 0; i < LOSS_COUNT; i++)
        summary->lost[i] += ends.lost[i];
    if (ends.world_size > summary->world_size)
        summary->world_size = ends.world_size;
}

/* `summary` has no process with figures so far. It becomes `other`, which may have none either. */
static void summary_begin(struct summary *summary, const struct summary *other)
{
    struct summary_comm *comms = summary->comms;
    struct summary_instrument *instruments = summary->instruments;
    struct ends before = ends_of(summary);
    struct summary kept = *summary;
    *summary = *other;
    summary->comms = comms;
    summary->comm_count = 0;
    summary->instruments = instruments;
    summary->instrument_count = 0;
    summary->origin = kept.origin;
    summary->rows = kept.rows;
    summary->row_count = kept.row_count;
    summary->hosts = kept.hosts;
    summary->host_count = kept.host_count;
    summary->sites = kept.sites;
    summary->parallel = kept.parallel;
    summary->phases = kept.phases;
    summary->phase_count = kept.phase_count;
    summary->links = NULL;
    summary_placement_drop(summary);
    ends_add(summary, before);
}

int summary_merge(struct summary *summary, const struct summary *other)
{
    bool lower = other->origin.told && (uint32_t)other->origin.rank < (uint32_t)summary->origin.rank;
    if (lower && summary->ranks && other->ranks) { /* ranks may run several programs. The one of the lowest is shown */
        memcpy(summary->program, other->program, sizeof summary->program);
        memcpy(summary->mpi, other->mpi, sizeof summary->mpi);
    }
    if (summary_rows_merge(summary, other) != 0)
        return -1;
    summary_placement_drop(summary);
    if (!summary->ranks) {
        summary_begin(summary, other);
    } else if (!other->ranks) {
        ends_add(summary, ends_of(other));
    } else {
        ends_add(summary, ends_of(other));
        summary->ranks += other->ranks;
        summary->threads += other->threads;
        summary->events += other->events;
        summary->instruments_left_out += other->instruments_left_out;
        summary_spread_merge(&summary->run_seconds, &other->run_seconds);
        summary_spread_merge(&summary->recorded_seconds, &other->recorded_seconds);
        summary_spread_merge(&summary->mpi_seconds, &other->mpi_seconds);
        summary_spread_merge(&summary->mpi_share, &other->mpi_share);
        selection_merge(summary, other);
        for (unsigned i = 0; i < CALL_COUNT; i++) {
            summary->calls[i].count += other->calls[i].count;
            summary->calls[i].time_ns += other->calls[i].time_ns;
            summary->call_stall_ns[i] += other->call_stall_ns[i];
            summary->call_fabric_ns[i] += other->call_fabric_ns[i];
        }
        for (unsigned i = 0; i < STATE_COUNT; i++)
            summary->stall_ns[i] += other->stall_ns[i];
        summary->stall_known += other->stall_known;
        summary_fabric_merge(summary, other);
        summary_counters_merge(summary, other);
    }
    if (summary_comms_merge(summary, other) != 0)
        return -1;
    for (size_t i = 0; i < other->instrument_count; i++)
        if (summary_instrument_add(summary, &other->instruments[i]) != 0)
            return -1;
    return summary_phases_merge(summary, other) != 0 ? -1 : summary_sites_merge(summary, other);
}

void summary_placement_drop(struct summary *summary)
{
    free(summary->links);
    summary->links = NULL;
    summary->link_count = 0;
    summary->traced.placement = (struct summary_placement){.known = 0};
}

/* Returns whether both have the same ranks, on the same nodes. */
static bool summary_rows_are_same(const struct summary *one, const struct summary *other)
{
    bool same = one->row_count == other->row_count && one->host_count == other->host_count;
    for (size_t i = 0; same && i < one->host_count; i++)
        same = strcmp(one->hosts[i].name, other->hosts[i].name) == 0;
    for (size_t i = 0; same && i < one->row_count; i++)
        same = one->rows[i].rank == other->rows[i].rank && one->rows[i].host == other->rows[i].host;
    return same;
}

void summary_traced_take(struct summary *summary, const struct summary *from)
{
    summary_placement_drop(summary);
    summary->traced = from->traced;
    size_t count = from->link_count;
    summary->links = count ? calloc(count, sizeof *summary->links) : NULL;
    if (!from->traced.placement.known || !summary_rows_are_same(summary, from) || (count && !summary->links)) {
        summary_placement_drop(summary);
        return;
    }
    if (count)
        memcpy(summary->links, from->links, count * sizeof *summary->links);
    summary->link_count = count;
    for (size_t i = 0; i < summary->row_count; i++) {
        summary->rows[i].inside_bytes = from->rows[i].inside_bytes;
        summary->rows[i].between_bytes = from->rows[i].between_bytes;
        summary->rows[i].better_host = from->rows[i].better_host;
    }
    for (size_t i = 0; i < from->comm_count; i++) {
        struct summary_comm *comm = summary_comm_of(summary, from->comms[i].name);
        if (comm) {
            comm->inside_bytes = from->comms[i].inside_bytes;
            comm->between_bytes = from->comms[i].between_bytes;
        }
    }
}

void summary_release(struct summary *summary)
{
    summary_placement_drop(summary);
    free(summary->comms);
    free(summary->instruments);
    free(summary->rows);
    free(summary->hosts);
    free(summary->phases);
    summary_sites_release(summary);
    summary->comms = NULL;
    summary->instruments = NULL;
    summary->rows = NULL;
    summary->hosts = NULL;
    summary->phases = NULL;
    summary->phase_count = 0;
    summary->comm_count = summary->instrument_count = summary->row_count = summary->host_count = 0;
}
