#include "registry/commpast.h"

#include "registry/book.h"
#include "settings/tracing.h"

#include <stddef.h>
#include <string.h>

enum { PAST_CAPACITY = 256 };

/* Made anew by book_open of another run. */
static struct comm_past *past;
static const struct run_header *past_of;

bool comm_past_open(void)
{
    if (past && past_of == book.run.header)
        return true;
    uint64_t offset;
    struct comm_past *fresh = run_alloc(&book.run, sizeof *fresh + PAST_CAPACITY * sizeof fresh->records[0], &offset);
    if (!fresh)
        return false;
    fresh->capacity = PAST_CAPACITY;
    past = fresh;
    past_of = book.run.header;
    __atomic_store_n(&book.run.header->past, offset, __ATOMIC_RELEASE);
    return true;
}

/* Packs a record for a CHUNK_COMMS: the texts are adjacent. */
static size_t record_pack(char *to, const struct comm_record *record)
{
    size_t name = strlen(record->name) + 1, label = strlen(record->label) + 1;
    size_t fixed = offsetof(struct comm_record, name), bytes = (fixed + name + label + 7) / 8 * 8;
    memset(to + bytes - 8, 0, 8);
    memcpy(to, record, fixed);
    memcpy(to + fixed, record->name, name);
    memcpy(to + fixed + name, record->label, label);
    return bytes;
}

static bool trace_needs(uint64_t first, uint64_t end)
{
    uint64_t oldest = UINT64_MAX;
    for (uint64_t n = first; n < end; n++) {
        uint64_t since = past->records[n % PAST_CAPACITY].since_ticks;
        oldest = since < oldest ? since : oldest;
    }
    return book.run.header->traced != TRACED_NOT && tracing_covers(oldest);
}

/*
 * Appends the records that were not appended yet. If a trace has no room, that is a counted loss, and the events have
 * no name.
 */
static void past_keep(void)
{
    static char packed[PAST_CAPACITY * sizeof(struct comm_record)];
    uint64_t first = past->kept, end = past->count;
    size_t bytes = 0;
    if (trace_needs(first, end)) {
        for (uint64_t n = first; n < end; n++)
            bytes += record_pack(packed + bytes, &past->records[n % PAST_CAPACITY]);
        run_comms_append(&book.run, first, (uint32_t)(end - first), packed, bytes);
    }
    __atomic_store_n(&past->kept, end, __ATOMIC_RELEASE);
}

void comm_past_add(const struct comm_record *record, uint64_t end_ticks, uint32_t sum)
{
    if (past->count - past->kept == PAST_CAPACITY)
        past_keep();
    struct comm_record *place = &past->records[past->count % PAST_CAPACITY];
    *place = *record;
    place->next = 0;
    place->end_ticks = end_ticks;
    place->sum = sum;
    __atomic_store_n(&past->count, past->count + 1, __ATOMIC_RELEASE);
}
