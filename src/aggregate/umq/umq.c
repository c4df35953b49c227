#include "umq/umq.h"

#include "calls.h"
#include "reader/neighbours.h"
#include "umq/umqmatch.h"
#include "umq/umqsource.h"
#include "umq/umqtags.h"

#include <errno.h>
#include <stdlib.h>

enum { RETRIES_MOST = 16 };

struct umq {
    struct umq *next;
    struct comm *comm;
    uint32_t serial; /* of its record: identifies the communicator in the slot */
    struct source *sources;
};

void (*umq_pending_visit)(const struct comm *comm, umq_receive_found *found, void *data);

static struct umq *umqs;
static bool every_wanted; /* communicators are bound when they are made */
static pthread_mutex_t bind_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- this process ------------------------------------------------------------------------------------------------ */

/* Messages received from the rank, or sent to it. */
static uint64_t own_count(const struct comm *comm, int32_t rank, bool sent)
{
    uint64_t sum = 0;
    for (const struct view *v = __atomic_load_n(&comm->views, __ATOMIC_ACQUIRE); v; v = v->next) {
        const struct peer_cells *page = view_page_find(v, (uint32_t)rank / PEERS_PER_PAGE);
        if (page)
            sum += cell_load(sent ? &page->peer[rank % PEERS_PER_PAGE].send.count
                                  : &page->peer[rank % PEERS_PER_PAGE].recv.count);
    }
    return sum;
}

static struct sending own_sending(const struct comm *comm)
{
    struct sending sending = {0, 0};
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next) {
        const struct view *view = __atomic_load_n(&comm->views, __ATOMIC_ACQUIRE);
        while (view && view->thread != l->index)
            view = view->next;
        sending_add(&sending, &l->record->state, comm->slot, comm->rank, view ? &view->tally.cells->span_last : NULL);
    }
    return sending;
}

/* ---- the length -------------------------------------------------------------------------------------------------- */

/* Messages from one process that are not received, and the number of its calls that are sending one of them. */
struct waiting {
    uint64_t messages, calls;
};

/* `source` NULL: from this process. Reads again while it changes. */
static struct waiting waiting(const struct comm *comm, struct source *source, uint64_t place)
{
    int32_t from = source ? place_rank(place) : comm->rank;
    uint64_t sent = 0, received = 0;
    struct sending before = {0, 0}, after;
    for (int tries = 0; tries < RETRIES_MOST; tries++) {
        received = own_count(comm, from, false);
        before = source ? source_sending(source, place_slot(place), comm->rank) : own_sending(comm);
        LOADS_IN_ORDER();
        sent = before.calls +
               (source ? source_counted(source, place_slot(place), comm->rank) : own_count(comm, from, true));
        LOADS_IN_ORDER();
        after = source ? source_sending(source, place_slot(place), comm->rank) : own_sending(comm);
        if (before.mark == after.mark && received == own_count(comm, from, false))
            break;
    }
    return (struct waiting){.messages = sent > received ? sent - received : 0, .calls = before.calls};
}

/* True if only the calling thread has called MPI, so that no other thread changes the request table. */
static bool is_alone(void)
{
    const struct ledger *only = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE);
    return !book_is_shared() && only && !only->next && book_thread_state == &only->record->state;
}

/* The processes with waiting messages, as many as fit. */
struct batch {
    const struct comm *comm;
    const struct umq_look *look;
    uint64_t receives;         /* pending ones on the communicator */
    uint64_t length, messages; /* without the messages that receives naming a source may take, and with them */
    uint64_t all, any;         /* number of receives in the table, and the ones from any source */
    unsigned settled;          /* how often it was full */
    unsigned count;
    struct {
        struct waiting waiting;
        struct source *source;
        uint64_t place;
    } processes[MATCH_PROCESSES];
};

static int32_t batch_rank(const struct batch *batch, unsigned i)
{
    return batch->processes[i].source ? place_rank(batch->processes[i].place) : batch->comm->rank;
}

struct receives {
    struct match *match;
    const struct event *posting; /* treated as not in the table. NULL: it was found */
};

static void receive_add(void *data, int32_t rank, int32_t tag)
{
    struct receives *receives = data;
    if (receives->posting && receives->posting->peer == rank && receives->posting->tag == tag)
        receives->posting = NULL;
    else
        match_receive(receives->match, rank, tag);
}

static void receives_add(const struct batch *batch, struct match *match)
{
    const struct event *posting = batch->look->posting; /* already in the table, and not pending yet */
    bool posts = posting && posting->comm == batch->comm->slot;
    struct receives receives = {.match = match, .posting = posts ? posting : NULL};
    if (batch->receives && umq_pending_visit && is_alone())
        umq_pending_visit(batch->comm, receive_add, &receives);
}

static void match_clear(struct match *match)
{
    match->process_count = match->message_count = 0;
    match->untold = match->any = match->all = 0;
}

