#include "instruments/instruments.h"

#include "base/threadown.h"
#include "gate.h"
#include "instruments/regionrecord.h"
#include "site/setting.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { REGION_DEPTH_MAX = 128, SAMPLE_NS = 1000000, SAMPLE_ELEMENTS_MAX = 64, SAMPLES_AT_ONCE = 2048 };

/* The regions that the thread is in. Regions without room are counted in `over` and not recorded. */
struct region_frame {
    struct mpit_cell *cell;
    struct region_begin begin;
};

struct region_stack {
    uint32_t depth, over;
    struct region_frame frames[REGION_DEPTH_MAX];
};

/* Made for the thread's first region. */
THREAD_OWN(struct region_stack *, region_stack);
static pthread_key_t region_stack_key;

static void region_stack_free(void *stack)
{
    region_stack = NULL;
    free(stack);
}

static void region_stack_key_make(void)
{
    if (pthread_key_create(&region_stack_key, region_stack_free) != 0)
        region_stack_key = PTHREAD_KEYS_MAX;
}

/* Returns NULL without memory. */
static struct region_stack *region_stack_make(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, region_stack_key_make);
    struct region_stack *made = calloc(1, sizeof *made);
    if (made && pthread_setspecific(region_stack_key, made) == 0)
        return region_stack = made;
    free(made);
    return NULL;
}

/* True if new records are kept. */
static bool is_traced(const struct log *log)
{
    return knob_load(KNOB_TRACE) != 0 && !log->buffer.absent;
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static void metric_commit(struct log *log, const struct instrument_instance *instance, uint32_t element, uint64_t value)
{
    struct event event = {.begin = clock_now(),
                          .duration = element,
                          .kind = EVENT_METRIC,
                          .comm = region_slot(instance),
                          .peer = (int32_t)instance->id,
                          .bytes = value};
    log_commit(log, &event);
}

/* `changed`: only values that are not in the trace yet. Returns the number of records. */
static unsigned instance_sample(struct log *log, struct instrument_instance *instance, bool changed)
{
    const struct instrument *instrument = instance->instrument;
    unsigned samples = 0;
    for (uint32_t i = 0; i < instrument->count && i < SAMPLE_ELEMENTS_MAX; i++) {
        uint64_t value = instrument_value(instance, instrument->class, i);
        if (changed && instance->sampled_once && cell_load(&instance->sampled[i]) == value)
            continue;
        cell_store(&instance->sampled[i], value);
        metric_commit(log, instance, i, value);
        samples++;
    }
    instance->sampled_once = true;
    return samples;
}

/* One thread at a time: the samples of another one would be the same. */
void instruments_sample(struct log *log)
{
    static bool busy;
    if (!log || !is_traced(log) || __atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE))
        return;
    unsigned samples = 0;
    for (uint32_t i = 0; i < instrument_count() && samples < SAMPLES_AT_ONCE; i++) {
        struct instrument *instrument = instrument_at(i);
        if (instrument->kind != INSTRUMENT_VARIABLE || !instrument_is_active(instrument))
            continue;
        struct instrument_instance *at = __atomic_load_n(&instrument->instances, __ATOMIC_ACQUIRE);
        for (; at; at = at->next)
            if (__atomic_load_n(&at->record, __ATOMIC_ACQUIRE) && !__atomic_load_n(&at->waits, __ATOMIC_ACQUIRE))
                samples += instance_sample(log, at, true);
    }
    __atomic_store_n(&busy, false, __ATOMIC_RELEASE);
}

