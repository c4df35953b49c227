#include "check_events.h"

#include "check_definitions.h"

#include <stdlib.h>
#include <string.h>

bool event_refers(const struct location *location, OTF2_TimeStamp time, const char *record, unsigned kind, uint64_t id)
{
    if (defined(kind, id))
        return true;
    struct check_place place = check_place_of(location, time, record);
    enum check_rule rule = kind == OTF2_MAPPING_RMA_WIN     ? RULE_RMA_WINDOW_UNKNOWN
                           : kind == OTF2_MAPPING_IO_HANDLE ? RULE_IO_HANDLE_UNKNOWN
                                                            : RULE_UNDEFINED_REFERENCE;
    check_found(rule, &place, "%s %" PRIu64 " is not defined", kind_name(kind), id);
    return false;
}

static void attributes_judge(const struct location *location, OTF2_TimeStamp time, const char *record,
                             OTF2_AttributeList *attributes)
{
    uint32_t count = attributes ? OTF2_AttributeList_GetNumberOfElements(attributes) : 0;
    for (uint32_t i = 0; i < count; i++) {
        OTF2_AttributeRef attribute;
        OTF2_Type type;
        OTF2_AttributeValue value;
        if (OTF2_AttributeList_GetAttributeByIndex(attributes, i, &attribute, &type, &value) != OTF2_SUCCESS)
            continue;
        const struct defined_typed *known = defined(OTF2_MAPPING_ATTRIBUTE, attribute);
        struct check_place place = check_place_of(location, time, record);
        if (!known)
            event_refers(location, time, record, OTF2_MAPPING_ATTRIBUTE, attribute);
        else if (known->type != type)
            check_found(RULE_ATTRIBUTE_TYPE, &place, "Attribute %u has a value of OTF2_Type %u, but is defined with %u",
                        attribute, type, known->type);
        else if (type == OTF2_TYPE_STRING)
            event_refers(location, time, record, OTF2_MAPPING_STRING, value.stringRef);
    }
}

/* A metric that belongs to an Enter or Leave waits for one of its time, unless the last event was one. */
static void synchronous_judge(struct location *location, OTF2_TimeStamp time, bool boundary)
{
    if (!location->synchronous_waits || (boundary && time == location->synchronous_time))
        location->synchronous_waits = false;
    if (!location->synchronous_waits)
        return;
    struct check_place place = check_place_of(location, location->synchronous_time, "Metric");
    check_found(RULE_METRIC_SYNCHRONOUS, &place, "a synchronous metric has no Enter or Leave at the same time");
    location->synchronous_waits = false;
}

static void time_judge(struct location *location, OTF2_TimeStamp time, const char *record)
{
    struct process *process = location->process;
    struct check_place place = check_place_of(location, time, record);
    if (location->seen && time < location->last)
        check_found(RULE_EVENT_TIME_ORDER, &place, "the event before it was at %" PRIu64, location->last);
    if (model.has_clock && (time < model.begin || time > model.end))
        check_found(RULE_CLOCK_RANGE, &place, "ClockProperties allow times between %" PRIu64 " and %" PRIu64,
                    model.begin, model.end);
    location->last = time;
    process->first_time = time < process->first_time ? time : process->first_time;
    process->last_time = time > process->last_time ? time : process->last_time;
}

static void any_event_at(struct location *location, OTF2_TimeStamp time, const char *record,
                         OTF2_AttributeList *attributes)
{
    time_judge(location, time, record);
    location->seen++;
    check_figures.events++;
    attributes_judge(location, time, record, attributes);
}

void event_at(struct location *location, OTF2_TimeStamp time, const char *record, OTF2_AttributeList *attributes)
{
    any_event_at(location, time, record, attributes);
    synchronous_judge(location, time, false);
    location->at_boundary = false;
}

