/*
 * The samples of a job with stacks of names. All outputs of samples use them.
 *
 *   run files ──> sample_cursor ──> selected? ──> addresses ──> symbols ──> frames ──> visit(sample)
 *
 * A stack is shown from the outermost function to the innermost. Four kinds of functions are left out: the C library's
 * start code before main and before a thread's first function, the trampoline of signals, mpit's own functions, and
 * those of C++'s standard library. A
 * sample in MPI ends with the MPI function that the program has called. The functions inside it are left out, unless
 * `internal`. Time inside mpit itself belongs to that MPI function, and outside of MPI to the function that called mpit.
 * With `internal`, and in a stack with no other function, it is a frame "[mpit]".
 */
#ifndef MPIT_TOOLS_STACKS_H
#define MPIT_TOOLS_STACKS_H

#include "mpit/collector.h"
#include "job/rundir.h"
#include "job/select.h"
#include "symbols/symbols.h"
#include "job/timeline.h"

enum frame_kind {
    FRAME_PROGRAM,  /* a function of the program or of a library that it uses */
    FRAME_MPI,      /* the MPI function that was called */
    FRAME_INTERNAL, /* inside of that */
    FRAME_RECORDER, /* mpit itself */
    FRAME_UNKNOWN,  /* a function or an address without a name, or the unknown part of a stack */
};

/* A function. There is one for each name in each module. */
struct frame {
    uint32_t number; /* 0, 1, ... */
    enum frame_kind kind;
    char *name, *module; /* module: "" of MPI functions and the like */
};

/* Returns whether it belongs to the C library or to the one of a compiler. The user wants to know who called it. */
bool frame_is_runtime(const struct frame *frame);

struct stack_frame {
    const struct frame *frame;
    const char *file; /* source file, or NULL if unknown. Equal texts have equal addresses */
    unsigned line;
    uint32_t file_number; /* of its text: 1, 2, ... in the order of the samples. 0: unknown */
};

enum { STACK_FRAMES_MOST = SAMPLE_FRAMES_MOST * 4 };

/* One sample, valid until the visit returns. */
struct stack_sample {
    const struct sample *sample;
    const struct run_reader *run;
    uint32_t stream;
    int32_t rank;       /* -1: it has none */
    int64_t at_ns;      /* since the job began */
    uint64_t weight_ns; /* time that it represents */
    uint64_t cpu_ns;    /* the part of it on a processor */
    bool inside;        /* between the end of MPI_Init and MPI_Finalize, and not in such a function */
    unsigned count;
    const struct stack_frame *frames; /* the outermost first, at least one */
};

struct stacks {
    const struct run_job *job;
    const struct selection *selection;
    bool internal;
    struct timeline line;
    struct symbols *symbols;
    uint32_t frame_count;
    void *names, *sources; /* frames by name and module, and names of files, in trees (search.h) */
    uint32_t source_count;
    uint64_t taken;    /* samples that were visited */
    uint64_t lost;     /* that had no room in a run file, or were never written to it */
    uint64_t damaged;  /* streams with unreadable parts */
    uint64_t limit_ns; /* 0, or samples were only taken for this time (mpit_trace_limit_seconds) */
};

/* Returns 0, or -1 without memory. Release it in both cases. */
int stacks_open(struct stacks *stacks, const struct run_job *job, const struct selection *selection, bool internal);
void stacks_release(struct stacks *stacks);

/* Returns whether any process of the job was sampled. */
bool run_job_has_samples(const struct run_job *job);

/* Visits all selected samples, stream by stream, each in the order of time. `visit` returns 0 to continue. Returns 0,
 * the value of `visit`, or -1 without memory. */
int stacks_walk(struct stacks *stacks, int (*visit)(void *data, const struct stack_sample *sample), void *data);

/* Returns "not in MPI", "work", "stall: send" ... for enum mpit_state. */
extern const char *const state_texts[MPIT_STATE_STALL_OTHER + 1];

#endif
