/*
 * The check's model of the archive that it reads.
 *
 *   check_archive ─┬─ definitions (check_definitions.c, check_resources.c) ──> maps of this file, by kind and id
 *                  ├─ definitions of a location (check_archive.c)
 *                  └─ events (check_archive.c): some of each location at a time
 *                        │ checks of a single location: check_events.c
 *                        └─> happenings, in the order of time over all locations:
 *                            check_messages.c, check_collectives.c, check_accesses.c
 *
 * Memory grows with the definitions, with the locations (a chunk of the archive and EVENTS_AHEAD happenings each), and
 * with the operations under way: messages that were not received yet, and requests and operations that have not
 * completed. It does not grow with the number of events.
 */
#ifndef MPIT_TESTS_CHECK_MODEL_H
#define MPIT_TESTS_CHECK_MODEL_H

#include "check_map.h"
#include "check_report.h"

#include <otf2/otf2.h>

#include <inttypes.h>

#define UNUSED __attribute__((unused))

/* After the kinds of mapping tables. */
enum {
    DEFINED_NODE = OTF2_MAPPING_MAX,
    DEFINED_METRIC_MEMBER,
    DEFINED_CALLPATH,
    DEFINED_CALLSITE,
    DEFINED_IO_PARADIGM,
    DEFINED_CART_DIMENSION,
    DEFINED_CART_TOPOLOGY,
    DEFINED_KINDS
};

struct defined_string {
    char *text;
};

/* The type of attributes, parameters and metric members. */
struct defined_typed {
    unsigned type;
};

struct defined_region {
    OTF2_StringRef name;
    OTF2_Paradigm paradigm;
    OTF2_RegionRole role;
};

struct defined_group {
    OTF2_GroupType type;
    OTF2_Paradigm paradigm;
    OTF2_GroupFlag flags;
    uint64_t count, *members;
};

struct defined_metric {
    bool instance;
    OTF2_MetricOccurrence occurrence;
    OTF2_RecorderKind recorder_kind;
    OTF2_LocationRef recorder; /* of an instance */
    uint8_t count;
    OTF2_Type types[UINT8_MAX];
};

struct collective_call {
    uint32_t op, root;
};

struct defined_comm {
    OTF2_CommRef id;
    OTF2_StringRef name;
    bool inter, has_events;
    const struct defined_group *groups[2]; /* NULL: not known, so its members are not checked */
    /* The last blocking operations in which some member has taken part. */
    struct collective_call *calls;
    uint64_t call_count, call_capacity;
    struct check_comm_figures figures;
};

struct defined_window {
    OTF2_RmaWinRef id;
    OTF2_CommRef comm;
    bool has_events;
};

struct defined_io_handle {
    OTF2_IoHandleRef id;
    bool pre_created;
};

struct defined_context {
    OTF2_RegionRef region;
    OTF2_CallingContextRef parent;
};

/* A location group. */
struct process {
    OTF2_LocationGroupRef id;
    OTF2_LocationGroupType type;
    int64_t rank; /* in MPI's world, or -1 for none */
    uint64_t threads, begins, ends, begin_time, end_time, first_time, last_time;
    uint64_t collective_requests; /* under way */
    bool was_off;                 /* recording was switched off in it for a while */
};

struct open_region {
    uint64_t region; /* or calling context */
    OTF2_TimeStamp time;
    bool is_context;
};

enum collective_family { FAMILY_MPI, FAMILY_RMA, FAMILIES };

struct open_collective {
    size_t depth;
    bool created, destroyed;
};

/* An event that concerns more than its location. */
struct happening {
    OTF2_TimeStamp time;
    uint8_t what, phase, op;
    bool flag;
    uint32_t reference, peer, tag;
    uint64_t bytes, more, id;
};

#define CHECK_NO_TIME UINT64_MAX

enum { EVENTS_AHEAD = 128 };

struct location {
    OTF2_LocationRef id;
    OTF2_LocationType type;
    struct process *process;
    uint64_t thread, announced, seen, clock_offsets, last_offset_time;
    bool has_definitions, unreadable;
    OTF2_EvtReader *reader;
    /* the place of the last event */
    OTF2_TimeStamp last;
    struct open_region *open;
    size_t depth, open_capacity;
    struct open_collective *collectives[FAMILIES];
    size_t collective_depth[FAMILIES], collective_capacity[FAMILIES];
    bool has_tasks; /* calls of several tasks are mixed in it */
    struct map task_regions;
    bool has_samples, has_regions, mix_told;
    uint64_t forks, teams, threads_begun;
    OTF2_TimeStamp boundary_time, synchronous_time; /* of the last Enter or Leave, and of a metric that waits for one */
    bool at_boundary, synchronous_waits;
    /* happenings that were read and not checked yet */
    struct happening ahead[EVENTS_AHEAD];
    size_t ahead_begin, ahead_end;
};

struct world {
    const struct defined_group *group; /* COMM_LOCATIONS, or NULL if not defined */
    bool has_self, has_comm_name_template;
};

struct check_model {
    struct map maps[DEFINED_KINDS];
    struct map world_index; /* (paradigm, process or location) -> its index in that paradigm's COMM_LOCATIONS */
    struct world worlds[UINT8_MAX + 1];
    struct location **locations; /* in the order of definition */
    size_t location_count, location_capacity, roots, process_count;
    bool has_clock, by_mpit, has_mpi, has_mpi_paradigm;
    uint64_t begin, end, resolution;
};

extern struct check_model model;

struct world_index {
    uint64_t index;
};

void model_start(void);

/* NULL: not defined. */
void *defined(unsigned kind, uint64_t id);

const char *kind_name(unsigned kind);

/* Returns the text of a defined string, or a name in its place. */
const char *string_text(OTF2_StringRef id);
const char *region_name(OTF2_RegionRef id);

struct check_place check_place_of(const struct location *location, OTF2_TimeStamp time, const char *record);

/* Returns whether the archive has all operations of the process. An operation without an end is then an error. */
bool process_is_complete(const struct process *process);

/* Returns the index of the location, or of its process, that groups of the paradigm use. Returns -1 if no group has
 * it. */
int64_t world_index_of(const struct location *location, OTF2_Paradigm paradigm);

bool paradigm_has_processes(OTF2_Paradigm paradigm);

#endif
