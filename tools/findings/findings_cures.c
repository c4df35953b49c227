/* Findings of a replayed trace: each says what would have made the run shorter. */
#include "findings/findings_rules.h"

#include "base/units.h"
#include "calls.h"
#include "findings/curekind.h"
#include "report/summary_sites.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { RUN_TEXT_BYTES = 96, HOT_TIMES = 3 };

#define HOT_ADVICE "Let several ranks receive, spread its work, or combine data on the way, as a reduction does."

/* "the run would take 1.20 s in place of 2.00 s". With the cures before this one: "it would then take 1.10 s". */
static const char *run_text(const struct facts *facts, const struct summary_cure *cure, char text[RUN_TEXT_BYTES])
{
    char short_run[UNIT_TEXT_BYTES], run[UNIT_TEXT_BYTES];
    text_of_ns(short_run, cure->run_ns);
    if (cure == facts->summary->traced.cures)
        snprintf(text, RUN_TEXT_BYTES, "the %s would take %s in place of %s",
                 facts->summary->traced.part_ns ? "analysed part" : "run", short_run,
                 text_of_ns(run, cure->run_ns + cure->gain_ns));
    else
        snprintf(text, RUN_TEXT_BYTES, "it would then take %s", short_run);
    return text;
}

const char *finding_segment_text(const struct facts *facts, uint64_t first, uint64_t second,
                                 char text[SEGMENT_TEXT_BYTES])
{
    char from[PLACE_TEXT_BYTES], to[PLACE_TEXT_BYTES];
    const struct summary_site *begin = summary_site_of(&facts->summary->sites, first);
    const struct summary_site *end = summary_site_of(&facts->summary->sites, second);
    text[0] = '\0';
    if (!first || !begin || !end)
        return text;
    finding_place_text(facts, begin, from);
    finding_place_text(facts, end, to);
    if (strcmp(from, to) == 0) { /* calls in a function that others call */
        finding_caller_text(facts, begin, from);
        finding_caller_text(facts, end, to);
    }
    if (strcmp(from, to) == 0)
        snprintf(text, SEGMENT_TEXT_BYTES, " between one %s and the next", from);
    else
        snprintf(text, SEGMENT_TEXT_BYTES, " between %s and %s", from, to);
    return text;
}

/* The rank receives many times as many messages as the others. */
static bool is_hot_spot(const struct facts *facts, int32_t rank)
{
    double own = 0, all = 0, ranks = 0;
    for (size_t i = 0; i < facts->summary->row_count; i++) {
        const struct summary_row *row = &facts->summary->rows[i];
        own += row->rank == rank ? (double)row->received : 0;
        all += (double)row->received;
        ranks++;
    }
    return ranks >= 3 && own > 0 && own * (ranks - 1) > HOT_TIMES * (all - own);
}

/* All ranks of its host compute longer than any other rank. */
static bool is_slow_node(const struct facts *facts, int32_t rank)
{
    for (size_t i = 0; i < facts->summary->row_count; i++)
        if (facts->summary->rows[i].rank == rank)
            return facts->summary->rows[i].host == facts->slow_host;
    return false;
}

/* Appends "Rank 2 takes 8.00 s between ... and ..., the others 2.00 s." */
static void rank_times_append(const struct summary_cure *cure, const char *where, struct finding *finding)
{
    char own[UNIT_TEXT_BYTES], others[UNIT_TEXT_BYTES];
    finding_append(finding, "%sRank %" PRId32 " takes %s%s", finding->text[0] ? " " : "", finding->causes.ranks[0],
                   text_of_ns(own, cure->own_ns), where);
    finding_append(finding, cure->others_ns ? ", the others %s." : ".", text_of_ns(others, cure->others_ns));
    if (2 * cure->off_ns > cure->own_ns)
        finding_append(finding, " It has no processor for %s of that: it sleeps, reads or waits for one.",
                       text_of_ns(own, cure->off_ns));
}