/* Samples at the end of a region, once in a while. */
static void sample_in_time(struct log *log, uint64_t now)
{
    static uint64_t last;
    uint64_t seen = __atomic_load_n(&last, __ATOMIC_RELAXED);
    if (!is_traced(log) || now - seen < clock_ticks(book.scale, SAMPLE_NS))
        return;
    if (__atomic_compare_exchange_n(&last, &seen, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        instruments_sample(log);
}

void instruments_turned(struct log *log)
{
    instrument_publish();
    instruments_sample(log);
}

static void sample(struct mpit_cell *cell)
{
    struct log *log = log_recording();
    struct instrument_instance *instance = cell->instance;
    uintptr_t outer;
    if (log && is_traced(log) && instance->instrument->kind == INSTRUMENT_VARIABLE && instance->record &&
        log_in(log, stack_entered(), &outer)) {
        instance_sample(log, instance, false);
        log_out(log, outer);
    }
}

/* Reported once. */
static void value_refused(const struct instrument *instrument)
{
    static bool told;
    if (__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
        return;
    bool state = instrument->class == MPIT_CLASS_STATE;
    native_say("mpit: \"%s\" of %s was set to a value that %s; %s", instrument->name, instrument->component,
               state ? "is not an item of its enumeration" : "is not in 0 .. 1",
               state ? "it keeps its value" : "it gets the nearest allowed value");
}

static void update(struct mpit_cell *cell, enum mpit_operation operation, union mpit_value value)
{
    const struct instrument_instance *instance = cell->instance;
    const struct instrument *instrument = instance->instrument;
    if (!instrument_fits(cell, operation, value))
        value_refused(instrument);
    instrument_update(cell, operation, value);
    struct log *log = instrument->flags & MPIT_EVERY_UPDATE ? log_recording() : NULL;
    uintptr_t outer;
    if (log && is_traced(log) && instance->record && log_in(log, stack_entered(), &outer)) {
        metric_commit(log, instance, cell->element, instrument_value(instance, instrument->class, cell->element));
        log_out(log, outer);
    }
}

/* ---- timers and regions ------------------------------------------------------------------------------------------ */

static uint64_t timer_clock(void)
{
    return clock_now();
}

static void timer_add(struct mpit_cell *cell, uint64_t begin)
{
    const struct instrument_instance *instance = cell->instance;
    uint64_t now = clock_now();
    if (instance->instrument->class != MPIT_CLASS_TIMER || now <= begin)
        return;
    __atomic_fetch_add(&instrument_tick_cell(cell)->own, now - begin, __ATOMIC_RELAXED);
    if (instrument_is_double(instance->instrument))
        instrument_sums_give(cell, (double)(now - begin) * ((double)clock_calibrated().mult / 0x1p32) * 1e-9);
}

static void region_enter(struct mpit_cell *cell)
{
    struct region_stack *stack = region_stack;
    if (__builtin_expect(!stack, 0) && !(stack = region_stack_make()))
        return;
    if (__builtin_expect(stack->depth == REGION_DEPTH_MAX, 0)) {
        stack->over++;
        if (log_recording())
            run_lost(&book.run, LOSS_REGION_DEPTH, 1);
        return;
    }
    struct region_frame *frame = &stack->frames[stack->depth];
    frame->cell = cell;
    region_begin(&frame->begin, log_recording());
    stack->depth++;
}

static bool region_is_open(const struct mpit_cell *cell)
{
    const struct region_stack *stack = region_stack;
    for (uint32_t i = 0; stack && i < stack->depth; i++)
        if (stack->frames[i].cell == cell)
            return true;
    return false;
}

static void region_leave(struct mpit_cell *cell)
{
    static bool told;
    const struct instrument_instance *instance = cell->instance;
    struct region_stack *stack = region_stack;
    if (__builtin_expect(stack && stack->over != 0, 0)) {
        stack->over--;
        return;
    }
    if (!region_is_open(cell)) {
        if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
            native_say("mpit: a thread ended region \"%s\" of %s without being in it; the call is ignored",
                       instance->instrument->name, instance->instrument->component);
        return;
    }
    struct log *log = log_recording();
    uintptr_t outer = 0;
    if (log && !log_in(log, stack_entered(), &outer))
        log = NULL;
    uint64_t now = log ? clock_now() : 0;
    for (bool found = false; !found;) {
        const struct region_frame *frame = &stack->frames[--stack->depth];
        found = frame->cell == cell;
        if (log && frame->begin.log == log && instance->record)
            region_record(log, frame->cell->instance, &frame->begin, now, region_is_open(frame->cell));
    }
    if (!log)
        return;
    sample_in_time(log, now);
    log_out(log, outer);
}

/* Outside of MPI_Init .. MPI_Finalize a callback must not call MPI. */
static enum delivery_context context_here(void)
{
    const struct thread_state *state = book_thread_state;
    if (book_is_shared())
        return CONTEXT_THREADS;
    bool within = __atomic_load_n(&recorder_on, __ATOMIC_ACQUIRE) && state;
    return within && state->call == CALL_NONE ? CONTEXT_FREE : CONTEXT_IN_MPI;
}

/* Delivers at once, on the thread that raises it, with the data in place. Callbacks copy the data that they want to
 * keep. */
static void event_raise(struct mpit_cell *cell, const void *data)
{
    const struct instrument_instance *instance = cell->instance;
    const struct instrument *instrument = instance->instrument;
    struct event_type *type = __atomic_load_n(&instrument->event, __ATOMIC_ACQUIRE);
    if (!type || !instrument_is_active(instrument))
        return;
    struct instance raised = {.type = type, .comm = instance->comm, .ticks = clock_now(), .more = data};
    instances_deliver(&raised, 1, context_here());
}

/* ---- registering ------------------------------------------------------------------------------------------------- */

/* Finds the name of the file that contains the object, or else the caller (a constructor may have jumped here). Not
 * under the register's lock: the loader's lock is held around constructors. */
static void component_find(const void *object, const void *caller, char component[INSTRUMENT_COMPONENT_BYTES])
{
    Dl_info info;
    component[0] = '\0';
    if ((!dladdr(object, &info) && !dladdr(caller, &info)) || !info.dli_fname)
        return;
    const char *base = strrchr(info.dli_fname, '/');
    strncat(component, base ? base + 1 : info.dli_fname, INSTRUMENT_COMPONENT_BYTES - 1);
}

static int answer(int result, const char *what, const char *name, const char *component, const char *error)
{
    if (result != MPIT_OK)
        native_say("mpit: %s \"%.80s\" of %s cannot be registered: %s", what, name ? name : "",
                   component[0] ? component : "the program", error);
    return result;
}

/* The last arguments are what the instrument function gets besides the object. */
#define REGISTER(function, type, what, ...)                                                                            \
    static int function(struct type *object)                                                                           \
    {                                                                                                                  \
        char component[INSTRUMENT_COMPONENT_BYTES], error[INSTRUMENT_ERROR_BYTES] = "";                                \
        component_find(object, __builtin_return_address(0), component);                                                \
        if (!object)                                                                                                   \
            return answer(MPIT_ERR_ARGUMENT, what, "", component, "a NULL pointer was passed");                        \
        return answer(instrument_##function(object, __VA_ARGS__), what, object->name, component, error);               \
    }
REGISTER(variable_register, mpit_variable, "performance variable", component, error)
REGISTER(control_register, mpit_control, "control variable", component, error)
REGISTER(region_register, mpit_region, "region", component, error)
REGISTER(event_register, mpit_event_type, "event type", component, error)
REGISTER(enumeration_register, mpit_enumeration, "enumeration", error)
REGISTER(category_register, mpit_category, "category", error)

/* A refused one is removed silently. The library's pointer goes first, so that it updates nothing any more. */
#define REMOVE(function, type)                                                                                         \
    static int function(struct type *object)                                                                           \
    {                                                                                                                  \
        char error[INSTRUMENT_ERROR_BYTES];                                                                            \
        if (!object || !object->entry)                                                                                 \
            return MPIT_ERR_ARGUMENT;                                                                                  \
        __atomic_store_n(&object->cell, NULL, __ATOMIC_RELEASE);                                                       \
        int result = instrument_remove(object->entry, object, error);                                                  \
        object->entry = NULL;                                                                                          \
        return result;                                                                                                 \
    }
REMOVE(variable_remove, mpit_variable)
REMOVE(region_remove, mpit_region)
REMOVE(event_remove, mpit_event_type)

/* The last value stays. */
static int control_remove(struct mpit_control *object)
{
    char error[INSTRUMENT_ERROR_BYTES];
    if (!object || !object->entry)
        return MPIT_ERR_ARGUMENT;
    const uint64_t *cell = object->cell;
    if (cell && object->type != MPIT_TYPE_CHAR)
        __atomic_store_n(&object->fallback, __atomic_load_n(cell, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    __atomic_store_n(&object->cell, NULL, __ATOMIC_RELEASE);
    int result = instrument_remove(object->entry, object, error);
    object->entry = NULL;
    return result;
}

static struct mpit_cell *bind(struct instrument *instrument, const void *comm)
{
    if (!instrument || !comm || instrument->bind != MPIT_BIND_COMM || !instrument_is_active(instrument))
        return NULL;
    struct comm *known = book_comm_find(abi_handle_of_comm(*(const MPI_Comm *)comm));
    struct instrument_instance *instance = known ? instrument_instance(instrument, known) : NULL;
    return instance ? instance->cells : NULL;
}

static struct mpit_cell *variable_bind(struct mpit_variable *variable, const void *comm)
{
    return bind(variable->entry, comm);
}

static struct mpit_cell *region_bind(struct mpit_region *region, const void *comm)
{
    return bind(region->entry, comm);
}

static struct mpit_cell *event_bind(struct mpit_event_type *event, const void *comm)
{
    return bind(event->entry, comm);
}

static const uint64_t *control_bind(struct mpit_control *control, const void *comm)
{
    struct mpit_cell *cell = bind(control->entry, comm);
    return cell ? &cell->own : NULL;
}

/* Two copies: the writer changes the one that has no reader. A reader that was overtaken twice reads again. */
static int control_text(const struct mpit_control *control, char *text, size_t bytes)
{
    const struct instrument *instrument = control->entry;
    size_t length = 0;
    if (!instrument || !instrument->text)
        return 0;
    for (uint32_t version, again = 0; again < 1000; again++) {
        version = __atomic_load_n(&instrument->text_version, __ATOMIC_ACQUIRE);
        const char *from = instrument->text + (version & 1) * (size_t)instrument->capacity;
        length = strnlen(from, instrument->capacity - 1);
        size_t fits = !bytes ? 0 : length < bytes ? length : bytes - 1;
        if (bytes) {
            memcpy(text, from, fits);
            text[fits] = '\0';
        }
        /* an addition of 0: earlier reads stay before it */
        if (__atomic_fetch_add((uint32_t *)(uintptr_t)&instrument->text_version, 0, __ATOMIC_ACQ_REL) == version)
            break;
    }
    return (int)length;
}

static const char *component_of(const char *name, int class)
{
    const struct instrument *found =
        class >= MPIT_CLASS_STATE && class <= MPIT_CLASS_GENERIC ? instrument_find(name, (uint32_t) class) : NULL;
    for (uint32_t i = 0; !found && !class && i < instrument_count(); i++)
        if (instrument_at(i)->kind == INSTRUMENT_CONTROL && strcmp(instrument_at(i)->name, name) == 0)
            found = instrument_at(i);
    return found ? found->component : NULL;
}

static const struct mpit_interface table = {
    .version = MPIT_INSTRUMENT_VERSION,
    .bytes = sizeof table,
    .variable_register = variable_register,
    .variable_remove = variable_remove,
    .variable_bind = variable_bind,
    .control_register = control_register,
    .control_remove = control_remove,
    .control_bind = control_bind,
    .control_text = control_text,
    .enumeration_register = enumeration_register,
    .category_register = category_register,
    .region_register = region_register,
    .region_remove = region_remove,
    .region_bind = region_bind,
    .event_register = event_register,
    .event_remove = event_remove,
    .event_bind = event_bind,
    .update = update,
    .extreme = instrument_extreme,
    .clock = timer_clock,
    .timer_add = timer_add,
    .region_enter = region_enter,
    .region_leave = region_leave,
    .sample = sample,
    .event_raise = event_raise,
    .component_of = component_of,
};

static void prepare(void)
{
    clock_open(); /* before anything is timed */
    instrument_interface_table = &table;
    pthread_atfork(instrument_lock, instrument_unlock, instrument_unlock);
}

extern mpit_interface_function mpit_instrument_interface;
GATE(mpit_instrument_interface);
const struct mpit_interface *mpit_instrument_interface(uint32_t version)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (version > MPIT_INSTRUMENT_VERSION || setting_disabled())
        return NULL;
    pthread_once(&once, prepare);
    return &table;
}
