/*
 * The network of a job, as its messages show it: from the begin of a send to the end of the receive that waited for it.
 *
 * Latency is the time of the fastest message below 1 KiB. Messages from 64 KiB on ask their receiver first, which takes three
 * latencies. The rest of their time, divided by their bytes, is the time of a byte: the median. Only messages between hosts
 * count, or all of them if the job has one host.
 *
 * The time of messages of about one size, inside of hosts and between them, is the median.
 */
#ifndef MPIT_TOOLS_NETWORK_H
#define MPIT_TOOLS_NETWORK_H

#include "figures/bucket.h"
#include "trace/tracecomms.h"

#include <stdbool.h>
#include <stdint.h>

enum { NETWORK_KEPT = 512, TRANSFERS_KEPT = 64 };

/* Of a row, each step-th one is kept. */
struct sampling {
    uint64_t count, step; /* step 0: the first one comes next */
};

struct network {
    uint64_t latency_ns; /* 0: not known */
    struct large_message {
        uint64_t ns, bytes;
    } large[NETWORK_KEPT];
    struct sampling kept;
    struct transfers {
        float ns[TRANSFERS_KEPT];
        struct sampling kept;
        uint64_t bytes;           /* of all */
    } transfers[2][BUCKET_COUNT]; /* inside of hosts, between them; by size */
};

/* Returns whether a message between these ranks counts. */
bool network_is_between(const struct trace_job *job, int32_t one, int32_t other);
/* The rounds of messages between hosts that a collective of all members needs, at least: log2 of the number of hosts, rounded
 * up. If the job has one host: of ranks. */
unsigned network_rounds(const struct trace_job *job, const struct trace_comm *comm);
/* The same if ranks were on these hosts, below host_count. */
unsigned network_rounds_on(const uint32_t *hosts, size_t host_count, const struct trace_comm *comm);
/* A message of two ranks, for which its receive waited. */
void network_add(struct network *network, const struct trace_job *job, int32_t one, int32_t other,
                 struct large_message message);
/* 0: not known. */
double network_byte_ns(const struct network *network);

/* The usual times of messages inside of hosts and between them, by size. */
struct transfer_times {
    double ns[2][BUCKET_COUNT]; /* below 0: no message tells, */
    double bytes[2][BUCKET_COUNT];
};

void transfer_times_find(struct transfer_times *times, const struct network *network);
/* The time of a message. Below 0: no message tells. Between two sizes that are known it grows with the bytes. A message that is
 * smaller than all takes as long as the smallest. */
double transfer_ns(const struct transfer_times *times, bool between, uint64_t bytes);

#endif
