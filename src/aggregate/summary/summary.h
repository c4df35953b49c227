/*
 * The summary of a job, which `mpit-run` prints at the end.
 *
 * A tool makes the part of each process from its run file (summary_of_run) and merges the parts pairwise
 * (summary_merge). Their order does not matter. A part has a flat form (summary_pack, summary_unpack). A section
 * of a job file has it, compressed (format/jobfile.h). Data from a file is untrusted and checked.
 */
#ifndef MPIT_AGGREGATE_SUMMARY_H
#define MPIT_AGGREGATE_SUMMARY_H

#include "figures/cells.h"
#include "format/runfile.h"
#include "summaryfields.h"

#include <stdbool.h>
#include <stddef.h>

/* If a job has more communicators than this, the rest share one line. */
enum { SUMMARY_COMMS_MAX = 1024 };
/* Lines of other libraries' instruments in a job, and of one array in a process. Others are only counted. */
enum { SUMMARY_INSTRUMENTS_MAX = 4096, SUMMARY_ELEMENTS_MAX = 64 };

/* A figure over ranks. sum / ranks is its mean. */
struct summary_spread {
    double sum, min, max;
    int32_t min_rank, max_rank;
};

struct summary_call {
    uint64_t count;
    uint64_t time_ns;
};

/* A number of another library's instrument, over the ranks that have it. */
struct summary_instrument {
    char name[INSTRUMENT_NAME_BYTES];
    char component[INSTRUMENT_NAME_BYTES]; /* the file that registered it */
    char item[ITEM_NAME_BYTES];            /* name of the element or of the state. "" = none */
    char unit[VARIABLE_UNIT_BYTES];
    char comm[COMM_NAME_BYTES]; /* "" = not bound */
    uint32_t class;             /* enum variable_class */
    uint32_t type;              /* enum mpit_type */
    uint32_t element;           /* of an array. Of a STATE: its value */
    uint32_t array, region;     /* 1: it is an array, it is a region's */
    uint32_t ranks;
    uint64_t sum; /* of integers, exact. Of a STATE: how many processes are in it */
    struct summary_spread spread;
};

/* Libraries below MPI. Those after the last of these share one place. */
enum { SUMMARY_PROVIDERS_MAX = 4 };

/* A counter of the system or of PAPI. */
enum { SUMMARY_COUNTERS_MAX = COUNTER_COUNT + COUNTER_ASKED_MOST };
struct summary_counter {
    char name[COUNTER_NAME_BYTES];
    char unit[VARIABLE_UNIT_BYTES];
    uint64_t places[PLACE_COUNT]; /* enum counter_place */
    uint64_t ranks;
    struct summary_spread spread; /* the totals of the ranks */
};

static inline bool row_has_figures(const struct summary_row *row)
{
    return row->threads > 0;
}

static inline uint64_t row_recorded_ns(const struct summary_row *row)
{
    return row->run_ns > row->off_ns ? row->run_ns - row->off_ns : 0;
}

struct summary_host {
    char name[64];
};

/* Messages that were sent, posted or complete when its calls returned. */
static inline uint64_t site_messages(const struct summary_site *site)
{
    return site->sent + site->received;
}

/* A function on the path of a site. Texts are places in summary_sites.texts, 0 = not known. */
struct summary_frame {
    uint64_t address; /* return address in the file of the module */
    uint32_t module;  /* place in summary_sites.modules + 1. 0 = none */
    uint32_t function, file, line;
    uint32_t inlined; /* 1: the compiler put this function into the next one */
    uint32_t mark;    /* 1: it is the place of its site (tools/symbols/siteplaces.h). In stored names: their own */
};

struct summary_module {
    uint8_t build_id[MODULE_BUILD_ID_BYTES];
    uint32_t build_id_bytes;
    uint32_t path; /* place of a text. 0 = the program */
};

struct summary_sites {
    struct summary_site *list; /* by hash */
    struct summary_frame *frames;
    struct summary_module *modules;
    char *texts; /* begins with an empty one */
    uint64_t count, frame_count, module_count, text_bytes;
    uint64_t named; /* 1: the frames have their names, as far as they are known */
};

/* Of a process. Each phase is there, and the first regions. */
enum { SUMMARY_PHASES_MOST = 256, SUMMARY_REGIONS_MOST = 64 };

static inline uint64_t phase_recorded_ns(const struct summary_phase *phase)
{
    return phase->run_ns > phase->off_ns ? phase->run_ns - phase->off_ns : 0;
}

