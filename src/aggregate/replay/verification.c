#include "replay/replay.h"

#include "registry/commsum.h"
#include "reader/readergaps.h"
#include "replay/replaying.h"
#include "figures/variables.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of all threads together. Only the extremes of the cells are used. */
struct extremes {
    struct comm_cells live, replayed;
    bool taken; /* windows took some out of the threads' cells. Only the joined ones can be compared */
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

static void cells_compare(struct replay *replay, const struct run_block *block, const uint64_t *replayed, size_t count)
{
    const uint64_t *live = tally_cells(block);
    for (size_t i = 0; i < count && i < block->cells; i++) {
        if (live[i] == replayed[i])
            continue;
        if (replay->differences++ < REPORT_MOST)
            report(replay, "block kind %u, thread %u, comm %u, page %u, counter %zu: live %llu, replayed %llu\n",
                   block->kind, block->thread, block->comm, block->page, i, (unsigned long long)live[i],
                   (unsigned long long)replayed[i]);
    }
}

static const void *page_find(const struct replayed_comm *comm, uint32_t number)
{
    for (const struct replayed_page *page = comm ? comm->pages : NULL; page; page = page->next)
        if (page->number == number)
            return &page->cells;
    return NULL;
}

/* Joins the three extremes of a thread into the communicator's extremes. */
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
    /* only windows use the numbers of segments, and a replay has none */
    live.cells.span_first_segment = live.cells.message_low_segment = live.cells.message_high_segment = 0;
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
        } else if (block->kind == BLOCK_REGION) { /* the reader has checked that there is such an instrument */
            cells_compare(replay, block, (const uint64_t *)&replay->regions[block->page],
                          sizeof *replay->regions / sizeof(uint64_t));
        } else if (block->kind == BLOCK_FABRIC) { /* and likewise the provider */
            cells_compare(replay, block, (const uint64_t *)&replay->fabric[block->page],
                          sizeof *replay->fabric / sizeof(uint64_t));
        } else if (block->kind == BLOCK_FABRIC_CALLS) {
            cells_compare(replay, block, (const uint64_t *)&replay->fabric_calls,
                          sizeof replay->fabric_calls / sizeof(uint64_t));
        } else if (block->kind == BLOCK_COUNTERS) {
            cells_compare(replay, block, (const uint64_t *)&replay->counters,
                          sizeof replay->counters / sizeof(uint64_t));
        } else if (block->kind == BLOCK_PATH) { /* likewise */
            cells_compare(replay, block, (const uint64_t *)&replay->paths[block->page],
                          sizeof *replay->paths / sizeof(uint64_t));
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

/* Compares extremes after all threads are done, as windows take them out of the threads' cells. */
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

/* Concurrent actions of threads have no known order, so the extremes cannot be computed again. */
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
        if (replay->comms[i])
            shared_cells_sum(&replay->shared[i], &replay->comms[i]->shared);
        replayed_comm_free(replay->comms[i]);
        replay->comms[i] = NULL;
    }
}

static bool thread_verify(struct replay *replay, uint32_t thread)
{
    uint64_t missing;
    enum replay_result result = replay_thread(replay, thread, &missing);
    if (result == REPLAY_NAMELESS)
        report(replay, "the file does not name the communicators of all events (mpit_events_lost has the causes)");
    else if (result == REPLAY_TORN)
        report(replay, "the trace of thread %u ends inside an event", thread);
    bool whole = result == REPLAY_WHOLE && !missing; /* gaps_tell reports it */
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

/* Reports where events are missing, and why, instead of the consequences. */
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
        report(replay,
               "%llu event records are not in the trace. Gaps, in seconds since the process began, and their causes:",
               (unsigned long long)sum);
        for (size_t i = 0; i < gaps.count && i < REPORT_MOST; i++) {
            run_gap_cause(reader, &gaps.list[i], cause);
            report(replay, "\n  thread %u: %llu between %.9f and %.9f (%s)", gaps.list[i].thread,
                   (unsigned long long)gaps.list[i].count, seconds(reader, gaps.list[i].begin_ticks),
                   seconds(reader, gaps.list[i].end_ticks), cause);
        }
        if (gaps.count > REPORT_MOST)
            report(replay, "\n  and %zu more gaps", gaps.count - REPORT_MOST);
    }
    run_gaps_release(&gaps);
}

/* Reports from when to when the trace was on. */
static void stretches_tell(struct replay *replay)
{
    const struct run_reader *reader = replay->reader;
    size_t count = reader->stretch_count;
    report(replay, "the trace was switched on or off while the program ran, so it has fewer events than the counters. "
                   "The trace was on, in seconds since the process began:");
    for (size_t i = 0; i < count && i < REPORT_MOST; i++) {
        const struct trace_stretch *stretch = reader->stretches[count - 1 - i];
        if (stretch->end_ticks == UINT64_MAX)
            report(replay, "\n  from %.9f to the end", seconds(reader, stretch->begin_ticks));
        else
            report(replay, "\n  from %.9f to %.9f", seconds(reader, stretch->begin_ticks),
                   seconds(reader, stretch->end_ticks));
    }
    if (count > REPORT_MOST)
        report(replay, "\n  and %zu more times", count - REPORT_MOST);
}

int replay_verify(const struct run_reader *reader, char *text, size_t size)
{
    struct replay replay = {.reader = reader, .report = text, .size = size};
    text[0] = '\0';
    if (!reader->header.traced) {
        snprintf(text, size, "the run has no trace (mpit-run --trace records one)");
        return -1;
    }
    if (reader->header.lost[LOSS_DISK_FULL] && reader->block_count == 0) {
        snprintf(text, size, "the disk was full (disk_full), so the file has no events to compare");
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
    replay.paths = calloc(reader->path_count + 1, sizeof *replay.paths);
    bool whole = replay.comms && replay.shared && replay.extremes && replay.regions && replay.fabric && replay.paths;
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
            whole = thread_verify(&replay, i);
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
    free(replay.paths);
    free(replay.comms);
    free(replay.shared);
    return whole ? replay.differences : -1;
}
