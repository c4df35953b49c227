/*
 * mixture FILE [SEED [ROUNDS]]
 *
 * Calls that complete many requests, over random mixtures of them: 0 to 40 in random order, of three communicators:
 * sends and receives (of anybody, to and from nobody, persistent), null and inactive requests, nonblocking collectives,
 * generalized requests, accesses to windows and to FILE. The program counts for itself, by function, communicator, size
 * and peer, and holds all that mpit shows against that after each 25 rounds. Exit status: 0 all agree, 1 they do not,
 * 77 mpit is not there.
 *
 *   all processes draw the same items and post them in the same order; where an item's requests stand, and how they are
 *   completed, each draws for itself:
 *
 *     items ──post──> slots[], requests[], in an order of this process's ──> completion calls on stretches of the array
 */
#include "tally_book.h"
#include "tally_comms.h"
#include "tally_draw.h"
#include "tally_pvars.h"
#include "tally_verdict.h"

#include <stdio.h>
#include <stdlib.h>

/* No window on the halves: Open MPI 4.1.4 gives the memory of both one name, and fails to make it now and then. */
enum { MOST = 40, WINDOWS = 2, COMMS = 3, BYTES_MOST = 70000, PLACE_BYTES = 64 };

enum kind {
    NOTHING,
    INACTIVE,
    MESSAGE, /* two requests */
    PERSISTENT,
    TO_NOBODY,
    FROM_NOBODY,
    COLLECTIVE,
    GENERAL,
    ACCESS, /* to a window */
    FILE_ACCESS,
    KINDS,
};

struct slot {
    enum kind kind;
    bool active, receives;
    struct book *book;
    int peer;
    uint64_t bytes, in, out; /* in, out: of a collective */
    enum book_op op;
    uint64_t *io; /* where the bytes of an access to a file are counted, when it has ended */
};

static struct part {
    struct book *book;
    MPI_Comm comm;
    MPI_Win win;
    MPI_File file;
    char *window;
    uint64_t rma_bytes, io_bytes;
    struct pvar rma, io;
} parts[COMMS];

static struct slot slots[MOST];
static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];
static int places[MOST], indices[MOST];
static int used, posted, active, rank;
static bool watch; /* mpit is there */
static char out[BYTES_MOST], in[MOST][BYTES_MOST];
static uint64_t completed;

/* ---- posting ----------------------------------------------------------------------------------------------------- */

/* The next place of this process's order. */
static int slot_take(struct slot slot)
{
    int i = places[posted++];
    slots[i] = slot;
    active += slot.active;
    return i;
}

static void pending(const struct slot *slot)
{
    if (slot->receives)
        book_recv_pending(slot->book, slot->peer);
    else
        book_send_pending(slot->book, slot->peer, slot->bytes);
}

static void message_post(struct book *book, bool persistent, struct draw *draw)
{
    static const int sizes[] = {0, 1, 8, 300, 5000, 8191, 8192, BYTES_MOST};
    int shift = draw_below(draw, book->size), bytes = sizes[draw_below(draw, 8)], tag = book->tag++;
    int right = (book->rank + shift) % book->size, left = (book->rank + book->size - shift) % book->size;
    int from = draw_chance(draw, 50) ? MPI_ANY_SOURCE : left;
    struct slot slot = {
        .kind = persistent ? PERSISTENT : MESSAGE, .active = true, .book = book, .bytes = (uint64_t)bytes};
    slot.peer = right;
    int s = slot_take(slot);
    slot.receives = true;
    slot.peer = left;
    int r = slot_take(slot);
    if (persistent) {
        CALL(MPI_Recv_init, in[r], BYTES_MOST, MPI_BYTE, from, tag, book->comm, &requests[r]);
        CALL(MPI_Send_init, out, bytes, MPI_BYTE, right, tag, book->comm, &requests[s]);
        CALL(MPI_Start, &requests[r]);
        CALL(MPI_Start, &requests[s]);
    } else {
        CALL(MPI_Irecv, in[r], BYTES_MOST, MPI_BYTE, from, tag, book->comm, &requests[r]);
        CALL(MPI_Isend, out, bytes, MPI_BYTE, right, tag, book->comm, &requests[s]);
    }
    pending(&slots[r]);
    pending(&slots[s]);
}

