/*
 * The names of communicators: the same on all ranks of the communicator, and without any communication.
 *
 *     PARENT/OPERATION#K            K: how many communicators had been made out of the parent, this one included
 *     PARENT/split#K:COLOR          what distinguishes the children of one call
 *     PARENT/create#K:GROUP         GROUP: hash of the members' ranks in MPI_COMM_WORLD, in hexadecimal
 *
 * Where not all processes of the parent take part, or each side of an inter-communicator has a parent of its own, K
 * counts the communicators whose names are equal up to it; all members of one are members of the others, too:
 *
 *     PARENT/create_group:GROUP:TAG#K
 *     intercomm:GROUP+GROUP:TAG#K   both groups, the smaller hash first: MPI_Intercomm_create
 *     connect:GROUP+GROUP#K         MPI_Comm_accept and MPI_Comm_connect
 *     join:GROUP+GROUP#K
 *     from_group:GROUP:TEXT#K       TEXT: the string tag
 *     from_groups:GROUP+GROUP:TEXT#K
 *     spawn:PARENTS+CHILDREN#K      how many processes there are on each side
 *
 * Processes of several worlds have no ranks in one that all of them know. Then GROUP is made of the ranks in the
 * parent; where there is none either, it is nPROCESSES, the smaller side first. Of names made of numbers of processes,
 * K may be another one on each side: children cannot know how many others their parents have spawned before.
 */
#ifndef MPIT_PROBES_COMMNAME_H
#define MPIT_PROBES_COMMNAME_H

#include "registry/book.h"
#include "native.h"

enum name_mark { MARK_NONE, MARK_COLOR, MARK_GROUP, MARK_TAG, MARK_TEXT, MARK_PARENTS, MARK_CHILDREN };

/* How a communicator came to be. */
struct comm_origin {
    const char *operation;
    enum name_mark mark; /* what distinguishes it: a colour; its group(s), with a tag or text; who spawned whom */
    bool apart;          /* the name is without the parent's */
    bool equal;          /* has the parent's processes, in their order */
    bool by_name;        /* the number is that of the name, and not of the creation in the parent */
    int tag;             /* or colour */
    const char *text;
    MPI_Comm from;   /* the parent; only looked at where `parent` is known */
    uint32_t number; /* of the creation, in the parent */
};

/* Its name, and what the run file says of its members: facts->flags and ->group. Size and remote size are there. */
void comm_name_make(MPI_Comm comm, const struct comm *parent, const struct comm_origin *origin,
                    struct comm_facts *facts, char name[COMM_NAME_BYTES]);

/* The name of one that was made out of sight. */
void comm_name_unknown(MPI_Comm comm, struct comm_facts *facts, char name[COMM_NAME_BYTES]);

#endif
