#include "placement/placement.h"

#include "base/keytable.h"
#include "placement/peers.h"
#include "placement/rankorder.h"
#include "summary/summarycomms.h"
#include "trace/tracereport.h"

#include <stdlib.h>

/* Of the bytes between nodes: an order that saves less is not worth a change. */
#define LEAST_SAVED 0.1

struct traffic {
    struct keyed keyed; /* ranks, the lower one first; or nodes */
    uint64_t messages, bytes;
};

struct placing {
    struct summary *summary;
    struct summary_row **rows; /* by rank */
    struct keytable pairs, links;
};

static int traffic_add(struct keytable *table, uint32_t one, uint32_t other, const struct peer_messages *is)
{
    struct traffic *traffic = keytable_make(table, one, other, sizeof *traffic);
    if (!traffic)
        return -1;
    traffic->messages += is->messages;
    traffic->bytes += is->bytes;
    return 0;
}

static int peers_take(void *data, const struct peer_messages *is)
{
    struct placing *placing = data;
    struct summary_placement *sum = &placing->summary->traced.placement;
    if (is->to < 0) {
        sum->unplaced_bytes += is->bytes;
        return 0;
    }
    struct summary_row *from = placing->rows[is->from], *to = placing->rows[is->to];
    struct summary_comm *comm = summary_comm_of(placing->summary, is->comm);
    bool inside = from->host == to->host;
    *(inside ? &sum->inside_bytes : &sum->between_bytes) += is->bytes;
    *(inside ? &from->inside_bytes : &from->between_bytes) += is->bytes;
    if (comm)
        *(inside ? &comm->inside_bytes : &comm->between_bytes) += is->bytes;
    if (traffic_add(&placing->links, from->host, to->host, is) != 0)
        return -1;
    if (is->from == is->to)
        return 0;
    uint32_t one = (uint32_t)(is->from < is->to ? is->from : is->to);
    return traffic_add(&placing->pairs, one, (uint32_t)(one == (uint32_t)is->from ? is->to : is->from), is);
}

/* Returns 0, or -1 without memory. */
static int links_take(struct placing *placing)
{
    struct summary *summary = placing->summary;
    struct keyed **sorted = keytable_sorted(&placing->links);
    size_t count = placing->links.count;
    summary->links = sorted && count <= SUMMARY_LINKS_MOST ? calloc(count, sizeof *summary->links) : NULL;
    for (size_t i = 0; summary->links && i < count; i++) {
        const struct traffic *is = (const struct traffic *)sorted[i];
        summary->links[i] =
            (struct summary_link){(uint32_t)is->keyed.key[0], (uint32_t)is->keyed.key[1], is->messages, is->bytes};
    }
    summary->link_count = summary->links ? count : 0;
    free(sorted);
    return count && !sorted ? -1 : 0;
}

static void better_take(struct placing *placing, const uint32_t *better, uint64_t bytes)
{
    struct summary *summary = placing->summary;
    struct summary_placement *sum = &summary->traced.placement;
    bool saves = (double)bytes < (1 - LEAST_SAVED) * (double)sum->between_bytes;
    sum->better_bytes = saves ? bytes : sum->between_bytes;
    for (uint32_t r = 0; r < summary->world_size; r++)
        placing->rows[r]->better_host = saves ? better[r] : placing->rows[r]->host;
}

/* Returns 0, or -1 without memory. */
static int order_find(struct placing *placing)
{
    struct summary *summary = placing->summary;
    size_t count = placing->pairs.count, size = summary->world_size;
    struct keyed **sorted = keytable_sorted(&placing->pairs);
    struct rank_pair *pairs = calloc(count + 1, sizeof *pairs);
    uint32_t *hosts = calloc(2 * size, sizeof *hosts), *better = hosts + size;
    int result = pairs && hosts && (sorted || !count) ? 0 : -1;
    for (size_t r = 0; result == 0 && r < size; r++)
        hosts[r] = placing->rows[r]->host;
    for (size_t i = 0; result == 0 && i < count; i++) {
        const struct traffic *is = (const struct traffic *)sorted[i];
        pairs[i] = (struct rank_pair){(uint32_t)is->keyed.key[0], (uint32_t)is->keyed.key[1], is->bytes};
    }
    if (result == 0)
        result = rank_order_find(better, hosts, (uint32_t)size, (uint32_t)summary->host_count, pairs, count);
    if (result == 0)
        better_take(placing, better, rank_pairs_between(pairs, count, better));
    free(sorted);
    free(pairs);
    free(hosts);
    return result;
}

/* Returns false if a rank has no row, or several. */
static bool rows_find(struct placing *placing)
{
    struct summary *summary = placing->summary;
    uint32_t size = summary->world_size;
    placing->rows = summary->row_count == size ? calloc(size + 1, sizeof *placing->rows) : NULL;
    bool all = placing->rows != NULL;
    for (uint32_t r = 0; all && r < size; r++) {
        placing->rows[r] = &summary->rows[r];
        placing->rows[r]->inside_bytes = placing->rows[r]->between_bytes = 0;
        all = summary->rows[r].rank == (int32_t)r;
    }
    for (size_t i = 0; i < summary->comm_count; i++)
        summary->comms[i].inside_bytes = summary->comms[i].between_bytes = 0;
    return all;
}

static bool run_is_there(const struct peers *peers, uint32_t size)
{
    bool all = peers->job.size == (int32_t)size;
    for (uint32_t r = 0; all && r < size; r++)
        all = peers->job.ranks[r].run != NULL;
    return all;
}

void placement_fill(const struct run_job *job)
{
    struct placing placing = {.summary = job->summary};
    struct peers peers;
    if (!job->summary || job->part || job->summary->host_count < 2 || job->file_count < job->summary->world_size ||
        job->summary->world_size > ORDER_RANKS_MOST)
        return;
    struct otf2_report *report = calloc(1, sizeof *report);
    summary_placement_drop(job->summary);
    if (!report || !rows_find(&placing)) {
        free(placing.rows);
        free(report);
        return;
    }
    int result = peers_open(&peers, job, report);
    if (result == 0 && run_is_there(&peers, job->summary->world_size) &&
        peers_walk(&peers, job, report, &placing, peers_take) == 0 && links_take(&placing) == 0 &&
        order_find(&placing) == 0)
        job->summary->traced.placement.known = 1;
    else
        summary_placement_drop(job->summary);
    peers_release(&peers);
    keytable_release(&placing.pairs, NULL);
    keytable_release(&placing.links, NULL);
    free(placing.rows);
    free(report);
}
