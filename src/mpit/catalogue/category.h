/*
 * The tree of categories: ours under "mpit", then the library's with their members' indices translated into ours, then
 * those of other components.
 *
 *   mpit                           all of it
 *     mpit/process                 variables of the process and its threads
 *     mpit/recorder                what the recorder itself did, used and lost
 *     mpit/communicator            bound to communicators
 *       mpit/communicator/time       time spent
 *       mpit/communicator/workload   messages, bytes, sizes, peers
 *       mpit/communicator/level      what is pending now, and its watermarks
 *     mpit/window                  bound to windows
 *     mpit/file                    bound to files
 *     mpit/service                 below MPI: fabric, operating system, hardware counters
 *     mpit/control                 control variables
 *     mpit/event                   events
 *
 * Each own variable is in exactly one of the leaves. Categories and members only ever come: an index never moves, and a
 * list grows at its end. The stamp grows when a category comes, or a member, and at no other time.
 */
#ifndef MPIT_MPIT_CATEGORY_H
#define MPIT_MPIT_CATEGORY_H

enum member_kind { MEMBER_CVAR, MEMBER_PVAR, MEMBER_CATEGORY, MEMBER_EVENT, MEMBER_KINDS };

/* Looks for categories and members that have come; returns how many categories there are. */
int category_refresh(void);

/* Puts a member into the category of that path; makes it, and those above it, where they do not exist. 0, or -1 without
 * memory. Adding a member again changes nothing. */
int category_add(const char *path, enum member_kind kind, int index);

/* The first `len` members of a kind into indices, and how many there are into count (either may be NULL). Returns
 * MPI_SUCCESS, MPI_T_ERR_INVALID_INDEX, or MPI_T_ERR_INVALID: len below 0, or no indices and len above 0. */
int category_members(int cat_index, enum member_kind kind, int len, int indices[], int *count);

#endif
