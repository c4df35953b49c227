#include "reader/readercomms.h"

#include "base/array.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SLOTS = 1 << 16, COPY_ATTEMPTS = 1000 };

/* All records found so far, as they are in the file. */
struct found {
    struct comm_record *list;
    size_t count;
};

static struct comm_record *found_add(struct found *found)
{
    if (!ARRAY_GROWN(found->list, found->count))
        return NULL;
    return &found->list[found->count++];
}

static bool record_is_sound(const struct comm_record *record)
{
    return record->slot != 0 && record->slot < MAX_SLOTS && record->sum < MAX_SLOTS &&
           record->since_ticks <= record->end_ticks && memchr(record->name, '\0', sizeof record->name) &&
           memchr(record->label, '\0', sizeof record->label);
}

/* Copies a record that a running process may change. A process killed during a change leaves it as it is. */
static void record_copy(struct comm_record *copy, const struct comm_record *record)
{
    for (int i = 0; i < COPY_ATTEMPTS; i++) {
        uint32_t before = __atomic_load_n(&record->serial, __ATOMIC_ACQUIRE);
        memcpy(copy, record, sizeof *copy);
        LOADS_IN_ORDER();
        if (!(before & 1) && __atomic_load_n(&record->serial, __ATOMIC_RELAXED) == before)
            break;
    }
}

/* Finds the communicators with a slot. They come first, ordered by slot, then the others. */
static int slots_find(struct run_reader *reader, struct found *found, unsigned char seen[MAX_SLOTS / 8])
{
    for (uint64_t offset = reader->header.first_comm, next; offset; offset = next) {
        const struct comm_record *record = reader_object(reader, offset, sizeof *record);
        if (!record)
            return reader_fail(reader, "is damaged: communicator record at byte %llu", (unsigned long long)offset);
        struct comm_record *copy = found_add(found);
        if (!copy)
            return reader_fail(reader, "has more communicators than memory can hold");
        record_copy(copy, record);
        if (!record_is_sound(copy))
            return reader_fail(reader, "is damaged: communicator record at byte %llu", (unsigned long long)offset);
        if (seen[copy->slot / 8] >> copy->slot % 8 & 1) /* the list may also be a circle */
            return reader_fail(reader, "is damaged: it has two records of communicator slot %u", copy->slot);
        seen[copy->slot / 8] |= (unsigned char)(1 << copy->slot % 8);
        copy->end_ticks = UINT64_MAX;
        next = copy->next;
        if (copy->slot >= reader->slot_count)
            reader->slot_count = copy->slot + 1u;
    }
    return 0;
}

/* Takes a text out of the remaining bytes. Returns false if it does not end there, or is too long. */
static bool text_take(char *to, size_t size, const char **from, size_t *left)
{
    size_t bytes = strnlen(*from, *left) + 1;
    if (bytes > *left || bytes > size)
        return false;
    memcpy(to, *from, bytes);
    *from += bytes;
    *left -= bytes;
    return true;
}

static bool record_unpack(struct comm_record *record, const char *packed, size_t bytes, size_t *taken)
{
    size_t fixed = offsetof(struct comm_record, name);
    if (bytes < fixed)
        return false;
    const char *at = packed + fixed;
    size_t left = bytes - fixed;
    memset(record, 0, sizeof *record);
    memcpy(record, packed, fixed);
    if (!text_take(record->name, sizeof record->name, &at, &left) ||
        !text_take(record->label, sizeof record->label, &at, &left))
        return false;
    *taken = ((size_t)(at - packed) + 7) / 8 * 8;
    return *taken <= bytes;
}

static int chunk_take(struct run_reader *reader, const struct chunk_header *there, struct found *found)
{
    const struct chunk_header chunk = *there; /* the process may write over a ring while it is read */
    const char *packed = (const char *)(there + 1);
    size_t before = found->count, offset = (size_t)((const char *)there - reader->base);
    bool sound = chunk.kind == CHUNK_COMMS && chunk.bytes >= sizeof chunk && chunk.bytes <= reader->bytes - offset &&
                 reader_chunk_fits(&chunk);
    size_t i = 0;
    for (size_t at = 0, taken; sound && i < chunk.capacity; at += taken) {
        struct comm_record record;
        sound = record_unpack(&record, packed + at, chunk.packed_bytes - at, &taken) && record_is_sound(&record);
        struct comm_record *copy = sound ? found_add(found) : NULL;
        if (sound && !copy)
            return reader_fail(reader, "has more communicators than memory can hold");
        i += sound;
        if (copy)
            *copy = record;
    }
    LOADS_IN_ORDER();
    if (reader->header.phase != RUN_FINALIZED && memcmp(&chunk, there, sizeof chunk) != 0)
        found->count = before; /* drops the records of older events, which are gone, too */
    else if (!sound)
        return reader_fail(reader, "is damaged: communicator record %zu in the chunk at byte %zu is not valid", i,
                           offset);
    return 0;
}

