/* Notes on memory. They cost no time, but end a job, or keep it from fewer nodes. */
#include "findings/findings_rules.h"

#include "base/units.h"
#include "report/summary_sites.h"

#include <inttypes.h>
#include <string.h>

/* Shares of the node's memory: of all ranks there, of one rank that needs more than the others, of growth. */
#define FULL 0.9
#define OVERFULL 1.2
#define MUCH 0.1
#define GROWTH 0.01

/* A rank needs so many times as much as the others on average. */
enum { UNEVEN_TIMES = 3 };

static double peak_of(const struct summary_row *row)
{
    return (double)row->memory.peak_bytes;
}

/* " before MPI_Bcast (mesh.c:40 read_mesh)", or "". */
static void memory_place_append(const struct facts *facts, const struct summary_row *row, const char *word,
                                struct finding *finding)
{
    char place[PLACE_TEXT_BYTES];
    finding->site = row->memory.peak_site ? summary_site_of(&facts->summary->sites, row->memory.peak_site) : NULL;
    if (finding->site)
        finding_append(finding, "%s before %s", word, finding_place_text(facts, finding->site, place));
}

/* The peaks of ranks need not come at one time. Memory that ranks share counts once. More than all there is means ranks in
 * several control groups, or memory that was shared and is not any more. */
bool find_memory_full(struct facts *facts, struct finding *finding)
{
    const struct summary *summary = facts->summary;
    double worst = FULL;
    uint32_t host = UINT32_MAX;
    char sum[UNIT_TEXT_BYTES], all[UNIT_TEXT_BYTES];
    for (uint32_t h = 0; h < summary->host_count; h++) {
        double peaks = 0, node = 0, shared = 0;
        uint64_t ranks = 0;
        for (size_t i = 0; i < summary->row_count; i++) {
            const struct summary_row *row = &summary->rows[i];
            if (row->host != h || !row->memory.peak_bytes)
                continue;
            double mine = (double)row->memory.shared_bytes < peak_of(row) ? (double)row->memory.shared_bytes : 0;
            peaks += peak_of(row) - mine;
            shared = mine > shared ? mine : shared;
            node = (double)row->memory.node_bytes > node ? (double)row->memory.node_bytes : node;
            ranks++;
        }
        peaks += shared;
        if (node <= 0 || peaks < worst * node || peaks > OVERFULL * node)
            continue;
        worst = peaks / node;
        host = h;
        finding->text[0] = '\0';
        finding_append(finding, "%" PRIu64 " rank%s of %s need%s up to %s of its %s of memory.", ranks,
                       ranks == 1 ? "" : "s", summary->hosts[h].name, ranks == 1 ? "s" : "",
                       text_of_bytes(sum, whole_of(peaks)), text_of_bytes(all, whole_of(node)));
    }
    return host != UINT32_MAX;
}

static const struct summary_row *largest_find(const struct facts *facts, double *others)
{
    const struct summary_row *largest = NULL;
    double sum = 0, ranks = 0;
    for (size_t i = 0; i < facts->summary->row_count; i++) {
        const struct summary_row *row = &facts->summary->rows[i];
        if (!row->memory.peak_bytes)
            continue;
        sum += peak_of(row);
        ranks++;
        if (!largest || row->memory.peak_bytes > largest->memory.peak_bytes)
            largest = row;
    }
    *others = ranks > 1 ? (sum - peak_of(largest)) / (ranks - 1) : 0;
    return largest;
}

bool find_memory_uneven(struct facts *facts, struct finding *finding)
{
    double others;
    char own[UNIT_TEXT_BYTES], mean[UNIT_TEXT_BYTES];
    const struct summary_row *row = largest_find(facts, &others);
    if (!row || others <= 0 || peak_of(row) < UNEVEN_TIMES * others ||
        peak_of(row) < MUCH * (double)row->memory.node_bytes)
        return false;
    rank_list_add(&finding->causes, row->rank);
    finding_append(finding, "Rank %" PRId32 " needs %s of memory, the others %s on average", row->rank,
                   text_of_bytes(own, row->memory.peak_bytes), text_of_bytes(mean, whole_of(others)));
    memory_place_append(facts, row, ": it had most", finding);
    finding_append(finding, ".");
    return true;
}

bool find_memory_grows(struct facts *facts, struct finding *finding)
{
    const struct summary_row *worst = NULL;
    const struct summary_passes *passes = &facts->summary->traced.passes;
    char bytes[UNIT_TEXT_BYTES], ranks[RANKS_TEXT_BYTES];
    for (size_t i = 0; i < facts->summary->row_count; i++) {
        const struct summary_row *row = &facts->summary->rows[i];
        if (!row->memory.grown_ns || (double)row->memory.grown_bytes < GROWTH * (double)row->memory.node_bytes)
            continue;
        rank_list_add(&finding->causes, row->rank);
        if (!worst || row->memory.grown_bytes > worst->memory.grown_bytes)
            worst = row;
    }
    if (!worst)
        return false;
    double a_second = (double)worst->memory.grown_bytes / seconds_of(worst->memory.grown_ns);
    double unit = passes->count && passes->median_ns ? seconds_of(passes->median_ns) : 1;
    finding_append(finding, "%s: memory still grew in the second half of the run, by up to %s a %s",
                   finding_ranks_text(finding, ranks), text_of_bytes(bytes, whole_of(a_second * unit)),
                   passes->count && passes->median_ns ? "pass" : "second");
    memory_place_append(facts, worst, ", last seen", finding);
    finding_append(finding, ".");
    return true;
}
