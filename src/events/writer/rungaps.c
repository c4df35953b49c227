/* Why each gap of a trace is there, while it is recorded. Nothing here is on the path of a call. */
#include "writer/runtrace.h"

void run_gaps_open(struct run *run)
{
    uint64_t offset;
    struct gap_table *gaps = run_has_file(run) ? run_alloc(run, sizeof *gaps, &offset) : NULL;
    if (!gaps || !offset)
        return;
    run->gaps = gaps;
    __atomic_store_n(&run->header->gaps, offset, __ATOMIC_RELEASE);
}

/* Blocks of a thread are adjacent, and are usually lost for the same reason as the one before. */
static struct gap_record *record_before(struct gap_table *gaps, enum loss_cause cause, uint32_t thread, uint64_t first)
{
    for (size_t i = gaps->count; i > 0; i--) {
        struct gap_record *record = &gaps->list[i - 1];
        if (record->thread == thread && record->cause == cause && record->first + record->count == first)
            return record;
    }
    return NULL;
}

void run_gap_note(struct run *run, enum loss_cause cause, uint32_t thread, uint64_t first, uint64_t count)
{
    struct gap_table *gaps = run->gaps;
    if (!gaps || !count || run->detached)
        return;
    struct gap_record *record = record_before(gaps, cause, thread, first);
    if (record) {
        __atomic_store_n(&record->count, record->count + count, __ATOMIC_RELAXED);
    } else if (gaps->count == GAP_RECORDS_MOST) {
        gaps->left_out += count == UINT64_MAX ? 1 : count;
    } else {
        gaps->list[gaps->count] = (struct gap_record){first, count, thread, cause};
        __atomic_store_n(&gaps->count, gaps->count + 1, __ATOMIC_RELEASE); /* pairs with the reader's load */
    }
}

void run_gap(struct run *run, enum loss_cause cause, uint32_t thread, uint64_t first, uint64_t count)
{
    run_lost(run, cause, count == UINT64_MAX ? 1 : count);
    pthread_mutex_lock(&run->lock);
    run_gap_note(run, cause, thread, first, count);
    pthread_mutex_unlock(&run->lock);
}