/* The origin of the job: the texts of its process with the lowest rank, and times of all. */
struct summary_origin {
    int32_t rank;
    uint32_t told;             /* 1: the texts are there */
    uint32_t uid, recorder;    /* the version of mpit, as in a run file. 0: not known */
    uint64_t begin_ns, end_ns; /* since the epoch: of the first and of the last process. 0: not known */
    char user[ORIGIN_USER_BYTES];
    char scheduler_job[ORIGIN_JOB_BYTES];
    char label[ORIGIN_LABEL_BYTES];
    char command[ORIGIN_COMMAND_BYTES];
    char directory[ORIGIN_DIRECTORY_BYTES];
};

/* What would make the run shorter, found by a replay of the trace (tools/cures/cures.h). */
enum { CURES_KEPT = 6, RANKS_KEPT = 64 };

struct rank_list {
    int32_t ranks[RANKS_KEPT];
    size_t count;
};

static inline void rank_list_add(struct rank_list *list, int32_t rank)
{
    if (list->count < RANKS_KEPT && rank >= 0)
        list->ranks[list->count++] = rank;
}

struct summary_cure {
    int kind;                   /* enum cure_kind: what is changed */
    int group;                  /* enum call_group, of calls */
    bool moves;                 /* another rank is late at each visit */
    uint64_t gain_ns;           /* shorter run, */
    uint64_t run_ns;            /* and how long it takes then: with the cures before this one, too */
    struct rank_list causes;    /* the ranks that it is about, */
    struct rank_list waiting;   /* and those that wait because of it */
    uint64_t from, to;          /* hashes of the sites around the computation, or of the calls that cause it. 0: none */
    uint64_t off_ns;            /* of own_ns: without a processor */
    uint64_t own_ns, others_ns; /* of the first rank there, and of the others on average */
    uint64_t waits;             /* hash of the site that waits longest because of it. 0: none */
};

/* Passes of the program's loop (tools/analysis/passes.h). The first pass has no begin, so the windows begin with the second. */
enum { PASS_WINDOWS = 200 };
#define PASSES_MOST (UINT64_C(1) << 48)

/* Parts are shares of PASS_SHARE: a summary has many windows, and is small. */
#define PASS_SHARE 65535

struct pass_window {
    float seconds; /* length */
    uint16_t computing, off,
        work;       /* of the time of all ranks: outside of MPI on a processor, without one, in MPI. Else stalled */
    uint16_t most;  /* of the length, outside of MPI: the rank that is there longest */
    uint16_t ideal; /* of the length, on a network that takes no time. 0: not known */
};

/* Passes that take longer than others. */
struct slow_passes {
    uint64_t first, last;     /* 0: there are none */
    bool drifts;              /* they get longer all the time: the last quarter of all */
    uint64_t ns, usual_ns;    /* a pass: the mean here, and the usual one */
    int32_t rank;             /* that computes longer there. -1: not known */
    uint64_t from, to;        /* hashes of the sites around this computation. 0: not known */
    uint64_t own_ns, mean_ns; /* how long that takes there, and this rank there otherwise. 0: not known */
};

struct summary_passes {
    uint64_t count; /* 0: not known */
    uint64_t place; /* hash of the site of the call that ends a pass */
    uint64_t median_ns, least_ns, most_ns, most_pass;
    uint64_t window_count; /* parts of equally many passes. 0: they had no room (MPIT_SUMMARY_LIMIT_BYTES) */
    struct pass_window windows[PASS_WINDOWS];
    struct slow_passes slow;
};

static inline void summary_passes_reduce(struct summary_passes *passes)
{
    passes->window_count = 0;
    for (size_t i = 0; i < PASS_WINDOWS; i++)
        passes->windows[i] = (struct pass_window){0};
}

/* A collective that did not match, and yet ended: with another function, root, operation or size on some ranks (tools/waiting/mismatch.h). */
struct summary_mismatch {
    uint64_t number; /* of the collective on its communicator. 0: there was none */
    char name[COMM_NAME_BYTES], label[COMM_LABEL_BYTES];
    bool makes;                          /* `call` makes a communicator, before the collective with this number */
    uint32_t call, usual;                /* of these ranks, and of most others */
    int32_t root, usual_root;            /* below 0: none */
    uint32_t reduction, usual_reduction; /* enum reduction. Equal: this is not what differs, like the next two */
    uint64_t bytes, usual_bytes;
    uint64_t site; /* hash of the site of `call`. 0: not known */
    struct rank_list ranks;
    uint64_t others;
};

/* Bytes of messages inside and between nodes, and a better order of ranks (tools/placement/placement.h). Rows, communicators and
 * links have the same by theirs. */
struct summary_placement {
    uint64_t known; /* 1: the job has several nodes, and the peers of all ranks are known */
    uint64_t inside_bytes, between_bytes;
    uint64_t unplaced_bytes; /* of messages whose receiver is not known */
    uint64_t better_bytes;   /* between nodes, in the order of row.better_host */
    uint64_t replayed;       /* 1: the run was replayed in this order. Then: */
    uint64_t gain_known;     /* 1: the trace tells how long the messages that move take there */
    uint64_t gain_ns;        /* shorter run */
};

