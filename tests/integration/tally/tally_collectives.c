#include "tally_collectives.h"

#include "tally_pool.h"
#include "tally_types.h"

struct collective {
    struct book *book;
    enum book_op op;
    struct type type;
    int count; /* of a block; v and w: drawn for each block */
    int root;
    bool in_place;
    uint64_t key;         /* of the stream that block sizes are drawn from */
    MPI_Request *request; /* NULL: blocking */
    uint64_t in, out;     /* bytes, as the book has them */
};

#define EITHER(blocking, nonblocking, ...)                                                                             \
    do {                                                                                                               \
        if (c->request)                                                                                                \
            CALL(nonblocking, __VA_ARGS__, c->request);                                                                \
        else                                                                                                           \
            CALL(blocking, __VA_ARGS__);                                                                               \
    } while (0)

static bool is_root(const struct collective *c)
{
    return c->book->rank == c->root;
}

static uint64_t bytes_of(const struct collective *c, int count)
{
    return (uint64_t)count * (uint64_t)c->type.size;
}

/* Arguments that are not significant are what no one may look at. */
static int unless(bool insignificant, int count)
{
    return insignificant ? -1 : count;
}

static MPI_Datatype type_unless(bool insignificant, MPI_Datatype type)
{
    return insignificant ? MPI_DATATYPE_NULL : type;
}

static void *blocks(const struct collective *c, int count)
{
    return pool_allocate((size_t)count * c->type.extent);
}

/* How many elements go from one rank to another in a v-variant; in place both ways are alike. */
static int block_count(const struct collective *c, int from, int to)
{
    if (c->in_place && from > to) {
        int swap = from;
        from = to;
        to = swap;
    }
    struct draw draw = draw_stream(c->key, (uint64_t)from, (uint64_t)to);
    /* a process whose blocks are all empty skips the call in Open MPI 4.1.4, and the others wait for it: not so here */
    if (from == to && c->count > 0)
        return 1 + draw_below(&draw, c->count);
    return draw_chance(&draw, 15) ? 0 : draw_below(&draw, c->count + 1);
}

/* On a grid Open MPI 4.1.4 looks at as many types of an Ialltoallw as a process has neighbours. */
enum { NEIGHBOURS = 4 };

struct layout {
    int *counts, *displacements; /* elements; for alltoallw bytes */
    MPI_Datatype *types;
    int total;
};

/* The blocks of one process, one for each rank: column: from(rank) to me, else from me to(rank). */
static struct layout layout_make(const struct collective *c, int me, bool column)
{
    size_t size = (size_t)c->book->size;
    struct layout layout = {.counts = pool_allocate(size * sizeof(int)),
                            .displacements = pool_allocate(size * sizeof(int)),
                            .types = pool_allocate((size + NEIGHBOURS) * sizeof(MPI_Datatype))};
    for (int i = 0; i < c->book->size + NEIGHBOURS; i++)
        layout.types[i] = MPI_BYTE;
    for (int i = 0; i < c->book->size; i++) {
        layout.counts[i] = column ? block_count(c, i, me) : block_count(c, me, i);
        layout.displacements[i] = layout.total;
        layout.total += layout.counts[i];
    }
    return layout;
}

static void run_rooted(struct collective *c)
{
    MPI_Comm comm = c->book->comm;
    MPI_Datatype type = c->type.handle;
    int all = c->count * c->book->size;
    bool in_place = c->in_place && is_root(c);
    void *own = blocks(c, c->count), *many = is_root(c) ? blocks(c, all) : NULL;
    c->in = bytes_of(c, c->count);
    c->out = is_root(c) ? bytes_of(c, all) : 0;
    if (c->op == OP_BCAST) {
        c->out = is_root(c) ? 0 : c->in;
        c->in = is_root(c) ? c->in : 0;
        EITHER(MPI_Bcast, MPI_Ibcast, own, c->count, type, c->root, comm);
    } else if (c->op == OP_GATHER) {
        EITHER(MPI_Gather, MPI_Igather, in_place ? MPI_IN_PLACE : own, unless(in_place, c->count),
               type_unless(in_place, type), many, unless(!is_root(c), c->count), type_unless(!is_root(c), type),
               c->root, comm);
    } else {
        c->in = c->out;
        c->out = bytes_of(c, c->count);
        EITHER(MPI_Scatter, MPI_Iscatter, many, unless(!is_root(c), c->count), type_unless(!is_root(c), type),
               in_place ? MPI_IN_PLACE : own, unless(in_place, c->count), type_unless(in_place, type), c->root, comm);
    }
}

