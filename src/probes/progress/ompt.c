/*
 * The tool interface of OpenMP (OMPT): a runtime asks for ompt_start_tool when it starts, and libmpit.so has one. LLVM's, Intel's and
 * other runtimes have this interface. GCC's libgomp has not.
 *
 * A runtime serves one tool. If the process has another one, that one gets the runtime, and mpit has no figures of OpenMP.
 */
#include "gate.h"
#include "progress/openmp.h"
#include "site/setting.h"

#include <omp-tools.h>

#include <dlfcn.h>
#include <stdlib.h>

static ompt_get_thread_data_t thread_data;

static uint64_t *thread_word(void)
{
    ompt_data_t *data = thread_data();
    return data ? &data->value : NULL;
}

static void thread_state(bool begins, bool waits)
{
    const uint64_t *word = thread_word();
    if (word && begins)
        openmp_state_push(*word, waits);
    else if (word)
        openmp_state_pop(*word);
}

static void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel, unsigned requested,
                              int flags, const void *place)
{
    (void)task, (void)frame, (void)requested;
    parallel->value = flags & ompt_parallel_team ? openmp_region_begin((uintptr_t)place) : 0;
}

static void on_parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *place)
{
    (void)task, (void)flags, (void)place;
    openmp_region_end(parallel->value);
}

static void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, unsigned threads,
                             unsigned index, int flags)
{
    uint64_t *word = flags & ompt_task_initial ? NULL : thread_word();
    (void)task;
    if (word && endpoint == ompt_scope_begin)
        *word = openmp_thread_enter(*word, parallel ? parallel->value : 0, index, threads);
    else if (word && endpoint == ompt_scope_end)
        *word = openmp_thread_leave(*word);
}

static void on_sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
                           ompt_data_t *task, const void *place)
{
    (void)kind, (void)parallel, (void)task, (void)place;
    if (endpoint == ompt_scope_begin || endpoint == ompt_scope_end)
        thread_state(endpoint == ompt_scope_begin, true);
}

/* Tests may fail, and then nothing ends them. A nested lock may be the thread's already. */
static bool mutex_is_taken(ompt_mutex_t kind)
{
    return kind == ompt_mutex_lock || kind == ompt_mutex_critical || kind == ompt_mutex_ordered;
}

static void on_mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned way, ompt_wait_id_t id, const void *place)
{
    (void)hint, (void)way, (void)id, (void)place;
    if (mutex_is_taken(kind))
        thread_state(true, true);
}

static void on_mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t id, const void *place)
{
    (void)id, (void)place;
    if (mutex_is_taken(kind))
        thread_state(false, true);
}

/* A thread that waits runs tasks. It goes on to wait when they have ended. */
static void on_task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next)
{
    (void)prior, (void)next;
    if (status == ompt_task_switch || status == ompt_task_yield)
        thread_state(true, false);
    else if (status == ompt_task_complete || status == ompt_task_cancel || status == ompt_task_detach ||
             status == ompt_task_early_fulfill)
        thread_state(false, false);
}

static int on_start(ompt_function_lookup_t look_up, int device, ompt_data_t *tool)
{
    static const struct {
        ompt_callbacks_t event;
        void (*function)(void);
    } wanted[] = {{ompt_callback_parallel_begin, (void (*)(void))on_parallel_begin},
                  {ompt_callback_parallel_end, (void (*)(void))on_parallel_end},
                  {ompt_callback_implicit_task, (void (*)(void))on_implicit_task},
                  {ompt_callback_sync_region, (void (*)(void))on_sync_region},
                  {ompt_callback_mutex_acquire, (void (*)(void))on_mutex_acquire},
                  {ompt_callback_mutex_acquired, (void (*)(void))on_mutex_acquired},
                  {ompt_callback_task_schedule, (void (*)(void))on_task_schedule}};
    enum { NEEDED = 4 }; /* the first ones. Without a later one the figures lack it, and are still true */
    ompt_set_callback_t set = (ompt_set_callback_t)look_up("ompt_set_callback");
    thread_data = (ompt_get_thread_data_t)look_up("ompt_get_thread_data");
    bool good = set && thread_data;
    (void)device, (void)tool;
    for (size_t i = 0; good && i < sizeof wanted / sizeof *wanted; i++)
        good = set(wanted[i].event, wanted[i].function) == ompt_set_always || i >= NEEDED;
    if (good)
        openmp_reports();
    return good;
}

static void on_end(ompt_data_t *tool)
{
    (void)tool;
}

/* Tools that the runtime loads by itself, if nobody has answered before: those of the user, and the one of the thread sanitizer. */
static bool others_are_wanted(void)
{
    const char *named = getenv("OMP_TOOL_LIBRARIES");
    return (named && named[0]) || dlsym(RTLD_DEFAULT, "__tsan_init");
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);
GATE(ompt_start_tool);
ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t own = {on_start, on_end, {0}};
    __typeof__(&ompt_start_tool) next = (__typeof__(&ompt_start_tool))native_symbol("ompt_start_tool");
    ompt_start_tool_result_t *other = next ? next(version, runtime) : NULL;
    if (other || setting_disabled() || others_are_wanted())
        return other;
    return &own;
}
