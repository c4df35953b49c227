#define _GNU_SOURCE
#include "check_definitions.h"

#include <stdlib.h>
#include <string.h>

enum { WAITING_MOST = 1 << 16 };

/* References without an earlier definition: the definition came too late, or never. */
static struct waiting {
    uint64_t id, user_id;
    unsigned kind, user_kind;
} * waiting;
static size_t waiting_count;

struct check_place definition_place(unsigned kind)
{
    return (struct check_place){.rank = -1, .thread = -1, .record = kind_name(kind)};
}

void *define(unsigned kind, uint64_t id)
{
    if (defined(kind, id)) {
        struct check_place place = definition_place(kind);
        check_found(RULE_DEFINITION_TWICE, &place, "%s %" PRIu64 " is defined twice", kind_name(kind), id);
    }
    return map_at(&model.maps[kind], id, 0);
}

void refer(unsigned kind, uint64_t id, unsigned user_kind, uint64_t user_id)
{
    if (defined(kind, id) || waiting_count == WAITING_MOST)
        return;
    if (!waiting)
        waiting = check_allocate(WAITING_MOST, sizeof *waiting);
    waiting[waiting_count++] = (struct waiting){id, user_id, kind, user_kind};
}

void refer_or_none(unsigned kind, uint64_t id, uint64_t none, unsigned user_kind, uint64_t user_id)
{
    if (id != none)
        refer(kind, id, user_kind, user_id);
}

void refer_name(OTF2_StringRef name, unsigned user_kind, uint64_t user_id)
{
    struct check_place place = definition_place(user_kind);
    refer(OTF2_MAPPING_STRING, name, user_kind, user_id);
    const struct defined_string *string = defined(OTF2_MAPPING_STRING, name);
    if (string && string->text && !string->text[0])
        check_found(RULE_NAME_EMPTY, &place, "%s %" PRIu64 " has no name", kind_name(user_kind), user_id);
}

static void waiting_judge(void)
{
    for (size_t i = 0; i < waiting_count; i++) {
        const struct waiting *w = &waiting[i];
        struct check_place place = definition_place(w->user_kind);
        bool late = defined(w->kind, w->id);
        check_found(late ? RULE_DEFINITION_ORDER : RULE_UNDEFINED_REFERENCE, &place,
                    "%s %" PRIu64 " refers to %s %" PRIu64 ", which is %s", kind_name(w->user_kind), w->user_id,
                    kind_name(w->kind), w->id, late ? "defined only after it" : "not defined");
    }
    free(waiting);
    waiting = NULL;
    waiting_count = 0;
}

#define DEFINITION(name, ...) static OTF2_CallbackCode on_##name(UNUSED void *data, ##__VA_ARGS__)

