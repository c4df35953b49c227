/*
 * Windows and files of a job in an archive.
 *
 *   (kind, communicator, number) ──> trace_object          the same in all processes that made it together
 *   names of files ──> IoRegularFile                        several handles may be of one file
 *   groups[] ──> members[]                                  whom a window's post or start names
 *
 * Each rank has its own set, in which objects get their numbers at their first use. The rank's event files contain
 * these numbers, which do not depend on the order of writing. The numbers of the archive are given at the end
 * (otf2_numbers.h). They also have a set, from which the definitions are written. For each object that a process uses,
 * its open operations are known (struct object_state): accesses under way, locks, the groups of its epochs, a split
 * operation.
 */
#ifndef MPIT_TOOLS_OTF2_OBJECTS_H
#define MPIT_TOOLS_OTF2_OBJECTS_H

#include "base/keytable.h"
#include "trace/callstream.h"
#include "trace/tracecomms.h"
#include "trace/requestpairs.h"
#include "definitions/otf2_strings.h"

struct trace_object {
    struct keyed keyed;
    enum object_kind kind;
    uint32_t id; /* of the window or handle in its set */
    uint32_t comm;
    uint64_t number;  /* trace_object_number */
    uint32_t file;    /* of a handle: the file in the set */
    const char *name; /* of a window, or "" for none */
    bool has_events;  /* its creation is in the archive */
};

struct trace_group {
    struct keyed keyed; /* hash of the members, and the position among equal hashes */
    uint32_t id;
    uint32_t count;
    int32_t members[]; /* ranks of the world */
};

/* A file from MPI_File_delete is named by its process. All other files are named by their communicator. */
struct file_key {
    enum object_kind kind;
    uint32_t owner;
    uint64_t number;
};

struct object_set {
    const struct keytable *names;
    struct keytable objects, groups;
    struct trace_object **windows, **handles;
    uint32_t window_count, handle_count;
    struct trace_group **group_list;
    uint32_t group_count;
    struct trace_strings files;
    struct file_key *file_keys; /* by file: the first user */
};

struct trace_objects {
    struct keytable names; /* of all processes, fixed while events are written */
    struct object_set all; /* the archive's */
    uint64_t **of_rank;    /* the set of each rank, in words (otf2_numbers.c), or NULL if empty, or of another
                            * process */
    int32_t ranks;
};

/* An access to a window that has not completed on both sides. */
struct access {
    struct keyed keyed; /* by id, only accesses with a request */
    uint64_t id;
    struct access *next, *before; /* to the same target, in the order of the calls */
    bool local;                   /* it has completed here */
    bool gets;                    /* and needs nothing else */
    bool asked;                   /* it has a request */
    bool alone;                   /* only its request ends it, because a gap may hide a synchronization */
};

struct target {
    struct access *first, *last;
    struct access *here; /* all before it have completed here, or complete alone */
    struct target *next_active;
    uint32_t locks;
    uint64_t tears; /* gaps so far when these were known */
    bool active;
};

struct object_state {
    struct keyed keyed;
    struct trace_object *object;
    bool open; /* its creation was seen, and not its end */
    bool allocated;
    uint32_t all_locks;
    struct target *targets;   /* by rank */
    struct target *active;    /* with accesses */
    uint32_t started, posted; /* groups */
    uint64_t split;           /* id of the split operation that is under way */
    uint64_t tears;           /* gaps so far when all of that was known */
};

/* The open operations of a process. */
struct object_states {
    struct keytable states, asked;
    uint64_t unknown; /* accesses and transfers that could not be placed */
    uint64_t tears;   /* gaps so far: an operation before a gap may have ended in it */
};

/* Returns 0, or -1 with the report's error set. Release it in both cases. */
int trace_objects_open(struct trace_objects *objects, const struct trace_job *job, const struct trace_comms *comms,
                       struct otf2_report *report);
void trace_objects_release(struct trace_objects *objects);
void object_set_release(struct object_set *set);

/* Returns the position of an object among the objects of a process on a communicator, as a number that only this object
 * has. MPI_COMM_SELF and the like are one communicator here, but each process has its own objects on it. */
static inline uint64_t trace_object_number(const struct trace_comms *comms, uint32_t comm, int32_t world_rank,
                                           uint32_t number)
{
    return comms->list[comm].self ? (uint64_t)(uint32_t)world_rank << 32 | number : number;
}

/* Returns the object on this communicator with this number, or NULL without memory. */
struct trace_object *trace_object_find(struct object_set *set, enum object_kind kind, uint32_t comm, uint64_t number);
/* The same if it is already known, else NULL. */
const struct trace_object *object_known(const struct object_set *set, enum object_kind kind, uint32_t comm,
                                        uint64_t number);
/* Returns the number of the file with this name, or UINT32_MAX without memory. */
uint32_t trace_file_find(struct object_set *set, enum object_kind kind, uint32_t owner, uint64_t number);
/* Returns the number of the group, whose members have an order, or NO_GROUP without memory. */
uint32_t trace_group_find(struct object_set *set, const int32_t *members, uint32_t count);

/* Returns the open operations of the process on the object, as known since the last gap. Returns NULL without
 * memory. */
struct object_state *object_state_of(struct object_states *states, struct trace_object *object);
void object_state_forget(struct object_states *states, struct object_state *state);
void object_states_release(struct object_states *states);
void target_drop(struct object_states *states, struct target *target, struct access *access);

#endif
