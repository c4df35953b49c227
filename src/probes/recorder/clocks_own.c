#include "recorder/clocks_own.h"

#include "base/hash.h"
#include "registry/book.h"
#include "clock/clocksync.h"

static struct clock_map map;
static bool opened;
static struct clock_syncs *kept; /* in the run file */

void clock_own_open(void)
{
    const struct run_header *header = book.run.header;
    if (!opened)
        clock_map_open(&map, clock_calibrate(), header ? header->begin_ticks : 0,
                       header ? header->begin_realtime_ns : 0);
    opened = true;
}

const struct clock_map *clock_own_map(void)
{
    return &map;
}

void clock_own_keep(struct clock_sync sync, bool reference)
{
    struct clock_sync list[CLOCK_SYNCS_MOST];
    uint64_t offset;
    if (!kept && book.run.header) {
        kept = run_alloc(&book.run, sizeof *kept, &offset);
        if (kept)
            clock_syncs_add(kept, sync);
        if (kept && offset)
            __atomic_store_n(&book.run.header->clock_syncs, offset, __ATOMIC_RELEASE);
    } else if (kept) {
        clock_syncs_add(kept, sync);
    }
    if (reference)
        return;
    if (kept)
        clock_map_set(&map, list, clock_syncs_copy(kept, list));
    else
        clock_map_set(&map, &sync, 1);
}

struct clock_sync clock_own_now(void)
{
    struct clock_sync sync = {.ticks = clock_now()};
    sync.reference_ns = clock_map_ns(&map, sync.ticks);
    return sync;
}

uint64_t clock_own_kernel(void)
{
    const struct run_header *header = book.run.header;
    uint64_t hash = HASH_BEGIN ^ (unsigned)clock_kind();
    if (!header)
        return hash;
    hash = hash_text(hash, header->boot[0] ? header->boot : header->host);
    return hash ^ hash >> 32;
}

void clock_own_say(enum clock_way way, enum clock_trouble trouble)
{
    struct run_header *header = book.run.header;
    if (!header)
        return;
    if (way)
        header->clock_way = way;
    if (!header->clock_trouble)
        header->clock_trouble = trouble;
}
