/*
 * The declarations of <mpit/instrument.h>, which includes this: variables, regions, controls, enumerations, categories
 * and event types in one line each, outside of functions.
 *
 * Each macro defines an object of the given name, which is visible only in its library. It also defines two functions
 * for the loader. One registers the object when the library is loaded. The other removes it when the library is
 * unloaded.
 */
#ifndef MPIT_INSTRUMENT_DECLARE_H
#define MPIT_INSTRUMENT_DECLARE_H

#include <mpit/instrument_interface.h>

#if defined(__cplusplus)
#define MPIT_INSTRUMENT_NULL nullptr
#else
#define MPIT_INSTRUMENT_NULL NULL
#endif

/* ---- declaring, in one line each, outside of functions ----------------------------------------------------------- */

/*
 * The C object and the variable have the same name. MPIT_EXTERN_VARIABLE(name) declares it in other source files of the
 * same library. Counts and sizes are unsigned long long.
 *
 *   MPIT_COUNTER         how often something happened                            mpit_add
 *   MPIT_AGGREGATE       a sum, for example of bytes. _DOUBLE: doubles           mpit_add, mpit_add_double
 *   MPIT_TIMER           time spent, in nanoseconds. _DOUBLE: in seconds         mpit_timer_begin, _end, mpit_add
 *   MPIT_LEVEL           how much is in use now, with its watermarks             mpit_level_add, _subtract, _set
 *   MPIT_HIGHWATERMARK   the highest level since a handle was started or reset   the same
 *   MPIT_LOWWATERMARK    the lowest                                              the same
 *   MPIT_SIZE            how large a resource is                                 mpit_set
 *   MPIT_PERCENTAGE      0.0 .. 1.0 of it in use                                 mpit_set_double
 *   MPIT_STATE           one of the items of an enumeration                      mpit_set_int
 *   MPIT_GENERIC         any other value, see its description. _DOUBLE: doubles  mpit_set, mpit_set_double
 *   ..._ARRAY            with this many elements                                 ..._at
 *   ..._ON_COMM          one for each communicator, see mpit_bind                mpit_cell_...
 *
 * MPIT_VARIABLE is the general form. Its arguments: class, type (the standard says which types a class allows),
 * elements, binding, flags (enum mpit_flags), and an enumeration. The enumeration names the values of an int, or the
 * elements of an array. It may be NULL.
 */
