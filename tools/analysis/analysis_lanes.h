/*
 * Lanes: one for each thread of each rank, with its current call. All lanes together advance in the order of time.
 *
 *   heap of lanes, by the time of the next event ──> call_begin ──> call_end ──> the lane's next call ...
 *
 * At equal times, begins come before ends. A message has thus been sent, and a collective entered, before an end asks
 * for the cause of its wait.
 */
#ifndef MPIT_TOOLS_ANALYSIS_LANES_H
#define MPIT_TOOLS_ANALYSIS_LANES_H

#include "analysis/analysis.h"
#include "trace/callstream.h"
#include "trace/requestpairs.h"

struct analysis_process {
    struct trace_requests requests;
    struct keytable objects; /* by the request's id */
    uint64_t *operations;    /* by the communicator's number: collectives that were begun on it */
    uint64_t *creations;
    uint64_t *joints; /* likewise: calls of call_gathers on windows and files */
    uint32_t *places; /* by number of the call path. NULL: no paths */
    size_t path_count;
    bool *untold; /* by communicator number: messages of receives from any source are not known */
    int32_t world_rank;
    uint32_t lanes_open;
    bool torn; /* records are missing, and later ones are not matched */
    /* times without recording: */
    uint32_t offs;                 /* how many have begun */
    uint32_t stretch;              /* and ended */
    uint64_t off_ns;               /* the sum of those that ended */
    uint64_t off_since_ns;         /* of the one now, or UINT64_MAX */
    bool told;                     /* to its communicators */
    uint64_t init_ns, finalize_ns; /* the run between them */
    struct analysis_lane *first;
};

/* A probe that has returned. The receive that takes the probed message later shows which message the probe waited
 * for. */
struct lane_probe {
    bool waits;
    unsigned function;
    struct envelope asked;
    uint64_t begin_ns, end_ns, cursor_ns;
    struct path *path; /* before it, held */
    uint64_t call;     /* its number */
    uint32_t place;
    uint64_t useful_ns; /* of the ideal clock */
};

/* Where a record belongs. */
struct place {
    const struct trace_comm *comm;
    uint32_t index;  /* of the communicator in the job */
    uint32_t number; /* in the process's file */
    int side;        /* the process's group of an inter-communicator */
    int32_t rank;    /* the process's in it */
};

/* The process for which a call has waited, of all candidates. */
struct blame {
    struct paths *paths;
    enum wait_pattern pattern;
    uint32_t comm;
    struct arrival cause;
    struct gathering *gathering;
    bool found;
    bool earliest; /* the call needed only one of them: the first */
    struct ideal need;
};

struct analysis_lane {
    struct analysis_process *process;
    struct call_stream stream;
    struct traced_call call;
    uint64_t number;           /* of the call */
    uint64_t operation;        /* number of the gathering that it began, or 0 */
    uint64_t begin_ns, end_ns; /* of the call */
    uint64_t cursor_ns;        /* end of the path so far, */
    uint64_t cursor_off_ns;    /* and the time without recording until then */
    uint64_t missing;          /* records, so far */
    struct ideal_clock ideal;
    struct path *path;
    bool begun, started, finalized;
    uint32_t thread;
    uint32_t place;           /* of the call, and */
    uint32_t segment;         /* that ended with it, or 0 */
    uint32_t last_place;      /* of the call before, */
    uint64_t last_ns;         /* its end, */
    uint64_t last_off_ns;     /* and the time without recording until then */
    bool passed;              /* the call did not wait, though it could, and no rank waited for it there */
    uint32_t longest_segment; /* the longest computation since the last call that could wait and did not pass, */
    uint64_t longest_from_ns; /* when it began, */
    uint64_t longest_ns;      /* and its length */
    /* of the call, if it blocks */
    struct message *sent;
    struct receive *receive;
    struct gathering *gathering;
    struct attendee attendee;
    struct gathering *joint;
    struct lane_probe probe;
    struct gathering **left; /* that the call leaves */
    size_t left_count, left_capacity;
};

/* When a lane goes on: where its call begins, or where it ends. Copied from the lane: with many lanes each look at one
 * is a cache miss. */
struct lane_turn {
    uint64_t ns;
    uint64_t order; /* of turns at equal times: begins before ends, and then the place of the lane in the list */
};

