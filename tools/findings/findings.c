#define _GNU_SOURCE
#include "findings/findings_rules.h"

#include "base/array.h"
#include "base/units.h"
#include "calls.h"
#include "report/summary_sites.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void finding_append(struct finding *finding, const char *format, ...)
{
    size_t used = strlen(finding->text);
    va_list args;
    va_start(args, format);
    vsnprintf(finding->text + used, sizeof finding->text - used, format, args);
    va_end(args);
}

/* ---- ranks and places in text ------------------------------------------------------------------------------------ */

#define LEAST_SECONDS 0.01
enum { RANKS_NAMED = 4, PLACE_COLUMNS = 48, SHORT_SECONDS = 1 };

const char *finding_ranks_text(const struct finding *finding, char text[RANKS_TEXT_BYTES])
{
    int used = snprintf(text, RANKS_TEXT_BYTES, "Rank%s", finding->causes.count == 1 ? "" : "s");
    for (size_t i = 0; i < finding->causes.count && i < RANKS_NAMED; i++)
        used += snprintf(text + used, RANKS_TEXT_BYTES - (size_t)used, "%s %" PRId32, i ? "," : "",
                         finding->causes.ranks[i]);
    if (finding->causes.count > RANKS_NAMED)
        snprintf(text + used, RANKS_TEXT_BYTES - (size_t)used, " and %zu others", finding->causes.count - RANKS_NAMED);
    return text;
}

/* At most so long, in whole characters. */
static void place_cut(const char *place, char text[PLACE_COLUMNS + 4])
{
    size_t end = strlen(place), most = PLACE_COLUMNS;
    while (most > 0 && ((unsigned char)place[most] & 0xc0) == 0x80) /* not in a character */
        most--;
    snprintf(text, PLACE_COLUMNS + 4, "%.*s%s", (int)(end > most ? most : end), place, end > most ? "..." : "");
}

const char *finding_place_text(const struct facts *facts, const struct summary_site *site, char text[PLACE_TEXT_BYTES])
{
    char place[PLACE_COLUMNS + 4];
    char whole[SITE_PLACE_BYTES];
    snprintf(text, PLACE_TEXT_BYTES, "%s", site ? call_table[site->kind].name : "MPI");
    if (!site || !site->frame_count)
        return text;
    place_cut(site_place_text(&facts->summary->sites, site, whole), place);
    snprintf(text, PLACE_TEXT_BYTES, "%s (%s)", call_table[site->kind].name, place);
    return text;
}

const char *finding_caller_text(const struct facts *facts, const struct summary_site *site, char text[PLACE_TEXT_BYTES])
{
    char place[PLACE_COLUMNS + 4], caller[PLACE_COLUMNS + 4], whole[SITE_PLACE_BYTES];
    const struct summary_sites *sites = &facts->summary->sites;
    const struct summary_frame *frame = site ? site_place_frame(sites, site) : NULL;
    if (!frame || frame + 1 >= &sites->frames[site->first_frame + site->frame_count])
        return finding_place_text(facts, site, text);
    place_cut(site_place_text(sites, site, whole), place);
    place_cut(frame_place_text(sites, frame + 1, whole), caller);
    snprintf(text, PLACE_TEXT_BYTES, "%s (%s < %s)", call_table[site->kind].name, place, caller);
    return text;
}