/* The communicators in the slots of the file. */
struct places {
    struct {
        uint64_t since_ticks;
        bool is_sum;
    } * list; /* by slot */
    size_t count;
};

static int places_note(struct run_reader *reader, const struct found *found, size_t current, struct places *places)
{
    *places = (struct places){calloc(reader->slot_count + 1, sizeof *places->list), reader->slot_count};
    if (!places->list)
        return reader_fail(reader, "has more communicators than memory can hold");
    for (size_t i = 0; i < current; i++) {
        places->list[found->list[i].slot].since_ticks = found->list[i].since_ticks;
        places->list[found->list[i].slot].is_sum = found->list[i].flags & COMM_SUM;
    }
    return 0;
}

/* True if the communicator had lost its slot, and its sum was made, before the records of the slots were copied. */
static bool is_past(const struct places *places, const struct comm_record *record)
{
    return record->slot < places->count && record->since_ticks < places->list[record->slot].since_ticks &&
           record->sum < places->count && places->list[record->sum].is_sum;
}

/* The number of appended records, even if the process did not get to store it. */
static uint64_t records_appended(const struct run_reader *reader)
{
    uint64_t end = 0;
    for (size_t i = 0; i < reader->rare_count; i++) {
        const struct chunk_header *chunk = reader->rare[i];
        if (chunk->kind == CHUNK_COMMS && chunk->first_event + chunk->capacity > end)
            end = chunk->first_event + chunk->capacity;
    }
    return end;
}

/* Takes the latest records. Skips records that a running process overwrites meanwhile. */
static int comm_ring_take(struct run_reader *reader, struct found *found, const struct places *places)
{
    bool lives = reader->header.phase != RUN_FINALIZED;
    uint64_t offset = reader->header.past;
    const struct comm_past *past = offset ? reader_object(reader, offset, sizeof *past) : NULL;
    uint64_t capacity = past ? past->capacity : 0;
    if (offset && (!past || capacity == 0 || capacity > MAX_SLOTS ||
                   !reader_object(reader, offset, sizeof *past + capacity * sizeof past->records[0])))
        return reader_fail(reader, "is damaged: its table of freed communicators is outside the file");
    if (!offset)
        return 0;
    uint64_t kept = __atomic_load_n(&past->kept, __ATOMIC_ACQUIRE);
    uint64_t count = __atomic_load_n(&past->count, __ATOMIC_ACQUIRE);
    uint64_t first = count > capacity ? count - capacity : 0, appended = records_appended(reader);
    kept = appended > kept ? appended : kept;
    if (reader->header.traced != TRACED_NOT && kept > first)
        first = kept; /* the chunks have the kept ones */
    for (uint64_t n = first; n < count; n++) {
        struct comm_record record = past->records[n % capacity];
        LOADS_IN_ORDER();
        if (lives && n + capacity <= __atomic_load_n(&past->count, __ATOMIC_ACQUIRE))
            continue;
        if (!record_is_sound(&record))
            return reader_fail(reader, "is damaged: the record of freed communicator %llu is not valid",
                               (unsigned long long)n);
        if (lives && !is_past(places, &record))
            continue;
        struct comm_record *copy = found_add(found);
        if (!copy)
            return reader_fail(reader, "has more communicators than memory can hold");
        *copy = record;
    }
    return 0;
}

static int past_order(const void *one, const void *other)
{
    const struct comm_record *a = one, *b = other;
    return ORDER(a->slot, b->slot) ?: ORDER(a->since_ticks, b->since_ticks);
}

/* True if the file could not grow any more, and lacks records made after that. */
static bool file_was_full(const struct run_reader *reader)
{
    return reader->header.lost[LOSS_DISK_FULL] || reader->header.lost[LOSS_NO_FILE];
}

/* Keeps only records whose slot is in the file. */
static size_t past_filter(const struct run_reader *reader, struct comm_record *past, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (past[i].slot < reader->slot_count && reader->comms[past[i].slot])
            past[kept++] = past[i];
    return kept;
}

