#include "monitor/changes.h"

#include <string.h>

_Static_assert((int)MPIX_MONITOR_BUCKETS == (int)BUCKET_COUNT, "a slot for each bucket");

#define UNKNOWN MPIX_MONITOR_UNKNOWN

/* The parts of a record. Absent collectives are zeros. */
struct record_parts {
    uint32_t low, high;
    const struct message_cells *sends, *receives; /* from bucket `low` on */
    const uint64_t *coll_time, *coll_count, *coll_execution, *coll_sizes;
};

static const struct comm_snapshot nothing;
static const uint64_t no_collectives[3 * COLLECTIVE_COUNT + BUCKET_COUNT];
static const struct message_cells no_messages;

static struct record_parts parts_of(const struct comm_snapshot *record)
{
    const uint64_t *at = (const uint64_t *)(record + 1);
    size_t words = (size_t)2 * (record->high - record->low);
    struct record_parts parts = {.low = record->low,
                                 .high = record->high,
                                 .sends = (const struct message_cells *)at,
                                 .receives = (const struct message_cells *)(at + words)};
    parts.coll_time = record->collectives ? at + 2 * words : no_collectives;
    parts.coll_count = parts.coll_time + COLLECTIVE_COUNT;
    parts.coll_execution = parts.coll_count + COLLECTIVE_COUNT;
    parts.coll_sizes = parts.coll_execution + COLLECTIVE_COUNT;
    return parts;
}

bool change_none(const struct comm_snapshot *before, const struct comm_snapshot *after)
{
    size_t at = offsetof(struct comm_snapshot, sum), words = (size_t)4 * (after->high - after->low);
    if (after->collectives)
        words += (size_t)3 * COLLECTIVE_COUNT + BUCKET_COUNT;
    return before->low == after->low && before->high == after->high && before->collectives == after->collectives &&
           memcmp((const char *)before + at, (const char *)after + at, sizeof *after - at + words * sizeof(uint64_t)) ==
               0;
}

static void sums_add(MPIX_Monitor_figures *figures, const uint64_t *before, const uint64_t *after)
{
    figures->p2p_time_ns += change_time(before[SUM_P2P_TIME], after[SUM_P2P_TIME]);
    figures->wait_time_ns += change_time(before[SUM_WAIT_TIME], after[SUM_WAIT_TIME]);
    figures->comm_time_ns += change_time(before[SUM_COMM_TIME], after[SUM_COMM_TIME]);
    figures->rma_time_ns += change_time(before[SUM_RMA_TIME], after[SUM_RMA_TIME]);
    figures->io_time_ns += change_time(before[SUM_IO_TIME], after[SUM_IO_TIME]);
    figures->transfer_time_ns += change_time(before[SUM_TRANSFER_TIME], after[SUM_TRANSFER_TIME]);
    figures->coll_transfer_time_ns += change_time(before[SUM_TRANSFER_SPAN], after[SUM_TRANSFER_SPAN]);
    figures->stall_time_ns += change_time(before[SUM_STALL_TIME], after[SUM_STALL_TIME]);
    figures->fabric_time_ns += change_time(before[SUM_FABRIC_TIME], after[SUM_FABRIC_TIME]);
    figures->completed += after[SUM_P2P_DONE] - before[SUM_P2P_DONE];
    figures->timeouts += after[SUM_TIMEOUTS] - before[SUM_TIMEOUTS];
    figures->coll_transfers += after[SUM_TRANSFERS] - before[SUM_TRANSFERS];
    figures->coll_bytes += after[SUM_COLL_BYTES] - before[SUM_COLL_BYTES];
    figures->rma_bytes += after[SUM_RMA_BYTES] - before[SUM_RMA_BYTES];
    figures->io_bytes += after[SUM_IO_BYTES] - before[SUM_IO_BYTES];
    figures->large += after[SUM_LARGE] - before[SUM_LARGE];
}

static inline const struct message_cells *bucket_cells(const struct record_parts *parts,
                                                       const struct message_cells *cells, uint32_t bucket)
{
    return bucket >= parts->low && bucket < parts->high ? &cells[bucket - parts->low] : &no_messages;
}

static inline struct message_cells cells_between(const struct message_cells *before, const struct message_cells *after)
{
    return (struct message_cells){.count = after->count - before->count, .bytes = after->bytes - before->bytes};
}

static void messages_add(MPIX_Monitor_figures *figures, const struct record_parts *before,
                         const struct record_parts *after)
{
    struct message_cells sends = {0}, receives = {0};
    uint32_t low = after->low < before->low ? after->low : before->low;
    uint32_t high = after->high > before->high ? after->high : before->high;
    for (uint32_t bucket = low; bucket < high; bucket++) {
        struct message_cells sent =
            cells_between(bucket_cells(before, before->sends, bucket), bucket_cells(after, after->sends, bucket));
        struct message_cells received =
            cells_between(bucket_cells(before, before->receives, bucket), bucket_cells(after, after->receives, bucket));
        figures->sent_size_count[bucket] += sent.count;
        figures->sent_size_bytes[bucket] += sent.bytes;
        figures->received_size_count[bucket] += received.count;
        figures->received_size_bytes[bucket] += received.bytes;
        sends.count += sent.count;
        sends.bytes += sent.bytes;
        receives.count += received.count;
        receives.bytes += received.bytes;
    }
    figures->sent += sends.count;
    figures->sent_bytes += sends.bytes;
    figures->received += receives.count;
    figures->received_bytes += receives.bytes;
}

