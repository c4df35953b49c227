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
#include "analysis/history.h"
#include "trace/callstream.h"
#include "trace/requestpairs.h"

struct analysis_process {
    struct trace_requests requests;
    struct keytable objects; /* by the request's id */
    uint64_t *operations;    /* by the communicator's number: collectives that were begun on it */
    uint64_t *creations;
    uint64_t *joints;            /* likewise: calls of call_gathers on windows and files */
    struct neighbors *neighbors; /* by the communicator's number: sources in its topology */
    size_t comm_count;
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
    struct analysis_lane *last, *waiter; /* whose call ended last, and whose wait in MPI did */
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
    uint64_t useful_ns; /* of the clock */
    double stalled_ns;
    double *began, *ended; /* its times, by world */
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
};

struct analysis_lane {
    struct analysis_process *process;
    struct call_stream stream;
    struct traced_call call;
    uint64_t number;           /* of the call */
    uint64_t operation;        /* number of the gathering that it began, or 0 */
    uint64_t begin_ns, end_ns; /* of the call, */
    double stalled_ns;         /* and how long it found nothing to do there. */
    uint64_t off_ns;           /* The computation before it had no processor for so long */
    uint64_t cursor_ns;        /* end of the path so far, */
    uint64_t cursor_off_ns;    /* and the time without recording until then */
    uint64_t missing;          /* records, so far */
    struct world_clock clock;
    struct history history;
    struct path *path;
    bool begun, started, finalized;
    uint32_t thread;
    uint32_t place;            /* of the call, and */
    uint32_t segment;          /* that ended with it, or 0, */
    uint64_t visit;            /* and how often the rank was there before */
    uint32_t locks;            /* on windows that the thread holds, */
    uint64_t locked_from_ns;   /* since when, */
    uint64_t locked_ns;        /* and how long it has computed since */
    uint32_t last_place;       /* of the call before, */
    uint64_t last_ns;          /* its end, */
    uint64_t waited_ns;        /* the end of the last one that waited, */
    uint64_t last_off_ns;      /* and the time without recording until then */
    bool sends;                /* the last call sent */
    uint64_t computed_from_ns; /* begin of the last long computation, */
    struct moment resumed;     /* and the call that ended it */
    bool received;             /* the last call got a message: what is computed after it may need that */
    /* of the call, if it blocks */
    struct message *sent;
    struct receive *receive;
    struct gathering *gathering;
    struct attendee attendee;
    struct gathering *joint;
    bool unjoined; /* the call waits for all members, and it is not known where they are */
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
    size_t count, capacity;
    struct lane_turn *heap;
    size_t heap_count;
    const struct history **histories; /* of all lanes */
    uint64_t cut_ns;                  /* a brief trace ends here. 0: it has all */
    uint64_t needed_ns;               /* waits that are under way need the histories from here on */
    bool *broken;                     /* by communicator: the trace of a member is missing, or incomplete */
    size_t worlds;                    /* how many */
    double *times;                    /* of all lanes, */
    double *before;                   /* of the lane whose call ends, before that, */
    double *need;                     /* and the latest of what the call needs */
    uint8_t *rounds;                  /* 1 + network_rounds, by communicator. 0: not known yet */
    uint8_t *rounds_placed;           /* the same in CURE_PLACEMENT, behind them */
    bool unsure;                      /* the call that ends may need more than is known */
    double unknown_ns;                /* work of such calls: a part of it is a wait */
    double ahead;                     /* latest time of all ranks on the free network */
    uint64_t zero_ns;                 /* where the times of worlds begin: with the job, or the last part of it */
    struct keytable locks, windows;   /* analysis_locks.c, */
    struct keytable epochs, pairs;    /* analysis_epochs.c, */
    struct keytable pools;            /* analysis_orders.c */
    bool leaves_the_job;              /* calls may wait for processes of other jobs */
};

