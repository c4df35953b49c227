#define _GNU_SOURCE
#include "report/findings.h"

#include "base/units.h"
#include "calls.h"
#include "report/summary_sites.h"
#include "summary/efficiency.h"
#include "summary/hostload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The least share of the run time. Also the least number of calls of a rank that are many. */
#define LEAST_SHARE 0.02
enum { MANY_CALLS = 100, MANY_BARRIERS = 10, SMALL_COLLECTIVE_BYTES = 64, SMALL_IO_BYTES = 65536 };

/* What several rules need. Times are seconds. */
struct facts {
    const struct summary *summary;
    const struct host_load *loads; /* by host */
    struct efficiency efficiency;
    double run;       /* the longest run time */
    double ranks;     /* processes with figures */
    double imbalance; /* mean time that a rank waits for the rank with the most useful time */
    bool stalls;      /* stalls are known for all of them */
    double stall_mean, stall_least;
    const struct summary_site *waiting; /* the site with the most stall. NULL: none */
    uint32_t slow_host;                 /* slow_node is about it. UINT32_MAX: none */
    double explained;                   /* cost of the findings so far that are calls of their own */
};

/* ---- ranks and places in text ------------------------------------------------------------------------------------ */

static bool has_figures(const struct summary_row *row)
{
    return row->threads > 0;
}

static double seconds_of(uint64_t ns)
{
    return (double)ns * 1e-9;
}

static double useful_of(const struct summary_row *row)
{
    return seconds_of(row->useful_ns);
}

/* Of a process with several threads: their mean. */
static double stall_of(const struct summary_row *row)
{
    return seconds_of(row->stall_ns) / (double)row->threads;
}

/* Time that is not a stall: outside of MPI, or at work in MPI. */
static double busy_of(const struct summary_row *row)
{
    uint64_t work = row->mpi_ns > row->stall_ns ? row->mpi_ns - row->stall_ns : 0;
    return useful_of(row) + seconds_of(work) / (double)row->threads;
}

static void rank_add(struct finding *finding, int32_t rank)
{
    if (finding->rank_count < FINDING_RANKS_MAX && rank >= 0)
        finding->ranks[finding->rank_count++] = rank;
}

enum { RANKS_TEXT_BYTES = 96, RANKS_NAMED = 4, PLACE_COLUMNS = 48, PLACE_TEXT_BYTES = 128 };

/* "rank 2" or "ranks 2, 5, 6, 7 and 12 others". */
static const char *ranks_text(const struct finding *finding, char text[RANKS_TEXT_BYTES])
{
    int used = snprintf(text, RANKS_TEXT_BYTES, "Rank%s", finding->rank_count == 1 ? "" : "s");
    for (size_t i = 0; i < finding->rank_count && i < RANKS_NAMED; i++)
        used += snprintf(text + used, RANKS_TEXT_BYTES - (size_t)used, "%s %" PRId32, i ? "," : "", finding->ranks[i]);
    if (finding->rank_count > RANKS_NAMED)
        snprintf(text + used, RANKS_TEXT_BYTES - (size_t)used, " and %zu others", finding->rank_count - RANKS_NAMED);
    return text;
}

/* "MPI_Recv (halo.c:72 exchange)". A long place is cut. */
static const char *place_text(const struct facts *facts, const struct summary_site *site, char text[PLACE_TEXT_BYTES])
{
    char place[SITE_PLACE_BYTES];
    const struct summary_frame *frame = site ? site_frame(&facts->summary->sites, site) : NULL;
    snprintf(text, PLACE_TEXT_BYTES, "%s", site ? call_table[site->kind].name : "MPI");
    if (!frame)
        return text;
    frame_place_text(&facts->summary->sites, frame, place);
    size_t end = strlen(place), most = PLACE_COLUMNS;
    while (most > 0 && ((unsigned char)place[most] & 0xc0) == 0x80) /* not in a character */
        most--;
    snprintf(text, PLACE_TEXT_BYTES, "%s (%.*s%s)", call_table[site->kind].name, (int)(end > most ? most : end), place,
             end > most ? "..." : "");
    return text;
}

/* ---- sums over call sites ---------------------------------------------------------------------------------------- */

struct site_sum {
    uint64_t calls, sent, messages, bytes, empty;
    double seconds, work;             /* mean of the ranks. `work` is without stalls */
    double least;                     /* if each rank took as long as the one with the least time at a site */
    const struct summary_site *first; /* the costliest */
};

