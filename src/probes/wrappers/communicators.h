/* Calls that make, name and free communicators. */
#ifndef MPIT_PROBES_COMMUNICATORS_H
#define MPIT_PROBES_COMMUNICATORS_H

#include "wrappers/enter.h"

/* The part that distinguishes the name of the new communicator. The words are arguments of the wrapper
 * (calls.table). */
#define ORIGIN_dup .mark = MARK_NONE, .equal = true
#define ORIGIN_cart .mark = MARK_NONE
#define ORIGIN_graph .mark = MARK_NONE
#define ORIGIN_dist_graph .mark = MARK_NONE
#define ORIGIN_merge .mark = MARK_NONE
#define ORIGIN_split .mark = MARK_COLOR, .tag = color
#define ORIGIN_split_type .mark = MARK_GROUP
#define ORIGIN_create .mark = MARK_GROUP
#define ORIGIN_cart_sub .mark = MARK_GROUP
#define ORIGIN_create_group .mark = MARK_TAG, .tag = tag, .by_name = true
#define ORIGIN_intercomm .mark = MARK_TAG, .tag = tag, .by_name = true, .apart = true
#define ORIGIN_spawn .mark = MARK_PARENTS, .by_name = true, .apart = true
#define ORIGIN_connect .mark = MARK_GROUP, .by_name = true, .apart = true
#define ORIGIN_join ORIGIN_connect
#define ORIGIN_from_group .mark = MARK_TEXT, .text = stringtag, .by_name = true, .apart = true
#define ORIGIN_from_groups ORIGIN_from_group

#define ORIGIN(detail, parent)                                                                                         \
    (struct comm_origin)                                                                                               \
    {                                                                                                                  \
        .operation = #detail, .from = (parent), ORIGIN_##detail                                                        \
    }

/* The call is charged to probe->view, if there is one. */
void leave_comm_create(struct probe *probe, enum call kind, int result, struct comm_origin origin,
                       const MPI_Comm *newcomm);
void leave_comm_idup(struct probe *probe, enum call kind, MPI_Comm comm, int result, const MPI_Comm *newcomm,
                     const MPI_Request *request);
/* A call that is collective by the standard, and makes neither data nor a communicator. */
void leave_comm_call(struct probe *probe, enum call kind, MPI_Comm comm, int result);
/* Forgets the handle. Callbacks of the call may still use it. Returns the argument `outer` of leave_comm_free. */
struct view *comm_free_begin(struct probe *probe, const MPI_Comm *comm);
/* The call is charged to the parent, like the creation. */
void leave_comm_free(struct probe *probe, enum call kind, int result, struct view *outer);
void leave_comm_name(struct probe *probe, enum call kind, MPI_Comm comm, const char *text, int result);
/* The parent communicator is known since MPI_Init, unless another tool made that call. */
void leave_comm_parent(struct probe *probe, enum call kind, int result);

#endif