/* A time of the time line, for the clocks of worlds. */
static inline double world_time(const struct analysis_lanes *lanes, uint64_t ns)
{
    return ns >= lanes->zero_ns ? (double)(ns - lanes->zero_ns) : -(double)(lanes->zero_ns - ns);
}

/* Reads the whole trace. Returns 0, or -1 without memory. Release it in both cases. */
int analysis_lanes_run(struct analysis_lanes *lanes, struct analysis *analysis);
void analysis_lanes_release(struct analysis_lanes *lanes);

/* analysis_calls.c */
/* Finds where the record belongs. Returns false if that is not known. */
bool event_place_find(const struct analysis_lanes *lanes, const struct analysis_process *process,
                      const struct event *event, struct place *place);
/* Returns whether the process's calls of all members of the communicator can still be counted: there is no gap, and recording
 * never stopped. */
bool calls_are_counted(const struct analysis_lanes *lanes, const struct analysis_process *process,
                       const struct place *place);
/* Returns the world rank of a peer there, or -1 if there is none. */
int32_t peer_world(const struct analysis_process *process, const struct place *place, int32_t peer);
/* The begin of the lane's call. The caller drops its path. */
struct moment lane_moment(struct analysis *analysis, struct analysis_lane *lane);
/* The same, with the times at which a send of it begins. */
struct moment send_moment(struct analysis_lanes *lanes, struct analysis_lane *lane);
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
/* analysis_last.c: the last part of a run. Nothing happens in other readings, if not said otherwise. */
/* How many events at the end of the thread are read. */
uint64_t last_events(const struct analysis_lanes *lanes, const struct analysis_lane *lane,
                     const struct run_reader *run);
/* The first reading counts a message that was sent (1), and one that came for a receive that was posted in the part (-1). */
void last_count(struct analysis *analysis, const struct envelope *envelope, int more);
/* It counts a visit of a segment. */
void last_visit_count(struct analysis *analysis, uint32_t from, uint32_t to, int32_t rank);
/* At its end it counts the calls of all members of communicators. */
void last_calls_count(struct analysis *analysis, const struct analysis_lanes *lanes);
/* Returns whether a member of the communicator has made its call with this number before the part. */
bool last_lacks_members(const struct analysis *analysis, uint32_t comm, enum last_calls which, uint64_t number);
/* For the begin of a later reading of the last part, and for each of its processes. */
void last_reading_begin(const struct analysis *analysis);
void last_process_begin(const struct analysis *analysis, struct analysis_process *process);
/* Returns whether the receive of this message (1), or the message of this receive (-1), is before the part. */
bool last_has_no_partner(struct analysis *analysis, const struct envelope *envelope, int more);
/* Visits of the segment before the part: so many more than another process that has the most of them in it. */
uint64_t last_visits_before(const struct analysis *analysis, uint32_t from, uint32_t to, int32_t rank);
void last_part_release(struct last_part *last);

/* analysis_worlds.c: the clocks of all worlds. Called at the first call of a thread, at the begin and at the end of a
 * call. */
/* Returns 0, or -1 without memory. */
int worlds_open(struct analysis_lanes *lanes);
void worlds_release(struct analysis_lanes *lanes);
void worlds_start(struct analysis_lanes *lanes, struct analysis_lane *lane);
void worlds_begin(struct analysis_lanes *lanes, struct analysis_lane *lane);
void worlds_end(struct analysis_lanes *lanes, struct analysis_lane *lane);
/* The lane's place on its path, with the times at which a send of it begins. The caller drops it. */
struct path *worlds_mark_send(struct analysis_lanes *lanes, struct analysis_lane *lane);
/* The same of the release of a lock. */
struct path *worlds_mark_release(struct analysis_lanes *lanes, struct analysis_lane *lane);
/* A probe in the past needed a message that began at these times. */
void worlds_amend(struct analysis_lanes *lanes, struct analysis_lane *lane, const double *from);
/* Each adds what a call needs, or may need, to lanes->need: a completed send, receive, collective, an unknown
 * request, an access to a window or file, and the rest. */
void need_sent(struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct message *message,
               unsigned function, const struct moment *posted);
