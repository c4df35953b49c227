/*
 * The interpreter of Python, if the process has one: the frames of a thread, read without running Python and without its
 * lock. A thread changes its frames itself, and not while it is in a call of MPI.
 *
 *     thread state ──> frame ──> frame ──> ...      the innermost first
 *                        │ code object, instruction
 *                        v
 *              function, file, line (pythoncode.h)
 *
 * A frame holds its code object. So an instruction stands for a place, until the code object is freed. Then all ways
 * through Python become void (python_generation): the destructor of code objects is replaced by one that says so.
 *
 * Known: CPython 3.11 and 3.12 by a table, 3.13 by what the interpreter tells of itself (_Py_DebugOffsets). With any other
 * version, and in builds without the global lock, there are no frames of Python. Of a thread with several interpreters, one may be
 * missing.
 *
 * Who may run with whom: python_find: not in signal handlers. All others: any thread, async-signal-safe.
 */
#ifndef MPIT_PROBES_PYTHON_H
#define MPIT_PROBES_PYTHON_H

#include "base/linkage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offsets of members in the interpreter's structures. */
struct python_layout {
    uint64_t holder;  /* of the thread state: where what holds the frame is. 0: it holds it itself */
    uint64_t current; /* of the holder: the innermost frame */
    uint64_t outer;   /* of the holder: the one before. 0: a frame on the C stack marks a loop of the interpreter */
    uint64_t previous, instruction, code, owner, entry;   /* of a frame. entry 0: there is none */
    uint64_t file, function, lines, first_line, bytecode; /* of a code object */
    uint64_t text, wide_text;                             /* of a string: ASCII characters, others */
};
extern LIBRARY_LOCAL struct python_layout python_layout;
/* Returns the thread state of this thread, or NULL. NULL: the process has no interpreter that is known. Set once, after the
 * layout. */
extern LIBRARY_LOCAL const char *(*python_state)(void);
/* Changes when a code object is freed that paths went through. It is added to the keys of ways through Python. */
extern LIBRARY_LOCAL uint64_t python_generation;

struct python_frame {
    const char *code;
    uintptr_t instruction;
    uintptr_t loop; /* an address in the frame of C that runs it */
};

enum { PYTHON_FRAMES_MOST = 128 };
/* After the last instruction of a chain: the thread has no more frames, or the others do not matter. */
enum { PYTHON_CHAIN_END, PYTHON_CHAIN_CUT };

struct python_stack {
    unsigned count;                                 /* of functions. The outer ones may be missing: */
    bool cut;                                       /* then this is set */
    struct python_frame frames[PYTHON_FRAMES_MOST]; /* the functions */
    unsigned links; /* of the chain: instructions of all frames, also of those that are no functions, and a mark */
    uintptr_t chain[PYTHON_FRAMES_MOST + 1];
};

/* Looks for an interpreter. Returns true if it found one now. */
bool python_find(void);
/* True if there is one. */
static inline bool python_is_known(void)
{
    return __atomic_load_n(&python_state, __ATOMIC_ACQUIRE) != NULL;
}

/* Reads the frames of this thread. False: none is a function. */
bool python_stack_read(struct python_stack *stack);

static inline const char *python_pointer(const char *object, uint64_t offset)
{
    return *(const char *const *)(const void *)(object + offset);
}

/* The innermost frame of this thread, or NULL. */
static inline const char *python_frame_current(void)
{
    const char *state = python_state();
    if (state && python_layout.holder)
        state = python_pointer(state, python_layout.holder);
    return state ? python_pointer(state, python_layout.current) : NULL;
}

static inline uintptr_t python_instruction(const char *frame)
{
    return (uintptr_t)python_pointer(frame, python_layout.instruction);
}

/* True if the thread is where it was when the chain was read. Two links at a time: this is a good part of a call. */
static inline bool python_chain_holds(const uintptr_t *chain, const char *frame)
{
    for (;; chain += 2) {
        if (python_instruction(frame) != chain[0])
            return chain[0] == PYTHON_CHAIN_CUT;
        if (!(frame = python_pointer(frame, python_layout.previous)))
            return chain[1] == PYTHON_CHAIN_END;
        if (python_instruction(frame) != chain[1])
            return chain[1] == PYTHON_CHAIN_CUT;
        if (!(frame = python_pointer(frame, python_layout.previous)))
            return chain[2] == PYTHON_CHAIN_END;
    }
}

#endif
