#include "replay.h"

#include "commsum.h"
#include "fold.h"
#include "readergaps.h"
#include "variables.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct page {
    struct page *next;
    uint32_t number;
    struct peer_cells cells;
};

struct replayed_comm {
    struct comm_tally tally;
    struct comm_cells cells;
    struct shared_cells shared; /* what the thread did to them */
    struct page *pages;
    uint32_t number; /* of the communicator that has the slot now, as far as the thread's events have come */
};

/* Of all threads together; only the extremes of the cells are used. */
struct extremes {
    struct comm_cells live, replayed;
    bool taken; /* windows took some out of the threads' cells: only the joined ones can be compared */
};

struct replay {
    const struct run_reader *reader;
    struct tally tally; /* of the thread in progress */
    struct thread_cells thread;
    struct counter_cells counters; /* of that thread */
    struct replayed_comm **comms;  /* of that thread, by slot */
    struct region_cells *regions;  /* of that thread, by the instrument's id */
    struct fabric_cells *fabric;   /* of that thread, by the provider's number */
    struct fabric_call_cells fabric_calls;
    struct level_cells pending[FABRIC_PROVIDERS_MOST + 1]; /* of all threads */
    struct shared_cells *shared;                           /* of all threads, by slot */
    struct extremes *extremes;                             /* likewise */
    char *report;
    size_t size;
    int differences;
    uint64_t nameless; /* events of communicators that the file does not name */
};

enum { REPORT_MOST = 8 };

__attribute__((format(printf, 2, 3))) static void report(struct replay *replay, const char *format, ...)
{
    size_t used = strlen(replay->report);
    va_list args;
    va_start(args, format);
    if (used < replay->size)
        vsnprintf(replay->report + used, replay->size - used, format, args);
    va_end(args);
}

static struct replayed_comm *comm_make(struct replay *replay, uint32_t slot)
{
    struct replayed_comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return NULL;
    comm->cells.message_low = comm->cells.span_first = LOW_NEUTRAL;
    comm->tally.cells = &comm->cells;
    shared_cells_clear(&comm->shared);
    comm->tally.shared = &comm->shared;
    comm->tally.page_number = UINT32_MAX;
    replay->comms[slot] = comm;
    return comm;
}

static bool page_select(struct replayed_comm *comm, int32_t peer)
{
    uint32_t number = (uint32_t)peer / PEERS_PER_PAGE;
    if (peer < 0 || (comm->tally.page && comm->tally.page_number == number))
        return true;
    struct page *page = comm->pages;
    while (page && page->number != number)
        page = page->next;
    if (!page) {
        page = calloc(1, sizeof *page);
        if (!page)
            return false;
        page->number = number;
        page->next = comm->pages;
        comm->pages = page;
    }
    comm->tally.page = &page->cells;
    comm->tally.page_number = number;
    return true;
}

/* The slot goes to the next communicator: what the one before has counted goes to its sum, as it did then. */
static bool comm_sum(struct replay *replay, struct replayed_comm *comm)
{
    const struct comm_record *record = replay->reader->comms[comm->number];
    struct replayed_comm *sum = replay->comms[record->sum];
    if (comm->number < replay->reader->slot_count || !record->sum || (!sum && !(sum = comm_make(replay, record->sum))))
        return false;
    comm_cells_move(&sum->cells, &comm->cells, true);
    for (struct page *page = comm->pages; page; page = page->next) {
        if (!page_select(sum, (int32_t)(page->number * PEERS_PER_PAGE)))
            return false;
        peer_cells_move(sum->tally.page, &page->cells);
    }
    shared_cells_sum(&sum->shared, &comm->shared);
    shared_cells_clear(&comm->shared);
    return true;
}

/* The communicator of an event, which is none or has a slot; false: it cannot be told, or there is no memory. */
static bool comm_at(struct replay *replay, const struct event *event, struct replayed_comm **comm)
{
    uint32_t slot = event->comm, number = run_reader_comm(replay->reader, event);
    *comm = NULL;
    if (!number) {
        bool had = slot && slot < replay->reader->slot_count && replay->reader->comms[slot];
        replay->nameless += had;
        return !had;
    }
    *comm = replay->comms[slot];
    if (!*comm && !(*comm = comm_make(replay, slot)))
        return false;
    if ((*comm)->number != number && (*comm)->number && !comm_sum(replay, *comm))
        return false;
    const struct comm_record *record = replay->reader->comms[number];
    (*comm)->number = number;
    (*comm)->tally.peers = (uint32_t)(record->remote_size ? record->remote_size : record->size);
    return true;
}

