/* The operations of libfabric's endpoints (fabric_tables.h): the entries of their tables while they are recorded. */
#include "fabric/fabric_tables.h"

#include <sys/uio.h>

static uint64_t iov_bytes(const struct iovec *iov, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; iov && i < count; i++)
        bytes += iov[i].iov_len;
    return bytes;
}

static uint64_t datatype_bytes(enum fi_datatype type)
{
    static const uint8_t sizes[] = {
        [FI_INT8] = 1,
        [FI_UINT8] = 1,
        [FI_INT16] = 2,
        [FI_UINT16] = 2,
        [FI_INT32] = 4,
        [FI_UINT32] = 4,
        [FI_INT64] = 8,
        [FI_UINT64] = 8,
        [FI_FLOAT] = sizeof(float),
        [FI_DOUBLE] = sizeof(double),
        [FI_FLOAT_COMPLEX] = 2 * sizeof(float),
        [FI_DOUBLE_COMPLEX] = 2 * sizeof(double),
        [FI_LONG_DOUBLE] = sizeof(long double),
        [FI_LONG_DOUBLE_COMPLEX] = 2 * sizeof(long double),
        [FI_INT128] = 16,
        [FI_UINT128] = 16,
    };
    return (size_t)type < sizeof sizes ? sizes[type] : 0;
}

static uint64_t ioc_bytes(const struct fi_ioc *ioc, size_t count, enum fi_datatype type)
{
    uint64_t elements = 0;
    for (size_t i = 0; ioc && i < count; i++)
        elements += ioc[i].count;
    return elements * datatype_bytes(type);
}

/* True if its completion will be reported. */
static bool send_told(const struct fabric_kind_of *kind)
{
    return kind->sends_queued && (!kind->sends_chosen || kind->sends_told);
}

static bool send_told_by(const struct fabric_kind_of *kind, uint64_t flags)
{
    return kind->sends_queued && (!kind->sends_chosen || flags & FI_COMPLETION);
}

static bool receive_told(const struct fabric_kind_of *kind, void *context)
{
    return kind->receives_queued && (!kind->receives_chosen || kind->receives_told) &&
           (!kind->receives_multi || fabric_multi_add(context));
}

static bool receive_told_by(const struct fabric_kind_of *kind, uint64_t flags, void *context)
{
    return kind->receives_queued && (!kind->receives_chosen || flags & FI_COMPLETION) &&
           (!(flags & FI_MULTI_RECV) || fabric_multi_add(context));
}

static void operation_end(struct fabric_op *op, enum fabric_function function, uint64_t bytes, bool told,
                          ssize_t result)
{
    enum fabric_outcome outcome = result == -FI_EAGAIN ? FABRIC_AGAIN
                                  : result < 0         ? FABRIC_FAILED
                                  : told               ? FABRIC_PENDING
                                                       : FABRIC_DONE;
    fabric_end(op, function, bytes, outcome);
}