enum { SUMMARY_LINKS_MOST = 4096 };

/* Figures that only a trace has. mpit-run stores them. Else tools fill them in
 * (tools/cures/tracefigures.h). */
struct summary_traced {
    bool there;         /* the job has a trace that is kept, though perhaps one that cannot tell the figures below */
    uint32_t engine;    /* number of the rules that found it (tools/cures/cures.h) */
    uint64_t part_ns;   /* length of the part of the run that was read. 0: all of it */
    bool part_is_last;  /* else the first one */
    bool split;         /* ideal_ns is known */
    uint64_t ideal_ns;  /* run time on a network that takes no time */
    bool replayed;      /* the rest is known */
    uint64_t shared_ns; /* shorter run, if each rank had a processor of its own. 0: each has one. Cures come after it */
    struct summary_cure cures[CURES_KEPT]; /* in the order of their gains */
    size_t cure_count;
    struct summary_passes passes;
    uint64_t longest_from,
        longest_to; /* hashes of the sites around a computation that is most of each rank's. 0: none is */
    struct summary_mismatch mismatch;
    struct summary_placement placement; /* needs run files, and no trace but for the gain */
};

struct summary {
    uint64_t job;
    uint32_t ranks;       /* processes merged so far */
    uint32_t world_size;  /* processes of the job */
    uint32_t ended_badly; /* processes that did not reach MPI_Finalize, or exit: */
    uint32_t ended_later; /* of these, processes that had closed their last session */
    uint32_t spawned;     /* 1: by another job */
    uint64_t parent_job;  /* the job that spawned it. 0 = not known */
    char mpi[64];
    char program[256];
    struct summary_spread run_seconds; /* from MPI_Init's return to MPI_Finalize */
    struct summary_spread mpi_seconds; /* inside MPI, summed over the threads of the rank */
    struct summary_spread mpi_share;   /* mpi_seconds / (recorded_seconds x threads that called MPI) */
    struct summary_spread off_seconds; /* of run_seconds: without recording (mpit_recording, MPI_Pcontrol) */
    uint64_t timed;                    /* 1: calls were timed. 0: they were only counted (mpit_timing) */
    uint32_t timed_mixed;              /* 1: not in all processes, or not all the time */
    uint32_t filter_mixed;             /* 1: processes had different ones */
    char filter[FILTER_BYTES];         /* mpit_filter */
    uint64_t threads;
    uint64_t events;            /* records of all kinds. The counts for MPI are in `calls` */
    uint64_t lost[LOSS_PLACES]; /* by enum loss_cause */
    struct summary_call calls[CALL_COUNT];
    struct summary_comm *comms; /* sorted by name */
    size_t comm_count;
    struct summary_instrument *instruments; /* sorted (summaryinstruments.h) */
    size_t instrument_count;
    uint64_t instruments_left_out;
    uint64_t stall_ns[STATE_COUNT]; /* by reason */
    uint64_t call_stall_ns[CALL_COUNT];
    uint64_t stall_known;    /* processes that recorded stalls */
    uint64_t fabric_watched; /* processes that watched it */
    uint64_t fabric_other;   /* operations that belonged to another call than the one around them */
    uint64_t call_fabric_ns[CALL_COUNT];
    struct summary_provider providers[SUMMARY_PROVIDERS_MAX]; /* named ones, sorted by name */
    struct summary_counter counters[SUMMARY_COUNTERS_MAX];
    uint64_t counter_count;
    uint64_t counter_read_ns; /* time to read the counters that the user named, once. The longest of any rank */
    struct summary_origin origin;
    struct summary_row *rows; /* by rank */
    size_t row_count;
    struct summary_host *hosts; /* sorted by name */
    size_t host_count;
    struct summary_sites sites;
    struct summary_sites parallel;          /* regions of OpenMP (summaryopenmp.h) */
    struct summary_spread recorded_seconds; /* run_seconds - off_seconds */
    struct summary_phase *phases;           /* phases and then regions, by name, then by rank */
    size_t phase_count;
    struct summary_traced traced;
    struct summary_link *links; /* by `from`, then by `to`. Of a whole job: merging drops them */
    size_t link_count;
    /* The flat form does not have what follows. */
    uint64_t trace_limit_ns; /* mpit_trace_limit_seconds, if it alone cut a trace. The longest of any rank */
    uint32_t trace_policy;   /* enum trace_policy: of a rank whose trace was cut */
};

