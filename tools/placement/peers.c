#include "placement/peers.h"

#include "figures/figures.h"
#include "trace/tracereport.h"

#include <stdlib.h>

/* Returns the world rank of a peer in this process's communicator, or -1 if it is not known. */
static int32_t peer_find(const struct peers *peers, int32_t rank, const struct comm_record *record, uint32_t peer)
{
    uint32_t number = trace_comm_find(&peers->comms, &peers->job, rank, record->slot);
    if (number == NO_COMM)
        return -1;
    const struct trace_comm *comm = &peers->comms.list[number];
    if (comm->self)
        return rank;
    bool far_side = comm->inter &&
                    (record->rank >= comm->size || comm->members[record->rank] != rank); /* its peers are `members` */
    const int32_t *members = comm->inter && !far_side ? comm->remote : comm->members;
    int32_t count = comm->inter && !far_side ? comm->remote_size : comm->size;
    return peer < (uint32_t)count ? members[peer] : -1;
}

/* A process has counters for its peers on few of its communicators. */
static bool has_peers(const struct run_reader *run, uint32_t slot)
{
    for (size_t i = run->comm_blocks[slot]; i < run->comm_blocks[slot + 1]; i++)
        if (run->blocks[i].kind == BLOCK_PEERS)
            return true;
    return false;
}

struct peer_walk {
    const struct peers *peers;
    const struct run_job *job;
    void *data;
    int (*take)(void *data, const struct peer_messages *messages);
};

static int comm_peers_walk(const struct peer_walk *walk, int32_t rank, const struct run_reader *run,
                           const struct figures_comm *comm)
{
    const struct figures figures = {run};
    size_t peers = comm->peers > 0 && comm->peers <= WORLD_SIZE_MAX ? (size_t)comm->peers : 0;
    if (!peers || !has_peers(run, comm->slot))
        return 0;
    uint64_t *counts = calloc(2 * peers, sizeof *counts), *bytes = counts + peers;
    int result = counts ? 0 : -1;
    if (result == 0) {
        figures_read(&figures, "mpit_peer_send_count", VARIABLE_COUNTER, comm, counts, peers);
        figures_read(&figures, "mpit_peer_send_bytes", VARIABLE_AGGREGATE, comm, bytes, peers);
    }
    for (uint32_t peer = 0; peer < peers && result == 0; peer++)
        if (counts[peer] || bytes[peer])
            result = walk->take(
                walk->data, &(struct peer_messages){
                                .from = rank,
                                .to = comm->is_sum ? -1 : peer_find(walk->peers, rank, run->comms[comm->slot], peer),
                                .comm = comm->name,
                                .messages = counts[peer],
                                .bytes = bytes[peer]});
    free(counts);
    return result;
}

static int rank_peers_walk(const struct peer_walk *walk, int32_t rank, struct otf2_report *report)
{
    const struct trace_rank *is = &walk->peers->job.ranks[rank];
    if (!is->run)
        return 0;
    if (trace_run_wake(is->run, report) != 0)
        return -1;
    size_t file = (size_t)(is->run - walk->job->files);
    const struct run_reader *run = run_job_tallies(walk->job, file);
    if (!run)
        return 0;
    const struct figures figures = {run};
    struct figures_comm comm;
    int result = 0;
    for (uint32_t at = 0; result == 0 && figures_comm_next(&figures, &at, &comm);)
        result = comm_peers_walk(walk, rank, run, &comm);
    run_job_tallies_rest(walk->job, file);
    return result == 0 ? 0 : report_no_memory(report);
}

int peers_open(struct peers *peers, const struct run_job *job, struct otf2_report *report)
{
    *peers = (struct peers){.job = {.job = 0}};
    int result = trace_job_open_tallies(&peers->job, job->files, job->file_count, report);
    return result == 0 ? trace_comms_open(&peers->comms, &peers->job, report) : result;
}

void peers_release(struct peers *peers)
{
    trace_comms_release(&peers->comms);
    trace_job_release(&peers->job);
}

int peers_walk(const struct peers *peers, const struct run_job *job, struct otf2_report *report, void *data,
               int (*take)(void *data, const struct peer_messages *messages))
{
    const struct peer_walk walk = {peers, job, data, take};
    int result = 0;
    for (int32_t rank = 0; rank < peers->job.size && result == 0; rank++)
        result = rank_peers_walk(&walk, rank, report);
    return result;
}
