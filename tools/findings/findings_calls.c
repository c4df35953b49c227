#include "findings/findings_rules.h"

#include "base/units.h"
#include "calls.h"
#include "format/label.h"
#include "findings/callgroups.h"
#include "report/summary_left.h"
#include "report/summary_sites.h"
#include "waiting/mismatch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The least number of calls of a rank that are many, and sizes that are small. */
enum { MANY_CALLS = 100, MANY_BARRIERS = 10 };
enum { COST_TEXT_BYTES = 2 * UNIT_TEXT_BYTES + 40 };

/* ---- sums over call sites ---------------------------------------------------------------------------------------- */

struct site_sum {
    uint64_t calls, sent, messages, bytes, empty;
    uint64_t larger;                    /* of the bytes sent and the bytes received, by site */
    double seconds, work;               /* mean of the ranks, and of their threads. `work` is without stalls */
    double stall_a_rank;                /* of the ranks that call it, by site */
    double least;                       /* if each rank took as long as the one with the least time at a site */
    bool least_unknown;                 /* of some site */
    const struct summary_site *first;   /* the costliest one of the costliest place. NULL: none */
    uint64_t first_calls, first_ranks;  /* of this place */
    const struct summary_site *stalled; /* the same of the place with the most stall */
};

/* What a collective sends it often receives, too: an MPI_Allreduce of 8 bytes has 8. */
static uint64_t larger_bytes(const struct summary_site *site)
{
    return site->bytes_out > site->bytes_in ? site->bytes_out : site->bytes_in;
}

/* Takes the places with the most time and the most stall from the sites that fit. */
static void costliest_places_find(struct site_sum *sum, const struct summary_sites *sites,
                                  const struct summary_sites *fitting)
{
    size_t count;
    uint64_t stall_ns = 0;
    struct summary_site *places = places_by_time(fitting, &count);
    for (size_t i = 0; i < count; i++) {
        if (!sum->first) {
            sum->first = summary_site_of(sites, places[i].hash);
            sum->first_calls = places[i].count;
            sum->first_ranks = places[i].ranks;
        }
        if (places[i].stall_ns > stall_ns) {
            stall_ns = places[i].stall_ns;
            sum->stalled = summary_site_of(sites, places[i].hash);
        }
    }
    free(places);
}

static bool is_in_group(const struct summary_site *site, enum call_group group)
{
    return call_group_of(site) == group;
}

static struct site_sum sites_sum(const struct facts *facts, bool (*fits)(const struct summary_site *, enum call_group),
                                 enum call_group group)
{
    const struct summary_sites *sites = &facts->summary->sites;
    struct summary_sites fitting = *sites;
    struct site_sum sum = {.calls = 0};
    fitting.count = 0;
    fitting.list = calloc(sites->count + 1, sizeof *fitting.list);
    for (uint64_t i = 0; i < sites->count; i++) {
        const struct summary_site *site = &sites->list[i];
        if (site_is_outside(site) || !fits(site, group))
            continue;
        uint64_t work = site->time_ns > site->stall_ns ? site->time_ns - site->stall_ns : 0;
        sum.calls += site->count;
        sum.sent += site->sent;
        sum.messages += site->sent + site->received;
        sum.bytes += site->bytes_out + site->bytes_in;
        sum.larger += larger_bytes(site);
        sum.empty += site->empty;
        sum.seconds += seconds_of(site->time_ns) / facts->threads;
        sum.work += seconds_of(work) / facts->threads;
        uint64_t least = site->least_rank < 0 ? site->time_ns : site->least_ns * site->ranks;
        sum.least += seconds_of(least) / facts->threads;
        sum.least_unknown |= site->least_rank < 0;
        sum.stall_a_rank +=
            site->ranks ? seconds_of(site->stall_ns) / (double)site->ranks * facts->ranks / facts->threads : 0;
        if (fitting.list)
            fitting.list[fitting.count++] = *site;
    }
    costliest_places_find(&sum, sites, &fitting);
    free(fitting.list);
    return sum;
}