/* Of one rank in one segment with few words, so that it has room on a screen. */
static void write_times(const struct facts *facts, const struct summary_cure *cure, struct finding *finding)
{
    char ranks[RANKS_TEXT_BYTES], where[SEGMENT_TEXT_BYTES], run[RUN_TEXT_BYTES];
    bool all = cure->kind == CURE_EVEN, first = cure == facts->summary->traced.cures;
    finding_segment_text(facts, cure->from, cure->to, where);
    if (where[0] && !all && (finding->causes.count == 1 || !first)) {
        rank_times_append(cure, where, finding);
        if (first)
            finding_append(finding, " With even times %s.", run_text(facts, cure, run));
        return;
    }
    finding_ranks_text(finding, ranks);
    ranks[0] = 'r'; /* in a sentence */
    snprintf(finding->text, sizeof finding->text, "If %s %s%s, %s.", ranks,
             cure->kind == CURE_AS_OTHERS ? "took as long as the others" : "and the others took equally long",
             all ? " outside of MPI" : where, run_text(facts, cure, run));
    if (cure->own_ns)
        rank_times_append(cure, all && where[0] ? where : " there", finding);
}

static void tell_uneven(const struct facts *facts, const struct summary_cure *cure, struct finding *finding)
{
    char where[SEGMENT_TEXT_BYTES], run[RUN_TEXT_BYTES];
    if (cure->moves) {
        finding->rule = "moving_imbalance";
        finding->advice = "Balance each step, or let ranks run ahead of each other: fewer calls that all wait for.";
        snprintf(finding->text, sizeof finding->text,
                 "Another rank takes long each time%s. If all took the same time at each step, %s.",
                 finding_segment_text(facts, cure->from, cure->to, where), run_text(facts, cure, run));
        return;
    }
    finding->rule = "load_imbalance";
    finding->advice = finding->causes.count == 1 ? "Give this rank less work." : "Give these ranks less work.";
    if (is_slow_node(facts, cure->causes.ranks[0])) {
        finding->rule = "slow_node";
        finding->advice = "All ranks of this node take longer. Compare it with others, or leave it out.";
    }
    if (cure->causes.count == 1 && is_hot_spot(facts, cure->causes.ranks[0])) {
        finding->rule = "hot_spot";
        finding->advice =
            "Let several ranks receive, spread its work, or combine data on the way, as a reduction does.";
    }
    write_times(facts, cure, finding);
}

static void tell_work(const struct facts *facts, const struct summary_cure *cure, struct finding *finding)
{
    char ranks[RANKS_TEXT_BYTES], run[RUN_TEXT_BYTES], own[UNIT_TEXT_BYTES];
    bool hot = is_hot_spot(facts, cure->causes.ranks[0]);
    finding->rule = hot ? "hot_spot" : "late_rank";
    finding->advice = hot ? HOT_ADVICE : "Let other ranks do a part of its work in MPI.";
    finding_ranks_text(finding, ranks);
    ranks[0] = 'r'; /* in a sentence */
    snprintf(finding->text, sizeof finding->text,
             "If %s and the others worked equally long in MPI, %s. Rank %" PRId32 " works %s there, without its waits.",
             ranks, run_text(facts, cure, run), cure->causes.ranks[0], text_of_ns(own, cure->own_ns));
}

static void tell_root(const struct facts *facts, const struct summary_cure *cure, struct finding *finding)
{
    finding->rule = "late_root";
    finding->advice = "Let it come earlier: do this before others wait, on another rank, or read files once and ahead.";
    write_times(facts, cure, finding);
}

