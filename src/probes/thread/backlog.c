#include "thread/backlog.h"

#include "base/invariant.h"
#include "thread/log.h"
#include "instruments/instruments.h"
#include "handles/moment.h"
#include "format/pack.h"
#include "settings/tracing.h"

#include <sys/mman.h>

/* A step is at least two pages. Steps of one page enter the kernel more often. */
enum { BLOCK_EVENTS = 4095, BLOCK_PIECES = 15, SMALL_EVENTS = 2048, STEP_LEAST = RUN_PAGE_BYTES + 1 };
_Static_assert(2 * BLOCK_EVENTS == TRACE_BUFFER_EVENTS, "the buffer of a traced thread has two blocks");
/* Readers leave out the oldest events of a ring. The last piece must be written before it reaches these. */
_Static_assert(SMALL_EVENTS / 2 / BLOCK_PIECES > RING_SPARE, "a piece is more than what may be half written");

enum { PACK_PAUSE = 16 };

struct packing {
    struct packer packer;
    unsigned pause; /* number of blocks that are not packed, because packing has just failed to make one smaller */
    unsigned turn;  /* which of the two buffers this block uses. The contents of the other may not be written yet */
    char out[2][BLOCK_EVENTS * PACK_MOST];
};

static struct event *backlog_place_of(const struct log *log, uint32_t number)
{
    return (struct event *)(log->buffer.chunk + 1) + number;
}

/* Between two events. After a jump out of the recorder the cursor is wrong (backlog_repair). */
static bool backlog_is_valid(const struct log *log)
{
    const struct backlog *backlog = &log->backlog;
    return backlog->begin < backlog->end && backlog->end <= backlog->capacity && log->cursor <= log->limit &&
           log->cursor >= backlog_place_of(log, backlog->begin) && log->limit <= backlog_place_of(log, backlog->end);
}

/* Sets begin and end to the places of block number `block`. */
static void block_set(struct log *log, uint32_t block)
{
    uint64_t capacity = log->backlog.capacity;
    uint64_t blocks = capacity < SMALL_EVENTS ? 1 : (capacity + BLOCK_EVENTS - 1) / BLOCK_EVENTS;
    blocks = capacity >= SMALL_EVENTS && blocks < 2 ? 2 : blocks;
    log->backlog.begin = (uint32_t)(block * capacity / blocks);
    log->backlog.end = (uint32_t)((block + 1) * capacity / blocks);
}

static uint32_t block_at(struct log *log, uint32_t place)
{
    uint32_t block = 0;
    for (block_set(log, 0); place >= log->backlog.end; block++)
        block_set(log, block + 1);
    return block;
}

static uint32_t piece_events(const struct backlog *backlog)
{
    return (backlog->end - backlog->begin + BLOCK_PIECES - 1) / BLOCK_PIECES;
}

static bool is_small(const struct log *log)
{
    return log->backlog.end - log->backlog.begin == log->backlog.capacity;
}

/* Sets the limit to the end of the piece after place `at`, or to the end of the block. */
static void limit_set(struct log *log, uint32_t at)
{
    const struct backlog *backlog = &log->backlog;
    uint32_t end = backlog->end, piece = piece_events(backlog);
    bool traced = __atomic_load_n(&book.run.header->traced, __ATOMIC_RELAXED) != TRACED_NOT;
    if (traced && !is_small(log)) {
        uint32_t next = at + piece - (at - backlog->begin) % piece;
        end = next < end ? next : end;
    }
    log->limit = backlog_place_of(log, end);
}

void backlog_begin(struct log *log)
{
    uint32_t capacity = log->buffer.chunk->capacity; /* event n is at place n % capacity */
    uint32_t at = (uint32_t)(cell_load(&log->own.tally.cells->events) % capacity);
    log->backlog.capacity = capacity;
    log->cursor = backlog_place_of(log, at);
    block_at(log, at);
    limit_set(log, at);
}

void backlog_repair(struct log *log)
{
    uint64_t events = cell_load(&log->own.tally.cells->events);
    uint32_t capacity = log->backlog.capacity, at = (uint32_t)(events % capacity);
    if (at == 0 && events && __atomic_load_n(&log->buffer.chunk->turned, __ATOMIC_RELAXED) != events)
        at = capacity;
    if (at < log->backlog.begin || at > log->backlog.end)
        block_at(log, at % capacity); /* the count is gone with the file */
    log->cursor = backlog_place_of(log, at);
    if (log->cursor == log->limit)
        backlog_turn(log);
    else
        limit_set(log, at);
}

/* True if the trace wants the block, or the events that it has so far. */
static bool block_is_wanted(const struct log *log)
{
    return tracing_covers(backlog_place_of(log, log->backlog.begin)->begin);
}

static void packing_open(struct backlog *backlog)
{
    if (!backlog->asked)
        backlog->packing = log_map(sizeof *backlog->packing);
    backlog->asked = true;
}

