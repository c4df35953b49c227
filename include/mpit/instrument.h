/*
 * A library's or program's own variables in MPI_T, in mpit's summary and in its traces.
 *
 *     #include <mpit/instrument.h>
 *
 *     MPIT_COUNTER(solver_iterations, "Iterations of the solver.");
 *     MPIT_REGION(solver_setup, "Setting up the preconditioner.");
 *
 *     void solver_setup_all(void) { mpit_region_enter(&solver_setup); ... mpit_region_leave(&solver_setup); }
 *     void solver_iterate(void)   { mpit_add(&solver_iterations, 1); ... }
 *
 * No library has to be linked. If mpit is loaded (mpit-run, LD_PRELOAD), the declaration makes a performance variable
 * of this name. Without mpit, the same binary runs, and an update is one load and one branch. (glibc before 2.34 needs
 * -ldl.) Works in C11, C++11 and later, with gcc and clang, in programs and in shared libraries, also with dlopen and
 * dlclose. Declarations are registered when their object file is loaded, and removed when it is unloaded.
 *
 * Who may call which function:
 *
 *                                  any thread   several threads at once   signal handler
 *   mpit_add, mpit_set, mpit_get   yes          yes                       yes (doubles: mpit_set and mpit_get alone)
 *   mpit_level_*                   yes          yes                       yes
 *   mpit_timer_*                   yes          yes                       yes
 *   mpit_region_*, mpit_sample,    yes          yes, each thread has its  no
 *   mpit_event_raise                            own regions
 *   register, remove, bind         yes          yes, not the same object  no
 *
 * Only the library that declares a variable changes it. MPI_T reads it, and each handle has its own baseline. Do not
 * move or free a registered object before it is removed. By then no thread may update it.
 *
 * A name has 1 to 63 characters: letters, digits and _ . : / -. It begins with a letter or _. Names that begin with
 * mpit_ or MPI_ are reserved. A name may be used once for each class (section "Performance Variable Query Functions" of
 * the standard). If an object cannot be registered, mpit names it and the reason in one line on standard error, and the
 * function returns the code. The program continues, and updates of the object do nothing.
 *
 * Section numbers refer to MPI 4.1. Section 15.3 is the MPI tool information interface.
 */
#ifndef MPIT_INSTRUMENT_H
#define MPIT_INSTRUMENT_H

#include <mpit/instrument_declare.h>
#include <mpit/instrument_interface.h>

#include <dlfcn.h>
#include <string.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define MPIT_INSTRUMENT_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define MPIT_INSTRUMENT_INLINE static inline __attribute__((unused))

#if defined(__SANITIZE_THREAD__)
#define MPIT_INSTRUMENT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MPIT_INSTRUMENT_TSAN 1
#endif
#endif

/* ---- registering at run time ------------------------------------------------------------------------------------- */

/* Returns mpit's table of functions. Returns NULL if mpit is not loaded, if it is too old for this header, or if
 * MPIT_DISABLE is set. Not for signal handlers. */
MPIT_INSTRUMENT_INLINE const struct mpit_interface *mpit_interface_find(void)
{
    mpit_interface_function *function = MPIT_INSTRUMENT_NULL;
    void *symbol = dlsym(MPIT_INSTRUMENT_NULL /* RTLD_DEFAULT */, "mpit_instrument_interface");
    memcpy(&function, &symbol, sizeof function);
    return symbol ? function(MPIT_INSTRUMENT_VERSION) : MPIT_INSTRUMENT_NULL;
}

#define MPIT_INSTRUMENT_FORWARD(name, type)                                                                            \
    MPIT_INSTRUMENT_INLINE int mpit_##name(struct type *object)                                                        \
    {                                                                                                                  \
        const struct mpit_interface *interface_ = mpit_interface_find();                                               \
        return interface_ ? interface_->name(object) : (int)MPIT_NOT_LOADED;                                           \
    }

