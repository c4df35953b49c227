/* Messages and bytes for each pair of ranks, from the counters that each process has for its peers. They do not need a
 * trace. */
#include "page/page.h"

#include "base/keytable.h"
#include "placement/peers.h"

#include <stdlib.h>

struct matrix_pair {
    struct keyed keyed; /* row of the sender, row of the receiver */
    uint64_t messages, bytes;
};

struct matrix {
    struct page_rows rows;
    struct keytable pairs;
    uint64_t messages, bytes;                   /* all */
    uint64_t unplaced_messages, unplaced_bytes; /* of these: with an unknown receiver */
};

static int pair_add(void *data, const struct peer_messages *is)
{
    struct matrix *matrix = data;
    matrix->messages += is->messages;
    matrix->bytes += is->bytes;
    if (is->to < 0) {
        matrix->unplaced_messages += is->messages;
        matrix->unplaced_bytes += is->bytes;
        return 0;
    }
    struct matrix_pair *pair = keytable_make(&matrix->pairs, (uint32_t)is->from / matrix->rows.per_row,
                                             (uint32_t)is->to / matrix->rows.per_row, sizeof *pair);
    if (!pair)
        return -1;
    pair->messages += is->messages;
    pair->bytes += is->bytes;
    return 0;
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
        struct peers peers;
        result = peers_open(&peers, job, report);
        matrix->rows = page_rows_of(peers.job.size > 0 ? (uint32_t)peers.job.size : 1);
        if (result == 0)
            result = peers_walk(&peers, job, report, matrix, pair_add);
        json = result == 0 ? matrix_json(matrix) : page_unknown(report->error);
        peers_release(&peers);
        keytable_release(&matrix->pairs, NULL);
    }
    free(matrix);
    free(report);
    return json;
}
