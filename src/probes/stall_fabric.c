/*
 * libfabric: a read of a completion queue that returns no entries, but -FI_EAGAIN, is a poll in vain.
 *
 * Its calls go through tables of operations in the objects. So fi_fabric is watched, and the fabrics, domains and
 * queues that come of it get a table of their own making: the provider's, with some entries replaced. A table of ours
 * knows the provider's table, and there is one for each of those, whatever number of objects uses it. Providers lie
 * above providers (rxm above tcp); polls inside of each other are told apart by poll_begin.
 */
#include "gate.h"
#include "recorder.h"
#include "cells.h"
#include "polling.h"

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* More kinds of objects than all providers together have; those that find no place stay as they are. */
enum { TABLES = 64 };

struct fabric_table {
    struct fi_ops_fabric *behind;
    struct fi_ops_fabric ops; /* the last: it may be longer */
};

struct domain_table {
    struct fi_ops_domain *behind;
    struct fi_ops_domain ops;
};

struct queue_table {
    struct fi_ops_cq *behind;
    struct fi_ops_cq ops;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The provider's table may be shorter (an older library: what is not there must not be asked for) or longer (a newer
 * one) than what this was compiled with. */
#define TABLE_OF(type, operations)                                                                                     \
    static struct type *type##_of(operations *behind, void (*replace)(operations *))                                   \
    {                                                                                                                  \
        static struct type *tables[TABLES];                                                                            \
        struct type *table = NULL;                                                                                     \
        size_t more = behind->size > sizeof(operations) ? behind->size - sizeof(operations) : 0;                       \
        pthread_mutex_lock(&lock);                                                                                     \
        for (size_t i = 0; i < TABLES && !table; i++) {                                                                \
            if (tables[i] && (tables[i]->behind == behind || &tables[i]->ops == behind)) {                             \
                table = tables[i];                                                                                     \
            } else if (!tables[i]) {                                                                                   \
                table = tables[i] = calloc(1, sizeof *table + more);                                                   \
                if (!table)                                                                                            \
                    break;                                                                                             \
                table->behind = behind;                                                                                \
                memcpy(&table->ops, behind, behind->size);                                                             \
                replace(&table->ops);                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        pthread_mutex_unlock(&lock);                                                                                   \
        return table;                                                                                                  \
    }

TABLE_OF(fabric_table, struct fi_ops_fabric)
TABLE_OF(domain_table, struct fi_ops_domain)
TABLE_OF(queue_table, struct fi_ops_cq)

/* Around the object's operations lies the table. */
#define BEHIND_OF(object, type) (((struct type *)(void *)((char *)(object)->ops - offsetof(struct type, ops)))->behind)

/* Neither is an error progress: a look for a message that is not there ends with one, and MPI_Probe is made of those.
 */
#define POLLED(got, read)                                                                                              \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        if (poll_is_quick(log)) {                                                                                      \
            poll_quick_begin(log);                                                                                     \
            got = read;                                                                                                \
            poll_quick_end(log, got > 0);                                                                              \
        } else {                                                                                                       \
            log = poll_begin();                                                                                        \
            got = read;                                                                                                \
            if (log)                                                                                                   \
                poll_end(log, got > 0);                                                                                \
        }                                                                                                              \
    } while (0)

static ssize_t queue_read(struct fid_cq *cq, void *buf, size_t count)
{
    ssize_t got;
    POLLED(got, BEHIND_OF(cq, queue_table)->read(cq, buf, count));
    return got;
}

static ssize_t queue_readfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *source)
{
    ssize_t got;
    POLLED(got, BEHIND_OF(cq, queue_table)->readfrom(cq, buf, count, source));
    return got;
}

static ssize_t queue_sread(struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
    struct log *log = sleep_begin();
    ssize_t got = BEHIND_OF(cq, queue_table)->sread(cq, buf, count, cond, timeout);
    if (log)
        sleep_end(log);
    return got;
}

static ssize_t queue_sreadfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *source, const void *cond,
                               int timeout)
{
    struct log *log = sleep_begin();
    ssize_t got = BEHIND_OF(cq, queue_table)->sreadfrom(cq, buf, count, source, cond, timeout);
    if (log)
        sleep_end(log);
    return got;
}

static void queue_replace(struct fi_ops_cq *ops)
{
    ops->read = queue_read;
    ops->readfrom = queue_readfrom;
    ops->sread = queue_sread;
    ops->sreadfrom = queue_sreadfrom;
}

static int domain_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context)
{
    int result = BEHIND_OF(domain, domain_table)->cq_open(domain, attr, cq, context);
    struct queue_table *table = result == 0 ? queue_table_of((*cq)->ops, queue_replace) : NULL;
    if (table)
        (*cq)->ops = &table->ops;
    return result;
}

static void domain_replace(struct fi_ops_domain *ops)
{
    ops->cq_open = domain_cq_open;
}

static int fabric_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context)
{
    int result = BEHIND_OF(fabric, fabric_table)->domain(fabric, info, domain, context);
    struct domain_table *table = result == 0 ? domain_table_of((*domain)->ops, domain_replace) : NULL;
    if (table)
        (*domain)->ops = &table->ops;
    return result;
}

static void fabric_replace(struct fi_ops_fabric *ops)
{
    ops->domain = fabric_domain;
}

static bool seen;

bool stall_fabric_here(void)
{
    return RELAXED_LOAD(&seen);
}

/* Of two copies of this library the one that records looks, and the other's tables would be between it and the object.
 */
GATE(fi_fabric);
int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    static struct native_behind open_fabric = {.name = "fi_fabric"};
    __typeof__(&fi_fabric) behind =
        (__typeof__(&fi_fabric))native_symbol_behind(&open_fabric, __builtin_return_address(0));
    int result = behind ? behind(attr, fabric, context) : -FI_ENOSYS;
    struct fabric_table *table =
        result == 0 && recorder_is_here() ? fabric_table_of((*fabric)->ops, fabric_replace) : NULL;
    if (table) {
        (*fabric)->ops = &table->ops;
        RELAXED_STORE(&seen, true);
    }
    return result;
}
