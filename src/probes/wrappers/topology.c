#include "wrappers/topology.h"

#include "wrappers/enter.h"

#include <stdlib.h>

/* Used if there is no memory, or no topology. */
static const struct topology none;

static struct topology *topology_make(int sources, int destinations, int places)
{
    struct topology *topology = calloc(1, sizeof *topology + (size_t)places * sizeof(bool));
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
    struct topology *topology = topology_make(2 * dimensions, 2 * dimensions, 2 * dimensions);
    for (int d = 0; topology && d < dimensions; d++) {
        int neighbour[2] = {MPI_PROC_NULL, MPI_PROC_NULL};
        if (native.Cart_shift(comm, d, 1, &neighbour[0], &neighbour[1]) != MPI_SUCCESS)
            continue;
        for (int way = 0; way < 2; way++) {
            bool nobody = neighbour[way] == MPI_PROC_NULL;
            topology->nobody[2 * d + way] = nobody;
            topology->edged |= nobody;
            topology->senders -= nobody;
            topology->receivers -= nobody;
        }
    }
    return topology;
}

static struct topology *topology_ask(const struct comm *comm, MPI_Comm handle)
{
    int kind = MPI_UNDEFINED, sources = 0, destinations = 0, weighted;
    if (native.Topo_test(handle, &kind) != MPI_SUCCESS)
        return NULL;
    if (kind == MPI_CART)
        return cart_ask(handle);
    if (kind == MPI_GRAPH && native.Graph_neighbors_count(handle, comm->rank, &sources) == MPI_SUCCESS)
        return topology_make(sources, sources, 0);
    if (kind == MPI_DIST_GRAPH &&
        native.Dist_graph_neighbors_count(handle, &sources, &destinations, &weighted) == MPI_SUCCESS)
        return topology_make(sources, destinations, 0);
    return NULL;
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

/* ---- records ----------------------------------------------------------------------------------------------------- */

static void source_record(struct log *log, struct view *view, int rank)
{
    struct event event = {.begin = log->own.tally.end, .kind = RECORD_ARGUMENT, .peer = rank};
    log_record(log, view, &event, 0);
}

static void cart_record(struct log *log, struct view *view, MPI_Comm comm)
{
    int dimensions = 0, neighbour[2];
    if (native.Cartdim_get(comm, &dimensions) != MPI_SUCCESS)
        return;
    for (int d = 0; d < dimensions; d++) {
        if (native.Cart_shift(comm, d, 1, &neighbour[0], &neighbour[1]) != MPI_SUCCESS)
            continue;
        for (int way = 0; way < 2; way++)
            if (neighbour[way] != MPI_PROC_NULL)
                source_record(log, view, neighbour[way]);
    }
}

static void graph_record(struct log *log, struct view *view, MPI_Comm comm, bool adjacent)
{
    int sources = 0, destinations = 0, weighted = 0, result;
    if (adjacent)
        result = native.Dist_graph_neighbors_count(comm, &sources, &destinations, &weighted);
    else
        result = native.Graph_neighbors_count(comm, view->comm->rank, &sources);
    int *ranks = calloc(2 * ((size_t)sources + (size_t)destinations) + 1, sizeof *ranks);
    if (!ranks || result != MPI_SUCCESS) {
        run_lost(&book.run, LOSS_NO_MEMORY, !ranks);
        free(ranks);
        return;
    }
    int *others = ranks + sources, *weights = others + destinations;
    if (adjacent)
        result = native.Dist_graph_neighbors(comm, sources, ranks, weights, destinations, others, weights + sources);
    else
        result = native.Graph_neighbors(comm, view->comm->rank, sources, ranks);
    for (int i = 0; result == MPI_SUCCESS && i < sources; i++)
        source_record(log, view, ranks[i]);
    free(ranks);
}

void topology_record(struct log *log, MPI_Comm comm)
{
    struct view *view = knob_load(KNOB_TRACE) ? comm_view(log, comm) : NULL;
    int kind = MPI_UNDEFINED;
    if (!view || view->comm->remote_size || native.Topo_test(comm, &kind) != MPI_SUCCESS || kind == MPI_UNDEFINED)
        return;
    source_record(log, view, PEER_PROC_NULL);
    if (kind == MPI_CART)
        cart_record(log, view, comm);
    else
        graph_record(log, view, comm, kind == MPI_DIST_GRAPH);
}