/* The entry of a table. `told` is evaluated before the operation, because its completion may come at once. */
#define OPERATION(table, field, function, parameters, arguments, bytes, told)                                          \
    static ssize_t table##_##field parameters                                                                          \
    {                                                                                                                  \
        const struct table##_table *around = TABLE_AROUND(ep->table, table##_table);                                   \
        const struct fabric_kind_of *kind = around->kind;                                                              \
        struct fabric_op op;                                                                                           \
        (void)kind;                                                                                                    \
        fabric_begin(&op, kind->provider);                                                                             \
        ssize_t result = around->behind->field arguments;                                                              \
        if (op.log)                                                                                                    \
            operation_end(&op, CALLED_##function, bytes, result == 0 && (told), result);                               \
        return result;                                                                                                 \
    }

/* ---- messages ---------------------------------------------------------------------------------------------------- */

OPERATION(msg, recv, FI_RECV, (struct fid_ep * ep, void *buf, size_t len, void *desc, fi_addr_t source, void *context),
          (ep, buf, len, desc, source, context), len, receive_told(kind, context))
OPERATION(msg, recvv, FI_RECVV,
          (struct fid_ep * ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t source, void *context),
          (ep, iov, desc, count, source, context), iov_bytes(iov, count), receive_told(kind, context))
OPERATION(msg, recvmsg, FI_RECVMSG, (struct fid_ep * ep, const struct fi_msg *msg, uint64_t flags), (ep, msg, flags),
          iov_bytes(msg->msg_iov, msg->iov_count), receive_told_by(kind, flags, msg->context))
OPERATION(msg, send, FI_SEND,
          (struct fid_ep * ep, const void *buf, size_t len, void *desc, fi_addr_t dest, void *context),
          (ep, buf, len, desc, dest, context), len, send_told(kind))
OPERATION(msg, sendv, FI_SENDV,
          (struct fid_ep * ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest, void *context),
          (ep, iov, desc, count, dest, context), iov_bytes(iov, count), send_told(kind))
OPERATION(msg, sendmsg, FI_SENDMSG, (struct fid_ep * ep, const struct fi_msg *msg, uint64_t flags), (ep, msg, flags),
          iov_bytes(msg->msg_iov, msg->iov_count), send_told_by(kind, flags))
OPERATION(msg, inject, FI_INJECT, (struct fid_ep * ep, const void *buf, size_t len, fi_addr_t dest),
          (ep, buf, len, dest), len, false)
OPERATION(msg, senddata, FI_SENDDATA,
          (struct fid_ep * ep, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest, void *context),
          (ep, buf, len, desc, data, dest, context), len, send_told(kind))
OPERATION(msg, injectdata, FI_INJECTDATA,
          (struct fid_ep * ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest), (ep, buf, len, data, dest),
          len, false)

void fabric_msg_replace(struct msg_table *table, bool on)
{
    ENTRY(table, recv, msg_recv, on);
    ENTRY(table, recvv, msg_recvv, on);
    ENTRY(table, recvmsg, msg_recvmsg, on);
    ENTRY(table, send, msg_send, on);
    ENTRY(table, sendv, msg_sendv, on);
    ENTRY(table, sendmsg, msg_sendmsg, on);
    ENTRY(table, inject, msg_inject, on);
    ENTRY(table, senddata, msg_senddata, on);
    ENTRY(table, injectdata, msg_injectdata, on);
}

/* ---- tagged messages --------------------------------------------------------------------------------------------- */

OPERATION(tagged, recv, FI_TRECV,
          (struct fid_ep * ep, void *buf, size_t len, void *desc, fi_addr_t source, uint64_t tag, uint64_t ignore,
           void *context),
          (ep, buf, len, desc, source, tag, ignore, context), len, receive_told(kind, context))
OPERATION(tagged, recvv, FI_TRECVV,
          (struct fid_ep * ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t source, uint64_t tag,
           uint64_t ignore, void *context),
          (ep, iov, desc, count, source, tag, ignore, context), iov_bytes(iov, count), receive_told(kind, context))

/* A search for a message takes none, and its completion is reported like a receive. */
static ssize_t tagged_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
    const struct tagged_table *around = TABLE_AROUND(ep->tagged, tagged_table);
    struct fabric_op op;
    fabric_begin(&op, around->kind->provider);
    ssize_t result = around->behind->recvmsg(ep, msg, flags);
    bool looks = flags & FI_PEEK;
    if (op.log)
        operation_end(&op, looks ? CALLED_FI_PEEK : CALLED_FI_TRECVMSG,
                      looks ? 0 : iov_bytes(msg->msg_iov, msg->iov_count),
                      result == 0 && receive_told_by(around->kind, flags, msg->context), result);
    return result;
}

OPERATION(tagged, send, FI_TSEND,
          (struct fid_ep * ep, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t tag, void *context),
          (ep, buf, len, desc, dest, tag, context), len, send_told(kind))
OPERATION(tagged, sendv, FI_TSENDV,
          (struct fid_ep * ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest, uint64_t tag,
           void *context),
          (ep, iov, desc, count, dest, tag, context), iov_bytes(iov, count), send_told(kind))
OPERATION(tagged, sendmsg, FI_TSENDMSG, (struct fid_ep * ep, const struct fi_msg_tagged *msg, uint64_t flags),
          (ep, msg, flags), iov_bytes(msg->msg_iov, msg->iov_count), send_told_by(kind, flags))
OPERATION(tagged, inject, FI_TINJECT, (struct fid_ep * ep, const void *buf, size_t len, fi_addr_t dest, uint64_t tag),
          (ep, buf, len, dest, tag), len, false)
OPERATION(tagged, senddata, FI_TSENDDATA,
          (struct fid_ep * ep, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest, uint64_t tag,
           void *context),
          (ep, buf, len, desc, data, dest, tag, context), len, send_told(kind))