/* At the end of a thread's events: those that have lost their slots go to their sums. */
static bool comms_sum(struct replay *replay)
{
    for (uint32_t slot = 1; slot < replay->reader->slot_count; slot++) {
        struct replayed_comm *comm = replay->comms[slot];
        if (comm && comm->number >= replay->reader->slot_count && !comm_sum(replay, comm))
            return false;
    }
    return true;
}

/* An event with what follows it where it is wide. */
static bool event_take(struct replay *replay, struct event_cursor *cursor, const struct event *from)
{
    struct event event = *from;
    union {
        struct event event;
        struct event_extension extension;
    } more;
    memset(&more, 0, sizeof more);
    if (event.kind & EVENT_WIDE) {
        const struct event *behind = event_cursor_next(cursor);
        if (!behind || event_kind(behind) != RECORD_EXTENSION)
            return false;
        more.event = *behind;
        replay->thread.events++;
    }
    bool instrument = event_kind(&event) >= RECORD_END; /* its peer is no rank */
    struct replayed_comm *comm = NULL;
    if ((!instrument && !comm_at(replay, &event, &comm)) || (comm && !page_select(comm, event.peer)))
        return false;
    replay->thread.events++;
    replay->tally.region = NULL;
    if (event_kind(&event) == EVENT_REGION && run_reader_instrument(replay->reader, (uint32_t)event.peer))
        replay->tally.region = &replay->regions[event.peer];
    if (EVENT_KIND_IS_FABRIC(event_kind(&event))) {
        if (!run_reader_provider(replay->reader, (uint32_t)event.peer))
            return false;
        replay->tally.fabric =
            (struct fabric_tally){.cells = &replay->fabric[event.peer], .pending = &replay->pending[event.peer]};
    }
    fold(&replay->tally, comm ? &comm->tally : NULL, &event, &more.extension);
    return true;
}

static void cells_compare(struct replay *replay, const struct run_block *block, const uint64_t *replayed, size_t count)
{
    const uint64_t *live = tally_cells(block);
    for (size_t i = 0; i < count && i < block->cells; i++) {
        if (live[i] == replayed[i])
            continue;
        if (replay->differences++ < REPORT_MOST)
            report(replay, "block kind %u, thread %u, comm %u, page %u, cell %zu: live %llu, replayed %llu\n",
                   block->kind, block->thread, block->comm, block->page, i, (unsigned long long)live[i],
                   (unsigned long long)replayed[i]);
    }
}

static const void *page_find(const struct replayed_comm *comm, uint32_t number)
{
    for (const struct page *page = comm ? comm->pages : NULL; page; page = page->next)
        if (page->number == number)
            return &page->cells;
    return NULL;
}

/* Joins the three extremes of a thread into those of the communicator. */
static void extremes_join(struct comm_cells *all, const struct comm_cells *cells)
{
    cell_raise(&all->message_high, cells->message_high);
    cell_lower(&all->message_low, cells->message_low);
    cell_lower(&all->span_first, cells->span_first);
}

static void extremes_clear(struct comm_cells *cells)
{
    cells->message_high = 0;
    cells->message_low = cells->span_first = LOW_NEUTRAL;
}

/* Which segment an extreme is of is the windows' own: a replay has none. */
static void segments_clear(struct comm_cells *cells)
{
    cells->span_first_segment = cells->message_low_segment = cells->message_high_segment = 0;
}

static void comm_compare(struct replay *replay, const struct run_block *block, const struct replayed_comm *comm)
{
    struct {
        struct run_block block;
        struct comm_cells cells;
    } live = {.block = *block};
    live.block.at = (const uint64_t *)&live.cells;
    struct comm_cells replayed = {0};
    struct extremes *extremes = &replay->extremes[block->comm];
    size_t bytes = block->cells * sizeof(uint64_t);
    memcpy(&live.cells, tally_cells(block), bytes < sizeof live.cells ? bytes : sizeof live.cells);
    segments_clear(&live.cells);
    extremes_clear(&replayed);
    if (comm)
        replayed = comm->cells;
    extremes_join(&extremes->live, &live.cells);
    extremes_join(&extremes->replayed, &replayed);
    if (extremes->taken) {
        extremes_clear(&live.cells);
        extremes_clear(&replayed);
    }
    cells_compare(replay, &live.block, (const uint64_t *)&replayed, sizeof replayed / sizeof(uint64_t));
}

