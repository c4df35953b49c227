#include "replay/replaypart.h"

#include "registry/commsum.h"
#include "replay/replaying.h"
#include "figures/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of all threads together. */
struct replay_cells {
    struct thread_cells thread;
    struct fabric_call_cells fabric_calls;
    struct replayed_comm **comms; /* by slot */
    struct comm_record *sums;     /* copies of the sums with a selected part, by slot */
    /* the reader points to these */
    const struct thread_record **threads;
    const struct comm_record **records;
    struct run_block *blocks;
    size_t *comm_blocks;
    struct variable_record *variables;
};

/* Adds the counts of a thread on a communicator. */
static bool comm_join(struct replayed_comm **all, struct replayed_comm *comm)
{
    if (!*all) {
        *all = comm;
        return true;
    }
    comm_cells_move(&(*all)->cells, &comm->cells, true);
    bool good = true;
    for (struct replayed_page *page = comm->pages; good && page; page = page->next) {
        good = replayed_page_select(*all, (int32_t)(page->number * PEERS_PER_PAGE));
        if (good)
            peer_cells_move((*all)->tally.page, &page->cells);
    }
    replayed_comm_free(comm);
    return good;
}

static bool thread_replay(struct replay_part *part, struct replay *replay, uint32_t thread)
{
    struct replay_cells *cells = part->cells;
    uint64_t missing;
    replay->sieve->calls = 0;
    replay->sieve->call = false;
    replay->sieve->nest_count = 0;
    bool good = replay_thread(replay, thread, &missing) == REPLAY_WHOLE && !replay->sieve->out_of_memory;
    part->missing += missing;
    if (good && replay->sieve->calls)
        cells->threads[thread] = replay->reader->threads[thread];
    cells_add(&cells->thread, &replay->thread, sizeof cells->thread / sizeof(uint64_t));
    cells_add(&cells->fabric_calls, &replay->fabric_calls, sizeof cells->fabric_calls / sizeof(uint64_t));
    for (size_t slot = 0; slot < replay->reader->slot_count; slot++) {
        if (replay->comms[slot] && !comm_join(&cells->comms[slot], replay->comms[slot]))
            good = false;
        replay->comms[slot] = NULL;
    }
    return good;
}

/* The selected communicators with counts. One that a call on another communicator made has a record, too. The number
 * of communicators in a sum is the number of selected ones, if not all were selected. */
static void comms_choose(struct replay_cells *cells, const struct run_reader *run, const struct replay_choice *choice)
{
    for (size_t slot = 1; slot < run->slot_count; slot++) {
        const struct comm_record *record = cells->comms[slot] ? run->comms[slot] : NULL;
        uint64_t chosen = 0, all = 0;
        if (!record || !(record->flags & COMM_SUM)) {
            if (record && choice->has_comm(choice->data, (uint32_t)slot))
                cells->records[slot] = record;
            continue;
        }
        for (size_t number = run->slot_count; number < run->comm_count; number++)
            if (run->comms[number] && run->comms[number]->sum == slot) {
                all++;
                chosen += choice->has_comm(choice->data, (uint32_t)number);
            }
        if (!chosen && !choice->has_comm(choice->data, (uint32_t)slot))
            continue;
        cells->records[slot] = record;
        if (chosen == all)
            continue;
        cells->sums[slot] = *record;
        cells->sums[slot].merged = chosen;
        cells->records[slot] = &cells->sums[slot];
    }
}

static void block_put(struct replay_part *part, uint32_t kind, uint32_t slot, uint32_t page, const void *cells,
                      size_t bytes)
{
    part->cells->blocks[part->reader.block_count++] = (struct run_block){
        .at = cells, .kind = kind, .comm = slot, .page = page, .cells = (uint32_t)(bytes / sizeof(uint64_t))};
}

/* Orders them by communicator, like a reader. */
static bool blocks_make(struct replay_part *part, size_t slots)
{
    struct replay_cells *cells = part->cells;
    size_t most = 2;
    for (size_t slot = 0; slot < slots; slot++)
        for (const struct replayed_page *page = cells->comms[slot] ? cells->comms[slot]->pages : NULL; page;
             page = page->next)
            most++;
    cells->blocks = calloc(most + slots, sizeof *cells->blocks);
    cells->comm_blocks = calloc(slots + 2, sizeof *cells->comm_blocks);
    if (!cells->blocks || !cells->comm_blocks)
        return false;
    part->reader.block_count = 0;
    block_put(part, BLOCK_THREAD, 0, 0, &cells->thread, sizeof cells->thread);
    block_put(part, BLOCK_FABRIC_CALLS, 0, 0, &cells->fabric_calls, sizeof cells->fabric_calls);
    for (size_t slot = 0; slot < slots || slot == 0; slot++) { /* there always is a slot 0, without a communicator */
        struct replayed_comm *comm = cells->comms[slot];
        if (comm) {
            block_put(part, BLOCK_COMM, (uint32_t)slot, 0, &comm->cells, sizeof comm->cells);
            for (const struct replayed_page *page = comm->pages; page; page = page->next)
                block_put(part, BLOCK_PEERS, (uint32_t)slot, page->number, &page->cells, sizeof page->cells);
        }
        cells->comm_blocks[slot + 1] = part->reader.block_count;
    }
    part->reader.blocks = cells->blocks;
    part->reader.comm_blocks = cells->comm_blocks;
    return true;
}