/* Packs the block up to place `at`. Returns the packed bytes, or SIZE_MAX if it is not packed. */
static size_t block_pack(struct log *log, uint32_t at)
{
    struct backlog *backlog = &log->backlog;
    const struct event *first = backlog_place_of(log, backlog->begin);
    packing_open(backlog);
    struct packing *packing = backlog->packing;
    if (!packing || packing->pause)
        return SIZE_MAX;
    if (!packing->packer.first)
        packer_begin(&packing->packer, first, packing->out[packing->turn]);
    return packer_go_on(&packing->packer, backlog_place_of(log, at));
}

/* The block was lost, and is counted by cause. The flight recorder goes on. */
static void move_failed(struct log *log)
{
    struct backlog *backlog = &log->backlog;
    backlog->moving = false;
    /* in a ring the next block may fit where this one did not */
    bool passes = book.run.cause == LOSS_SPOOL_FULL || /* the spool may have room again later */
                  (book.run.header->trace_policy != TRACE_STOP && book.run.cause == LOSS_TRACE_LIMIT);
    if (!passes)
        backlog->failed = tracing_number();
    backlog->cause = book.run.cause;
}

static void move_end(struct log *log, bool good)
{
    const struct chunk_header *chunk = &log->backlog.move.chunk;
    if (!good) {
        move_failed(log);
        return;
    }
    log->backlog.moving = false;
    moment_buffer_empty(&log->own, chunk->first_event + chunk->capacity);
}

/* Takes one step with the block before. `left`: how many steps can follow before it must be complete. */
static void move_on(struct log *log, uint32_t left)
{
    struct trace_move *move = &log->backlog.move;
    size_t share = (move->bytes - move->done) / (left + 1);
    size_t least = move->taken ? STEP_LEAST : 1; /* a page with the place, which has a cost of its own */
    size_t part = share > least ? share : least;
    bool good;
    if (left == 0) {
        move_end(log, run_trace_finish(&book.run, move));
    } else if (move->taken && move->done == move->bytes) {
        move_end(log, run_trace_publish(&book.run, move));
    } else {
        good = move->taken ? run_trace_put(&book.run, move, part) : run_trace_take(&book.run, move, part);
        if (!good)
            move_failed(log);
    }
}

/* Starts to write the block, which is full, and which the trace wants. */
static void move_begin(struct log *log, uint64_t events)
{
    struct backlog *backlog = &log->backlog;
    const struct event *first = backlog_place_of(log, backlog->begin);
    uint32_t count = backlog->end - backlog->begin;
    size_t raw = count * sizeof *first, bytes = block_pack(log, backlog->end);
    struct packing *packing = backlog->packing;
    if (packing && !packing->pause && bytes > raw)
        packing->pause = PACK_PAUSE + 1; /* the end of this block takes one off */
    bool packed = bytes < raw;
    backlog->moving = true;
    backlog->move = (struct trace_move){.chunk = {.kind = packed ? CHUNK_PACKED : CHUNK_TRACE,
                                                  .thread = log->own.index,
                                                  .capacity = count,
                                                  .first_event = events - count,
                                                  .packed_bytes = packed ? bytes : 0},
                                        .begin_ticks = first->begin,
                                        .data = packed ? packing->packer.begin : (const void *)first,
                                        .bytes = packed ? bytes : raw};
}

/* The block is full. `events`: the number of all events of the thread. */
static void block_end(struct log *log, uint64_t events)
{
    struct backlog *backlog = &log->backlog;
    if (backlog->moving)
        move_on(log, 0);
    if (block_is_wanted(log) && backlog->failed == tracing_number())
        run_gap(&book.run, backlog->cause, log->own.index, events - (backlog->end - backlog->begin),
                backlog->end - backlog->begin);
    else if (block_is_wanted(log))
        move_begin(log, events);
    if (backlog->moving && is_small(log))
        move_on(log, 0);
    if (backlog->packing) {
        backlog->packing->packer.first = NULL;
        backlog->packing->turn ^= 1;
        backlog->packing->pause -= backlog->packing->pause > 0;
    }
}

/* A piece is full, but not the block. */
static void piece_end(struct log *log, uint32_t at)
{
    struct backlog *backlog = &log->backlog;
    if (backlog->moving)
        move_on(log, (backlog->end - at - 1) / piece_events(backlog));
    if (!block_is_wanted(log) || backlog->failed == tracing_number())
        return;
    block_pack(log, at);
    if (!backlog->moving)
        run_trace_room(&book.run, (backlog->end - backlog->begin) * sizeof(struct event));
}

void backlog_turn(struct log *log)
{
    struct backlog *backlog = &log->backlog;
    uint32_t at = (uint32_t)(log->cursor - backlog_place_of(log, 0)), capacity = log->backlog.capacity;
    uint64_t events = cell_load(&log->own.tally.cells->events);
    MPIT_ASSERT(backlog_is_valid(log) && log->cursor == log->limit);
    if (at == backlog->end) {
        block_end(log, events);
        block_at(log, at % capacity);
    } else {
        piece_end(log, at);
    }
    if (at < capacity) {
        limit_set(log, at);
        return;
    }
    __atomic_store_n(&log->buffer.chunk->turned, events,
                     __ATOMIC_RELEASE); /* before the first of them is overwritten */
    log->cursor = backlog_place_of(log, 0);
    limit_set(log, 0);
    instruments_turned(log);
}
