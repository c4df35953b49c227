#include "tally_book.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const book_op_names[OP_COUNT] = {
    [OP_BARRIER] = "MPI_Barrier",
    [OP_BCAST] = "MPI_Bcast",
    [OP_GATHER] = "MPI_Gather",
    [OP_GATHERV] = "MPI_Gatherv",
    [OP_SCATTER] = "MPI_Scatter",
    [OP_SCATTERV] = "MPI_Scatterv",
    [OP_ALLGATHER] = "MPI_Allgather",
    [OP_ALLGATHERV] = "MPI_Allgatherv",
    [OP_ALLTOALL] = "MPI_Alltoall",
    [OP_ALLTOALLV] = "MPI_Alltoallv",
    [OP_ALLTOALLW] = "MPI_Alltoallw",
    [OP_REDUCE] = "MPI_Reduce",
    [OP_ALLREDUCE] = "MPI_Allreduce",
    [OP_REDUCE_SCATTER] = "MPI_Reduce_scatter",
    [OP_REDUCE_SCATTER_BLOCK] = "MPI_Reduce_scatter_block",
    [OP_SCAN] = "MPI_Scan",
    [OP_EXSCAN] = "MPI_Exscan",
};

struct book_call book_calls[BOOK_CALLS];

uint64_t *book_call(const char *name)
{
    size_t i = 0;
    while (i < BOOK_CALLS && book_calls[i].name && strcmp(book_calls[i].name, name) != 0)
        i++;
    if (i == BOOK_CALLS)
        tally_abort("the book has no place for more than %d functions", BOOK_CALLS);
    book_calls[i].name = name;
    return &book_calls[i].count;
}

void tally_abort(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("traffic: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

void call_check(int code, const char *name)
{
    if (code != MPI_SUCCESS)
        tally_abort("%s returned %d", name, code);
}

void *tally_allocate(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory)
        tally_abort("no memory for %zu bytes", bytes);
    return memory;
}

struct book *book_open(MPI_Comm comm, const char *name, uint64_t key)
{
    struct book *book = tally_allocate(sizeof *book);
    book->comm = comm;
    book->key = key;
    snprintf(book->name, sizeof book->name, "%s", name);
    MPI_Comm_rank(comm, &book->rank);
    MPI_Comm_size(comm, &book->size);
    book->processes = (uint64_t)book->size;
    book->tag = 1;
    book->message_low = UINT64_MAX;
    size_t peers = (size_t)book->size * sizeof(uint64_t);
    book->peer_send_count = tally_allocate(peers);
    book->peer_recv_count = tally_allocate(peers);
    book->peer_send_bytes = tally_allocate(peers);
    book->peer_recv_bytes = tally_allocate(peers);
    return book;
}

void book_close(struct book *book)
{
    free(book->peer_send_count);
    free(book->peer_recv_count);
    free(book->peer_send_bytes);
    free(book->peer_recv_bytes);
    free(book);
}

unsigned book_bucket(uint64_t bytes)
{
    unsigned bucket = 0;
    while (bytes >> bucket && bucket < BOOK_BUCKETS - 1)
        bucket++;
    return bucket;
}

static void level_raise(struct book_level *level, uint64_t by)
{
    level->now += by;
    if (level->now > level->high)
        level->high = level->now;
}

static void level_sink(struct book_level *level, uint64_t by)
{
    if (level->now < by)
        tally_abort("the book's level went below 0");
    level->now -= by;
    if (level->now < level->low)
        level->low = level->now;
}

static void book_message(struct book *book, uint64_t bytes)
{
    if (bytes < BOOK_LARGE_BYTES)
        book->small_count++;
    else
        book->large_count++;
    if (bytes > book->message_high)
        book->message_high = bytes;
    if (bytes < book->message_low)
        book->message_low = bytes;
}

static void book_posted(struct book *book, int peer, uint64_t bytes)
{
    book->send_count++;
    book->send_bytes += bytes;
    book->send_size_count[book_bucket(bytes)]++;
    book->send_size_bytes[book_bucket(bytes)] += bytes;
    book->peer_send_count[peer]++;
    book->peer_send_bytes[peer] += bytes;
    book_message(book, bytes);
}

void book_sent(struct book *book, int peer, uint64_t bytes)
{
    if (peer == MPI_PROC_NULL)
        return;
    book_posted(book, peer, bytes);
    book->done_count++;
}

void book_received(struct book *book, int peer, uint64_t bytes)
{
    if (peer == MPI_PROC_NULL)
        return;
    book->recv_count++;
    book->recv_bytes += bytes;
    book->recv_size_count[book_bucket(bytes)]++;
    book->recv_size_bytes[book_bucket(bytes)] += bytes;
    book->peer_recv_count[peer]++;
    book->peer_recv_bytes[peer] += bytes;
    book->done_count++;
    book_message(book, bytes);
}

void book_send_pending(struct book *book, int peer, uint64_t bytes)
{
    if (peer == MPI_PROC_NULL)
        return;
    book_posted(book, peer, bytes);
    level_raise(&book->pending_sends, 1);
    level_raise(&book->pending_bytes, bytes);
}

void book_recv_pending(struct book *book, int peer)
{
    if (peer != MPI_PROC_NULL)
        level_raise(&book->pending_recvs, 1);
}

void book_send_ended(struct book *book, int peer, uint64_t bytes, bool completed)
{
    if (peer == MPI_PROC_NULL)
        return;
    level_sink(&book->pending_sends, 1);
    level_sink(&book->pending_bytes, bytes);
    if (completed)
        book->done_count++;
}

void book_recv_ended(struct book *book, int peer)
{
    if (peer != MPI_PROC_NULL)
        level_sink(&book->pending_recvs, 1);
}

void book_collected(struct book *book, enum book_op op, uint64_t in, uint64_t out)
{
    book->coll_count++;
    book->coll_bytes += in + out;
    book->coll_op_count[op]++;
    book->coll_size_count[book_bucket(in + out)]++;
}

static uint64_t sum(const uint64_t *values, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += values[i];
    return total;
}

const char *book_is_valid(const struct book *book)
{
    size_t peers = (size_t)book->size;
    if (sum(book->send_size_count, BOOK_BUCKETS) != book->send_count ||
        sum(book->recv_size_count, BOOK_BUCKETS) != book->recv_count)
        return "messages by size and messages";
    if (sum(book->send_size_bytes, BOOK_BUCKETS) != book->send_bytes ||
        sum(book->recv_size_bytes, BOOK_BUCKETS) != book->recv_bytes)
        return "bytes by size and bytes";
    if (sum(book->peer_send_count, peers) != book->send_count || sum(book->peer_recv_count, peers) != book->recv_count)
        return "messages by peer and messages";
    if (sum(book->peer_send_bytes, peers) != book->send_bytes || sum(book->peer_recv_bytes, peers) != book->recv_bytes)
        return "bytes by peer and bytes";
    if (book->small_count + book->large_count != book->send_count + book->recv_count)
        return "small + large and sends + receives";
    if (sum(book->coll_op_count, OP_COUNT) != book->coll_count)
        return "collectives by kind and collectives";
    return NULL;
}
