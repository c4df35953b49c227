/*
 * The tables of operations that objects of libfabric get: the provider's, with some entries replaced.
 *
 *   object ── ops ──> [ behind ─> the provider's table | kind | ops: a copy, some entries of which are ours ]
 *
 * A table made by mpit has a pointer to the provider's, and the facts about its objects (`kind`). There is one table
 * for each pair of these, for any number of objects. No table is ever freed. So the path of an operation needs no map
 * from objects to their old tables.
 *
 * Operations (msg, tagged, rma, atomic) have mpit's entries only while they are recorded. Otherwise the provider's own
 * entries are there, and nothing is between the caller and the provider.
 *
 * Who may run with whom: tables are made under a lock. Any thread and any signal handler changes entries, each by one
 * store.
 */
#ifndef MPIT_PROBES_FABRIC_TABLES_H
#define MPIT_PROBES_FABRIC_TABLES_H

#include "figures/cells.h"
#include "fabric/fabric.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <stddef.h>
#include <string.h>

/* The common facts about objects. For endpoints: the operations whose completion is reported. */
struct fabric_kind_of {
    struct fabric_provider *provider;
    uint64_t caps;
    enum fi_cq_format format; /* of a queue */
    bool sends_queued, receives_queued;
    bool sends_chosen, receives_chosen; /* only the ones that ask for it: */
    bool sends_told, receives_told;     /* and calls without flags do ask */
    bool receives_multi;                /* their buffers take several messages */
};

/* Returns the kind with this content, or NULL without memory. */
const struct fabric_kind_of *fabric_kind_known(const struct fabric_kind_of *kind);

/* The operations are at the end: a newer library's table is longer. */
#define FABRIC_TABLES(X)                                                                                               \
    X(fabric, struct fi_ops_fabric)                                                                                    \
    X(domain, struct fi_ops_domain)                                                                                    \
    X(queue, struct fi_ops_cq)                                                                                         \
    X(fid, struct fi_ops)                                                                                              \
    X(ep, struct fi_ops_ep)                                                                                            \
    X(msg, struct fi_ops_msg)                                                                                          \
    X(tagged, struct fi_ops_tagged)                                                                                    \
    X(rma, struct fi_ops_rma)                                                                                          \
    X(atomic, struct fi_ops_atomic)

#define FABRIC_TABLE(name, operations)                                                                                 \
    struct name##_table {                                                                                              \
        operations *behind;                                                                                            \
        const struct fabric_kind_of *kind;                                                                             \
        operations ops;                                                                                                \
    };                                                                                                                 \
    struct name##_table *name##_table_of(operations *behind, const struct fabric_kind_of *kind);                       \
    void fabric_##name##_replace(struct name##_table *table, bool on);
FABRIC_TABLES(FABRIC_TABLE)
#undef FABRIC_TABLE

/* The table that contains the object's operations. */
#define TABLE_AROUND(operations, type) ((struct type *)(void *)((char *)(operations)-offsetof(struct type, ops)))

/* One entry of a table, if the provider's has it: an older library's is shorter. */
#define ENTRY(table, field, ours, on)                                                                                  \
    do {                                                                                                               \
        size_t end = (size_t)((char *)(&(table)->ops.field + 1) - (char *)&(table)->ops);                              \
        if (end <= (table)->behind->size && (table)->behind->field)                                                    \
            RELAXED_STORE(&(table)->ops.field, (on) ? (ours) : (table)->behind->field);                                \
    } while (0)

/* A buffer that takes several messages was posted. False: there is no place to remember it. */
bool fabric_multi_add(void *context);

#endif
