#define _GNU_SOURCE
#include "checkeddefinitions.h"

#include <stdlib.h>
#include <string.h>

static OTF2_CallbackCode on_clock(UNUSED void *data, uint64_t resolution, uint64_t offset, uint64_t length,
                                  UNUSED uint64_t realtime)
{
    if (archive.has_clock || resolution == 0)
        violation("clock properties: %s", resolution ? "defined twice" : "no resolution");
    archive.has_clock = true;
    archive.begin = offset;
    archive.end = offset + length;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(UNUSED void *data, OTF2_StringRef self, const char *text)
{
    char **place = ELEMENT(strings, string_count, self);
    if (*place)
        violation("string %u is defined twice", self);
    free(*place);
    *place = strdup(text);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location_group(UNUSED void *data, OTF2_LocationGroupRef self, OTF2_StringRef name,
                                           OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef node,
                                           UNUSED OTF2_LocationGroupRef creator)
{
    struct process *process = ELEMENT(processes, process_count, self);
    string_check(name, "a location group");
    if (process->defined || type != OTF2_LOCATION_GROUP_TYPE_PROCESS || node == OTF2_UNDEFINED_SYSTEM_TREE_NODE)
        violation("location group %u: defined twice, no process, or on no node", self);
    *process = (struct process){.defined = true, .first_time = UINT64_MAX};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location(UNUSED void *data, OTF2_LocationRef self, OTF2_StringRef name,
                                     UNUSED OTF2_LocationType type, uint64_t events, OTF2_LocationGroupRef group)
{
    string_check(name, "a location");
    if (group >= archive.process_count || !archive.processes[group].defined) {
        violation("location %" PRIu64 " is of group %u, which is not defined", self, group);
        return OTF2_CALLBACK_SUCCESS;
    }
    archive.locations = realloc(archive.locations, (archive.location_count + 1) * sizeof *archive.locations);
    if (!archive.locations)
        give_up("out of memory");
    struct location *location = &archive.locations[archive.location_count++];
    memset(location, 0, sizeof *location);
    location->id = self;
    location->events = events;
    location->process = group;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_region(UNUSED void *data, OTF2_RegionRef self, OTF2_StringRef name,
                                   UNUSED OTF2_StringRef canonical, UNUSED OTF2_StringRef description,
                                   OTF2_RegionRole role, OTF2_Paradigm paradigm, UNUSED OTF2_RegionFlag flags,
                                   UNUSED OTF2_StringRef file, UNUSED uint32_t begin, UNUSED uint32_t end)
{
    string_check(name, "a region");
    unsigned char *region = ELEMENT(regions, region_count, self);
    if (*region || (paradigm == OTF2_PARADIGM_MPI && role == OTF2_REGION_ROLE_UNKNOWN))
        violation("region %u: defined twice, or without a role", self);
    *region = paradigm == OTF2_PARADIGM_USER ? 2 : 1;
    return OTF2_CALLBACK_SUCCESS;
}

static struct location *location_find(OTF2_LocationRef id)
{
    for (size_t i = 0; i < archive.location_count; i++)
        if (archive.locations[i].id == id)
            return &archive.locations[i];
    return NULL;
}

static void members_check(OTF2_GroupRef self, const struct group *group)
{
    if (group->type == OTF2_GROUP_TYPE_COMM_LOCATIONS)
        for (uint64_t rank = 0; rank < group->count; rank++) {
            const struct location *location = location_find(group->members[rank]);
            if (!location || location->process != rank)
                violation("rank %" PRIu64 " is said to be location %" PRIu64 ", which is not of its process", rank,
                          group->members[rank]);
        }
    bool *seen = group->type == OTF2_GROUP_TYPE_COMM_GROUP ? calloc(archive.world.count + 1, 1) : NULL;
    for (uint64_t i = 0; seen && i < group->count; i++) {
        uint64_t member = group->members[i];
        if (member >= archive.world.count || seen[member])
            violation("group %u: member %" PRIu64 " is no rank, or twice in it", self, member);
        else
            seen[member] = true;
    }
    free(seen);
}

static OTF2_CallbackCode on_group(UNUSED void *data, OTF2_GroupRef self, OTF2_StringRef name, OTF2_GroupType type,
                                  UNUSED OTF2_Paradigm paradigm, UNUSED OTF2_GroupFlag flags, uint32_t count,
                                  const uint64_t *members)
{
    string_check(name, "a group");
    struct group *group = ELEMENT(groups, group_count, self);
    if (group->defined)
        violation("group %u is defined twice", self);
    if (type == OTF2_GROUP_TYPE_COMM_GROUP && !archive.world.defined)
        violation("group %u stands before the group of locations", self);
    if ((type == OTF2_GROUP_TYPE_COMM_SELF && archive.has_self) ||
        (type == OTF2_GROUP_TYPE_COMM_LOCATIONS && archive.world.defined))
        violation("group %u: a second one of its type", self);
    archive.has_self |= type == OTF2_GROUP_TYPE_COMM_SELF;
    *group = (struct group){true, type, count, malloc((count + 1) * sizeof *group->members)};
    if (!group->members)
        give_up("out of memory");
    if (count)
        memcpy(group->members, members, count * sizeof *members);
    if (type == OTF2_GROUP_TYPE_COMM_LOCATIONS)
        archive.world = *group;
    members_check(self, group);
    return OTF2_CALLBACK_SUCCESS;
}

static struct comm *comm_define(OTF2_CommRef self, OTF2_StringRef name, OTF2_CommRef parent, OTF2_CommFlag flags)
{
    string_check(name, "a communicator");
    if (parent != OTF2_UNDEFINED_COMM && (parent >= archive.comm_count || !archive.comms[parent].defined))
        violation("communicator %u: its parent %u is not defined before it", self, parent);
    struct comm *comm = ELEMENT(comms, comm_count, self);
    if (comm->defined)
        violation("communicator %u is defined twice", self);
    *comm = (struct comm){.defined = true, .name = name, .has_events = flags & OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS};
    return comm;
}

static void comm_group_set(OTF2_CommRef self, struct comm *comm, int side, OTF2_GroupRef group)
{
    if (group >= archive.group_count || !archive.groups[group].defined ||
        (archive.groups[group].type != OTF2_GROUP_TYPE_COMM_GROUP &&
         archive.groups[group].type != OTF2_GROUP_TYPE_COMM_SELF))
        violation("communicator %u: group %u is not defined before it, or of the wrong type", self, group);
    else
        comm->groups[side] = archive.groups[group];
}

static OTF2_CallbackCode on_comm(UNUSED void *data, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group,
                                 OTF2_CommRef parent, OTF2_CommFlag flags)
{
    comm_group_set(self, comm_define(self, name, parent, flags), 0, group);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_inter_comm(UNUSED void *data, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef one,
                                       OTF2_GroupRef other, OTF2_CommRef common, OTF2_CommFlag flags)
{
    struct comm *comm = comm_define(self, name, common, flags);
    comm->inter = true;
    comm_group_set(self, comm, 0, one);
    comm_group_set(self, comm, 1, other);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_metric_member(UNUSED void *data, OTF2_MetricMemberRef self, OTF2_StringRef name,
                                          UNUSED OTF2_StringRef description, UNUSED OTF2_MetricType metric,
                                          UNUSED OTF2_MetricMode mode, OTF2_Type type, UNUSED OTF2_Base base,
                                          UNUSED int64_t exponent, OTF2_StringRef unit)
{
    string_check(name, "a metric");
    string_check(unit, "a metric");
    OTF2_Type *known = ELEMENT(member_types, member_count, self);
    if (*known || (type != OTF2_TYPE_INT64 && type != OTF2_TYPE_UINT64 && type != OTF2_TYPE_DOUBLE))
        violation("metric member %u: defined twice, or of a type that metrics do not have", self);
    *known = type;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_metric_class(UNUSED void *data, OTF2_MetricRef self, uint8_t count,
                                         const OTF2_MetricMemberRef *members, UNUSED OTF2_MetricOccurrence occurrence,
                                         UNUSED OTF2_RecorderKind recorder)
{
    OTF2_Type *known = ELEMENT(metric_types, metric_count, self);
    if (*known || count != 1 || members[0] >= archive.member_count || !archive.member_types[members[0]])
        violation("metric %u: defined twice, or without a member that is defined before it", self);
    else
        *known = archive.member_types[members[0]];
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_clock_offset(UNUSED void *data, UNUSED OTF2_TimeStamp time, UNUSED int64_t offset,
                                         UNUSED double deviation)
{
    ((struct location *)data)->clock_offsets++;
    return OTF2_CALLBACK_SUCCESS;
}

void definitions_read(OTF2_Reader *reader)
{
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    uint64_t count;
    if (!callbacks || !definitions)
        give_up("the definitions cannot be read");
    ON(GlobalDefReader, ClockProperties, on_clock);
    ON(GlobalDefReader, String, on_string);
    ON(GlobalDefReader, LocationGroup, on_location_group);
    ON(GlobalDefReader, Location, on_location);
    ON(GlobalDefReader, Region, on_region);
    ON(GlobalDefReader, MetricMember, on_metric_member);
    ON(GlobalDefReader, MetricClass, on_metric_class);
    ON(GlobalDefReader, Group, on_group);
    ON(GlobalDefReader, Comm, on_comm);
    ON(GlobalDefReader, InterComm, on_inter_comm);
    if (OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, NULL) != OTF2_SUCCESS ||
        OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &count) != OTF2_SUCCESS)
        give_up("the definitions cannot be read");
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    if (!archive.has_clock)
        violation("there are no clock properties");
    if (!archive.world.defined)
        violation("there is no group of locations");
}

void location_definitions_read(OTF2_Reader *reader, struct location *location)
{
    OTF2_DefReader *definitions = OTF2_Reader_GetDefReader(reader, location->id);
    OTF2_DefReaderCallbacks *callbacks = OTF2_DefReaderCallbacks_New();
    uint64_t count;
    if (!callbacks)
        give_up("out of memory");
    ON(DefReader, ClockOffset, on_clock_offset);
    if (!definitions || OTF2_Reader_RegisterDefCallbacks(reader, definitions, callbacks, location) != OTF2_SUCCESS ||
        OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &count) != OTF2_SUCCESS)
        violation("location %" PRIu64 ": its definitions cannot be read", location->id);
    else if (OTF2_Reader_CloseDefReader(reader, definitions) != OTF2_SUCCESS || location->clock_offsets < 2)
        violation("location %" PRIu64 " has %" PRIu64 " clock offsets, and should have 2", location->id,
                  location->clock_offsets);
    OTF2_DefReaderCallbacks_Delete(callbacks);
}
