#include "tally_pool.h"

#include <stdlib.h>

static MPI_Request requests[POOL_LIMIT];
static struct pool_entry entries[POOL_LIMIT];
static MPI_Status statuses[POOL_LIMIT];
static int indices[POOL_LIMIT];
static int used, active;

static void *kept[4 * POOL_LIMIT];
static int kept_count;

void *pool_allocate(size_t bytes)
{
    if (kept_count == (int)(sizeof kept / sizeof kept[0]))
        tally_abort("the pool holds no more than %d buffers", kept_count);
    return kept[kept_count++] = tally_allocate(bytes);
}

static void entry_posted(struct pool_entry *entry)
{
    entry->active = true;
    active++;
    if (entry->kind == POOL_SEND)
        book_send_pending(entry->book, entry->peer, entry->bytes);
    else if (entry->kind == POOL_RECV)
        book_recv_pending(entry->book, entry->peer);
}

MPI_Request *pool_add(struct pool_entry entry)
{
    if (used == POOL_LIMIT)
        tally_abort("the pool holds no more than %d requests", POOL_LIMIT);
    entries[used] = entry;
    requests[used] = MPI_REQUEST_NULL;
    if (entry.active)
        entry_posted(&entries[used]);
    return &requests[used++];
}

void pool_collective_posted(MPI_Request *request, uint64_t in, uint64_t out)
{
    struct pool_entry *entry = &entries[request - requests];
    entry->in = in;
    entry->out = out;
    entry_posted(entry);
}

void pool_add_nothing(struct book *book, struct draw *draw)
{
    if (draw_chance(draw, 25))
        pool_add((struct pool_entry){.kind = POOL_NOTHING});
    if (draw_chance(draw, 10)) {
        MPI_Request *request = pool_add((struct pool_entry){.kind = POOL_NOTHING, .persistent = true});
        if (draw_chance(draw, 50))
            CALL(MPI_Recv_init, NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, book->comm, request);
        else
            CALL(MPI_Send_init, NULL, 0, MPI_BYTE, book->rank, 0, book->comm, request);
    }
}

void pool_start(enum pool_kind kind, struct draw *draw)
{
    MPI_Request starting[POOL_LIMIT];
    int place[POOL_LIMIT], count = 0;
    for (int i = 0; i < used; i++)
        if (entries[i].kind == kind && entries[i].persistent && !entries[i].active) {
            starting[count] = requests[i];
            place[count++] = i;
        }
    if (count && draw_chance(draw, 50)) {
        CALL(MPI_Startall, count, starting);
        for (int i = 0; i < count; i++) {
            requests[place[i]] = starting[i];
            entry_posted(&entries[place[i]]);
        }
        return;
    }
    for (int i = 0; i < count; i++) {
        CALL(MPI_Start, &requests[place[i]]);
        entry_posted(&entries[place[i]]);
    }
}

void pool_cancel(MPI_Request *request)
{
    entries[request - requests].cancelled = true;
    CALL(MPI_Cancel, request);
}

/* Request i has been completed by a call; books it. `status` is NULL if the call was told to ignore it. */
static void pool_completed(int i, const MPI_Status *status)
{
    struct pool_entry *entry = &entries[i];
    if (!entry->active)
        return;
    entry->active = false;
    active--;
    if ((requests[i] == MPI_REQUEST_NULL) == entry->persistent)
        tally_abort("request %d is %s after it completed", i, entry->persistent ? "null" : "not null");
    int cancelled = 0;
    if (status && (entry->kind == POOL_SEND || entry->kind == POOL_RECV))
        MPI_Test_cancelled(status, &cancelled);
    if (status && entry->cancelled != (cancelled != 0))
        tally_abort("request %d: cancelled is %d", i, cancelled);
    switch (entry->kind) {
    case POOL_SEND:
        book_send_ended(entry->book, entry->peer, entry->bytes, true);
        break;
    case POOL_RECV:
        book_recv_ended(entry->book, entry->peer);
        if (!entry->cancelled && entry->peer != MPI_PROC_NULL)
            entry->arrived(entry, status);
        entry->cancelled = false;
        break;
    case POOL_COLLECTIVE:
        book_collected(entry->book, entry->op, entry->in, entry->out);
        break;
    default:
        break;
    }
}

static void all_completed(bool ignore)
{
    for (int i = 0; i < used; i++)
        pool_completed(i, ignore ? NULL : &statuses[i]);
}

static void some_completed(int count, bool ignore)
{
    for (int i = 0; count != MPI_UNDEFINED && i < count; i++)
        pool_completed(indices[i], ignore ? NULL : &statuses[i]);
}

static void complete_one(struct draw *draw, bool ignore, bool wait)
{
    int i = draw_below(draw, used), flag = 1;
    MPI_Status *status = ignore ? MPI_STATUS_IGNORE : &statuses[0];
    if (wait)
        CALL(MPI_Wait, &requests[i], status);
    else
        CALL(MPI_Test, &requests[i], &flag, status);
    if (flag)
        pool_completed(i, ignore ? NULL : status);
}

static void complete_any(bool ignore, bool wait)
{
    int i, flag = 1;
    MPI_Status *status = ignore ? MPI_STATUS_IGNORE : &statuses[0];
    if (wait)
        CALL(MPI_Waitany, used, requests, &i, status);
    else
        CALL(MPI_Testany, used, requests, &i, &flag, status);
    if (flag && i != MPI_UNDEFINED)
        pool_completed(i, ignore ? NULL : status);
}

static void complete_some(bool ignore, bool wait)
{
    int count;
    MPI_Status *status = ignore ? MPI_STATUSES_IGNORE : statuses;
    if (wait)
        CALL(MPI_Waitsome, used, requests, &count, indices, status);
    else
        CALL(MPI_Testsome, used, requests, &count, indices, status);
    some_completed(count, ignore);
}

static void complete_all(bool ignore, bool wait)
{
    int flag = 1;
    MPI_Status *status = ignore ? MPI_STATUSES_IGNORE : statuses;
    if (wait)
        CALL(MPI_Waitall, used, requests, status);
    else
        CALL(MPI_Testall, used, requests, &flag, status);
    if (flag)
        all_completed(ignore);
}

static void complete(struct draw *draw)
{
    bool ignore = draw_chance(draw, 40), wait = draw_chance(draw, 60);
    switch (draw_below(draw, 10)) {
    case 0:
        complete_all(ignore, wait);
        break;
    case 1:
    case 2:
    case 3:
        complete_some(ignore, wait);
        break;
    case 4:
    case 5:
    case 6:
        complete_any(ignore, wait);
        break;
    default:
        complete_one(draw, ignore, wait);
        break;
    }
}

void pool_drain(struct draw *draw)
{
    while (active)
        complete(draw);
    /* nothing is left to complete: such calls count as calls and as nothing else */
    while (used && draw_chance(draw, 40))
        complete(draw);
    if (draw_chance(draw, 10))
        CALL(MPI_Waitall, 0, requests, MPI_STATUSES_IGNORE);
}

void pool_clear(void)
{
    if (active)
        tally_abort("the pool is cleared with %d requests active", active);
    for (int i = 0; i < used; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            CALL(MPI_Request_free, &requests[i]);
    while (kept_count)
        free(kept[--kept_count]);
    used = 0;
}