static void run_rooted_v(struct collective *c)
{
    MPI_Comm comm = c->book->comm;
    MPI_Datatype type = c->type.handle;
    bool in_place = c->in_place && is_root(c);
    int count = block_count(c, 0, c->book->rank); /* of each rank's block: the same for gather and scatter */
    struct layout all = layout_make(c, 0, false);
    void *own = blocks(c, count), *many = blocks(c, all.total);
    int *counts = is_root(c) ? all.counts : NULL, *displacements = is_root(c) ? all.displacements : NULL;
    uint64_t one = bytes_of(c, count), total = is_root(c) ? bytes_of(c, all.total) : 0;
    if (c->op == OP_GATHERV) {
        c->in = one;
        c->out = total;
        EITHER(MPI_Gatherv, MPI_Igatherv, in_place ? MPI_IN_PLACE : own, unless(in_place, count),
               type_unless(in_place, type), many, counts, displacements, type_unless(!is_root(c), type), c->root, comm);
    } else {
        c->in = total;
        c->out = one;
        EITHER(MPI_Scatterv, MPI_Iscatterv, many, counts, displacements, type_unless(!is_root(c), type),
               in_place ? MPI_IN_PLACE : own, unless(in_place, count), type_unless(in_place, type), c->root, comm);
    }
}

static void run_allgather(struct collective *c)
{
    MPI_Comm comm = c->book->comm;
    MPI_Datatype type = c->type.handle;
    if (c->op == OP_ALLGATHER) {
        int all = c->count * c->book->size;
        void *own = blocks(c, c->count), *many = blocks(c, all);
        c->in = bytes_of(c, c->count);
        c->out = bytes_of(c, all);
        EITHER(MPI_Allgather, MPI_Iallgather, c->in_place ? MPI_IN_PLACE : own, c->count, type, many, c->count, type,
               comm);
        return;
    }
    struct layout all = layout_make(c, 0, false);
    int count = all.counts[c->book->rank];
    void *own = blocks(c, count), *many = blocks(c, all.total);
    c->in = bytes_of(c, count);
    c->out = bytes_of(c, all.total);
    EITHER(MPI_Allgatherv, MPI_Iallgatherv, c->in_place ? MPI_IN_PLACE : own, count, type, many, all.counts,
           all.displacements, type, comm);
}

static void run_alltoall(struct collective *c)
{
    MPI_Comm comm = c->book->comm;
    MPI_Datatype type = c->type.handle;
    if (c->op == OP_ALLTOALL) {
        int all = c->count * c->book->size;
        void *put = blocks(c, all), *got = blocks(c, all);
        c->in = c->out = bytes_of(c, all);
        EITHER(MPI_Alltoall, MPI_Ialltoall, c->in_place ? MPI_IN_PLACE : put, c->count, type, got, c->count, type,
               comm);
        return;
    }
    struct layout to = layout_make(c, c->book->rank, false), from = layout_make(c, c->book->rank, true);
    void *put = blocks(c, to.total), *got = blocks(c, from.total);
    c->in = bytes_of(c, to.total);
    c->out = bytes_of(c, from.total);
    EITHER(MPI_Alltoallv, MPI_Ialltoallv, c->in_place ? MPI_IN_PLACE : put, to.counts, to.displacements, type, got,
           from.counts, from.displacements, type, comm);
}

/*
 * Each pair of ranks has a datatype of its own; both use the same. In place there is one for all: MPICH 4.0.2 mixes
 * their sizes up. Returns the bytes of data.
 */
static uint64_t layout_types(const struct collective *c, struct layout *layout, size_t *room)
{
    uint64_t bytes = 0;
    *room = 0;
    for (int i = 0; i < c->book->size; i++) {
        int a = i < c->book->rank ? i : c->book->rank, b = i < c->book->rank ? c->book->rank : i;
        struct draw draw = draw_stream(c->key ^ 1, (uint64_t)a, (uint64_t)b);
        const struct type *type = c->in_place ? &c->type : &types[draw_below(&draw, TYPE_COUNT)];
        layout->types[i] = type->handle;
        layout->displacements[i] = (int)*room;
        *room += (size_t)layout->counts[i] * type->extent;
        bytes += (uint64_t)layout->counts[i] * (uint64_t)type->size;
    }
    return bytes;
}

static void run_alltoallw(struct collective *c)
{
    size_t put_room, got_room;
    struct layout to = layout_make(c, c->book->rank, false), from = layout_make(c, c->book->rank, true);
    c->in = layout_types(c, &to, &put_room);
    c->out = layout_types(c, &from, &got_room);
    void *put = pool_allocate(put_room), *got = pool_allocate(got_room);
    EITHER(MPI_Alltoallw, MPI_Ialltoallw, c->in_place ? MPI_IN_PLACE : put, to.counts, to.displacements, to.types, got,
           from.counts, from.displacements, from.types, c->book->comm);
}

