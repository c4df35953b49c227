/*
 * Blocks of counters, and the tables that describe their meaning.
 *
 * The reader copies tables, and then checks the copies. The process, or another writer of its file, may change the
 * originals meanwhile. Only counters are read in place.
 */
#include "base/array.h"
#include "format/label.h"
#include "reader/readercomms.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static bool block_kind_is_known(uint32_t kind)
{
    return (kind >= BLOCK_THREAD && kind <= BLOCK_SHARED) || kind == BLOCK_REGION ||
           (kind >= BLOCK_FABRIC && kind <= BLOCK_PATH);
}

/* Checks that the owner of the block exists. Returns 0, or -1 with the reader's error set. */
static int block_owner_check(struct run_reader *reader, const struct tally_block *head, uint64_t offset)
{
    const char *missing = NULL;
    const struct instrument_record *region =
        head->kind == BLOCK_REGION ? run_reader_instrument(reader, head->page) : NULL;
    if (head->thread >= reader->thread_count ||
        (head->comm && (head->comm >= reader->slot_count || !reader->comms[head->comm])))
        missing = "no thread or communicator";
    else if (head->kind == BLOCK_REGION && /* the record may be of a later communicator (instrumentinstances.c) */
             (!region || region->kind != INSTRUMENT_REGION))
        missing = "no region";
    else if ((head->kind == BLOCK_FABRIC || head->kind == BLOCK_FABRIC_LEVEL) &&
             (head->comm || !run_reader_provider(reader, head->page)))
        missing = "no provider";
    else if (head->kind == BLOCK_PATH && (head->comm || !run_reader_path_of(reader, head->page)))
        missing = "no call path";
    return missing ? reader_fail(reader, "is damaged: the block of counters at byte %llu belongs to %s",
                                 (unsigned long long)offset, missing)
                   : 0;
}

static int block_add(struct run_reader *reader, const struct tally_block *head, const uint64_t *cells)
{
    if (!ARRAY_GROWN(reader->blocks, reader->block_count))
        return reader_fail(reader, "has more blocks of counters than memory can hold");
    reader->blocks[reader->block_count++] = (struct run_block){.at = cells,
                                                               .kind = head->kind,
                                                               .thread = head->thread,
                                                               .comm = head->comm,
                                                               .page = head->page,
                                                               .cells = head->cells};
    return 0;
}

/* Sorts by communicator, and within one in the order of the list. */
static int blocks_sort(struct run_reader *reader)
{
    size_t slots = reader->slot_count ? reader->slot_count : 1, *first = calloc(slots + 1, sizeof *first);
    struct run_block *sorted = malloc((reader->block_count + 1) * sizeof *sorted);
    reader->comm_blocks = first;
    if (!first || !sorted) {
        free(sorted);
        return reader_fail(reader, "has more blocks of counters than memory can hold");
    }
    for (size_t i = 0; i < reader->block_count; i++)
        first[reader->blocks[i].comm + 1]++;
    for (size_t slot = 0; slot < slots; slot++)
        first[slot + 1] += first[slot];
    for (size_t i = 0; i < reader->block_count; i++)
        sorted[first[reader->blocks[i].comm]++] = reader->blocks[i];
    memmove(first + 1, first, slots * sizeof *first); /* now each is the begin of the next one */
    first[0] = 0;
    free(reader->blocks);
    reader->blocks = sorted;
    return 0;
}

int reader_blocks_find(struct run_reader *reader)
{
    uint64_t offset = reader->header.first_block;
    size_t most = reader->written / sizeof(struct tally_block);
    while (offset) {
        const struct tally_block *there = reader_object(reader, offset, sizeof *there);
        struct tally_block head = {0};
        if (there)
            memcpy(&head, there, sizeof head);
        __asm__ volatile("" : "+m"(head)); /* the checked value is the kept one: the file is read only once */
        const uint64_t *cells = there ? reader_object(reader, offset + sizeof head, head.cells * UINT64_C(8)) : NULL;
        if (!cells || !block_kind_is_known(head.kind) || reader->block_count >= most)
            return reader_fail(reader, "is damaged: the block of counters at byte %llu is not valid",
                               (unsigned long long)offset);
        if (block_owner_check(reader, &head, offset) != 0 || block_add(reader, &head, cells) != 0)
            return -1;
        offset = head.next;
    }
    return blocks_sort(reader);
}

