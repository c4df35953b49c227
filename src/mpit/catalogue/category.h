/*
 * The tree of categories: ours under "mpit", then the library's with their members' indices translated into ours, then
 * the categories of other libraries.
 *
 *   mpit                           everything
 *     mpit/process                 variables of the process and its threads
 *     mpit/recorder                actions, resources and losses of the recorder itself
 *     mpit/communicator            bound to communicators
 *       mpit/communicator/time       time spent
 *       mpit/communicator/workload   messages, bytes, sizes, peers
 *       mpit/communicator/level      pending operations now, and watermarks
 *     mpit/window                  bound to windows
 *     mpit/file                    bound to files
 *     mpit/service                 below MPI: fabric, operating system, hardware counters
 *     mpit/control                 control variables
 *     mpit/event                   events
 *
 * Each own variable is in exactly one of the leaves. Categories and members are never removed: an index never moves,
 * and a list grows at its end. The stamp grows when a category or a member is added, and at no other time.
 */
#ifndef MPIT_MPIT_CATEGORY_H
#define MPIT_MPIT_CATEGORY_H

enum member_kind { MEMBER_CVAR, MEMBER_PVAR, MEMBER_CATEGORY, MEMBER_EVENT, MEMBER_KINDS };

/* Searches for new categories and members. Returns the number of categories. */
int category_refresh(void);

/* Stores the first `len` members of a kind in indices, and their number in count (either may be NULL). Returns
 * MPI_SUCCESS, MPI_T_ERR_NOT_INITIALIZED, MPI_T_ERR_INVALID_INDEX, or MPI_T_ERR_INVALID: len below 0, or no indices and
 * len above 0. */
int category_members(int cat_index, enum member_kind kind, int len, int indices[], int *count);

#endif