static bool is_outside(const struct summary_site *site)
{
    return site->kind == CALL_NONE || site->kind == CALL_MPI_Init || site->kind == CALL_MPI_Init_thread ||
           site->kind == CALL_MPI_Finalize || site->kind == CALL_MPI_Session_init ||
           site->kind == CALL_MPI_Session_finalize;
}

static struct site_sum sites_sum(const struct facts *facts, bool (*fits)(const struct summary_site *))
{
    const struct summary_sites *sites = &facts->summary->sites;
    struct site_sum sum = {.calls = 0};
    for (uint64_t i = 0; i < sites->count; i++) {
        const struct summary_site *site = &sites->list[i];
        if (is_outside(site) || !fits(site))
            continue;
        uint64_t work = site->time_ns > site->stall_ns ? site->time_ns - site->stall_ns : 0;
        sum.calls += site->count;
        sum.sent += site->sent;
        sum.messages += site->sent + site->received;
        sum.bytes += site->bytes_out + site->bytes_in;
        sum.empty += site->empty;
        sum.seconds += seconds_of(site->time_ns) / facts->ranks;
        sum.work += seconds_of(work) / facts->ranks;
        sum.least += seconds_of(site->least_rank < 0 ? site->time_ns : site->least_ns * site->ranks) / facts->ranks;
        if (!sum.first || site->time_ns > sum.first->time_ns)
            sum.first = site;
    }
    return sum;
}

/* The time of these calls that does not come from load imbalance: the rank that comes last waits for no other. */
static double own_cost(const struct facts *facts, const struct site_sum *sum)
{
    double cost = sum->seconds - facts->imbalance;
    cost = cost > sum->work ? cost : sum->work;
    return cost < sum->least ? cost : sum->least;
}

static bool name_has(unsigned kind, const char *part)
{
    return strstr(call_table[kind].name, part) != NULL;
}

static double bytes_a_call(uint64_t bytes, uint64_t count)
{
    return count ? (double)bytes / (double)count : 0;
}

/* ---- rules: one function a fault. It returns false if there is nothing to say ------------------------------------- */

static bool find_oversubscribed(struct facts *facts, struct finding *finding)
{
    uint32_t ranks = 0, processors = 0, hosts = 0, last = 0;
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
    finding->seconds = lost * facts->run;
    if (hosts == 1)
        snprintf(finding->text, sizeof finding->text, "%u ranks share %u processor%s of %s: all times are blurred.",
                 ranks, processors, processors == 1 ? "" : "s", facts->summary->hosts[last].name);
    else
        snprintf(finding->text, sizeof finding->text,
                 "%u ranks share %u processors of %u hosts: all times are blurred.", ranks, processors, hosts);
    return true;
}

/* Adds the ranks that compute nearly as long as the longest one, without ranks that compute like most. */
static void long_ranks_add(const struct facts *facts, struct finding *finding, double mean, double most)
{
    for (size_t i = 0; i < facts->summary->row_count; i++) {
        const struct summary_row *row = &facts->summary->rows[i];
        if (has_figures(row) && useful_of(row) > (mean + most) / 2)
            rank_add(finding, row->rank);
    }
}

static bool find_load_imbalance(struct facts *facts, struct finding *finding)
{
    char ranks[RANKS_TEXT_BYTES], place[PLACE_TEXT_BYTES], most[UNIT_TEXT_BYTES], mean[UNIT_TEXT_BYTES];
    const struct efficiency *is = &facts->efficiency;
    double level = facts->slow_host == UINT32_MAX ? is->mean : is->in_node; /* a slow node is a finding of its own */
    long_ranks_add(facts, finding, level, is->max);
    finding->seconds = is->max - level;
    finding->site = facts->waiting;
    if (!finding->rank_count)
        return false;
    snprintf(finding->text, sizeof finding->text,
             "%s compute%s %s outside of MPI, the mean is %s; most waiting is in %s.", ranks_text(finding, ranks),
             finding->rank_count == 1 ? "s" : "", text_of_seconds(most, is->max), text_of_seconds(mean, level),
             place_text(facts, facts->waiting, place));
    return true;
}