void need_received(struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct receive *receive);
/* `bytes`: that the rank puts in, or gets, whichever is more. */
void need_gathered(struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct gathering *gathering,
                   const struct attendee *who, enum cause_known known, uint64_t bytes);
/* An exposure of a window began with this moment. */
void need_posted(struct analysis_lanes *lanes, const struct moment *posted);
void need_known(struct analysis_lanes *lanes, const struct moment *moment);
/* The call may have waited for any rank. */
void need_unknown(struct analysis_lanes *lanes);
void need_request_unknown(struct analysis_lanes *lanes, const struct event *ended);
/* The call waited until another rank called MPI again, with this moment. */
void need_progress(struct analysis_lanes *lanes, const struct moment *moment);
/* At the end: the result. */
void worlds_find(struct analysis *analysis, struct analysis_lanes *lanes);

/* analysis_locks.c. Called where a window is made, and at the begin and at the end of each call. */
void lock_window_made(struct analysis_lanes *lanes, const struct analysis_lane *lane, uint64_t joint);
void lock_begin(struct analysis_lanes *lanes, struct analysis_lane *lane);
void lock_end(struct analysis_lanes *lanes, struct analysis_lane *lane, struct blame *blame);
void locks_release(struct analysis_lanes *lanes);
/* The number of the call's window in its process. */
static inline uint64_t lock_window_number(const struct event *event)
{
    return (uint64_t)event->comm << 32 | (uint32_t)event->tag;
}
/* The number of the call's window, the same for all its members. Returns false if it is not known. */
bool lock_window_find(const struct analysis_lanes *lanes, const struct analysis_lane *lane, uint64_t *window);

/* analysis_epochs.c. Called at the begin and at the end of each call. */
void epochs_begin(struct analysis_lanes *lanes, struct analysis_lane *lane);
void epochs_end(struct analysis_lanes *lanes, struct analysis_lane *lane, struct blame *blame);
void epochs_release(struct analysis_lanes *lanes);

/* analysis_orders.c. Called for each message, and for each receive that a call completes. */
void order_sent(struct analysis_lanes *lanes, const struct message *message);
void order_received(struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct receive *receive);
void orders_release(struct analysis_lanes *lanes);

/* analysis_joints.c. Called at the begin and at the end of each call, when its wait is settled, and for a request of a
 * file that it completed. */
void joint_begin(struct analysis_lanes *lanes, struct analysis_lane *lane);
void joint_end(struct analysis_lanes *lanes, struct analysis_lane *lane, struct blame *blame);
void joint_leave(struct analysis_lanes *lanes, struct analysis_lane *lane);
void joint_access_end(struct analysis_lanes *lanes, const struct event *ended);

/* analysis_waits.c */
/* Called at the begin and at the end of a call: the segments before and after it. */
void segment_end(struct analysis_lanes *lanes, struct analysis_lane *lane);
void segment_begin(struct analysis_lane *lane);
enum wait_pattern gathering_pattern(const struct gathering *gathering);
/* Extends the lane's path to `until`, in this function. */
void path_advance(struct analysis *analysis, struct analysis_lane *lane, unsigned function, uint64_t until);
/* Adds a possible cause of the call's wait. */
void blame_offer(struct blame *blame, enum wait_pattern pattern, uint32_t comm, const struct arrival *cause,
                 struct gathering *gathering);
/* Called at the end of a call: finds its wait, and its time on the path. */
void wait_settle(struct analysis_lanes *lanes, struct analysis_lane *lane, const struct blame *blame);
/* Returns whether it is a blocking probe. */
bool call_probes(const struct traced_call *call);
void probe_remember(struct analysis_lanes *lanes, struct analysis_lane *lane, uint32_t comm, int32_t source);
/* Called before a receive is posted, since it may take a probed message. `sent`: its send is in the trace. */
void probe_settle(struct analysis_lanes *lanes, struct analysis_lane *lane, const struct envelope *envelope, bool sent);

#endif
