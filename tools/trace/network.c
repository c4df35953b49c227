#include "trace/network.h"

#include <stdlib.h>

enum { SMALL_BYTES = 1 << 10, LARGE_BYTES = 1 << 16, ASKED_LATENCIES = 3 };

bool network_is_between(const struct trace_job *job, int32_t one, int32_t other)
{
    return one != other && (job->host_count < 2 || job->ranks[one].host != job->ranks[other].host);
}

unsigned network_rounds(const struct trace_job *job, const struct trace_comm *comm)
{
    size_t places = 0;
    bool *seen = job->host_count > 1 ? calloc(job->host_count, sizeof *seen) : NULL;
    for (int32_t i = 0; comm->members && i < comm->size; i++) {
        bool *host = seen ? &seen[job->ranks[comm->members[i]].host] : NULL;
        places += !host || !*host;
        if (host)
            *host = true;
    }
    free(seen);
    unsigned rounds = 0;
    while (places > (size_t)1 << rounds)
        rounds++;
    return rounds;
}

/* Keeps each step-th message. If there is no room, every second one goes. */
static void large_add(struct network *network, uint64_t bytes, uint64_t ns)
{
    network->step = network->step ? network->step : 1;
    if (network->count == NETWORK_KEPT * network->step) {
        for (size_t i = 0; i < NETWORK_KEPT / 2; i++)
            network->large[i] = network->large[2 * i];
        network->step *= 2;
    }
    if (network->count % network->step == 0)
        network->large[network->count / network->step] = (struct large_message){ns, bytes};
    network->count++;
}

void network_add(struct network *network, uint64_t bytes, uint64_t ns)
{
    if (bytes < SMALL_BYTES && ns && (!network->latency_ns || ns < network->latency_ns))
        network->latency_ns = ns;
    if (bytes >= LARGE_BYTES)
        large_add(network, bytes, ns);
}

static int byte_ns_order(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

double network_byte_ns(const struct network *network)
{
    double each[NETWORK_KEPT], asked = (double)(ASKED_LATENCIES * network->latency_ns);
    size_t count = network->step ? (size_t)((network->count + network->step - 1) / network->step) : 0;
    for (size_t i = 0; i < count; i++)
        each[i] = ((double)network->large[i].ns - asked) / (double)network->large[i].bytes;
    if (count)
        qsort(each, count, sizeof *each, byte_ns_order);
    return count && each[count / 2] > 0 ? each[count / 2] : 0;
}