/* The start and the end of MPI lie outside of the run time. */
static inline bool call_is_end(unsigned kind)
{
    return kind == CALL_MPI_Init || kind == CALL_MPI_Init_thread || kind == CALL_MPI_Finalize ||
           kind == CALL_MPI_Session_init || kind == CALL_MPI_Session_finalize;
}

/* True if stalls of this kind of call are known. Waiting in MPI_Init is not watched. */
static inline bool summary_tells_stalls(const struct summary *summary, unsigned kind)
{
    return summary->stall_known && (summary->timed || summary->timed_mixed) && kind != CALL_MPI_Init &&
           kind != CALL_MPI_Init_thread && kind != CALL_MPI_Session_init;
}

/* Which figures are known, of those that are not always known (summary.fields). */
struct summary_known {
    bool figures; /* there are some */
    bool timed, stalls, fabric;
    bool placed;                                                /* peers and their nodes */
    bool processors, usage, delay, memory, files, openmp, left; /* of a process */
};

/* The same, of calls of this kind. CALL_NONE: of all. */
static inline struct summary_known summary_known_of(const struct summary *summary, unsigned kind)
{
    return (struct summary_known){.figures = true,
                                  .timed = summary->timed || summary->timed_mixed,
                                  .stalls = summary_tells_stalls(summary, kind),
                                  .fabric = summary->fabric_watched > 0,
                                  .placed = summary->traced.placement.known};
}

/* The same, of a process. */
static inline struct summary_known summary_known_of_row(const struct summary *summary, const struct summary_row *row)
{
    struct summary_known known = {.figures = false};
    if (row_has_figures(row))
        known = summary_known_of(summary, CALL_NONE);
    known.processors = row->processors > 0;
    known.usage = row->usage.known & USAGE_TIMES;
    known.delay = row->usage.known & USAGE_DELAY;
    known.memory = row->memory.peak_bytes > 0;
    known.files = row->memory.files_known;
    known.openmp = row->openmp.threads > 0;
    known.left = row->left[LEFT_NONE];
    return known;
}

/* The share of recorded time. A call that began before recording was switched off counts whole, so it can be longer. */
static inline double summary_share(double part, double recorded, bool was_off)
{
    double share = recorded > 0 ? part / recorded : 0;
    return was_off && share > 1 ? 1 : share;
}

struct run_reader;
/* Makes the part of the process that wrote the run file. Returns 0, or -1 without memory. */
int summary_of_run(struct summary *summary, const struct run_reader *reader);
/* The same without figures: which process it is. */
int summary_of_process(struct summary *summary, const struct run_reader *reader);

/* Makes it smaller by a step: leaves out regions, sums call sites and then communicators, leaves out instruments, and then
 * phases. Totals stay. Returns false if nothing can go any more. */
bool summary_reduce(struct summary *summary);

/* Adds `other`, and copies its communicators. Returns 0, or -1 without memory. */
int summary_merge(struct summary *summary, const struct summary *other);

/* Makes the flat form, which the caller frees. NULL without memory. */
void *summary_pack(const struct summary *summary, size_t *bytes);
/* Returns 0, or -1 with a reason in error[128]: not a summary, other version, damaged. */
int summary_unpack(struct summary *summary, const void *data, size_t bytes, char error[128]);

/* The ranks without a row, as text: "1-2, 5". Returns false if there are none, or not known. */
enum { SUMMARY_MISSING_BYTES = 128 };
bool summary_missing(const struct summary *summary, char text[SUMMARY_MISSING_BYTES]);
/* The next ranks without a row. The first call gets {.last = -1}. Returns false after the last ones. */
struct missing_ranks {
    int64_t first, last;
    size_t at; /* a row behind them */
};
bool summary_missing_next(const struct summary *summary, struct missing_ranks *missing);
/* The hosts of its processes, as text. */
void summary_hosts(const struct summary *summary, char *text, size_t bytes);

/* Returns NULL if the rank has no row. */
const struct summary_row *summary_row_of(const struct summary *summary, int32_t rank);

/* Adds a process. Or adds the processes of another summary. Returns 0, or -1 without memory. */
int summary_row_add(struct summary *summary, struct summary_row row, const char *host);
int summary_rows_merge(struct summary *summary, const struct summary *other);
/* Takes the figures of a trace of the same job, and the bytes inside and between nodes. */
void summary_traced_take(struct summary *summary, const struct summary *from);
/* The bytes inside and between nodes are not known any more. */
void summary_placement_drop(struct summary *summary);

void summary_spread_merge(struct summary_spread *spread, const struct summary_spread *other);
/* Adds the value of a rank. `first`: begins with it. */
void summary_spread_add(struct summary_spread *spread, double value, int32_t rank, bool first);

void summary_release(struct summary *summary);

#endif
