/*
 * The settings, one list for the environment, MPI_T and the recorder. The code calls a setting a knob.
 *
 * Each value is an 8-byte cell. The hot path loads it relaxed, MPI_T stores it relaxed.
 */
#ifndef MPIT_AGGREGATE_KNOBS_H
#define MPIT_AGGREGATE_KNOBS_H

#include "figures/cells.h"
#include "base/linkage.h"
#include "format/runfile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum knob_type { KNOB_INT, KNOB_UNSIGNED_LONG_LONG, KNOB_TEXT };

/* A value of KNOB_TRACE that nobody writes and nobody reads: a brief trace is kept (TRACE_BRIEF). */
enum { TRACE_BRIEFLY = 2 };

enum knob {
    KNOB_TRACE,
    KNOB_FLIGHT_EVENTS,
    KNOB_BUFFER_LIMIT_BYTES,
    KNOB_TRACE_LIMIT_BYTES,
    KNOB_LARGE_MESSAGE_BYTES,
    KNOB_P2P_TIMEOUT_NS,
    KNOB_RECORD_LOCAL_CALLS,
    KNOB_TIMING,
    KNOB_SAMPLE_HZ,
    KNOB_FILTER,
    KNOB_PAPI_EVENTS,
    KNOB_CLOCK_SYNC,
    KNOB_TRACE_POLICY,
    KNOB_FABRIC,
    KNOB_OS,
    KNOB_SDE,
    KNOB_SPOOL_LIMIT_BYTES,
    KNOB_CALL_DEPTH,
    KNOB_RECORDING,
    KNOB_TRACE_LIMIT_SECONDS,
    KNOB_COUNT
};

struct knob_description {
    const char *name; /* mpit_... The environment variable is the same in upper case */
    enum knob_type type;
    bool run_time; /* may be written while a run is recorded. All may before */
    uint64_t initial, least, most;
    const char *description;
    /* of a text: returns 0, or -1 with the error and the allowed values in `problem` */
    int (*check)(const char *text, char *problem, size_t size);
    uint8_t verbosity; /* enum mpit_verbosity */
};

/* Room for a text, with its NUL. */
enum { KNOB_TEXT_BYTES = FILTER_BYTES };

extern const struct knob_description knob_table[KNOB_COUNT];
extern LIBRARY_LOCAL uint64_t knobs[KNOB_COUNT];

/* p2p timeout in ticks, derived from KNOB_P2P_TIMEOUT_NS. UINT64_MAX = off. */
extern LIBRARY_LOCAL uint64_t knob_timeout_ticks;
/* Messages below it are small, and in a bucket with an upper end: KNOB_LARGE_MESSAGE_BYTES or SMALL_MOST. */
#define SMALL_MOST (UINT64_C(1) << (BUCKET_COUNT - 2))
extern LIBRARY_LOCAL uint64_t knob_small_limit;
/* Calls and transfers that take this long or longer are rare: timeouts, or too long for an event's duration. 0 while
 * knobs_attend is on. */
extern LIBRARY_LOCAL uint64_t knob_rare_ticks;
/* The same for calls on windows and files. 0 also while a variable of one has a started handle (objectcells.h). */
extern LIBRARY_LOCAL uint64_t knob_object_ticks;

/* True if calls are timed. This is mpit_timing, but true while a trace is kept or knobs_attend is on, since these need
 * times. */
extern LIBRARY_LOCAL bool knob_timed;
/* Called when knob_timed, mpit_record_local_calls or mpit_call_depth may have changed. Lock-free, async-signal-safe. May be NULL. */
extern LIBRARY_LOCAL void (*knobs_changed)(void);
/* Starts, changes and (0) stops the sampler of a run. Returns false if it cannot. NULL: there is no sampler. */
extern LIBRARY_LOCAL bool (*knobs_sampler)(uint64_t hz);
/* Switches the recording of a run on or off, as MPI_Pcontrol does. NULL: there is no run. */
extern LIBRARY_LOCAL void (*knobs_recording)(bool on);

static inline uint64_t knob_load(enum knob knob)
{
    return RELAXED_LOAD(&knobs[knob]);
}

/* Stores a value that was checked against the limits. */
void knob_store(enum knob knob, uint64_t value);

enum { KNOB_VARIABLE_BYTES = 64, KNOB_PROBLEM_BYTES = 768 };

/* The environment variable of a setting: its name in upper case. */
void knob_variable(enum knob knob, char name[KNOB_VARIABLE_BYTES]);
/* Returns true if the environment sets the setting to *value (a text: it is valid). Else `problem` has the error in
 * its value. "": there is no value. */
bool knob_from_environment(enum knob knob, uint64_t *value, char problem[KNOB_PROBLEM_BYTES]);
/* The same for a value from elsewhere. Returns false with the error or the allowed values in `reason`. */
bool knob_value_read(enum knob knob, const char *text, uint64_t *value, char reason[KNOB_PROBLEM_BYTES]);
/* Uses the value of the environment, if it is valid. */
void knob_take_environment(enum knob knob);
enum knob_result {
    KNOB_WRITTEN,
    KNOB_OUT_OF_RANGE, /* least and most are in the settings table */
    KNOB_NOT_NOW,      /* a limit below the amount in use */
    KNOB_NEVER,        /* not any more in this run, or not in this version */
};

/* Writes a value from the user. It takes effect at once, in other threads from their next call on. Thread-safe,
 * takes a lock. */
enum knob_result knob_write(enum knob knob, uint64_t value);

/* The same for a text, and reading it. */
enum knob_result knob_write_text(enum knob knob, const char *text);
void knob_read_text(enum knob knob, char text[KNOB_TEXT_BYTES]);

/* While the count of these is above 0 (+1 begins, -1 ends), every call counts as rare. Code that looks at each call
 * is on the path of rare calls. Lock-free, async-signal-safe. */
void knobs_attend(int change);
extern LIBRARY_LOCAL int knob_attendants;

/* Derives values that depend on the clock's scale. Call it when the scale is known. */
void knobs_scale(uint64_t mult);

/* While there are listeners, every call leaves the frequent path. */
void knobs_listen(bool listened);

#endif
