#include "tally_messages.h"

#include "tally_pool.h"

#include <string.h>

int book_next_tag(struct book *book)
{
    int tag = book->tag;
    book->tag = tag % BATCH_TAGS + 1;
    return tag;
}

void book_barrier(struct book *book)
{
    CALL(MPI_Barrier, book->comm);
    book_collected(book, OP_BARRIER, 0, 0);
}

uint64_t status_bytes(const MPI_Status *status)
{
    int bytes;
    MPI_Get_elements(status, MPI_BYTE, &bytes);
    if (bytes == MPI_UNDEFINED)
        tally_abort("a status has no number of bytes");
    return (uint64_t)bytes;
}

static bool mode_is(enum send_mode mode, enum send_mode first)
{
    return mode % 4 == first;
}

static bool arrival_is_early(enum arrival arrival)
{
    return arrival == ARRIVE_IRECV || arrival == ARRIVE_RECV_INIT;
}

static void message_draw(struct batch *batch, struct message *message, const bool *wild_late, struct draw *draw)
{
    static const enum send_mode patient[] = {BSEND, ISEND, ISSEND, IBSEND, SEND_INIT, SSEND_INIT, BSEND_INIT};
    struct book *book = batch->book;
    memset(message, 0, sizeof *message);
    message->source = draw_below(draw, book->size);
    message->dest = draw_below(draw, book->size);
    message->tag = book_next_tag(book);
    bool wild = batch->wildness[message->dest] != TAME;
    bool late = wild ? wild_late[message->dest] : draw_chance(draw, 35);
    message->arrival = late ? ARRIVE_RECV + (enum arrival)draw_below(draw, 3) : (enum arrival)draw_below(draw, 2);
    message->mode = late ? patient[draw_below(draw, 7)] : (enum send_mode)draw_below(draw, SEND_MODES);
    bool buffered = mode_is(message->mode, BSEND);
    int limit = buffered ? 32768 : 4 << 20;
    /* MPICH 4.0.2 delivers buffered messages of types with gaps truncated, on its own */
    message->type = types[wild ? TYPE_BYTE : draw_below(draw, buffered ? TYPE_SOLID : TYPE_COUNT)];
    message->count = types_draw_bytes(draw, limit) / message->type.size;
    message->bytes = (uint64_t)message->count * (uint64_t)message->type.size;
    message->slack = draw_chance(draw, 50) ? draw_below(draw, 100) : 0;
    message->any_source = draw_chance(draw, 30);
    message->ignore = draw_chance(draw, 30);
    if ((message->mode == ISEND || message->mode == ISSEND) && message->bytes < 4096)
        message->freed = draw_chance(draw, 30);
    batch->handshake |= mode_is(message->mode, RSEND);
    batch->buffered |= buffered;
    batch->fence |= message->freed || batch->wildness[message->dest] == WILD;
    batch->unsettled |= wild && message->dest == book->rank;
}

void batch_draw(struct batch *batch, struct book *book, struct draw *draw)
{
    bool wild_late[BATCH_RANKS];
    memset(batch, 0, sizeof *batch);
    batch->book = book;
    if (book->size > BATCH_RANKS)
        tally_abort("no more than %d processes", BATCH_RANKS);
    for (int i = 0; i < book->size; i++) {
        int kind = draw_below(draw, 10);
        batch->wildness[i] = kind < 6 ? TAME : kind < 8 ? WILD_TAG : WILD;
        wild_late[i] = draw_chance(draw, 40);
    }
    batch->count = 1 + draw_below(draw, BATCH_LIMIT);
    for (int i = 0; i < batch->count; i++)
        message_draw(batch, &batch->messages[i], wild_late, draw);
}