static void thread_compare(struct replay *replay, uint32_t thread)
{
    static const uint64_t zeros[sizeof(struct peer_cells) / sizeof(uint64_t)];
    for (size_t i = 0; i < replay->reader->block_count; i++) {
        const struct run_block *block = &replay->reader->blocks[i];
        struct replayed_comm *comm = block->comm ? replay->comms[block->comm] : NULL;
        if (block->thread != thread || block->kind == BLOCK_SHARED || block->kind == BLOCK_FABRIC_LEVEL)
            continue;
        if (block->kind == BLOCK_THREAD) {
            cells_compare(replay, block, (const uint64_t *)&replay->thread, sizeof replay->thread / sizeof(uint64_t));
        } else if (block->kind == BLOCK_REGION) { /* the reader has looked whether there is such an instrument */
            cells_compare(replay, block, (const uint64_t *)&replay->regions[block->page],
                          sizeof *replay->regions / sizeof(uint64_t));
        } else if (block->kind == BLOCK_FABRIC) { /* and likewise whether there is such a provider */
            cells_compare(replay, block, (const uint64_t *)&replay->fabric[block->page],
                          sizeof *replay->fabric / sizeof(uint64_t));
        } else if (block->kind == BLOCK_FABRIC_CALLS) {
            cells_compare(replay, block, (const uint64_t *)&replay->fabric_calls,
                          sizeof replay->fabric_calls / sizeof(uint64_t));
        } else if (block->kind == BLOCK_COUNTERS) {
            cells_compare(replay, block, (const uint64_t *)&replay->counters,
                          sizeof replay->counters / sizeof(uint64_t));
        } else if (block->kind == BLOCK_PEERS) {
            const void *page = page_find(comm, block->page);
            cells_compare(replay, block, page ? page : zeros, sizeof zeros / sizeof(uint64_t));
        } else if (block->cells >= offsetof(struct comm_cells, stall_time) / sizeof(uint64_t)) {
            comm_compare(replay, block, comm);
        }
    }
}

static const struct shared_cells *shared_of(const struct run_block *block)
{
    bool whole = block->kind == BLOCK_SHARED && block->cells >= sizeof(struct shared_cells) / sizeof(uint64_t);
    return whole ? (const struct shared_cells *)tally_cells(block) : NULL;
}

static void extremes_look(struct replay *replay)
{
    for (size_t i = 0; i < replay->reader->block_count; i++) {
        const struct run_block *block = &replay->reader->blocks[i];
        const struct shared_cells *shared = shared_of(block);
        if (shared && (shared->closed[EXTREME_MESSAGE_HIGH] || shared->closed[EXTREME_MESSAGE_LOW] != LOW_NEUTRAL ||
                       shared->closed[EXTREME_SPAN_FIRST] != LOW_NEUTRAL))
            replay->extremes[block->comm].taken = true;
    }
}

/* Extremes are held against each other once all threads are through: windows take them out of the threads' cells. */
static void extremes_compare(struct replay *replay)
{
    for (size_t i = 0; i < replay->reader->block_count; i++) {
        const struct run_block *block = &replay->reader->blocks[i];
        const struct shared_cells *shared = shared_of(block);
        if (!shared)
            continue;
        struct extremes *extremes = &replay->extremes[block->comm];
        if (!extremes->taken)
            continue; /* compared thread by thread */
        extremes_join(&extremes->live, &(struct comm_cells){.message_high = shared->closed[EXTREME_MESSAGE_HIGH],
                                                            .message_low = shared->closed[EXTREME_MESSAGE_LOW],
                                                            .span_first = shared->closed[EXTREME_SPAN_FIRST]});
        struct {
            struct run_block block;
            struct comm_cells cells;
        } live = {.block = *block, .cells = extremes->live};
        live.block.at = (const uint64_t *)&live.cells;
        live.block.cells = sizeof live.cells / sizeof(uint64_t);
        cells_compare(replay, &live.block, (const uint64_t *)&extremes->replayed, live.block.cells);
    }
}

