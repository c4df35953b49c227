#include "top/topfinding.h"

#include "top/topmodel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of the interval. An interval is short, so small differences between ranks are noise. */
#define LOST_LEAST 0.05
#define COMMUNICATION_GOOD 0.8
/* From here on "times as long" is clearer than "% longer". */
#define FACTOR_LEAST 1.5
#define FACTOR_MOST 100

/* Writes by how much `longest` is longer than `others`, both the mean of several ranks. */
static void longer_text(char *text, size_t bytes, const char *ranks, bool one, double longest, double others)
{
    double factor = others > 0 ? longest / others : FACTOR_MOST;
    if (factor >= FACTOR_MOST)
        snprintf(text, bytes, "only %s compute%s", ranks, one ? "s" : "");
    else if (factor >= FACTOR_LEAST)
        snprintf(text, bytes, "%s compute%s %.1f times as long as the others", ranks, one ? "s" : "", factor);
    else
        snprintf(text, bytes, "%s compute%s %.0f %% longer than the others", ranks, one ? "s" : "", 100 * (factor - 1));
}

/* The long ranks are those that compute nearly as long as the longest one, and so longer than the mean. */
static void imbalance_write(char text[TOP_FINDING_BYTES], const struct efficiency *is,
                            const struct efficiency_part *parts, const int32_t *ranks, size_t count)
{
    int32_t *some = calloc(count + 1, sizeof *some);
    char named[RANKS_TEXT_BYTES];
    double longest = 0, others = 0;
    size_t found = 0;
    for (size_t i = 0; some && i < count; i++)
        if (parts[i].useful > (is->mean + is->max) / 2) {
            longest += parts[i].useful;
            some[found++] = ranks[i];
        } else
            others += parts[i].useful;
    if (found && found < count) {
        bool one = found == 1;
        longest /= (double)found;
        others /= (double)(count - found);
        ranks_text(named, some, found);
        longer_text(text, TOP_FINDING_BYTES, named, one, longest, others);
    }
    free(some);
}

void finding_write(char text[TOP_FINDING_BYTES], const struct efficiency *is, const struct efficiency_part *parts,
                   const int32_t *ranks, size_t count)
{
    text[0] = '\0';
    if (!is->known)
        return;
    if (is->max - is->mean >= LOST_LEAST * is->run) {
        imbalance_write(text, is, parts, ranks, count);
        return;
    }
    if (is->communication >= COMMUNICATION_GOOD)
        snprintf(text, TOP_FINDING_BYTES, "nothing stands out: the ranks compute for %.0f %% of the time",
                 100 * is->parallel);
    else
        snprintf(text, TOP_FINDING_BYTES, "the ranks are in MPI for %.0f %% of the time, and no rank stands out",
                 100 * (1 - is->parallel));
}

/* ---- of a job ---------------------------------------------------------------------------------------------------- */

/* Returns the number of a rank's host. `first` has the first rank of each host. */
static uint32_t host_number(const struct top_rank *rank, const struct top_rank **first, size_t *hosts)
{
    for (size_t i = 0; i < *hosts; i++)
        if (strcmp(first[i]->host, rank->host) == 0)
            return (uint32_t)i;
    first[*hosts] = rank;
    return (uint32_t)(*hosts)++;
}

/* Returns whether the times of all ranks that compute are known. Time that was not recorded would count as useful. */
static bool job_is_judged(const struct top_job *job)
{
    for (size_t i = 0; i < job->rank_count; i++) {
        const struct top_rank *rank = job->ranks[i];
        bool computes = rank->state == TOP_OFF || rank->state == TOP_RUNNING;
        if (rank->state == TOP_UNREADABLE || (computes && (!rank->timed || !rank->recorded)))
            return false;
    }
    return true;
}

void top_finding_make(struct top_job *job)
{
    struct efficiency_part *parts = calloc(job->rank_count + 1, sizeof *parts);
    int32_t *ranks = calloc(job->rank_count + 1, sizeof *ranks);
    const struct top_rank **first = calloc(job->rank_count + 1, sizeof *first);
    size_t count = 0, hosts = 0;
    bool good = parts && ranks && first && job_is_judged(job);
    for (size_t i = 0; good && i < job->rank_count; i++) {
        const struct top_rank *rank = job->ranks[i];
        if (!rank->measured)
            continue;
        parts[count] = rank->part;
        parts[count].host = host_number(rank, first, &hosts);
        ranks[count++] = rank->rank;
    }
    job->efficiency = efficiency_of(parts, count, hosts);
    job->finding[0] = '\0';
    if (!job->circle[0])
        finding_write(job->finding, &job->efficiency, parts, ranks, count);
    free(parts);
    free(ranks);
    free(first);
}