/* Books what arrived: by the status if there is one, else by what the batch knows; if that is not enough, later. */
static void batch_arrived(struct batch *batch, struct message *message, const MPI_Status *status)
{
    struct book *book = batch->book;
    if (!status) {
        if (batch->wildness[book->rank] != TAME)
            return;
        message->counted = true;
        book_received(book, message->source, message->bytes);
        return;
    }
    message = NULL;
    for (int i = 0; i < batch->count; i++)
        if (batch->messages[i].tag == status->MPI_TAG)
            message = &batch->messages[i];
    uint64_t bytes = status_bytes(status);
    if (!message || message->counted || message->dest != book->rank || message->source != status->MPI_SOURCE ||
        message->bytes != bytes)
        tally_abort("rank %d comm %s: a status says source %d, tag %d, %llu bytes; no such message was sent",
                    book->rank, book->name, status->MPI_SOURCE, status->MPI_TAG, (unsigned long long)bytes);
    message->counted = true;
    book_received(book, status->MPI_SOURCE, bytes);
}

static void entry_arrived(const struct pool_entry *entry, const MPI_Status *status)
{
    batch_arrived(entry->batch, entry->message, status);
}

struct target {
    void *buffer;
    int count, source, tag;
    MPI_Datatype type;
};

/* What a receive of this message is called with. */
static struct target batch_target(const struct batch *batch, const struct message *message)
{
    struct target target = {.count = message->count + message->slack, .type = message->type.handle};
    enum wildness wildness = batch->wildness[message->dest];
    target.source = message->any_source || wildness == WILD ? MPI_ANY_SOURCE : message->source;
    target.tag = wildness == TAME ? message->tag : MPI_ANY_TAG;
    size_t bytes = (size_t)target.count * message->type.extent;
    if (wildness == WILD_TAG)
        target.source = message->source;
    if (wildness != TAME) {
        for (int i = 0; i < batch->count; i++)
            if (batch->messages[i].dest == message->dest && batch->messages[i].count > target.count)
                target.count = batch->messages[i].count;
        bytes = (size_t)target.count;
    }
    target.buffer = pool_allocate(bytes);
    return target;
}

static void receive_early(struct batch *batch, struct message *message)
{
    struct target to = batch_target(batch, message);
    bool persistent = message->arrival == ARRIVE_RECV_INIT;
    MPI_Request *request = pool_add((struct pool_entry){.kind = POOL_RECV,
                                                        .book = batch->book,
                                                        .active = !persistent,
                                                        .persistent = persistent,
                                                        .peer = to.source,
                                                        .arrived = entry_arrived,
                                                        .batch = batch,
                                                        .message = message});
    MPI_Comm comm = batch->book->comm;
    if (persistent)
        CALL(MPI_Recv_init, to.buffer, to.count, to.type, to.source, to.tag, comm, request);
    else
        CALL(MPI_Irecv, to.buffer, to.count, to.type, to.source, to.tag, comm, request);
}

static void receive_late(struct batch *batch, struct message *message)
{
    struct target to = batch_target(batch, message);
    MPI_Comm comm = batch->book->comm;
    MPI_Status probed, status;
    MPI_Status *probe = message->slack ? &probed : MPI_STATUS_IGNORE;
    if (message->arrival == ARRIVE_PROBE)
        CALL(MPI_Probe, to.source, to.tag, comm, probe);
    for (int found = 0; message->arrival == ARRIVE_IPROBE && !found;)
        CALL(MPI_Iprobe, to.source, to.tag, comm, &found, probe);
    if (message->arrival != ARRIVE_RECV && probe != MPI_STATUS_IGNORE) {
        to.source = probed.MPI_SOURCE;
        to.tag = probed.MPI_TAG;
    }
    CALL(MPI_Recv, to.buffer, to.count, to.type, to.source, to.tag, comm,
         message->ignore ? MPI_STATUS_IGNORE : &status);
    batch_arrived(batch, message, message->ignore ? NULL : &status);
}