/* The rank that waits least is late. If it computes longer than others, that is load imbalance. */
static bool find_late_rank(struct facts *facts, struct finding *finding)
{
    char place[PLACE_TEXT_BYTES], own[UNIT_TEXT_BYTES], mean[UNIT_TEXT_BYTES];
    const struct summary_row *late = NULL;
    double sum = 0;
    for (size_t i = 0; i < facts->summary->row_count; i++) {
        const struct summary_row *row = &facts->summary->rows[i];
        if (!has_figures(row))
            continue;
        sum += busy_of(row);
        if (!late || busy_of(row) > busy_of(late))
            late = row;
    }
    if (!facts->stalls || !late || late->rank < 0 || facts->ranks < 2)
        return false;
    double longer = useful_of(late) - facts->efficiency.mean;
    double less = facts->stall_mean - stall_of(late), more = busy_of(late) - sum / facts->ranks;
    finding->seconds = (more < less ? more : less) - (longer > 0 ? longer : 0);
    finding->site = facts->waiting;
    rank_add(finding, late->rank);
    double others = (facts->stall_mean * facts->ranks - stall_of(late)) / (facts->ranks - 1);
    snprintf(finding->text, sizeof finding->text,
             "Rank %" PRId32 " may come late: it waits %s in MPI, the others %s on average, most in %s.", late->rank,
             text_of_seconds(own, stall_of(late)), text_of_seconds(mean, others),
             place_text(facts, facts->waiting, place));
    return true;
}

static bool sends_small(const struct summary_site *site)
{
    uint64_t messages = site->sent + site->received;
    return messages && site->bytes_out + site->bytes_in < messages * PATH_SMALL_BYTES;
}

static bool find_small_messages(struct facts *facts, struct finding *finding)
{
    char count[UNIT_TEXT_BYTES], bytes[UNIT_TEXT_BYTES], cost[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, sends_small);
    if ((double)sum.messages < MANY_CALLS * facts->ranks)
        return false;
    finding->seconds = sum.work < sum.least ? sum.work : sum.least;
    finding->site = sum.first;
    snprintf(finding->text, sizeof finding->text,
             "%s small messages (%s on average) take %s of a rank besides waiting, most in %s.",
             text_of_count(count, sum.sent), text_of_bytes(bytes, sum.bytes / sum.messages),
             text_of_seconds(cost, finding->seconds), place_text(facts, sum.first, place));
    return true;
}

/* Probes in vain are not counted. At least those are that found no message which this site, or another, received. */
static bool is_poll(const struct summary_site *site)
{
    bool probe = site->kind == CALL_MPI_Iprobe || site->kind == CALL_MPI_Improbe;
    return probe || (site->empty && site->empty >= site->count - site->count / 10);
}

static uint64_t received(const struct summary *summary)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < summary->comm_count; i++)
        sum += summary->comms[i].recv_count;
    return sum;
}

static bool find_polling(struct facts *facts, struct finding *finding)
{
    char vain[UNIT_TEXT_BYTES], all[UNIT_TEXT_BYTES], cost[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, is_poll);
    uint64_t probes = facts->summary->calls[CALL_MPI_Iprobe].count + facts->summary->calls[CALL_MPI_Improbe].count;
    uint64_t found = received(facts->summary), empty = sum.empty + (probes > found ? probes - found : 0);
    if (!sum.calls || (double)empty < MANY_CALLS * facts->ranks || empty < sum.calls - sum.calls / 10)
        return false;
    finding->seconds = sum.seconds - facts->imbalance < sum.least ? sum.seconds - facts->imbalance : sum.least;
    finding->site = sum.first;
    snprintf(finding->text, sizeof finding->text, "%s of %s polls find nothing and take %s of a rank, most in %s.",
             text_of_count(vain, empty), text_of_count(all, sum.calls), text_of_seconds(cost, sum.seconds),
             place_text(facts, sum.first, place));
    return true;
}

static bool is_small_collective(const struct summary_site *site)
{
    return call_table[site->kind].class == CLASS_COLLECTIVE && site->kind != CALL_MPI_Barrier &&
           site->kind != CALL_MPI_Ibarrier &&
           bytes_a_call(site->bytes_out + site->bytes_in, site->count) <= SMALL_COLLECTIVE_BYTES;
}

static bool find_many_small_collectives(struct facts *facts, struct finding *finding)
{
    char count[UNIT_TEXT_BYTES], bytes[UNIT_TEXT_BYTES], cost[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, is_small_collective);
    if ((double)sum.calls < MANY_CALLS * facts->ranks)
        return false;
    finding->seconds = own_cost(facts, &sum);
    finding->site = sum.first;
    snprintf(finding->text, sizeof finding->text,
             "%s collectives of a rank with %s on average take %s besides waiting, most in %s.",
             text_of_count(count, sum.calls / (uint64_t)facts->ranks), text_of_bytes(bytes, sum.bytes / sum.calls),
             text_of_seconds(cost, finding->seconds), place_text(facts, sum.first, place));
    return true;
}

static bool is_barrier(const struct summary_site *site)
{
    return site->kind == CALL_MPI_Barrier;
}