bool site_is_outside(const struct summary_site *site)
{
    return site->kind == CALL_NONE || call_is_end(site->kind);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static const struct rule {
    const char *name;
    bool (*find)(struct facts *facts, struct finding *finding);
    bool of_calls; /* its cost is time in calls of its own, and explains stalls */
    bool outside;  /* its cost is not a part of what efficiency lacks, and a replay does not tell it */
    bool note;
    const char *advice;
    bool timeless; /* it costs no time */
} rules[] = {
    {"oversubscribed", find_oversubscribed, false, true, true,
     "Start fewer ranks on a host, or use this only for tests.", false},
    {"slow_node", find_slow_node, false, false, false, "Compare the node with others, or leave it out.", false},
    {"load_imbalance", find_load_imbalance, false, false, false, "Give these ranks less work.", false},
    {"hot_spot", find_hot_spot, false, false, false,
     "Let several ranks receive, or combine data on the way, as a reduction does.", false},
    {"late_rank", find_late_rank, false, false, false, "Let other ranks do a part of its work in MPI.", false},
    {"late_receives", find_late_receives, true, false, false, "Post receives before the computation, with MPI_Irecv.",
     false},
    {"small_messages", find_small_messages, true, false, false, "Put several messages to the same rank into one.",
     false},
    {"polling", find_polling, true, false, false, "Test less often, or call MPI_Wait.", false},
    {"many_small_collectives", find_many_small_collectives, true, false, false,
     "Combine several values in one collective.", false},
    {"barriers", find_barriers, true, false, false,
     "Leave out barriers: messages and collectives order ranks by themselves.", false},
    {"made_in_loop", find_made_in_loop, true, false, false, "Make them once before the loop, and use them again.",
     false},
    {"small_io", find_small_io, true, false, false,
     "Collect data into larger pieces, or use collective I/O (MPI_File_write_all).", false},
    {"idle_threads", find_idle_threads, false, true, false,
     "Share the serial parts among threads (OpenMP), or use processors for more ranks.", false},
    {"serial_part", find_serial_part, false, true, false,
     "Put it into a parallel region, or use fewer threads for more ranks.", false},
    {"openmp_imbalance", find_openmp_imbalance, false, true, false,
     "Share the work in smaller pieces, as with schedule(dynamic).", false},
    {"openmp_overhead", find_openmp_overhead, false, true, false,
     "Make regions larger, and their barriers and critical sections fewer.", false},
    {"long_init", find_long_init, false, true, true,
     "Judge a longer run. Start-up costs the same however long a job runs.", false},
    {"waits_unexplained", find_waits_unexplained, false, false, false,
     "Record a trace (--trace). Ranks in turn could work at the same time, or steps could be balanced.", false},
    {"collectives_differ", find_mismatch, false, true, true, "Let all ranks make the same calls: data may be wrong.",
     true},
    {"messages_left", find_messages_left, false, true, true, "Receive them, or do not send them.", true},
    {"objects_left", find_objects_left, false, true, true,
     "Free, close or complete each of them, or make them before the loop.", true},
    {"memory_full", find_memory_full, false, true, true, "Start fewer ranks on a node.", true},
    {"memory_grows", find_memory_grows, false, true, true, "Look for memory that a pass takes and does not free.",
     true},
    {"memory_uneven", find_memory_uneven, false, true, true,
     "Let this rank read and send in pieces, or let each rank read its own part.", true},
};

_Static_assert(sizeof rules / sizeof *rules <= FINDINGS_MAX, "each rule has a place");

/* Fills in what the rules need. False: not known. */
static bool facts_fill(struct facts *facts, const struct summary *summary)
{
    *facts = (struct facts){
        .summary = summary, .efficiency = summary_efficiency(summary), .slow_host = UINT32_MAX, .hot_rank = -1};
    facts->run = facts->efficiency.run;
    facts->analysed = summary->traced.part_ns ? seconds_of(summary->traced.part_ns) : facts->run;
    facts->imbalance = facts->efficiency.max - facts->efficiency.mean;
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];
        if (!row_has_figures(row))
            continue;
        facts->stall_least =
            facts->ranks < 1 || stall_of(row) < facts->stall_least ? stall_of(row) : facts->stall_least;
        facts->stall_mean += stall_of(row);
        facts->ranks++;
        facts->threads += row->threads;
    }
    /* What was cut short at its start, or does nothing, says nothing of the program. */
    if (!facts->efficiency.known || facts->run < LEAST_SECONDS || (summary->ended_badly && facts->run < SHORT_SECONDS))
        return false;
    facts->stall_mean /= facts->ranks;
    facts->stalls = summary->stall_known && (double)summary->stall_known >= facts->ranks;
    facts->waiting = find_waiting(facts);
    return true;
}

