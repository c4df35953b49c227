/* Another tool of OpenMP: counts the parallel regions, and says so when the runtime ends. */
#include <omp-tools.h>
#include <stdio.h>

static unsigned long regions;

static void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel, unsigned threads,
                              int flags, const void *place)
{
    (void)task, (void)frame, (void)parallel, (void)threads, (void)flags, (void)place;
    regions++;
}

static int on_start(ompt_function_lookup_t look_up, int device, ompt_data_t *tool)
{
    ompt_set_callback_t set = (ompt_set_callback_t)look_up("ompt_set_callback");
    (void)device, (void)tool;
    return set && set(ompt_callback_parallel_begin, (ompt_callback_t)on_parallel_begin) == ompt_set_always;
}

static void on_end(ompt_data_t *tool)
{
    (void)tool;
    fprintf(stderr, "otherompt: %lu regions\n", regions);
}

__attribute__((visibility("default"))) ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t own = {on_start, on_end, {0}};
    (void)version, (void)runtime;
    return &own;
}
