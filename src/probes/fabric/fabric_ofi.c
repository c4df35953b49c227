/*
 * libfabric: empty polls for the stalls, and operations, polls and completions while they are recorded (fabric.h).
 *
 * Its calls go through tables of operations in the objects. So fi_fabric is wrapped, and its fabrics, domains, queues
 * and endpoints get tables made by mpit (fabric_tables.h).
 *
 * Providers use other providers (rxm uses tcp), and open them while they are opened themselves. Objects that are opened
 * inside of such a call belong to the provider and stay as they are, like all objects made from them. Only the
 * outermost provider is seen.
 */
#include "base/threadown.h"
#include "fabric/fabric_tables.h"
#include "gate.h"
#include "progress/polling.h"
#include "preload.h"
#include "recorder/recorder.h"

/* The calls in progress of this thread that open something. */
THREAD_OWN(unsigned, fabric_opening);

/* Around a call that opens something: the library may open more inside of it. */
#define OPENED(call)                                                                                                   \
    ({                                                                                                                 \
        fabric_opening++;                                                                                              \
        int opened = (call);                                                                                           \
        fabric_opening--;                                                                                              \
        opened;                                                                                                        \
    })

/* A function of a table that opens something. `done`: what follows if it could. */
#define OPENING(of, function, parameters, arguments, done)                                                             \
    static int of##_##function parameters                                                                              \
    {                                                                                                                  \
        const struct of##_table *table = TABLE_AROUND(of->ops, of##_table);                                            \
        int result = OPENED(table->behind->function arguments);                                                        \
        return result == 0 ? (done) : result;                                                                          \
    }

/* ---- completion queues ------------------------------------------------------------------------------------------- */

/* Buffers that take several messages: they report each message, and once that they are used up. */
enum { MULTI_MOST = 64 };
static void *multi[MULTI_MOST];
static unsigned multi_count;

