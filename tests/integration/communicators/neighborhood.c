#include "neighborhood.h"
#include "../common/mpi4.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 16, ELEMENTS = 8, OPERATIONS = 5 };

/* What this process has around itself, as the program knows it: who sends to it and whom it sends to, block by block.
 */
struct surroundings {
    int sources, destinations;
    int uneven;                              /* there are processes with more of the one than of the other */
    int source[PLACES], destination[PLACES]; /* MPI_PROC_NULL: nobody */
};

static struct {
    int in[PLACES * ELEMENTS];
    int out[PLACES * ELEMENTS];
    int sendcounts[PLACES], recvcounts[PLACES], gathered[PLACES], sdispls[PLACES], rdispls[PLACES];
    MPI_Aint sbytes[PLACES], rbytes[PLACES];
    MPI_Datatype sendtypes[PLACES], recvtypes[PLACES];
#if HAS_LARGE_COUNTS
    MPI_Count sendcounts_c[PLACES], recvcounts_c[PLACES], gathered_c[PLACES];
    MPI_Aint sdispls_c[PLACES], rdispls_c[PLACES];
#endif
} d;

static unsigned long long processes(const int *list, int n)
{
    unsigned long long found = 0;
    for (int i = 0; i < n; i++)
        found += list[i] != MPI_PROC_NULL;
    return found;
}

/* Blocks of the calls with counts: 2 elements from and to rank 0, 3 from and to rank 1, ... of the topology. */
static int block_of(int rank_there, int rank_here)
{
    return 2 + (rank_there + rank_here) % 3;
}

static unsigned long long blocks(const int *list, int n, int here)
{
    unsigned long long sum = 0;
    for (int i = 0; i < n; i++)
        sum += list[i] == MPI_PROC_NULL ? 0 : (unsigned long long)block_of(list[i], here);
    return sum;
}

static void data_make(const struct surroundings *s, int here)
{
    memset(&d, 0, sizeof d);
    for (int i = 0; i < PLACES; i++) {
        /* what stands at the edge of a grid has a count, too, and goes nowhere */
        int to = i < s->destinations ? s->destination[i] : MPI_PROC_NULL;
        int from = i < s->sources ? s->source[i] : MPI_PROC_NULL;
        d.sendcounts[i] = to == MPI_PROC_NULL ? 5 : block_of(to, here);
        d.recvcounts[i] = from == MPI_PROC_NULL ? 5 : block_of(from, here);
        d.gathered[i] = 4;
        d.sdispls[i] = d.rdispls[i] = i * ELEMENTS;
        d.sbytes[i] = d.rbytes[i] = (MPI_Aint)(i * ELEMENTS * (int)sizeof(int));
        d.sendtypes[i] = d.recvtypes[i] = MPI_INT;
#if HAS_LARGE_COUNTS
        d.sendcounts_c[i] = d.sendcounts[i];
        d.recvcounts_c[i] = d.recvcounts[i];
        d.gathered_c[i] = d.gathered[i];
        d.sdispls_c[i] = d.rdispls_c[i] = d.sdispls[i];
#endif
    }
}

enum how { BLOCKING, NONBLOCKING, PERSISTENT, WAYS, LARGE = WAYS };

