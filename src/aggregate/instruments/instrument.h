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
 * The instrument's own cells are in private memory and not in the run file. So a child of fork gets a copy and cannot
 * count for its parent. The run file gets copies of the values (instrument_publish): when recording begins and ends,
 * and at each full buffer. Regions are different: they are events, applied to counters of the thread like calls
 * (fold.h).
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
#include <string.h>

enum { INSTRUMENTS_MAX = 1 << 14, INSTRUMENT_ERROR_BYTES = 256, INSTRUMENT_COMPONENT_BYTES = 64 };

struct instrument_enumeration {
    struct instrument_enumeration *next;
    char *name, *description;
    struct mpit_item *items;
    uint32_t count;
    uint64_t items_offset; /* in the run file. 0: not there */
};

struct instrument_category {
    char *path, *description; /* with its parents in front: "above/below" */
};

/* One instrument for one communicator, or an unbound one. */
struct instrument_instance {
    struct instrument_instance *next; /* of the same instrument */
    const struct instrument *instrument;
    struct instrument_instance *unused; /* the next one that waits for reuse (instrumentinstances.c) */
    const struct comm *comm;            /* NULL: not bound, or waits for reuse */
    bool waits;
    void *handles;                    /* its handles of MPI_T, for reuse */
    uint32_t id;                      /* in the run file and in events: 1, 2, ... */
    struct mpit_cell *cells;          /* count. Timers have twice as many, the second half for ticks */
    uint64_t closed_high, closed_low; /* of segments that handles have ended */
    struct instrument_sums *sums;     /* of handles, if it counts in doubles. Pushed at the front */
    uint64_t *sampled;                /* count values: the last ones in the trace */
    bool sampled_once;
    struct instrument_record *record; /* NULL: not in the run file */
    uint64_t *published;              /* values in the run file */
    uint64_t published_offset;
    struct region_cells moved; /* of a region: to be added to the cells of its id */
};

struct instrument {
    enum instrument_kind kind;
    uint32_t class, type, count, bind, flags, verbosity, scope;
    uint32_t classes; /* bits: the classes it shows */
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
    char *text; /* of a control, two copies. The one that text_version names is whole */
    uint32_t text_version;
    struct mpit_element *elements; /* of events */
    uint32_t element_count, bytes;
    struct event_type *event; /* instance.h. NULL: MPI_T has not asked for it yet */
};

/* The table that cells point to. The probes set it before the first registration. */
extern const struct mpit_interface *instrument_interface_table;

/* ---- registering: the functions return an enum mpit_result, with the reason in `error` --------------------------- */

int instrument_variable_register(struct mpit_variable *variable, const char *component, char *error);
int instrument_control_register(struct mpit_control *control, const char *component, char *error);
int instrument_region_register(struct mpit_region *region, const char *component, char *error);
int instrument_event_register(struct mpit_event_type *event, const char *component, char *error);
int instrument_enumeration_register(struct mpit_enumeration *enumeration, char *error);
int instrument_category_register(struct mpit_category *category, char *error);
/* `object` is the library's struct of this instrument. */
int instrument_remove(struct instrument *instrument, void *object, char *error);

/* The instance for a communicator (NULL: unbound), made at first use. NULL without memory. */
struct instrument_instance *instrument_instance(struct instrument *instrument, const struct comm *comm);
/* Makes an instance that does not exist. Under the register's lock. */
struct instrument_instance *instrument_instance_make(struct instrument *instrument, const struct comm *comm);

/*
 * A freed communicator loses its slot (commreuse.h). The counts of its instances are added to the instances of the sum,
 * and its instances wait for reuse. The first function prepares the sum, and returns false without memory. Both are
 * called under the registry's lock.
 */
bool instruments_prepare(const struct comm *comm, struct comm *sum);
void instruments_move(struct comm *comm, struct comm *sum);

/* ---- reading the register ---------------------------------------------------------------------------------------- */

