#include "findings/findings_rules.h"

#include "base/units.h"
#include "calls.h"
#include "report/summary_sites.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A hot spot receives so many times as much as the others on average. */
enum { HOT_TIMES = 3 };

/* Time that is not a stall: outside of MPI, or at work in MPI. */
static double busy_of(const struct summary_row *row)
{
    return useful_of(row) + work_of(row);
}

bool find_oversubscribed(struct facts *facts, struct finding *finding)
{
    uint32_t ranks = 0, processors = 0, hosts = 0, last = 0;
    char shorter[UNIT_TEXT_BYTES];
    double lost = 0;
    for (uint32_t i = 0; i < facts->summary->host_count; i++) {
        const struct host_load *load = &facts->loads[i];
        if (!load->crowded_ranks)
            continue;
        double share = 1 - (double)load->crowded_processors / (double)load->crowded_ranks;
        lost = share > lost ? share : lost;
        ranks += load->crowded_ranks;
        processors += load->crowded_processors;
        hosts++;
        last = i;
    }
    if (!hosts)
        return false;
    double gain = seconds_of(facts->summary->traced.shared_ns) / facts->analysed * facts->run;
    bool told = gain >= LEAST_SHARE * facts->run && gain < facts->run;
    finding->seconds = told ? gain : lost * facts->run;
    finding_append(finding, "%u ranks share %u processor%s of ", ranks, processors, processors == 1 ? "" : "s");
    if (hosts == 1)
        finding_append(finding, "%s: ", facts->summary->hosts[last].name);
    else
        finding_append(finding, "%u hosts: ", hosts);
    if (told)
        finding_append(finding, "with %u it takes about %s.", ranks, text_of_seconds(shorter, facts->run - gain));
    else
        finding_append(finding, "all times are blurred.");
    return true;
}

/* Threads of a rank: the one that calls MPI, and its helpers. 1: they are not known, there is no processor for them, or OpenMP tells
 * more (findings_openmp.c). */
static double working_threads(const struct summary_row *row)
{
    double threads = 1 + (double)row->usage.helpers;
    bool known = row_has_figures(row) && row->threads == 1 && row->usage.known & USAGE_DELAY && !row->openmp.threads;
    return !known ? 1 : threads < row->processors ? threads : row->processors;
}

/* Of the time outside of MPI: a thread that computes less is no thread of the program's work. */
#define HELPER_LEAST 0.1

/* The time outside of MPI if the threads of the rank shared it evenly. */
static double shared_out(const struct summary_row *row)
{
    double even = (useful_of(row) + seconds_of(row->usage.helper_ns)) / working_threads(row);
    bool compute = seconds_of(row->usage.helper_ns) >= HELPER_LEAST * (double)row->usage.helpers * useful_of(row);
    return working_threads(row) > 1 && compute && even < useful_of(row) ? even : useful_of(row);
}

/* Where in the program most of the computation is, if there was a trace. */
static void longest_computation_add(const struct facts *facts, struct finding *finding)
{
    const struct summary_traced *traced = &facts->summary->traced;
    char where[SEGMENT_TEXT_BYTES];
    finding->around[0] = traced->longest_from ? summary_site_of(&facts->summary->sites, traced->longest_from) : NULL;
    finding->around[1] = traced->longest_to ? summary_site_of(&facts->summary->sites, traced->longest_to) : NULL;
    finding_segment_text(facts, traced->longest_from, traced->longest_to, where);
    if (where[0])
        finding_append(finding, " Most of that is%s.", where);
}

