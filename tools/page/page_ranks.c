/*
 * The activity of each rank. Run files have all figures that the summary has for all ranks together. Without them, the
 * summary has a row for each rank, with the most important ones.
 */
#include "page/page.h"

#include "calls.h"
#include "format/label.h"
#include "page/page_sites.h"
#include "summary/summary.h"

#include <stdlib.h>

enum rank_figure {
    FIGURE_THREADS,
    FIGURE_STALL_NS,
    FIGURE_SEND_COUNT,
    FIGURE_SEND_BYTES,
    FIGURE_RECV_COUNT,
    FIGURE_RECV_BYTES,
    FIGURE_MEMORY_BYTES, /* the most of a rank in the row */
    FIGURE_COLL_COUNT,
    FIGURE_COLL_BYTES,
    FIGURES
};

static const char *const figure_keys[FIGURES] = {"threads",    "stall_ns",     "send_count", "send_bytes", "recv_count",
                                                 "recv_bytes", "memory_bytes", "coll_count", "coll_bytes"};

/* A function on the ranks of a row. */
struct row_call {
    uint64_t count, time_ns, stall_ns;
};
enum { ROW_CALL_STEP = sizeof(struct row_call) / sizeof(uint64_t) };

/* A row: the ranks in it that have a file, and their figures. */
struct rank_row {
    uint64_t members;
    double run_seconds, mpi_seconds, thread_seconds; /* the last: recorded ones for each thread */
    uint64_t figures[FIGURES];
    const char *host; /* if a row is a rank */
};
enum { ROW_STEP = sizeof(struct rank_row) / sizeof(uint64_t) };
_Static_assert(sizeof(double) == sizeof(uint64_t), "a row has members of one size");

struct rank_table {
    struct page_rows rows;
    struct rank_row *list;
    struct row_call *calls[CALL_COUNT];     /* by row, or NULL if it was never called */
    struct rank_spread spreads[CALL_COUNT]; /* over all ranks, including ranks that did not call it */
    struct site_spreads sites;
    uint64_t known;
    bool stalls_known;
    bool from_rows; /* of the summary */
};

struct page_rows page_rows_of(uint32_t ranks)
{
    uint64_t all = ranks; /* a damaged summary may have 2^32 - 1 */
    uint64_t per_row = all > PAGE_ROWS ? (all + PAGE_ROWS - 1) / PAGE_ROWS : 1;
    return (struct page_rows){ranks, (uint32_t)per_row, (uint32_t)((all + per_row - 1) / per_row)};
}

static int calls_add(struct rank_table *table, const struct summary *part, int32_t rank, uint32_t row)
{
    for (size_t kind = 1; kind < CALL_COUNT; kind++) {
        const struct summary_call *call = &part->calls[kind];
        rank_spread_add(&table->spreads[kind], call->time_ns, rank, table->known == 0, call->count != 0);
        if (!call->count)
            continue;
        if (!table->calls[kind] && !(table->calls[kind] = calloc(table->rows.count, sizeof(struct row_call))))
            return -1;
        struct row_call *sum = &table->calls[kind][row];
        sum->count += call->count;
        sum->time_ns += call->time_ns;
        sum->stall_ns += part->call_stall_ns[kind];
        if (!call_is_end((unsigned)kind))
            table->list[row].figures[FIGURE_STALL_NS] += part->call_stall_ns[kind];
    }
    return 0;
}

static void memory_take(uint64_t *figures, const struct summary_row *row)
{
    if (row->memory.peak_bytes > figures[FIGURE_MEMORY_BYTES])
        figures[FIGURE_MEMORY_BYTES] = row->memory.peak_bytes;
}

