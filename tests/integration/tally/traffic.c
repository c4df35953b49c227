/*
 * traffic [--count-only] [SEED [ROUNDS]]
 *
 * Makes seeded random traffic, counts it for itself, and holds every variable that mpit shows against its own count, to
 * the last message. Exit status: 0 all agree, 1 they do not, 77 mpit is not there. With --count-only no variable is
 * read; what the processes counted is held against each other, which is done in any case.
 *
 * A round picks one or two communicators and what happens on them. All processes make the same picks from the seed.
 */
#include "tally_book.h"
#include "tally_clocks.h"
#include "tally_collectives.h"
#include "tally_comms.h"
#include "tally_corners.h"
#include "tally_draw.h"
#include "tally_messages.h"
#include "tally_pool.h"
#include "tally_pvars.h"
#include "tally_types.h"
#include "tally_verdict.h"
#include "tally_windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STANDING = 11 };

struct run {
    uint64_t seed;
    int rounds;
    bool watch; /* mpit's variables */
    int rank;
    struct book *books[STANDING]; /* NULL: this process has no part in it */
};

static const struct {
    const char *name;
    enum comm_kind kind;
    int parent; /* its place in books */
} standing[STANDING] = {
    {"world", 0, -1},
    {"self", 0, -1},
    {"dup", COMM_DUP, 0},
    {"idup", COMM_IDUP, 0},
    {"half", COMM_SPLIT, 0},
    {"most", COMM_SPLIT_SOME, 2},
    {"node", COMM_SPLIT_TYPE, 0},
    {"group", COMM_CREATE, 3},
    {"cart", COMM_CART, 0},
    {"row", COMM_CART_SUB, 8},
    {"halfdup", COMM_DUP_WITH_INFO, 4},
};

static void comms_open(struct run *run, struct draw *own)
{
    run->books[0] = comm_open(MPI_COMM_WORLD, standing[0].name, 1);
    run->books[1] = comm_open(MPI_COMM_SELF, standing[1].name, (uint64_t)run->rank + 2);
    for (int i = 2; i < STANDING; i++) {
        struct book *parent = run->books[standing[i].parent];
        if (!parent)
            continue;
        struct draw draw = draw_stream(run->seed ^ parent->key, 0, (uint64_t)i);
        run->books[i] = comm_make(parent, standing[i].kind, standing[i].name, &draw, own);
    }
}

static void comms_close(struct run *run)
{
    for (int i = STANDING - 1; i >= 0; i--)
        if (run->books[i])
            comm_drop(run->books[i], i > 1 ? run->books[standing[i].parent] : NULL);
}

static void collectives(struct book *book, bool nonblocking, int limit, struct draw *draw)
{
    int count = draw_below(draw, limit + 1);
    for (int i = 0; i < count; i++)
        collective_run(book, (enum book_op)draw_below(draw, OP_COUNT), nonblocking, draw);
}

/*
 * Batches on up to two communicators, with nonblocking collectives among them, all completed together. With types_draw,
 * which all processes of the program then draw from, a datatype is freed and made again meanwhile.
 */
static void round_batches(struct run *run, struct book **books, struct draw *types_draw, struct draw *streams,
                          struct draw *own)
{
    static struct batch batches[2];
    bool unsettled = false;
    for (int i = 0; i < 2; i++) {
        if (!books[i])
            continue;
        batch_draw(&batches[i], books[i], &streams[i]);
        batch_post(&batches[i], own);
        collectives(books[i], true, 2, &streams[i]);
        unsettled |= batches[i].unsettled;
    }
    if (types_draw)
        types_renew(types_draw); /* the traffic in flight keeps the old one alive */
    for (int i = 0; i < 2 && run->watch && !unsettled; i++)
        if (books[i] && draw_chance(own, 50))
            pvars_compare(books[i]);
    pool_drain(own);
    for (int i = 0; i < 2; i++)
        if (books[i])
            batch_close(&batches[i]);
}