/* OPERATION(number, name, ARGUMENT...), the arguments of all forms. Those with large counts have names that end so. */
#define EACH(OPERATION, large)                                                                                         \
    OPERATION(0, allgather, d.in, 3, MPI_INT, d.out, 3, MPI_INT, comm)                                                 \
    OPERATION(1, allgatherv, d.in, 4, MPI_INT, d.out, d.gathered##large, d.rdispls##large, MPI_INT, comm)              \
    OPERATION(2, alltoall, d.in, 3, MPI_INT, d.out, 3, MPI_INT, comm)                                                  \
    OPERATION(3, alltoallv, d.in, d.sendcounts##large, d.sdispls##large, MPI_INT, d.out, d.recvcounts##large,          \
              d.rdispls##large, MPI_INT, comm)                                                                         \
    OPERATION(4, alltoallw, d.in, d.sendcounts##large, d.sbytes, d.sendtypes, d.out, d.recvcounts##large, d.rbytes,    \
              d.recvtypes, comm)
#define NAME(number, name, ...) "MPI_Neighbor_" #name,
#define FORMS(number, name, ...)                                                                                       \
    if (op == number && how == BLOCKING)                                                                               \
        CALL(MPI_Neighbor_##name, __VA_ARGS__);                                                                        \
    else if (op == number && how == NONBLOCKING)                                                                       \
        CALL(MPI_Ineighbor_##name, __VA_ARGS__, request);                                                              \
    else if (op == number && how == PERSISTENT)                                                                        \
        CALL(MPI_Neighbor_##name##_init, __VA_ARGS__, MPI_INFO_NULL, request);
/* Counted under the same names. */
#define LARGE_FORM(number, name, ...)                                                                                  \
    if (op == number && how == LARGE)                                                                                  \
        counted(MPI_Neighbor_##name##_c(__VA_ARGS__), "MPI_Neighbor_" #name);

static const char *const operations[OPERATIONS] = {EACH(NAME, )};

static void operation_call(int op, enum how how, MPI_Comm comm, MPI_Request *request)
{
    EACH(FORMS, )
#if HAS_LARGE_COUNTS
    EACH(LARGE_FORM, _c)
#endif
}

/* Bytes put in and got out. What an allgather puts in is put in once. */
static unsigned long long expected(int op, const struct surroundings *s, int here)
{
    unsigned long long to = processes(s->destination, s->destinations), from = processes(s->source, s->sources);
    unsigned long long elements =
        op == 0   ? (to ? 3 : 0) + 3 * from
        : op == 1 ? (to ? 4 : 0) + 4 * from
        : op == 2 ? 3 * to + 3 * from
                  : blocks(s->destination, s->destinations, here) + blocks(s->source, s->sources, here);
    return elements * sizeof(int);
}

/* One operation one way; returns how often it was done. */
static unsigned operation(int op, enum how how, MPI_Comm comm)
{
    MPI_Request request;
    operation_call(op, how, comm, &request);
    if (how == NONBLOCKING)
        CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    if (how != PERSISTENT)
        return 1;
    for (int i = 0; i < 3; i++) {
        CALL(MPI_Start, &request);
        CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    }
    CALL(MPI_Request_free, &request);
    return 3;
}

/* MPI_Neighbor_alltoallw is the last one. MPICH 4.0 reads behind the end of its own copy of the counts where a process
 * has more sources than destinations: what it sends and waits for then depends on what lies there in memory. Some runs
 * never end. */
static int operations_of(const struct surroundings *s)
{
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
    return s->uneven ? OPERATIONS - 1 : OPERATIONS;
#else
    (void)s;
    return OPERATIONS;
#endif
}

/* All operations in all ways on a communicator with these neighbours, each held against the variables. */
static void neighbors_use(MPI_Comm comm, const struct surroundings *s, const char *topology)
{
    char what[128];
    int here;
    unsigned long long counts[64], all = 0, all_bytes = 0;
    MPI_Comm_rank(comm, &here);
    data_make(s, here);
    struct watch bytes = watch_open("mpit_coll_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &comm);
    struct watch count = watch_open("mpit_coll_count", MPI_T_PVAR_CLASS_COUNTER, &comm);
    struct watch by_op = watch_open("mpit_coll_op_count", MPI_T_PVAR_CLASS_COUNTER, &comm);
    for (int op = 0; op < operations_of(s); op++) {
        unsigned long long times = 0;
        for (enum how how = BLOCKING; how < WAYS; how++) {
            unsigned long long before = watch_value(&bytes);
            unsigned done = operation(op, how, comm);
            snprintf(what, sizeof what, "%s, %s, way %d: bytes", topology, operations[op], (int)how);
            if (!absent)
                check(watch_value(&bytes) - before, done * expected(op, s, here), what);
            times += done;
        }
#if HAS_LARGE_COUNTS
        times += operation(op, LARGE, comm);
#endif
        all += times;
        all_bytes += times * expected(op, s, here);
        if (absent)
            continue;
        int slot = slot_find("mpit_coll_op_count", MPI_T_PVAR_CLASS_COUNTER, operations[op]);
        snprintf(what, sizeof what, "%s, %s", topology, operations[op]);
        if (slot < 0 || by_op.count > 64) {
            check(0, 1, what);
            continue;
        }
        watch_read(&by_op, counts);
        check(counts[slot], times, what);
    }
    snprintf(what, sizeof what, "%s: mpit_coll_count", topology);
    check(absent ? all : watch_value(&count), all, what);
    snprintf(what, sizeof what, "%s: mpit_coll_bytes", topology);
    check(absent ? all_bytes : watch_value(&bytes), all_bytes, what);
}

/* A row of processes, or a ring: at the ends of a row there is nobody. With two dimensions, the second of which is one
 * process wide: a process that is its own neighbour, twice. */
static void cart_use(MPI_Comm comm, int periodic, int dimensions)
{
    int dims[2] = {size, 1}, periods[2] = {periodic, 1}, here;
    char name[64];
    struct surroundings s = {.sources = 2 * dimensions, .destinations = 2 * dimensions};
    MPI_Comm made;
    CALL(MPI_Cart_create, comm, dimensions, dims, periods, 0, &made);
    MPI_Comm_rank(made, &here);
    s.source[0] = here > 0 ? here - 1 : periodic ? size - 1 : MPI_PROC_NULL;
    s.source[1] = here < size - 1 ? here + 1 : periodic ? 0 : MPI_PROC_NULL;
    s.source[2] = s.source[3] = here;
    memcpy(s.destination, s.source, sizeof s.source);
    snprintf(name, sizeof name, "cart of %d, %speriodic", dimensions, periodic ? "" : "not ");
    neighbors_use(made, &s, name);
    CALL(MPI_Comm_free, &made);
}

/* A ring with each edge both ways; on two processes the same neighbour twice. */
static void graph_use(MPI_Comm comm)
{
    int degrees[64], edges[128];
    MPI_Comm made;
    for (int i = 0; i < size && i < 64; i++) {
        degrees[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    CALL(MPI_Graph_create, comm, size, degrees, edges, 0, &made);
    struct surroundings s = {.sources = 2, .destinations = 2};
    s.source[0] = s.destination[0] = (rank + size - 1) % size;
    s.source[1] = s.destination[1] = (rank + 1) % size;
    neighbors_use(made, &s, "graph");
    CALL(MPI_Comm_free, &made);
}

/* Everybody to the next one; the last process gets another edge from each, so that degrees differ. */
static void dist_graph_use(MPI_Comm comm, int weighted)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, last = size - 1, ones[PLACES];
    struct surroundings s = {
        .sources = 1, .destinations = 2, .uneven = 1, .source = {before}, .destination = {next, last}};
    MPI_Comm made;
    for (int i = 0; i < PLACES; i++)
        ones[i] = 1;
    for (int i = 0; rank == last && i < size; i++)
        s.source[s.sources++] = i;
    CALL(MPI_Dist_graph_create_adjacent, comm, s.sources, s.source, weighted ? ones : MPI_UNWEIGHTED, s.destinations,
         s.destination, weighted ? ones : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    neighbors_use(made, &s, weighted ? "weighted graph" : "graph without weights");
    CALL(MPI_Comm_free, &made);
    int degree = 2, destinations[2] = {next, last};
    CALL(MPI_Dist_graph_create, comm, 1, &rank, &degree, destinations, weighted ? ones : MPI_UNWEIGHTED, MPI_INFO_NULL,
         0, &made);
    /* in which order MPI has them only MPI knows */
    MPI_Dist_graph_neighbors(made, s.sources, s.source, ones, s.destinations, s.destination, ones + PLACES / 2);
    neighbors_use(made, &s, weighted ? "weighted graph by edges" : "graph by edges");
    CALL(MPI_Comm_free, &made);
}

/* Edges from rank 0 to all others and nowhere else: some have none in a direction, and no weights for them. */
static void star_use(MPI_Comm comm)
{
    struct surroundings s = {.sources = rank > 0, .destinations = rank == 0 ? size - 1 : 0, .uneven = 1};
    int ones[PLACES];
    MPI_Comm made;
    for (int i = 0; i < PLACES; i++)
        ones[i] = 1;
    for (int i = 0; i < s.destinations; i++)
        s.destination[i] = i + 1;
    CALL(MPI_Dist_graph_create_adjacent, comm, s.sources, s.source, s.sources ? ones : MPI_WEIGHTS_EMPTY,
         s.destinations, s.destination, s.destinations ? ones : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &made);
    neighbors_use(made, &s, "star");
    CALL(MPI_Comm_free, &made);
}

/* More communicators, one after the other, than are kept by name: each has its own neighbours, not those of one that
 * was freed before it. */
static void many_use(MPI_Comm comm)
{
    MPI_Comm made;
    for (int i = 0; i < 600; i++) {
        int dims[2] = {size, 1}, periods[2] = {1, i % 3 == 0}, dimensions = 1 + i % 2;
        unsigned long long to = 2 + (dimensions == 2 && periods[1] ? 2 : 0);
        CALL(MPI_Cart_create, comm, dimensions, dims, periods, 0, &made);
        struct watch bytes = watch_open("mpit_coll_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &made);
        CALL(MPI_Neighbor_alltoall, d.in, 1, MPI_INT, d.out, 1, MPI_INT, made);
        if (!absent) {
            check(watch_value(&bytes), 2 * to * sizeof(int), "bytes among the neighbours of a new communicator");
            MPI_T_pvar_session_free(&bytes.session);
        }
        CALL(MPI_Comm_free, &made);
    }
}

void neighborhood_use(MPI_Comm comm)
{
    cart_use(comm, 0, 1);
    cart_use(comm, 1, 1);
    cart_use(comm, 0, 2);
    graph_use(comm);
    dist_graph_use(comm, 0);
    dist_graph_use(comm, 1);
    star_use(comm);
    many_use(comm);
}