bool find_idle_threads(struct facts *facts, struct finding *finding)
{
    double most = 0, even = 0;
    const struct summary_row *longest = NULL;
    char had[UNIT_TEXT_BYTES], useful[UNIT_TEXT_BYTES], run[UNIT_TEXT_BYTES], shorter[UNIT_TEXT_BYTES];
    for (size_t i = 0; i < facts->summary->row_count; i++) {
        const struct summary_row *row = &facts->summary->rows[i];
        most = useful_of(row) > most ? useful_of(row) : most;
        even = shared_out(row) > even ? shared_out(row) : even;
        if (working_threads(row) > 1 &&
            (!longest || useful_of(row) - shared_out(row) > useful_of(longest) - shared_out(longest)))
            longest = row;
    }
    if (!longest || most - even < LEAST_SHARE * facts->run)
        return false;
    finding->seconds = most - even;
    rank_list_add(&finding->causes, longest->rank);
    snprintf(finding->text, sizeof finding->text,
             "If the threads of rank %" PRId32
             " computed equally long, the run would take %s in place of %s. It is outside "
             "of MPI for %s, and its other threads compute for %s.",
             longest->rank, text_of_seconds(shorter, facts->run - finding->seconds), text_of_seconds(run, facts->run),
             text_of_seconds(useful, useful_of(longest)),
             text_of_seconds(had, seconds_of(longest->usage.helper_ns) / (double)longest->usage.helpers));
    longest_computation_add(facts, finding);
    return true;
}

/* Adds the ranks that compute nearly as long as the longest one, without ranks that compute like most. */
static void long_ranks_add(const struct facts *facts, struct finding *finding, double mean, double most)
{
    for (size_t i = 0; i < facts->summary->row_count; i++) {
        const struct summary_row *row = &facts->summary->rows[i];
        if (row_has_figures(row) && useful_of(row) > (mean + most) / 2)
            rank_list_add(&finding->causes, row->rank);
    }
}

/* The useful time of a rank without imbalance. A slow node is a finding of its own. */
static double even_level(const struct facts *facts)
{
    return facts->slow_host == UINT32_MAX ? facts->efficiency.mean : facts->efficiency.in_node;
}

bool find_load_imbalance(struct facts *facts, struct finding *finding)
{
    char ranks[RANKS_TEXT_BYTES], place[PLACE_TEXT_BYTES], most[UNIT_TEXT_BYTES], mean[UNIT_TEXT_BYTES];
    const struct efficiency *is = &facts->efficiency;
    double level = even_level(facts);
    long_ranks_add(facts, finding, level, is->max);
    finding->seconds = is->max - level;
    finding->site = facts->waiting;
    if (!finding->causes.count)
        return false;
    if (finding->causes.count == 1)
        finding->advice = "Give this rank less work.";
    finding_append(finding, "%s compute%s %s outside of MPI, the mean is %s", finding_ranks_text(finding, ranks),
                   finding->causes.count == 1 ? "s" : "", text_of_seconds(most, is->max), text_of_seconds(mean, level));
    if (facts->waiting)
        finding_append(finding, "; most waiting is in %s", finding_place_text(facts, facts->waiting, place));
    finding_append(finding, ".");
    return true;
}

/* The messages or bytes of a rank against the others. */
struct receipt {
    double own, all;
};

static bool is_hot(const struct facts *facts, struct receipt is)
{
    return is.own * (facts->ranks - 1) > HOT_TIMES * (is.all - is.own);
}

/* The row that receives most messages, or most bytes. */
static const struct summary_row *most_received(const struct facts *facts, bool bytes, struct receipt *is)
{
    const struct summary_row *most = NULL;
    *is = (struct receipt){0, 0};
    for (size_t i = 0; i < facts->summary->row_count; i++) {
        const struct summary_row *row = &facts->summary->rows[i];
        double received = (double)(bytes ? row->received_bytes : row->received);
        if (!row_has_figures(row))
            continue;
        is->all += received;
        if (!most || received > is->own) {
            most = row;
            is->own = received;
        }
    }
    return most;
}

/* True if it is known that the rank calls it. */
static bool is_called_by(const struct facts *facts, const struct summary_site *site, int32_t rank)
{
    return (double)site->ranks == facts->ranks || site->most_rank == rank || site->least_rank == rank;
}

