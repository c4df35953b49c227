/*
 * The register of variables, controls, events and regions of other libraries (include/mpit/instrument.h).
 *
 *   instruments[] ──> instrument ── instances ──> instance ──> instance ...      one for each communicator, or one
 *   (append-only)      │  name, class, type,         │ cells ──> mpit_cell[]      the library writes them
 *                      │  enumeration, category      └ record ─> in the run file  readers find copies there
 *                      └ object ──> the library's own struct; NULL after removal
 *
 * Nothing is ever freed or unmapped. Removal clears `active` and the library's pointer to its cells. So the holder of
 * an instance reads and writes memory that exists. The holder may be a handle, a signal handler in the middle of a
 * read, or a library that updates late. An instrument that is registered again with the same meaning gets its old
 * place. When a freed communicator loses its slot, its instances wait for the next communicator that is bound. The
 * values go to instances of the sum. No handle refers to it by then.
 *
 * Cells lie in private memory and not in the run file: a child of fork gets a copy and cannot count for its parent. The
 * run file gets copies of the values (instrument_publish): when recording begins and ends, and at each full buffer.
 * Regions are different: they are events, folded into cells of the thread like calls (fold.h).
 *
 * Who may run with whom: registering, removing and binding take `lock`. Never call the dynamic loader while holding it:
 * the loader's lock is held around constructors. All else is lock-free. Lists are pushed at the front with a release
 * store, and `active` is stored with release.
 */
#ifndef MPIT_AGGREGATE_INSTRUMENT_H
#define MPIT_AGGREGATE_INSTRUMENT_H

#include "registry/book.h"
#include "handles/instance.h"
#include "figures/variables.h"

#include <mpit/instrument_interface.h>

#include <stdbool.h>

enum { INSTRUMENTS_MAX = 1 << 14, INSTRUMENT_ERROR_BYTES = 256, INSTRUMENT_COMPONENT_BYTES = 64 };

struct instrument_enumeration {
    struct instrument_enumeration *next;
    char *name, *description;
    struct mpit_item *items;
    uint32_t count;
    uint64_t items_offset; /* in the run file; 0: not there */
};

struct instrument_category {
    char *path, *description; /* those above it in front: "above/below" */
};

/* One instrument for one communicator, or an unbound one. */
struct instrument_instance {
    struct instrument_instance *next; /* of the same instrument */
    const struct instrument *instrument;
    struct instrument_instance *unused; /* the next one that waits to be used again (instrumentinstances.c) */
    const struct comm *comm;            /* NULL: not bound, or it waits */
    bool waits;
    void *handles;                    /* handles of MPI_T that were of it, to be used again */
    uint32_t id;                      /* in the run file and in events; 1, 2, ... */
    struct mpit_cell *cells;          /* count; in timers then as many again, which hold ticks */
    uint64_t closed_high, closed_low; /* of segments that windows have ended */
    struct instrument_sums *sums;     /* of handles, where it counts in doubles; pushed at the front */
    uint64_t *sampled;                /* what the trace has: count values */
    bool sampled_once;
    struct instrument_record *record; /* NULL: the run file does not know it */
    uint64_t *published;              /* values in the run file */
    uint64_t published_offset;
    struct region_cells moved; /* of a region: what is to be added to the cells of its id */
};

struct instrument {
    enum instrument_kind kind;
    uint32_t class, type, count, bind, flags, verbosity, scope;
    uint32_t classes; /* bits: those that it shows */
    uint32_t number;  /* place in the register */
    uint32_t hash;
    bool active;
    char *name, *description;
    const struct instrument_enumeration *names;
    int category;
    char component[INSTRUMENT_COMPONENT_BYTES]; /* the file that registered it */
    void *object;
    struct instrument_instance *instances, *unused;
    union mpit_value initial, least, most; /* of controls */
    uint32_t capacity;
    char *text; /* of a control, two copies: the one that text_version names is whole */
    uint32_t text_version;
    struct mpit_element *elements; /* of events */
    uint32_t element_count, bytes;
    struct event_type *event; /* instance.h; NULL: MPI_T has not asked for it yet */
};

/* What the probes give: the table that cells lead to. Set before the first registration. */
extern const struct mpit_interface *instrument_interface_table;

/* ---- registering: an enum mpit_result, with the reason in `error` where it is one -------------------------------- */

int instrument_variable_register(struct mpit_variable *variable, const char *component, char *error);
int instrument_control_register(struct mpit_control *control, const char *component, char *error);
int instrument_region_register(struct mpit_region *region, const char *component, char *error);
int instrument_event_register(struct mpit_event_type *event, const char *component, char *error);
int instrument_enumeration_register(struct mpit_enumeration *enumeration, char *error);
int instrument_category_register(struct mpit_category *category, char *error);
/* `object` is what was registered as this instrument. */
int instrument_remove(struct instrument *instrument, void *object, char *error);