/*
 * mpit_..._register(&object) registers the object. It copies texts and lists, so the caller may free them.
 * mpit_..._remove(&object) makes the object inactive. Its index stays and keeps its meaning (MPI_T_pvar_get_info still
 * works). From then on, MPI_T_pvar_handle_alloc returns MPI_T_ERR_INVALID_INDEX, and access through an open handle
 * returns MPI_T_ERR_INVALID_HANDLE. An object with the same name, class and meaning may be registered again. It gets
 * its old index and continues to count. Enumerations and categories stay.
 *
 * Every function returns an enum mpit_result: MPIT_OK, MPIT_NOT_LOADED, or an error. Each error is also reported on
 * standard error. Thread-safe. Not for signal handlers. Source: 15.3.6 "Performance Variables", 15.3.5 "Control
 * Variables", 15.3.4 "Datatype System" (enumerations), 15.3.9 "Variable Categorization", 15.3.8 "Events".
 */
MPIT_INSTRUMENT_FORWARD(variable_register, mpit_variable)
MPIT_INSTRUMENT_FORWARD(variable_remove, mpit_variable)
MPIT_INSTRUMENT_FORWARD(control_register, mpit_control)
MPIT_INSTRUMENT_FORWARD(control_remove, mpit_control)
MPIT_INSTRUMENT_FORWARD(enumeration_register, mpit_enumeration)
MPIT_INSTRUMENT_FORWARD(category_register, mpit_category)
MPIT_INSTRUMENT_FORWARD(region_register, mpit_region)
MPIT_INSTRUMENT_FORWARD(region_remove, mpit_region)
MPIT_INSTRUMENT_FORWARD(event_register, mpit_event_type)
MPIT_INSTRUMENT_FORWARD(event_remove, mpit_event_type)

/*
 * Returns the counter of a variable for a communicator. `comm` is the address of an MPI_Comm, as for
 * MPI_T_pvar_handle_alloc. A library calls this once for each communicator and stores the result. The counter's memory
 * stays valid for the life of the process. After the communicator is freed, a library must stop its updates, because
 * mpit reuses the counter for another communicator. Returns NULL if mpit is not loaded, if MPI is not initialized, if
 * the communicator is not alive, if the variable is not bound, or if memory is short. Every function below accepts NULL
 * and then does nothing. Thread-safe. Not for signal handlers. Source: 15.3.2 "Binding".
 */
MPIT_INSTRUMENT_INLINE struct mpit_cell *mpit_bind(struct mpit_variable *variable, const void *comm)
{
    const struct mpit_interface *interface_ = variable->entry ? mpit_interface_find() : MPIT_INSTRUMENT_NULL;
    return interface_ ? interface_->variable_bind(variable, comm) : MPIT_INSTRUMENT_NULL;
}

/* The same for a region. */
MPIT_INSTRUMENT_INLINE struct mpit_cell *mpit_region_bind(struct mpit_region *region, const void *comm)
{
    const struct mpit_interface *interface_ = region->entry ? mpit_interface_find() : MPIT_INSTRUMENT_NULL;
    return interface_ ? interface_->region_bind(region, comm) : MPIT_INSTRUMENT_NULL;
}

/* ---- updating: cells --------------------------------------------------------------------------------------------- */

/* Returns the counter of element `element` of an unbound variable. Returns NULL if no tool listens, or if the element
 * does not exist. */
MPIT_INSTRUMENT_INLINE struct mpit_cell *mpit_cell_of(const struct mpit_variable *variable, uint32_t element)
{
    struct mpit_cell *cell = __atomic_load_n(&variable->cell, __ATOMIC_ACQUIRE);
    return cell && element < variable->count ? cell + element : MPIT_INSTRUMENT_NULL;
}

/* Returns a value of the calling thread, which no other thread has while it lives. */
MPIT_INSTRUMENT_INLINE uint64_t mpit_instrument_self(void)
{
#if defined(__x86_64__)
    uint64_t self;
    __asm__("movq %%fs:0, %0" : "=r"(self));
    return self;
#elif defined(__aarch64__)
    uint64_t self;
    __asm__("mrs %0, tpidr_el0" : "=r"(self));
    return self;
#else
    static __thread char mark;
    return (uint64_t)(uintptr_t)&mark;
#endif
}