const uint64_t *tally_cells(const struct run_block *block)
{
    return block->at;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

enum table_kind { TABLE_COUNTERS, TABLE_VARIABLES, TABLE_CALLS };

/*
 * The files of a job have the same tables. So a table is checked once, and the readers of all equal ones share it. The
 * process keeps it until its end. A hostile directory may have very many tables: beyond these a reader has its own.
 */
enum { SHARED_MOST = 32 };
static struct shared_table {
    enum table_kind kind;
    size_t bytes;
    void *table;
    uint16_t *order; /* of variables: their places, sorted by name */
} shared[SHARED_MOST];
static size_t shared_count;
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the shared table that is equal to this one, or NULL. */
static const struct shared_table *table_shared(enum table_kind kind, const void *table, size_t bytes)
{
    const struct shared_table *found = NULL;
    pthread_mutex_lock(&shared_lock);
    for (size_t i = 0; i < shared_count && !found; i++)
        if (shared[i].kind == kind && shared[i].bytes == bytes && memcmp(shared[i].table, table, bytes) == 0)
            found = &shared[i];
    pthread_mutex_unlock(&shared_lock);
    return found;
}

/* Gives a checked table to all readers. Then it does not belong to this one any more. */
static const struct shared_table *table_share(enum table_kind kind, void **table, size_t bytes, uint16_t *order)
{
    const struct shared_table *place = NULL;
    pthread_mutex_lock(&shared_lock);
    if (shared_count < SHARED_MOST) {
        place = &shared[shared_count];
        shared[shared_count++] = (struct shared_table){kind, bytes, *table, order};
        *table = NULL;
    }
    pthread_mutex_unlock(&shared_lock);
    return place;
}

/* Returns the table of `bytes` at `offset`: a shared one, which is checked, or a copy. NULL, with the reader's error:
 * `what` is not in the file, or there is no memory. */
static const void *table_take(struct run_reader *reader, uint64_t offset, size_t bytes, enum table_kind kind,
                              void **copy, const struct shared_table **common, const char *what)
{
    const void *there = reader_object(reader, offset, bytes);
    *common = NULL;
    if (!there)
        reader_fail(reader, "is damaged: its table of %s is outside the file", what);
    if (!there || (*common = table_shared(kind, there, bytes)))
        return there ? (*common)->table : NULL;
    *copy = malloc(bytes);
    if (!*copy)
        reader_fail(reader, "has a table of %s that does not fit into memory", what);
    return *copy ? memcpy(*copy, there, bytes) : NULL;
}

/* Texts in a table, one in each entry. */
struct table_texts {
    size_t begin, entry_bytes, count; /* the first one, the distance between two, and the number of entries */
    size_t bytes;                     /* of each */
};

/* Texts that a recorder writes are plain. */
static bool text_is_plain(const char *text)
{
    while (*text >= ' ' && *text <= '~')
        text++;
    return !*text;
}

/* Cleans the texts of a copied table. A file may hold any bytes, and the texts are shown on terminals. Returns whether
 * all were clean: else the table is not the one in the file any more. */
static bool texts_clean(char *table, struct table_texts texts)
{
    bool clean = true;
    for (size_t i = 0; i < texts.count; i++) {
        char *text = table + texts.begin + i * texts.entry_bytes;
        if (text_is_plain(text))
            continue;
        clean = false;
        text_tidy(text, texts.bytes);
    }
    return clean;
}

static int counters_find(struct run_reader *reader)
{
    uint64_t offset = reader->header.counters;
    const struct shared_table *common;
    if (!offset)
        return 0;
    reader->counters = table_take(reader, offset, sizeof *reader->counters, TABLE_COUNTERS, &reader->counters_copy,
                                  &common, "counters");
    if (!reader->counters || common)
        return reader->counters ? 0 : -1;
    if (reader->counters->count > COUNTERS_NAMED_MOST)
        return reader_fail(reader, "is damaged: its table of counters is too long");
    for (size_t i = 0; i < COUNTERS_NAMED_MOST; i++)
        if (!reader_text_ends(reader->counters->list[i].name, COUNTER_NAME_BYTES) ||
            !reader_text_ends(reader->counters->list[i].unit, VARIABLE_UNIT_BYTES))
            return reader_fail(reader, "is damaged: the name of counter %zu has no end", i);
    struct table_texts names = {offsetof(struct counter_table, list[0].name), sizeof reader->counters->list[0],
                                COUNTERS_NAMED_MOST, COUNTER_NAME_BYTES};
    struct table_texts units = names;
    units.begin = offsetof(struct counter_table, list[0].unit);
    units.bytes = VARIABLE_UNIT_BYTES;
    bool clean = texts_clean(reader->counters_copy, names);
    if (texts_clean(reader->counters_copy, units) && clean)
        table_share(TABLE_COUNTERS, &reader->counters_copy, sizeof *reader->counters, NULL);
    return 0;
}

static int variable_name_order(const void *one, const void *other, void *table)
{
    const struct variable_record *variables = table;
    const uint16_t *a = one, *b = other;
    return strcmp(variables[*a].name, variables[*b].name) ?: *a - *b;
}

/* Without memory there is no order. */
static uint16_t *variables_order(const struct run_reader *reader)
{
    uint16_t *order = calloc(reader->variable_count + 1, sizeof *order);
    for (size_t i = 0; order && i < reader->variable_count; i++)
        order[i] = (uint16_t)i;
    if (order)
        qsort_r(order, reader->variable_count, sizeof *order, variable_name_order, reader->variables_copy);
    return order;
}

static void variables_share(struct run_reader *reader, size_t bytes)
{
    uint16_t *order = variables_order(reader);
    const struct shared_table *common =
        order ? table_share(TABLE_VARIABLES, &reader->variables_copy, bytes, order) : NULL;
    reader->variable_order = common ? order : NULL;
    if (!common)
        free(order);
}

static int variables_find(struct run_reader *reader)
{
    const struct shared_table *common;
    size_t count = reader->header.variable_count, bytes = count * sizeof *reader->variables;
    if (!count)
        return 0;
    reader->variables = table_take(reader, reader->header.variables, bytes, TABLE_VARIABLES, &reader->variables_copy,
                                   &common, "variables");
    if (!reader->variables)
        return -1;
    reader->variable_count = count;
    reader->variable_order = common ? common->order : NULL;
    if (common)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (!reader_text_ends(reader->variables[i].name, VARIABLE_NAME_BYTES) ||
            !reader_text_ends(reader->variables[i].unit, VARIABLE_UNIT_BYTES))
            return reader_fail(reader, "is damaged: the name of variable %zu has no end", i);
    struct table_texts names = {offsetof(struct variable_record, name), sizeof *reader->variables, count,
                                VARIABLE_NAME_BYTES};
    struct table_texts units = {offsetof(struct variable_record, unit), sizeof *reader->variables, count,
                                VARIABLE_UNIT_BYTES};
    bool clean = texts_clean(reader->variables_copy, names);
    if (texts_clean(reader->variables_copy, units) && clean)
        variables_share(reader, bytes);
    return 0;
}

static int calls_find(struct run_reader *reader)
{
    const struct shared_table *common;
    size_t count = reader->header.call_count, bytes = count * sizeof *reader->calls;
    if (!count)
        return 0;
    reader->calls = table_take(reader, reader->header.calls, bytes, TABLE_CALLS, &reader->calls_copy, &common, "calls");
    if (!reader->calls)
        return -1;
    reader->call_count = count;
    for (size_t i = 0; i < count && !common; i++)
        if (!reader_text_ends(reader->calls[i].name, CALL_NAME_BYTES))
            return reader_fail(reader, "is damaged: the name of call %zu has no end", i);
    struct table_texts names = {offsetof(struct call_record, name), sizeof *reader->calls, count, CALL_NAME_BYTES};
    if (!common && texts_clean(reader->calls_copy, names))
        table_share(TABLE_CALLS, &reader->calls_copy, bytes, NULL);
    return 0;
}

int reader_tables_find(struct run_reader *reader)
{
    const struct run_header *header = &reader->header;
    if (header->origin && !reader_object(reader, header->origin, sizeof(struct origin_record)))
        return reader_fail(reader, "is damaged: its origin (command, user, time) is outside the file");
    if (header->clock_syncs && !reader_object(reader, header->clock_syncs, sizeof(struct clock_syncs)))
        return reader_fail(reader, "is damaged: its clock measurements are outside the file");
    if (header->gaps && !reader_object(reader, header->gaps, sizeof(struct gap_table)))
        return reader_fail(reader, "is damaged: its causes of gaps are outside the file");
    if (header->openmp && !reader_object(reader, header->openmp, sizeof(struct run_openmp)))
        return reader_fail(reader, "is damaged: its times of OpenMP are outside the file");
    const struct run_left *left =
        header->left ? reader_object(reader, header->left, offsetof(struct run_left, place)) : NULL;
    if (header->left &&
        (!left || left->places > LEFT_PLACES_MOST || !reader_object(reader, header->left, run_left_bytes(left))))
        return reader_fail(reader, "is damaged: what the process left is outside the file");
    if (counters_find(reader) != 0)
        return -1;
    if (header->variable_count > 10000 || header->call_count > EVENT_KIND_MASK)
        return reader_fail(reader, "is damaged: its tables have invalid lengths");
    return variables_find(reader) == 0 ? calls_find(reader) : -1;
}

const struct variable_record *run_reader_variable(const struct run_reader *reader, const char *name, uint32_t class)
{
    const uint16_t *order = reader->variable_order;
    size_t end = reader->variable_count;
    size_t at = ARRAY_FIRST(i, 0, order ? end : 0, strcmp(reader->variables[order[i]].name, name) >= 0);
    for (; at < end; at++) {
        const struct variable_record *record = &reader->variables[order ? order[at] : at];
        bool same = strcmp(record->name, name) == 0;
        if (same && record->class == class)
            return record;
        if (order && !same)
            return NULL;
    }
    return NULL;
}

void reader_tables_release(struct run_reader *reader)
{
    free(reader->blocks);
    free(reader->comm_blocks);
    free(reader->variables_copy);
    free(reader->calls_copy);
    free(reader->counters_copy);
    reader->blocks = NULL;
    reader->comm_blocks = NULL;
    reader->variables_copy = reader->calls_copy = reader->counters_copy = NULL;
    reader->variables = NULL;
    reader->variable_order = NULL;
    reader->calls = NULL;
    reader->counters = NULL;
    reader->block_count = reader->variable_count = reader->call_count = 0;
}
