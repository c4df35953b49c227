#include "definitions/otf2_objects.h"

#include "base/hash.h"
#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct name {
    struct keyed keyed;
    char text[];
};

/* Returns the key. Deleted files are found by process and number. Other objects are found by communicator and
 * number. */
static uint64_t owner_key(enum object_kind kind, uint32_t owner)
{
    return (uint64_t)kind << 32 | owner;
}

/* Members may have different names for a window. Takes one of them. A process lists its latest name first, and this one
 * is used. */
static int names_take(struct trace_objects *objects, const struct trace_job *job, const struct trace_comms *comms,
                      int32_t world_rank)
{
    const struct run_reader *run = job->ranks[world_rank].run;
    for (size_t i = 0; i < run->object_count; i++) {
        const struct object_record *record = run->objects[i];
        uint32_t owner = (uint32_t)world_rank;
        if (record->kind != OBJECT_DELETED)
            owner = trace_comm_find(comms, job, world_rank, run_reader_comm_at(run, record->slot, record->ticks));
        if (owner == NO_COMM || !record->number)
            continue;
        uint64_t key = owner_key(record->kind, owner), number = record->number;
        if (record->kind != OBJECT_DELETED)
            number = trace_object_number(comms, owner, world_rank, record->number);
        if (keytable_find(&objects->names, key, number))
            continue;
        size_t bytes = strlen(record->name) + 1;
        struct name *name = keytable_make(&objects->names, key, number, sizeof(struct name) + bytes);
        if (!name)
            return -1;
        memcpy(name->text, record->name, bytes); /* the file's pages may be released */
    }
    return 0;
}

int trace_objects_open(struct trace_objects *objects, const struct trace_job *job, const struct trace_comms *comms,
                       struct otf2_report *report)
{
    *objects = (struct trace_objects){.ranks = job->size};
    objects->all.names = &objects->names;
    objects->of_rank = calloc((size_t)job->size, sizeof *objects->of_rank);
    if (!objects->of_rank)
        return report_no_memory(report);
    for (int32_t r = 0; r < job->size; r++) {
        const struct run_reader *run = job->ranks[r].run;
        if (!run)
            continue;
        if (trace_run_wake(run, report) != 0)
            return -1;
        int result = names_take(objects, job, comms, r);
        run_reader_rest(run);
        if (result != 0)
            return report_no_memory(report);
    }
    return 0;
}

void object_set_release(struct object_set *set)
{
    keytable_release(&set->objects, NULL);
    keytable_release(&set->groups, NULL);
    free(set->windows);
    free(set->handles);
    free(set->group_list);
    free(set->file_keys);
    trace_strings_release(&set->files);
    *set = (struct object_set){0};
}

void trace_objects_release(struct trace_objects *objects)
{
    for (int32_t r = 0; objects->of_rank && r < objects->ranks; r++)
        free(objects->of_rank[r]);
    free(objects->of_rank);
    object_set_release(&objects->all);
    keytable_release(&objects->names, NULL);
    *objects = (struct trace_objects){0};
}

static const char *name_of(const struct object_set *set, enum object_kind kind, uint32_t owner, uint64_t number)
{
    const struct name *name = keytable_find(set->names, owner_key(kind, owner), number);
    return name ? name->text : "";
}

uint32_t trace_file_find(struct object_set *set, enum object_kind kind, uint32_t owner, uint64_t number)
{
    char text[64];
    const char *name = name_of(set, kind, owner, number);
    if (!name[0]) {
        size_t used = (size_t)snprintf(text, sizeof text, "MPI file %u of %s %u", (uint32_t)number,
                                       kind == OBJECT_FILE ? "communicator" : "rank", owner);
        if (number >> 32)
            snprintf(text + used, sizeof text - used, " in rank %u", (uint32_t)(number >> 32));
        name = text;
    }
    if (!ARRAY_GROWN(set->file_keys, set->files.count))
        return UINT32_MAX;
    uint32_t count = set->files.count, file = trace_strings_id(&set->files, name);
    if (file == count)
        set->file_keys[file] = (struct file_key){kind, owner, number};
    return file;
}