DEFINITION(clock, uint64_t resolution, uint64_t offset, uint64_t length, UNUSED uint64_t realtime)
{
    struct check_place place = {.rank = -1, .thread = -1, .record = "ClockProperties"};
    if (model.has_clock || resolution == 0)
        check_found(RULE_CLOCK_PROPERTIES, &place, "%s",
                    resolution ? "the clock is defined twice" : "the clock has no resolution");
    model.has_clock = true;
    model.resolution = resolution;
    model.begin = offset;
    model.end = offset + length < offset ? UINT64_MAX : offset + length;
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(string, OTF2_StringRef self, const char *text)
{
    struct defined_string *string = define(OTF2_MAPPING_STRING, self);
    free(string->text);
    string->text = strdup(text ? text : "");
    if (!string->text)
        check_give_up("out of memory for the archive");
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(paradigm, OTF2_Paradigm paradigm, OTF2_StringRef name, OTF2_ParadigmClass class)
{
    struct check_place place = {.rank = -1, .thread = -1, .record = "Paradigm"};
    if (!defined(OTF2_MAPPING_STRING, name))
        check_found(RULE_UNDEFINED_REFERENCE, &place, "paradigm %u is named by String %u, which is not defined before",
                    paradigm, name);
    if (paradigm != OTF2_PARADIGM_MPI)
        return OTF2_CALLBACK_SUCCESS;
    model.has_mpi_paradigm = true;
    if (class != OTF2_PARADIGM_CLASS_PROCESS)
        check_found(RULE_PARADIGM, &place, "paradigm MPI is of class %u, not PROCESS", class);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(paradigm_property, OTF2_Paradigm paradigm, OTF2_ParadigmProperty property, UNUSED OTF2_Type type,
           UNUSED OTF2_AttributeValue value)
{
    if (property == OTF2_PARADIGM_PROPERTY_COMM_NAME_TEMPLATE)
        model.worlds[paradigm].has_comm_name_template = true;
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(node, OTF2_SystemTreeNodeRef self, OTF2_StringRef name, OTF2_StringRef class, OTF2_SystemTreeNodeRef parent)
{
    define(DEFINED_NODE, self);
    refer_name(name, DEFINED_NODE, self);
    refer(OTF2_MAPPING_STRING, class, DEFINED_NODE, self);
    refer_or_none(DEFINED_NODE, parent, OTF2_UNDEFINED_SYSTEM_TREE_NODE, DEFINED_NODE, self);
    if (parent == OTF2_UNDEFINED_SYSTEM_TREE_NODE && model.roots++ == 1) {
        struct check_place place = definition_place(DEFINED_NODE);
        check_found(RULE_SYSTEM_TREE, &place, "SystemTreeNode %u is a second root", self);
    }
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(location_group, OTF2_LocationGroupRef self, OTF2_StringRef name, OTF2_LocationGroupType type,
           OTF2_SystemTreeNodeRef node, OTF2_LocationGroupRef creator)
{
    struct process *process = define(OTF2_MAPPING_LOCATION_GROUP, self);
    struct check_place place = definition_place(OTF2_MAPPING_LOCATION_GROUP);
    *process = (struct process){.id = self, .type = type, .rank = -1, .first_time = UINT64_MAX};
    refer_name(name, OTF2_MAPPING_LOCATION_GROUP, self);
    refer_or_none(DEFINED_NODE, node, OTF2_UNDEFINED_SYSTEM_TREE_NODE, OTF2_MAPPING_LOCATION_GROUP, self);
    refer_or_none(OTF2_MAPPING_LOCATION_GROUP, creator, OTF2_UNDEFINED_LOCATION_GROUP, OTF2_MAPPING_LOCATION_GROUP,
                  self);
    if (type == OTF2_LOCATION_GROUP_TYPE_PROCESS && node == OTF2_UNDEFINED_SYSTEM_TREE_NODE)
        check_found(RULE_LOCATION_GROUP, &place, "process %u is on no node of the system tree", self);
    model.process_count += type == OTF2_LOCATION_GROUP_TYPE_PROCESS;
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(location, OTF2_LocationRef self, OTF2_StringRef name, OTF2_LocationType type, uint64_t events,
           OTF2_LocationGroupRef group)
{
    bool again = defined(OTF2_MAPPING_LOCATION, self);
    struct location *location = define(OTF2_MAPPING_LOCATION, self);
    struct process *process = defined(OTF2_MAPPING_LOCATION_GROUP, group);
    refer_name(name, OTF2_MAPPING_LOCATION, self);
    refer(OTF2_MAPPING_LOCATION_GROUP, group, OTF2_MAPPING_LOCATION, self);
    if (again)
        return OTF2_CALLBACK_SUCCESS;
    if (!process) { /* its events are checked nevertheless */
        process = check_allocate(1, sizeof *process);
        *process = (struct process){.id = group, .rank = -1, .first_time = UINT64_MAX};
    }
    location->id = self;
    location->type = type;
    location->announced = events;
    location->process = process;
    location->thread = process->threads++;
    location->task_regions.element_size = sizeof(int64_t);
    if (model.location_count == model.location_capacity) {
        model.location_capacity = model.location_capacity ? model.location_capacity * 2 : 16;
        model.locations = check_enlarge(model.locations, model.location_capacity, sizeof(struct location *));
    }
    model.locations[model.location_count++] = location;
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(region, OTF2_RegionRef self, OTF2_StringRef name, OTF2_StringRef canonical, OTF2_StringRef description,
           OTF2_RegionRole role, OTF2_Paradigm paradigm, UNUSED OTF2_RegionFlag flags, OTF2_StringRef file,
           UNUSED uint32_t begin, UNUSED uint32_t end)
{
    struct defined_region *region = define(OTF2_MAPPING_REGION, self);
    const OTF2_StringRef others[] = {canonical, description, file};
    *region = (struct defined_region){name, paradigm, role};
    refer_name(name, OTF2_MAPPING_REGION, self);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        refer_or_none(OTF2_MAPPING_STRING, others[i], OTF2_UNDEFINED_STRING, OTF2_MAPPING_REGION, self);
    model.has_mpi |= paradigm == OTF2_PARADIGM_MPI;
    if (paradigm == OTF2_PARADIGM_MPI && role == OTF2_REGION_ROLE_UNKNOWN) {
        struct check_place place = definition_place(OTF2_MAPPING_REGION);
        check_found(RULE_REGION_ROLE, &place, "Region %u (%s) of MPI has no role", self, string_text(name));
    }
    return OTF2_CALLBACK_SUCCESS;
}

/* COMM_LOCATIONS maps an index to a location. MPI's group gives the rank of a process. */
static void world_define(OTF2_GroupRef self, const struct defined_group *group, struct check_place place)
{
    struct world *world = &model.worlds[group->paradigm];
    if (world->group) {
        check_found(RULE_COMM_LOCATIONS, &place, "Group %u is a second COMM_LOCATIONS of paradigm %u", self,
                    group->paradigm);
        return;
    }
    world->group = group;
    for (uint64_t i = 0; i < group->count; i++) {
        const struct location *location = defined(OTF2_MAPPING_LOCATION, group->members[i]);
        if (!location) {
            check_found(RULE_COMM_LOCATIONS, &place,
                        "Group %u: rank %" PRIu64 " is location %" PRIu64 ", which is not defined", self, i,
                        group->members[i]);
            continue;
        }
        bool processes = paradigm_has_processes(group->paradigm);
        uint64_t key = processes ? location->process->id : location->id;
        if (map_find(&model.world_index, group->paradigm, key))
            check_found(RULE_COMM_LOCATIONS, &place,
                        "Group %u: rank %" PRIu64 " is on location %" PRIu64 ", whose %s has a rank already", self, i,
                        location->id, processes ? "process" : "place");
        ((struct world_index *)map_at(&model.world_index, group->paradigm, key))->index = i;
        if (group->paradigm == OTF2_PARADIGM_MPI)
            location->process->rank = (int64_t)i;
        if (group->paradigm == OTF2_PARADIGM_MPI && model.by_mpit && location->process->id != i)
            check_found(RULE_RANK_NUMBER, &place, "rank %" PRIu64 " is on a location of group %u", i,
                        location->process->id);
    }
}

static void comm_group_judge(OTF2_GroupRef self, const struct defined_group *group, struct check_place place)
{
    const struct defined_group *world = model.worlds[group->paradigm].group;
    if (!world) {
        check_found(RULE_COMM_LOCATIONS_FIRST, &place, "Group %u counts in COMM_LOCATIONS of paradigm %u, which %s",
                    self, group->paradigm, "is not defined before it");
        return;
    }
    unsigned char *seen = check_allocate(world->count, 1);
    for (uint64_t i = 0; i < group->count; i++) {
        uint64_t member = group->members[i];
        if (member >= world->count || seen[member])
            check_found(RULE_GROUP_MEMBERS, &place, "Group %u: member %" PRIu64 " %s", self, member,
                        member >= world->count ? "is not an index into COMM_LOCATIONS" : "is in it twice");
        else
            seen[member] = 1;
    }
    free(seen);
}

/* Checks a group by the kind of its members. */
static void plain_group_judge(OTF2_GroupRef self, const struct defined_group *group, struct check_place place)
{
    unsigned kind = group->type == OTF2_GROUP_TYPE_LOCATIONS ? OTF2_MAPPING_LOCATION
                    : group->type == OTF2_GROUP_TYPE_REGIONS ? OTF2_MAPPING_REGION
                    : group->type == OTF2_GROUP_TYPE_METRIC  ? OTF2_MAPPING_METRIC
                                                             : DEFINED_KINDS;
    for (uint64_t i = 0; kind != DEFINED_KINDS && i < group->count; i++)
        if (!defined(kind, group->members[i]))
            check_found(RULE_GROUP_MEMBERS, &place, "Group %u: %s %" PRIu64 " is not defined before it", self,
                        kind_name(kind), group->members[i]);
}

DEFINITION(group, OTF2_GroupRef self, OTF2_StringRef name, OTF2_GroupType type, OTF2_Paradigm paradigm,
           OTF2_GroupFlag flags, uint32_t count, const uint64_t *members)
{
    struct defined_group *group = define(OTF2_MAPPING_GROUP, self);
    struct check_place place = definition_place(OTF2_MAPPING_GROUP);
    struct world *world = &model.worlds[paradigm];
    refer(OTF2_MAPPING_STRING, name, OTF2_MAPPING_GROUP, self);
    if (model.by_mpit && defined(OTF2_MAPPING_STRING, name) && !string_text(name)[0])
        check_found(RULE_RANK_NUMBER, &place, "Group %u has no name", self);
    *group = (struct defined_group){type, paradigm, flags, count, check_allocate(count, sizeof *members)};
    if (count)
        memcpy(group->members, members, count * sizeof *members);
    model.has_mpi |= paradigm == OTF2_PARADIGM_MPI;
    switch (type) {
    case OTF2_GROUP_TYPE_COMM_LOCATIONS:
        world_define(self, group, place);
        break;
    case OTF2_GROUP_TYPE_COMM_GROUP:
        comm_group_judge(self, group, place);
        break;
    case OTF2_GROUP_TYPE_COMM_SELF:
        if (world->has_self)
            check_found(RULE_SELF_GROUPS, &place, "Group %u is a second COMM_SELF of paradigm %u", self, paradigm);
        world->has_self = true;
        break;
    default:
        plain_group_judge(self, group, place);
    }
    return OTF2_CALLBACK_SUCCESS;
}

static void comm_group_set(struct defined_comm *comm, int side, OTF2_GroupRef id)
{
    const struct defined_group *group = defined(OTF2_MAPPING_GROUP, id);
    struct check_place place = definition_place(OTF2_MAPPING_COMM);
    refer(OTF2_MAPPING_GROUP, id, OTF2_MAPPING_COMM, comm->id);
    if (group && group->type != OTF2_GROUP_TYPE_COMM_GROUP && (comm->inter || group->type != OTF2_GROUP_TYPE_COMM_SELF))
        check_found(RULE_COMM_GROUP, &place, "Comm %u consists of Group %u, but the type of the group is %u", comm->id,
                    id, group->type);
    else
        comm->groups[side] = group;
}

static struct defined_comm *comm_define(OTF2_CommRef self, OTF2_StringRef name, OTF2_CommRef parent,
                                        OTF2_CommFlag flags)
{
    struct defined_comm *comm = define(OTF2_MAPPING_COMM, self);
    *comm = (struct defined_comm){.id = self, .name = name, .has_events = flags & OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS};
    refer(OTF2_MAPPING_STRING, name, OTF2_MAPPING_COMM, self);
    refer_or_none(OTF2_MAPPING_COMM, parent, OTF2_UNDEFINED_COMM, OTF2_MAPPING_COMM, self);
    return comm;
}

/* A paradigm may have a template for the names of communicators without a name. */
static void comm_name_judge(const struct defined_comm *comm)
{
    struct check_place place = definition_place(OTF2_MAPPING_COMM);
    const struct defined_group *group = comm->groups[0];
    if (defined(OTF2_MAPPING_STRING, comm->name) && !string_text(comm->name)[0] &&
        !(group && model.worlds[group->paradigm].has_comm_name_template))
        check_found(RULE_NAME_EMPTY, &place, "Comm %u has no name, and its paradigm has no name template", comm->id);
}

DEFINITION(comm, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group, OTF2_CommRef parent, OTF2_CommFlag flags)
{
    struct defined_comm *comm = comm_define(self, name, parent, flags);
    comm_group_set(comm, 0, group);
    comm_name_judge(comm);
    return OTF2_CALLBACK_SUCCESS;
}

DEFINITION(inter_comm, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef one, OTF2_GroupRef other,
           OTF2_CommRef common, OTF2_CommFlag flags)
{
    struct defined_comm *comm = comm_define(self, name, common, flags);
    comm->inter = true;
    comm_group_set(comm, 0, one);
    comm_group_set(comm, 1, other);
    comm_name_judge(comm);
    struct map seen = {.element_size = 1};
    for (int side = 0; side < 2 && comm->groups[0] && comm->groups[1]; side++)
        for (uint64_t i = 0; i < comm->groups[side]->count; i++)
            if (side == 0) {
                map_at(&seen, comm->groups[0]->members[i], 0);
            } else if (map_find(&seen, comm->groups[1]->members[i], 0)) {
                struct check_place place = definition_place(OTF2_MAPPING_COMM);
                check_found(RULE_COMM_GROUP, &place, "Comm %u has member %" PRIu64 " in both of its groups", self,
                            comm->groups[1]->members[i]);
            }
    MAP_EACH(&seen, slot) free(slot->element);
    free(seen.slots);
    return OTF2_CALLBACK_SUCCESS;
}

void check_definitions_read(OTF2_Reader *reader)
{
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    if (!callbacks || !definitions)
        check_give_up("its global definitions (the .def file in the directory of the anchor) cannot be opened");
    ON(GlobalDefReader, ClockProperties, on_clock);
    ON(GlobalDefReader, String, on_string);
    ON(GlobalDefReader, Paradigm, on_paradigm);
    ON(GlobalDefReader, ParadigmProperty, on_paradigm_property);
    ON(GlobalDefReader, SystemTreeNode, on_node);
    ON(GlobalDefReader, LocationGroup, on_location_group);
    ON(GlobalDefReader, Location, on_location);
    ON(GlobalDefReader, Region, on_region);
    ON(GlobalDefReader, Group, on_group);
    ON(GlobalDefReader, Comm, on_comm);
    ON(GlobalDefReader, InterComm, on_inter_comm);
    check_resources_register(callbacks);
    if (OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, NULL) != OTF2_SUCCESS ||
        OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &check_figures.definitions) != OTF2_SUCCESS)
        check_give_up("its global definitions cannot be read to their end (%" PRIu64 " were)",
                      check_figures.definitions);
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    waiting_judge();
    if (!model.has_clock)
        check_found(RULE_CLOCK_PROPERTIES, NULL, "ClockProperties are not defined");
    if (model.has_mpi && !model.has_mpi_paradigm)
        check_found(RULE_PARADIGM, NULL, "regions or groups belong to MPI, but Paradigm MPI is not defined");
    if (model.has_mpi && !model.worlds[OTF2_PARADIGM_MPI].group)
        check_found(RULE_COMM_LOCATIONS, NULL, "group COMM_LOCATIONS of MPI is not defined, so ranks have no meaning");
}
