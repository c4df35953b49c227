#include "figures/figures.h"

#include "registry/book.h"

#include <stdlib.h>
#include <string.h>

static const struct variable_record *record_find(const struct figures *figures, const char *name,
                                                 enum variable_class class, const struct variable **own)
{
    if (figures->run)
        return run_reader_variable(figures->run, name, class);
    for (size_t i = 0; i < variable_number(); i++) {
        const struct variable_record *record = &variable_at(i)->record;
        if (record->class == class && strcmp(record->name, name) == 0) {
            *own = variable_at(i);
            return record;
        }
    }
    return NULL;
}

/* The kinds of blocks that have a part of the variable, a bit for each. */
static uint64_t block_kinds(const struct variable_record *record)
{
    uint64_t kinds = 0;
    for (unsigned t = 0; t < VARIABLE_TERMS; t++)
        kinds |= record->terms[t].block < 64 ? UINT64_C(1) << record->terms[t].block : 0;
    return kinds;
}

void figures_blocks_add(const struct run_reader *run, const struct variable_record *record, size_t first, size_t end,
                        uint32_t thread, uint64_t *values, size_t count)
{
    uint64_t kinds = block_kinds(record);
    for (size_t i = first; i < end; i++) {
        const struct run_block *block = &run->blocks[i];
        if ((kinds >> block->kind & 1) && (thread == ANY_THREAD || block->thread == thread))
            variable_take(record, block->kind, block->page, tally_cells(block), block->cells, values, count);
    }
}

static void run_values(const struct run_reader *run, const struct variable_record *record,
                       const struct figures_comm *comm, uint64_t *values, size_t count)
{
    variable_clear(record, values, count);
    const size_t *blocks = &run->comm_blocks[comm ? comm->slot : 0];
    figures_blocks_add(run, record, blocks[0], blocks[1], ANY_THREAD, values, count);
    if (!comm)
        variable_take(record, BLOCK_LOSSES, 0, run->header.lost, LOSS_COUNT, values, count);
    variable_finish(record, values);
}

static size_t record_read(const struct run_reader *run, const struct variable_record *record,
                          const struct variable *own, const struct figures_comm *comm, uint64_t *values, size_t count)
{
    uint64_t scratch[2];
    size_t have = record->count ? record->count : comm && comm->peers > 0 ? (size_t)comm->peers : 0;
    bool span = record->combine == COMBINE_SPAN; /* needs two accumulators for its one value */
    uint64_t *into = span ? scratch : values;
    size_t wanted = span ? 2 : have < count ? have : count;
    if (own)
        book_values(own, comm ? comm->live : NULL, into, wanted);
    else
        run_values(run, record, comm, into, wanted);
    if (span)
        values[0] = scratch[0];
    struct clock_scale scale = run ? run_reader_scale(run) : book.scale;
    if (strcmp(record->unit, "ticks") == 0)
        for (size_t i = 0; i < count; i++)
            values[i] = clock_ns(scale, values[i]);
    return have;
}

size_t figures_read(const struct figures *figures, const char *name, enum variable_class class,
                    const struct figures_comm *comm, uint64_t *values, size_t count)
{
    const struct variable *own = NULL;
    const struct variable_record *record = record_find(figures, name, class, &own);
    memset(values, 0, count * sizeof *values);
    return record && count ? record_read(figures->run, record, own, comm, values, count) : 0;
}

size_t figures_of_record(const struct run_reader *run, const struct variable_record *record,
                         const struct figures_comm *comm, uint64_t *values, size_t count)
{
    memset(values, 0, count * sizeof *values);
    return count ? record_read(run, record, NULL, comm, values, count) : 0;
}

void figures_counter(const struct figures *figures, unsigned counter, uint64_t places[PLACE_COUNT])
{
    struct variable every = {.record = {.count = PLACE_COUNT,
                                        .combine = COMBINE_SUM,
                                        .terms = {{.block = BLOCK_COUNTERS,
                                                   .weight = 1,
                                                   .first = counter * (uint32_t)PLACE_COUNT,
                                                   .run = 1,
                                                   .step = 1,
                                                   .stride = 1}}}};
    if (figures->run)
        run_values(figures->run, &every.record, NULL, places, PLACE_COUNT);
    else
        book_values(&every, NULL, places, PLACE_COUNT);
}

uint64_t figures_one(const struct figures *figures, const char *name, enum variable_class class,
                     const struct figures_comm *comm)
{
    uint64_t value;
    figures_read(figures, name, class, comm, &value, 1);
    return value;
}

bool figures_comm_next(const struct figures *figures, uint32_t *at, struct figures_comm *comm)
{
    if (figures->run) {
        while (++*at < figures->run->slot_count) {
            const struct comm_record *record = figures->run->comms[*at];
            if (record) {
                *comm = (struct figures_comm){.slot = record->slot,
                                              .name = record->name,
                                              .label = record->label,
                                              .merged = record->flags & COMM_SUM ? record->merged : 1,
                                              .is_sum = record->flags & COMM_SUM,
                                              .size = record->size,
                                              .peers = record->remote_size ? record->remote_size : record->size};
                return true;
            }
        }
        return false;
    }
    if (++*at >= __atomic_load_n(&book.comm_count, __ATOMIC_ACQUIRE))
        return false;
    const struct comm *live = book.comms[*at];
    *comm = (struct figures_comm){.live = live,
                                  .slot = live->slot,
                                  .name = live->name,
                                  .label = live->record->label,
                                  .merged = live->record->flags & COMM_SUM ? live->record->merged : 1,
                                  .is_sum = live->record->flags & COMM_SUM,
                                  .size = live->size,
                                  .peers = live->remote_size ? live->remote_size : live->size};
    return true;
}
