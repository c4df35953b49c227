#include "wrappers/topology.h"

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
