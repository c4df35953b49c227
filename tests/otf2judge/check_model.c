#include "check_model.h"

#include <stdlib.h>

struct check_model model;

/* Sizes of elements. For the other kinds only the id is stored. */
static const size_t element_size[DEFINED_KINDS] = {
    [OTF2_MAPPING_STRING] = sizeof(struct defined_string),
    [OTF2_MAPPING_ATTRIBUTE] = sizeof(struct defined_typed),
    [OTF2_MAPPING_LOCATION] = sizeof(struct location),
    [OTF2_MAPPING_REGION] = sizeof(struct defined_region),
    [OTF2_MAPPING_GROUP] = sizeof(struct defined_group),
    [OTF2_MAPPING_METRIC] = sizeof(struct defined_metric),
    [OTF2_MAPPING_COMM] = sizeof(struct defined_comm),
    [OTF2_MAPPING_PARAMETER] = sizeof(struct defined_typed),
    [OTF2_MAPPING_RMA_WIN] = sizeof(struct defined_window),
    [OTF2_MAPPING_CALLING_CONTEXT] = sizeof(struct defined_context),
    [OTF2_MAPPING_IO_HANDLE] = sizeof(struct defined_io_handle),
    [OTF2_MAPPING_LOCATION_GROUP] = sizeof(struct process),
    [DEFINED_METRIC_MEMBER] = sizeof(struct defined_typed),
};

static const char *const kind_names[DEFINED_KINDS] = {
    [OTF2_MAPPING_STRING] = "String",
    [OTF2_MAPPING_ATTRIBUTE] = "Attribute",
    [OTF2_MAPPING_LOCATION] = "Location",
    [OTF2_MAPPING_REGION] = "Region",
    [OTF2_MAPPING_GROUP] = "Group",
    [OTF2_MAPPING_METRIC] = "Metric",
    [OTF2_MAPPING_COMM] = "Comm",
    [OTF2_MAPPING_PARAMETER] = "Parameter",
    [OTF2_MAPPING_RMA_WIN] = "RmaWin",
    [OTF2_MAPPING_SOURCE_CODE_LOCATION] = "SourceCodeLocation",
    [OTF2_MAPPING_CALLING_CONTEXT] = "CallingContext",
    [OTF2_MAPPING_INTERRUPT_GENERATOR] = "InterruptGenerator",
    [OTF2_MAPPING_IO_FILE] = "IoFile",
    [OTF2_MAPPING_IO_HANDLE] = "IoHandle",
    [OTF2_MAPPING_LOCATION_GROUP] = "LocationGroup",
    [DEFINED_NODE] = "SystemTreeNode",
    [DEFINED_METRIC_MEMBER] = "MetricMember",
    [DEFINED_CALLPATH] = "Callpath",
    [DEFINED_CALLSITE] = "Callsite",
    [DEFINED_IO_PARADIGM] = "IoParadigm",
    [DEFINED_CART_DIMENSION] = "CartDimension",
    [DEFINED_CART_TOPOLOGY] = "CartTopology",
};

void model_start(void)
{
    for (int kind = 0; kind < DEFINED_KINDS; kind++)
        model.maps[kind].element_size = element_size[kind] ? element_size[kind] : 1;
    model.world_index.element_size = sizeof(struct world_index);
}

void *defined(unsigned kind, uint64_t id)
{
    return map_find(&model.maps[kind], id, 0);
}

const char *kind_name(unsigned kind)
{
    return kind < DEFINED_KINDS ? kind_names[kind] : "?";
}

const char *string_text(OTF2_StringRef id)
{
    const struct defined_string *string = defined(OTF2_MAPPING_STRING, id);
    return string && string->text ? string->text : "(no name)";
}

const char *region_name(OTF2_RegionRef id)
{
    const struct defined_region *region = defined(OTF2_MAPPING_REGION, id);
    return region ? string_text(region->name) : "(not defined)";
}

struct check_place check_place_of(const struct location *location, OTF2_TimeStamp time, const char *record)
{
    return (struct check_place){.rank = location->process ? location->process->rank : -1,
                                .thread = (int64_t)location->thread,
                                .location = location->id,
                                .has_location = true,
                                .time = time,
                                .has_time = time != CHECK_NO_TIME,
                                .record = record};
}

bool process_is_complete(const struct process *process)
{
    return process->begins == 1 && process->ends == 1 && !process->was_off;
}

bool paradigm_has_processes(OTF2_Paradigm paradigm)
{
    return paradigm == OTF2_PARADIGM_MPI || paradigm == OTF2_PARADIGM_SHMEM || paradigm == OTF2_PARADIGM_GASPI ||
           paradigm == OTF2_PARADIGM_UPC;
}

int64_t world_index_of(const struct location *location, OTF2_Paradigm paradigm)
{
    uint64_t key = paradigm_has_processes(paradigm) ? location->process->id : location->id;
    const struct world_index *found = map_find(&model.world_index, paradigm, key);
    return found ? (int64_t)found->index : -1;
}