static struct trace_object *object_add(struct object_set *set, enum object_kind kind, uint32_t comm, uint64_t number)
{
    bool window = kind == OBJECT_WINDOW;
    struct trace_object ***list = window ? &set->windows : &set->handles;
    uint32_t *count = window ? &set->window_count : &set->handle_count;
    if (!ARRAY_GROWN(*list, *count))
        return NULL;
    uint32_t file = window ? 0 : trace_file_find(set, kind, comm, number);
    struct trace_object *object =
        file == UINT32_MAX ? NULL : keytable_make(&set->objects, owner_key(kind, comm), number, sizeof *object);
    if (!object)
        return NULL;
    object->kind = kind;
    object->comm = comm;
    object->number = number;
    object->file = file;
    object->name = name_of(set, kind, comm, number);
    object->id = *count;
    (*list)[(*count)++] = object;
    return object;
}

struct trace_object *trace_object_find(struct object_set *set, enum object_kind kind, uint32_t comm, uint64_t number)
{
    struct trace_object *object = keytable_find(&set->objects, owner_key(kind, comm), number);
    return object ? object : object_add(set, kind, comm, number);
}

const struct trace_object *object_known(const struct object_set *set, enum object_kind kind, uint32_t comm,
                                        uint64_t number)
{
    return keytable_find(&set->objects, owner_key(kind, comm), number);
}

uint32_t trace_group_find(struct object_set *set, const int32_t *members, uint32_t count)
{
    uint64_t hash = HASH_BEGIN, occurrence = 0;
    for (uint32_t i = 0; i < count; i++)
        hash = hash_add(hash, (uint32_t)members[i]);
    struct trace_group *group;
    while ((group = keytable_find(&set->groups, hash, occurrence))) {
        if (group->count == count && memcmp(group->members, members, count * sizeof *members) == 0)
            return group->id;
        occurrence++;
    }
    if (!ARRAY_GROWN(set->group_list, set->group_count))
        return NO_GROUP;
    group = keytable_make(&set->groups, hash, occurrence, sizeof *group + count * sizeof *members);
    if (!group)
        return NO_GROUP;
    group->count = count;
    memcpy(group->members, members, count * sizeof *members);
    group->id = set->group_count;
    set->group_list[set->group_count++] = group;
    return group->id;
}

/* ---- what a process has open ------------------------------------------------------------------------------------- */

void target_drop(struct object_states *states, struct target *target, struct access *access)
{
    *(access->before ? &access->before->next : &target->first) = access->next;
    *(access->next ? &access->next->before : &target->last) = access->before;
    if (target->here == access)
        target->here = access->next;
    if (access->asked)
        keytable_take(&states->asked, &access->keyed);
    free(access);
}

static void targets_forget(struct object_states *states, struct object_state *state)
{
    for (struct target *target = state->active; target; target = target->next_active)
        while (target->first)
            target_drop(states, target, target->first);
    free(state->targets);
    state->targets = state->active = NULL;
}

/* An operation under way before a gap may have ended in it, and a similar one may have begun. Requests have ids. */
static void state_tear(struct object_states *states, struct object_state *state)
{
    for (struct target *target = state->active; target; target = target->next_active) {
        for (struct access *access = target->first, *next; access; access = next) {
            next = access->next;
            access->alone = true;
            if (!access->asked || access->local)
                target_drop(states, target, access);
        }
        target->here = NULL;
    }
    state->all_locks = 0;
    state->started = state->posted = NO_GROUP;
    state->split = 0;
    state->tears = states->tears;
}

struct object_state *object_state_of(struct object_states *states, struct trace_object *object)
{
    struct object_state *state = keytable_find(&states->states, object->kind, object->id);
    if (!state) {
        state = keytable_make(&states->states, object->kind, object->id, sizeof *state);
        if (!state)
            return NULL;
        state->object = object;
        state->started = state->posted = NO_GROUP;
        state->tears = states->tears;
    }
    if (state->tears != states->tears)
        state_tear(states, state);
    return state;
}

void object_state_forget(struct object_states *states, struct object_state *state)
{
    keytable_take(&states->states, &state->keyed);
    targets_forget(states, state);
    free(state);
}

void object_states_release(struct object_states *states)
{
    struct keyed **all = keytable_sorted(&states->states);
    for (size_t i = 0, count = states->states.count; all && i < count; i++)
        object_state_forget(states, (struct object_state *)(void *)all[i]);
    free(all);
    keytable_release(&states->states, NULL);
    keytable_release(&states->asked, NULL);
}
