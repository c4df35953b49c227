/*
 * The figures that need only a trace: which messages belong together, which process waited for which, and the critical
 * path of the job. share/doc/analyze.md defines each figure.
 *
 *   run files ──> trace_job, trace_comms ──> lanes (analysis_lanes.c)    all threads of all ranks, in the order of time
 *                                              │ a call begins, a call ends
 *                                              v
 *                                            analysis_calls.c ──> matching, gatherings, paths
 *                                              │ a wait, a message, an operation that is over
 *                                              v
 *                                            struct analysis ──> analysis_text.c, analysis_json.c
 *                                              ^
 *                                            samples of the time that others waited for (sampled.h)
 *
 * Memory grows with the ranks, with the operations under way at one moment (messages not received, requests,
 * collectives that some processes have not left), and with the results: pairs of processes that communicate, functions,
 * communicators. It does not grow with the length of the trace.
 */
#ifndef MPIT_TOOLS_ANALYSIS_H
#define MPIT_TOOLS_ANALYSIS_H

#include "analysis/delays.h"
#include "analysis/gathering.h"
#include "trace/network.h"
#include "analysis/passes.h"
#include "analysis/placework.h"
#include "analysis/segments.h"
#include "analysis/worlds.h"
#include "report/callplaces.h"
#include "trace/tracecomms.h"
#include "job/select.h"

enum wait_pattern {
    WAIT_LATE_SENDER,
    WAIT_LATE_RECEIVER,
    WAIT_AT_BARRIER,
    WAIT_AT_NXN,
    WAIT_LATE_BROADCAST,
    WAIT_EARLY_REDUCE,
    WAIT_EARLY_SCAN,
    WAIT_AT_CREATION,
    WAIT_FOR_LOCK,
    WAIT_LATE_PROGRESS,
    WAIT_LATE_POST,
    WAIT_LATE_COMPLETE,
    WAIT_PATTERNS
};

struct pattern_text {
    const char *name, *key; /* for people, in JSON */
};

extern const struct pattern_text pattern_texts[WAIT_PATTERNS];

/* The reason why a message has only one end. */
enum unmatched_reason {
    UNMATCHED_SEND_NO_FILE,
    UNMATCHED_SEND_CRASHED,
    UNMATCHED_SEND_GAP,
    UNMATCHED_SEND_UNTOLD,
    UNMATCHED_SEND_OFF,
    UNMATCHED_SEND_NOT_RECEIVED,
    UNMATCHED_RECV_NO_FILE,
    UNMATCHED_RECV_CRASHED,
    UNMATCHED_RECV_GAP,
    UNMATCHED_RECV_UNTOLD,
    UNMATCHED_RECV_OFF,
    UNMATCHED_RECV_NOT_SENT,
    UNMATCHED_REASONS
};

struct unmatched_text {
    const char *text, *key;
};

extern const struct unmatched_text unmatched_texts[UNMATCHED_REASONS];

/* A record of one of the tables. */
struct analysis_sum {
    struct keyed keyed;
    uint64_t count, amount; /* times and nanoseconds, or messages and bytes */
};

/* Operations of one function on one communicator. */
struct operation_sum {
    struct keyed keyed; /* function << 32 | communicator */
    uint64_t count, whole, waited_ns;
};

/* Waits of a rank at a place for another rank at a place. */
struct wait_place {
    struct keyed keyed; /* wait_place_key, then the waiting rank << 32 | the awaited rank */
    uint64_t count, ns;
    uint32_t segment; /* the computation of this rank that has most of it, or 0 if not known */
    int32_t segment_rank;
    uint64_t segment_ns;
};

/* One of the operations with the highest cost. */
struct worst_operation {
    uint64_t at_ns, last_ns, waited_ns;
    uint32_t comm;
    unsigned function;
    int32_t last_rank;
};

enum { WORST_KEPT = 10 };

/* A received message, for drawings. */
struct analysis_flow {
    uint64_t begun_ns;        /* begin of the sending call */
    uint64_t got_ns, done_ns; /* begin and return of the receiving call */
    uint64_t bytes;
    int32_t source, dest; /* world ranks */
    uint32_t source_thread, dest_thread;
};

struct sampled;
struct summary;

/* A call that waited for another rank. */
struct analysis_wait {
    enum wait_pattern pattern;
    unsigned function;
    uint32_t comm;
    int32_t rank;
    uint64_t call; /* its number */
    uint32_t place;
    uint64_t begin_ns, ns;
    const struct arrival *cause; /* the call that it waited for */
};

struct analysis_lane;

