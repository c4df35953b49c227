/*
 * The data of mpit-top about its jobs: the present figures, and the changes since the last look.
 *
 *   model ── jobs[] ──> ranks[] ──> slots[]        figures of a process, and of its communicators by slot
 *                   └─> comms[]                    the job's communicators by name, summed over its ranks
 *
 * A rate is the difference of a figure between two looks, over the time between them by the process's own clock. At the
 * first look at a process it is the mean since its begin. A call that is under way counts: its time so far is added to
 * the counters. So a rank that hangs is in MPI, and the time is not counted twice when the call returns. Shares refer
 * to the time of the process's threads that have called MPI.
 *
 * The program may change the data during a read. A share is limited to 0 .. 1, and a rate of a figure that seems to
 * fall is 0.
 *
 * Ranks in MPI_Init or MPI_Finalize have no part in the shares and efficiencies of their job.
 */
#ifndef MPIT_TOOLS_TOPMODEL_H
#define MPIT_TOOLS_TOPMODEL_H

#include "figures/bucket.h"
#include "format/counter.h"
#include "base/keytable.h"
#include "format/label.h"
#include "live/livesites.h"
#include "report/callplaces.h"
#include "waiting/waiting.h"
#include "top/topfinding.h"
#include "base/username.h"

#include <limits.h>

struct top_figures {
    uint64_t mpi_ns, stall_ns; /* with the calls under way */
    uint64_t thread_ns;        /* of threads that have called MPI, since their first call, while recording was on */
    uint64_t calls;
    uint64_t sent, sent_bytes, received, received_bytes, colls, coll_bytes;
    uint64_t fabric_ops, fabric_bytes, fabric_polls, fabric_ns, fabric_pending;
    uint64_t counters[COUNTER_COUNT];
    uint64_t sizes[3][BUCKET_COUNT]; /* messages sent and received, collectives, by size */
};

enum { TOP_WAITS_MOST = 64, TOP_WAITS_BYTES = 1024 };
enum { TOP_SENT, TOP_RECEIVED, TOP_COLLS };

/* Per second, and as fractions of the time. */
struct top_rates {
    double mpi, work, stall;
    double calls, sent, sent_bytes, received, received_bytes, colls, coll_bytes;
    double fabric_ops, fabric_bytes, fabric_polls, fabric;
    double counters[COUNTER_COUNT];
};

enum top_state { TOP_STARTING, TOP_RUNNING, TOP_OFF, TOP_ENDED, TOP_ABORTED, TOP_EXITED, TOP_DEAD, TOP_UNREADABLE };

/* A call under way, or the place of the last one. */
struct top_call {
    char name[CALL_NAME_BYTES]; /* "": none */
    uint32_t kind;
    uint64_t since_ns; /* for so long */
    uint64_t stall_ns; /* of it stalled, now. 0: at work, or unknown */
    char comm[COMM_TITLE_BYTES];
    int32_t peer;                 /* rank in it, see event.h for special values */
    uint32_t place;               /* in the program, in top_model.places. 0 = not known */
    char where[CALL_PLACE_BYTES]; /* "halo.c:72 (exchange < main)", or "" */
};

struct top_thread {
    uint32_t index;
    int32_t tid;
    bool ended;
    uint64_t mpi_ns, stall_ns, thread_ns;
    uint64_t span_ns, idle_ns;      /* since its first thread state, and the part between two of them */
    uint64_t off_ns, off_before_ns; /* without recording: of its time, and before it was seen first */
    double mpi, stall;
    struct top_call call;
};

/* Of a communicator in the last interval: shares of the time, and per second. */
struct top_comm_rates {
    double time, stall, sent, sent_bytes;
    double messages, colls, bytes; /* sent and received */
};

struct top_slot_figures {
    uint64_t time_ns, stall_ns, sent, sent_bytes, received, received_bytes, colls, coll_bytes;
};

/* One communicator of one process. If there are many, most have no calls between two looks. `mark` shows this without
 * reading all counters. */
struct top_slot {
    uint64_t since_ticks; /* whose the figures are */
    uint64_t mark, look;
    struct top_slot_figures now, before, cells; /* counters, without the calls under way */
    struct top_comm_rates rates;
};

struct top_rank {
    struct keyed keyed;
    int32_t rank;
    uint32_t pid;
    char host[64];
    const char *path;
    enum top_state state;
    const char *problem;
    bool stall_known, timed, is_new;
    uint64_t run_ns, interval_ns, look;
    uint32_t off_count;          /* how often MPI_Pcontrol had stopped the recording */
    bool recorded;               /* all of the last interval is */
    bool measured;               /* `part` is known */
    struct efficiency_part part; /* of the last interval, without MPI_Init, in nanoseconds */
    struct top_figures now, before;
    struct top_rates rates;
    struct top_thread *threads;
    size_t thread_count, threads_alive;
    const struct top_thread *busy; /* the thread whose call is shown: it has been in its call longest */
    struct top_slot *slots;
    size_t slot_count;
    char waits[TOP_WAITS_BYTES]; /* the ranks for which it waits, or "" */
    struct wait waits_for[TOP_WAITS_MOST];
    size_t waits_for_count;
    struct live_process *process; /* of the last look */
};

