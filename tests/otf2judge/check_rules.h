/*
 * The rules for an OTF2 archive, one line each. Tests name a rule by its identifier. CONTRIBUTING.md explains how to add
 * a rule. `otf2judge --rules` prints the table.
 */
#ifndef MPIT_TESTS_CHECK_RULES_H
#define MPIT_TESTS_CHECK_RULES_H

#include <stdbool.h>
#include <stdio.h>

/* X(enumerator, identifier, is an error, area, requirement) */
#define CHECK_RULES(X)                                                                                                 \
    X(ANCHOR_NAME, "anchor-name", false, "files", "the anchor is named traces.otf2, because readers expect it")        \
    X(ANCHOR_COUNT, "anchor-count", true, "files", "the anchor has the right numbers of locations and definitions")    \
    X(CHUNK_SIZE, "chunk-size", false, "files", "chunks have 256 KiB to 16 MiB")                                       \
    X(FILE_MISSING, "file-missing", true, "files",                                                                     \
      "a location with events has an .evt file, and a .def file if any location has one")                              \
    X(FILE_UNREADABLE, "file-unreadable", true, "files", "every file can be read to its end")                          \
    X(FILE_UNKNOWN, "file-unknown", false, "files", "every .evt and .def file belongs to a location")                  \
    X(DEFINITION_ORDER, "definition-order", true, "definitions",                                                       \
      "a definition comes before definitions that refer to it")                                                        \
    X(DEFINITION_TWICE, "definition-twice", true, "definitions", "an id is defined once")                              \
    X(UNDEFINED_REFERENCE, "undefined-reference", true, "definitions",                                                 \
      "definitions and events refer only to defined ids")                                                              \
    X(NAME_EMPTY, "name-empty", false, "definitions",                                                                  \
      "regions, locations, groups of them, metrics and communicators have a name")                                     \
    X(CLOCK_PROPERTIES, "clock-properties", true, "definitions", "one ClockProperties, with a resolution")             \
    X(CLOCK_OFFSETS, "clock-offsets", false, "definitions",                                                            \
      "each location of an archive with several processes has two ClockOffsets or more")                               \
    X(CLOCK_OFFSET_ORDER, "clock-offset-order", true, "definitions", "the times of a location's ClockOffsets ascend")  \
    X(MAPPING, "mapping", true, "definitions", "mapping tables map to defined ids")                                    \
    X(SYSTEM_TREE, "system-tree", false, "definitions", "the system tree has one root")                                \
    X(LOCATION_GROUP, "location-group", true, "definitions", "a process is on a node of the system tree")              \
    X(RANK_NUMBER, "rank-number", false, "definitions",                                                                \
      "archives of mpit: the location group of a rank has the rank's number, and all groups have names")               \
    X(PARADIGM, "paradigm", true, "definitions", "if paradigm MPI is used, it is defined, with class PROCESS")         \
    X(REGION_ROLE, "region-role", true, "definitions", "regions of MPI have a role")                                   \
    X(COMM_LOCATIONS_FIRST, "comm-locations-first", true, "definitions",                                               \
      "the group COMM_LOCATIONS of a paradigm comes before its groups COMM_GROUP")                                     \
    X(COMM_LOCATIONS, "comm-locations", true, "definitions",                                                           \
      "a paradigm has one COMM_LOCATIONS; its members are locations (MPI: one location per process)")                  \
    X(GROUP_MEMBERS, "group-members", true, "definitions",                                                             \
      "members of a COMM_GROUP are distinct indexes into COMM_LOCATIONS; members of other groups are defined")         \
    X(SELF_GROUPS, "self-groups", true, "definitions", "a paradigm has at most one COMM_SELF")                         \
    X(COMM_GROUP, "comm-group", true, "definitions",                                                                   \
      "a communicator has groups COMM_GROUP, or one COMM_SELF; the groups of an inter-communicator are disjoint")      \
    X(METRIC_TYPE, "metric-type", true, "definitions", "metric members are int64, uint64 or double")                   \
    X(METRIC_MEMBER, "metric-member", true, "events",                                                                  \
      "an event names a metric class or instance, with as many values as it has members, of their types")              \
    X(METRIC_RECORDER, "metric-recorder", true, "events",                                                              \
      "metrics are recorded by the defined locations; an abstract class is recorded only by instances")                \
    X(METRIC_SYNCHRONOUS, "metric-synchronous", true, "events",                                                        \
      "a synchronous metric comes with an Enter or Leave of the same time")                                            \
    X(EVENT_TIME_ORDER, "event-time-order", true, "events", "times never decrease within a location")                  \
    X(CLOCK_RANGE, "clock-range", true, "events", "no event lies outside of ClockProperties' range")                   \
    X(EVENT_COUNT, "event-count", true, "events",                                                                      \
      "the number of events of a location equals the number in its definition")                                        \
    X(ENTER_WITHOUT_LEAVE, "enter-without-leave", true, "events", "every Enter has its Leave")                         \
    X(LEAVE_WITHOUT_ENTER, "leave-without-enter", true, "events", "a Leave leaves the region entered last")            \
    X(OUTSIDE_REGION, "outside-region", true, "events", "events of MPI are between Enter and Leave")                   \
    X(CALLING_CONTEXT_MIX, "calling-context-mix", true, "events",                                                      \
      "CallingContext events and Enter/Leave do not mix in a location")                                                \
    X(PROGRAM_BEGIN_END, "program-begin-end", true, "events",                                                          \
      "a process has one ProgramBegin and one ProgramEnd, or neither")                                                 \
    X(PROGRAM_RANGE, "program-range", true, "events", "all events of a process lie between its begin and end")         \
    X(PARAMETER_TYPE, "parameter-type", true, "events", "parameters have the type that they are defined with")         \
    X(ATTRIBUTE_TYPE, "attribute-type", true, "events", "attributes have the type that they are defined with")         \
    X(ENUM_VALUE, "enum-value", true, "events", "enumerations have values that OTF2 knows")                            \
    X(THREAD_PAIRS, "thread-pairs", true, "events",                                                                    \
      "fork and join, and begin and end of threads and teams, come in pairs")                                          \
    X(LOCATION_NOT_IN_COMMUNICATOR, "location-not-in-communicator", true, "messages",                                  \
      "a process uses only communicators with itself as a member")                                                     \
    X(PEER_NOT_IN_COMMUNICATOR, "peer-not-in-communicator", true, "messages",                                          \
      "ranks are relative to the communicator (of an inter-communicator: to the other group)")                         \
    X(MESSAGE_UNMATCHED, "message-unmatched", true, "messages",                                                        \
      "each sent message is received, and each received message was sent")                                             \
    X(MESSAGE_BYTES, "message-bytes", true, "messages", "a message has the same size at sender and receiver")          \
    X(MESSAGE_TRUNCATED, "message-truncated", false, "messages",                                                       \
      "messages arrive with all bytes (unless truncated, with MPI_ERR_TRUNCATE)")                                      \
    X(RECEIVE_BEFORE_SEND, "receive-before-send", true, "messages",                                                    \
      "no message arrives before it was sent, with clocks corrected")                                                  \
    X(REQUEST_UNKNOWN, "request-unknown", true, "requests", "completed and tested requests were posted")               \
    X(REQUEST_NOT_COMPLETED, "request-not-completed", true, "requests",                                                \
      "posted sends and collectives complete or are cancelled (a receive may be freed)")                               \
    X(REQUEST_COMPLETED_TWICE, "request-completed-twice", true, "requests", "a request completes once")                \
    X(REQUEST_POSTED_TWICE, "request-posted-twice", true, "requests", "an id is used again only after completion")     \
    X(REQUEST_KIND, "request-kind", true, "requests", "a request completes with the kind that was posted")             \
    X(REQUEST_BEFORE_POST, "request-before-post", true, "requests", "a request does not complete before it is posted") \
    X(COLLECTIVE_PAIRS, "collective-pairs", true, "collectives",                                                       \
      "MpiCollectiveBegin and End (RmaCollectiveBegin and End) come in pairs within a region")                         \
    X(COLLECTIVE_ROOT, "collective-root", true, "collectives",                                                         \
      "the root of a rooted operation is a member, or SELF or THIS_GROUP on an inter-communicator")                    \
    X(COLLECTIVE_MEMBERS_DIFFER, "collective-members-differ", true, "collectives",                                     \
      "all members of a communicator take part in the same operations, with the same root, in the same order")         \
    X(COMM_FLAG, "comm-flag", true, "collectives",                                                                     \
      "only communicators with the right flags have CommCreate and CommDestroy")                                       \
    X(COMM_OPERATION, "comm-operation", true, "collectives",                                                           \
      "CommCreate and CommDestroy are inside of CREATE_HANDLE and DESTROY_HANDLE operations")                          \
    X(COMM_LIFE, "comm-life", true, "collectives", "a communicator is created once, then used, then destroyed once")   \
    X(RMA_WINDOW_UNKNOWN, "rma-window-unknown", true, "rma", "windows of events are defined")                          \
    X(RMA_WINDOW_LIFE, "rma-window-life", true, "rma",                                                                 \
      "a window is created once, then used, then destroyed once, and only if its flags announce it")                   \
    X(RMA_PEER, "rma-peer", true, "rma", "remote ranks are members of the window's communicator")                      \
    X(RMA_COMPLETION_UNKNOWN, "rma-completion-unknown", true, "rma", "completed and tested operations were issued")    \
    X(RMA_NOT_COMPLETED, "rma-not-completed", true, "rma", "operations complete, at the origin or at the target")      \
    X(RMA_LOCK, "rma-lock", true, "rma", "each released lock was acquired, and each acquired lock is released")        \
    X(IO_HANDLE_UNKNOWN, "io-handle-unknown", true, "io", "handles of events are defined")                             \
    X(IO_HANDLE_LIFE, "io-handle-life", true, "io",                                                                    \
      "handles are active while they are used: between creation (or PRE_CREATED) and end, created once")               \
    X(IO_OPERATION_UNKNOWN, "io-operation-unknown", true, "io",                                                        \
      "completed and tested operations have begun, and complete once")                                                 \
    X(IO_NOT_COMPLETED, "io-not-completed", true, "io", "operations complete or are cancelled")                        \
    X(IO_BYTES, "io-bytes", true, "io", "an operation reads or writes at most the requested bytes")                    \
    X(UNFINISHED, "unfinished", false, "any",                                                                          \
      "a process without a normal end, or with gaps in its recording, leaves nothing open")

enum check_rule {
#define X(enumerator, identifier, error, area, text) RULE_##enumerator,
    CHECK_RULES(X)
#undef X
        RULE_COUNT
};

struct check_rule_text {
    const char *identifier, *area, *text;
    bool is_error;
};

extern const struct check_rule_text check_rules[RULE_COUNT];

/* Prints one rule a line: identifier, severity, area, requirement. */
void check_rules_print(FILE *out);

#endif