static bool find_barriers(struct facts *facts, struct finding *finding)
{
    char count[UNIT_TEXT_BYTES], cost[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, is_barrier);
    if ((double)sum.calls < MANY_BARRIERS * facts->ranks)
        return false;
    finding->seconds = own_cost(facts, &sum);
    finding->site = sum.first;
    snprintf(finding->text, sizeof finding->text, "%s barriers of a rank take %s, most in %s.",
             text_of_count(count, sum.calls / (uint64_t)facts->ranks), text_of_seconds(cost, sum.seconds),
             place_text(facts, sum.first, place));
    return true;
}

/* Making an object, and making it go away. */
static bool makes_object(const struct summary_site *site)
{
    static const char *const parts[] = {"MPI_Comm_dup",     "MPI_Comm_split", "MPI_Comm_create",  "MPI_Cart_create",
                                        "MPI_Graph_create", "MPI_Dist_graph", "MPI_Intercomm_",   "MPI_Comm_free",
                                        "MPI_Comm_idup",    "MPI_Win_create", "MPI_Win_allocate", "MPI_Win_free",
                                        "MPI_File_open",    "MPI_File_close", "MPI_Type_",        "MPI_Cart_sub"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (name_has(site->kind, parts[i]))
            return true;
    return false;
}

static bool find_made_in_loop(struct facts *facts, struct finding *finding)
{
    char count[UNIT_TEXT_BYTES], cost[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, makes_object);
    if (!sum.first || (double)sum.first->count < MANY_CALLS * (double)sum.first->ranks)
        return false;
    finding->seconds = own_cost(facts, &sum);
    finding->site = sum.first;
    snprintf(finding->text, sizeof finding->text,
             "%s calls of a rank make or free communicators, windows, files or datatypes again and again and take %s, "
             "most in %s.",
             text_of_count(count, sum.calls / (uint64_t)facts->ranks), text_of_seconds(cost, sum.seconds),
             place_text(facts, sum.first, place));
    return true;
}

static bool is_small_io(const struct summary_site *site)
{
    bool transfer =
        name_has(site->kind, "MPI_File_") && (name_has(site->kind, "read") || name_has(site->kind, "write"));
    return transfer && bytes_a_call(site->bytes_out + site->bytes_in, site->count) < SMALL_IO_BYTES;
}

static bool find_small_io(struct facts *facts, struct finding *finding)
{
    char count[UNIT_TEXT_BYTES], bytes[UNIT_TEXT_BYTES], cost[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    struct site_sum sum = sites_sum(facts, is_small_io);
    if (!sum.first || (double)sum.calls < MANY_CALLS * (double)sum.first->ranks)
        return false;
    finding->seconds = sum.seconds;
    finding->site = sum.first;
    snprintf(finding->text, sizeof finding->text,
             "%s reads and writes of files with %s on average take %s of a rank, "
             "most in %s.",
             text_of_count(count, sum.calls), text_of_bytes(bytes, sum.bytes / sum.calls),
             text_of_seconds(cost, sum.seconds), place_text(facts, sum.first, place));
    return true;
}

static bool find_long_init(struct facts *facts, struct finding *finding)
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
    return finding->seconds > facts->run;
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
        if (!has_figures(row))
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
static bool find_slow_node(struct facts *facts, struct finding *finding)
{
    char own[UNIT_TEXT_BYTES], others[UNIT_TEXT_BYTES];
    const struct summary *summary = facts->summary;
    const struct summary_row *longest = NULL;
    for (size_t i = 0; i < summary->row_count; i++)
        if (has_figures(&summary->rows[i]) && (!longest || useful_of(&summary->rows[i]) > useful_of(longest)))
            longest = &summary->rows[i];
    if (!longest || summary->host_count < 2 || facts->loads[longest->host].ranks < 2)
        return false;
    struct host_mean is = host_mean_of(facts, longest->host);
    if (is.least <= is.most * (1 + LEAST_SHARE))
        return false;
    for (size_t i = 0; i < summary->row_count; i++)
        if (summary->rows[i].host == longest->host)
            rank_add(finding, summary->rows[i].rank);
    facts->slow_host = longest->host;
    finding->seconds = is.mean - facts->efficiency.mean;
    snprintf(finding->text, sizeof finding->text,
             "All ranks of %s compute longer than any other rank: %s, the others %s on average. The node may be slow.",
             summary->hosts[longest->host].name, text_of_seconds(own, is.mean), text_of_seconds(others, is.others));
    return true;
}

/* All ranks wait, though none of the other rules knows why. */
static bool find_serialization(struct facts *facts, struct finding *finding)
{
    char least[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES];
    if (!facts->stalls || facts->ranks < 2)
        return false;
    for (uint32_t i = 0; i < facts->summary->host_count; i++)
        if (facts->loads[i].crowded_ranks)
            return false;
    finding->seconds = facts->stall_least - facts->explained;
    finding->site = facts->waiting;
    snprintf(
        finding->text, sizeof finding->text,
        "Each rank waits %s or more in MPI, most in %s: ranks may wait in turn for each other, or for the network.",
        text_of_seconds(least, facts->stall_least), place_text(facts, facts->waiting, place));
    return true;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static const struct rule {
    const char *name;
    bool (*find)(struct facts *facts, struct finding *finding);
    bool of_calls; /* its cost is time in calls of its own, and explains stalls */
    const char *advice;
} rules[] = {
    {"oversubscribed", find_oversubscribed, false, "Start fewer ranks on a host, or use this only for tests."},
    {"slow_node", find_slow_node, false, "Compare the node with others, or leave it out."},
    {"load_imbalance", find_load_imbalance, false, "Give these ranks less work."},
    {"late_rank", find_late_rank, false,
     "Let other ranks do a part of its work in MPI. A trace shows who waits for it."},
    {"small_messages", find_small_messages, true, "Put several messages to the same rank into one."},
    {"polling", find_polling, true, "Test less often, or call MPI_Wait."},
    {"many_small_collectives", find_many_small_collectives, true, "Combine several values in one collective."},
    {"barriers", find_barriers, true, "Leave out barriers: messages and collectives order ranks by themselves."},
    {"made_in_loop", find_made_in_loop, true, "Make them once before the loop, and use them again."},
    {"small_io", find_small_io, true, "Collect data into larger pieces, or use collective I/O (MPI_File_write_all)."},
    {"long_init", find_long_init, false, "Judge a longer run. Start-up costs the same however long a job runs."},
    {"serialization", find_serialization, false, "Record a trace: mpit-dump --analyze shows who waits for whom."},
};

_Static_assert(sizeof rules / sizeof *rules <= FINDINGS_MAX, "each rule has a place");

/* Fills in what the rules need. False: not known. */
static bool facts_fill(struct facts *facts, const struct summary *summary)
{
    *facts = (struct facts){.summary = summary, .efficiency = summary_efficiency(summary), .slow_host = UINT32_MAX};
    facts->run = facts->efficiency.run;
    facts->imbalance = facts->efficiency.max - facts->efficiency.mean;
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];
        if (!has_figures(row))
            continue;
        facts->stall_least =
            facts->ranks < 1 || stall_of(row) < facts->stall_least ? stall_of(row) : facts->stall_least;
        facts->stall_mean += stall_of(row);
        facts->ranks++;
    }
    if (!facts->efficiency.known)
        return false;
    facts->stall_mean /= facts->ranks;
    facts->stalls = summary->stall_known && (double)summary->stall_known >= facts->ranks;
    for (uint64_t i = 0; i < summary->sites.count; i++) {
        const struct summary_site *site = &summary->sites.list[i];
        if (!is_outside(site) && site->stall_ns && (!facts->waiting || site->stall_ns > facts->waiting->stall_ns))
            facts->waiting = site;
    }
    return true;
}

static int by_cost(const void *one, const void *other)
{
    const struct finding *a = one, *b = other;
    bool first_a = strcmp(a->rule, rules[0].name) == 0, first_b = strcmp(b->rule, rules[0].name) == 0;
    if (first_a != first_b)
        return first_b - first_a;
    return a->seconds < b->seconds ? 1 : a->seconds > b->seconds ? -1 : strcmp(a->rule, b->rule);
}

void findings_find(struct findings *findings, const struct summary *summary)
{
    struct facts facts;
    struct host_load *loads = host_loads_of(summary);
    *findings = (struct findings){.known = loads && facts_fill(&facts, summary)};
    facts.loads = loads;
    for (size_t i = 0; findings->known && i < sizeof rules / sizeof *rules; i++) {
        struct finding *finding = &findings->list[findings->count];
        *finding = (struct finding){.rule = rules[i].name, .advice = rules[i].advice};
        if (!rules[i].find(&facts, finding) || finding->seconds < LEAST_SHARE * facts.run)
            continue;
        finding->share_of_run = finding->seconds / facts.run;
        facts.explained += rules[i].of_calls ? finding->seconds : 0;
        findings->count++;
    }
    qsort(findings->list, findings->count, sizeof *findings->list, by_cost);
    free(loads);
}
