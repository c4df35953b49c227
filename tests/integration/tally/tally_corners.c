#include "tally_corners.h"

#include "tally_messages.h"
#include "tally_pool.h"

static MPI_Request *nobody(struct book *book, enum pool_kind kind, bool persistent)
{
    return pool_add((struct pool_entry){
        .kind = kind, .book = book, .active = !persistent, .persistent = persistent, .peer = MPI_PROC_NULL});
}

static void null_status(const MPI_Status *status)
{
    if (status->MPI_SOURCE != MPI_PROC_NULL || status->MPI_TAG != MPI_ANY_TAG || status_bytes(status) != 0)
        tally_abort("a receive from MPI_PROC_NULL has source %d, tag %d", status->MPI_SOURCE, status->MPI_TAG);
}

static void null_blocking(struct book *book)
{
    char data[64] = {0}, room[64];
    MPI_Comm comm = book->comm;
    MPI_Status status;
    int found = 0;
    CALL(MPI_Send, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm);
    CALL(MPI_Bsend, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm);
    CALL(MPI_Ssend, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm);
    CALL(MPI_Rsend, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm);
    CALL(MPI_Recv, room, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE);
    CALL(MPI_Recv, room, 64, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, comm, &status);
    null_status(&status);
    CALL(MPI_Sendrecv, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, room, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm,
         MPI_STATUS_IGNORE);
    CALL(MPI_Sendrecv_replace, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, comm, &status);
    null_status(&status);
    CALL(MPI_Probe, MPI_PROC_NULL, 1, comm, &status);
    null_status(&status);
    CALL(MPI_Iprobe, MPI_PROC_NULL, 1, comm, &found, MPI_STATUS_IGNORE);
    if (!found)
        tally_abort("MPI_Iprobe finds nothing from MPI_PROC_NULL");
}

void corner_null(struct book *book, struct draw *own)
{
    MPI_Comm comm = book->comm;
    char *data = pool_allocate(64), *room = pool_allocate(64);
    null_blocking(book);
    CALL(MPI_Isend, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm, nobody(book, POOL_SEND, false));
    CALL(MPI_Ibsend, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm, nobody(book, POOL_SEND, false));
    pool_add_nothing(book, own);
    CALL(MPI_Issend, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm, nobody(book, POOL_SEND, false));
    CALL(MPI_Irsend, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm, nobody(book, POOL_SEND, false));
    CALL(MPI_Irecv, room, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm, nobody(book, POOL_RECV, false));
    CALL(MPI_Send_init, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm, nobody(book, POOL_SEND, true));
    CALL(MPI_Bsend_init, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm, nobody(book, POOL_SEND, true));
    CALL(MPI_Ssend_init, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm, nobody(book, POOL_SEND, true));
    CALL(MPI_Rsend_init, data, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm, nobody(book, POOL_SEND, true));
    CALL(MPI_Recv_init, room, 64, MPI_BYTE, MPI_PROC_NULL, 1, comm, nobody(book, POOL_RECV, true));
    pool_start(POOL_RECV, own);
    pool_start(POOL_SEND, own);
}

void corner_cancel(struct book *book, struct draw *own)
{
    MPI_Request *cancelled[8];
    int count = 1 + draw_below(own, 5);
    for (int i = 0; i < count; i++) {
        bool persistent = draw_chance(own, 30);
        int source = draw_chance(own, 50) ? MPI_ANY_SOURCE : draw_below(own, book->size), bytes = draw_below(own, 9000);
        void *room = pool_allocate((size_t)bytes);
        cancelled[i] = pool_add((struct pool_entry){
            .kind = POOL_RECV, .book = book, .active = !persistent, .persistent = persistent, .peer = source});
        if (persistent)
            CALL(MPI_Recv_init, room, bytes, MPI_BYTE, source, TAG_NEVER_SENT, book->comm, cancelled[i]);
        else
            CALL(MPI_Irecv, room, bytes, MPI_BYTE, source, TAG_NEVER_SENT, book->comm, cancelled[i]);
        pool_add_nothing(book, own);
    }
    pool_start(POOL_RECV, own);
    for (int i = 0; i < count; i++)
        pool_cancel(cancelled[i]);
}

/* What comes from the left was sent there by the same rule: everyone knows everyone's size. */
static int shift_bytes(const struct draw *draw, int rank)
{
    struct draw size = draw_stream(draw->state, 1, (uint64_t)rank);
    return types_draw_bytes(&size, 1 << 20);
}