#define MPIT_VARIABLE(object, class_, type, count, bind, flags, names, description)                                    \
    extern struct mpit_variable object __attribute__((visibility("hidden")));                                          \
    struct mpit_variable object =                                                                                      \
        MPIT_VARIABLE_INITIAL(#object, class_, type, count, bind, flags, names, description);                          \
    MPIT_INSTRUMENT_LIFE(object, mpit_variable_register, mpit_variable_remove)
#define MPIT_EXTERN_VARIABLE(object) extern struct mpit_variable object __attribute__((visibility("hidden")))

#define MPIT_PLAIN_(object, class_, type, count, bind, description)                                                    \
    MPIT_VARIABLE(object, class_, type, count, bind, 0, MPIT_INSTRUMENT_NULL, description)

#define MPIT_COUNTER(object, description)                                                                              \
    MPIT_PLAIN_(object, MPIT_CLASS_COUNTER, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_NONE, description)
#define MPIT_COUNTER_ARRAY(object, count, description)                                                                 \
    MPIT_PLAIN_(object, MPIT_CLASS_COUNTER, MPIT_TYPE_UNSIGNED_LONG_LONG, count, MPIT_BIND_NONE, description)
#define MPIT_COUNTER_ON_COMM(object, description)                                                                      \
    MPIT_PLAIN_(object, MPIT_CLASS_COUNTER, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_COMM, description)
#define MPIT_AGGREGATE(object, description)                                                                            \
    MPIT_PLAIN_(object, MPIT_CLASS_AGGREGATE, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_NONE, description)
#define MPIT_AGGREGATE_DOUBLE(object, description)                                                                     \
    MPIT_PLAIN_(object, MPIT_CLASS_AGGREGATE, MPIT_TYPE_DOUBLE, 1, MPIT_BIND_NONE, description)
#define MPIT_AGGREGATE_ON_COMM(object, description)                                                                    \
    MPIT_PLAIN_(object, MPIT_CLASS_AGGREGATE, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_COMM, description)
#define MPIT_TIMER(object, description)                                                                                \
    MPIT_PLAIN_(object, MPIT_CLASS_TIMER, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_NONE, description)
#define MPIT_TIMER_DOUBLE(object, description)                                                                         \
    MPIT_PLAIN_(object, MPIT_CLASS_TIMER, MPIT_TYPE_DOUBLE, 1, MPIT_BIND_NONE, description)
#define MPIT_LEVEL(object, description)                                                                                \
    MPIT_VARIABLE(object, MPIT_CLASS_LEVEL, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_NONE, MPIT_WITH_WATERMARKS,     \
                  MPIT_INSTRUMENT_NULL, description)
#define MPIT_LEVEL_DOUBLE(object, description)                                                                         \
    MPIT_VARIABLE(object, MPIT_CLASS_LEVEL, MPIT_TYPE_DOUBLE, 1, MPIT_BIND_NONE, MPIT_WITH_WATERMARKS,                 \
                  MPIT_INSTRUMENT_NULL, description)
#define MPIT_LEVEL_ON_COMM(object, description)                                                                        \
    MPIT_VARIABLE(object, MPIT_CLASS_LEVEL, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_COMM, MPIT_WITH_WATERMARKS,     \
                  MPIT_INSTRUMENT_NULL, description)
#define MPIT_HIGHWATERMARK(object, description)                                                                        \
    MPIT_PLAIN_(object, MPIT_CLASS_HIGHWATERMARK, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_NONE, description)
#define MPIT_LOWWATERMARK(object, description)                                                                         \
    MPIT_PLAIN_(object, MPIT_CLASS_LOWWATERMARK, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_NONE, description)
#define MPIT_SIZE(object, description)                                                                                 \
    MPIT_PLAIN_(object, MPIT_CLASS_SIZE, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_NONE, description)
#define MPIT_PERCENTAGE(object, description)                                                                           \
    MPIT_PLAIN_(object, MPIT_CLASS_PERCENTAGE, MPIT_TYPE_DOUBLE, 1, MPIT_BIND_NONE, description)
#define MPIT_STATE(object, enumeration, description)                                                                   \
    MPIT_VARIABLE(object, MPIT_CLASS_STATE, MPIT_TYPE_INT, 1, MPIT_BIND_NONE, 0, enumeration, description)
#define MPIT_GENERIC(object, description)                                                                              \
    MPIT_PLAIN_(object, MPIT_CLASS_GENERIC, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_BIND_NONE, description)
#define MPIT_GENERIC_DOUBLE(object, description)                                                                       \
    MPIT_PLAIN_(object, MPIT_CLASS_GENERIC, MPIT_TYPE_DOUBLE, 1, MPIT_BIND_NONE, description)

/* MPIT_ENUMERATION(object, "description", {0, "idle"}, {1, "busy"}) declares an enumeration with the name of the
 * object. Give &object to other declarations.
 */
#define MPIT_ENUMERATION(object, description, ...)                                                                     \
    static const struct mpit_item object##_mpit_items[] = {__VA_ARGS__};                                               \
    extern struct mpit_enumeration object __attribute__((visibility("hidden")));                                       \
    struct mpit_enumeration object = {MPIT_INSTRUMENT_NULL, #object, description, object##_mpit_items,                 \
                                      (uint32_t)(sizeof object##_mpit_items / sizeof object##_mpit_items[0])};         \
    MPIT_INSTRUMENT_ENTER(object, mpit_enumeration_register)
#define MPIT_EXTERN_ENUMERATION(object) extern struct mpit_enumeration object __attribute__((visibility("hidden")))

/*
 * The category of the declarations that follow in this source file. To choose it, define MPIT_CATEGORY_NAME as a text
 * before you include this header. The default is a category named after the object file ("libsolver.so"). MPIT_CATEGORY
 * adds a description and a parent ("" = none) to a category that is not named after an object file.
 */
#if !defined(MPIT_CATEGORY_NAME)
#define MPIT_CATEGORY_NAME MPIT_INSTRUMENT_NULL
#endif
#define MPIT_CATEGORY(object, name, parent, description)                                                               \
    extern struct mpit_category object __attribute__((visibility("hidden")));                                          \
    struct mpit_category object = {MPIT_INSTRUMENT_NULL, name, description, parent};                                   \
    MPIT_INSTRUMENT_ENTER(object, mpit_category_register)

/* Control variables that a tool may write at run time. Their values are an int, an unsigned long long, a double within
 * least .. most, or a text of at most capacity - 1 bytes. MPIT_CONTROL_CHOICE is an int with the values of an
 * enumeration. */
#define MPIT_CONTROL_INT(object, initial, least, most, description)                                                    \
    MPIT_CONTROL_(object, MPIT_TYPE_INT, (uint64_t)(int64_t)(initial), {(uint64_t)(int64_t)(initial)},                 \
                  {(uint64_t)(int64_t)(least)}, {(uint64_t)(int64_t)(most)}, MPIT_INSTRUMENT_NULL, 0, description)
#define MPIT_CONTROL_UNSIGNED(object, initial, least, most, description)                                               \
    MPIT_CONTROL_(object, MPIT_TYPE_UNSIGNED_LONG_LONG, initial, {initial}, {least}, {most}, MPIT_INSTRUMENT_NULL, 0,  \
                  description)
#define MPIT_CONTROL_CHOICE(object, initial, enumeration, description)                                                 \
    MPIT_CONTROL_(object, MPIT_TYPE_INT, (uint64_t)(int64_t)(initial), {(uint64_t)(int64_t)(initial)}, {0}, {0},       \
                  enumeration, 0, description)
#define MPIT_CONTROL_(object, type, fallback, initial, least, most, names, capacity, description)                      \
    extern struct mpit_control object __attribute__((visibility("hidden")));                                           \
    struct mpit_control object = {MPIT_INSTRUMENT_NULL,                                                                \
                                  fallback,                                                                            \
                                  MPIT_INSTRUMENT_NULL,                                                                \
                                  #object,                                                                             \
                                  description,                                                                         \
                                  MPIT_CATEGORY_NAME,                                                                  \
                                  names,                                                                               \
                                  initial,                                                                             \
                                  least,                                                                               \
                                  most,                                                                                \
                                  type,                                                                                \
                                  MPIT_SCOPE_LOCAL,                                                                    \
                                  MPIT_BIND_NONE,                                                                      \
                                  MPIT_VERBOSITY_USER,                                                                 \
                                  capacity,                                                                            \
                                  0};                                                                                  \
    MPIT_INSTRUMENT_LIFE(object, mpit_control_register, mpit_control_remove)
#define MPIT_EXTERN_CONTROL(object) extern struct mpit_control object __attribute__((visibility("hidden")))

/* A timed region: a COUNTER and a TIMER of that name, and an event of the trace for each visit. _ON_COMM: see
 * mpit_region_bind.
 */
#define MPIT_REGION(object, description) MPIT_REGION_(object, MPIT_BIND_NONE, description)
#define MPIT_REGION_ON_COMM(object, description) MPIT_REGION_(object, MPIT_BIND_COMM, description)
#define MPIT_REGION_(object, bind, description)                                                                        \
    extern struct mpit_region object __attribute__((visibility("hidden")));                                            \
    struct mpit_region object = {MPIT_INSTRUMENT_NULL, MPIT_INSTRUMENT_NULL, #object,                                  \
                                 description,          MPIT_CATEGORY_NAME,   bind,                                     \
                                 MPIT_VERBOSITY_USER};                                                                 \
    MPIT_INSTRUMENT_LIFE(object, mpit_region_register, mpit_region_remove)
#define MPIT_EXTERN_REGION(object) extern struct mpit_region object __attribute__((visibility("hidden")))

/* An event type of MPI_T: MPIT_EVENT(object, struct type, "description", {MPIT_TYPE_INT, offsetof(...), "name"}, ...).
 */
#define MPIT_EVENT(object, structure, description, ...)                                                                \
    static const struct mpit_element object##_mpit_elements[] = {__VA_ARGS__};                                         \
    extern struct mpit_event_type object __attribute__((visibility("hidden")));                                        \
    struct mpit_event_type object = {MPIT_INSTRUMENT_NULL,                                                             \
                                     MPIT_INSTRUMENT_NULL,                                                             \
                                     #object,                                                                          \
                                     description,                                                                      \
                                     MPIT_CATEGORY_NAME,                                                               \
                                     object##_mpit_elements,                                                           \
                                     (uint32_t)(sizeof object##_mpit_elements / sizeof object##_mpit_elements[0]),     \
                                     (uint32_t)sizeof(structure),                                                      \
                                     MPIT_BIND_NONE,                                                                   \
                                     MPIT_VERBOSITY_USER};                                                             \
    MPIT_INSTRUMENT_LIFE(object, mpit_event_register, mpit_event_remove)
#define MPIT_EXTERN_EVENT(object) extern struct mpit_event_type object __attribute__((visibility("hidden")))

/* For objects that are registered at run time: struct mpit_variable v = MPIT_VARIABLE_INITIAL("name", ...); */
#define MPIT_VARIABLE_INITIAL(name, class_, type, count, bind, flags, names, description)                              \
    {                                                                                                                  \
        MPIT_INSTRUMENT_NULL, MPIT_INSTRUMENT_NULL, name, description, MPIT_CATEGORY_NAME, names, class_, type, count, \
            bind, flags, MPIT_VERBOSITY_USER                                                                           \
    }

/* Runs before the constructors of C++ objects and after their destructors. The last word absorbs the semicolon. */
#define MPIT_INSTRUMENT_ENTER(object, enter)                                                                           \
    __attribute__((constructor(101), used)) static void object##_mpit_enter(void)                                      \
    {                                                                                                                  \
        (void)enter(&object);                                                                                          \
    }                                                                                                                  \
    struct mpit_interface
#define MPIT_INSTRUMENT_LIFE(object, enter, leave)                                                                     \
    __attribute__((constructor(102), used)) static void object##_mpit_enter(void)                                      \
    {                                                                                                                  \
        (void)enter(&object);                                                                                          \
    }                                                                                                                  \
    __attribute__((destructor(102), used)) static void object##_mpit_leave(void)                                       \
    {                                                                                                                  \
        (void)leave(&object);                                                                                          \
    }                                                                                                                  \
    struct mpit_interface

#endif