static bool is_any(const struct summary_site *site, enum call_group group)
{
    (void)group;
    return site->kind != CALL_NONE;
}

const struct summary_site *find_waiting(const struct facts *facts)
{
    return sites_sum(facts, is_any, GROUP_NONE).stalled;
}

/* The time of these calls without waits for late ranks: the rank with the least time at a site waits for no other. If
 * that rank is not known, load imbalance explains as much as it can. */
static double own_cost(const struct facts *facts, const struct site_sum *sum)
{
    if (!sum->least_unknown)
        return sum->seconds < sum->least ? sum->seconds : sum->least;
    double cost = sum->seconds - facts->imbalance;
    return cost > sum->work ? cost : sum->work;
}

/* "52 ms", or "52 ms (178 ms with waits for late ranks)". */
static const char *cost_text(double own, double whole, char text[COST_TEXT_BYTES])
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    text_of_seconds(a, own);
    text_of_seconds(b, whole);
    if (own > (1 - LEAST_SHARE) * whole)
        snprintf(text, COST_TEXT_BYTES, "%s", b);
    else
        snprintf(text, COST_TEXT_BYTES, "%s (%s with waits for late ranks)", a, b);
    return text;
}

/* A send that returns when its message is on its way. MPI_Bsend does not wait for that. */
static bool is_blocking_send(const struct summary_site *site, enum call_group group)
{
    (void)group;
    return site->kind == CALL_MPI_Send || site->kind == CALL_MPI_Ssend || site->kind == CALL_MPI_Rsend;
}

/* The time that a rank waits for the rank with the most useful time. rank < 0: the rank that waits longest. */
static double imbalance_of(const struct facts *facts, int32_t rank)
{
    double most = 0;
    for (size_t i = 0; i < facts->summary->row_count; i++) {
        const struct summary_row *row = &facts->summary->rows[i];
        double waits = facts->efficiency.max - useful_of(row);
        if (row_has_figures(row) && (rank < 0 || row->rank == rank) && waits > most)
            most = waits;
    }
    return most;
}

bool find_late_receives(struct facts *facts, struct finding *finding)
{
    char waits[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, is_blocking_send, GROUP_NONE);
    if (facts->hot_rank >= 0) /* its receives are late, because it is busy */
        return false;
    finding->site = sum.stalled;
    if (!facts->stalls || !sum.stalled)
        return false;
    finding->seconds = sum.stall_a_rank - imbalance_of(facts, -1);
    snprintf(finding->text, sizeof finding->text,
             "Sends may wait because receives are posted late: %s of a sending rank on average, most in %s.",
             text_of_seconds(waits, sum.stall_a_rank), finding_place_text(facts, sum.stalled, place));
    return true;
}

bool find_small_messages(struct facts *facts, struct finding *finding)
{
    char count[UNIT_TEXT_BYTES], bytes[UNIT_TEXT_BYTES], cost[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, is_in_group, GROUP_SMALL_MESSAGES);
    if ((double)sum.messages < MANY_CALLS * facts->ranks)
        return false;
    finding->seconds = sum.work < sum.least ? sum.work : sum.least;
    finding->site = sum.first;
    snprintf(finding->text, sizeof finding->text,
             "%s small messages of a rank (%s on average) cost it %s without its waits, most in %s.",
             text_of_count(count, sum.sent / (uint64_t)facts->ranks), text_of_bytes(bytes, sum.bytes / sum.messages),
             text_of_seconds(cost, finding->seconds), finding_place_text(facts, sum.first, place));
    return true;
}

static uint64_t messages_received(const struct summary *summary)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < summary->comm_count; i++)
        sum += summary->comms[i].recv_count;
    return sum;
}