/* The result for any tags. */
static void batch_settle(struct batch *batch)
{
    struct match match;
    match_clear(&match);
    for (unsigned i = 0; i < batch->count; i++) {
        uint64_t messages = batch->processes[i].waiting.messages;
        match_message(&match, match_process(&match, batch_rank(batch, i)), false, 0, messages);
        batch->messages += messages;
    }
    receives_add(batch, &match);
    batch->length += match_named(&match);
    batch->all = match.all;
    batch->any = match.any + match.untold;
    batch->settled++;
}

static void batch_add(struct batch *batch, struct source *source, uint64_t place)
{
    struct waiting found = waiting(batch->comm, source, place);
    if (!found.messages)
        return;
    if (batch->count == MATCH_PROCESSES) {
        batch_settle(batch);
        batch->count = 0;
    }
    batch->processes[batch->count].source = source;
    batch->processes[batch->count].place = place;
    batch->processes[batch->count++].waiting = found;
}

/* ---- by tags ----------------------------------------------------------------------------------------------------- */

/*
 * Collects the buffers of both ends of the messages from the process in place `i` of the batch to this one. This
 * process has only one thread.
 */
static bool batch_ends_collect(const struct batch *batch, unsigned i, struct umq_ends *ends)
{
    const struct ledger *only = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE);
    const struct chunk_header *ring = __atomic_load_n(&only->buffer, __ATOMIC_ACQUIRE);
    if (!ring || ring->capacity <= RING_SPARE || !source_all_timed(book.run.header))
        return false;
    *ends = (struct umq_ends){
        .to = {.ring = ring, .capacity = ring->capacity, .written = &only->tally.cells->events},
        .to_comm = (uint16_t)batch->comm->slot,
        .to_rank = batch->comm->rank,
        .to_since = batch->comm->record->since_ticks,
        .from_rank = batch_rank(batch, i),
    };
    if (batch->processes[i].source)
        return source_ends(batch->processes[i].source, batch->processes[i].place, batch->comm, ends);
    ends->from[ends->from_count++] = ends->to;
    ends->from_comm = ends->to_comm;
    ends->from_since = ends->to_since;
    return true;
}

/* True if messages sent meanwhile are only in the buffers, and were not counted. */
static bool is_as_before(const struct batch *batch, unsigned i)
{
    const struct waiting *before = &batch->processes[i].waiting;
    struct waiting now = waiting(batch->comm, batch->processes[i].source, batch->processes[i].place);
    return now.messages == before->messages && now.calls == before->calls;
}

enum { TAG_OTHER = INT32_MIN }; /* of messages whose tags are in no receive */

/* Finds the messages that wait from the process in place `i`. Returns false if there are too many to tell apart. A
 * call that has not returned has no event yet, so the tag of its message is not known. */
static bool messages_find(const struct batch *batch, unsigned i, const struct umq_tags *named, struct match *match)
{
    struct umq_ends ends;
    struct umq_tags tags = *named;
    const struct waiting *waiting = &batch->processes[i].waiting;
    unsigned process = match_process(match, batch_rank(batch, i));
    uint64_t told = waiting->messages > waiting->calls ? waiting->messages - waiting->calls : 0;
    if (!told || !batch_ends_collect(batch, i, &ends) || !umq_tags_find(&ends, told, batch->look->patience, &tags) ||
        !is_as_before(batch, i))
        return match_message(match, process, false, 0, waiting->messages);
    bool fits = true;
    for (unsigned t = 0; t < tags.count && fits; t++)
        fits = !tags.tags[t].waiting ||
               match_message(match, process, true, tags.tags[t].tag, (uint32_t)tags.tags[t].waiting);
    fits = fits && (!tags.others || match_message(match, process, true, TAG_OTHER, tags.others));
    return fits && (waiting->messages == told || match_message(match, process, false, 0, waiting->messages - told));
}

/* The tags that pending receives name. */
static void tag_note(void *data, int32_t rank, int32_t tag)
{
    struct umq_tags *named = data;
    unsigned i = 0;
    (void)rank;
    while (i < named->count && i < UMQ_TAGS_MOST && named->tags[i].tag != tag)
        i++;
    if (tag == TAG_ANY || i < named->count)
        return;
    if (i < UMQ_TAGS_MOST)
        named->tags[i].tag = tag;
    named->count = i + 1; /* one more than fit: too many */
}

/* True if this reader is a signal handler and may have interrupted a call that was counted but not yet in a buffer. */
static bool is_between(const struct batch *batch)
{
    const struct ledger *only = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE);
    return !batch->look->leaves && RELAXED_LOAD(&only->record->state.call) != CALL_NONE;
}

/* Computes the length again, with the tags that the pending receives name. */
static uint64_t length_by_tags(const struct batch *batch, uint64_t length)
{
    struct match match;
    struct umq_tags named = {.count = 0};
    if (batch->settled != 1 || !batch->all || batch->all > batch->receives || is_between(batch))
        return length;
    umq_pending_visit(batch->comm, tag_note, &named);
    if (named.count > UMQ_TAGS_MOST)
        return length;
    match_clear(&match);
    for (unsigned i = 0; i < batch->count; i++)
        if (!messages_find(batch, i, &named, &match))
            return length;
    receives_add(batch, &match);
    match.any += batch->receives > match.all ? batch->receives - match.all : 0;
    match_named(&match);
    return match_anywhere(&match);
}

