#include "communicators/communicator.h"

#include "fabric/fabric_keys.h"
#include "registry/unfreed.h"
#include "thread/raising.h"
#include "umq/umq.h"

/* A call without a time enters the buffer with the last time that its thread knows. That time must be in the life of
 * this communicator, and not of the one that had the slot before. */
static void comm_time_know(struct log *log, const struct comm *comm)
{
    if (!RELAXED_LOAD(&knob_timed) && cell_load(&log->own.tally.end) < comm->record->since_ticks)
        log_end_now(log);
}

static struct view *cache_put(struct log *log, uint64_t handle, struct comm *comm)
{
    struct view *view = book_view(&log->own, comm);
    comm_time_know(log, comm);
    if (view) {
        *ledger_cache(&log->own, handle) = log->own.last = (struct comm_cache_entry){handle, view};
    }
    return view;
}

struct view *comm_view_find(struct log *log, uint64_t handle)
{
    const struct comm_cache_entry *known = ledger_cache(&log->own, handle);
    if (handle && known->handle == handle) {
        log->own.last = (struct comm_cache_entry){handle, known->view};
        return known->view;
    }
    if (log->freeing_comm && handle && log->freeing_comm->comm->handle == handle)
        return log->freeing_comm; /* a callback of the call that frees it. Soon it is the handle of another one */
    struct comm *comm = book_comm_find(handle);
    return comm ? cache_put(log, handle, comm) : NULL;
}

/* Asks MPI for the facts about the communicator. */
static bool comm_facts_learn(MPI_Comm comm, struct comm_facts *facts)
{
    int inter = 0;
    facts->handle = abi_handle_of_comm(comm);
    if (native.Comm_size(comm, &facts->size) == MPI_SUCCESS && native.Comm_rank(comm, &facts->rank) == MPI_SUCCESS &&
        native.Comm_test_inter(comm, &inter) == MPI_SUCCESS &&
        (!inter || native.Comm_remote_size(comm, &facts->remote_size) == MPI_SUCCESS))
        return true;
    run_lost(&book.run, LOSS_UNKNOWN_COMM, 1);
    return false;
}

static struct comm *comm_enter(const struct comm_facts *facts)
{
    struct comm *comm = book_comm_add(facts);
    if (comm)
        umq_comm_made(comm);
    return comm;
}

static void predefined_add(MPI_Comm comm, const char *name)
{
    struct comm_facts facts = {.name = name};
    if (comm_facts_learn(comm, &facts))
        comm_enter(&facts);
}

/* `since`: when its first event began, or before. */
static struct comm *comm_add(MPI_Comm child, const struct comm *parent, const struct comm_origin *origin,
                             uint64_t since)
{
    char name[COMM_NAME_BYTES];
    struct comm_facts facts = {.parent = parent ? parent->slot : 0, .name = name, .since = since};
    if (origin->equal && parent) {
        facts.handle = abi_handle_of_comm(child);
        facts.size = parent->size;
        facts.rank = parent->rank;
        facts.remote_size = parent->remote_size;
    } else if (!comm_facts_learn(child, &facts)) {
        return NULL;
    }
    comm_name_make(child, parent, origin, &facts, name);
    return comm_enter(&facts);
}

void comm_predefined_add(void)
{
    predefined_add(native.comm_world, "MPI_COMM_WORLD");
    predefined_add(native.comm_self, "MPI_COMM_SELF");
}

void comm_parent_add(void)
{
    static const struct comm_origin origin = {
        .operation = "spawn", .mark = MARK_CHILDREN, .apart = true, .by_name = true};
    MPI_Comm parent = native.comm_null;
    if (native.Comm_get_parent(&parent) == MPI_SUCCESS && parent != native.comm_null &&
        !book_comm_find(abi_handle_of_comm(parent)))
        comm_add(parent, NULL, &origin, 0);
}

struct view *comm_view_learn(struct log *log, MPI_Comm comm)
{
    char name[COMM_NAME_BYTES];
    uint64_t handle = abi_handle_of_comm(comm);
    struct view *view = comm_view(log, comm);
    if (view || comm == native.comm_null || book_is_full() || book_comm_find(handle))
        return view; /* known, but there was no memory for its counters */
    struct comm_facts facts = {.name = name, .since = log->state->since}; /* the call that uses it is not over */
    if (!comm_facts_learn(comm, &facts))
        return NULL;
    comm_name_unknown(comm, &facts, name);
    struct comm *added = comm_enter(&facts);
    return added ? cache_put(log, handle, added) : NULL;
}

uint32_t comm_creation_number(struct view *parent)
{
    return parent ? __atomic_add_fetch(&parent->comm->creations, 1, __ATOMIC_RELAXED) : 0;
}

void comm_created(struct log *log, struct view *parent, const struct comm_origin *origin, MPI_Comm child,
                  enum call kind, bool quiet)
{
    if (child == native.comm_null)
        return;
    fabric_keys_forget();
    struct comm *stale = book_comm_find(abi_handle_of_comm(child));
    if (stale) { /* freed without mpit seeing it, and its handle is used again */
        book_comm_retire(stale);
        book_comm_release(stale);
    }
    /* a call that is not recorded or not timed has no time */
    bool timed = !quiet && RELAXED_LOAD(&knob_timed);
    if (!timed && !quiet)
        log_end_now(log);
    uint64_t now = quiet ? clock_now() : log->own.tally.end;
    uint32_t parent_slot = parent ? parent->comm->slot : 0;
    struct comm *comm = comm_add(child, parent ? parent->comm : NULL, origin, now);
    struct view *view = comm ? cache_put(log, abi_handle_of_comm(child), comm) : NULL;
    if (comm)
        unfreed_add(LEFT_COMM, abi_handle_of_comm(child), origin->path, now);
    if (!view || quiet)
        return;
    struct event event = {.begin = now, .kind = RECORD_CREATED, .peer = (int32_t)parent_slot};
    log_record(log, view, &event, 0);
    raise_comm(log, COMM_CREATION, comm, kind);
}
