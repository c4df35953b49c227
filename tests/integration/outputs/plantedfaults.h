/* Faults that plantedfaults.c plants into an archive that is sound without: name, rule that finds it, rank it is at. */
#ifndef MPIT_INTEGRATION_PLANTEDFAULTS_H
#define MPIT_INTEGRATION_PLANTEDFAULTS_H

#include <otf2/otf2.h>

#include <stdbool.h>

/* X(name, rule, rank or -1: of no rank) */
#define FAULTS(X)                                                                                                      \
    X(none, "", -1)                                                                                                    \
    X(none_with_samples, "", -1)                                                                                       \
    X(string_twice, "definition-twice", -1)                                                                            \
    X(location_before_group, "definition-order", -1)                                                                   \
    X(region_without_string, "undefined-reference", -1)                                                                \
    X(handle_without_paradigm, "undefined-reference", -1)                                                              \
    X(region_unnamed, "name-empty", -1)                                                                                \
    X(no_clock, "clock-properties", -1)                                                                                \
    X(clock_twice, "clock-properties", -1)                                                                             \
    X(clock_short, "clock-range", -2)                                                                                  \
    X(clock_late, "clock-range", 0)                                                                                    \
    X(one_clock_offset, "clock-offsets", 1)                                                                            \
    X(clock_offsets_back, "clock-offset-order", 2)                                                                     \
    X(mapped_to_nothing, "mapping", 1)                                                                                 \
    X(two_roots, "system-tree", -1)                                                                                    \
    X(process_on_no_node, "location-group", -1)                                                                        \
    X(paradigm_of_threads, "paradigm", -1)                                                                             \
    X(region_without_role, "region-role", -1)                                                                          \
    X(comm_group_first, "comm-locations-first", -1)                                                                    \
    X(two_worlds, "comm-locations", -1)                                                                                \
    X(rank_without_location, "comm-locations", -1)                                                                     \
    X(member_without_rank, "group-members", -1)                                                                        \
    X(member_twice, "group-members", -1)                                                                               \
    X(two_selves, "self-groups", -1)                                                                                   \
    X(comm_of_locations, "comm-group", -1)                                                                             \
    X(groups_overlap, "comm-group", -1)                                                                                \
    X(metric_of_strings, "metric-type", -1)                                                                            \
    X(metric_is_member, "metric-member", 0)                                                                            \
    X(metric_of_other_type, "metric-member", 0)                                                                        \
    X(metric_of_other_count, "metric-member", 0)                                                                       \
    X(metric_abstract, "metric-recorder", 0)                                                                           \
    X(metric_elsewhere, "metric-recorder", 1)                                                                          \
    X(metric_alone, "metric-synchronous", 0)                                                                           \
    X(time_back, "event-time-order", 0)                                                                                \
    X(count_wrong, "event-count", 1)                                                                                   \
    X(no_leave, "enter-without-leave", 0)                                                                              \
    X(no_leave_at_end, "enter-without-leave", 2)                                                                       \
    X(no_enter, "leave-without-enter", 0)                                                                              \
    X(send_outside, "outside-region", 0)                                                                               \
    X(region_unknown, "undefined-reference", 2)                                                                        \
    X(samples_mixed, "calling-context-mix", 1)                                                                         \
    X(no_program_end, "program-begin-end", 1)                                                                          \
    X(two_program_begins, "program-begin-end", 1)                                                                      \
    X(event_before_program, "program-range", 2)                                                                        \
    X(parameter_of_other_type, "parameter-type", 0)                                                                    \
    X(attribute_of_other_type, "attribute-type", 0)                                                                    \
    X(attribute_unknown, "undefined-reference", 0)                                                                     \
    X(operation_unknown, "enum-value", 0)                                                                              \
    X(no_join, "thread-pairs", 0)                                                                                      \
    X(no_team_begin, "thread-pairs", 0)                                                                                \
    X(not_a_member, "location-not-in-communicator", 2)                                                                 \
    X(peer_beyond, "peer-not-in-communicator", 0)                                                                      \
    X(peer_of_own_side, "peer-not-in-communicator", 0)                                                                 \
    X(comm_unknown, "undefined-reference", 0)                                                                          \
    X(message_lost, "message-unmatched", 0)                                                                            \
    X(message_from_nowhere, "message-unmatched", 1)                                                                    \
    X(tag_differs, "message-unmatched", -2)                                                                            \
    X(bytes_differ, "message-bytes", 1)                                                                                \
    X(bytes_cut_off, "message-truncated", 1)                                                                           \
    X(received_early, "receive-before-send", 1)                                                                        \
    X(request_never_posted, "request-unknown", 0)                                                                      \
    X(request_left, "request-not-completed", 0)                                                                        \
    X(request_twice, "request-completed-twice", 0)                                                                     \
    X(request_posted_again, "request-posted-twice", 0)                                                                 \
    X(request_other_kind, "request-kind", 1)                                                                           \
    X(request_early, "request-before-post", 0)                                                                         \
    X(test_unknown, "request-unknown", 1)                                                                              \
    X(collective_left, "request-not-completed", 1)                                                                     \
    X(no_collective_begin, "collective-pairs", 0)                                                                      \
    X(no_collective_end, "collective-pairs", 0)                                                                        \
    X(root_beyond, "collective-root", 2)                                                                               \
    X(root_missing, "collective-root", 2)                                                                              \
    X(roots_differ, "collective-members-differ", 2)                                                                    \
    X(operations_differ, "collective-members-differ", 2)                                                               \
    X(collective_missing, "collective-members-differ", 2)                                                              \
    X(ibarrier_missing, "collective-members-differ", 2)                                                                \
    X(comm_not_announced, "comm-flag", 0)                                                                              \
    X(comm_in_barrier, "comm-operation", 0)                                                                            \
    X(comm_destroyed_outside, "comm-operation", 1)                                                                     \
    X(comm_after_end, "comm-life", 0)                                                                                  \
    X(comm_created_twice, "comm-life", 0)                                                                              \
    X(window_unknown, "rma-window-unknown", 0)                                                                         \
    X(window_after_end, "rma-window-life", 0)                                                                          \
    X(window_not_announced, "rma-window-life", 0)                                                                      \
    X(target_beyond, "rma-peer", 0)                                                                                    \
    X(put_completes_twice, "rma-completion-unknown", 0)                                                                \
    X(get_never_completes, "rma-not-completed", 0)                                                                     \
    X(lock_released_twice, "rma-lock", 1)                                                                              \
    X(lock_kept, "rma-lock", 1)                                                                                        \
    X(handle_unknown, "io-handle-unknown", 0)                                                                          \
    X(handle_closed, "io-handle-life", 0)                                                                              \
    X(handle_not_opened, "io-handle-life", 1)                                                                          \
    X(read_twice, "io-operation-unknown", 0)                                                                           \
    X(write_left, "io-not-completed", 0)                                                                               \
    X(read_too_much, "io-bytes", 0)                                                                                    \
    X(last_fault, "", -1)