static void send_blocking(struct book *book, const struct message *message, const void *buffer)
{
    int count = message->count, dest = message->dest, tag = message->tag;
    MPI_Datatype type = message->type.handle;
    if (message->mode == SEND)
        CALL(MPI_Send, buffer, count, type, dest, tag, book->comm);
    else if (message->mode == SSEND)
        CALL(MPI_Ssend, buffer, count, type, dest, tag, book->comm);
    else if (message->mode == RSEND)
        CALL(MPI_Rsend, buffer, count, type, dest, tag, book->comm);
    else
        CALL(MPI_Bsend, buffer, count, type, dest, tag, book->comm);
    book_sent(book, dest, message->bytes);
}

static void send_nonblocking(struct book *book, const struct message *message, const void *buffer, MPI_Request *request)
{
    int count = message->count, dest = message->dest, tag = message->tag;
    MPI_Datatype type = message->type.handle;
    if (message->mode == ISEND)
        CALL(MPI_Isend, buffer, count, type, dest, tag, book->comm, request);
    else if (message->mode == ISSEND)
        CALL(MPI_Issend, buffer, count, type, dest, tag, book->comm, request);
    else if (message->mode == IRSEND)
        CALL(MPI_Irsend, buffer, count, type, dest, tag, book->comm, request);
    else if (message->mode == IBSEND)
        CALL(MPI_Ibsend, buffer, count, type, dest, tag, book->comm, request);
    else if (message->mode == SEND_INIT)
        CALL(MPI_Send_init, buffer, count, type, dest, tag, book->comm, request);
    else if (message->mode == SSEND_INIT)
        CALL(MPI_Ssend_init, buffer, count, type, dest, tag, book->comm, request);
    else if (message->mode == RSEND_INIT)
        CALL(MPI_Rsend_init, buffer, count, type, dest, tag, book->comm, request);
    else
        CALL(MPI_Bsend_init, buffer, count, type, dest, tag, book->comm, request);
}

static void batch_send(struct batch *batch, int i)
{
    struct message *message = &batch->messages[i];
    struct book *book = batch->book;
    void *buffer = pool_allocate((size_t)message->count * message->type.extent);
    if (message->mode <= BSEND) {
        send_blocking(book, message, buffer);
        return;
    }
    if (message->freed) {
        send_nonblocking(book, message, buffer, &batch->freed[i]);
        book_send_pending(book, message->dest, message->bytes);
        return;
    }
    bool persistent = message->mode >= SEND_INIT;
    MPI_Request *request = pool_add((struct pool_entry){.kind = POOL_SEND,
                                                        .book = book,
                                                        .active = !persistent,
                                                        .persistent = persistent,
                                                        .peer = message->dest,
                                                        .bytes = message->bytes});
    send_nonblocking(book, message, buffer, request);
}

void batch_post(struct batch *batch, struct draw *own)
{
    struct book *book = batch->book;
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];
        pool_add_nothing(book, own);
        if (message->dest == book->rank && arrival_is_early(message->arrival))
            receive_early(batch, message);
    }
    pool_start(POOL_RECV, own);
    if (batch->handshake)
        book_barrier(book);
    for (int i = 0; i < batch->count; i++) {
        pool_add_nothing(book, own);
        if (batch->messages[i].source == book->rank)
            batch_send(batch, i);
    }
    pool_start(POOL_SEND, own);
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];
        if (message->dest == book->rank && !arrival_is_early(message->arrival))
            receive_late(batch, message);
    }
}

void batch_close(struct batch *batch)
{
    struct book *book = batch->book;
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];
        if (message->dest == book->rank && !message->counted)
            book_received(book, message->source, message->bytes);
    }
    if (batch->fence)
        book_barrier(book);
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];
        if (!message->freed || message->source != book->rank)
            continue;
        CALL(MPI_Request_free, &batch->freed[i]);
        book_send_ended(book, message->dest, message->bytes, false);
    }
    batch->unsettled = false;
}
