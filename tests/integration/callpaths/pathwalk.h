/*
 * Random walks through trees of calls. At each call of MPI the program notes its own stack.
 *
 *   step ──> step ──> ... ──> call_here: backtrace, note, MPI_Iprobe(tag)
 *
 * A step is a function that may call MPI, and then other steps. All steps are in one list: C, C++ and Fortran, compiled
 * in many ways. Which one follows is drawn from the walk's random numbers.
 */
#ifndef PATHWALK_H
#define PATHWALK_H

#include <mpi.h>

#include <execinfo.h>
#include <setjmp.h>
#include <stdint.h>
#include <ucontext.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WALK_FRAMES = 80 };

enum note_flags {
    NOTE_TAIL = 1,      /* the call of MPI may be a jump: then the frame of this function is gone */
    NOTE_ELSEWHERE = 2, /* on another stack than the thread's */
    NOTE_FORTRAN = 4,
};

struct coroutine {
    ucontext_t inside, outside;
};

struct notes;

/* What belongs to one stack of calls. */
struct walk {
    uint64_t random;
    long calls; /* how many calls of MPI are left */
    struct notes *notes;
    void *frames[WALK_FRAMES];
    int flag;               /* of MPI_Iprobe */
    volatile int busy;      /* signal handlers must not call MPI now */
    int can_nest;           /* callbacks of MPI may be used */
    jmp_buf *jump;          /* a step may leave for this one. NULL: no */
    int catchers;           /* of exceptions, around this step */
    struct coroutine *made; /* NULL: the walk is on a thread's stack */
};

typedef unsigned long (*walk_step)(struct walk *walk, unsigned level);

void walk_register(const walk_step *steps, unsigned count);
/* Returns any step. */
walk_step walk_choose(struct walk *walk);
unsigned long walk_draw(struct walk *walk, unsigned long below);
/* Stores the stack in walk->frames, with the modules that are loaded now. Returns the tag for its call. */
int walk_note(struct walk *walk, int count, unsigned flags);
/* Walks from a function without unwind tables. */
unsigned long walk_from_unknown_code(struct walk *walk, unsigned level);
/* Walks from a callback of MPI. */
unsigned long walk_from_callback(struct walk *walk, unsigned level);
/* From the handler of a signal, on this stack or on another one. */
unsigned long walk_from_handler(struct walk *walk, unsigned level);
unsigned long walk_from_handler_apart(struct walk *walk, unsigned level);

#ifdef __cplusplus
}
#endif

/* The call of MPI, which is always part of the calling function. */
static inline __attribute__((always_inline)) void call_here(struct walk *walk)
{
    walk->busy = 1;
    int tag = walk_note(walk, backtrace(walk->frames, WALK_FRAMES), 0);
    MPI_Iprobe(0, tag, MPI_COMM_SELF, &walk->flag, MPI_STATUS_IGNORE);
    walk->busy = 0;
}

/* Goes to some other steps. */
static inline __attribute__((always_inline)) unsigned long descend(struct walk *walk, unsigned level)
{
    unsigned long sum = level;
    if (!level)
        return sum;
    for (unsigned long i = walk_draw(walk, 3); walk->calls > 0 && i-- > 0;)
        sum += walk_choose(walk)(walk, level - 1);
    return sum;
}

#endif
