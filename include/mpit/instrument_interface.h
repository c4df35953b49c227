/*
 * The interface between a library and mpit: the objects that <mpit/instrument.h> declares, and mpit's table of
 * functions. Programs do not use this header directly. They include <mpit/instrument.h>.
 *
 *   in the library                      in mpit, for as long as the process lives
 *   struct mpit_variable ── cell ─────> struct mpit_cell [elements]     the library writes it, MPI_T reads it
 *        name, class, type, ...  copied at registration. mpit never reads the library's memory afterwards
 *
 * `cell` is NULL if mpit is not loaded, before registration, and after removal. An update is then a load and a branch.
 * A counter is never unmapped and never given to another variable. A reader that is later than a removal therefore
 * reads an old value, and never foreign memory.
 *
 * Layout and numbers are a contract between binaries of different age. Fields and functions are added at the end, under
 * a new MPIT_INSTRUMENT_VERSION. mpit serves all versions up to its own.
 */
#ifndef MPIT_INSTRUMENT_INTERFACE_H
#define MPIT_INSTRUMENT_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

enum { MPIT_INSTRUMENT_VERSION = 1, MPIT_NAME_MAX = 63, MPIT_DESCRIPTION_MAX = 1023, MPIT_ELEMENTS_MAX = 65536 };

/* Return values of the functions of <mpit/instrument.h>. */
enum mpit_result {
    MPIT_OK = 0,
    MPIT_NOT_LOADED = 1,     /* mpit is not in the process (or MPIT_DISABLE is set). This is not an error */
    MPIT_ERR_ARGUMENT = 2,   /* a NULL pointer, or an object that was never registered */
    MPIT_ERR_NAME = 3,       /* empty, too long, with characters that are not allowed, or reserved */
    MPIT_ERR_DUPLICATE = 4,  /* name and class are taken, or were used with another meaning */
    MPIT_ERR_CLASS = 5,      /* no such class, scope or binding */
    MPIT_ERR_TYPE = 6,       /* the standard does not allow this type for this class */
    MPIT_ERR_COUNT = 7,      /* number of elements or items */
    MPIT_ERR_VALUE = 8,      /* limits that contradict each other, or an initial value outside of them */
    MPIT_ERR_REGISTERED = 9, /* the object is registered already */
    MPIT_ERR_MEMORY = 10     /* none left */
};

/* The classes of performance variables of the standard. */
enum mpit_class {
    MPIT_CLASS_STATE = 1,
    MPIT_CLASS_LEVEL,
    MPIT_CLASS_SIZE,
    MPIT_CLASS_PERCENTAGE,
    MPIT_CLASS_HIGHWATERMARK,
    MPIT_CLASS_LOWWATERMARK,
    MPIT_CLASS_COUNTER,
    MPIT_CLASS_AGGREGATE,
    MPIT_CLASS_TIMER,
    MPIT_CLASS_GENERIC
};

enum mpit_type {
    MPIT_TYPE_INT = 1,
    MPIT_TYPE_UNSIGNED,
    MPIT_TYPE_UNSIGNED_LONG,
    MPIT_TYPE_UNSIGNED_LONG_LONG,
    MPIT_TYPE_DOUBLE,
    MPIT_TYPE_CHAR /* control variables: a text */
};

enum mpit_bind { MPIT_BIND_NONE = 0, MPIT_BIND_COMM = 1 };

enum mpit_scope {
    MPIT_SCOPE_CONSTANT = 1,
    MPIT_SCOPE_READONLY,
    MPIT_SCOPE_LOCAL,
    MPIT_SCOPE_GROUP,
    MPIT_SCOPE_GROUP_EQ,
    MPIT_SCOPE_ALL,
    MPIT_SCOPE_ALL_EQ
};

enum mpit_verbosity {
    MPIT_VERBOSITY_USER = 0, /* the default */
    MPIT_VERBOSITY_USER_DETAIL,
    MPIT_VERBOSITY_TUNER,
    MPIT_VERBOSITY_TUNER_DETAIL,
    MPIT_VERBOSITY_DEVELOPER,
    MPIT_VERBOSITY_DEVELOPER_DETAIL,
    /* The third level of each kind. These levels were added later, so the numbers do not follow the order of the
     * levels. */
    MPIT_VERBOSITY_USER_ALL,
    MPIT_VERBOSITY_TUNER_ALL,
    MPIT_VERBOSITY_DEVELOPER_ALL
};

enum mpit_flags {
    MPIT_WITH_WATERMARKS = 1, /* LEVEL: also makes HIGHWATERMARK and LOWWATERMARK of the same name */
    MPIT_EVERY_UPDATE =
        2 /* a trace gets a sample of each update, so that an update takes as long as the record of a call */
};

/* How a counter is updated (mpit_cell.mode). Other updates go through mpit_interface.update. */
enum mpit_mode {
    MPIT_MODE_OTHER = 0,
    MPIT_MODE_SUM_INTEGER, /* own + shared, modulo 2^64 */
    MPIT_MODE_SUM_DOUBLE,
    MPIT_MODE_LEVEL_INTEGER, /* own, changed by locked instructions, followed by high and low */
    MPIT_MODE_SET_INTEGER,   /* own, stored */
    MPIT_MODE_SET_DOUBLE
};