OPERATION(tagged, injectdata, FI_TINJECTDATA,
          (struct fid_ep * ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest, uint64_t tag),
          (ep, buf, len, data, dest, tag), len, false)

void fabric_tagged_replace(struct tagged_table *table, bool on)
{
    ENTRY(table, recv, tagged_recv, on);
    ENTRY(table, recvv, tagged_recvv, on);
    ENTRY(table, recvmsg, tagged_recvmsg, on);
    ENTRY(table, send, tagged_send, on);
    ENTRY(table, sendv, tagged_sendv, on);
    ENTRY(table, sendmsg, tagged_sendmsg, on);
    ENTRY(table, inject, tagged_inject, on);
    ENTRY(table, senddata, tagged_senddata, on);
    ENTRY(table, injectdata, tagged_injectdata, on);
}

/* ---- one-sided --------------------------------------------------------------------------------------------------- */

OPERATION(rma, read, FI_READ,
          (struct fid_ep * ep, void *buf, size_t len, void *desc, fi_addr_t source, uint64_t addr, uint64_t key,
           void *context),
          (ep, buf, len, desc, source, addr, key, context), len, send_told(kind))
OPERATION(rma, readv, FI_READV,
          (struct fid_ep * ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t source, uint64_t addr,
           uint64_t key, void *context),
          (ep, iov, desc, count, source, addr, key, context), iov_bytes(iov, count), send_told(kind))
OPERATION(rma, readmsg, FI_READMSG, (struct fid_ep * ep, const struct fi_msg_rma *msg, uint64_t flags),
          (ep, msg, flags), iov_bytes(msg->msg_iov, msg->iov_count), send_told_by(kind, flags))
OPERATION(rma, write, FI_WRITE,
          (struct fid_ep * ep, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t addr, uint64_t key,
           void *context),
          (ep, buf, len, desc, dest, addr, key, context), len, send_told(kind))
OPERATION(rma, writev, FI_WRITEV,
          (struct fid_ep * ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest, uint64_t addr,
           uint64_t key, void *context),
          (ep, iov, desc, count, dest, addr, key, context), iov_bytes(iov, count), send_told(kind))
OPERATION(rma, writemsg, FI_WRITEMSG, (struct fid_ep * ep, const struct fi_msg_rma *msg, uint64_t flags),
          (ep, msg, flags), iov_bytes(msg->msg_iov, msg->iov_count), send_told_by(kind, flags))
OPERATION(rma, inject, FI_INJECT_WRITE,
          (struct fid_ep * ep, const void *buf, size_t len, fi_addr_t dest, uint64_t addr, uint64_t key),
          (ep, buf, len, dest, addr, key), len, false)
OPERATION(rma, writedata, FI_WRITEDATA,
          (struct fid_ep * ep, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest, uint64_t addr,
           uint64_t key, void *context),
          (ep, buf, len, desc, data, dest, addr, key, context), len, send_told(kind))
OPERATION(rma, injectdata, FI_INJECT_WRITEDATA,
          (struct fid_ep * ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key),
          (ep, buf, len, data, dest, addr, key), len, false)

void fabric_rma_replace(struct rma_table *table, bool on)
{
    ENTRY(table, read, rma_read, on);
    ENTRY(table, readv, rma_readv, on);
    ENTRY(table, readmsg, rma_readmsg, on);
    ENTRY(table, write, rma_write, on);
    ENTRY(table, writev, rma_writev, on);
    ENTRY(table, writemsg, rma_writemsg, on);
    ENTRY(table, inject, rma_inject, on);
    ENTRY(table, writedata, rma_writedata, on);
    ENTRY(table, injectdata, rma_injectdata, on);
}

/* ---- atomic ------------------------------------------------------------------------------------------------------ */

OPERATION(atomic, write, FI_ATOMIC,
          (struct fid_ep * ep, const void *buf, size_t count, void *desc, fi_addr_t dest, uint64_t addr, uint64_t key,
           enum fi_datatype type, enum fi_op what, void *context),
          (ep, buf, count, desc, dest, addr, key, type, what, context), count *datatype_bytes(type), send_told(kind))