/* The instance for a communicator (NULL: unbound), made at first use; NULL without memory. */
struct instrument_instance *instrument_instance(struct instrument *instrument, const struct comm *comm);
/* The same where there is none; under the register's lock. */
struct instrument_instance *instrument_instance_make(struct instrument *instrument, const struct comm *comm);

/*
 * A freed communicator loses its slot (commreuse.h): what instruments have counted for it goes to those of the sum, and
 * its instances wait to be used again. First, what the sum needs is made; false: no memory. Under the book's lock.
 */
bool instruments_prepare(const struct comm *comm, struct comm *sum);
void instruments_move(struct comm *comm, struct comm *sum);

/* ---- reading the register -----------------------------------------------------------------------------------------
 */

uint32_t instrument_count(void);
struct instrument *instrument_at(uint32_t number);
/* The one that is active and shows that class; NULL. */
struct instrument *instrument_find(const char *name, uint32_t class);
int instrument_category_count(void);
const struct instrument_category *instrument_category_at(int number);
/* Grows with each registration and removal. */
uint32_t instrument_generation(void);

static inline bool instrument_is_active(const struct instrument *instrument)
{
    return __atomic_load_n(&instrument->active, __ATOMIC_ACQUIRE);
}

static inline bool instrument_is_double(const struct instrument *instrument)
{
    return instrument->type == MPIT_TYPE_DOUBLE;
}

/* ---- values (instrumentcells.c); all async-signal-safe and wait-free -----------------------------------------------
 */

/* Cells for an instance; NULL without memory. Under the register's lock. */
struct mpit_cell *instrument_cells_make(struct instrument_instance *instance);
/* As when they were made. Nobody updates them meanwhile. */
void instrument_cells_clear(struct instrument_instance *instance);
/* Adds the values of `from` to those of `to`; a variable that is set takes the value. */
void instrument_cells_join(struct instrument_instance *to, const struct instrument_instance *from);

/* Element `element` as a number of the instrument's type: an integer, or the bits of a double. `class`: of those that
 * it shows; watermarks since ever. Times in nanoseconds, or seconds where they are double. */
uint64_t instrument_value(const struct instrument_instance *instance, uint32_t class, uint32_t element);

/* Any update that is not in line in the library. A STATE keeps its value where the new one is no item. A PERCENTAGE
 * is brought to 0 .. 1, and NaN is ignored. A LEVEL of integers that is below 0 is shown as 0. */
bool instrument_fits(const struct mpit_cell *cell, enum mpit_operation operation, union mpit_value value);
void instrument_update(struct mpit_cell *cell, enum mpit_operation operation, union mpit_value value);
/* The level has passed the extreme of its segment. */
void instrument_extreme(struct mpit_cell *cell, uint64_t level);
/* The cell of a timer in which ticks are counted. */
struct mpit_cell *instrument_tick_cell(struct mpit_cell *cell);

/*
 * The sums of a handle on a variable that counts in doubles: what is added while an element runs is added here, too.
 * The difference of two sums since ever would have lost small amounts behind large ones. A handle's, never freed.
 */
struct instrument_sums {
    struct instrument_sums *next;
    bool linked;
    uint64_t (*pairs)[2]; /* for each element {bits of the sum, tag}; it runs while the tag's lowest bit is set */
};

void instrument_sums_tie(struct instrument_sums *sums, struct instrument_instance *instance);
void instrument_sums_give(const struct mpit_cell *cell, double amount);

/* A window on the extreme of a level: as windows.h has them, for a cell. A handle's, never freed. */
struct instrument_window {
    struct instrument_window *next;
    struct instrument_instance *instance;
    bool linked, open, high;
    uint64_t key;
};

void instrument_window_tie(struct instrument_window *window, struct instrument_instance *instance, bool high);
void instrument_window_open(struct instrument_window *window);
void instrument_window_close(struct instrument_window *window);
void instrument_window_reset(struct instrument_window *window);
uint64_t instrument_window_read(const struct instrument_window *window);
/* Reads and resets; what happens meanwhile belongs to one side or the other. */
uint64_t instrument_window_take(struct instrument_window *window);

/* ---- the run file (instrumentfile.c) --------------------------------------------------------------------------------
 */

/* The run is open: what is registered is written into it, and from now on at once. */
void instrument_run_begin(void);
/* Under the register's lock, as the next three. */
void instrument_record_make(struct instrument_instance *instance);
/* The record is of instance->comm from now on. */
void instrument_record_tie(struct instrument_instance *instance);
/* Its values in the file are those of now. */
void instrument_record_publish(struct instrument_instance *instance);
/* The record is of nobody: it has no values, and the slot of the sum that took them. */
void instrument_record_leave(struct instrument_instance *instance, const struct comm *sum);
/* Brings the values in the run file up to date. */
void instrument_publish(void);
extern bool instrument_run_open;

/* The lock, for those who hold several steps together. */
void instrument_lock(void);
void instrument_unlock(void);

/* The cells of a region, of all threads together. */
struct region_cells instrument_region_sum(const struct instrument_instance *instance);

#endif
