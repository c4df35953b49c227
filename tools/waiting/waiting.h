/*
 * Finds the ranks for which the threads of a job wait, if the job did not reach its end.
 *
 *   a send or receive ──> its peer          a completion call ──> the peers of the requests that are under way
 *   a collective ──> the members of the communicator that have not entered it          all of that: struct waits
 *   MPI_Finalize, MPI_Comm_dup, MPI_Win_free and others, which are collective in effect ──> likewise
 *
 * A circle of waiting ranks is a deadlock under two conditions. None of them is in an operation that another waits for.
 * And all of them lived and waited so long that no message can be on its way. A dead rank does not wait. A rank that
 * waits for it waits for a dead rank.
 */
#ifndef MPIT_TOOLS_WAITING_H
#define MPIT_TOOLS_WAITING_H

#include "calls.h"
#include "job/rundir.h"
#include "job/timeline.h"

struct call_places;
struct members;

enum { WAIT_LONG_NS = 1000000000 }; /* no message takes so long */
enum wait_kind { WAIT_FROM, WAIT_TO, WAIT_AT, WAIT_ALL, WAIT_KINDS };

struct wait {
    int32_t rank; /* in MPI_COMM_WORLD, or -1 if unknown */
    enum wait_kind kind;
};

struct waits {
    struct wait *list;
    size_t count;
    bool anybody;    /* it receives from any source */
    bool requests;   /* the list has requests under way. The call may complete others */
    bool collective; /* and one of them is for a nonblocking collective */
    bool of_all;     /* it waits for all that have not entered, and not for some of them */
    bool shared;     /* the list belongs to ward.members */
    bool posted;     /* it sends, and may have posted receives, so that others can finish their sends */
};

/* A thread of a process that did not reach its end. */
struct patient {
    const struct run_reader *file;
    uint32_t thread;
    struct thread_state state;
    const char *call; /* the name of state.call */
    uint32_t path;    /* call path of state.call, or outside of MPI of the last call. 0 = not known */
    uint32_t place;   /* its place in the program, in ward.places. 0 = not known */
    const char *last; /* the last call that returned, or NULL if unknown */
    int64_t since_ns; /* begin of the state, or outside of MPI since then */
    uint64_t since;   /* the same in ticks. 0 = not known */
    int64_t end_ns;   /* death of its process, the present if it lives, or -1 if unknown */
    bool alive;
    bool unseen; /* this tool cannot see whether it lives, and no end is recorded */
    bool shown;
    struct waits waits;
    uint64_t written; /* records of the thread when it was read */
    uint64_t done;    /* in a collective: number of completed collectives on that communicator. In a call like
                    * MPI_Comm_dup: number of completed such calls */
};

struct ward {
    const struct run_job *job;
    struct timeline line;
    struct call_places *places; /* NULL: places were not looked up */
    struct patient *patients;   /* in the order of the job's files */
    size_t count, processes;
    size_t *first_of_file;   /* by file: the index of its first patient, and one more. NULL: there are no patients */
    struct members *members; /* of communicators (waitmembers.h), likewise */
    int64_t end_ns;          /* the last sign of life */
};

/* Returns the process's record of the communicator of the thread's call, or NULL for none or unknown. */
const struct comm_record *patient_comm(const struct patient *patient);
/* Reads how often a process has returned from each function. Returns the number of functions. */
size_t calls_read(const struct run_reader *file, uint64_t counts[CALL_COUNT]);
/* Reads what is needed to know the waits of a thread, except in a completion call. Its file must be awake. */
void patient_read(struct patient *patient);
/* Fills in the waits of all. Returns 0, or -1 without memory. */
int waits_find(struct ward *ward);
/* Returns how long the thread was in its state, as far as known. Without a recorded death, this is until the last sign
 * of life of the job.
 */
int64_t patient_end(const struct ward *ward, const struct patient *patient);
/* Returns whether a thread of another rank waits for this one, and had done so for long when this one was dead. */
bool patient_waits_for_dead(const struct ward *ward, const struct patient *patient, const struct patient *dead);
void waits_release(struct ward *ward);
/* Finds ranks that wait for each other in a circle. Returns their number, or 0 for none. *ranks has them in order, and
 * the caller frees it. *sure: each of them is in a call that cannot end otherwise. */
size_t waits_circle(const struct ward *ward, int32_t **ranks, bool *sure);

#endif
