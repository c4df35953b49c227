/*
 * For whom the threads of a job wait, that did not come to its end.
 *
 *   a send or receive ──> its peer          a completion call ──> the peers of the requests that are under way
 *   a collective ──> the members of the communicator that have not entered it          all of that: struct waits
 *   MPI_Finalize, MPI_Comm_dup, MPI_Win_free and others, which are collective in effect ──> likewise
 *
 * A circle of ranks that wait is a deadlock where none of them does what another one waits for, and where they have
 * waited so long, while all of them lived, that no message can be on its way. A rank that is dead does not wait: those
 * that wait for it wait for a dead rank.
 */
#ifndef MPIT_TOOLS_WAITING_H
#define MPIT_TOOLS_WAITING_H

#include "job/rundir.h"
#include "report/timeline.h"

enum wait_kind { WAIT_FROM, WAIT_TO, WAIT_AT, WAIT_ALL, WAIT_KINDS };

struct wait {
    int32_t rank; /* in MPI_COMM_WORLD; -1: not known */
    enum wait_kind kind;
};

struct waits {
    struct wait *list;
    size_t count;
    bool anybody;    /* it receives from whoever sends */
    bool requests;   /* the list is of requests under way, of which the call may complete others */
    bool collective; /* and one of them is of a nonblocking collective */
    bool of_all;     /* it waits for all who have not entered, and not for some of them */
    bool posted;     /* it sends, and may have receives under way, by which others get rid of what they send */
};

/* A thread of a process that did not come to its end. */
struct patient {
    const struct run_reader *file;
    uint32_t thread;
    struct thread_state state;
    const char *call; /* the name of state.call */
    const char *last; /* the last call that returned; NULL: none is known */
    int64_t since_ns; /* of the state; outside of MPI: since when */
    int64_t end_ns;   /* when its process died; now, if it is alive; -1: not known */
    bool alive;
    bool unseen; /* whether it lives cannot be told from here, and it has not told an end */
    bool shown;
    struct waits waits;
    uint64_t done; /* in a collective: how many it has behind it on that communicator; in a call like MPI_Comm_dup: how
                    * many of these */
};

struct ward {
    const struct run_job *job;
    struct timeline line;
    struct patient *patients;
    size_t count, processes;
    int64_t end_ns; /* the last sign of life */
};

/* The process's record of the communicator that the thread's call works on; NULL: none, or not known. */
const struct comm_record *patient_comm(const struct patient *patient);
/* Fills in the waits of all. Returns 0, or -1 without memory. */
int waits_find(struct ward *ward);
/* Until when the thread was in its state, as far as is known: the last sign of life of the job where its death is not.
 */
int64_t patient_end(const struct ward *ward, const struct patient *patient);
/* Whether a thread of another rank waits for this one, and has done so for long when that was dead. */
bool patient_waits_for_dead(const struct ward *ward, const struct patient *patient, const struct patient *dead);
void waits_release(struct ward *ward);
/* Ranks that wait for each other in a circle: how many, in order in *ranks, which is to be freed; 0: none. *sure: each
 * of them is in a call that cannot end otherwise. */
size_t waits_circle(const struct ward *ward, int32_t **ranks, bool *sure);

#endif