/* Takes this version's variables, since the cells are this version's. The file may have another order. */
static bool variables_take(struct replay_part *part)
{
    size_t count = variable_number();
    part->cells->variables = calloc(count + 1, sizeof *part->cells->variables);
    for (size_t i = 0; part->cells->variables && i < count; i++)
        part->cells->variables[i] = variable_at(i)->record;
    part->reader.variables = part->cells->variables;
    part->reader.variable_order = NULL;
    part->reader.variable_count = count;
    return part->cells->variables != NULL;
}

static bool reader_make(struct replay_part *part, const struct run_reader *run, const struct replay *replay)
{
    struct replay_cells *cells = part->cells;
    struct run_reader *reader = &part->reader;
    comms_choose(cells, run, replay->sieve->choice);
    reader->threads = cells->threads;
    reader->comms = cells->records;
    reader->counters = NULL;
    reader->instruments = NULL;
    reader->instrument_count = 0;
    memset(reader->providers, 0, sizeof reader->providers);
    reader->header.session_ticks =
        replay->sieve->session_ticks + (run_phase_is_end(run->header.phase) ? replay->sieve->closing_ticks : 0);
    return blocks_make(part, run->slot_count) && variables_take(part);
}

/* Kinds of events are numbers of the table of functions. */
static const char *obstacle_find(const struct run_reader *run)
{
    if (!run->header.traced)
        return "has no trace (mpit-run --trace records one)";
    for (size_t kind = 1; kind < run->call_count; kind++)
        if (kind >= CALL_COUNT || strcmp(run->calls[kind].name, call_table[kind].name) != 0)
            return "was recorded by another version of mpit; use mpit-dump of that version";
    return NULL;
}

static bool walk(struct replay_part *part, struct replay *replay)
{
    const struct run_reader *run = replay->reader;
    struct replay_cells *cells = part->cells;
    cells->comms = calloc(run->slot_count + 1, sizeof *cells->comms);
    cells->sums = calloc(run->slot_count + 1, sizeof *cells->sums);
    cells->records = calloc(run->comm_count + 1, sizeof *cells->records);
    cells->threads = calloc(run->thread_count + 1, sizeof *cells->threads);
    replay->comms = calloc(run->slot_count + 1, sizeof *replay->comms);
    replay->regions = calloc(run->instrument_count + 1, sizeof *replay->regions);
    replay->fabric = calloc(FABRIC_PROVIDERS_MOST + 1, sizeof *replay->fabric);
    replay->paths = calloc(run->path_count + 1, sizeof *replay->paths);
    bool good = cells->comms && cells->sums && cells->records && cells->threads && replay->comms && replay->regions &&
                replay->fabric && replay->paths;
    for (uint32_t thread = 0; good && thread < run->thread_count; thread++)
        if (run->threads[thread])
            good = thread_replay(part, replay, thread);
    good = good && reader_make(part, run, replay);
    free(replay->comms);
    free(replay->regions);
    free(replay->fabric);
    free(replay->paths);
    free(replay->sieve->nests);
    return good;
}

int replay_part_open(struct replay_part *part, const struct run_reader *run, const struct replay_choice *choice,
                     char *error, size_t size)
{
    const char *obstacle = obstacle_find(run);
    *part = (struct replay_part){.reader = *run};
    if (obstacle) {
        snprintf(error, size, "%s", obstacle);
        return -1;
    }
    struct replay *replay = calloc(1, sizeof *replay);
    part->cells = calloc(1, sizeof *part->cells);
    bool good = replay && part->cells && (replay->sieve = calloc(1, sizeof *replay->sieve));
    if (good) {
        replay->reader = run;
        replay->sieve->choice = choice;
        good = walk(part, replay);
    }
    if (!good)
        snprintf(error, size, "%s",
                 replay && replay->nameless
                     ? "does not name the communicators of all events (mpit_events_lost has the causes)"
                     : "cannot be counted again: out of memory, or damaged (mpit-dump --verify shows details)");
    if (replay)
        free(replay->sieve);
    free(replay);
    return good ? 0 : -1;
}

void replay_part_close(struct replay_part *part)
{
    struct replay_cells *cells = part->cells;
    if (!cells)
        return;
    for (size_t slot = 0; cells->comms && slot < part->reader.slot_count; slot++)
        replayed_comm_free(cells->comms[slot]);
    free(cells->comms);
    free(cells->sums);
    free(cells->records);
    free(cells->threads);
    free(cells->blocks);
    free(cells->comm_blocks);
    free(cells->variables);
    free(cells);
    part->cells = NULL;
}