/* The site where the rank receives most, as far as is known. */
static const struct summary_site *receiving_site(const struct facts *facts, int32_t rank, bool bytes)
{
    size_t count;
    struct summary_site *places = places_by_time(&facts->summary->sites, &count);
    const struct summary_site *most = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct summary_site *site = &places[i];
        uint64_t is = bytes ? site->bytes_in : site->received;
        if (!site_is_outside(site) && site->received && is_called_by(facts, site, rank) &&
            (!most || is > (bytes ? most->bytes_in : most->received)))
            most = site;
    }
    most = most ? summary_site_of(&facts->summary->sites, most->hash) : NULL;
    free(places);
    return most;
}

/* A rank receives much more than the others, and works for it in MPI while they wait. */
bool find_hot_spot(struct facts *facts, struct finding *finding)
{
    char share[UNIT_TEXT_BYTES], own[UNIT_TEXT_BYTES], mean[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct receipt is;
    bool bytes = true;
    const struct summary_row *hot = most_received(facts, true, &is);
    if (!hot || !is_hot(facts, is))
        hot = most_received(facts, bytes = false, &is);
    if (!facts->stalls || facts->ranks < 3 || !hot || hot->rank < 0 || !is_hot(facts, is))
        return false;
    double works = 0;
    for (size_t i = 0; i < facts->summary->row_count; i++)
        works += row_has_figures(&facts->summary->rows[i]) ? work_of(&facts->summary->rows[i]) : 0;
    double more = work_of(hot) - works / facts->ranks, less = facts->stall_mean - stall_of(hot);
    finding->seconds = more < less ? more : less;
    finding->site = receiving_site(facts, hot->rank, bytes);
    rank_list_add(&finding->causes, hot->rank);
    if (finding->seconds >= LEAST_SHARE * facts->run)
        facts->hot_rank = hot->rank;
    snprintf(finding->text, sizeof finding->text,
             "Rank %" PRId32 " may be a hot spot: it receives %s of all %s%s%s, and works %s in MPI, the others %s on "
             "average.",
             hot->rank, text_of_share(share, is.own, is.all), bytes ? "bytes" : "messages",
             finding->site ? ", most in " : "", finding->site ? finding_place_text(facts, finding->site, place) : "",
             text_of_seconds(own, work_of(hot)), text_of_seconds(mean, (works - work_of(hot)) / (facts->ranks - 1)));
    return true;
}

/* The rank that waits least is late. If it computes longer than others, that is load imbalance. */
bool find_late_rank(struct facts *facts, struct finding *finding)
{
    char place[PLACE_TEXT_BYTES], own[UNIT_TEXT_BYTES], mean[UNIT_TEXT_BYTES];
    const struct summary_row *late = NULL;
    double sum = 0;
    for (size_t i = 0; i < facts->summary->row_count; i++) {
        const struct summary_row *row = &facts->summary->rows[i];
        if (!row_has_figures(row))
            continue;
        sum += busy_of(row);
        if (!late || busy_of(row) > busy_of(late))
            late = row;
    }
    if (!facts->stalls || !late || late->rank < 0 || late->rank == facts->hot_rank || facts->ranks < 2)
        return false;
    double longer = useful_of(late) - facts->efficiency.mean;
    double less = facts->stall_mean - stall_of(late), more = busy_of(late) - sum / facts->ranks;
    finding->seconds = (more < less ? more : less) - (longer > 0 ? longer : 0);
    finding->site = facts->waiting;
    rank_list_add(&finding->causes, late->rank);
    double others = (facts->stall_mean * facts->ranks - stall_of(late)) / (facts->ranks - 1);
    snprintf(finding->text, sizeof finding->text,
             "Rank %" PRId32 " may come late: it waits %s in MPI, the others %s on average, most in %s.", late->rank,
             text_of_seconds(own, stall_of(late)), text_of_seconds(mean, others),
             finding_place_text(facts, facts->waiting, place));
    return true;
}

bool find_long_init(struct facts *facts, struct finding *finding)
{
    char cost[UNIT_TEXT_BYTES], run[UNIT_TEXT_BYTES];
    const struct summary_call *calls = facts->summary->calls;
    uint64_t ns = calls[CALL_MPI_Init].time_ns + calls[CALL_MPI_Init_thread].time_ns +
                  calls[CALL_MPI_Finalize].time_ns + calls[CALL_MPI_Session_init].time_ns +
                  calls[CALL_MPI_Session_finalize].time_ns;
    finding->seconds = seconds_of(ns) / facts->ranks;
    snprintf(finding->text, sizeof finding->text,
             "MPI_Init and MPI_Finalize take %s, longer than the run between them (%s).",
             text_of_seconds(cost, finding->seconds), text_of_seconds(run, facts->run));
    return finding->seconds > facts->run && !facts->summary->ended_badly; /* else the run was cut short */
}

struct host_mean {
    double mean, least, most, others;
};

static struct host_mean host_mean_of(const struct facts *facts, uint32_t host)
{
    struct host_mean is = {.least = facts->run};
    double own = 0, others = 0, count = 0;
    for (size_t i = 0; i < facts->summary->row_count; i++) {
        const struct summary_row *row = &facts->summary->rows[i];
        if (!row_has_figures(row))
            continue;
        if (row->host != host) {
            others += useful_of(row);
            is.most = useful_of(row) > is.most ? useful_of(row) : is.most;
            continue;
        }
        own += useful_of(row);
        count++;
        is.least = useful_of(row) < is.least ? useful_of(row) : is.least;
    }
    is.mean = count > 0 ? own / count : 0;
    is.others = facts->ranks > count ? others / (facts->ranks - count) : 0;
    return is;
}

/* All ranks of one host, several, compute longer than any other rank. */
bool find_slow_node(struct facts *facts, struct finding *finding)
{
    char own[UNIT_TEXT_BYTES], others[UNIT_TEXT_BYTES];
    const struct summary *summary = facts->summary;
    const struct summary_row *longest = NULL;
    for (size_t i = 0; i < summary->row_count; i++)
        if (row_has_figures(&summary->rows[i]) && (!longest || useful_of(&summary->rows[i]) > useful_of(longest)))
            longest = &summary->rows[i];
    if (!longest || summary->host_count < 2 || facts->loads[longest->host].ranks < 2)
        return false;
    struct host_mean is = host_mean_of(facts, longest->host);
    if (is.least <= is.most * (1 + LEAST_SHARE))
        return false;
    for (size_t i = 0; i < summary->row_count; i++)
        if (summary->rows[i].host == longest->host)
            rank_list_add(&finding->causes, summary->rows[i].rank);
    facts->slow_host = longest->host;
    finding->seconds = is.mean - facts->efficiency.mean;
    snprintf(finding->text, sizeof finding->text,
             "All ranks of %s compute longer than any other rank: %s, the others %s on average. The node may be slow.",
             summary->hosts[longest->host].name, text_of_seconds(own, is.mean), text_of_seconds(others, is.others));
    return true;
}

/* All ranks wait, though none of the other rules knows why. */
bool find_waits_unexplained(struct facts *facts, struct finding *finding)
{
    char least[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    if (!facts->stalls || facts->ranks < 2)
        return false;
    for (uint32_t i = 0; i < facts->summary->host_count; i++)
        if (facts->loads[i].crowded_ranks)
            return false;
    finding->seconds = facts->stall_least - facts->explained;
    finding->site = facts->waiting;
    if (facts->summary->traced.there)
        finding->advice = "Let ranks work at the same time. The timeline of mpit-dump --html shows when each waits.";
    snprintf(
        finding->text, sizeof finding->text,
        "Each rank waits at least %s in MPI, most in %s. Ranks may wait for each other in turn, or for the network.",
        text_of_seconds(least, facts->stall_least), finding_place_text(facts, facts->waiting, place));
    return true;
}