/* Where other programs take the processors, times say nothing of this one. */
static void lack_tell(struct findings *findings, const struct facts *facts)
{
    const struct host_load *worst = NULL;
    char share[UNIT_TEXT_BYTES];
    for (size_t i = 0; i < facts->summary->host_count; i++) {
        const struct host_load *load = &facts->loads[i];
        if (load->wanted > 0 && (!worst || load->had * worst->wanted < worst->had * load->wanted))
            worst = load;
    }
    if (!worst)
        return;
    findings->lack_fact = snprintf(
        findings->lack, sizeof findings->lack,
        "Ranks on %s had a processor for %s of the time they wanted one: other programs, or a limit, took the rest.",
        facts->summary->hosts[worst - facts->loads].name, text_of_share(share, worst->had, worst->wanted));
    snprintf(findings->lack + findings->lack_fact, sizeof findings->lack - (size_t)findings->lack_fact,
             " %s Run it again where nothing else runs.",
             facts->summary->traced.replayed ? "So gains are of this run, and may differ in another."
                                             : "So no times are judged.");
}

/* The rules on sums. What a replay of the trace tells, they leave to it. */
static void rules_apply(struct findings *findings, struct facts *facts)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct finding *finding = &findings->list[findings->count];
        bool told = facts->summary->traced.replayed && !rules[i].outside;
        *finding = (struct finding){.rule = rules[i].name, .advice = rules[i].advice, .note = rules[i].note};
        if ((findings->lack[0] && i > 0 && !rules[i].timeless) || (told && rules[i].find != find_slow_node) ||
            !rules[i].find(facts, finding) || told)
            continue;
        if (!rules[i].outside && finding->seconds > facts->run - facts->efficiency.mean)
            finding->seconds = facts->run - facts->efficiency.mean;
        if (finding->seconds < LEAST_SHARE * facts->run && !rules[i].timeless)
            continue;
        finding->share_of_run = finding->seconds / facts->run;
        facts->explained += rules[i].of_calls ? finding->seconds : 0;
        findings->count++;
    }
}

static int by_cost(const void *one, const void *other)
{
    const struct finding *a = one, *b = other;
    if (a->note != b->note)
        return b->note - a->note;
    return ORDER(b->seconds, a->seconds) ?: strcmp(a->rule, b->rule);
}

/* Adds a finding of a replay. */
static void finding_insert(struct findings *findings, const struct finding *finding)
{
    size_t at = findings->count++;
    for (const struct finding *before = findings->list; at; at--) {
        if (before[at - 1].note || before[at - 1].replayed || before[at - 1].seconds >= finding->seconds)
            break;
        findings->list[at] = before[at - 1];
    }
    findings->list[at] = *finding;
}

void findings_find(struct findings *findings, const struct summary *summary)
{
    struct facts facts;
    struct host_load *loads = host_loads_of(summary);
    *findings = (struct findings){.known = loads && facts_fill(&facts, summary)};
    findings->efficiency = findings->known ? facts.efficiency.parallel : 0;
    findings->replayed = summary->traced.replayed;
    findings->of_part = summary->traced.replayed && summary->traced.part_ns;
    facts.loads = loads;
    if (findings->known)
        lack_tell(findings, &facts);
    if (findings->known)
        rules_apply(findings, &facts);
    qsort(findings->list, findings->count, sizeof *findings->list, by_cost);
    for (size_t i = 0; findings->known && i < summary->traced.cure_count && findings->count < FINDINGS_MAX; i++) {
        struct finding cure;
        if (!cure_is_sound(&summary->traced.cures[i]))
            continue;
        finding_of_cure(&facts, &summary->traced.cures[i], &cure);
        finding_insert(findings, &cure);
    }
    free(loads);
}
