/*
 * The names of communicators: the same on all ranks of the communicator, and without any communication.
 *
 *     PARENT/OPERATION#K            K: how many communicators had been made out of the parent, this one included
 *     PARENT/split#K:COLOR          what distinguishes the children of one call
 *     PARENT/create#K:GROUP         GROUP: hash of the members' ranks in MPI_COMM_WORLD, in hexadecimal
 *
 * Sometimes not all processes of the parent take part, or each side of an inter-communicator has a parent of its own.
 * Then K counts the communicators with the same name up to K. All members of one are members of the others, too:
 *
 *     PARENT/create_group:GROUP:TAG#K
 *     intercomm:GROUP+GROUP:TAG#K   both groups, the smaller hash first: MPI_Intercomm_create
 *     connect:GROUP+GROUP#K         MPI_Comm_accept and MPI_Comm_connect
 *     join:GROUP+GROUP#K
 *     from_group:GROUP:TEXT#K       TEXT: the string tag
 *     from_groups:GROUP+GROUP:TEXT#K
 *     spawn:PARENTS+CHILDREN#K      how many processes there are on each side
 *
 * Processes of several worlds have no ranks in a common world. Then GROUP is made of the ranks in the parent. Without a
 * parent it is nPROCESSES, the smaller side first. In names made of numbers of processes, K may differ on each side:
 * children cannot know how many others their parents have spawned before.
 */
#ifndef MPIT_PROBES_COMMNAME_H
#define MPIT_PROBES_COMMNAME_H

#include "registry/book.h"
#include "native.h"

enum name_mark { MARK_NONE, MARK_COLOR, MARK_GROUP, MARK_TAG, MARK_TEXT, MARK_PARENTS, MARK_CHILDREN };

/* How a communicator came to be. */
struct comm_origin {
    const char *operation;
    enum name_mark mark; /* what distinguishes it: a color, its groups (with a tag or text), who spawned whom */
    bool apart;          /* the name does not contain the parent's */
    bool equal;          /* has the parent's processes, in their order */
    bool by_name;        /* the number counts this name, and not the creations in the parent */
    int tag;             /* or color */
    const char *text;
    MPI_Comm from;   /* the parent. Only used if `parent` is known */
    uint32_t number; /* of the creation, in the parent */
    uint32_t path;   /* number of the call path, as in struct request */
};

/* Makes its name, and the facts about its members for the run file: facts->flags and ->group. facts must have size and
 * remote size. */
void comm_name_make(MPI_Comm comm, const struct comm *parent, const struct comm_origin *origin,
                    struct comm_facts *facts, char name[COMM_NAME_BYTES]);

/* The name of a communicator whose making was not seen. */
void comm_name_unknown(MPI_Comm comm, struct comm_facts *facts, char name[COMM_NAME_BYTES]);

#endif