void corner_shift(struct book *book, struct draw *draw)
{
    int size = book->size, by = draw_below(draw, size), tag = book_next_tag(book);
    bool open = draw_chance(draw, 30), replace = draw_chance(draw, 40), any = !open && draw_chance(draw, 30);
    bool ignore = draw_chance(draw, 40);
    int right = book->rank + by, left = book->rank - by;
    right = right < size ? right : open ? MPI_PROC_NULL : right - size;
    left = left >= 0 ? left : open ? MPI_PROC_NULL : left + size;
    int put = shift_bytes(draw, replace ? 0 : book->rank);
    int get = left == MPI_PROC_NULL ? 0 : shift_bytes(draw, replace ? 0 : left);
    int from = any ? MPI_ANY_SOURCE : left, room = replace ? put : get + draw_below(draw, 1000);
    void *data = pool_allocate((size_t)put), *buffer = pool_allocate((size_t)room);
    MPI_Status status;
    if (replace)
        CALL(MPI_Sendrecv_replace, data, put, MPI_BYTE, right, tag, from, any ? MPI_ANY_TAG : tag, book->comm,
             ignore ? MPI_STATUS_IGNORE : &status);
    else
        CALL(MPI_Sendrecv, data, put, MPI_BYTE, right, tag, buffer, room, MPI_BYTE, from, tag, book->comm,
             ignore ? MPI_STATUS_IGNORE : &status);
    if (!ignore && (status.MPI_SOURCE != left || status_bytes(&status) != (uint64_t)get))
        tally_abort("rank %d comm %s: a sendrecv's status has source %d", book->rank, book->name, status.MPI_SOURCE);
    book_sent(book, right, (uint64_t)put);
    book_received(book, left, (uint64_t)get);
    if (replace && any)
        book_barrier(book); /* the tag was left open: the next message must not be taken for this one */
}

static void ring_arrived(const struct pool_entry *entry, const MPI_Status *status)
{
    const struct message *message = entry->message;
    if (status && (status->MPI_SOURCE != message->source || status->MPI_TAG != message->tag ||
                   status_bytes(status) != message->bytes))
        tally_abort("rank %d comm %s: a persistent receive's status has source %d, tag %d", entry->book->rank,
                    entry->book->name, status->MPI_SOURCE, status->MPI_TAG);
    book_received(entry->book, message->source, message->bytes);
}

static void ring_link(struct book *book, struct draw *draw, enum send_mode mode, int left, int right)
{
    struct message *message = pool_allocate(sizeof *message);
    message->source = left;
    message->tag = book_next_tag(book);
    int bytes = types_draw_bytes(draw, mode == BSEND_INIT ? 32768 : 1 << 20);
    int slack = draw_chance(draw, 50) ? 100 : 0, from = draw_chance(draw, 30) ? MPI_ANY_SOURCE : left;
    if (left == MPI_PROC_NULL)
        from = left;
    message->bytes = (uint64_t)bytes;
    void *room = pool_allocate((size_t)(bytes + slack)), *data = pool_allocate((size_t)bytes);
    MPI_Request *recv = pool_add((struct pool_entry){.kind = POOL_RECV,
                                                     .book = book,
                                                     .persistent = true,
                                                     .peer = from,
                                                     .arrived = ring_arrived,
                                                     .message = message});
    CALL(MPI_Recv_init, room, bytes + slack, MPI_BYTE, from, message->tag, book->comm, recv);
    MPI_Request *send = pool_add((struct pool_entry){
        .kind = POOL_SEND, .book = book, .persistent = true, .peer = right, .bytes = (uint64_t)bytes});
    if (mode == SEND_INIT)
        CALL(MPI_Send_init, data, bytes, MPI_BYTE, right, message->tag, book->comm, send);
    else if (mode == SSEND_INIT)
        CALL(MPI_Ssend_init, data, bytes, MPI_BYTE, right, message->tag, book->comm, send);
    else if (mode == RSEND_INIT)
        CALL(MPI_Rsend_init, data, bytes, MPI_BYTE, right, message->tag, book->comm, send);
    else
        CALL(MPI_Bsend_init, data, bytes, MPI_BYTE, right, message->tag, book->comm, send);
}

void corner_ring(struct book *book, struct draw *draw, struct draw *own)
{
    int links = 1 + draw_below(draw, 4), turns = 1 + draw_below(draw, 4);
    bool open = draw_chance(draw, 30), ready = false;
    int left = book->rank ? book->rank - 1 : book->size - 1, right = (book->rank + 1) % book->size;
    if (open && book->rank == 0)
        left = MPI_PROC_NULL;
    if (open && book->rank == book->size - 1)
        right = MPI_PROC_NULL;
    for (int i = 0; i < links; i++) {
        enum send_mode mode = SEND_INIT + (enum send_mode)draw_below(draw, 4);
        ready |= mode == RSEND_INIT;
        ring_link(book, draw, mode, left, right);
        pool_add_nothing(book, own);
    }
    for (int turn = 0; turn < turns; turn++) {
        pool_start(POOL_RECV, own);
        if (ready)
            book_barrier(book);
        pool_start(POOL_SEND, own);
        pool_drain(own);
    }
}