void change_add(MPIX_Monitor_figures *figures, const struct comm_snapshot *before, const struct comm_snapshot *after)
{
    struct record_parts old = parts_of(before ? before : &nothing), new = parts_of(after ? after : &nothing);
    sums_add(figures, (before ? before : &nothing)->sum, (after ? after : &nothing)->sum);
    messages_add(figures, &old, &new);
    if (old.coll_time == new.coll_time) /* neither has any */
        return;
    for (unsigned i = 0; i < COLLECTIVE_COUNT; i++) {
        figures->coll_time_ns += change_time(old.coll_time[i], new.coll_time[i]);
        figures->collectives += new.coll_count[i] - old.coll_count[i];
    }
    for (unsigned i = 0; i < BUCKET_COUNT; i++)
        figures->coll_size_count[i] += new.coll_sizes[i] - old.coll_sizes[i];
}

bool change_collectives(const struct comm_snapshot *before, const struct comm_snapshot *after,
                        struct change_collectives *collectives)
{
    struct record_parts old = parts_of(before ? before : &nothing), new = parts_of(after ? after : &nothing);
    *collectives = (struct change_collectives){old.coll_time,  new.coll_time,      old.coll_count,
                                               new.coll_count, old.coll_execution, new.coll_execution};
    return old.coll_time != new.coll_time;
}

void change_sum(MPIX_Monitor_figures *to, const MPIX_Monitor_figures *from)
{
    uint64_t *into = (uint64_t *)to;
    const uint64_t *words = (const uint64_t *)from;
    for (size_t i = 0; i < sizeof *to / sizeof *into; i++)
        into[i] += words[i];
}

/*
 * The recorder counts large messages first. A snapshot may have been taken between the two additions of another thread.
 */
void change_finish(MPIX_Monitor_figures *figures)
{
    uint64_t messages = figures->sent + figures->received;
    figures->small = messages > figures->large ? messages - figures->large : 0;
}

bool change_is_zero(const MPIX_Monitor_figures *figures)
{
    static const MPIX_Monitor_figures none;
    return memcmp(figures, &none, sizeof none) == 0;
}

#define OFF(field) figures->field = 0
#define OFF_UNLESS(wanted, field)                                                                                      \
    if (!(options & (wanted)))                                                                                         \
    OFF(field)

void change_limit(MPIX_Monitor_figures *figures, unsigned options, bool fabric, bool stall)
{
    enum { PTTOPT = MPIX_MONITOR_PTTOPT, COLL = MPIX_MONITOR_COLL, COMM = MPIX_MONITOR_COMM };
    OFF_UNLESS(PTTOPT, p2p_time_ns);
    OFF_UNLESS(PTTOPT, wait_time_ns);
    OFF_UNLESS(PTTOPT, transfer_time_ns);
    OFF_UNLESS(COLL, coll_time_ns);
    OFF_UNLESS(PTTOPT | COMM, completed);
    OFF_UNLESS(PTTOPT | COMM, timeouts);
    OFF_UNLESS(PTTOPT | COMM | MPIX_MONITOR_TRAFFIC, sent);
    OFF_UNLESS(PTTOPT | COMM | MPIX_MONITOR_TRAFFIC, received);
    OFF_UNLESS(COLL | COMM, collectives);
    OFF_UNLESS(MPIX_MONITOR_TRAFFIC, sent_bytes);
    OFF_UNLESS(MPIX_MONITOR_TRAFFIC, received_bytes);
    OFF_UNLESS(COLL | MPIX_MONITOR_TRAFFIC, coll_bytes);
    OFF_UNLESS(MPIX_MONITOR_TRAFFIC, rma_bytes);
    OFF_UNLESS(MPIX_MONITOR_TRAFFIC, io_bytes);
    OFF_UNLESS(MPIX_MONITOR_MSGSIZE, small);
    OFF_UNLESS(MPIX_MONITOR_MSGSIZE, large);
    if (!(options & MPIX_MONITOR_MSGSIZE))
        memset(figures->sent_size_count, 0,
               sizeof *figures - offsetof(MPIX_Monitor_figures, sent_size_count)); /* and the fields after it */
    figures->fabric_time_ns = !(options & MPIX_MONITOR_OTHER) ? 0 : fabric ? figures->fabric_time_ns : UNKNOWN;
    figures->coll_transfers = !(options & COLL) ? 0 : fabric ? figures->coll_transfers : UNKNOWN;
    figures->coll_transfer_time_ns = !(options & COLL) ? 0 : fabric ? figures->coll_transfer_time_ns : UNKNOWN;
    if (!stall)
        figures->stall_time_ns = UNKNOWN;
}