static void run_reduction(struct collective *c)
{
    MPI_Comm comm = c->book->comm;
    MPI_Datatype type = c->type.handle;
    void *put = blocks(c, c->count), *got = blocks(c, c->count);
    void *from = c->in_place ? MPI_IN_PLACE : put;
    c->in = c->out = bytes_of(c, c->count);
    if (c->op == OP_REDUCE) {
        c->out = is_root(c) ? c->in : 0;
        EITHER(MPI_Reduce, MPI_Ireduce, is_root(c) ? from : put, got, c->count, type, MPI_SUM, c->root, comm);
    } else if (c->op == OP_ALLREDUCE) {
        EITHER(MPI_Allreduce, MPI_Iallreduce, from, got, c->count, type, MPI_MAX, comm);
    } else if (c->op == OP_SCAN) {
        EITHER(MPI_Scan, MPI_Iscan, from, got, c->count, type, MPI_SUM, comm);
    } else {
        c->out = c->book->rank == 0 ? 0 : c->in;
        EITHER(MPI_Exscan, MPI_Iexscan, from, got, c->count, type, MPI_SUM, comm);
    }
}

static void run_reduce_scatter(struct collective *c)
{
    MPI_Comm comm = c->book->comm;
    MPI_Datatype type = c->type.handle;
    struct layout share = layout_make(c, 0, false);
    bool block = c->op == OP_REDUCE_SCATTER_BLOCK;
    int all = block ? c->count * c->book->size : share.total;
    void *put = blocks(c, all), *got = blocks(c, all);
    void *from = c->in_place ? MPI_IN_PLACE : put;
    c->in = bytes_of(c, all);
    c->out = bytes_of(c, block ? c->count : share.counts[c->book->rank]);
    if (block)
        EITHER(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, from, got, c->count, type, MPI_SUM, comm);
    else
        EITHER(MPI_Reduce_scatter, MPI_Ireduce_scatter, from, got, share.counts, type, MPI_SUM, comm);
}

static void run_barrier(struct collective *c)
{
    EITHER(MPI_Barrier, MPI_Ibarrier, c->book->comm);
}

static void (*const runs[OP_COUNT])(struct collective *) = {
    [OP_BARRIER] = run_barrier,
    [OP_BCAST] = run_rooted,
    [OP_GATHER] = run_rooted,
    [OP_GATHERV] = run_rooted_v,
    [OP_SCATTER] = run_rooted,
    [OP_SCATTERV] = run_rooted_v,
    [OP_ALLGATHER] = run_allgather,
    [OP_ALLGATHERV] = run_allgather,
    [OP_ALLTOALL] = run_alltoall,
    [OP_ALLTOALLV] = run_alltoall,
    [OP_ALLTOALLW] = run_alltoallw,
    [OP_REDUCE] = run_reduction,
    [OP_ALLREDUCE] = run_reduction,
    [OP_REDUCE_SCATTER] = run_reduce_scatter,
    [OP_REDUCE_SCATTER_BLOCK] = run_reduce_scatter,
    [OP_SCAN] = run_reduction,
    [OP_EXSCAN] = run_reduction,
};

/* Where MPICH 4.0.2 packs blocks, or exchanges them with itself, it truncates types with gaps. */
static bool packs(enum book_op op, bool in_place)
{
    return in_place || op == OP_GATHER || op == OP_SCATTER || op == OP_ALLGATHER || op == OP_ALLGATHERV ||
           op == OP_ALLTOALL;
}

void collective_run(struct book *book, enum book_op op, bool nonblocking, struct draw *draw)
{
    struct collective collective = {.book = book, .op = op, .in_place = draw_chance(draw, 30)};
    bool reduces = op >= OP_REDUCE;
    collective.type = types[reduces ? (draw_chance(draw, 50) ? TYPE_INT : TYPE_DOUBLE)
                                    : draw_below(draw, packs(op, collective.in_place) ? TYPE_SOLID : TYPE_COUNT)];
    collective.count = types_draw_bytes(draw, 1 << 18) / collective.type.size;
    if (op == OP_ALLTOALLW)
        collective.count /= 32; /* its elements are of any type */
    collective.root = draw_below(draw, book->size);
    if (op == OP_REDUCE && collective.root != 0)
        collective.in_place = false; /* MPICH 4.0.2 reads from MPI_IN_PLACE */
    collective.key = draw_next(draw);
    if (nonblocking)
        collective.request = pool_add((struct pool_entry){.kind = POOL_COLLECTIVE, .book = book, .op = op});
    runs[op](&collective);
    if (nonblocking)
        pool_collective_posted(collective.request, collective.in, collective.out);
    else
        book_collected(book, op, collective.in, collective.out);
}
