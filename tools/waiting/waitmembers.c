#include "waiting/waitmembers.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* Returns the list of this name, or the place where it belongs: the key with which keytable_make makes it. */
static struct member_list *list_find(const struct members *members, const char *name, uint64_t key[2])
{
    struct member_list *list;
    key[0] = hash_text(HASH_BEGIN, name);
    for (key[1] = 0; (list = keytable_find(&members->lists, key[0], key[1])) != NULL; key[1]++)
        if (strcmp(list->name, name) == 0)
            return list;
    return NULL;
}

static bool member_add(struct members *members, size_t file, const struct comm_record *record)
{
    uint64_t key[2];
    struct member_list *list = list_find(members, record->name, key);
    if (!list && !(list = keytable_make(&members->lists, key[0], key[1], sizeof *list)))
        return false;
    list->name = list->name ? list->name : record->name;
    if (list->count && list->list[list->count - 1].file == file)
        return true; /* the first of this name counts */
    if (!ARRAY_GROWN(list->list, list->count))
        return false;
    list->list[list->count++] = (struct member){.file = file, .record = record};
    return true;
}

struct members *members_open(const struct run_job *job)
{
    struct members *members = calloc(1, sizeof *members);
    bool good = members != NULL;
    if (good)
        members->job = job;
    for (size_t i = 0; good && i < job->file_count; i++) {
        const struct run_reader *file = &job->files[i];
        if (run_reader_is_parked(file))
            run_reader_rest(run_job_file(job, i));
        for (size_t slot = 1; good && slot < file->slot_count; slot++)
            if (file->comms[slot] && !(file->comms[slot]->flags & COMM_SUM))
                good = member_add(members, i, file->comms[slot]);
    }
    if (good)
        return members;
    members_close(members);
    return NULL;
}

static void list_free(struct keyed *record)
{
    struct member_list *list = (struct member_list *)(void *)record;
    for (size_t i = 0; i < list->absence_count; i++)
        free(list->absences[i].list);
    free(list->absences);
    free(list->by_rank);
    free(list->list);
    free(list);
}

void members_close(struct members *members)
{
    if (members)
        keytable_release(&members->lists, list_free);
    free(members);
}

struct member_list *members_of(const struct members *members, const char *name)
{
    uint64_t key[2];
    return list_find(members, name, key);
}

static int file_order(const void *file, const void *member)
{
    size_t wanted = *(const size_t *)file, other = ((const struct member *)member)->file;
    return (wanted > other) - (wanted < other);
}

struct member *members_find(const struct member_list *members, size_t file)
{
    return members->count ? bsearch(&file, members->list, members->count, sizeof *members->list, file_order) : NULL;
}

static int rank_order(const void *one, const void *other)
{
    const struct member *a = one, *b = other;
    return ORDER(a->record->rank, b->record->rank) ?: ORDER(a->file, b->file);
}

static bool ranks_sort(struct member_list *members)
{
    if (members->by_rank)
        return true;
    members->by_rank = calloc(members->count + 1, sizeof *members->by_rank);
    if (!members->by_rank)
        return false;
    memcpy(members->by_rank, members->list, members->count * sizeof *members->by_rank);
    qsort(members->by_rank, members->count, sizeof *members->by_rank, rank_order);
    return true;
}

size_t members_rank(struct member_list *members, const struct comm_record *comm, int32_t rank)
{
    if (!members || !ranks_sort(members))
        return SIZE_MAX;
    size_t low = 0, high = members->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (members->by_rank[middle].record->rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < members->count && members->by_rank[low].record->rank == rank; low++)
        if (!(comm->flags & COMM_INTER) || members->by_rank[low].record->group != comm->group)
            return members->by_rank[low].file;
    return SIZE_MAX;
}

const struct absence *absence_find(const struct member_list *members, uint32_t call, uint64_t done)
{
    for (size_t i = 0; members && i < members->absence_count; i++)
        if (members->absences[i].call == call && members->absences[i].done == done)
            return &members->absences[i];
    return NULL;
}

struct absence *absence_make(struct member_list *members, uint32_t call, uint64_t done)
{
    if (!ARRAY_GROWN(members->absences, members->absence_count))
        return NULL;
    members->absences[members->absence_count] = (struct absence){.call = call, .done = done};
    return &members->absences[members->absence_count++];
}

bool absence_add(struct absence *absence, int32_t rank)
{
    if (absence->count && absence->list[absence->count - 1].rank == rank)
        return true;
    if (!ARRAY_GROWN(absence->list, absence->count))
        return false;
    absence->list[absence->count++] = (struct wait){rank, WAIT_ALL};
    return true;
}