uint64_t umq_length_seen(struct umq *umq, const struct umq_look *look)
{
    const struct comm *comm = umq->comm;
    struct batch batch;
    if (comm->remote_size)
        return 0;
    batch.comm = comm;
    batch.look = look;
    batch.receives = umq_receives(umq);
    batch.all = batch.any = batch.length = batch.messages = 0;
    batch.settled = batch.count = 0;
    batch_add(&batch, NULL, 0);
    for (struct source *s = __atomic_load_n(&umq->sources, __ATOMIC_ACQUIRE); s; s = s->next) {
        uint64_t place = source_place(s, comm);
        if (place)
            batch_add(&batch, s, place);
    }
    if (batch.count)
        batch_settle(&batch);
    /* Receives from any source, and receives that are not in the table. */
    uint64_t anywhere = batch.any + (batch.receives > batch.all ? batch.receives - batch.all : 0);
    uint64_t length = batch.length > anywhere ? batch.length - anywhere : 0;
    return length < batch.messages && batch.messages > look->floor ? length_by_tags(&batch, length) : length;
}

uint64_t umq_length(struct umq *umq)
{
    static const struct umq_look whole = {.patience = UINT64_MAX};
    int error = errno; /* the reader may be in a signal handler */
    uint64_t length = umq_length_seen(umq, &whole);
    errno = error;
    return length;
}

uint64_t umq_receives(const struct umq *umq)
{
    return cell_load(&umq->comm->shared->recvs.now);
}

bool umq_is_over(const struct umq *umq)
{
    return __atomic_load_n(&umq->comm->freed, __ATOMIC_ACQUIRE);
}

uint64_t umq_peers(struct umq *umq)
{
    int error = errno;
    uint64_t count = umq->comm->remote_size == 0;
    if (!umq->comm->remote_size)
        for (struct source *s = __atomic_load_n(&umq->sources, __ATOMIC_ACQUIRE); s; s = s->next)
            count += source_place(s, umq->comm) != 0;
    errno = error;
    return count;
}

/* ---- binding ----------------------------------------------------------------------------------------------------- */

static void sources_look(struct umq *umq)
{
    if (umq->comm->size < 2 || umq->comm->remote_size)
        return;
    neighbours_look(&book.run);
    for (struct neighbour *n = neighbours_first(); n; n = n->next) {
        struct source *source = umq->sources;
        while (source && source->neighbour != n)
            source = source->next;
        if (source || !n->base || __atomic_load_n(&n->kinship, __ATOMIC_RELAXED) == KINSHIP_NONE)
            continue;
        struct source *fresh = calloc(1, sizeof *fresh);
        if (!fresh)
            return;
        fresh->neighbour = n;
        fresh->next = umq->sources;
        __atomic_store_n(&umq->sources, fresh, __ATOMIC_RELEASE);
    }
    for (struct source *source = umq->sources; source; source = source->next)
        source_look(source, umq->comm);
}

struct umq *umq_bind(struct comm *comm)
{
    pthread_mutex_lock(&bind_lock);
    struct umq *umq = umqs;
    while (umq && umq->comm != comm)
        umq = umq->next;
    if (!umq && (umq = calloc(1, sizeof *umq))) {
        umq->comm = comm;
        umq->next = umqs;
        __atomic_store_n(&umqs, umq, __ATOMIC_RELEASE);
    }
    if (umq && umq->serial != comm->record->serial) {
        umq->serial = comm->record->serial; /* no readable handle of the last one is left */
        for (struct source *source = umq->sources; source; source = source->next)
            source_forget(source);
    }
    if (umq)
        sources_look(umq);
    pthread_mutex_unlock(&bind_lock);
    return umq;
}

bool umq_bind_every(void)
{
    bool good = true;
    RELAXED_STORE(&every_wanted, true);
    for (uint32_t slot = 1; slot < __atomic_load_n(&book.comm_count, __ATOMIC_ACQUIRE); slot++) {
        struct comm *comm = __atomic_load_n(&book.comms[slot], __ATOMIC_ACQUIRE);
        if (comm && !__atomic_load_n(&comm->freed, __ATOMIC_ACQUIRE))
            good = umq_bind(comm) && good;
    }
    return good;
}

void umq_comm_made(struct comm *comm)
{
    if (RELAXED_LOAD(&every_wanted))
        umq_bind(comm);
}

uint64_t umq_length_of_every(void)
{
    uint64_t sum = 0;
    for (struct umq *umq = __atomic_load_n(&umqs, __ATOMIC_ACQUIRE); umq; umq = umq->next)
        if (!umq_is_over(umq))
            sum += umq_length(umq);
    return sum;
}