enum mpit_operation { MPIT_ADD, MPIT_ADD_DOUBLE, MPIT_SUBTRACT, MPIT_SET, MPIT_SET_DOUBLE };

struct mpit_interface;

/*
 * One element of a variable, for one object to which the variable is bound (or for an unbound variable). 64 bytes,
 * 64-byte aligned.
 *
 * A sum has an owner: the first thread that adds. The owner adds to `own` without a locked instruction. Every other
 * thread adds to `shared` with a locked instruction. Readers add up both.
 */
struct mpit_cell {
    uint64_t owner; /* thread pointer, or 0 if there is no owner yet */
    uint64_t own, shared;
    uint64_t high, low; /* of the current segment, see mpit's windows */
    uint32_t mode;      /* enum mpit_mode */
    uint32_t element;
    const struct mpit_interface *interface_;
    void *instance; /* mpit's */
};

struct mpit_item {
    int value;
    const char *name;
};

struct mpit_enumeration {
    void *entry; /* mpit's, or NULL if not registered */
    const char *name;
    const char *description;
    const struct mpit_item *items;
    uint32_t count;
};

struct mpit_category {
    void *entry;
    const char *name;
    const char *description;
    const char *parent; /* path of another category, registered before, or NULL or "" for none */
};

struct mpit_variable {
    struct mpit_cell *cell; /* of the unbound variable, or NULL if no tool listens */
    void *entry;
    const char *name;
    const char *description;
    const char *category; /* NULL: named after the file that registers it */
    struct mpit_enumeration *names;
    uint32_t class_, type, count, bind, flags, verbosity;
};

union mpit_value {
    uint64_t integer; /* INT: sign-extended */
    double real;
    const char *text;
};

struct mpit_control {
    const uint64_t *cell; /* place of the value: mpit's memory, or `fallback` */
    uint64_t fallback;    /* the initial value */
    void *entry;
    const char *name;
    const char *description;
    const char *category;
    struct mpit_enumeration *names;
    union mpit_value initial, least, most; /* least = most = 0: any value */
    uint32_t type, scope, bind, verbosity;
    uint32_t capacity; /* CHAR: bytes with the NUL */
    uint32_t reserved;
};

struct mpit_region {
    struct mpit_cell *cell;
    void *entry;
    const char *name;
    const char *description;
    const char *category;
    uint32_t bind, verbosity;
};

struct mpit_element {
    uint32_t type;   /* enum mpit_type, not CHAR */
    uint32_t offset; /* in the data of an instance */
    const char *name;
};

struct mpit_event_type {
    struct mpit_cell *cell; /* cell->own: how many listen */
    void *entry;
    const char *name;
    const char *description;
    const char *category;
    const struct mpit_element *elements;
    uint32_t element_count, bytes;
    uint32_t bind, verbosity;
};

struct mpit_interface {
    uint32_t version, bytes; /* mpit's version and the size of its table */
    int (*variable_register)(struct mpit_variable *variable);
    int (*variable_remove)(struct mpit_variable *variable);
    struct mpit_cell *(*variable_bind)(struct mpit_variable *variable, const void *comm);
    int (*control_register)(struct mpit_control *control);
    int (*control_remove)(struct mpit_control *control);
    const uint64_t *(*control_bind)(struct mpit_control *control, const void *comm);
    int (*control_text)(const struct mpit_control *control, char *text, size_t bytes);
    int (*enumeration_register)(struct mpit_enumeration *enumeration);
    int (*category_register)(struct mpit_category *category);
    int (*region_register)(struct mpit_region *region);
    int (*region_remove)(struct mpit_region *region);
    struct mpit_cell *(*region_bind)(struct mpit_region *region, const void *comm);
    int (*event_register)(struct mpit_event_type *event);
    int (*event_remove)(struct mpit_event_type *event);
    struct mpit_cell *(*event_bind)(struct mpit_event_type *event, const void *comm);
    void (*update)(struct mpit_cell *cell, enum mpit_operation operation, union mpit_value value);
    void (*extreme)(struct mpit_cell *cell, uint64_t level);
    uint64_t (*clock)(void);
    void (*timer_add)(struct mpit_cell *cell, uint64_t begin);
    void (*region_enter)(struct mpit_cell *cell);
    void (*region_leave)(struct mpit_cell *cell);
    void (*sample)(struct mpit_cell *cell);
    void (*event_raise)(struct mpit_cell *cell, const void *data);
    const char *(*component_of)(const char *name, int class_);
};

/* The type of the function "mpit_instrument_interface" in a process with mpit. It returns NULL if mpit is older than
 * `version`, or if MPIT_DISABLE is set. Thread-safe. Not for signal handlers. */
typedef const struct mpit_interface *mpit_interface_function(uint32_t version);

#if defined(__cplusplus)
}
#endif

#endif
