/*
 * The findings of the check. The caller provides the functions that receive them (check.c writes them to a pipe).
 */
#ifndef MPIT_TESTS_CHECK_REPORT_H
#define MPIT_TESTS_CHECK_REPORT_H

#include "check_rules.h"

#include <stdint.h>

enum { CHECK_SHOWN_MOST = 10, CHECK_TEXT_BYTES = 512, CHECK_NAME_BYTES = 512 };

/* The place of a finding. -1 or NULL means not known, or not applicable. */
struct check_place {
    int64_t rank, thread;
    uint64_t location, time;
    bool has_location, has_time;
    const char *record; /* kind of the event or definition */
};

struct check_finding {
    enum check_rule rule;
    struct check_place place;
    char record[32];
    char text[CHECK_TEXT_BYTES];
};

struct check_figures {
    uint64_t processes, locations, definitions, events, enters, user_enters, samples, sends, send_bytes, receives,
        recv_bytes, messages, collective_calls, collectives, rma_operations, io_operations;
    uint64_t found[RULE_COUNT];
};

struct check_comm_figures {
    char name[CHECK_NAME_BYTES];
    uint64_t sends, send_bytes, receives, recv_bytes, collectives, bytes_in, bytes_out;
};

struct check_listener {
    void (*finding)(const struct check_finding *finding); /* of each rule only the first CHECK_SHOWN_MOST */
    void (*unreadable)(const char *text);                 /* ends the check and does not return */
    void (*comm)(const struct check_comm_figures *comm);
    void (*progress)(uint64_t events);
};

extern struct check_listener check_listener;
extern struct check_figures check_figures;

__attribute__((format(printf, 3, 4))) void check_found(enum check_rule rule, const struct check_place *place,
                                                       const char *format, ...);

__attribute__((noreturn, format(printf, 1, 2))) void check_give_up(const char *format, ...);

#endif