static void collective_post(struct book *book, struct draw *draw)
{
    struct slot slot = {.kind = COLLECTIVE, .active = true, .book = book};
    int i = slot_take(slot), count = draw_below(draw, 40), root = draw_below(draw, book->size);
    struct slot *s = &slots[i];
    uint64_t bytes = (uint64_t)count * sizeof(int);
    switch (draw_below(draw, 3)) {
    case 0:
        s->op = OP_BARRIER;
        CALL(MPI_Ibarrier, book->comm, &requests[i]);
        break;
    case 1:
        s->op = OP_BCAST;
        s->in = root == book->rank ? bytes : 0;
        s->out = root == book->rank ? 0 : bytes;
        CALL(MPI_Ibcast, in[i], count, MPI_INT, root, book->comm, &requests[i]);
        break;
    default:
        s->op = OP_ALLREDUCE;
        s->in = s->out = bytes;
        CALL(MPI_Iallreduce, out, in[i], count, MPI_INT, MPI_MAX, book->comm, &requests[i]);
    }
}

static int general_query(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int general_free(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int general_cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void general_post(void)
{
    int i = slot_take((struct slot){.kind = GENERAL, .active = true});
    CALL(MPI_Grequest_start, general_query, general_free, general_cancel, NULL, &requests[i]);
    CALL(MPI_Grequest_complete, requests[i]);
}

static void access_post(struct part *part, struct draw *draw)
{
    int peer = (part->book->rank + draw_below(draw, part->book->size)) % part->book->size, kind = draw_below(draw, 3);
    int i = slot_take((struct slot){.kind = ACCESS, .active = true, .book = part->book});
    MPI_Aint place = (MPI_Aint)part->book->rank * PLACE_BYTES; /* each writes into one of its own */
    if (kind == 0)
        CALL(MPI_Rput, out, 16, MPI_BYTE, peer, place, 16, MPI_BYTE, part->win, &requests[i]);
    else if (kind == 1)
        CALL(MPI_Raccumulate, out, 4, MPI_INT, peer, place + PLACE_BYTES / 2, 4, MPI_INT, MPI_SUM, part->win,
             &requests[i]);
    else
        CALL(MPI_Rget, in[i], 16, MPI_BYTE, peer, place, 16, MPI_BYTE, part->win, &requests[i]);
    part->rma_bytes += 16;
}

static int file_post(struct part *part, struct draw *draw)
{
    int i = slot_take(
        (struct slot){.kind = FILE_ACCESS, .active = true, .book = part->book, .bytes = 24, .io = &part->io_bytes});
    MPI_Offset place = (MPI_Offset)part->book->rank * PLACE_BYTES;
    if (draw_chance(draw, 50))
        CALL(MPI_File_iwrite_at, part->file, place, out, 24, MPI_BYTE, &requests[i]);
    else
        CALL(MPI_File_iread_at, part->file, place, in[i], 24, MPI_BYTE, &requests[i]);
    return i;
}

static void nobody_post(struct book *book, bool receives)
{
    int i = slot_take((struct slot){.kind = receives ? FROM_NOBODY : TO_NOBODY,
                                    .active = true,
                                    .receives = receives,
                                    .book = book,
                                    .peer = MPI_PROC_NULL});
    if (receives)
        CALL(MPI_Irecv, in[i], 9, MPI_BYTE, MPI_PROC_NULL, 1, book->comm, &requests[i]);
    else
        CALL(MPI_Isend, out, 9, MPI_BYTE, MPI_PROC_NULL, 1, book->comm, &requests[i]);
}

/* ---- completing -------------------------------------------------------------------------------------------------- */

static void slot_completed(int i)
{
    struct slot *slot = &slots[i];
    if (!slot->active)
        return;
    slot->active = false;
    active--;
    completed++;
    verdict_check((requests[i] == MPI_REQUEST_NULL) == (slot->kind != PERSISTENT), "request %d of kind %d", i,
                  slot->kind);
    if (slot->kind == COLLECTIVE) {
        book_collected(slot->book, slot->op, slot->in, slot->out);
    } else if (slot->io) {
        *slot->io += slot->bytes;
    } else if (slot->kind != GENERAL && slot->kind != ACCESS) {
        if (slot->receives)
            book_recv_ended(slot->book, slot->peer);
        if (slot->receives)
            book_received(slot->book, slot->peer, slot->bytes);
        else
            book_send_ended(slot->book, slot->peer, slot->bytes, true);
    }
}

static void one_complete(int first, int count, bool waits, MPI_Status *status)
{
    int i = 0, flag = 1;
    if (waits)
        CALL(MPI_Waitany, count, requests + first, &i, status);
    else
        CALL(MPI_Testany, count, requests + first, &i, &flag, status);
    if (flag && i != MPI_UNDEFINED)
        slot_completed(first + i);
}

static void single_complete(int i, bool waits, MPI_Status *status)
{
    int flag = 1;
    if (waits)
        CALL(MPI_Wait, &requests[i], status);
    else
        CALL(MPI_Test, &requests[i], &flag, status);
    if (flag)
        slot_completed(i);
}

static void some_complete(int first, int count, bool waits, MPI_Status *list)
{
    int ended;
    if (waits)
        CALL(MPI_Waitsome, count, requests + first, &ended, indices, list);
    else
        CALL(MPI_Testsome, count, requests + first, &ended, indices, list);
    for (int i = 0; ended != MPI_UNDEFINED && i < ended; i++)
        slot_completed(first + indices[i]);
}

static void all_complete(int first, int count, bool waits, MPI_Status *list)
{
    int flag = 1;
    if (waits)
        CALL(MPI_Waitall, count, requests + first, list);
    else
        CALL(MPI_Testall, count, requests + first, &flag, list);
    for (int i = 0; flag && i < count; i++)
        slot_completed(first + i);
}

/* A stretch of the array; of all of it as a rule. */
static void complete(struct draw *own)
{
    int first = draw_chance(own, 60) ? 0 : draw_below(own, used + 1), count = used - first;
    bool waits = draw_chance(own, 60), ignores = draw_chance(own, 50);
    if (draw_chance(own, 40))
        count = draw_below(own, count + 1);
    MPI_Status *status = ignores ? MPI_STATUS_IGNORE : &statuses[0];
    MPI_Status *list = ignores ? MPI_STATUSES_IGNORE : statuses;
    switch (draw_below(own, 6)) {
    case 0:
        one_complete(first, count, waits, status);
        break;
    case 1:
        some_complete(first, count, waits, list);
        break;
    case 2:
        if (count) {
            single_complete(first, waits, status);
            break;
        }
        /* fall through */
    default:
        all_complete(first, count, waits, list);
    }
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* MPICH 4.0.2 stops the program with an internal error, without mpit as well, when requests of files are completed
 * among others. */
static void file_done(int i)
{
#if defined(MPICH_VERSION)
    all_complete(i, 1, true, &statuses[0]);
#else
    (void)i;
#endif
}

static void item_post(struct draw *draw)
{
    struct part *part = &parts[draw_below(draw, COMMS)];
    enum kind kind = draw_chance(draw, 50) ? MESSAGE : (enum kind)draw_below(draw, KINDS);
    if ((kind == MESSAGE || kind == PERSISTENT) && used - posted < 2)
        kind = NOTHING;
    if (kind == MESSAGE || kind == PERSISTENT)
        message_post(part->book, kind == PERSISTENT, draw);
    else if (kind == COLLECTIVE)
        collective_post(part->book, draw);
    else if (kind == GENERAL)
        general_post();
    else if (kind == ACCESS)
        access_post(part < parts + WINDOWS ? part : parts, draw);
    else if (kind == FILE_ACCESS)
        file_done(file_post(part, draw));
    else if (kind == TO_NOBODY || kind == FROM_NOBODY)
        nobody_post(part->book, kind == FROM_NOBODY);
    else {
        int i = slot_take((struct slot){.kind = kind});
        if (kind == INACTIVE)
            CALL(MPI_Recv_init, in[i], 9, MPI_BYTE, MPI_ANY_SOURCE, 0, part->book->comm, &requests[i]);
    }
}

static void round_run(struct draw *draw, struct draw *own)
{
    used = draw_below(draw, MOST + 1);
    posted = 0;
    for (int i = 0; i < used; i++) {
        int other = draw_below(own, i + 1);
        places[i] = places[other];
        places[other] = i;
        requests[i] = MPI_REQUEST_NULL;
    }
    while (posted < used)
        item_post(draw);
    do
        complete(own);
    while (active);
    for (int i = 0; i < used; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            CALL(MPI_Request_free, &requests[i]);
}

static void compare_all(void)
{
    for (int i = 0; i < COMMS; i++) {
        pvars_compare(parts[i].book);
        verdict_figure(parts[i].book->name, "mpit_rma_bytes", "", pvar_value(&parts[i].rma, 0), parts[i].rma_bytes);
        verdict_figure(parts[i].book->name, "mpit_io_bytes", "", pvar_value(&parts[i].io, 0), parts[i].io_bytes);
    }
    pvars_compare_calls();
}

/* What is made before the handles are started is not counted. */
static void parts_open(const char *path, MPI_T_pvar_session session)
{
    static const char *const names[COMMS] = {"world", "dup", "half"};
    parts[0].comm = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &parts[1].comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &parts[2].comm);
    comms_watch(watch);
    for (int i = 0; i < COMMS; i++) {
        struct part *part = &parts[i];
        char name[4096];
        int size, half = i == 2 ? rank % 2 : 0;
        MPI_Comm_size(part->comm, &size);
        snprintf(name, sizeof name, "%s.%d.%d", path, i, half);
        if (i < WINDOWS) {
            MPI_Win_allocate((MPI_Aint)size * PLACE_BYTES, 1, MPI_INFO_NULL, part->comm, &part->window, &part->win);
            MPI_Win_lock_all(0, part->win);
        }
        MPI_File_open(part->comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &part->file);
        MPI_File_set_size(part->file, (MPI_Offset)size * PLACE_BYTES);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COMMS; i++) {
        struct part *part = &parts[i];
        part->book = comm_open(part->comm, names[i], (uint64_t)i + 1);
        if (!watch)
            continue;
        part->rma = pvar_open(session, "mpit_rma_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &part->comm);
        part->io = pvar_open(session, "mpit_io_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &part->comm);
        pvar_start(&part->rma);
        pvar_start(&part->io);
    }
    if (watch)
        pvars_bind_calls();
}

static void parts_close(void)
{
    for (int i = COMMS; i-- > 0;) {
        if (watch) {
            pvar_close(&parts[i].rma);
            pvar_close(&parts[i].io);
            pvars_release(parts[i].book);
        }
        MPI_File_close(&parts[i].file);
        if (i < WINDOWS) {
            MPI_Win_unlock_all(parts[i].win);
            MPI_Win_free(&parts[i].win);
        }
        book_close(parts[i].book);
        if (i)
            MPI_Comm_free(&parts[i].comm);
    }
}

static int run_all(const char *path, uint64_t seed, int rounds)
{
    MPI_T_pvar_session session;
    tool_check(MPI_T_pvar_session_create(&session), "MPI_T_pvar_session_create", "a session");
    parts_open(path, session);
    for (int i = 1; i <= rounds; i++) {
        struct draw draw = draw_stream(seed, (uint64_t)i, 0), own = draw_stream(seed, (uint64_t)i, (uint64_t)rank + 10);
        round_run(&draw, &own);
        if (watch && (i % 25 == 0 || i == rounds))
            compare_all();
    }
    uint64_t all[3], mine[3] = {completed, verdict_compared(), verdict_failures()};
    MPI_Reduce(mine, all, 3, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("seed %llu, %d rounds: %llu requests completed; %llu compared, %llu mismatches\n",
               (unsigned long long)seed, rounds, (unsigned long long)all[0], (unsigned long long)all[1],
               (unsigned long long)all[2]);
    parts_close();
    MPI_T_pvar_session_free(&session);
    return verdict_failures() != 0;
}

int main(int argc, char **argv)
{
    int provided;
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: mixture FILE [SEED [ROUNDS]]\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    tool_check(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "MPI_T_init_thread", "mixture");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    verdict_open(rank);
    watch = pvars_open();
    int status = run_all(argv[1], argc > 2 ? strtoull(argv[2], NULL, 0) : 1, argc > 3 ? atoi(argv[3]) : 100);
    MPI_T_finalize();
    MPI_Finalize();
    return watch ? status : 77;
}