/* A caller that wants single facts, and not only the sums. Each function is called in the order of time, as far as the
 * facts are known then. NULL: it does not want these. */
struct analysis_watch {
    void *data;
    /* A message both of whose calls are selected. */
    void (*flow)(void *data, const struct analysis_flow *flow);
    void (*call)(void *data, const struct analysis_lane *lane);     /* a call has begun (analysis_lanes.h), */
    void (*returned)(void *data, const struct analysis_lane *lane); /* or returned */
    void (*message)(void *data, const struct message *message, const struct receive *receive); /* is matched */
    /* The call has completed a send that may have waited for its receive. */
    void (*sent)(void *data, const struct analysis_lane *lane, const struct message *message);
    /* The call has begun a nonblocking operation. */
    void (*begun)(void *data, const struct analysis_lane *lane, const struct gathering *gathering);
    void (*operation)(void *data, const struct gathering *gathering); /* all have left it, or the trace ends */
    void (*wait)(void *data, const struct analysis_wait *wait);
};

/* The time of a rank from the end of MPI_Init to the begin of MPI_Finalize, and of its other threads until their last
 * call. The rest of it is work in calls. */
struct rank_times {
    uint64_t run_ns;
    uint64_t useful_ns;  /* outside of MPI */
    uint64_t off_ns;     /* a part of that: without a processor */
    uint64_t stalled_ns; /* in calls that found nothing to do */
};

/* Calls of all members of a communicator, which are counted: collectives, those that make communicators, and those on
 * windows and files. */
enum last_calls { LAST_OPERATIONS, LAST_CREATIONS, LAST_JOINTS, LAST_CALLS };

/* What a first reading has counted of the last part of a run (analysis_last.c). */
struct last_part {
    struct keytable channels, calls, visits;
    bool counting; /* this is the first reading */
};

struct analysis {
    struct trace_job job;
    struct trace_comms comms;
    const struct selection *selection;
    struct otf2_report report; /* its warnings: parts that could not be analyzed */
    struct paths paths;
    struct matching matching;
    struct gatherings gatherings;
    struct keytable orders;        /* of a replay with CURE_ANY_ORDER: rank, place -> time that it waits less */
    struct rank_times *rank_times; /* by rank, if no_worlds is NULL */
    struct gatherings joints;      /* calls on windows and files that all members make, for the worlds */
    struct keytable waits,
        causes;                 /* pattern << 48 | function << 32 | communicator, then the waiting process, or a root */
    struct keytable matrix;     /* communicator, then sender << 32 | receiver: messages as sent */
    struct keytable operations; /* struct operation_sum */
    struct keytable lasts;      /* as operations, then the last rank: how often, and how long all waited then */
    struct call_places *places;
    struct segments segments;
    struct delays delays;        /* if the run has samples */
    struct sampled *sampled;     /* what they show of them (sampled.h), or NULL */
    struct summary *phases;      /* that has those of the selected ranks (analysis_join_phases), or NULL: not known */
    struct keytable wait_places; /* struct wait_place */
    struct worst_operation worst[WORST_KEPT];
    size_t worst_count;
    uint64_t unmatched[UNMATCHED_REASONS];
    uint64_t open_receives; /* posted, and never completed */
    uint64_t unplaced;      /* messages whose communicator or peer is not known */
    uint64_t decided;       /* receives whose sender was known when they returned */
    uint64_t left_early;    /* visits of collectives that were left before the awaited processes came */
    uint64_t neighbours;    /* visits of neighbor collectives, whose neighbors are not known */
    uint64_t unanalysed;    /* messages and collectives of processes whose trace has a gap, from there on */
    /* Of a job whose recording was off for a while. The trace is read twice. The first reading finds the channels and the
     * operations that cannot be matched (analysis_pauses.c). */
    bool judging;            /* this is the first reading */
    struct keytable doubts;  /* channels (matching_doubt) */
    struct keytable unclear; /* communicator, stretch: of operations */
    uint64_t hidden_visits;  /* calls of operations that are left out */
    bool pauses_unknown;     /* the trace does not have all of these times */
    uint64_t untimed;
    uint64_t calls;                                /* so far: they are numbered 1, 2, ... as they begin */
    bool has_messages, has_collectives, has_times; /* whether the trace has them */
    bool has_path;
    const char *no_path; /* why not */
    struct path_share *path;
    size_t path_count;
    uint64_t path_ns;
    int32_t path_rank;    /* where it ends, */
    uint64_t path_end_ns; /* and when */
    const struct world_plan
        *plan; /* worlds of this reading. NULL: the fixed ones. Then the courses of segments and the work by
                                    * place are kept */
    struct place_works works;
    struct network network; /* as the first reading has seen it */
    struct keytable beats;  /* calls that may end a pass of the program's loop, counted by the first reading, */
    struct passes *passes;  /* and the passes, measured by a later one. NULL: it has nothing to measure */
    struct ideal_run ideal;
    struct ideal_split split;
    const char *no_worlds;  /* why the worlds are not known, or NULL */
    const char *no_ideal;   /* why the split is not known, or NULL */
    bool brief;             /* the traces are (TRACE_BRIEF): what all have in common is read, their begin */
    struct last_part *last; /* or their end. NULL: the begin */
    uint64_t part_ns;       /* how long that was. 0: all of the run */
    size_t worlds;          /* of this reading. If they are known: */
    double *useful_ns;      /* time between calls, by rank and world, */
    double *work_ns;        /* and in them, without waits, likewise */
    double recorded_ns;     /* of all ranks. Of it: */
    double unknown_ns;      /* work of calls whose needs are not known */
    uint64_t moved;         /* messages that come from another kind of place in CURE_PLACEMENT, */
    uint64_t moved_unknown; /* and those of them whose time there is not known */
    bool no_memory;
    const struct analysis_watch *watch; /* or NULL */
};