/* A communicator that lives for one round. */
static void round_child(struct run *run, struct book *parent, struct draw *stream, struct draw *own)
{
    enum comm_kind kind = (enum comm_kind)draw_below(stream, COMM_KINDS);
    struct book *pair[2] = {comm_make(parent, kind, "child", stream, own), NULL};
    if (!pair[0])
        return;
    struct draw streams[2] = {draw_stream(pair[0]->key, run->seed, 3)};
    round_batches(run, pair, NULL, streams, own);
    pool_clear();
    collectives(pair[0], false, 3, &streams[0]);
    pool_clear();
    if (run->watch) {
        pvars_compare(pair[0]);
        clocks_check_comm(pair[0]);
    }
    comm_drop(pair[0], parent);
}

static void round_run(struct run *run, int number, struct draw *draw, struct draw *own)
{
    int first = draw_below(draw, STANDING), kind = draw_below(draw, 24);
    int second = draw_chance(draw, 50) ? (first + 1 + draw_below(draw, STANDING - 1)) % STANDING : STANDING;
    struct book *books[2] = {run->books[first], second < STANDING ? run->books[second] : NULL};
    struct draw streams[2];
    for (int i = 0; i < 2; i++)
        streams[i] = draw_stream(run->seed ^ (books[i] ? books[i]->key : 0), (uint64_t)number, 2);
    if (draw_chance(draw, 30))
        types_renew(draw);
    if (kind < 10) {
        round_batches(run, books, draw_chance(draw, 30) ? draw : NULL, streams, own);
        return;
    }
    if (!books[0])
        return;
    if (kind < 14)
        collectives(books[0], false, 5, &streams[0]);
    else if (kind < 16)
        collectives(books[0], true, 5, &streams[0]);
    else if (kind < 18)
        for (int i = 0; i < 3; i++)
            corner_shift(books[0], &streams[0]);
    else if (kind == 18)
        corner_null(books[0], own);
    else if (kind == 19)
        corner_cancel(books[0], own);
    else if (kind < 22)
        corner_ring(books[0], &streams[0], own);
    else
        round_child(run, books[0], &streams[0], own);
    pool_drain(own);
}

static void compare_all(struct run *run)
{
    for (int i = 0; i < STANDING && run->watch; i++)
        if (run->books[i]) {
            pvars_compare(run->books[i]);
            clocks_check_comm(run->books[i]);
        }
    if (run->watch)
        pvars_compare_calls();
}

static void rounds_run(struct run *run)
{
    void *buffer = tally_allocate(BATCH_BUFFER_BYTES), *detached;
    for (int i = 1; i <= run->rounds; i++) {
        struct draw draw = draw_stream(run->seed, (uint64_t)i, 0);
        struct draw own = draw_stream(run->seed, (uint64_t)i, (uint64_t)run->rank + 10);
        int size;
        MPI_Buffer_attach(buffer, BATCH_BUFFER_BYTES);
        round_run(run, i, &draw, &own);
        CALL(MPI_Buffer_detach, &detached, &size);
        pool_clear();
        if (i % 25 == 0)
            compare_all(run);
    }
    free(buffer);
}

/* Every message that one process says it sent, the other says it received. Not counted: the books are closed. */
static void books_match(struct run *run)
{
    for (int i = 0; i < STANDING; i++) {
        struct book *book = run->books[i];
        if (!book)
            continue;
        uint64_t *said = tally_allocate((size_t)book->size * sizeof *said);
        MPI_Alltoall(book->peer_send_count, 1, MPI_UINT64_T, said, 1, MPI_UINT64_T, book->comm);
        for (int peer = 0; peer < book->size; peer++)
            verdict_check(said[peer] == book->peer_recv_count[peer],
                          "comm %s: process %d sent %llu messages, %llu were received", book->name, peer,
                          (unsigned long long)said[peer], (unsigned long long)book->peer_recv_count[peer]);
        MPI_Alltoall(book->peer_send_bytes, 1, MPI_UINT64_T, said, 1, MPI_UINT64_T, book->comm);
        for (int peer = 0; peer < book->size; peer++)
            verdict_check(said[peer] == book->peer_recv_bytes[peer],
                          "comm %s: process %d sent %llu bytes, %llu were received", book->name, peer,
                          (unsigned long long)said[peer], (unsigned long long)book->peer_recv_bytes[peer]);
        free(said);
    }
}