static int page_rank_add(struct rank_table *table, const struct summary *part, const struct run_header *header)
{
    uint32_t row = (uint32_t)header->world_rank / table->rows.per_row;
    struct rank_row *into = &table->list[row];
    uint64_t *figures = into->figures;
    if (calls_add(table, part, header->world_rank, row) != 0)
        return -1;
    site_spreads_add(&table->sites, part, header->world_rank);
    table->stalls_known = table->stalls_known || part->stall_known;
    table->known++;
    into->members++;
    into->run_seconds += part->run_seconds.sum;
    into->mpi_seconds += part->mpi_seconds.sum;
    into->thread_seconds += part->recorded_seconds.sum * (double)part->threads;
    figures[FIGURE_THREADS] += part->threads;
    if (part->row_count)
        memory_take(figures, &part->rows[0]);
    for (size_t i = 0; i < part->comm_count; i++) {
        const struct summary_comm *comm = &part->comms[i];
        figures[FIGURE_SEND_COUNT] += comm->send_count;
        figures[FIGURE_SEND_BYTES] += comm->send_bytes;
        figures[FIGURE_RECV_COUNT] += comm->recv_count;
        figures[FIGURE_RECV_BYTES] += comm->recv_bytes;
        figures[FIGURE_COLL_COUNT] += comm->coll_count;
        figures[FIGURE_COLL_BYTES] += comm->coll_bytes;
    }
    if (table->rows.per_row == 1)
        into->host = header->host;
    return 0;
}

static int table_fill(struct rank_table *table, const struct run_job *job)
{
    struct summary *part = malloc(sizeof *part);
    int result = part ? 0 : -1;
    for (size_t i = 0; i < job->file_count && result == 0; i++) {
        const struct run_header *header = &job->files[i].header;
        if (header->world_rank < 0 || (uint32_t)header->world_rank >= table->rows.ranks)
            continue;
        const struct run_reader *run = run_job_tallies(job, i);
        if (!run)
            continue;
        result = summary_of_run(part, run) ?: page_rank_add(table, part, header);
        summary_release(part);
        run_job_tallies_rest(job, i);
    }
    free(part);
    return result;
}

/* A row has the figures of a rank that the summary shows. A process that was killed early has none. */
static void row_take(struct rank_table *table, const struct summary *summary, const struct summary_row *from)
{
    struct rank_row *row = &table->list[(uint32_t)from->rank / table->rows.per_row];
    table->known++;
    row->members++;
    row->run_seconds += (double)from->run_ns * 1e-9;
    row->mpi_seconds += (double)from->mpi_ns * 1e-9;
    row->thread_seconds += (double)row_recorded_ns(from) * 1e-9 * (double)from->threads;
    row->figures[FIGURE_THREADS] += from->threads;
    row->figures[FIGURE_STALL_NS] += from->stall_ns;
    row->figures[FIGURE_SEND_COUNT] += from->sent;
    row->figures[FIGURE_SEND_BYTES] += from->sent_bytes;
    row->figures[FIGURE_RECV_COUNT] += from->received;
    row->figures[FIGURE_RECV_BYTES] += from->received_bytes;
    memory_take(row->figures, from);
    if (table->rows.per_row == 1)
        row->host = summary->hosts[from->host].name;
}

static bool rank_has_figures(const struct rank_table *table, const struct summary_row *row)
{
    return row->threads && row->rank >= 0 && (uint32_t)row->rank < table->rows.ranks;
}

/* Returns whether more ranks have a row with figures than a file. */
static bool rows_know_more(const struct rank_table *table, const struct run_job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->summary->row_count; i++)
        count += rank_has_figures(table, &job->summary->rows[i]);
    return count > job->file_count && !(job->part && job->part->anew);
}

static void page_rows_take(struct rank_table *table, const struct summary *summary)
{
    table->from_rows = true;
    table->stalls_known = summary->stall_known;
    for (size_t i = 0; i < summary->row_count; i++)
        if (rank_has_figures(table, &summary->rows[i]))
            row_take(table, summary, &summary->rows[i]);
}

/* A member of all rows. */
static json_t *reals_json(const double *list, size_t count)
{
    return JSON_LIST(i, count, figure_json(list[i * ROW_STEP]));
}

const char *page_class_key(unsigned call_class)
{
    static const char *const keys[CLASS_COUNT] = {[CLASS_PROCESS] = "process",
                                                  [CLASS_P2P] = "p2p",
                                                  [CLASS_COMPLETION] = "completion",
                                                  [CLASS_COLLECTIVE] = "collective",
                                                  [CLASS_COMMUNICATOR] = "communicator",
                                                  [CLASS_RMA] = "rma",
                                                  [CLASS_IO] = "io",
                                                  [CLASS_OTHER] = "other"};
    return keys[call_class];
}

