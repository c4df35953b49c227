/*
 * What has two ends: messages, requests, collectives and communicators. Events are counted as they are read; whether
 * the ends agree is judged when all have been.
 */
#ifndef MPIT_INTEGRATION_CHECKEDMATCHES_H
#define MPIT_INTEGRATION_CHECKEDMATCHES_H

#include "checkedarchive.h"

/* Returns the message's cell, or NULL. */
struct cell *send_count(struct location *location, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes);
void receive_count(struct location *location, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes);

/* `counter` of the request goes up; `kind` 0: any. */
struct cell *request_count(const struct location *location, uint64_t id, uint64_t kind, int counter,
                           OTF2_TimeStamp time);

/* The end of a collective, blocking or not. */
void collective_count(struct location *location, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root,
                      uint64_t bytes_in, uint64_t bytes_out);

/* `counter`: CREATES or DESTROYS. */
void handle_count(struct location *location, OTF2_CommRef comm, int counter);

void matches_check(void);

#endif
