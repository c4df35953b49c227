/* Definitions of metrics, windows, files, calling contexts and topologies, and properties of earlier definitions. */
#include "check_definitions.h"

#include <stdlib.h>
#include <string.h>

#define DEFINITION(name, ...) static OTF2_CallbackCode on_##name(UNUSED void *data, ##__VA_ARGS__)

static void typed_define(unsigned kind, uint64_t self, unsigned type)
{
    struct defined_typed *typed = define(kind, self);
    typed->type = type;
}

DEFINITION(attribute, OTF2_AttributeRef self, OTF2_StringRef name, OTF2_StringRef description, OTF2_Type type)
{
    typed_define(OTF2_MAPPING_ATTRIBUTE, self, type);
    refer(OTF2_MAPPING_STRING, name, OTF2_MAPPING_ATTRIBUTE, self);
    refer_or_none(OTF2_MAPPING_STRING, description, OTF2_UNDEFINED_STRING, OTF2_MAPPING_ATTRIBUTE, self);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(parameter, OTF2_ParameterRef self, OTF2_StringRef name, OTF2_ParameterType type)
{
    typed_define(OTF2_MAPPING_PARAMETER, self, type);
    refer(OTF2_MAPPING_STRING, name, OTF2_MAPPING_PARAMETER, self);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(metric_member, OTF2_MetricMemberRef self, OTF2_StringRef name, OTF2_StringRef description,
           UNUSED OTF2_MetricType metric, UNUSED OTF2_MetricMode mode, OTF2_Type type, UNUSED OTF2_Base base,
           UNUSED int64_t exponent, OTF2_StringRef unit)
{
    typed_define(DEFINED_METRIC_MEMBER, self, type);
    refer_name(name, DEFINED_METRIC_MEMBER, self);
    refer_or_none(OTF2_MAPPING_STRING, description, OTF2_UNDEFINED_STRING, DEFINED_METRIC_MEMBER, self);
    refer_or_none(OTF2_MAPPING_STRING, unit, OTF2_UNDEFINED_STRING, DEFINED_METRIC_MEMBER, self);
    if (type != OTF2_TYPE_INT64 && type != OTF2_TYPE_UINT64 && type != OTF2_TYPE_DOUBLE) {
        struct check_place place = definition_place(DEFINED_METRIC_MEMBER);
        check_found(RULE_METRIC_TYPE, &place, "MetricMember %u (%s) has values of OTF2_Type %u", self,
                    string_text(name), type);
    }
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(metric_class, OTF2_MetricRef self, uint8_t count, const OTF2_MetricMemberRef *members,
           OTF2_MetricOccurrence occurrence, OTF2_RecorderKind recorder)
{
    struct defined_metric *metric = define(OTF2_MAPPING_METRIC, self);
    *metric = (struct defined_metric){.occurrence = occurrence, .recorder_kind = recorder, .count = count};
    for (int i = 0; i < count; i++) {
        const struct defined_typed *member = defined(DEFINED_METRIC_MEMBER, members[i]);
        refer(DEFINED_METRIC_MEMBER, members[i], OTF2_MAPPING_METRIC, self);
        metric->types[i] = member ? (OTF2_Type)member->type : OTF2_TYPE_NONE;
    }
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(metric_instance, OTF2_MetricRef self, OTF2_MetricRef class, OTF2_LocationRef recorder,
           OTF2_MetricScope scope, uint64_t scope_id)
{
    static const unsigned scopes[] = {OTF2_MAPPING_LOCATION, OTF2_MAPPING_LOCATION_GROUP, DEFINED_NODE,
                                      OTF2_MAPPING_GROUP};
    const struct defined_metric *known = defined(OTF2_MAPPING_METRIC, class);
    struct defined_metric *metric = define(OTF2_MAPPING_METRIC, self);
    refer(OTF2_MAPPING_METRIC, class, OTF2_MAPPING_METRIC, self);
    refer(OTF2_MAPPING_LOCATION, recorder, OTF2_MAPPING_METRIC, self);
    if (scope < sizeof scopes / sizeof *scopes)
        refer(scopes[scope], scope_id, OTF2_MAPPING_METRIC, self);
    if (known && known != metric)
        *metric = *known;
    metric->instance = true;
    metric->recorder = recorder;
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(metric_class_recorder, OTF2_MetricRef metric, OTF2_LocationRef recorder)
{
    struct check_place place = {.rank = -1, .thread = -1, .record = "MetricClassRecorder"};
    if (!defined(OTF2_MAPPING_METRIC, metric) || !defined(OTF2_MAPPING_LOCATION, recorder))
        check_found(RULE_UNDEFINED_REFERENCE, &place,
                    "Metric %u is recorded by Location %" PRIu64 ", but one of them is not defined before", metric,
                    recorder);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(window, OTF2_RmaWinRef self, OTF2_StringRef name, OTF2_CommRef comm, OTF2_RmaWinFlag flags)
{
    struct defined_window *window = define(OTF2_MAPPING_RMA_WIN, self);
    *window = (struct defined_window){self, comm, flags & OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS};
    refer(OTF2_MAPPING_STRING, name, OTF2_MAPPING_RMA_WIN, self);
    refer(OTF2_MAPPING_COMM, comm, OTF2_MAPPING_RMA_WIN, self);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(io_paradigm, OTF2_IoParadigmRef self, OTF2_StringRef identification, OTF2_StringRef name,
           UNUSED OTF2_IoParadigmClass class, UNUSED OTF2_IoParadigmFlag flags, UNUSED uint8_t count,
           UNUSED const OTF2_IoParadigmProperty *properties, UNUSED const OTF2_Type *types,
           UNUSED const OTF2_AttributeValue *values)
{
    define(DEFINED_IO_PARADIGM, self);
    refer(OTF2_MAPPING_STRING, identification, DEFINED_IO_PARADIGM, self);
    refer(OTF2_MAPPING_STRING, name, DEFINED_IO_PARADIGM, self);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(io_file, OTF2_IoFileRef self, OTF2_StringRef name, OTF2_SystemTreeNodeRef scope)
{
    define(OTF2_MAPPING_IO_FILE, self);
    refer(OTF2_MAPPING_STRING, name, OTF2_MAPPING_IO_FILE, self);
    refer_or_none(DEFINED_NODE, scope, OTF2_UNDEFINED_SYSTEM_TREE_NODE, OTF2_MAPPING_IO_FILE, self);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(io_handle, OTF2_IoHandleRef self, OTF2_StringRef name, OTF2_IoFileRef file, OTF2_IoParadigmRef paradigm,
           OTF2_IoHandleFlag flags, OTF2_CommRef comm, OTF2_IoHandleRef parent)
{
    struct defined_io_handle *handle = define(OTF2_MAPPING_IO_HANDLE, self);
    *handle = (struct defined_io_handle){self, flags & OTF2_IO_HANDLE_FLAG_PRE_CREATED};
    refer(OTF2_MAPPING_STRING, name, OTF2_MAPPING_IO_HANDLE, self);
    refer_or_none(OTF2_MAPPING_IO_FILE, file, OTF2_UNDEFINED_IO_FILE, OTF2_MAPPING_IO_HANDLE, self);
    refer(DEFINED_IO_PARADIGM, paradigm, OTF2_MAPPING_IO_HANDLE, self);
    refer_or_none(OTF2_MAPPING_COMM, comm, OTF2_UNDEFINED_COMM, OTF2_MAPPING_IO_HANDLE, self);
    refer_or_none(OTF2_MAPPING_IO_HANDLE, parent, OTF2_UNDEFINED_IO_HANDLE, OTF2_MAPPING_IO_HANDLE, self);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(source_location, OTF2_SourceCodeLocationRef self, OTF2_StringRef file, UNUSED uint32_t line)
{
    define(OTF2_MAPPING_SOURCE_CODE_LOCATION, self);
    refer(OTF2_MAPPING_STRING, file, OTF2_MAPPING_SOURCE_CODE_LOCATION, self);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(context, OTF2_CallingContextRef self, OTF2_RegionRef region, OTF2_SourceCodeLocationRef source,
           OTF2_CallingContextRef parent)
{
    struct defined_context *context = define(OTF2_MAPPING_CALLING_CONTEXT, self);
    *context = (struct defined_context){region, parent};
    refer(OTF2_MAPPING_REGION, region, OTF2_MAPPING_CALLING_CONTEXT, self);
    refer_or_none(OTF2_MAPPING_SOURCE_CODE_LOCATION, source, OTF2_UNDEFINED_SOURCE_CODE_LOCATION,
                  OTF2_MAPPING_CALLING_CONTEXT, self);
    refer_or_none(OTF2_MAPPING_CALLING_CONTEXT, parent, OTF2_UNDEFINED_CALLING_CONTEXT, OTF2_MAPPING_CALLING_CONTEXT,
                  self);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(interrupts, OTF2_InterruptGeneratorRef self, OTF2_StringRef name, UNUSED OTF2_InterruptGeneratorMode mode,
           UNUSED OTF2_Base base, UNUSED int64_t exponent, UNUSED uint64_t period)
{
    define(OTF2_MAPPING_INTERRUPT_GENERATOR, self);
    refer(OTF2_MAPPING_STRING, name, OTF2_MAPPING_INTERRUPT_GENERATOR, self);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(callpath, OTF2_CallpathRef self, OTF2_CallpathRef parent, OTF2_RegionRef region)
{
    define(DEFINED_CALLPATH, self);
    refer_or_none(DEFINED_CALLPATH, parent, OTF2_UNDEFINED_CALLPATH, DEFINED_CALLPATH, self);
    refer(OTF2_MAPPING_REGION, region, DEFINED_CALLPATH, self);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(callsite, OTF2_CallsiteRef self, OTF2_StringRef file, UNUSED uint32_t line, OTF2_RegionRef entered,
           OTF2_RegionRef left)
{
    define(DEFINED_CALLSITE, self);
    refer(OTF2_MAPPING_STRING, file, DEFINED_CALLSITE, self);
    refer_or_none(OTF2_MAPPING_REGION, entered, OTF2_UNDEFINED_REGION, DEFINED_CALLSITE, self);
    refer_or_none(OTF2_MAPPING_REGION, left, OTF2_UNDEFINED_REGION, DEFINED_CALLSITE, self);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(dimension, OTF2_CartDimensionRef self, OTF2_StringRef name, UNUSED uint32_t size,
           UNUSED OTF2_CartPeriodicity periodicity)
{
    define(DEFINED_CART_DIMENSION, self);
    refer(OTF2_MAPPING_STRING, name, DEFINED_CART_DIMENSION, self);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(topology, OTF2_CartTopologyRef self, OTF2_StringRef name, OTF2_CommRef comm, uint8_t count,
           const OTF2_CartDimensionRef *dimensions)
{
    define(DEFINED_CART_TOPOLOGY, self);
    refer(OTF2_MAPPING_STRING, name, DEFINED_CART_TOPOLOGY, self);
    refer_or_none(OTF2_MAPPING_COMM, comm, OTF2_UNDEFINED_COMM, DEFINED_CART_TOPOLOGY, self);
    for (int i = 0; i < count; i++)
        refer(DEFINED_CART_DIMENSION, dimensions[i], DEFINED_CART_TOPOLOGY, self);
    return OTF2_CALLBACK_SUCCESS;
}

/* Checks a definition without its own id, which describes another definition. */
static void about(const char *record, unsigned kind, uint64_t id)
{
    struct check_place place = {.rank = -1, .thread = -1, .record = record};
    if (!defined(kind, id))
        check_found(RULE_UNDEFINED_REFERENCE, &place, "it is about %s %" PRIu64 ", which is not defined before",
                    kind_name(kind), id);
}

#define ABOUT(name, record, kind, type, ...)                                                                           \
    DEFINITION(name, type id, __VA_ARGS__)                                                                             \
    {                                                                                                                  \
        about(record, kind, id);                                                                                       \
        return OTF2_CALLBACK_SUCCESS;                                                                                  \
    }
#define PROPERTY UNUSED OTF2_StringRef name, UNUSED OTF2_Type type, UNUSED OTF2_AttributeValue value
ABOUT(node_property, "SystemTreeNodeProperty", DEFINED_NODE, OTF2_SystemTreeNodeRef, PROPERTY)
ABOUT(node_domain, "SystemTreeNodeDomain", DEFINED_NODE, OTF2_SystemTreeNodeRef, UNUSED OTF2_SystemTreeDomain domain)
ABOUT(group_property, "LocationGroupProperty", OTF2_MAPPING_LOCATION_GROUP, OTF2_LocationGroupRef, PROPERTY)
ABOUT(location_property, "LocationProperty", OTF2_MAPPING_LOCATION, OTF2_LocationRef, PROPERTY)
ABOUT(context_property, "CallingContextProperty", OTF2_MAPPING_CALLING_CONTEXT, OTF2_CallingContextRef, PROPERTY)
ABOUT(file_property, "IoFileProperty", OTF2_MAPPING_IO_FILE, OTF2_IoFileRef, PROPERTY)
ABOUT(handle_state, "IoPreCreatedHandleState", OTF2_MAPPING_IO_HANDLE, OTF2_IoHandleRef, UNUSED OTF2_IoAccessMode mode,
      UNUSED OTF2_IoStatusFlag flags)
ABOUT(coordinate, "CartCoordinate", DEFINED_CART_TOPOLOGY, OTF2_CartTopologyRef, UNUSED uint32_t rank,
      UNUSED uint8_t count, UNUSED const uint32_t *coordinates)

void check_resources_register(OTF2_GlobalDefReaderCallbacks *callbacks)
{
    ON(GlobalDefReader, Attribute, on_attribute);
    ON(GlobalDefReader, Parameter, on_parameter);
    ON(GlobalDefReader, MetricMember, on_metric_member);
    ON(GlobalDefReader, MetricClass, on_metric_class);
    ON(GlobalDefReader, MetricInstance, on_metric_instance);
    ON(GlobalDefReader, MetricClassRecorder, on_metric_class_recorder);
    ON(GlobalDefReader, RmaWin, on_window);
    ON(GlobalDefReader, IoParadigm, on_io_paradigm);
    ON(GlobalDefReader, IoRegularFile, on_io_file);
    ON(GlobalDefReader, IoDirectory, on_io_file);
    ON(GlobalDefReader, IoHandle, on_io_handle);
    ON(GlobalDefReader, SourceCodeLocation, on_source_location);
    ON(GlobalDefReader, CallingContext, on_context);
    ON(GlobalDefReader, InterruptGenerator, on_interrupts);
    ON(GlobalDefReader, Callpath, on_callpath);
    ON(GlobalDefReader, Callsite, on_callsite);
    ON(GlobalDefReader, CartDimension, on_dimension);
    ON(GlobalDefReader, CartTopology, on_topology);
    ON(GlobalDefReader, CartCoordinate, on_coordinate);
    ON(GlobalDefReader, SystemTreeNodeProperty, on_node_property);
    ON(GlobalDefReader, SystemTreeNodeDomain, on_node_domain);
    ON(GlobalDefReader, LocationGroupProperty, on_group_property);
    ON(GlobalDefReader, LocationProperty, on_location_property);
    ON(GlobalDefReader, CallingContextProperty, on_context_property);
    ON(GlobalDefReader, IoFileProperty, on_file_property);
    ON(GlobalDefReader, IoPreCreatedHandleState, on_handle_state);
}
