#include "communicator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct comm_cache_entry *cache_place(struct log *log, uint64_t handle)
{
    return &log->own.cache[(handle * UINT64_C(0x9e3779b97f4a7c15)) >> 60];
}

/* The communicator of this call, where the next one looks first. */
static void last_set(struct log *log, uint64_t handle, struct view *view)
{
    log->own.last = (struct comm_cache_entry){handle, view};
    RELAXED_STORE(&log->own.plain_handle, book.plain ? handle : PLAIN_NEVER);
}

static struct view *cache_put(struct log *log, uint64_t handle, struct comm *comm)
{
    struct view *view = book_view(&log->own, comm);
    if (view) {
        *cache_place(log, handle) = (struct comm_cache_entry){handle, view};
        last_set(log, handle, view);
    }
    return view;
}

struct view *comm_view_find(struct log *log, uint64_t handle)
{
    const struct comm_cache_entry *known = cache_place(log, handle);
    if (handle && known->handle == handle) {
        last_set(log, handle, known->view);
        return known->view;
    }
    if (log->freeing && handle && log->freeing->comm->handle == handle)
        return log->freeing; /* a callback of the call that frees it; soon it is another's handle */
    struct comm *comm = book_comm_find(handle);
    return comm ? cache_put(log, handle, comm) : NULL;
}

/* The members' ranks in MPI_COMM_WORLD, hashed in order: FNV-1a. */
static uint64_t group_hash(MPI_Comm comm)
{
    MPI_Group group = native.group_null, world = native.group_null;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    int size = 0;
    if (native.Comm_group(comm, &group) != MPI_SUCCESS)
        return 0;
    if (native.Comm_group(native.comm_world, &world) == MPI_SUCCESS && native.Group_size(group, &size) == MPI_SUCCESS &&
        size > 0) {
        int *ranks = malloc(2 * (size_t)size * sizeof *ranks);
        for (int i = 0; ranks && i < size; i++)
            ranks[i] = i;
        if (ranks && native.Group_translate_ranks(group, size, ranks, world, ranks + size) == MPI_SUCCESS)
            for (int i = 0; i < size; i++)
                hash = (hash ^ (uint32_t)ranks[size + i]) * UINT64_C(0x100000001b3);
        free(ranks);
    }
    native.Group_free(&group);
    if (world != native.group_null)
        native.Group_free(&world);
    return hash;
}

static struct comm *comm_add(MPI_Comm comm, uint32_t parent, const char *name)
{
    int inter = 0;
    struct comm_facts facts = {.handle = abi_handle_of_comm(comm), .parent = parent, .name = name};
    if (native.Comm_size(comm, &facts.size) != MPI_SUCCESS || native.Comm_rank(comm, &facts.rank) != MPI_SUCCESS ||
        native.Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        (inter && native.Comm_remote_size(comm, &facts.remote_size) != MPI_SUCCESS)) {
        run_lost(&book.run, LOSS_UNKNOWN_COMM, 1);
        return NULL;
    }
    return book_comm_add(&facts);
}

void comm_predefined_add(void)
{
    comm_add(native.comm_world, 0, "MPI_COMM_WORLD");
    comm_add(native.comm_self, 0, "MPI_COMM_SELF");
}

struct view *comm_view_learn(struct log *log, MPI_Comm comm)
{
    char name[COMM_NAME_BYTES];
    uint64_t handle = abi_handle_of_comm(comm);
    struct view *view = comm_view(log, comm);
    if (view || comm == native.comm_null || book_is_full() || book_comm_find(handle))
        return view; /* known and without cells: there was no memory for them */
    snprintf(name, sizeof name, "unnamed:%016" PRIx64, group_hash(comm));
    struct comm *added = comm_add(comm, 0, name);
    return added ? cache_put(log, handle, added) : NULL;
}

uint32_t comm_creation_number(struct view *parent)
{
    return parent ? __atomic_add_fetch(&parent->comm->creations, 1, __ATOMIC_RELAXED) : 0;
}

/* A name that would be too long keeps its end and has its begin hashed, alike on all ranks. */
static void name_make(const struct view *parent, const struct comm_origin *origin, MPI_Comm child, char *name)
{
    char long_name[2 * COMM_NAME_BYTES];
    char suffix[24] = "";
    if (origin->has_color)
        snprintf(suffix, sizeof suffix, ":%d", origin->color);
    else if (origin->by_group)
        snprintf(suffix, sizeof suffix, ":%08" PRIx32, (uint32_t)group_hash(child));
    int n = snprintf(long_name, sizeof long_name, "%s/%s#%" PRIu32 "%s", parent ? parent->comm->name : "unnamed",
                     origin->operation, origin->number, suffix);
    if (n < COMM_NAME_BYTES) {
        memcpy(name, long_name, (size_t)n + 1);
        return;
    }
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)long_name[i]) * UINT64_C(0x100000001b3);
    snprintf(name, COMM_NAME_BYTES, "%016" PRIx64 "...%s", hash, long_name + n - 100);
}

void comm_created(struct log *log, struct view *parent, const struct comm_origin *origin, MPI_Comm child, bool quiet)
{
    char name[COMM_NAME_BYTES];
    if (child == native.comm_null)
        return;
    struct comm *stale = book_comm_find(abi_handle_of_comm(child));
    if (stale) /* freed out of mpit's sight, and its handle is used again */
        book_comm_retire(stale);
    name_make(parent, origin, child, name);
    uint32_t parent_slot = parent ? parent->comm->slot : 0;
    struct comm *comm = comm_add(child, parent_slot, name);
    struct view *view = comm ? cache_put(log, abi_handle_of_comm(child), comm) : NULL;
    if (!view || quiet)
        return;
    struct event event = {.begin = log->own.tally.end, .kind = RECORD_CREATED, .peer = (int32_t)parent_slot};
    log_record(log, view, &event, 0);
}