/* Checks that the records of one slot are in a row, and that the current one is the last. */
static int past_check(struct run_reader *reader, struct comm_record *past, size_t count)
{
    bool full = file_was_full(reader);
    for (size_t i = 0; i < count; i++) {
        bool last = i + 1 == count || past[i + 1].slot != past[i].slot;
        const struct comm_record *has = past[i].slot < reader->slot_count ? reader->comms[past[i].slot] : NULL;
        if (!has || has->flags & COMM_SUM)
            return reader_fail(reader, "is damaged: a freed communicator had slot %u, which does not exist",
                               past[i].slot);
        uint64_t next = last ? has->since_ticks : past[i + 1].since_ticks;
        if (next <= past[i].end_ticks)
            return reader_fail(reader, "is damaged: two communicators had slot %u at the same time", past[i].slot);
        const struct comm_record *sum = past[i].sum < reader->slot_count ? reader->comms[past[i].sum] : NULL;
        bool summed = sum && (sum->flags & COMM_SUM);
        if (!summed && full)
            past[i].sum = 0; /* the file could not store it any more */
        else if (!summed)
            return reader_fail(reader, "is damaged: a freed communicator of slot %u belongs to no sum", past[i].slot);
    }
    return 0;
}

/* Frees the unused room, as a job may have very many files. */
static void found_trim(struct found *found)
{
    struct comm_record *list = found->count ? realloc(found->list, found->count * sizeof *list) : NULL;
    if (list)
        found->list = list;
}

static int numbers_give(struct run_reader *reader, struct found *found, size_t current)
{
    found_trim(found);
    size_t past = found->count - current;
    struct comm_record *list = found->list;
    reader->comm_count = reader->slot_count + past;
    reader->comms = calloc(reader->comm_count + 1, sizeof *reader->comms);
    reader->past_of_slot = calloc(reader->slot_count + 2, sizeof *reader->past_of_slot);
    if (!reader->comms || !reader->past_of_slot)
        return reader_fail(reader, "has more communicators than memory can hold");
    for (size_t i = 0; i < current; i++)
        reader->comms[list[i].slot] = &list[i];
    if (past && file_was_full(reader))
        past = past_filter(reader, list + current, past);
    found->count = current + past;
    reader->comm_count = reader->slot_count + past;
    if (past)
        qsort(list + current, past, sizeof *list, past_order);
    if (past && past_check(reader, list + current, past) != 0)
        return -1;
    for (size_t i = 0; i < past; i++)
        reader->past_of_slot[list[current + i].slot + 1]++;
    for (size_t slot = 0; slot <= reader->slot_count; slot++)
        reader->past_of_slot[slot + 1] += reader->past_of_slot[slot];
    for (size_t i = 0; i < past; i++) {
        reader->comms[reader->slot_count + i] = &list[current + i];
        list[current + i].slot = (uint32_t)(reader->slot_count + i);
    }
    /* the communicators that had the slots of the parents at the creation */
    for (size_t i = 0; i < found->count; i++)
        list[i].parent = run_reader_comm_at(reader, list[i].parent, list[i].created_ticks);
    return 0;
}

int reader_comms_find(struct run_reader *reader)
{
    struct found found = {0};
    struct places places = {NULL, 0};
    unsigned char seen[MAX_SLOTS / 8] = {0};
    int result = slots_find(reader, &found, seen);
    size_t current = found.count;
    for (size_t i = 0; result == 0 && i < reader->rare_count; i++) {
        if (reader->rare[i]->kind == CHUNK_COMMS)
            result = chunk_take(reader, reader->rare[i], &found);
        if ((i + 1) % CHUNKS_BETWEEN_RESTS == 0)
            run_reader_rest(reader);
    }
    result = result ?: places_note(reader, &found, current, &places) ?: comm_ring_take(reader, &found, &places);
    free(places.list);
    result = result ?: numbers_give(reader, &found, current);
    reader->comm_records = found.list;
    return result;
}

void reader_comms_release(struct run_reader *reader)
{
    free(reader->comms);
    free(reader->comm_records);
    free(reader->past_of_slot);
    reader->comms = NULL;
    reader->comm_records = NULL;
    reader->past_of_slot = NULL;
    reader->comm_count = reader->slot_count = 0;
}

uint32_t run_reader_comm_at(const struct run_reader *reader, uint32_t slot, uint64_t ticks)
{
    if (slot >= reader->slot_count || !reader->comms[slot])
        return 0;
    if (ticks >= reader->comms[slot]->since_ticks)
        return slot;
    const struct comm_record *const *past = reader->comms + reader->slot_count;
    size_t first = reader->past_of_slot[slot];
    size_t later = ARRAY_FIRST(i, first, reader->past_of_slot[slot + 1], past[i]->since_ticks > ticks);
    if (later == first)
        return 0;
    const struct comm_record *last = past[later - 1];
    return ticks <= last->end_ticks ? last->slot : 0;
}