/* A communicator of the job. */
struct top_comm {
    struct keyed keyed;
    char name[COMM_NAME_BYTES], label[COMM_LABEL_BYTES]; /* cleaned */
    int32_t size;
    uint32_t ranks;
    bool is_sum;
    uint64_t time_ns, messages, colls, bytes;
    struct top_comm_rates rates; /* shares: in the time of the ranks that have it */
};

/* Passes of the program's loop. */
struct top_passes {
    uint64_t site;  /* the hash of the call that counts them (livesites.h). 0: not known */
    uint32_t place; /* and its number in top_model.places */
    uint64_t count; /* so far, of the rank that has fewest */
    double per_second;
    uint64_t none_ns; /* since the last one. 0: there was one in the last interval */
};

/* The last intervals: their share in MPI, and when they began. The newest is at (count - 1) % TOP_PAST. */
enum { TOP_PAST = 240 };
struct top_past {
    float share[TOP_PAST];
    uint64_t since_ns[TOP_PAST];
    size_t count;
};

struct top_job {
    struct keyed keyed; /* its number, 1 */
    uint64_t job;
    bool alive, fabric, os, stall_known, timed, found;
    int32_t world_size;
    char program[256], mpi[64];
    char user[USER_BYTES]; /* the owner of the run files */
    bool own;              /* that is who looks */
    uint64_t begin_ns;     /* nanoseconds since the epoch. 0: not known */
    uint32_t launcher;     /* its PID. 0: not known */
    bool launcher_sought;
    char directory[PATH_MAX]; /* the output directory, or "" */
    uint64_t run_ns;
    struct keytable table; /* of ranks */
    struct top_rank **ranks;
    size_t rank_count, running, dead;
    size_t sharing;                 /* ranks whose shares are in `rates` */
    const struct top_rank *longest; /* the rank that has been in its call longest, or NULL */
    uint64_t longest_ns;            /* for so long */
    struct keytable comm_table;
    struct top_comm **comms;
    size_t comm_count;
    struct top_figures now;
    struct top_rates rates;
    struct efficiency efficiency; /* of the last interval */
    struct top_past past;
    struct keytable sites, sites_before; /* calls by place (livesites.h), at this look and the one before */
    struct top_passes passes;
    uint64_t passes_wanted;              /* MPIT_PASSES: how many there will be. 0: not known */
    char finding[TOP_FINDING_BYTES];     /* a sentence on it, or "": not known, or there is a circle */
    double sizes[3][BUCKET_COUNT];       /* by second */
    const char *counters[COUNTER_COUNT]; /* names of requested counters, or NULL if not counted */
    char circle[TOP_WAITS_BYTES];        /* "rank 0 waits for ...: a deadlock", or "" */
    char mismatch[TOP_WAITS_BYTES];      /* the first line of mismatches_print, or "" */
    int32_t circle_ranks[TOP_WAITS_MOST];
    size_t circle_count;
    uint64_t waits_due_ns; /* not before that */
    uint64_t interval_ns;
};

struct top_model {
    struct top_job *jobs;
    size_t job_count;
    struct call_places *places;
    uint64_t look_ns; /* duration of the last look, set by the caller */
    uint64_t look;
};

/* Takes over the results of the last look of `live`. Returns 0, or -1 without memory. */
int top_model_update(struct top_model *model, const struct live *live);
void top_model_release(struct top_model *model);

/* The time to its last pass, at the mean speed so far. 0: not known. */
uint64_t top_job_rest_ns(const struct top_job *job);

const char *top_state_name(enum top_state state);
/* The name of its program, without its directory. */
const char *top_job_program(const struct top_job *job);
/* Returns whether the rank's shares of the last interval are known. */
bool top_rank_has_shares(const struct top_rank *rank);

/* topwaits.c: finds the ranks for which other ranks wait, if these have been in a call for long. Sets waits and
 * circle. */
enum { TOP_LONG_NS = 1000000000 };
void top_waits_find(struct top_job *job, const struct live_job *live);

/* toporigin.c: finds the begin, launcher and output directory of a job, and how many passes its loop will make. */
void top_origin_find(struct top_job *job, const struct live_job *live);

/* topfinding.c: finds the efficiencies of the last interval, and says what stands out. `circle` is known: a deadlock is
 * all that stands out, and has a line of its own. */
void top_finding_make(struct top_job *job);

/* topfigures.c: reads the counters of one process. */
/* -1: no memory */
int top_rank_read(struct top_rank *rank, struct live_process *process, struct call_places *places);

#endif