bool find_polling(struct facts *facts, struct finding *finding)
{
    char vain[UNIT_TEXT_BYTES], all[UNIT_TEXT_BYTES], cost[COST_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, is_in_group, GROUP_POLLS);
    uint64_t probes = facts->summary->calls[CALL_MPI_Iprobe].count + facts->summary->calls[CALL_MPI_Improbe].count;
    uint64_t found = messages_received(facts->summary), empty = sum.empty + (probes > found ? probes - found : 0);
    if (!sum.calls || (double)empty < MANY_CALLS * facts->ranks || empty < sum.calls - sum.calls / 10)
        return false;
    finding->seconds = own_cost(facts, &sum);
    finding->site = sum.first;
    snprintf(finding->text, sizeof finding->text, "%s of %s polls of a rank find nothing and take %s, most in %s.",
             text_of_count(vain, empty / (uint64_t)facts->ranks),
             text_of_count(all, sum.calls / (uint64_t)facts->ranks), cost_text(finding->seconds, sum.seconds, cost),
             finding_place_text(facts, sum.first, place));
    return true;
}

/* If more than half of all calls are at one place, some of them follow each other. */
static bool are_in_a_row(const struct summary *summary, uint64_t calls)
{
    uint64_t all = 0;
    for (uint64_t i = 0; i < summary->sites.count; i++)
        all += summary->sites.list[i].count;
    return calls > all / 2;
}

bool find_many_small_collectives(struct facts *facts, struct finding *finding)
{
    char count[UNIT_TEXT_BYTES], bytes[UNIT_TEXT_BYTES], cost[COST_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, is_in_group, GROUP_SMALL_COLLECTIVES);
    if ((double)sum.calls < MANY_CALLS * facts->ranks || !are_in_a_row(facts->summary, sum.first_calls))
        return false;
    finding->seconds = own_cost(facts, &sum);
    finding->site = sum.first;
    snprintf(finding->text, sizeof finding->text, "%s collectives of a rank with %s on average take %s, most in %s.",
             text_of_count(count, sum.calls / (uint64_t)facts->ranks), text_of_bytes(bytes, sum.larger / sum.calls),
             cost_text(finding->seconds, sum.seconds, cost), finding_place_text(facts, sum.first, place));
    return true;
}

bool find_barriers(struct facts *facts, struct finding *finding)
{
    char count[UNIT_TEXT_BYTES], cost[COST_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, is_in_group, GROUP_BARRIERS);
    if ((double)sum.calls < MANY_BARRIERS * facts->ranks)
        return false;
    finding->seconds = own_cost(facts, &sum);
    finding->site = sum.first;
    snprintf(finding->text, sizeof finding->text, "%s barriers of a rank take %s, most in %s.",
             text_of_count(count, sum.calls / (uint64_t)facts->ranks), cost_text(finding->seconds, sum.seconds, cost),
             finding_place_text(facts, sum.first, place));
    return true;
}

bool find_made_in_loop(struct facts *facts, struct finding *finding)
{
    char count[UNIT_TEXT_BYTES], cost[COST_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, is_in_group, GROUP_OBJECTS);
    if (!sum.first || (double)sum.first_calls < MANY_CALLS * (double)sum.first_ranks)
        return false;
    finding->seconds = own_cost(facts, &sum);
    finding->site = sum.first;
    snprintf(finding->text, sizeof finding->text,
             "%s calls of a rank make or free communicators, windows, files or datatypes again and again and take %s, "
             "most in %s.",
             text_of_count(count, sum.calls / (uint64_t)facts->ranks), cost_text(finding->seconds, sum.seconds, cost),
             finding_place_text(facts, sum.first, place));
    return true;
}

bool find_small_io(struct facts *facts, struct finding *finding)
{
    char count[UNIT_TEXT_BYTES], bytes[UNIT_TEXT_BYTES], cost[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, is_in_group, GROUP_SMALL_IO);
    if (!sum.first || (double)sum.calls < MANY_CALLS * (double)sum.first_ranks)
        return false;
    finding->seconds = sum.seconds;
    finding->site = sum.first;
    snprintf(finding->text, sizeof finding->text,
             "%s reads and writes of files of a rank with %s on average take %s, most in %s.",
             text_of_count(count, sum.calls / (uint64_t)facts->ranks), text_of_bytes(bytes, sum.bytes / sum.calls),
             text_of_seconds(cost, sum.seconds), finding_place_text(facts, sum.first, place));
    return true;
}