struct analysis_lanes {
    struct analysis *analysis;
    struct analysis_process *processes; /* by rank */
    struct analysis_lane *list;
    size_t count;
    struct lane_turn *heap;
    size_t heap_count;
    bool *broken;         /* by communicator: the trace of a member is missing, or incomplete */
    uint64_t ideal_ahead; /* latest ideal time of all ranks */
    bool leaves_the_job;  /* calls may wait for processes of other jobs */
};

/* Reads the whole trace. Returns 0, or -1 without memory. Release it in both cases. */
int analysis_lanes_run(struct analysis_lanes *lanes, struct analysis *analysis);
void analysis_lanes_release(struct analysis_lanes *lanes);

/* analysis_calls.c */
/* Finds where the record belongs. Returns false if that is not known. */
bool event_place_find(const struct analysis_lanes *lanes, const struct analysis_process *process,
                      const struct event *event, struct place *place);
void call_begin(struct analysis_lanes *lanes, struct analysis_lane *lane);
/* Called when the message of a completed receive is known. `data` is the analysis. */
void analysis_flow_tell(void *data, const struct receive *receive);
void call_end(struct analysis_lanes *lanes, struct analysis_lane *lane);
void analysis_process_release(struct analysis *analysis, struct analysis_process *process);

/* analysis_pauses.c: times without recording, and what they leave out */
/* The process switched recording on or off. */
void pause_turn(struct analysis_lane *lane);
/* How long recording was off until this time, which is not before the last turn. */
uint64_t pause_ns(const struct analysis_process *process, uint64_t until_ns);
/* True if messages of this channel, or operations of the communicator in a stretch, cannot be matched. */
bool pause_hides_message(const struct analysis *analysis, const struct envelope *envelope);
bool pause_hides_operations(const struct analysis *analysis, uint32_t comm, uint32_t stretch);
/* An operation of the first reading cannot be right. */
void pause_doubt_operation(struct analysis *analysis, const struct gathering *gathering);
/* For the end of the first reading. A message or receive has no other end. */
void pause_doubt_rest(struct analysis_lanes *lanes, const struct envelope *envelope, bool sent);
/* analysis_ideal.c: the ideal run. Called at the first call of a thread, at the begin and at the end of a call. */
void ideal_start(const struct analysis *analysis, struct analysis_lane *lane);
void ideal_begin(struct analysis_lanes *lanes, struct analysis_lane *lane);
void ideal_end(struct analysis_lanes *lanes, struct analysis_lane *lane, const struct ideal *need);
/* Each adds what a call needs, or may need: a completed send, receive, collective, an unknown
 * request, an access to a window or file, and the rest. */
void ideal_sent(struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct message *message,
                unsigned function, const struct moment *posted, struct ideal *need);
void ideal_received(struct analysis_lanes *lanes, const struct receive *receive, struct ideal *need);
void ideal_gathered(struct analysis_lanes *lanes, const struct gathering *gathering, const struct attendee *who,
                    enum cause_known known, struct ideal *need);
void ideal_request_unknown(struct analysis_lanes *lanes, const struct event *ended, struct ideal *need);
void ideal_access_done(struct analysis_lanes *lanes, const struct event *ended, struct ideal *need);
void ideal_others(struct analysis_lanes *lanes, struct analysis_lane *lane, struct ideal *need);
/* At the end: the result. */
void ideal_find(struct analysis *analysis, struct analysis_lanes *lanes);

/* analysis_waits.c */
/* Called at the begin and at the end of a call: the segments before and after it. */
void segment_end(struct analysis *analysis, struct analysis_lane *lane);
void segment_begin(struct analysis_lane *lane);
enum wait_pattern gathering_pattern(const struct gathering *gathering);
/* Extends the lane's path to `until`, in this function. */
void path_advance(struct analysis *analysis, struct analysis_lane *lane, unsigned function, uint64_t until);
/* Adds a possible cause of the call's wait. */
void blame_offer(struct blame *blame, enum wait_pattern pattern, uint32_t comm, const struct arrival *cause,
                 struct gathering *gathering);
/* Called at the end of a call: finds its wait, and its time on the path. */
void wait_settle(struct analysis *analysis, struct analysis_lane *lane, const struct blame *blame);
/* Returns whether it is a blocking probe. */
bool call_probes(const struct traced_call *call);
void probe_remember(struct analysis *analysis, struct analysis_lane *lane, uint32_t comm, int32_t source);
/* Called before a receive is posted, since it may take a probed message. */
void probe_settle(struct analysis *analysis, struct analysis_lane *lane, const struct envelope *envelope);

#endif