static void shared_compare(struct replay *replay)
{
    bool single = replay->reader->thread_count == 1;
    for (size_t i = 0; i < replay->reader->block_count; i++) {
        const struct run_block *block = &replay->reader->blocks[i];
        if (!shared_of(block))
            continue;
        struct {
            struct run_block block;
            struct shared_cells cells;
        } live = {.block = *block};
        live.block.at = (const uint64_t *)&live.cells;
        memcpy(&live.cells, tally_cells(block), sizeof live.cells);
        struct shared_cells *replayed = &replay->shared[block->comm];
        struct level_cells *pairs[][2] = {{&live.cells.sends, &replayed->sends},
                                          {&live.cells.recvs, &replayed->recvs},
                                          {&live.cells.bytes, &replayed->bytes}};
        for (unsigned p = 0; p < 3; p++) {
            pairs[p][0]->high_segment = pairs[p][0]->low_segment = 0;
            cell_raise(&pairs[p][0]->high, live.cells.closed[EXTREME_SENDS_HIGH + 2 * p]);
            cell_lower(&pairs[p][0]->low, live.cells.closed[EXTREME_SENDS_LOW + 2 * p]);
            if (!single) {
                pairs[p][1]->high = pairs[p][0]->high;
                pairs[p][1]->low = pairs[p][0]->low;
            }
        }
        memcpy(replayed->closed, live.cells.closed, sizeof replayed->closed);
        cells_compare(replay, &live.block, (const uint64_t *)replayed, sizeof *replayed / sizeof(uint64_t));
    }
}

/* What threads do at once has no order in which the extremes could be made again. */
static void pending_compare(struct replay *replay)
{
    for (size_t i = 0; i < replay->reader->block_count; i++) {
        const struct run_block *block = &replay->reader->blocks[i];
        if (block->kind != BLOCK_FABRIC_LEVEL)
            continue;
        struct level_cells *replayed = &replay->pending[block->page], live = {0};
        memcpy(&live, tally_cells(block),
               block->cells * sizeof(uint64_t) < sizeof live ? block->cells * sizeof(uint64_t) : sizeof live);
        if (replay->reader->thread_count != 1)
            *replayed = (struct level_cells){.now = replayed->now, .high = live.high, .low = live.low};
        cells_compare(replay, block, (const uint64_t *)replayed, sizeof *replayed / sizeof(uint64_t));
    }
}

static void thread_forget(struct replay *replay)
{
    for (size_t i = 0; i < replay->reader->slot_count; i++) {
        struct replayed_comm *comm = replay->comms[i];
        if (comm)
            shared_cells_sum(&replay->shared[i], &comm->shared);
        for (struct page *page = comm ? comm->pages : NULL, *next; page; page = next) {
            next = page->next;
            free(page);
        }
        free(comm);
        replay->comms[i] = NULL;
    }
}

static bool thread_replay(struct replay *replay, uint32_t thread)
{
    struct event_cursor cursor;
    bool whole = true;
    memset(&replay->thread, 0, sizeof replay->thread);
    memset(replay->regions, 0, (replay->reader->instrument_count + 1) * sizeof *replay->regions);
    memset(&replay->counters, 0, sizeof replay->counters);
    memset(replay->fabric, 0, (FABRIC_PROVIDERS_MOST + 1) * sizeof *replay->fabric);
    memset(&replay->fabric_calls, 0, sizeof replay->fabric_calls);
    replay->tally = (struct tally){.cells = &replay->thread,
                                   .message_weight = 1,
                                   .fabric_calls = &replay->fabric_calls,
                                   .counters = &replay->counters};
    event_cursor_open(&cursor, replay->reader, thread);
    for (const struct event *event; whole && (event = event_cursor_next(&cursor));)
        whole = event_take(replay, &cursor, event);
    event_cursor_close(&cursor);
    whole = whole && comms_sum(replay);
    if (replay->nameless)
        report(replay, "the file does not name the communicators of all events (events_lost says why)");
    else if (!whole)
        report(replay, "the trace of thread %u ends inside of an event", thread);
    whole = whole && !cursor.missing; /* gaps_tell says it */
    if (whole)
        thread_compare(replay, thread);
    thread_forget(replay);
    return whole;
}

static double seconds(const struct run_reader *reader, uint64_t ticks)
{
    uint64_t begin = reader->header.begin_ticks;
    return ticks > begin ? (double)clock_ns(run_reader_scale(reader), ticks - begin) * 1e-9 : 0;
}