/* ---- collectives that did not match ------------------------------------------------------------------------------ */

bool find_mismatch(struct facts *facts, struct finding *finding)
{
    const struct summary_mismatch *is = &facts->summary->traced.mismatch;
    char ranks[RANKS_TEXT_BYTES], title[COMM_TITLE_BYTES], place[PLACE_TEXT_BYTES], agreed[AGREED_TEXT_BYTES];
    bool alike = is->call == is->usual, sizes = alike && is->bytes != is->usual_bytes;
    bool reductions = alike && is->reduction != is->usual_reduction;
    if (!is->number)
        return false;
    finding->causes = is->ranks;
    finding->site = is->site ? summary_site_of(&facts->summary->sites, is->site) : NULL;
    finding_append(finding, "%s called %s%s", finding_ranks_text(finding, ranks), call_table[is->call].name,
                   agreed_text(agreed, is->root, reductions ? is->reduction : 0, sizes ? is->bytes : BYTES_UNKNOWN));
    finding_append(finding, " %s %s %" PRIu64 "%s collective on %s, and %" PRIu64 " other%s ",
                   is->makes ? "before" : "as", is->ranks.count == 1 ? "its" : "their", is->number,
                   ordinal_end(is->number), comm_title(title, is->name, is->label), is->others,
                   is->others == 1 ? "" : "s");
    finding_append(finding, "%s%s", call_table[is->usual].name,
                   agreed_text(agreed, is->usual_root, reductions ? is->usual_reduction : 0,
                               sizes ? is->usual_bytes : BYTES_UNKNOWN));
    if (finding->site)
        finding_append(finding, ": %s", finding_place_text(facts, finding->site, place));
    finding_append(finding, ".");
    return true;
}

bool find_messages_left(struct facts *facts, struct finding *finding)
{
    char count[UNIT_TEXT_BYTES], all[UNIT_TEXT_BYTES], title[COMM_TITLE_BYTES];
    struct unreceived left = unreceived_find(facts->summary);
    if (!left.count)
        return false;
    finding_append(finding, "%s of %s message%s %s sent and not received, most on %s.",
                   text_of_count(count, left.count), text_of_count(all, left.sent), left.sent == 1 ? "" : "s",
                   left.count == 1 ? "was" : "were", comm_title(title, left.comm->name, left.comm->label));
    return true;
}

/* Objects that are made all through the run, and never freed. The place with most of them is told. */
bool find_objects_left(struct facts *facts, struct finding *finding)
{
    const struct summary_passes *passes = &facts->summary->traced.passes;
    char objects[LEFT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    size_t count;
    uint64_t all = 0;
    struct summary_site *places = places_by_time(&facts->summary->sites, &count), most = {.not_freed_growing = 0};
    for (size_t i = 0; places && i < count; i++) {
        all += places[i].not_freed_growing;
        if (places[i].not_freed_growing > most.not_freed_growing && places[i].kind != CALL_NONE)
            most = places[i];
    }
    free(places);
    if (!most.not_freed_growing || !left_is_known(facts->summary))
        return false;
    enum left_kind kind = left_kind_of((enum call)most.kind);
    finding->site = summary_site_of(&facts->summary->sites, most.hash);
    finding_append(finding, "%s of %s were never %s", left_kind_text(kind, most.not_freed_growing, objects),
                   finding_place_text(facts, finding->site, place), left_verb_text(kind));
    double a_pass = passes->count ? (double)most.not_freed_growing / (double)passes->count : 0;
    if (a_pass >= 0.5)
        finding_append(finding, ", %.3g a pass", a_pass);
    if (all > most.not_freed_growing)
        finding_append(finding, ", and %s of other calls",
                       left_kind_text(LEFT_NONE, all - most.not_freed_growing, objects));
    finding_append(finding, ". They became more all through the run.");
    return true;
}