static void tell_simple(const struct facts *facts, const struct summary_cure *cure, struct finding *finding)
{
    char run[RUN_TEXT_BYTES], where[SEGMENT_TEXT_BYTES];
    static const struct {
        const char *rule, *condition, *advice;
    } simple[CURE_KINDS] = {
        [CURE_RECEIVES_EARLY] = {"late_receives", "If receives were posted before their sends",
                                 "Post receives before the computation, with MPI_Irecv."},
        [CURE_ANY_ORDER] = {"wrong_order", "If messages were taken in the order in which they come",
                            "Receive with MPI_ANY_SOURCE or MPI_Waitany, and work on what comes first."},
        [CURE_POSTS_EARLY] = {"late_post", "If windows were exposed before others access them",
                              "Call MPI_Win_post before the computation, if that does not touch the window."},
        [CURE_SENDS_EARLY] = {"late_sender", "If sends came before the computation that precedes them",
                              "Send first, and compute after it, if the data is ready earlier."},
        [CURE_AT_ONCE] = {"serialization", "If ranks did not wait for each other's messages, in turn",
                          "Let ranks work at the same time."},
        [CURE_PROGRESS] = {"no_overlap", "If nonblocking transfers ran while ranks compute",
                           "Call MPI_Test between parts of the computation, so that MPI makes progress."},
        [CURE_LOCKS_SHORT] = {"lock_contention", "If no rank computed while it holds a lock on a window",
                              "Compute before the lock is taken, and hold it for the access alone."},
    };
    finding->rule = simple[cure->kind].rule;
    finding->advice = simple[cure->kind].advice;
    snprintf(finding->text, sizeof finding->text, "%s%s, %s.", simple[cure->kind].condition,
             cure->kind == CURE_AT_ONCE || cure->kind == CURE_ANY_ORDER
                 ? ""
                 : finding_segment_text(facts, cure->from, cure->to, where),
             run_text(facts, cure, run));
    if (cure->kind == CURE_ANY_ORDER && cure->causes.count)
        finding_append(finding, " Rank %" PRId32 " waits in %s.", cure->causes.ranks[0],
                       finding_place_text(facts, finding->site, where));
}

/* "the 1,000 ", a rank. Calls without a place are in no group, and what a part of the run has is not counted. */
static const char *group_count_text(const struct facts *facts, enum call_group group, char text[2 * UNIT_TEXT_BYTES])
{
    char count[UNIT_TEXT_BYTES];
    const struct summary_sites *sites = &facts->summary->sites;
    struct group_sum sum = call_group_sum(facts->summary, group);
    uint64_t calls = group == GROUP_SMALL_MESSAGES ? sum.sent : sum.calls;
    bool others = sites->count && sites->list[sites->count - 1].hash == SITE_OTHERS;
    text[0] = '\0';
    if (!facts->summary->traced.part_ns)
        snprintf(text, 2 * UNIT_TEXT_BYTES, "the %s %s", text_of_count(count, calls / (uint64_t)facts->ranks),
                 others ? "or more " : "");
    return text;
}

static void tell_calls(const struct facts *facts, const struct summary_cure *cure, struct finding *finding)
{
    char run[RUN_TEXT_BYTES], count[2 * UNIT_TEXT_BYTES];
    static const struct {
        const char *rule, *what, *advice;
    } groups[CALL_GROUPS] = {
        [GROUP_SMALL_MESSAGES] = {"small_messages", "small messages of a rank cost nothing",
                                  "Put several messages to the same rank into one."},
        [GROUP_SMALL_COLLECTIVES] = {"many_small_collectives", "small collectives of a rank did no work",
                                     "Combine several values in one collective."},
        [GROUP_BARRIERS] = {"barriers", "barriers of a rank were not there",
                            "Leave out barriers: messages and collectives order ranks by themselves."},
        [GROUP_OBJECTS] = {"made_in_loop", "calls of a rank that make or free objects were not there",
                           "Make them once before the loop, and use them again."},
        [GROUP_SMALL_IO] = {"small_io", "small reads and writes of files of a rank cost nothing",
                            "Collect data into larger pieces, or use collective I/O (MPI_File_write_all)."},
        [GROUP_POLLS] = {"polling", "polls of a rank cost nothing", "Test less often, or call MPI_Wait."},
    };
    finding->rule = groups[cure->group].rule;
    finding->advice = groups[cure->group].advice;
    snprintf(finding->text, sizeof finding->text, "If %s%s, %s.",
             group_count_text(facts, (enum call_group)cure->group, count), groups[cure->group].what,
             run_text(facts, cure, run));
}