/* Where events are missing, and why, in the place of what that has led to. */
static void gaps_tell(struct replay *replay)
{
    const struct run_reader *reader = replay->reader;
    struct run_gaps gaps;
    char cause[GAP_CAUSE_BYTES];
    if (run_gaps_find(&gaps, reader) == 0 && gaps.count) {
        uint64_t sum = 0;
        for (size_t i = 0; i < gaps.count; i++)
            sum += gaps.list[i].count;
        replay->report[0] = '\0';
        report(replay, "%llu events are not in the trace; where and why, in seconds since the process began:",
               (unsigned long long)sum);
        for (size_t i = 0; i < gaps.count && i < REPORT_MOST; i++) {
            run_gap_cause(reader, &gaps.list[i], cause);
            report(replay, "\n  thread %u: %llu between %.9f and %.9f (%s)", gaps.list[i].thread,
                   (unsigned long long)gaps.list[i].count, seconds(reader, gaps.list[i].begin_ticks),
                   seconds(reader, gaps.list[i].end_ticks), cause);
        }
        if (gaps.count > REPORT_MOST)
            report(replay, "\n  and in %zu more places", gaps.count - REPORT_MOST);
    }
    run_gaps_release(&gaps);
}

/* From when to when the trace was on. */
static void stretches_tell(struct replay *replay)
{
    const struct run_reader *reader = replay->reader;
    size_t count = reader->stretch_count;
    report(replay,
           "the trace was switched on or off while the program ran: it holds a part of the events, and the tallies "
           "count all of them; it was on, in seconds since the process began:");
    for (size_t i = 0; i < count && i < REPORT_MOST; i++) {
        const struct trace_stretch *stretch = reader->stretches[count - 1 - i];
        if (stretch->end_ticks == UINT64_MAX)
            report(replay, "\n  from %.9f to the end", seconds(reader, stretch->begin_ticks));
        else
            report(replay, "\n  from %.9f to %.9f", seconds(reader, stretch->begin_ticks),
                   seconds(reader, stretch->end_ticks));
    }
    if (count > REPORT_MOST)
        report(replay, "\n  and %zu times more", count - REPORT_MOST);
}

int replay_verify(const struct run_reader *reader, char *text, size_t size)
{
    struct replay replay = {.reader = reader, .report = text, .size = size};
    text[0] = '\0';
    if (!reader->header.traced) {
        snprintf(text, size, "the run holds no trace (record it with mpit-run --trace)");
        return -1;
    }
    if (reader->header.lost[LOSS_DISK_FULL] && reader->block_count == 0) {
        snprintf(text, size, "the file could not grow (disk_full): it holds nothing that could be compared");
        return -1;
    }
    if (reader->header.traced == TRACED_IN_PART) {
        stretches_tell(&replay);
        return -1;
    }
    replay.comms = calloc(reader->slot_count + 1, sizeof *replay.comms);
    replay.shared = calloc(reader->slot_count + 1, sizeof *replay.shared);
    replay.extremes = calloc(reader->slot_count + 1, sizeof *replay.extremes);
    replay.regions = calloc(reader->instrument_count + 1, sizeof *replay.regions);
    replay.fabric = calloc(FABRIC_PROVIDERS_MOST + 1, sizeof *replay.fabric);
    bool whole = replay.comms && replay.shared && replay.extremes && replay.regions && replay.fabric;
    for (size_t i = 0; whole && i <= reader->slot_count; i++)
        shared_cells_clear(&replay.shared[i]);
    for (size_t i = 0; whole && i <= reader->slot_count; i++) {
        extremes_clear(&replay.extremes[i].live);
        extremes_clear(&replay.extremes[i].replayed);
    }
    if (whole)
        extremes_look(&replay);
    for (uint32_t i = 0; whole && i < reader->thread_count; i++)
        if (reader->threads[i])
            whole = thread_replay(&replay, i);
    if (whole) {
        shared_compare(&replay);
        pending_compare(&replay);
        extremes_compare(&replay);
    }
    if (!whole)
        gaps_tell(&replay);
    free(replay.extremes);
    free(replay.regions);
    free(replay.fabric);
    free(replay.comms);
    free(replay.shared);
    return whole ? replay.differences : -1;
}
