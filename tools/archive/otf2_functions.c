#include "archive/otf2_functions.h"

static void functions_enter(struct trace_location *location, uint32_t outer, uint32_t context, OTF2_TimeStamp now)
{
    const struct trace_job *job = location->process->job;
    if (context == outer)
        return;
    functions_enter(location, outer, job->archive->callpaths->contexts[context].caller, now);
    uint32_t region = trace_function_region(job, job->archive->callpaths->contexts[context].function);
    location_write(location, Enter, now, region);
}

static void functions_leave(struct trace_location *location, uint32_t context, uint32_t outer, OTF2_TimeStamp now)
{
    const struct trace_job *job = location->process->job;
    for (; context != outer; context = job->archive->callpaths->contexts[context].caller) {
        uint32_t region = trace_function_region(job, job->archive->callpaths->contexts[context].function);
        location_write(location, Leave, now, region);
    }
}

void functions_switch(struct trace_location *location, uint32_t context, OTF2_TimeStamp left, OTF2_TimeStamp now)
{
    const struct trace_context *list = location->process->job->archive->callpaths->contexts;
    uint32_t old = location->entered, new = context;
    while (old != NO_CONTEXT && (new == NO_CONTEXT || list[old].depth > list[new].depth))
        old = list[old].caller;
    while (new != NO_CONTEXT && (old == NO_CONTEXT || list[new].depth > list[old].depth))
        new = list[new].caller;
    while (old != NO_CONTEXT && (list[old].caller != list[new].caller || list[old].function != list[new].function)) {
        old = list[old].caller;
        new = list[new].caller;
    }
    functions_leave(location, location->entered, old, left);
    functions_enter(location, new, context, now);
    location->entered = context;
}
