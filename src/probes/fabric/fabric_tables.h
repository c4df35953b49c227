/*
 * The tables of operations that objects of libfabric get: the provider's, with some entries replaced.
 *
 *   object ── ops ──> [ behind ─> the provider's table | kind | ops: a copy, some entries of which are ours ]
 *
 * A table of ours knows the provider's, and what is to be known of the objects that have it (`kind`): there is one for
 * each pair of these, whatever number of objects uses it, and none is ever freed. So the path of an operation needs no
 * map from objects to what was theirs.
 *
 * Operations (msg, tagged, rma, atomic) have our entries only while somebody asks for them; else the provider's own
 * stand there, and nothing is between the caller and the provider.
 *
 * Who may run with whom: tables are made under a lock. Entries are changed by any thread and any signal handler, each
 * by one store.
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

/* What objects have in common. Of endpoints: which of their operations are told of when they are complete. */
struct fabric_kind_of {
    struct fabric_provider *provider;
    uint64_t caps;
    enum fi_cq_format format; /* of a queue */
    bool sends_queued, receives_queued;
    bool sends_chosen, receives_chosen; /* only those that ask for it: */
    bool sends_told, receives_told;     /* and that is what calls without flags do */
    bool receives_multi;                /* their buffers take several messages */
};

/* The one with this content; NULL: no memory. */
const struct fabric_kind_of *fabric_kind_known(const struct fabric_kind_of *kind);

/* The operations stand at the end: a newer library's table is longer. */
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

/* Around the object's operations lies the table. */
#define TABLE_AROUND(operations, type) ((struct type *)(void *)((char *)(operations)-offsetof(struct type, ops)))

/* One entry of a table, if the provider's has it: an older library's is shorter. */
#define ENTRY(table, field, ours, on)                                                                                  \
    do {                                                                                                               \
        size_t end = (size_t)((char *)(&(table)->ops.field + 1) - (char *)&(table)->ops);                              \
        if (end <= (table)->behind->size && (table)->behind->field)                                                    \
            RELAXED_STORE(&(table)->ops.field, (on) ? (ours) : (table)->behind->field);                                \
    } while (0)

/* A buffer that takes several messages was posted; false: there is no place to remember it. */
bool fabric_multi_add(void *context);

#endif
