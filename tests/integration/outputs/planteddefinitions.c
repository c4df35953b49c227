#include "plantedfaults.h"

static OTF2_GlobalDefWriter *writer;

#define DEFINE(record, ...) OTF2_GlobalDefWriter_Write##record(writer, __VA_ARGS__)
#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { TEXT_EMPTY, TEXT_NAME, TEXT_MPI, TEXT_MAIN, TEXT_UNIT, TEXT_FILE, TEXT_TEMPLATE, TEXTS };

static void strings_write(void)
{
    static const char *const texts[TEXTS] = {"", "a name", "MPI", "main", "#", "data.bin", "MPI Communicator ${id}"};
    for (unsigned i = 0; i < TEXTS; i++)
        DEFINE(String, i, texts[i]);
    if (PLANTED(string_twice))
        DEFINE(String, TEXT_MAIN, "main again");
}

static void paradigms_write(void)
{
    OTF2_AttributeValue template = {.stringRef = TEXT_TEMPLATE};
    DEFINE(Paradigm, OTF2_PARADIGM_MPI, TEXT_MPI,
           PLANTED(paradigm_of_threads) ? OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN : OTF2_PARADIGM_CLASS_PROCESS);
    DEFINE(ParadigmProperty, OTF2_PARADIGM_MPI, OTF2_PARADIGM_PROPERTY_COMM_NAME_TEMPLATE, OTF2_TYPE_STRING, template);
    DEFINE(Paradigm, OTF2_PARADIGM_OPENMP, TEXT_NAME, OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN);
    DEFINE(Attribute, ATTRIBUTE_NUMBER, TEXT_NAME, TEXT_NAME, OTF2_TYPE_UINT64);
    DEFINE(Attribute, ATTRIBUTE_STRING, TEXT_NAME, TEXT_NAME, OTF2_TYPE_STRING);
}

static void location_write(int l, OTF2_LocationType type, OTF2_LocationGroupRef group)
{
    DEFINE(Location, location_id(l), TEXT_NAME, type, event_counts[l] + (PLANTED(count_wrong) && l == MASTER_1), group);
}

