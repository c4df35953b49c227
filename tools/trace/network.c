#include "trace/network.h"

#include "base/array.h"

#include <stdlib.h>

enum { SMALL_BYTES = 1 << 10, LARGE_BYTES = 1 << 16, ASKED_LATENCIES = 3, TRANSFERS_LEAST = 4 };

bool network_is_between(const struct trace_job *job, int32_t one, int32_t other)
{
    return one != other && (job->host_count < 2 || job->ranks[one].host != job->ranks[other].host);
}

unsigned network_rounds_on(const uint32_t *hosts, size_t host_count, const struct trace_comm *comm)
{
    size_t places = 0;
    bool *seen = host_count > 1 ? calloc(host_count, sizeof *seen) : NULL;
    for (int32_t i = 0; comm->members && i < comm->size; i++) {
        bool *host = seen ? &seen[hosts[comm->members[i]]] : NULL;
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

unsigned network_rounds(const struct trace_job *job, const struct trace_comm *comm)
{
    uint32_t *hosts = calloc((size_t)job->size + 1, sizeof *hosts);
    for (int32_t r = 0; hosts && r < job->size; r++)
        hosts[r] = job->ranks[r].host;
    unsigned rounds = hosts ? network_rounds_on(hosts, job->host_count, comm) : 0;
    free(hosts);
    return rounds;
}

/* Returns the place of the next one. If there is no room, every second one goes, and *halves is true. `room`: it is not kept. */
static size_t sampling_next(struct sampling *is, size_t room, bool *halves)
{
    is->step = is->step ? is->step : 1;
    *halves = is->count == room * is->step;
    is->step *= *halves ? 2 : 1;
    uint64_t number = is->count++;
    return number % is->step == 0 ? number / is->step : room;
}

static size_t sampling_kept(const struct sampling *is)
{
    return is->step ? (size_t)((is->count + is->step - 1) / is->step) : 0;
}

static void large_add(struct network *network, struct large_message message)
{
    bool halves;
    size_t place = sampling_next(&network->kept, NETWORK_KEPT, &halves);
    for (size_t i = 0; halves && i < NETWORK_KEPT / 2; i++)
        network->large[i] = network->large[2 * i];
    if (place < NETWORK_KEPT)
        network->large[place] = message;
}

static void transfer_add(struct transfers *to, struct large_message message)
{
    bool halves;
    size_t place = sampling_next(&to->kept, TRANSFERS_KEPT, &halves);
    for (size_t i = 0; halves && i < TRANSFERS_KEPT / 2; i++)
        to->ns[i] = to->ns[2 * i];
    if (place < TRANSFERS_KEPT)
        to->ns[place] = (float)message.ns;
    to->bytes += message.bytes;
}

void network_add(struct network *network, const struct trace_job *job, int32_t one, int32_t other,
                 struct large_message message)
{
    if (one == other)
        return;
    transfer_add(&network->transfers[job->ranks[one].host != job->ranks[other].host][bucket_of(message.bytes)],
                 message);
    if (!network_is_between(job, one, other))
        return;
    if (message.bytes < SMALL_BYTES && message.ns && (!network->latency_ns || message.ns < network->latency_ns))
        network->latency_ns = message.ns;
    if (message.bytes >= LARGE_BYTES)
        large_add(network, message);
}

double network_byte_ns(const struct network *network)
{
    double each[NETWORK_KEPT], asked = (double)(ASKED_LATENCIES * network->latency_ns);
    size_t count = sampling_kept(&network->kept);
    for (size_t i = 0; i < count; i++)
        each[i] = ((double)network->large[i].ns - asked) / (double)network->large[i].bytes;
    if (count)
        qsort(each, count, sizeof *each, double_order);
    return count && each[count / 2] > 0 ? each[count / 2] : 0;
}

/* ---- times by size ----------------------------------------------------------------------------------------------- */

static double transfers_median(const struct transfers *transfers)
{
    double each[TRANSFERS_KEPT];
    size_t count = sampling_kept(&transfers->kept);
    for (size_t i = 0; i < count; i++)
        each[i] = (double)transfers->ns[i];
    qsort(each, count, sizeof *each, double_order);
    return each[count / 2];
}

void transfer_times_find(struct transfer_times *times, const struct network *network)
{
    for (unsigned between = 0; between < 2; between++)
        for (unsigned i = 0; i < BUCKET_COUNT; i++) {
            const struct transfers *is = &network->transfers[between][i];
            times->ns[between][i] = is->kept.count >= TRANSFERS_LEAST ? transfers_median(is) : -1;
            times->bytes[between][i] = is->kept.count ? (double)is->bytes / (double)is->kept.count : 0;
        }
}

double transfer_ns(const struct transfer_times *times, bool between, uint64_t bytes)
{
    const double *ns = times->ns[between], *sizes = times->bytes[between];
    unsigned own = bucket_of(bytes), lower = own, upper = own;
    while (lower > 0 && ns[lower] < 0)
        lower--;
    while (upper < BUCKET_COUNT && ns[upper] < 0)
        upper++;
    if (ns[lower] < 0)
        return upper < BUCKET_COUNT ? ns[upper] : -1;
    if ((own == lower && bytes < LARGE_BYTES) || bytes < SMALL_BYTES)
        return ns[lower];
    if (own != lower && upper < BUCKET_COUNT)
        return ns[lower] + ((double)bytes - sizes[lower]) * (ns[upper] - ns[lower]) / (sizes[upper] - sizes[lower]);
    return sizes[lower] >= LARGE_BYTES ? ns[lower] * (double)bytes / sizes[lower] : -1;
}