static void totals_print(const struct run *run)
{
    enum { SENT, RECEIVED, BYTES, COLLECTIVES, CALLS, COMPARED, FAILED, TOTALS };
    uint64_t own[TOTALS] = {0}, all[TOTALS];
    int size;
    for (int i = 0; i < STANDING; i++) {
        const struct book *book = run->books[i];
        own[SENT] += book ? book->send_count : 0;
        own[RECEIVED] += book ? book->recv_count : 0;
        own[BYTES] += book ? book->send_bytes : 0;
        own[COLLECTIVES] += book ? book->coll_count : 0;
    }
    for (int i = 0; i < BOOK_CALLS && book_calls[i].name; i++)
        own[CALLS] += book_calls[i].count;
    own[COMPARED] = verdict_compared();
    own[FAILED] = verdict_failures();
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Reduce(own, all, TOTALS, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (run->rank == 0)
        printf("seed %llu, %d rounds, %d processes: %llu messages sent, %llu received, %llu bytes, %llu collectives, "
               "%llu calls; %llu compared, %llu mismatches\n",
               (unsigned long long)run->seed, run->rounds, size, (unsigned long long)all[SENT],
               (unsigned long long)all[RECEIVED], (unsigned long long)all[BYTES], (unsigned long long)all[COLLECTIVES],
               (unsigned long long)all[CALLS], (unsigned long long)all[COMPARED], (unsigned long long)all[FAILED]);
}

static void run_all(struct run *run)
{
    struct draw draw = draw_stream(run->seed, 0, 0), own = draw_stream(run->seed, 0, (uint64_t)run->rank + 10);
    if (run->watch) {
        pvars_bind_calls();
        clocks_open();
        comms_watch(true);
    }
    types_open(&draw);
    comms_open(run, &own);
    rounds_run(run);
    if (run->watch) {
        windows_check(run->books[1], &own);
        clocks_check_delay(run->books[0], &draw, &own);
    }
    compare_all(run);
    if (run->watch)
        clocks_check();
    books_match(run);
    totals_print(run);
    types_close();
    comms_close(run);
    if (run->watch)
        pvars_close();
}

static bool run_read(struct run *run, int argc, char **argv)
{
    int next = 1;
    *run = (struct run){.seed = 1, .rounds = 200, .watch = true};
    if (next < argc && strcmp(argv[next], "--count-only") == 0) {
        run->watch = false;
        next++;
    }
    if (next < argc)
        run->seed = strtoull(argv[next++], NULL, 0);
    if (next < argc)
        run->rounds = atoi(argv[next++]);
    return next == argc && run->rounds >= 0;
}

int main(int argc, char **argv)
{
    struct run run;
    int provided;
    if (!run_read(&run, argc, argv)) {
        fprintf(stderr, "usage: traffic [--count-only] [SEED [ROUNDS]]\n");
        return 2;
    }
    /* both orders of the two initializations are allowed */
    if (run.watch && run.seed % 2)
        tool_check(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "MPI_T_init_thread", "traffic");
    MPI_Init(&argc, &argv);
    if (run.watch && run.seed % 2 == 0)
        tool_check(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "MPI_T_init_thread", "traffic");
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    verdict_open(run.rank);
    int status = 77;
    if (run.watch && !pvars_open()) {
        if (run.rank == 0)
            printf("mpit is not loaded: there is no variable mpit_send_count\n");
    } else if (!verdict_failures()) {
        run_all(&run);
        status = verdict_failures() != 0;
    } else {
        status = 1; /* variables that are not as the catalogue has them cannot be compared */
    }
    if (run.watch)
        MPI_T_finalize();
    MPI_Finalize();
    return status;
}
