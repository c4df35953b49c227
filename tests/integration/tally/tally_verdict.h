/*
 * The verdict: what did not agree, said on stdout, and how often.
 */
#ifndef TALLY_VERDICT_H
#define TALLY_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

void verdict_open(int rank);

/* A figure of a communicator (or of the process). Says nothing when they agree. */
void verdict_figure(const char *comm, const char *variable, const char *slot, uint64_t mpit, uint64_t program);

/* Any other promise. */
void verdict_check(bool kept, const char *format, ...) __attribute__((format(printf, 2, 3)));

uint64_t verdict_compared(void);
uint64_t verdict_failures(void);

#endif