uint32_t instrument_count(void);
struct instrument *instrument_at(uint32_t number);
/* The active instrument of that class, or NULL. */
struct instrument *instrument_find(const char *name, uint32_t class);
int instrument_category_count(void);
const struct instrument_category *instrument_category_at(int number);

static inline bool instrument_is_active(const struct instrument *instrument)
{
    return __atomic_load_n(&instrument->active, __ATOMIC_ACQUIRE);
}

static inline bool instrument_is_double(const struct instrument *instrument)
{
    return instrument->type == MPIT_TYPE_DOUBLE;
}

/* ---- values (instrumentcells.c), all async-signal-safe and wait-free --------------------------------------------- */

/* Makes the cells of an instance. NULL without memory. Under the register's lock. */
struct mpit_cell *instrument_cells_make(struct instrument_instance *instance);
/* Resets the cells. No thread may update them meanwhile. */
void instrument_cells_clear(struct instrument_instance *instance);
/* Adds the values of `from` to the values of `to`. A variable that is set takes the value. */
void instrument_cells_join(struct instrument_instance *to, const struct instrument_instance *from);

/* Element `element` as a number of the instrument's type: an integer, or the bits of a double. `class` is one of the
 * classes that it shows. Watermarks cover the whole run. Times are in nanoseconds, or in seconds for doubles. */
uint64_t instrument_value(const struct instrument_instance *instance, uint32_t class, uint32_t element);

/* An update that is not inline in the library. A STATE keeps its value if the new one is not an item. A PERCENTAGE
 * is limited to 0 .. 1, and NaN is ignored. A LEVEL of integers below 0 is shown as 0. */
bool instrument_fits(const struct mpit_cell *cell, enum mpit_operation operation, union mpit_value value);
void instrument_update(struct mpit_cell *cell, enum mpit_operation operation, union mpit_value value);
/* The level has passed the extreme of its segment. */
void instrument_extreme(struct mpit_cell *cell, uint64_t level);
/* The cell of a timer that counts ticks. */
struct mpit_cell *instrument_tick_cell(struct mpit_cell *cell);

/*
 * The sums of a handle on a variable that counts in doubles. Amounts that are added while an element runs are added
 * here, too. The difference of two totals would lose small amounts after large ones. Owned by a handle, never freed.
 */
struct instrument_sums {
    struct instrument_sums *next;
    bool linked;
    uint64_t (*pairs)[2]; /* for each element {bits of the sum, tag}. It runs while the tag's lowest bit is set */
};

void instrument_sums_tie(struct instrument_sums *sums, struct instrument_instance *instance);
void instrument_sums_give(const struct mpit_cell *cell, double amount);

/* An interval for the extreme of a level, as in windows.h, but of one cell. Owned by a handle, never freed. */
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
/* Reads and resets. A change meanwhile counts on one side or the other. */
uint64_t instrument_window_take(struct instrument_window *window);

/* ---- the run file (instrumentfile.c) ----------------------------------------------------------------------------- */

/* The run is open. Writes all registered instruments into it. Later ones are written at once. */
void instrument_run_begin(void);
/* These four are called under the register's lock. */
void instrument_record_make(struct instrument_instance *instance);
/* Assigns the record to instance->comm. */
void instrument_record_tie(struct instrument_instance *instance);
/* Copies the current values into the file. */
void instrument_record_publish(struct instrument_instance *instance);
/* Detaches the record. It has no values then, and the slot of the sum that took them. */
void instrument_record_leave(struct instrument_instance *instance, const struct comm *sum);
/* Updates the values in the run file. */
void instrument_publish(void);
extern bool instrument_run_open;

/* The lock, for callers that need several steps at once. */
void instrument_lock(void);
void instrument_unlock(void);

/* The cells of a region, summed over all threads. */
struct region_cells instrument_region_sum(const struct instrument_instance *instance);

/* A double in a cell. */
static inline double real_of_bits(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static inline uint64_t bits_of_real(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

#endif