static json_t *call_spread_json(const struct rank_table *table, size_t kind)
{
    const struct rank_spread *spread = &table->spreads[kind];
    const uint64_t *cells = (const uint64_t *)table->calls[kind];
    size_t rows = table->rows.count;
    return json_pack("{s:s, s:s, s:o, s:f, s:o, s:i, s:o, s:i, s:o, s:o, s:o}", "name", call_table[kind].name, "class",
                     page_class_key(call_table[kind].class), "ranks", count_json(spread->ranks), "mean_ns",
                     (double)spread->sum_ns / (double)table->known, "min_ns", count_json(spread->min_ns), "min_rank",
                     (int)spread->min_rank, "max_ns", count_json(spread->max_ns), "max_rank", (int)spread->max_rank,
                     "count", page_counts(cells, rows, ROW_CALL_STEP), "time_ns",
                     page_counts(cells + 1, rows, ROW_CALL_STEP), "stall_ns",
                     page_counts(cells + 2, rows, ROW_CALL_STEP));
}

static bool figure_is_known(const struct rank_table *table, enum rank_figure figure)
{
    if (figure == FIGURE_STALL_NS)
        return table->stalls_known;
    return !table->from_rows || figure < FIGURE_COLL_COUNT; /* rows have no collectives */
}

static json_t *hosts_json(const struct rank_table *table)
{
    char clean[2 * sizeof(((struct run_header *)0)->host)];
    json_t *array = json_array();
    for (size_t i = 0; i < table->rows.count; i++) {
        const char *host = table->list[i].host;
        label_clean(clean, sizeof clean, host ? host : "", sizeof clean / 2);
        json_array_append_new(array, host ? json_string(clean) : json_null());
    }
    return array;
}

/* `anew` means a part of the calls. The time without calls is then not known. */
static json_t *rank_table_json(const struct rank_table *table, bool anew)
{
    json_t *object = json_object(), *functions = json_array();
    size_t rows = table->rows.count;
    json_object_set_new(object, "ranks", count_json(table->rows.ranks));
    json_object_set_new(object, "known", count_json(table->known));
    json_object_set_new(object, "from", json_string(table->from_rows ? "summary" : "files"));
    json_object_set_new(object, "per_row", count_json(table->rows.per_row));
    json_object_set_new(object, "members", page_counts(&table->list->members, rows, ROW_STEP));
    if (table->rows.per_row == 1)
        json_object_set_new(object, "hosts", hosts_json(table));
    json_object_set_new(object, "run_seconds", anew ? json_null() : reals_json(&table->list->run_seconds, rows));
    json_object_set_new(object, "mpi_seconds", reals_json(&table->list->mpi_seconds, rows));
    json_object_set_new(object, "thread_seconds", anew ? json_null() : reals_json(&table->list->thread_seconds, rows));
    for (size_t i = 0; i < FIGURES; i++)
        json_object_set_new(object, figure_keys[i],
                            figure_is_known(table, i) ? page_counts(&table->list->figures[i], rows, ROW_STEP)
                                                      : json_null());
    for (size_t kind = 1; kind < CALL_COUNT; kind++)
        if (table->calls[kind])
            json_array_append_new(functions, call_spread_json(table, kind));
    json_object_set_new(object, "functions", functions);
    json_object_set_new(object, "callsites", table->from_rows ? json_null() : site_spreads_json(&table->sites));
    return object;
}

static void table_release(struct rank_table *table)
{
    for (size_t kind = 0; kind < CALL_COUNT; kind++)
        free(table->calls[kind]);
    site_spreads_release(&table->sites);
    free(table->list);
    free(table);
}

json_t *page_ranks(const struct run_job *job)
{
    uint32_t ranks = job->summary->world_size;
    for (size_t i = 0; i < job->file_count; i++)
        if (job->files[i].header.world_rank >= 0 && (uint32_t)job->files[i].header.world_rank >= ranks)
            ranks = (uint32_t)job->files[i].header.world_rank + 1;
    struct rank_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->rows = page_rows_of(ranks);
    table->list = calloc(table->rows.count + (size_t)1, sizeof *table->list);
    json_t *json = NULL;
    bool ready = table->list && site_spreads_open(&table->sites, job->summary) == 0;
    if (ready && rows_know_more(table, job))
        page_rows_take(table, job->summary);
    else
        ready = ready && table_fill(table, job) == 0;
    if (ready)
        json = table->known ? rank_table_json(table, job->part && job->part->anew) : page_unknown_files(job);
    table_release(table);
    return json;
}