static void tell_interference(const struct facts *facts, const struct summary_cure *cure, struct finding *finding)
{
    char ranks[RANKS_TEXT_BYTES], run[RUN_TEXT_BYTES];
    finding->rule = "interference";
    finding->advice = "Look for other processes on that processor, bind ranks to other ones, or run alone.";
    finding_ranks_text(finding, ranks);
    ranks[0] = 'r'; /* in a sentence */
    snprintf(finding->text, sizeof finding->text,
             "If %s always had a processor, %s. Other processes, or a limit, took it.", ranks,
             run_text(facts, cure, run));
}

static void tell_placement(const struct facts *facts, const struct summary_cure *cure, struct finding *finding)
{
    const struct summary_placement *placement = &facts->summary->traced.placement;
    char run[RUN_TEXT_BYTES], better[UNIT_TEXT_BYTES], now[UNIT_TEXT_BYTES];
    finding->rule = "placement";
    finding->advice = "Start the ranks in that order: mpit-dump --export placement DIR RUN writes it for launchers.";
    snprintf(finding->text, sizeof finding->text, "If ranks that exchange most were on the same node, %s.",
             run_text(facts, cure, run));
    if (placement->known)
        finding_append(finding, " Messages between nodes would have %s in place of %s.",
                       text_of_bytes(better, placement->better_bytes), text_of_bytes(now, placement->between_bytes));
}

/* Appends where most of the waiting, or most of the calls, is. */
static void tell_place(const struct facts *facts, struct finding *finding, bool waits)
{
    char place[PLACE_TEXT_BYTES];
    if (finding->site &&
        (!waits || (finding->site != finding->around[0] && finding->site != finding->around[1]))) /* not said yet */
        finding_append(finding, " Most %s in %s.", waits ? "waiting is" : "of their time is",
                       finding_place_text(facts, finding->site, place));
}

bool cure_is_sound(const struct summary_cure *cure)
{
    bool calls = cure->kind == CURE_CHEAP || cure->kind == CURE_FREE;
    return cure->kind >= 0 && cure->kind < CURE_KINDS && cure->kind != CURE_LEVELLED && cure->group >= 0 &&
           cure->group < CALL_GROUPS && (!calls || cure->group != GROUP_NONE);
}

void finding_of_cure(const struct facts *facts, const struct summary_cure *cure, struct finding *finding)
{
    bool calls = cure->kind == CURE_CHEAP || cure->kind == CURE_FREE;
    *finding = (struct finding){.share_of_run = seconds_of(cure->gain_ns) / facts->analysed, .replayed = true};
    finding->seconds = finding->share_of_run * facts->run;
    finding->site = cure->waits ? summary_site_of(&facts->summary->sites, cure->waits) : NULL;
    finding->around[0] = cure->from ? summary_site_of(&facts->summary->sites, cure->from) : NULL;
    finding->around[1] = cure->to ? summary_site_of(&facts->summary->sites, cure->to) : NULL;
    finding->causes = cure->causes;
    finding->waiting = cure->waiting;
    if (cure->kind == CURE_EVEN_WORK)
        tell_work(facts, cure, finding);
    else if (cure->kind == CURE_EVEN || cure->kind == CURE_BALANCED)
        tell_uneven(facts, cure, finding);
    else if (cure->kind == CURE_AS_OTHERS)
        tell_root(facts, cure, finding);
    else if (cure->kind == CURE_PLACEMENT)
        tell_placement(facts, cure, finding);
    else if (cure->kind == CURE_ON_PROCESSOR)
        tell_interference(facts, cure, finding);
    else if (calls)
        tell_calls(facts, cure, finding);
    else
        tell_simple(facts, cure, finding);
    tell_place(facts, finding, !calls);
}