OPERATION(atomic, writev, FI_ATOMICV,
          (struct fid_ep * ep, const struct fi_ioc *ioc, void **desc, size_t count, fi_addr_t dest, uint64_t addr,
           uint64_t key, enum fi_datatype type, enum fi_op what, void *context),
          (ep, ioc, desc, count, dest, addr, key, type, what, context), ioc_bytes(ioc, count, type), send_told(kind))
OPERATION(atomic, writemsg, FI_ATOMICMSG, (struct fid_ep * ep, const struct fi_msg_atomic *msg, uint64_t flags),
          (ep, msg, flags), ioc_bytes(msg->msg_iov, msg->iov_count, msg->datatype), send_told_by(kind, flags))
OPERATION(atomic, inject, FI_INJECT_ATOMIC,
          (struct fid_ep * ep, const void *buf, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key,
           enum fi_datatype type, enum fi_op what),
          (ep, buf, count, dest, addr, key, type, what), count *datatype_bytes(type), false)
OPERATION(atomic, readwrite, FI_FETCH_ATOMIC,
          (struct fid_ep * ep, const void *buf, size_t count, void *desc, void *got, void *got_desc, fi_addr_t dest,
           uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op what, void *context),
          (ep, buf, count, desc, got, got_desc, dest, addr, key, type, what, context), count *datatype_bytes(type),
          send_told(kind))
OPERATION(atomic, readwritev, FI_FETCH_ATOMICV,
          (struct fid_ep * ep, const struct fi_ioc *ioc, void **desc, size_t count, struct fi_ioc *got, void **got_desc,
           size_t got_count, fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op what,
           void *context),
          (ep, ioc, desc, count, got, got_desc, got_count, dest, addr, key, type, what, context),
          ioc_bytes(ioc, count, type), send_told(kind))
OPERATION(atomic, readwritemsg, FI_FETCH_ATOMICMSG,
          (struct fid_ep * ep, const struct fi_msg_atomic *msg, struct fi_ioc *got, void **got_desc, size_t got_count,
           uint64_t flags),
          (ep, msg, got, got_desc, got_count, flags), ioc_bytes(msg->msg_iov, msg->iov_count, msg->datatype),
          send_told_by(kind, flags))
OPERATION(atomic, compwrite, FI_COMPARE_ATOMIC,
          (struct fid_ep * ep, const void *buf, size_t count, void *desc, const void *compare, void *compare_desc,
           void *got, void *got_desc, fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype type,
           enum fi_op what, void *context),
          (ep, buf, count, desc, compare, compare_desc, got, got_desc, dest, addr, key, type, what, context),
          count *datatype_bytes(type), send_told(kind))
OPERATION(atomic, compwritev, FI_COMPARE_ATOMICV,
          (struct fid_ep * ep, const struct fi_ioc *ioc, void **desc, size_t count, const struct fi_ioc *compare,
           void **compare_desc, size_t compare_count, struct fi_ioc *got, void **got_desc, size_t got_count,
           fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op what, void *context),
          (ep, ioc, desc, count, compare, compare_desc, compare_count, got, got_desc, got_count, dest, addr, key, type,
           what, context),
          ioc_bytes(ioc, count, type), send_told(kind))
OPERATION(atomic, compwritemsg, FI_COMPARE_ATOMICMSG,
          (struct fid_ep * ep, const struct fi_msg_atomic *msg, const struct fi_ioc *compare, void **compare_desc,
           size_t compare_count, struct fi_ioc *got, void **got_desc, size_t got_count, uint64_t flags),
          (ep, msg, compare, compare_desc, compare_count, got, got_desc, got_count, flags),
          ioc_bytes(msg->msg_iov, msg->iov_count, msg->datatype), send_told_by(kind, flags))

void fabric_atomic_replace(struct atomic_table *table, bool on)
{
    ENTRY(table, write, atomic_write, on);
    ENTRY(table, writev, atomic_writev, on);
    ENTRY(table, writemsg, atomic_writemsg, on);
    ENTRY(table, inject, atomic_inject, on);
    ENTRY(table, readwrite, atomic_readwrite, on);
    ENTRY(table, readwritev, atomic_readwritev, on);
    ENTRY(table, readwritemsg, atomic_readwritemsg, on);
    ENTRY(table, compwrite, atomic_compwrite, on);
    ENTRY(table, compwritev, atomic_compwritev, on);
    ENTRY(table, compwritemsg, atomic_compwritemsg, on);
}