static inline uint64_t wait_key(enum wait_pattern pattern, unsigned function, uint32_t comm)
{
    return (uint64_t)pattern << 48 | (uint64_t)function << 32 | comm;
}

enum { WAIT_PLACES_MOST = (1 << 28) - 1 };
static inline uint64_t wait_place_key(enum wait_pattern pattern, uint32_t place, uint32_t awaited)
{
    return (uint64_t)pattern << 56 | (uint64_t)place << 28 | awaited;
}

/* A share of the path while it is built: path_key, and the segment of a computation. */
static inline uint64_t step_key(int32_t rank, uint32_t segment, unsigned function)
{
    return (uint64_t)(uint32_t)rank << 40 | (uint64_t)segment << 16 | function;
}

static inline uint64_t path_key(int32_t rank, unsigned function)
{
    return (uint64_t)(uint32_t)rank << 16 | function; /* function 0: computing */
}

/* Analyzes all run files of one job. `names` are stored with it (storednames.h), and may be NULL. Returns 0, or -1 with
 * analysis->report.error set. Release it in both cases. */
int analysis_open(struct analysis *analysis, const struct run_reader *runs, size_t count,
                  const struct selection *selection, const struct stored_names *names);
/* The same for the last part that brief traces have in common. */
int analysis_open_last(struct analysis *analysis, const struct run_reader *runs, size_t count,
                       const struct selection *selection, const struct stored_names *names);
void analysis_release(struct analysis *analysis);
/* The same for a caller that wants single facts. `watch` may be NULL. */
int analysis_open_watched(struct analysis *analysis, const struct run_reader *runs, size_t count,
                          const struct selection *selection, const struct stored_names *names,
                          const struct analysis_watch *watch);

/* Reads the trace of an open analysis again, in the worlds of a plan (NULL: the fixed ones), and measures the passes of a beat
 * (NULL: none). NULL: failed. */
struct analysis *analysis_replay(const struct analysis *analysis, const struct world_plan *plan,
                                 const struct beat *beat);
/* `reading` may be NULL. */
void analysis_reading_release(struct analysis *reading);

/* Why messages, or messages and collectives, are not matched. */
const char *analysis_no_partners(const struct analysis *analysis);

/* The longest time without recording of a rank, and how many ranks have one. */
uint64_t analysis_off_ns(const struct analysis *analysis, uint32_t *ranks);

/* analysis_phases.c: adds the phases of MPI_Pcontrol of the selected ranks. Phases have all calls of a rank. So they are
 * not known if a part of the calls is selected. Returns 0, or -1 with analysis->report.error set. */
int analysis_join_phases(struct analysis *analysis);
void analysis_phases_release(struct analysis *analysis);

/* For the lanes: reports their results. */
bool analysis_selects(const struct analysis *analysis, int32_t rank, uint32_t comm, unsigned function,
                      uint64_t begin_ns, uint64_t end_ns);
void analysis_sum(struct analysis *analysis, struct keytable *table, uint64_t first, uint64_t second, uint64_t count,
                  uint64_t amount);
void analysis_wait(struct analysis *analysis, const struct analysis_wait *wait);
/* An operation that all have left, or that remains at the end. */
void analysis_operation(struct analysis *analysis, const struct gathering *gathering);

#endif