static void locations_write(void)
{
    OTF2_AttributeValue value = {.uint64 = 7};
    const OTF2_SystemTreeNodeRef none = OTF2_UNDEFINED_SYSTEM_TREE_NODE;
    DEFINE(SystemTreeNode, 0, TEXT_NAME, TEXT_NAME, none);
    for (OTF2_SystemTreeNodeRef node = 1; node < 3; node++)
        DEFINE(SystemTreeNode, node, TEXT_NAME, TEXT_NAME, PLANTED(two_roots) && node == 2 ? none : 0);
    DEFINE(SystemTreeNodeDomain, 1, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
    DEFINE(SystemTreeNodeProperty, 1, TEXT_NAME, OTF2_TYPE_UINT64, value);
    if (PLANTED(location_before_group))
        location_write(MASTER_0, OTF2_LOCATION_TYPE_CPU_THREAD, GROUP_BASE);
    for (unsigned r = 0; r < RANKS; r++)
        DEFINE(LocationGroup, GROUP_BASE + r, TEXT_NAME, OTF2_LOCATION_GROUP_TYPE_PROCESS,
               PLANTED(process_on_no_node) && r == 1 ? none : 1 + r % 2, OTF2_UNDEFINED_LOCATION_GROUP);
    DEFINE(LocationGroup, GROUP_ACCELERATOR, TEXT_NAME, OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, 1, GROUP_BASE);
    DEFINE(LocationGroupProperty, GROUP_BASE, TEXT_NAME, OTF2_TYPE_UINT64, value);
    for (int l = PLANTED(location_before_group); l < ACCELERATOR; l++)
        location_write(l, OTF2_LOCATION_TYPE_CPU_THREAD, (OTF2_LocationGroupRef)(GROUP_BASE + l / 2));
    location_write(ACCELERATOR, OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, GROUP_ACCELERATOR);
    location_write(METRICS, OTF2_LOCATION_TYPE_METRIC, GROUP_BASE);
    DEFINE(LocationProperty, location_id(0), TEXT_NAME, OTF2_TYPE_UINT64, value);
}

static void regions_write(void)
{
    static const struct {
        OTF2_RegionRole role;
        OTF2_Paradigm paradigm;
    } regions[REGIONS] = {
        {OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER},  {OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI},
        {OTF2_REGION_ROLE_COLL_OTHER, OTF2_PARADIGM_MPI}, {OTF2_REGION_ROLE_RMA, OTF2_PARADIGM_MPI},
        {OTF2_REGION_ROLE_FILE_IO, OTF2_PARADIGM_MPI},    {OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP},
        {OTF2_REGION_ROLE_TASK, OTF2_PARADIGM_OPENMP},
    };
    for (unsigned r = 0; r < REGIONS; r++)
        DEFINE(Region, r, PLANTED(region_unnamed) && r == 1 ? TEXT_EMPTY : TEXT_MAIN, TEXT_MAIN,
               PLANTED(region_without_string) && r == 1 ? 77 : TEXT_EMPTY,
               PLANTED(region_without_role) && r == 1 ? OTF2_REGION_ROLE_UNKNOWN : regions[r].role, regions[r].paradigm,
               OTF2_REGION_FLAG_NONE, OTF2_UNDEFINED_STRING, 0, 0);
    DEFINE(SourceCodeLocation, 0, TEXT_FILE, 10);
    DEFINE(CallingContext, 0, REGION_MAIN, OTF2_UNDEFINED_SOURCE_CODE_LOCATION, OTF2_UNDEFINED_CALLING_CONTEXT);
    DEFINE(CallingContext, 1, REGION_P2P, 0, 0);
    DEFINE(InterruptGenerator, 0, TEXT_NAME, OTF2_INTERRUPT_GENERATOR_MODE_TIME, OTF2_BASE_DECIMAL, -9, 1000);
    DEFINE(Callpath, 0, OTF2_UNDEFINED_CALLPATH, REGION_MAIN);
    DEFINE(Callpath, 1, 0, REGION_P2P);
}

static void group_write(OTF2_GroupRef self, OTF2_GroupType type, OTF2_Paradigm paradigm, OTF2_GroupFlag flags,
                        uint32_t count, const uint64_t *members)
{
    DEFINE(Group, self, TEXT_EMPTY, type, paradigm, flags, count, members);
}

enum { GROUP_ALL = 2, GROUP_SELF, GROUP_FIRST_TWO, GROUP_LAST, GROUP_TEAM, GROUP_GLOBAL };

static void groups_write(void)
{
    uint64_t world[RANKS], places[2 * RANKS];
    const uint64_t all[] = {0, 1, PLANTED(member_without_rank) ? 9 : PLANTED(member_twice) ? 1 : 2};
    const uint64_t last[] = {PLANTED(groups_overlap) ? 1 : 2}, global[] = {1, 2}, regions[] = {0, 1};
    for (int r = 0; r < RANKS; r++)
        world[r] = PLANTED(rank_without_location) && r == 1 ? 555 : location_id(2 * r);
    for (int l = 0; l < 2 * RANKS; l++)
        places[l] = location_id(l);
    if (PLANTED(comm_group_first))
        group_write(GROUP_ALL, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 0, RANKS, all);
    group_write(0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, 0, RANKS, world);
    group_write(1, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_OPENMP, 0, 2 * RANKS, places);
    if (!PLANTED(comm_group_first))
        group_write(GROUP_ALL, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 0, RANKS, all);
    group_write(GROUP_SELF, OTF2_GROUP_TYPE_COMM_SELF, OTF2_PARADIGM_MPI, 0, 0, NULL);
    group_write(GROUP_FIRST_TWO, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 0, 2, all);
    group_write(GROUP_LAST, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 0, 1, last);
    group_write(GROUP_TEAM, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_OPENMP, 0, 2, all);
    group_write(GROUP_GLOBAL, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_GLOBAL_MEMBERS, 2, global);
    group_write(8, OTF2_GROUP_TYPE_LOCATIONS, OTF2_PARADIGM_UNKNOWN, 0, 2, places);
    group_write(9, OTF2_GROUP_TYPE_REGIONS, OTF2_PARADIGM_UNKNOWN, 0, COUNT(regions), regions);
    if (PLANTED(two_worlds))
        group_write(10, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, 0, RANKS, world);
    if (PLANTED(two_selves))
        group_write(10, OTF2_GROUP_TYPE_COMM_SELF, OTF2_PARADIGM_MPI, 0, 0, NULL);
}

static void comms_write(void)
{
    const OTF2_CommRef none = OTF2_UNDEFINED_COMM;
    OTF2_CommFlag flag = PLANTED(comm_not_announced) ? OTF2_COMM_FLAG_NONE : OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS;
    const uint32_t coordinates[] = {0, 1, 2};
    const OTF2_CartDimensionRef dimensions[] = {0};
    DEFINE(Comm, COMM_WORLD, TEXT_MPI, PLANTED(comm_of_locations) ? 0 : GROUP_ALL, none, OTF2_COMM_FLAG_NONE);
    DEFINE(Comm, COMM_SELF, TEXT_MPI, GROUP_SELF, none, OTF2_COMM_FLAG_NONE);
    DEFINE(Comm, COMM_DUP, TEXT_EMPTY, GROUP_ALL, COMM_WORLD, flag);
    DEFINE(Comm, COMM_PAIR, TEXT_NAME, GROUP_FIRST_TWO, COMM_WORLD, OTF2_COMM_FLAG_NONE);
    DEFINE(InterComm, COMM_INTER, TEXT_NAME, GROUP_FIRST_TWO, GROUP_LAST, COMM_WORLD, OTF2_COMM_FLAG_NONE);
    DEFINE(Comm, COMM_TEAM, TEXT_NAME, GROUP_TEAM, none, OTF2_COMM_FLAG_NONE);
    DEFINE(Comm, COMM_GLOBAL, TEXT_NAME, GROUP_GLOBAL, COMM_WORLD, OTF2_COMM_FLAG_NONE);
    DEFINE(RmaWin, WINDOW_OF_WORLD, TEXT_NAME, COMM_WORLD,
           PLANTED(window_not_announced) ? OTF2_RMA_WIN_FLAG_NONE : OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS);
    DEFINE(RmaWin, WINDOW_PLAIN, TEXT_EMPTY, COMM_PAIR, OTF2_RMA_WIN_FLAG_NONE);
    DEFINE(CartDimension, 0, TEXT_NAME, RANKS, OTF2_CART_PERIODIC_FALSE);
    DEFINE(CartTopology, 0, TEXT_NAME, COMM_WORLD, 1, dimensions);
    for (uint32_t r = 0; r < RANKS; r++)
        DEFINE(CartCoordinate, 0, r, 1, &coordinates[r]);
}

static void resources_write(void)
{
    const OTF2_MetricMemberRef calls[] = {0, 1}, power[] = {2};
    DEFINE(IoParadigm, 0, TEXT_NAME, TEXT_NAME, OTF2_IO_PARADIGM_CLASS_PARALLEL, OTF2_IO_PARADIGM_FLAG_NONE, 0, NULL,
           NULL, NULL);
    DEFINE(IoRegularFile, 0, TEXT_FILE, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    DEFINE(IoDirectory, 1, TEXT_FILE, 1);
    DEFINE(IoHandle, HANDLE_STDOUT, TEXT_NAME, OTF2_UNDEFINED_IO_FILE, 0, OTF2_IO_HANDLE_FLAG_PRE_CREATED,
           OTF2_UNDEFINED_COMM, OTF2_UNDEFINED_IO_HANDLE);
    DEFINE(IoPreCreatedHandleState, HANDLE_STDOUT, OTF2_IO_ACCESS_MODE_WRITE_ONLY, OTF2_IO_STATUS_FLAG_NONE);
    DEFINE(IoHandle, HANDLE_FILE, TEXT_NAME, 0, PLANTED(handle_without_paradigm) ? 9 : 0, OTF2_IO_HANDLE_FLAG_NONE,
           COMM_WORLD, OTF2_UNDEFINED_IO_HANDLE);
    DEFINE(IoHandle, HANDLE_COPY, TEXT_NAME, 0, 0, OTF2_IO_HANDLE_FLAG_NONE, COMM_WORLD, HANDLE_FILE);
    for (OTF2_MetricMemberRef m = 0; m < METRIC_MEMBER_ALONE + 1; m++)
        DEFINE(MetricMember, m, TEXT_NAME, TEXT_NAME, OTF2_METRIC_TYPE_USER, OTF2_METRIC_ABSOLUTE_POINT,
               PLANTED(metric_of_strings) && m == METRIC_MEMBER_ALONE ? OTF2_TYPE_STRING
               : m == 1                                               ? OTF2_TYPE_DOUBLE
               : m == 2                                               ? OTF2_TYPE_INT64
                                                                      : OTF2_TYPE_UINT64,
               OTF2_BASE_DECIMAL, 0, TEXT_UNIT);
    DEFINE(MetricClass, METRIC_CALLS, 2, calls, OTF2_METRIC_SYNCHRONOUS, OTF2_RECORDER_KIND_CPU);
    DEFINE(MetricClass, METRIC_ABSTRACT, 1, power, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_ABSTRACT);
    DEFINE(MetricInstance, METRIC_POWER, METRIC_ABSTRACT, location_id(METRICS), OTF2_SCOPE_SYSTEM_TREE_NODE, 1);
    DEFINE(MetricClass, METRIC_FREE, 1, power, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_UNKNOWN);
    DEFINE(MetricClassRecorder, METRIC_CALLS, location_id(MASTER_0));
    DEFINE(Parameter, PARAMETER_STRING, TEXT_NAME, OTF2_PARAMETER_TYPE_STRING);
    DEFINE(Parameter, PARAMETER_INT, TEXT_NAME, OTF2_PARAMETER_TYPE_INT64);
    DEFINE(Parameter, PARAMETER_UNSIGNED, TEXT_NAME, OTF2_PARAMETER_TYPE_UINT64);
}

void definitions_write(OTF2_Archive *archive)
{
    writer = OTF2_Archive_GetGlobalDefWriter(archive);
    uint64_t begin = CLOCK_BEGIN + (PLANTED(clock_late) ? 15 : 0), length = now - begin;
    if (!PLANTED(no_clock))
        DEFINE(ClockProperties, 1000000000, begin, length - (PLANTED(clock_short) ? 15 : 0), 0);
    if (PLANTED(clock_twice))
        DEFINE(ClockProperties, 1000000000, begin, length, 0);
    strings_write();
    paradigms_write();
    locations_write();
    regions_write();
    groups_write();
    comms_write();
    resources_write();
    OTF2_Archive_CloseGlobalDefWriter(archive, writer);
}

/* Rank 1 has its regions in another order, rank 2's clock another origin. */
void local_definitions_write(OTF2_Archive *archive)
{
    OTF2_Archive_OpenDefFiles(archive);
    for (int l = 0; l < LOCATIONS; l++) {
        OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(archive, location_id(l));
        bool second = l == MASTER_1 || l == THREAD_1, third = l == MASTER_2 || l == THREAD_2;
        uint64_t shift = third ? CLOCK_SHIFT : 0;
        bool back = PLANTED(time_back) && l == MASTER_0; /* the writer itself takes no event earlier than the last */
        if (second) {
            uint32_t map[REGIONS];
            for (uint32_t r = 0; r < REGIONS; r++)
                map[r] = PLANTED(mapped_to_nothing) && r == REGIONS - 1 - REGION_TASK ? 99 : REGIONS - 1 - r;
            OTF2_IdMap *regions = OTF2_IdMap_CreateFromUint32Array(REGIONS, map, false);
            OTF2_DefWriter_WriteMappingTable(local, OTF2_MAPPING_REGION, regions);
            OTF2_IdMap_Free(regions);
        }
        if (PLANTED(clock_offsets_back) && l == THREAD_2)
            OTF2_DefWriter_WriteClockOffset(local, now + 100, (int64_t)shift, 0.0);
        OTF2_DefWriter_WriteClockOffset(local, CLOCK_BEGIN - shift, (int64_t)shift, 0.0);
        if (!(PLANTED(one_clock_offset) && l == MASTER_1))
            OTF2_DefWriter_WriteClockOffset(local, now - shift,
                                            back ? 2 * CLOCK_BEGIN - 2 * (int64_t)now : (int64_t)shift, 0.0);
        OTF2_Archive_CloseDefWriter(archive, local);
    }
    OTF2_Archive_CloseDefFiles(archive);
}
