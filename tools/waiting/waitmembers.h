/*
 * The members of the communicators of a job, by the names of these: who has a record of it, and its rank there. So the
 * questions of waiting.h take no walk over all files of a large job.
 *
 *   members ──> member_list of a name ──> list[]      the files with that communicator, in their order
 *                                     ──> absences[]  ranks that have not come to a collective on it. The waits of all
 *                                                     who wait for them are this one list
 */
#ifndef MPIT_TOOLS_WAITMEMBERS_H
#define MPIT_TOOLS_WAITMEMBERS_H

#include "base/keytable.h"
#include "waiting/waiting.h"

#include <stdbool.h>

struct member {
    size_t file; /* index in the job */
    const struct comm_record *record;
    bool counted;
    uint64_t done; /* if it was counted: collectives that it has begun there before its present one */
};

struct absence {
    uint32_t call; /* CALL_NONE: any nonblocking collective */
    uint64_t done; /* as in struct patient */
    struct wait *list;
    size_t count;
};

struct member_list {
    struct keyed keyed;
    const char *name;
    struct member *list, *by_rank; /* by_rank: likewise, sorted by rank. NULL: not yet needed */
    size_t count;
    struct absence *absences;
    size_t absence_count;
};

struct members {
    const struct run_job *job;
    struct keytable lists;
};

/* Returns NULL without memory. */
struct members *members_open(const struct run_job *job);
void members_close(struct members *members);
/* Returns the members of the communicator with this name. NULL: there are none. */
struct member_list *members_of(const struct members *members, const char *name);
/* Returns the member of this file, or NULL. */
struct member *members_find(const struct member_list *members, size_t file);
/* Returns the file of a member of `comm`, or SIZE_MAX. In an inter-communicator a member is of the other group. */
size_t members_rank(struct member_list *members, const struct comm_record *comm, int32_t rank);

/* Returns the absence of this collective. NULL: it is not known. */
const struct absence *absence_find(const struct member_list *members, uint32_t call, uint64_t done);
/* Returns a new one, to be filled. NULL: no memory. Valid until the next is made. Many of a communicator are possible
 * if its processes are far apart. Then do not make more: their threads show no ranks. */
enum { ABSENCES_MOST = 1000 };
struct absence *absence_make(struct member_list *members, uint32_t call, uint64_t done);
/* Adds a rank. Equal ranks follow each other, and are added once. Returns false without memory. */
bool absence_add(struct absence *absence, int32_t rank);

#endif
