#include "wrappers/topology.h"

#include "wrappers/enter.h"

#include <stdlib.h>

/* Used if there is no memory, or no topology. */
static const struct topology none;

static struct topology *topology_make(int sources, int destinations)
{
    struct topology *topology = calloc(1, sizeof *topology + (size_t)sources * sizeof *topology->ranks);
    if (!topology) {
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
        return NULL;
    }
    topology->sources = topology->senders = sources;
    topology->destinations = topology->receivers = destinations;
    return topology;
}

/* Two neighbors a dimension, the one before first. */
static struct topology *cart_ask(MPI_Comm comm)
{
    int dimensions = 0;
    if (native.Cartdim_get(comm, &dimensions) != MPI_SUCCESS || dimensions < 0)
        return NULL;
    struct topology *topology = topology_make(2 * dimensions, 2 * dimensions);
    for (int d = 0; topology && d < dimensions; d++) {
        int neighbour[2] = {MPI_PROC_NULL, MPI_PROC_NULL};
        if (native.Cart_shift(comm, d, 1, &neighbour[0], &neighbour[1]) != MPI_SUCCESS)
            neighbour[0] = neighbour[1] = MPI_PROC_NULL;
        for (int way = 0; way < 2; way++) {
            bool nobody = neighbour[way] == MPI_PROC_NULL;
            topology->ranks[2 * d + way] = neighbour[way];
            topology->edged |= nobody;
            topology->senders -= nobody;
            topology->receivers -= nobody;
        }
    }
    return topology;
}

static struct topology *graph_ask(const struct comm *comm, MPI_Comm handle)
{
    int sources = 0;
    if (native.Graph_neighbors_count(handle, comm->rank, &sources) != MPI_SUCCESS)
        return NULL;
    struct topology *topology = topology_make(sources, sources);
    if (topology && native.Graph_neighbors(handle, comm->rank, sources, topology->ranks) != MPI_SUCCESS)
        topology->unknown = true;
    return topology;
}

static struct topology *dist_graph_ask(MPI_Comm handle)
{
    int sources = 0, destinations = 0, weighted;
    if (native.Dist_graph_neighbors_count(handle, &sources, &destinations, &weighted) != MPI_SUCCESS)
        return NULL;
    struct topology *topology = topology_make(sources, destinations);
    int *rest = topology ? calloc((size_t)sources + 2 * (size_t)destinations + 1, sizeof *rest) : NULL;
    if (topology &&
        (!rest || native.Dist_graph_neighbors(handle, sources, topology->ranks, rest, destinations, rest + sources,
                                              rest + sources + destinations) != MPI_SUCCESS))
        topology->unknown = true;
    free(rest);
    return topology;
}

static struct topology *topology_ask(const struct comm *comm, MPI_Comm handle)
{
    int kind = MPI_UNDEFINED;
    if (native.Topo_test(handle, &kind) != MPI_SUCCESS)
        return NULL;
    return kind == MPI_CART         ? cart_ask(handle)
           : kind == MPI_GRAPH      ? graph_ask(comm, handle)
           : kind == MPI_DIST_GRAPH ? dist_graph_ask(handle)
                                    : NULL;
}

const struct topology *topology_learn(struct comm *comm, MPI_Comm handle)
{
    struct topology *made = topology_ask(comm, handle), *before = NULL;
    if (!made)
        return &none;
    /* release: a reader that finds it sees all of it */
    if (__atomic_compare_exchange_n(&comm->topology, &before, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    free(made);
    return before;
}

void topology_record(struct log *log, MPI_Comm handle)
{
    struct view *view = knob_load(KNOB_TRACE) ? comm_view(log, handle) : NULL;
    if (!view || view->comm->remote_size)
        return;
    const struct topology *topology = topology_of(view->comm, handle);
    struct event event = {.begin = log->own.tally.end, .kind = RECORD_ARGUMENT, .peer = PEER_PROC_NULL};
    if (topology == &none || topology->unknown)
        return;
    log_record(log, view, &event, 0);
    for (int32_t i = 0; i < topology->sources; i++) {
        event.peer = topology->ranks[i];
        if (topology->ranks[i] != MPI_PROC_NULL)
            log_record(log, view, &event, 0);
    }
}