enum fault {
#define X(name, rule, rank) FAULT_##name,
    FAULTS(X)
#undef X
};

extern enum fault fault;
#define PLANTED(name) (fault == FAULT_##name)

enum { RANKS = 3, ACCELERATOR = 2 * RANKS, METRICS, LOCATIONS };
enum { MASTER_0, THREAD_0, MASTER_1, THREAD_1, MASTER_2, THREAD_2 };

/* Ids are not the numbers of ranks or threads, as in archives of others. */
OTF2_LocationRef location_id(int location);
enum { GROUP_BASE = 5, GROUP_ACCELERATOR = 20 };

enum {
    REGION_MAIN,
    REGION_P2P,
    REGION_COLLECTIVE,
    REGION_RMA,
    REGION_IO,
    REGION_PARALLEL,
    REGION_TASK,
    REGIONS /* rank 1 has them in the reverse order, and a mapping table */
};
enum { COMM_WORLD, COMM_SELF, COMM_DUP, COMM_PAIR, COMM_INTER, COMM_TEAM, COMM_GLOBAL };
enum { WINDOW_OF_WORLD, WINDOW_PLAIN };
enum { HANDLE_STDOUT, HANDLE_FILE, HANDLE_COPY };
enum { METRIC_CALLS, METRIC_ABSTRACT, METRIC_POWER, METRIC_FREE, METRIC_MEMBER_ALONE = 4 };
enum { PARAMETER_STRING, PARAMETER_INT, PARAMETER_UNSIGNED };
enum { ATTRIBUTE_NUMBER, ATTRIBUTE_STRING };

enum { CLOCK_BEGIN = 10000, CLOCK_SHIFT = 1000 }; /* rank 2's clock is behind by the shift */

extern uint64_t now, event_counts[LOCATIONS];

void definitions_write(OTF2_Archive *archive);
void local_definitions_write(OTF2_Archive *archive);
void events_write(OTF2_EvtWriter *writers[LOCATIONS]);
void samples_write(OTF2_EvtWriter *writers[LOCATIONS]);

#endif
