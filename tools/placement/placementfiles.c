#include "placement/placementfiles.h"

#include "placement/placement.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

static const char *host_of(const struct summary *summary, size_t rank)
{
    return summary->hosts[summary->rows[rank].better_host].name;
}

/* Each rank gets a core, or one for each thread of OpenMP. `seen`: by node, how many have been given. */
static void rankfile_put(const struct summary *summary, uint32_t *seen, FILE *out)
{
    for (size_t r = 0; r < summary->row_count; r++) {
        uint32_t *first = &seen[summary->rows[r].better_host];
        uint32_t threads = (uint32_t)summary->rows[r].openmp.threads;
        fprintf(out, "rank %zu=%s slot=%" PRIu32, r, host_of(summary, r), *first);
        if (threads > 1)
            fprintf(out, "-%" PRIu32, *first + threads - 1);
        fputc('\n', out);
        *first += threads > 1 ? threads : 1;
    }
}

static void host_list_put(const struct summary *summary, uint32_t *seen, FILE *out)
{
    (void)seen;
    for (size_t r = 0; r < summary->row_count; r++)
        fprintf(out, "%s\n", host_of(summary, r));
}

/* Nodes come in the order of their lowest ranks in the run. */
static void cray_order_put(const struct summary *summary, uint32_t *seen, FILE *out)
{
    const char *comma = "";
    for (size_t first = 0; first < summary->row_count; first++) {
        uint32_t host = summary->rows[first].host;
        for (size_t r = 0; !seen[host] && r < summary->row_count; r++) {
            if (summary->rows[r].better_host != host)
                continue;
            fprintf(out, "%s%zu", comma, r);
            comma = ",";
        }
        seen[host] = 1;
    }
    fputc('\n', out);
}

static int order_file_write(const struct summary *summary, const char *directory, const char *name,
                            void (*put)(const struct summary *summary, uint32_t *seen, FILE *out),
                            char error[OUTPUT_ERROR_BYTES])
{
    uint32_t *seen = calloc(summary->host_count + 1, sizeof *seen);
    FILE *out = seen ? output_file_open_in(directory, name, error) : NULL;
    if (!seen)
        snprintf(error, OUTPUT_ERROR_BYTES, "no memory");
    if (out)
        put(summary, seen, out);
    free(seen);
    return out ? output_file_close_in(out, directory, name, error) : -1;
}

/* Returns NULL, or why there is nothing to write. */
static const char *order_obstacle(const struct summary *summary)
{
    if (!summary || summary->host_count < 2)
        return "the job ran on one node";
    if (!summary->traced.placement.known)
        return "the messages of its ranks by peer are not known; mpit-run --trace keeps them";
    for (size_t i = 0; i < summary->host_count; i++)
        if (!summary->hosts[i].name[0] ||
            strspn(summary->hosts[i].name, HOST_CHARACTERS) != strlen(summary->hosts[i].name))
            return "a node has a name that is not one of a host";
    return placement_is_better(&summary->traced.placement)
               ? NULL
               : "no order was found that saves more than a tenth of the bytes between nodes";
}

int placement_files_write(const struct run_job *job, const char *directory, char error[OUTPUT_ERROR_BYTES])
{
    const char *why = order_obstacle(job->summary);
    if (why)
        snprintf(error, OUTPUT_ERROR_BYTES, "%s", why);
    return why || output_directory_make(directory, error) != 0 ||
                   order_file_write(job->summary, directory, "rankfile", rankfile_put, error) != 0 ||
                   order_file_write(job->summary, directory, "hosts", host_list_put, error) != 0 ||
                   order_file_write(job->summary, directory, "MPICH_RANK_ORDER", cray_order_put, error) != 0
               ? -1
               : 0;
}
