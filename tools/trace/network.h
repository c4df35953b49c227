/*
 * The network of a job, as its messages show it: from the begin of a send to the end of the receive that waited for it.
 *
 * Latency is the time of the fastest message below 1 KiB. Messages from 64 KiB on ask their receiver first, which takes three
 * latencies. The rest of their time, divided by their bytes, is the time of a byte: the median. Only messages between hosts
 * count, or all of them if the job has one host.
 */
#ifndef MPIT_TOOLS_NETWORK_H
#define MPIT_TOOLS_NETWORK_H

#include "trace/tracecomms.h"

#include <stdbool.h>
#include <stdint.h>

enum { NETWORK_KEPT = 512 };

struct network {
    uint64_t latency_ns; /* 0: not known */
    struct large_message {
        uint64_t ns, bytes;
    } large[NETWORK_KEPT]; /* each step-th one */
    uint64_t count, step;  /* step 0: the first one comes next */
};

/* Returns whether a message between these ranks counts. */
bool network_is_between(const struct trace_job *job, int32_t one, int32_t other);
/* The rounds of messages between hosts that a collective of all members needs, at least: log2 of the number of hosts, rounded
 * up. If the job has one host: of ranks. */
unsigned network_rounds(const struct trace_job *job, const struct trace_comm *comm);
void network_add(struct network *network, uint64_t bytes, uint64_t ns);
/* 0: not known. */
double network_byte_ns(const struct network *network);

#endif
