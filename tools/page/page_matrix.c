/* Messages and bytes for each pair of ranks, from the counters that each process has for its peers. They do not need a
 * trace. */
#include "page/page.h"

#include "figures/figures.h"
#include "base/keytable.h"
#include "trace/tracecomms.h"
#include "trace/tracereport.h"

#include <stdlib.h>
#include <string.h>

struct matrix_pair {
    struct keyed keyed; /* row of the sender, row of the receiver */
    uint64_t messages, bytes;
};

struct matrix {
    struct trace_job job;
    struct trace_comms comms;
    struct page_rows rows;
    struct keytable pairs;
    uint64_t messages, bytes;                   /* all */
    uint64_t unplaced_messages, unplaced_bytes; /* of these: with an unknown receiver */
};

/* Returns the world rank of a peer in this process's communicator, or -1 if it is not known. */
static int32_t peer_find(const struct matrix *matrix, int32_t rank, const struct comm_record *record, uint32_t peer)
{
    uint32_t number = trace_comm_find(&matrix->comms, &matrix->job, rank, record->slot);
    if (number == NO_COMM)
        return -1;
    const struct trace_comm *comm = &matrix->comms.list[number];
    if (comm->self)
        return rank;
    bool far_side = comm->inter &&
                    (record->rank >= comm->size || comm->members[record->rank] != rank); /* its peers are `members` */
    const int32_t *peers = comm->inter && !far_side ? comm->remote : comm->members;
    int32_t count = comm->inter && !far_side ? comm->remote_size : comm->size;
    return peer < (uint32_t)count ? peers[peer] : -1;
}

static int pair_add(struct matrix *matrix, int32_t from, int32_t to, uint64_t messages, uint64_t bytes)
{
    matrix->messages += messages;
    matrix->bytes += bytes;
    if (to < 0) {
        matrix->unplaced_messages += messages;
        matrix->unplaced_bytes += bytes;
        return 0;
    }
    struct matrix_pair *pair = keytable_make(&matrix->pairs, (uint32_t)from / matrix->rows.per_row,
                                             (uint32_t)to / matrix->rows.per_row, sizeof *pair);
    if (!pair)
        return -1;
    pair->messages += messages;
    pair->bytes += bytes;
    return 0;
}

/* A process has counters for its peers on few of its communicators. */
static bool has_peers(const struct run_reader *run, uint32_t slot)
{
    for (size_t i = run->comm_blocks[slot]; i < run->comm_blocks[slot + 1]; i++)
        if (run->blocks[i].kind == BLOCK_PEERS)
            return true;
    return false;
}

static int comm_peers_add(struct matrix *matrix, int32_t rank, const struct run_reader *run,
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
            result = pair_add(matrix, rank, comm->is_sum ? -1 : peer_find(matrix, rank, run->comms[comm->slot], peer),
                              counts[peer], bytes[peer]);
    free(counts);
    return result;
}

static int rank_messages_add(struct matrix *matrix, const struct run_job *job, int32_t rank, struct otf2_report *report)
{
    if (!matrix->job.ranks[rank].run)
        return 0;
    if (trace_run_wake(matrix->job.ranks[rank].run, report) != 0)
        return -1;
    size_t file = (size_t)(matrix->job.ranks[rank].run - job->files);
    const struct run_reader *run = run_job_tallies(job, file);
    if (!run)
        return 0;
    const struct figures figures = {run};
    struct figures_comm comm;
    int result = 0;
    for (uint32_t at = 0; result == 0 && figures_comm_next(&figures, &at, &comm);)
        result = comm_peers_add(matrix, rank, run, &comm);
    run_job_tallies_rest(job, file);
    return result == 0 ? 0 : report_no_memory(report);
}

/* For each sender with messages: its row, and then for each receiver the distance to the row before, messages,
 * bytes. */
static json_t *pairs_json(const struct keytable *pairs)
{
    json_t *list = json_array(), *line = NULL;
    uint64_t from = 0, last = 0;
    struct keyed **sorted = keytable_sorted(pairs);
    for (size_t i = 0; sorted && i < pairs->count; i++) {
        const struct matrix_pair *pair = (const struct matrix_pair *)sorted[i];
        if (!line || pair->keyed.key[0] != from) {
            from = pair->keyed.key[0];
            last = 0;
            line = json_array();
            json_array_append_new(line, count_json(from));
            json_array_append_new(list, line);
        }
        json_array_append_new(line, count_json(pair->keyed.key[1] - last));
        json_array_append_new(line, count_json(pair->messages));
        json_array_append_new(line, count_json(pair->bytes));
        last = pair->keyed.key[1];
    }
    if (!sorted && pairs->count) {
        json_decref(list);
        return NULL;
    }
    free(sorted);
    return list;
}

static json_t *matrix_json(const struct matrix *matrix)
{
    json_t *pairs = pairs_json(&matrix->pairs);
    return !pairs ? NULL
                  : json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ranks", count_json(matrix->rows.ranks), "per_row",
                              count_json(matrix->rows.per_row), "messages", count_json(matrix->messages), "bytes",
                              count_json(matrix->bytes), "unplaced_messages", count_json(matrix->unplaced_messages),
                              "unplaced_bytes", count_json(matrix->unplaced_bytes), "pairs", pairs);
}

json_t *page_matrix(const struct run_job *job)
{
    struct otf2_report *report = calloc(1, sizeof *report);
    struct matrix *matrix = calloc(1, sizeof *matrix);
    json_t *json = NULL;
    int result = report && matrix ? 0 : -1;
    if (result == 0 && !job->file_count) {
        json = page_unknown_files(job);
    } else if (result == 0) {
        result = trace_job_open_tallies(&matrix->job, job->files, job->file_count, report);
        if (result == 0)
            result = trace_comms_open(&matrix->comms, &matrix->job, report);
        matrix->rows = page_rows_of(matrix->job.size > 0 ? (uint32_t)matrix->job.size : 1);
        for (int32_t rank = 0; rank < matrix->job.size && result == 0; rank++)
            result = rank_messages_add(matrix, job, rank, report);
        json = result == 0 ? matrix_json(matrix) : page_unknown(report->error);
        trace_comms_release(&matrix->comms);
        trace_job_release(&matrix->job);
        keytable_release(&matrix->pairs, NULL);
    }
    free(matrix);
    free(report);
    return json;
}