bool fabric_multi_add(void *context)
{
    for (unsigned i = 0; context && i < MULTI_MOST; i++) {
        void *none = NULL;
        if (__atomic_compare_exchange_n(&multi[i], &none, context, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            __atomic_add_fetch(&multi_count, 1, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}

/* True if the buffer is not used up yet. */
static bool multi_goes_on(void *context, uint64_t flags)
{
    for (unsigned i = 0; context && __atomic_load_n(&multi_count, __ATOMIC_ACQUIRE) && i < MULTI_MOST; i++) {
        void *found = context;
        if (__atomic_load_n(&multi[i], __ATOMIC_ACQUIRE) != context)
            continue;
        if (!(flags & FI_MULTI_RECV))
            return true;
        if (__atomic_compare_exchange_n(&multi[i], &found, NULL, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            __atomic_sub_fetch(&multi_count, 1, __ATOMIC_RELEASE);
    }
    return false;
}

static size_t entry_bytes(enum fi_cq_format format)
{
    switch (format) {
    case FI_CQ_FORMAT_MSG:
        return sizeof(struct fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
        return sizeof(struct fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED:
        return sizeof(struct fi_cq_tagged_entry);
    default:
        return 0; /* they have no flags */
    }
}

/* Returns how many of the entries end operations of this process. */
static uint32_t entries_count(const struct fabric_kind_of *kind, const char *entries, ssize_t got)
{
    size_t bytes = entry_bytes(kind->format);
    uint32_t count = 0;
    if (got <= 0 || !bytes || !entries)
        return got > 0 ? (uint32_t)got : 0;
    for (ssize_t i = 0; i < got; i++) {
        struct fi_cq_msg_entry entry;
        memcpy(&entry, entries + (size_t)i * bytes, sizeof entry);
        bool of_others = entry.flags & (FI_REMOTE_WRITE | FI_REMOTE_READ);
        count += !of_others && !((entry.flags & FI_RECV) && multi_goes_on(entry.op_context, entry.flags));
    }
    return count;
}

/* An error is not progress either: a search for a message that is not there ends with one, and MPI_Probe makes such
 * searches. */
static ssize_t polled(struct log *log, struct fabric_op *op, const struct queue_table *table, const void *entries,
                      ssize_t got)
{
    if (op->log)
        fabric_poll_end(op, got > 0 || got == -FI_EAVAIL, entries_count(table->kind, entries, got));
    if (log)
        poll_end(log, got > 0);
    return got;
}

#define POLLED(got, read, table, entries)                                                                              \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        struct fabric_op op;                                                                                           \
        if (poll_is_quick(log) && !RELAXED_LOAD(&fabric_on)) {                                                         \
            uint64_t after = poll_quick_begin(log);                                                                    \
            got = read;                                                                                                \
            poll_quick_end(log, after, got > 0);                                                                       \
        } else {                                                                                                       \
            log = poll_begin();                                                                                        \
            fabric_poll_begin(&op, (table)->kind->provider);                                                           \
            got = read;                                                                                                \
            got = polled(log, &op, table, entries, got);                                                               \
        }                                                                                                              \
    } while (0)

static ssize_t queue_read(struct fid_cq *cq, void *buf, size_t count)
{
    const struct queue_table *table = TABLE_AROUND(cq->ops, queue_table);
    ssize_t got;
    POLLED(got, table->behind->read(cq, buf, count), table, buf);
    return got;
}

static ssize_t queue_readfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *source)
{
    const struct queue_table *table = TABLE_AROUND(cq->ops, queue_table);
    ssize_t got;
    POLLED(got, table->behind->readfrom(cq, buf, count, source), table, buf);
    return got;
}

static ssize_t slept(struct log *log, struct fabric_op *op, const struct queue_table *table, const void *entries,
                     ssize_t got)
{
    if (op->log)
        fabric_poll_end(op, got > 0 || got == -FI_EAVAIL, entries_count(table->kind, entries, got));
    if (log)
        sleep_end(log);
    return got;
}

static ssize_t queue_sread(struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
    const struct queue_table *table = TABLE_AROUND(cq->ops, queue_table);
    struct log *log = sleep_begin();
    struct fabric_op op;
    fabric_poll_begin(&op, table->kind->provider);
    return slept(log, &op, table, buf, table->behind->sread(cq, buf, count, cond, timeout));
}

static ssize_t queue_sreadfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *source, const void *cond,
                               int timeout)
{
    const struct queue_table *table = TABLE_AROUND(cq->ops, queue_table);
    struct log *log = sleep_begin();
    struct fabric_op op;
    fabric_poll_begin(&op, table->kind->provider);
    return slept(log, &op, table, buf, table->behind->sreadfrom(cq, buf, count, source, cond, timeout));
}

/* A canceled operation did not fail. Neither did a search for a message that is not there. */
static ssize_t queue_readerr(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
    const struct queue_table *table = TABLE_AROUND(cq->ops, queue_table);
    ssize_t got = table->behind->readerr(cq, entry, flags);
    if (got > 0 && entry && (entry->err == FI_ECANCELED || entry->flags & FI_MULTI_RECV))
        multi_goes_on(entry->op_context, FI_MULTI_RECV); /* that buffer gets no more messages */
    if (got > 0 && RELAXED_LOAD(&fabric_on))
        fabric_completed(table->kind->provider, entry && entry->err != FI_ECANCELED && entry->err != FI_ENOMSG);
    return got;
}

void fabric_queue_replace(struct queue_table *table, bool on)
{
    (void)on; /* stalls are always recorded */
    ENTRY(table, read, queue_read, true);
    ENTRY(table, readfrom, queue_readfrom, true);
    ENTRY(table, sread, queue_sread, true);
    ENTRY(table, sreadfrom, queue_sreadfrom, true);
    ENTRY(table, readerr, queue_readerr, true);
}

/* ---- endpoints --------------------------------------------------------------------------------------------------- */

/* A provider may have made an endpoint without the tables that were not requested. It may change its tables when the
 * endpoint is bound or enabled. */
static void endpoint_dress(struct fid_ep *ep, const struct fabric_kind_of *kind)
{
    struct msg_table *msg = kind->caps & FI_MSG && ep->msg ? msg_table_of(ep->msg, kind) : NULL;
    struct tagged_table *tagged = kind->caps & FI_TAGGED && ep->tagged ? tagged_table_of(ep->tagged, kind) : NULL;
    struct rma_table *rma = kind->caps & FI_RMA && ep->rma ? rma_table_of(ep->rma, kind) : NULL;
    struct atomic_table *atomic = kind->caps & FI_ATOMIC && ep->atomic ? atomic_table_of(ep->atomic, kind) : NULL;
    struct fid_table *fid = fid_table_of(ep->fid.ops, kind);
    struct ep_table *own = ep->fid.fclass == FI_CLASS_SEP ? ep_table_of(ep->ops, kind) : NULL;
    if (msg)
        ep->msg = &msg->ops;
    if (tagged)
        ep->tagged = &tagged->ops;
    if (rma)
        ep->rma = &rma->ops;
    if (atomic)
        ep->atomic = &atomic->ops;
    if (fid)
        ep->fid.ops = &fid->ops;
    if (own)
        ep->ops = &own->ops;
}

static int endpoint_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    const struct fid_table *table = TABLE_AROUND(fid->ops, fid_table);
    int result = table->behind->bind(fid, other, flags);
    if (result != 0)
        return result;
    struct fabric_kind_of kind = *table->kind;
    if (other && other->fclass == FI_CLASS_CQ && flags & FI_TRANSMIT) {
        kind.sends_queued = true;
        kind.sends_chosen = flags & FI_SELECTIVE_COMPLETION;
    }
    if (other && other->fclass == FI_CLASS_CQ && flags & FI_RECV) {
        kind.receives_queued = true;
        kind.receives_chosen = flags & FI_SELECTIVE_COMPLETION;
    }
    const struct fabric_kind_of *known = fabric_kind_known(&kind);
    if (known)
        endpoint_dress((struct fid_ep *)(void *)fid, known);
    return 0;
}

static int endpoint_control(struct fid *fid, int command, void *arg)
{
    const struct fid_table *table = TABLE_AROUND(fid->ops, fid_table);
    int result = table->behind->control(fid, command, arg);
    if (result != 0 || (command != FI_ENABLE && command != FI_SETOPSFLAG))
        return result;
    struct fabric_kind_of kind = *table->kind;
    uint64_t flags = command == FI_SETOPSFLAG && arg ? *(const uint64_t *)arg : 0;
    if (flags & FI_TRANSMIT)
        kind.sends_told = flags & FI_COMPLETION;
    if (flags & FI_RECV) {
        kind.receives_told = flags & FI_COMPLETION;
        kind.receives_multi = flags & FI_MULTI_RECV;
    }
    const struct fabric_kind_of *known = fabric_kind_known(&kind);
    if (known)
        endpoint_dress((struct fid_ep *)(void *)fid, known);
    return result;
}

void fabric_fid_replace(struct fid_table *table, bool on)
{
    (void)on;
    ENTRY(table, bind, endpoint_bind, true);
    ENTRY(table, control, endpoint_control, true);
}

static void kind_of_sends(struct fabric_kind_of *kind, const struct fi_tx_attr *attr)
{
    if (attr)
        kind->sends_told = attr->op_flags & FI_COMPLETION;
}

static void kind_of_receives(struct fabric_kind_of *kind, const struct fi_rx_attr *attr)
{
    if (!attr)
        return;
    kind->receives_told = attr->op_flags & FI_COMPLETION;
    kind->receives_multi = attr->op_flags & FI_MULTI_RECV;
}

static void context_dress(const struct fabric_kind_of *of, struct fabric_kind_of kind, uint64_t caps, struct fid_ep *ep)
{
    kind.provider = of->provider;
    kind.caps = caps ? caps : of->caps;
    const struct fabric_kind_of *known = fabric_kind_known(&kind);
    if (known)
        endpoint_dress(ep, known);
}

static int endpoint_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx, void *context)
{
    const struct ep_table *table = TABLE_AROUND(sep->ops, ep_table);
    struct fabric_kind_of kind = {.caps = 0};
    int result = OPENED(table->behind->tx_ctx(sep, index, attr, tx, context));
    kind_of_sends(&kind, attr);
    if (result == 0)
        context_dress(table->kind, kind, attr ? attr->caps : 0, *tx);
    return result;
}

static int endpoint_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx, void *context)
{
    const struct ep_table *table = TABLE_AROUND(sep->ops, ep_table);
    struct fabric_kind_of kind = {.caps = 0};
    int result = OPENED(table->behind->rx_ctx(sep, index, attr, rx, context));
    kind_of_receives(&kind, attr);
    if (result == 0)
        context_dress(table->kind, kind, attr ? attr->caps : 0, *rx);
    return result;
}

void fabric_ep_replace(struct ep_table *table, bool on)
{
    (void)on;
    ENTRY(table, tx_ctx, endpoint_tx_ctx, true);
    ENTRY(table, rx_ctx, endpoint_rx_ctx, true);
}

/* ---- domains ----------------------------------------------------------------------------------------------------- */

static int endpoint_opened(const struct fabric_kind_of *of, const struct fi_info *info, struct fid_ep *ep)
{
    struct fabric_kind_of kind = {.caps = 0};
    kind_of_sends(&kind, info ? info->tx_attr : NULL);
    kind_of_receives(&kind, info ? info->rx_attr : NULL);
    context_dress(of, kind, info ? info->caps : 0, ep);
    return 0;
}

OPENING(domain, endpoint, (struct fid_domain * domain, struct fi_info *info, struct fid_ep **ep, void *context),
        (domain, info, ep, context), endpoint_opened(table->kind, info, *ep))
OPENING(domain, endpoint2,
        (struct fid_domain * domain, struct fi_info *info, struct fid_ep **ep, uint64_t flags, void *context),
        (domain, info, ep, flags, context), endpoint_opened(table->kind, info, *ep))
OPENING(domain, scalable_ep, (struct fid_domain * domain, struct fi_info *info, struct fid_ep **ep, void *context),
        (domain, info, ep, context), endpoint_opened(table->kind, info, *ep))

/* The queues of the endpoints that share it report its receives. */
static int domain_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **rx, void *context)
{
    const struct domain_table *table = TABLE_AROUND(domain->ops, domain_table);
    struct fabric_kind_of kind = {.receives_queued = true};
    int result = OPENED(table->behind->srx_ctx(domain, attr, rx, context));
    kind_of_receives(&kind, attr);
    if (result == 0)
        context_dress(table->kind, kind, attr ? attr->caps : 0, *rx);
    return result;
}

static int domain_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context)
{
    const struct domain_table *table = TABLE_AROUND(domain->ops, domain_table);
    int result = OPENED(table->behind->cq_open(domain, attr, cq, context));
    struct fabric_kind_of kind = {.provider = table->kind->provider,
                                  .format = attr ? attr->format : FI_CQ_FORMAT_UNSPEC};
    const struct fabric_kind_of *known = result == 0 ? fabric_kind_known(&kind) : NULL;
    struct queue_table *queue = known ? queue_table_of((*cq)->ops, known) : NULL;
    if (queue)
        (*cq)->ops = &queue->ops;
    return result;
}