/* Uses one instruction, so that a signal handler may add at any point. */
MPIT_INSTRUMENT_INLINE void mpit_instrument_add(uint64_t *sum, uint64_t amount)
{
#if defined(__x86_64__) && !defined(MPIT_INSTRUMENT_TSAN)
    __asm__("addq %1, %0" : "+m"(*sum) : "er"(amount) : "cc");
#elif defined(MPIT_INSTRUMENT_TSAN)
    __atomic_store_n(sum, __atomic_load_n(sum, __ATOMIC_RELAXED) + amount, __ATOMIC_RELAXED);
#else
    __atomic_fetch_add(sum, amount, __ATOMIC_RELAXED);
#endif
}

MPIT_INSTRUMENT_INLINE double mpit_instrument_real(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

MPIT_INSTRUMENT_INLINE uint64_t mpit_instrument_bits(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

/* Makes the calling thread the owner if the counter has none. Returns true then. */
MPIT_INSTRUMENT_INLINE int mpit_instrument_claim(struct mpit_cell *cell, uint32_t mode)
{
    uint64_t nobody = 0;
    if (__builtin_expect(__atomic_load_n(&cell->owner, __ATOMIC_RELAXED) != 0, 1) || cell->mode != mode)
        return 0;
    return __atomic_compare_exchange_n(&cell->owner, &nobody, mpit_instrument_self(), 0, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

static __attribute__((noinline, unused)) void mpit_instrument_add_slow(struct mpit_cell *cell, uint64_t amount)
{
    union mpit_value value;
    value.integer = amount;
    if (mpit_instrument_claim(cell, MPIT_MODE_SUM_INTEGER))
        mpit_instrument_add(&cell->own, amount);
    else if (cell->mode == MPIT_MODE_SUM_INTEGER)
        __atomic_fetch_add(&cell->shared, amount, __ATOMIC_RELAXED);
    else
        cell->interface_->update(cell, MPIT_ADD, value);
}

static __attribute__((noinline, unused)) void mpit_instrument_add_double_slow(struct mpit_cell *cell, double amount)
{
    union mpit_value value;
    value.real = amount;
    if (mpit_instrument_claim(cell, MPIT_MODE_SUM_DOUBLE)) {
        __atomic_store_n(&cell->own, mpit_instrument_bits(amount), __ATOMIC_RELAXED);
    } else {
        cell->interface_->update(cell, MPIT_ADD_DOUBLE, value);
    }
}

/* Adds to a COUNTER, AGGREGATE or TIMER (nanoseconds). Adds to a LEVEL like mpit_level_add. Costs a few nanoseconds on
 * the thread that added first, and one locked instruction on other threads. Wait-free. */
MPIT_INSTRUMENT_INLINE void mpit_cell_add(struct mpit_cell *cell, unsigned long long amount)
{
    if (MPIT_INSTRUMENT_UNLIKELY(!cell))
        return;
    if (__builtin_expect(__atomic_load_n(&cell->owner, __ATOMIC_RELAXED) == mpit_instrument_self() &&
                             cell->mode == MPIT_MODE_SUM_INTEGER,
                         1))
        mpit_instrument_add(&cell->own, amount);
    else
        mpit_instrument_add_slow(cell, amount);
}

/* The same for a variable whose type is double. */
MPIT_INSTRUMENT_INLINE void mpit_cell_add_double(struct mpit_cell *cell, double amount)
{
    if (MPIT_INSTRUMENT_UNLIKELY(!cell))
        return;
    if (__builtin_expect(__atomic_load_n(&cell->owner, __ATOMIC_RELAXED) == mpit_instrument_self() &&
                             cell->mode == MPIT_MODE_SUM_DOUBLE,
                         1)) {
        double sum = mpit_instrument_real(__atomic_load_n(&cell->own, __ATOMIC_RELAXED)) + amount;
        __atomic_store_n(&cell->own, mpit_instrument_bits(sum), __ATOMIC_RELAXED);
    } else {
        mpit_instrument_add_double_slow(cell, amount);
    }
}

/* Sets a SIZE, GENERIC or LEVEL to a value in its unit. */
MPIT_INSTRUMENT_INLINE void mpit_cell_set(struct mpit_cell *cell, unsigned long long value)
{
    union mpit_value other;
    other.integer = value;
    if (MPIT_INSTRUMENT_UNLIKELY(!cell))
        return;
    if (__builtin_expect(cell->mode == MPIT_MODE_SET_INTEGER, 1))
        __atomic_store_n(&cell->own, value, __ATOMIC_RELAXED);
    else
        cell->interface_->update(cell, MPIT_SET, other);
}

/* Sets a PERCENTAGE, or a variable of another class whose type is double. A PERCENTAGE is limited to 0.0 .. 1.0. NaN is
 * ignored. */
MPIT_INSTRUMENT_INLINE void mpit_cell_set_double(struct mpit_cell *cell, double value)
{
    union mpit_value other;
    other.real = value;
    if (MPIT_INSTRUMENT_UNLIKELY(!cell))
        return;
    if (__builtin_expect(cell->mode == MPIT_MODE_SET_DOUBLE, 1))
        __atomic_store_n(&cell->own, mpit_instrument_bits(value), __ATOMIC_RELAXED);
    else
        cell->interface_->update(cell, MPIT_SET_DOUBLE, other);
}

/* Raises a level. Exact with any number of threads: one locked instruction and one compare. */
MPIT_INSTRUMENT_INLINE void mpit_cell_level_add(struct mpit_cell *cell, unsigned long long amount)
{
    union mpit_value other;
    other.integer = amount;
    if (MPIT_INSTRUMENT_UNLIKELY(!cell))
        return;
    if (__builtin_expect(cell->mode == MPIT_MODE_LEVEL_INTEGER, 1)) {
        uint64_t level = __atomic_add_fetch(&cell->own, amount, __ATOMIC_SEQ_CST);
        if (level > __atomic_load_n(&cell->high, __ATOMIC_SEQ_CST))
            cell->interface_->extreme(cell, level);
    } else {
        cell->interface_->update(cell, MPIT_ADD, other);
    }
}

/* Lowers a level. Subtract only amounts that were added, because a level does not go below 0. If another thread has not
 * added its part yet, the level may be below 0 for a while. It is then shown as 0. */
MPIT_INSTRUMENT_INLINE void mpit_cell_level_subtract(struct mpit_cell *cell, unsigned long long amount)
{
    union mpit_value other;
    other.integer = amount;
    if (MPIT_INSTRUMENT_UNLIKELY(!cell))
        return;
    if (__builtin_expect(cell->mode == MPIT_MODE_LEVEL_INTEGER, 1)) {
        uint64_t level = __atomic_sub_fetch(&cell->own, amount, __ATOMIC_SEQ_CST);
        if (level < __atomic_load_n(&cell->low, __ATOMIC_SEQ_CST))
            cell->interface_->extreme(cell, level);
    } else {
        cell->interface_->update(cell, MPIT_SUBTRACT, other);
    }
}

/* Returns the bits of the value now (for a double: its bits). Returns 0 for NULL. Other threads may change it
 * meanwhile. */
MPIT_INSTRUMENT_INLINE uint64_t mpit_cell_get(const struct mpit_cell *cell)
{
    if (!cell)
        return 0;
    uint64_t own = __atomic_load_n(&cell->own, __ATOMIC_RELAXED),
             more = __atomic_load_n(&cell->shared, __ATOMIC_RELAXED);
    if (cell->mode == MPIT_MODE_SUM_DOUBLE)
        return mpit_instrument_bits(mpit_instrument_real(own) + mpit_instrument_real(more));
    return own + more;
}

/* ---- updating: unbound variables, by name ------------------------------------------------------------------------ */

#define MPIT_INSTRUMENT_UPDATE(name, type)                                                                             \
    MPIT_INSTRUMENT_INLINE void mpit_##name(struct mpit_variable *variable, type amount)                               \
    {                                                                                                                  \
        mpit_cell_##name(__atomic_load_n(&variable->cell, __ATOMIC_ACQUIRE), amount);                                  \
    }                                                                                                                  \
    MPIT_INSTRUMENT_INLINE void mpit_##name##_at(struct mpit_variable *variable, uint32_t element, type amount)        \
    {                                                                                                                  \
        mpit_cell_##name(mpit_cell_of(variable, element), amount);                                                     \
    }

/* mpit_add(&v, n) and mpit_add_at(&v, element, n) apply mpit_cell_add to a variable. The next lines do the same for
 * other mpit_cell_... functions. An update of an element that does not exist does nothing. */
MPIT_INSTRUMENT_UPDATE(add, unsigned long long)
MPIT_INSTRUMENT_UPDATE(add_double, double)
MPIT_INSTRUMENT_UPDATE(set, unsigned long long)
MPIT_INSTRUMENT_UPDATE(set_double, double)
MPIT_INSTRUMENT_UPDATE(level_add, unsigned long long)
MPIT_INSTRUMENT_UPDATE(level_subtract, unsigned long long)

/* Sets a level, or the level of a watermark. */
MPIT_INSTRUMENT_INLINE void mpit_level_set(struct mpit_variable *variable, unsigned long long level)
{
    mpit_set(variable, level);
}

/* Sets a STATE. A value that is not an item of its enumeration is ignored. */
MPIT_INSTRUMENT_INLINE void mpit_set_int(struct mpit_variable *variable, int value)
{
    mpit_set(variable, (unsigned long long)(long long)value);
}

/* Returns the value now, as an integer, or 0 if mpit is not loaded. */
MPIT_INSTRUMENT_INLINE unsigned long long mpit_get(const struct mpit_variable *variable)
{
    return mpit_cell_get(mpit_cell_of(variable, 0));
}

/* The same for a variable whose type is double. */
MPIT_INSTRUMENT_INLINE double mpit_get_double(const struct mpit_variable *variable)
{
    return mpit_instrument_real(mpit_cell_get(mpit_cell_of(variable, 0)));
}

/* Starts a timed section: uint64_t t = mpit_timer_begin(&v), then the work, then mpit_timer_end(&v, t). Returns ticks
 * of mpit's clock, or 0 if no tool listens. A section costs two clock reads. */
MPIT_INSTRUMENT_INLINE uint64_t mpit_timer_begin(const struct mpit_variable *variable)
{
    const struct mpit_cell *cell = __atomic_load_n(&variable->cell, __ATOMIC_ACQUIRE);
    return cell ? cell->interface_->clock() : 0;
}

/* Adds the time since `begin`. If `begin` is 0, it adds nothing. */
MPIT_INSTRUMENT_INLINE void mpit_timer_end(struct mpit_variable *variable, uint64_t begin)
{
    struct mpit_cell *cell = __atomic_load_n(&variable->cell, __ATOMIC_ACQUIRE);
    if (cell && begin)
        cell->interface_->timer_add(cell, begin);
}

/* Writes the values of the variable's elements to the trace, if a trace is kept. mpit also does so when recording
 * begins and ends, when a buffer of events is full, and at the end of regions, but at most once a millisecond. */
MPIT_INSTRUMENT_INLINE void mpit_cell_sample(struct mpit_cell *cell)
{
    if (cell)
        cell->interface_->sample(cell);
}

MPIT_INSTRUMENT_INLINE void mpit_sample(struct mpit_variable *variable)
{
    mpit_cell_sample(__atomic_load_n(&variable->cell, __ATOMIC_ACQUIRE));
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

/*
 * Enter and leave come in pairs on one thread. The region that was entered last is left first. Regions are recorded
 * like MPI calls: from the return of MPI_Init to MPI_Finalize, on any thread. If a region is entered again before it
 * was left, each entry counts, but its time is the time of the outermost entry. Leaving a region also leaves all
 * regions that were entered after it and never left (because of an exception or longjmp). If a region was not entered,
 * leaving it does nothing, and mpit warns once.
 */
MPIT_INSTRUMENT_INLINE void mpit_cell_region_enter(struct mpit_cell *cell)
{
    if (!MPIT_INSTRUMENT_UNLIKELY(!cell))
        cell->interface_->region_enter(cell);
}

MPIT_INSTRUMENT_INLINE void mpit_cell_region_leave(struct mpit_cell *cell)
{
    if (!MPIT_INSTRUMENT_UNLIKELY(!cell))
        cell->interface_->region_leave(cell);
}

MPIT_INSTRUMENT_INLINE void mpit_region_enter(struct mpit_region *region)
{
    mpit_cell_region_enter(__atomic_load_n(&region->cell, __ATOMIC_ACQUIRE));
}

MPIT_INSTRUMENT_INLINE void mpit_region_leave(struct mpit_region *region)
{
    mpit_cell_region_leave(__atomic_load_n(&region->cell, __ATOMIC_ACQUIRE));
}

/* ---- control variables ------------------------------------------------------------------------------------------- */

/* Returns the value that a tool wrote last, or else the initial value. Wait-free, async-signal-safe. */
MPIT_INSTRUMENT_INLINE uint64_t mpit_control_bits(const struct mpit_control *control)
{
    const uint64_t *cell = __atomic_load_n(&control->cell, __ATOMIC_ACQUIRE);
    return __atomic_load_n(cell ? cell : &control->fallback, __ATOMIC_RELAXED);
}

MPIT_INSTRUMENT_INLINE int mpit_control_int(const struct mpit_control *control)
{
    return (int)(int64_t)mpit_control_bits(control);
}

MPIT_INSTRUMENT_INLINE unsigned long long mpit_control_unsigned(const struct mpit_control *control)
{
    return mpit_control_bits(control);
}

MPIT_INSTRUMENT_INLINE double mpit_control_double(const struct mpit_control *control)
{
    return mpit_instrument_real(mpit_control_bits(control));
}

/* Copies the value of a text, at most bytes - 1 of it, and terminates it. Returns its length. Wait-free unless a tool
 * writes it at that time.
 */
MPIT_INSTRUMENT_INLINE int mpit_control_text(const struct mpit_control *control, char *text, size_t bytes)
{
    const struct mpit_interface *interface_ =
        __atomic_load_n(&control->cell, __ATOMIC_ACQUIRE) ? mpit_interface_find() : MPIT_INSTRUMENT_NULL;
    const char *initial = control->initial.text ? control->initial.text : "";
    size_t length = strlen(initial), fits = length < bytes ? length : bytes - 1;
    if (interface_)
        return interface_->control_text(control, text, bytes);
    if (bytes) {
        memcpy(text, initial, fits);
        text[fits] = '\0';
    }
    return (int)length;
}

/* Returns the value for a communicator. Read it with __atomic_load_n. Returns NULL in the same cases as mpit_bind. Then
 * the initial value applies. */
MPIT_INSTRUMENT_INLINE const uint64_t *mpit_control_bind(struct mpit_control *control, const void *comm)
{
    const struct mpit_interface *interface_ = control->entry ? mpit_interface_find() : MPIT_INSTRUMENT_NULL;
    return interface_ ? interface_->control_bind(control, comm) : MPIT_INSTRUMENT_NULL;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Raises an event with the data of one instance, `bytes` long. If no tool listens, this costs two loads. */
MPIT_INSTRUMENT_INLINE void mpit_cell_event_raise(struct mpit_cell *cell, const void *data)
{
    if (cell && MPIT_INSTRUMENT_UNLIKELY(__atomic_load_n(&cell->own, __ATOMIC_RELAXED)))
        cell->interface_->event_raise(cell, data);
}

MPIT_INSTRUMENT_INLINE void mpit_event_raise(struct mpit_event_type *event, const void *data)
{
    mpit_cell_event_raise(__atomic_load_n(&event->cell, __ATOMIC_ACQUIRE), data);
}

#if defined(__cplusplus)
} /* extern "C" */

namespace mpit
{

/* A region for a scope, which is also left by an exception. */
class scope
{
  public:
    explicit scope(struct mpit_region &region) : cell_(__atomic_load_n(&region.cell, __ATOMIC_ACQUIRE))
    {
        enter();
    }
    explicit scope(struct mpit_cell *cell) : cell_(cell)
    {
        enter();
    }
    ~scope()
    {
        mpit_cell_region_leave(cell_);
    }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

  private:
    void enter()
    {
        mpit_cell_region_enter(cell_);
    }
    struct mpit_cell *cell_;
};

} /* namespace mpit */
#endif

#endif