void mpi_event_at(struct location *location, OTF2_TimeStamp time, const char *record, OTF2_AttributeList *attributes)
{
    event_at(location, time, record, attributes);
    if (location->depth > 0)
        return;
    struct check_place place = check_place_of(location, time, record);
    check_found(RULE_OUTSIDE_REGION, &place, "it is outside of all regions");
}

static void boundary_at(struct location *location, OTF2_TimeStamp time, const char *record,
                        OTF2_AttributeList *attributes)
{
    any_event_at(location, time, record, attributes);
    synchronous_judge(location, time, true);
    location->at_boundary = true;
    location->boundary_time = time;
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

static void mix_judge(struct location *location, OTF2_TimeStamp time, const char *record, bool is_context)
{
    location->has_samples |= is_context;
    location->has_regions |= !is_context;
    if (!location->has_samples || !location->has_regions || location->mix_told)
        return;
    struct check_place place = check_place_of(location, time, record);
    location->mix_told = true;
    check_found(RULE_CALLING_CONTEXT_MIX, &place, "CallingContext events and Enter or Leave in one location");
}

static int64_t *task_region(struct location *location, uint64_t region, bool is_context)
{
    return map_at(&location->task_regions, region, is_context);
}

/* Calls of several tasks may be mixed from here on: only their numbers are compared. */
static void tasks_begin(struct location *location)
{
    if (location->has_tasks)
        return;
    location->has_tasks = true;
    for (size_t i = 0; i < location->depth; i++)
        ++*task_region(location, location->open[i].region, location->open[i].is_context);
}

static void location_region_enter(struct location *location, OTF2_TimeStamp time, uint64_t region, bool is_context)
{
    if (location->has_tasks) {
        ++*task_region(location, region, is_context);
        location->depth++;
        return;
    }
    if (location->depth == location->open_capacity) {
        location->open_capacity = location->open_capacity ? location->open_capacity * 2 : 64;
        location->open = check_enlarge(location->open, location->open_capacity, sizeof *location->open);
    }
    location->open[location->depth++] = (struct open_region){region, time, is_context};
}

static const char *open_name(uint64_t region, bool is_context)
{
    const struct defined_context *context = is_context ? defined(OTF2_MAPPING_CALLING_CONTEXT, region) : NULL;
    if (is_context)
        return context ? region_name(context->region) : "(not defined)";
    return region_name((OTF2_RegionRef)region);
}

/* If the location is in this region further out, the inner regions count as left. This gives one finding, not a
 * chain. */
static bool outer_region_find(struct location *location, uint64_t region, bool is_context)
{
    for (size_t depth = location->depth; depth-- > 0;)
        if (location->open[depth].region == region && location->open[depth].is_context == is_context) {
            location->depth = depth + 1;
            return true;
        }
    return false;
}

static bool location_region_leave(struct location *location, OTF2_TimeStamp time, const char *record, uint64_t region,
                                  bool is_context)
{
    struct check_place place = check_place_of(location, time, record);
    if (location->has_tasks) {
        int64_t *count = task_region(location, region, is_context);
        if (*count > 0) {
            --*count;
            location->depth--;
            return true;
        }
        check_found(RULE_LEAVE_WITHOUT_ENTER, &place, "it leaves %s, but no task is in that region",
                    open_name(region, is_context));
        return false;
    }
    const struct open_region *top = location->depth ? &location->open[location->depth - 1] : NULL;
    if (top && top->region == region && top->is_context == is_context)
        return true;
    if (!top) {
        check_found(RULE_LEAVE_WITHOUT_ENTER, &place, "it leaves %s, but is in no region",
                    open_name(region, is_context));
        return false;
    }
    const struct open_region inner = *top;
    if (outer_region_find(location, region, is_context)) {
        place = check_place_of(location, inner.time, inner.is_context ? "CallingContextEnter" : "Enter");
        check_found(RULE_ENTER_WITHOUT_LEAVE, &place, "%s is not left before %s is, at %" PRIu64,
                    open_name(inner.region, inner.is_context), open_name(region, is_context), time);
        return true;
    }
    check_found(RULE_LEAVE_WITHOUT_ENTER, &place, "it leaves %s, but is in %s", open_name(region, is_context),
                open_name(inner.region, inner.is_context));
    return false;
}

/* Collectives must end in the region in which they began. */
static void collectives_close(struct location *location, OTF2_TimeStamp time, const char *record)
{
    for (int family = 0; family < FAMILIES; family++)
        while (location->collective_depth[family] &&
               location->collectives[family][location->collective_depth[family] - 1].depth >= location->depth) {
            struct check_place place = check_place_of(location, time, record);
            location->collective_depth[family]--;
            check_found(RULE_COLLECTIVE_PAIRS, &place, "the region is left before its collective operation ends");
        }
}

static void region_left(struct location *location, OTF2_TimeStamp time, const char *record, uint64_t region,
                        bool is_context)
{
    if (!location_region_leave(location, time, record, region, is_context))
        return;
    if (!location->has_tasks) {
        collectives_close(location, time, record);
        location->depth--;
    }
}

EVENT(enter, OTF2_RegionRef region)
{
    struct location *location = data;
    boundary_at(location, time, "Enter", attributes);
    mix_judge(location, time, "Enter", false);
    event_refers(location, time, "Enter", OTF2_MAPPING_REGION, region);
    location_region_enter(location, time, region, false);
    const struct defined_region *known = defined(OTF2_MAPPING_REGION, region);
    check_figures.enters++;
    check_figures.user_enters += known && known->paradigm == OTF2_PARADIGM_USER;
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(leave, OTF2_RegionRef region)
{
    struct location *location = data;
    boundary_at(location, time, "Leave", attributes);
    mix_judge(location, time, "Leave", false);
    region_left(location, time, "Leave", region, false);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(context_enter, OTF2_CallingContextRef context, UNUSED uint32_t unwind)
{
    struct location *location = data;
    boundary_at(location, time, "CallingContextEnter", attributes);
    mix_judge(location, time, "CallingContextEnter", true);
    event_refers(location, time, "CallingContextEnter", OTF2_MAPPING_CALLING_CONTEXT, context);
    location_region_enter(location, time, context, true);
    check_figures.enters++;
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(context_leave, OTF2_CallingContextRef context)
{
    struct location *location = data;
    boundary_at(location, time, "CallingContextLeave", attributes);
    mix_judge(location, time, "CallingContextLeave", true);
    region_left(location, time, "CallingContextLeave", context, true);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(context_sample, OTF2_CallingContextRef context, UNUSED uint32_t unwind, OTF2_InterruptGeneratorRef interrupts)
{
    struct location *location = data;
    boundary_at(location, time, "CallingContextSample", attributes);
    mix_judge(location, time, "CallingContextSample", true);
    event_refers(location, time, "CallingContextSample", OTF2_MAPPING_CALLING_CONTEXT, context);
    if (interrupts != OTF2_UNDEFINED_INTERRUPT_GENERATOR)
        event_refers(location, time, "CallingContextSample", OTF2_MAPPING_INTERRUPT_GENERATOR, interrupts);
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- metrics, parameters, the program ---------------------------------------------------------------------------- */

static void metric_recorder_judge(const struct location *location, OTF2_TimeStamp time, OTF2_MetricRef id,
                                  const struct defined_metric *metric)
{
    struct check_place place = check_place_of(location, time, "Metric");
    if (metric->instance && metric->recorder != location->id)
        check_found(RULE_METRIC_RECORDER, &place, "metric instance %u is recorded by location %" PRIu64, id,
                    metric->recorder);
    else if (!metric->instance && metric->recorder_kind == OTF2_RECORDER_KIND_ABSTRACT)
        check_found(RULE_METRIC_RECORDER, &place, "metric class %u is abstract: only instances may record it", id);
    else if (!metric->instance && metric->recorder_kind == OTF2_RECORDER_KIND_CPU &&
             location->type != OTF2_LOCATION_TYPE_CPU_THREAD)
        check_found(RULE_METRIC_RECORDER, &place, "metric class %u: only CPU threads may record it", id);
}

EVENT(metric, OTF2_MetricRef id_of_metric, uint8_t count, const OTF2_Type *types, UNUSED const OTF2_MetricValue *values)
{
    struct location *location = data;
    const struct defined_metric *metric = defined(OTF2_MAPPING_METRIC, id_of_metric);
    struct check_place place = check_place_of(location, time, "Metric");
    any_event_at(location, time, "Metric", attributes);
    check_figures.samples++;
    if (!metric) {
        bool is_member = defined(DEFINED_METRIC_MEMBER, id_of_metric);
        check_found(is_member ? RULE_METRIC_MEMBER : RULE_UNDEFINED_REFERENCE, &place,
                    "metric class or instance %u does not exist%s", id_of_metric, is_member ? ", only a member" : "");
        return OTF2_CALLBACK_SUCCESS;
    }
    if (count != metric->count)
        check_found(RULE_METRIC_MEMBER, &place, "metric %u has %u values, but %u members", id_of_metric, count,
                    metric->count);
    for (int i = 0; i < count && count == metric->count; i++)
        if (types[i] != metric->types[i]) {
            check_found(RULE_METRIC_MEMBER, &place, "value %d of metric %u is of OTF2_Type %u, but its member is of %u",
                        i, id_of_metric, types[i], metric->types[i]);
            break;
        }
    metric_recorder_judge(location, time, id_of_metric, metric);
    if (metric->occurrence != OTF2_METRIC_ASYNCHRONOUS && !(location->at_boundary && location->boundary_time == time)) {
        location->synchronous_waits = true;
        location->synchronous_time = time;
    }
    return OTF2_CALLBACK_SUCCESS;
}

static void parameter_at(struct location *location, OTF2_TimeStamp time, const char *record,
                         OTF2_AttributeList *attributes, OTF2_ParameterRef parameter, OTF2_ParameterType type)
{
    const struct defined_typed *known = defined(OTF2_MAPPING_PARAMETER, parameter);
    struct check_place place = check_place_of(location, time, record);
    event_at(location, time, record, attributes);
    event_refers(location, time, record, OTF2_MAPPING_PARAMETER, parameter);
    if (known && known->type != type)
        check_found(RULE_PARAMETER_TYPE, &place, "Parameter %u has a value of type %u, but is defined with %u",
                    parameter, type, known->type);
}

EVENT(parameter_string, OTF2_ParameterRef parameter, OTF2_StringRef string)
{
    parameter_at(data, time, "ParameterString", attributes, parameter, OTF2_PARAMETER_TYPE_STRING);
    event_refers(data, time, "ParameterString", OTF2_MAPPING_STRING, string);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(parameter_int, OTF2_ParameterRef parameter, UNUSED int64_t value)
{
    parameter_at(data, time, "ParameterInt", attributes, parameter, OTF2_PARAMETER_TYPE_INT64);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(parameter_unsigned, OTF2_ParameterRef parameter, UNUSED uint64_t value)
{
    parameter_at(data, time, "ParameterUnsignedInt", attributes, parameter, OTF2_PARAMETER_TYPE_UINT64);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(program_begin, OTF2_StringRef name, uint32_t count, const OTF2_StringRef *arguments)
{
    struct location *location = data;
    event_at(location, time, "ProgramBegin", attributes);
    event_refers(location, time, "ProgramBegin", OTF2_MAPPING_STRING, name);
    for (uint32_t i = 0; i < count; i++)
        event_refers(location, time, "ProgramBegin", OTF2_MAPPING_STRING, arguments[i]);
    location->process->begins++;
    location->process->begin_time = time;
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(program_end, UNUSED int64_t status)
{
    struct location *location = data;
    event_at(location, time, "ProgramEnd", attributes);
    location->process->ends++;
    location->process->end_time = time;
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(measurement, OTF2_MeasurementMode mode)
{
    struct location *location = data;
    struct check_place place = check_place_of(location, time, "MeasurementOnOff");
    event_at(location, time, "MeasurementOnOff", attributes);
    location->process->was_off |= mode == OTF2_MEASUREMENT_OFF;
    if (mode != OTF2_MEASUREMENT_ON && mode != OTF2_MEASUREMENT_OFF)
        check_found(RULE_ENUM_VALUE, &place, "the measurement mode %u is neither ON nor OFF", mode);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(unknown)
{
    event_at(data, time, "Unknown", attributes);
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void pair_begin(struct location *location, OTF2_TimeStamp time, const char *record,
                       OTF2_AttributeList *attributes, uint64_t *count)
{
    event_at(location, time, record, attributes);
    ++*count;
}

static void pair_end(struct location *location, OTF2_TimeStamp time, const char *record, OTF2_AttributeList *attributes,
                     uint64_t *count)
{
    struct check_place place = check_place_of(location, time, record);
    event_at(location, time, record, attributes);
    if (*count == 0)
        check_found(RULE_THREAD_PAIRS, &place, "no matching begin is in this location");
    else
        --*count;
}

#define LOCATION ((struct location *)data)
#define PAIR(name, record, half, counter, ...)                                                                         \
    EVENT(name, __VA_ARGS__)                                                                                           \
    {                                                                                                                  \
        pair_##half(LOCATION, time, record, attributes, &LOCATION->counter);                                           \
        return OTF2_CALLBACK_SUCCESS;                                                                                  \
    }
PAIR(fork, "ThreadFork", begin, forks, UNUSED OTF2_Paradigm paradigm, UNUSED uint32_t threads)
PAIR(join, "ThreadJoin", end, forks, UNUSED OTF2_Paradigm paradigm)
PAIR(omp_fork, "OmpFork", begin, forks, UNUSED uint32_t threads)
EVENT(omp_join)
{
    pair_end(LOCATION, time, "OmpJoin", attributes, &LOCATION->forks);
    return OTF2_CALLBACK_SUCCESS;
}

#define TEAM(name, record, half, counter, ...)                                                                         \
    EVENT(name, OTF2_CommRef team, ##__VA_ARGS__)                                                                      \
    {                                                                                                                  \
        pair_##half(LOCATION, time, record, attributes, &LOCATION->counter);                                           \
        event_refers(data, time, record, OTF2_MAPPING_COMM, team);                                                     \
        return OTF2_CALLBACK_SUCCESS;                                                                                  \
    }
TEAM(team_begin, "ThreadTeamBegin", begin, teams)
TEAM(team_end, "ThreadTeamEnd", end, teams)
TEAM(thread_begin, "ThreadBegin", begin, threads_begun, UNUSED uint64_t sequence)
TEAM(thread_end, "ThreadEnd", end, threads_begun, UNUSED uint64_t sequence)

#define OF_TEAM(name, record, ...)                                                                                     \
    EVENT(name, OTF2_CommRef team, __VA_ARGS__)                                                                        \
    {                                                                                                                  \
        event_at(data, time, record, attributes);                                                                      \
        event_refers(data, time, record, OTF2_MAPPING_COMM, team);                                                     \
        return OTF2_CALLBACK_SUCCESS;                                                                                  \
    }
OF_TEAM(thread_create, "ThreadCreate", UNUSED uint64_t sequence)
OF_TEAM(thread_wait, "ThreadWait", UNUSED uint64_t sequence)
OF_TEAM(task_create, "ThreadTaskCreate", UNUSED uint32_t thread, UNUSED uint32_t generation)
OF_TEAM(task_complete, "ThreadTaskComplete", UNUSED uint32_t thread, UNUSED uint32_t generation)

EVENT(task_switch, OTF2_CommRef team, UNUSED uint32_t thread, UNUSED uint32_t generation)
{
    event_at(data, time, "ThreadTaskSwitch", attributes);
    event_refers(data, time, "ThreadTaskSwitch", OTF2_MAPPING_COMM, team);
    tasks_begin(data);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(omp_task_switch, UNUSED uint64_t task)
{
    event_at(data, time, "OmpTaskSwitch", attributes);
    tasks_begin(data);
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void open_judge(const struct location *location)
{
    if (location->has_tasks) {
        MAP_EACH(&location->task_regions, slot)
        {
            struct check_place place = check_place_of(location, location->last, "Enter");
            if (*(int64_t *)slot->element > 0)
                check_found(RULE_ENTER_WITHOUT_LEAVE, &place, "some task does not leave %s",
                            open_name(slot->a, slot->b));
        }
        return;
    }
    for (size_t i = 0; i < location->depth; i++) {
        const struct open_region *open = &location->open[i];
        struct check_place place =
            check_place_of(location, open->time, open->is_context ? "CallingContextEnter" : "Enter");
        check_found(RULE_ENTER_WITHOUT_LEAVE, &place, "%s is not left before the location's events end",
                    open_name(open->region, open->is_context));
    }
}

void check_location_end(struct location *location)
{
    struct check_place place = check_place_of(location, CHECK_NO_TIME, "Location");
    synchronous_judge(location, 0, false);
    if (location->unreadable) /* unreadable events do not also count as missing */
        return;
    if (location->seen != location->announced)
        check_found(RULE_EVENT_COUNT, &place, "it has %" PRIu64 " events, but is defined with %" PRIu64, location->seen,
                    location->announced);
    open_judge(location);
    if (location->forks + location->teams + location->threads_begun)
        check_found(RULE_THREAD_PAIRS, &place,
                    "%" PRIu64 " forks, %" PRIu64 " teams and %" PRIu64 " threads have no end", location->forks,
                    location->teams, location->threads_begun);
}

OTF2_EvtReaderCallbacks *check_event_callbacks(void)
{
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    if (!callbacks)
        check_give_up("out of memory for the archive");
    ON(EvtReader, Unknown, on_unknown);
    ON(EvtReader, Enter, on_enter);
    ON(EvtReader, Leave, on_leave);
    ON(EvtReader, CallingContextEnter, on_context_enter);
    ON(EvtReader, CallingContextLeave, on_context_leave);
    ON(EvtReader, CallingContextSample, on_context_sample);
    ON(EvtReader, Metric, on_metric);
    ON(EvtReader, ParameterString, on_parameter_string);
    ON(EvtReader, ParameterInt, on_parameter_int);
    ON(EvtReader, ParameterUnsignedInt, on_parameter_unsigned);
    ON(EvtReader, ProgramBegin, on_program_begin);
    ON(EvtReader, ProgramEnd, on_program_end);
    ON(EvtReader, MeasurementOnOff, on_measurement);
    ON(EvtReader, ThreadFork, on_fork);
    ON(EvtReader, ThreadJoin, on_join);
    ON(EvtReader, OmpFork, on_omp_fork);
    ON(EvtReader, OmpJoin, on_omp_join);
    ON(EvtReader, ThreadTeamBegin, on_team_begin);
    ON(EvtReader, ThreadTeamEnd, on_team_end);
    ON(EvtReader, ThreadBegin, on_thread_begin);
    ON(EvtReader, ThreadEnd, on_thread_end);
    ON(EvtReader, ThreadCreate, on_thread_create);
    ON(EvtReader, ThreadWait, on_thread_wait);
    ON(EvtReader, ThreadTaskCreate, on_task_create);
    ON(EvtReader, ThreadTaskComplete, on_task_complete);
    ON(EvtReader, ThreadTaskSwitch, on_task_switch);
    ON(EvtReader, OmpTaskSwitch, on_omp_task_switch);
    check_records_register(callbacks);
    return callbacks;
}