void fabric_domain_replace(struct domain_table *table, bool on)
{
    (void)on;
    ENTRY(table, cq_open, domain_cq_open, true);
    ENTRY(table, endpoint, domain_endpoint, true);
    ENTRY(table, endpoint2, domain_endpoint2, true);
    ENTRY(table, scalable_ep, domain_scalable_ep, true);
    ENTRY(table, srx_ctx, domain_srx_ctx, true);
}

/* ---- fabrics ----------------------------------------------------------------------------------------------------- */

static int domain_opened(const struct fabric_kind_of *of, struct fid_domain *domain)
{
    struct domain_table *table = domain_table_of(domain->ops, of);
    if (table)
        domain->ops = &table->ops;
    return 0;
}

OPENING(fabric, domain, (struct fid_fabric * fabric, struct fi_info *info, struct fid_domain **domain, void *context),
        (fabric, info, domain, context), domain_opened(table->kind, *domain))
OPENING(fabric, domain2,
        (struct fid_fabric * fabric, struct fi_info *info, struct fid_domain **domain, uint64_t flags, void *context),
        (fabric, info, domain, flags, context), domain_opened(table->kind, *domain))

void fabric_fabric_replace(struct fabric_table *table, bool on)
{
    (void)on;
    ENTRY(table, domain, fabric_domain, true);
    ENTRY(table, domain2, fabric_domain2, true);
}

static bool seen;

bool stall_fabric_here(void)
{
    return RELAXED_LOAD(&seen);
}

GATE(fi_fabric);
int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    static struct native_behind open_fabric = {.name = "fi_fabric"};
    __typeof__(&fi_fabric) behind =
        (__typeof__(&fi_fabric))native_symbol_behind(&open_fabric, __builtin_return_address(0));
    if (!behind)
        return -FI_ENOSYS;
    bool outermost = fabric_opening == 0;
    if (outermost)
        recorder_start_below();
    int result = OPENED(behind(attr, fabric, context));
    if (result != 0 || !outermost || !mpit_preload.recorded)
        return result;
    struct fabric_kind_of kind = {
        .provider = fabric_provider(attr && attr->prov_name && attr->prov_name[0] ? attr->prov_name : "libfabric")};
    const struct fabric_kind_of *known = fabric_kind_known(&kind);
    struct fabric_table *table = known ? fabric_table_of((*fabric)->ops, known) : NULL;
    if (table) {
        (*fabric)->ops = &table->ops;
        RELAXED_STORE(&seen, true);
    }
    return 0;
}
