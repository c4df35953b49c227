#include "cures/questions.h"

#include "base/cxxname.h"
#include "base/text.h"
#include "base/units.h"
#include "cures/cures.h"
#include "job/jsonvalue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QUESTIONS_ALLOWED                                                                                              \
    "allowed are 'latency x0.5' (above x0), 'latency +100us', 'bandwidth x2', 'computing x0.5', 'rank 3 balanced' "    \
    "and "                                                                                                             \
    "'halo.c:72 free' (a line, a function of the program or of MPI)"

/* ---- their text -------------------------------------------------------------------------------------------------- */

static bool factor_read(const char *text, double *factor)
{
    char *end;
    if (text[0] != 'x' || ((text[1] < '0' || text[1] > '9') && text[1] != '.'))
        return false;
    *factor = strtod(text + 1, &end);
    return !*end && *factor > 0 && *factor < 1e9;
}

static bool more_read(const char *text, double *ns)
{
    int64_t more;
    const char *at = text + 1;
    if (text[0] != '+' || !ns_of_text(&at, &more) || *at || text[strlen(text) - 1] != 's') /* it needs a unit */
        return false;
    *ns = (double)more;
    return true;
}

static bool balanced_rank_read(const char *text, int32_t *rank)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    *rank = (int32_t)number;
    return text[0] >= '0' && text[0] <= '9' && !errno && number < WORLD_SIZE_MAX && strcmp(end, " balanced") == 0;
}

/* Returns what follows the word, or NULL. */
static const char *after_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 ? text + length : NULL;
}

int question_read(struct question *question, const char *text, char problem[QUESTION_PROBLEM_BYTES])
{
    const char *latency = after_word(text, "latency "), *bandwidth = after_word(text, "bandwidth "),
               *computing = after_word(text, "computing "), *rank = after_word(text, "rank ");
    *question = (struct question){.text = text, .rank = -1};
    if (latency && factor_read(latency, &question->amount))
        question->kind = ASK_LATENCY;
    else if (latency && more_read(latency, &question->amount))
        question->kind = ASK_LATENCY_MORE;
    else if (bandwidth && factor_read(bandwidth, &question->amount))
        question->kind = ASK_BANDWIDTH;
    else if (computing && factor_read(computing, &question->amount))
        question->kind = ASK_COMPUTING;
    else if (rank && balanced_rank_read(rank, &question->rank))
        question->kind = ASK_RANK;
    else if (text_ends(text, " free"))
        question->kind = ASK_PLACE;
    else {
        snprintf(problem, QUESTION_PROBLEM_BYTES, "'%.80s' is no question; " QUESTIONS_ALLOWED, text);
        return -1;
    }
    return 0;
}

/* ---- their worlds ------------------------------------------------------------------------------------------------ */

struct inquiry {
    const struct analysis *analysis;
    struct world_change changes[WORLDS_MOST];
    world_set *calls; /* by place */
};

static bool text_is(const char *text, const char *name, size_t length)
{
    return strlen(text) == length && memcmp(text, name, length) == 0;
}

/* Returns whether the frame is in the function, or in the line "halo.c:72". */
static bool frame_has(const struct summary_sites *sites, const struct summary_frame *frame, const char *name,
                      size_t length)
{
    const char *function = summary_text(sites, frame->function), *file = summary_text(sites, frame->file);
    char text[CXX_NAME_BYTES] = "";
    if (function && (text_is(function, name, length) || text_is(cxx_name_short(function, text), name, length)))
        return true;
    if (file)
        snprintf(text, sizeof text, "%.180s:%u", path_base(file), frame->line);
    return file && text_is(text, name, length);
}

static bool site_has(const struct summary_sites *sites, const struct summary_site *site, const char *name,
                     size_t length)
{
    if (site->kind < CALL_COUNT && text_is(call_table[site->kind].name, name, length))
        return true;
    for (uint32_t i = 0; i < site->frame_count; i++)
        if (frame_has(sites, &sites->frames[site->first_frame + i], name, length))
            return true;
    return false;
}

/* Marks the calls that are made there, or in a function that is called there. Returns whether there are any. */
static bool calls_mark(const struct inquiry *inquiry, const char *question, world_set world)
{
    struct call_places *places = inquiry->analysis->places;
    size_t length = strlen(question) - strlen(" free");
    bool found = false;
    for (uint32_t place = 1; place <= call_places_count(places); place++) {
        struct summary_sites sites;
        const struct summary_site *site = call_place_site(places, place, &sites);
        if (!site || !site_has(&sites, site, question, length))
            continue;
        inquiry->calls[place] |= world;
        found = true;
    }
    return found;
}

/* The factor that makes a rank compute as long as the others on average. 0: there is none. */
static double rank_factor(const struct analysis *analysis, int32_t rank)
{
    double others = 0, own = 0;
    for (int32_t r = 0; r < analysis->job.size; r++)
        *(r == rank ? &own : &others) += analysis->useful_ns[(size_t)r * analysis->worlds + WORLD_RECORDED];
    return own > 0 && analysis->job.size > 1 ? others / (analysis->job.size - 1) / own : 0;
}

/* Returns NULL, or why there is no answer. */
static const char *change_make(struct inquiry *inquiry, const struct question *question, size_t world)
{
    const struct analysis *analysis = inquiry->analysis;
    struct world_change *change = &inquiry->changes[world];
    double latency = (double)analysis->network.latency_ns, byte = network_byte_ns(&analysis->network);
    switch (question->kind) {
    case ASK_LATENCY:
        change->latency_ns = (question->amount - 1) * latency;
        return latency > 0 ? NULL : "no receive waited for a message below 1 KiB: the latency is not known";
    case ASK_LATENCY_MORE:
        change->latency_ns = question->amount;
        return NULL;
    case ASK_BANDWIDTH:
        change->byte_ns = (1 / question->amount - 1) * byte;
        return byte > 0 ? NULL : "no receive waited for a message of 64 KiB or more: the bandwidth is not known";
    case ASK_COMPUTING:
        change->computing = question->amount;
        return NULL;
    case ASK_RANK:
        if (question->rank >= analysis->job.size)
            return "the run has no such rank";
        change->rank = question->rank;
        change->computing = rank_factor(analysis, question->rank);
        return change->computing > 0 ? NULL : "the rank does not compute, or has no others";
    default:
        return calls_mark(inquiry, question->text, (world_set)1 << world)
                   ? NULL
                   : "the run has no call there; mpit-dump --callpaths shows the places";
    }
}

static void answers_take(struct answers *answers, const struct analysis *reading)
{
    const double *run_ns = reading->ideal.world_ns;
    answers->recorded_ns = run_ns[WORLD_RECORDED];
    for (size_t i = 0; i < answers->count; i++) {
        double more = run_ns[WORLDS_FIXED + 1 + i] - run_ns[WORLDS_FIXED], ns = answers->recorded_ns + more;
        answers->run_ns[i] = answers->why[i] ? -1 : ns > 0 ? ns : 0;
    }
}

const char *replay_obstacle(const struct analysis *analysis)
{
    if (analysis->no_worlds)
        return analysis->no_worlds;
    return analysis->unknown_ns > UNKNOWN_MOST * analysis->recorded_ns
               ? "the trace does not tell for which ranks many calls waited"
               : NULL;
}

int questions_ask(struct answers *answers, const struct analysis *analysis, const struct question *questions,
                  size_t count, const char **why)
{
    struct inquiry inquiry = {.analysis = analysis};
    struct world_plan plan = {.count = WORLDS_FIXED + 1 + count,
                              .changes = inquiry.changes,
                              .latency_ns = (double)analysis->network.latency_ns,
                              .byte_ns = network_byte_ns(&analysis->network)};
    *answers = (struct answers){.questions = questions, .count = count};
    if ((*why = replay_obstacle(analysis)))
        return -1;
    plan.calls = inquiry.calls = calloc(call_places_count(analysis->places) + 1, sizeof *inquiry.calls);
    for (size_t k = 0; k < WORLDS_MOST; k++)
        inquiry.changes[k] = (struct world_change){.computing = 1, .rank = -1};
    for (size_t i = 0; inquiry.calls && i < count; i++)
        answers->why[i] = change_make(&inquiry, &questions[i], WORLDS_FIXED + 1 + i);
    struct analysis *reading =
        inquiry.calls && world_plan_open(&plan) == 0 ? analysis_replay(analysis, &plan, NULL) : NULL;
    if (reading)
        answers_take(answers, reading);
    analysis_reading_release(reading);
    world_plan_release(&plan);
    free(inquiry.calls);
    return reading ? 0 : -1;
}

/* ---- their answers ----------------------------------------------------------------------------------------------- */

enum { QUESTION_COLUMNS = 30 };

void answers_print(const struct answers *answers, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    fprintf(out, "%-*s %9s\n", QUESTION_COLUMNS, "as recorded", text_of_ns(a, (uint64_t)answers->recorded_ns));
    for (size_t i = 0; i < answers->count; i++) {
        const char *text = answers->questions[i].text;
        double gain = answers->recorded_ns - answers->run_ns[i];
        if (answers->why[i])
            fprintf(out, "%-*s         ? %s\n", QUESTION_COLUMNS, text, answers->why[i]);
        else
            fprintf(out, "%-*s %9s %8s %s\n", QUESTION_COLUMNS, text, text_of_ns(a, (uint64_t)answers->run_ns[i]),
                    text_of_share(b, gain < 0 ? -gain : gain, answers->recorded_ns), gain < 0 ? "more" : "less");
    }
}

json_t *answers_json(const struct answers *answers)
{
    json_t *list = json_array();
    for (size_t i = 0; i < answers->count; i++) {
        const char *why = answers->why[i];
        json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "question", text_json(answers->questions[i].text),
                                              "run_ns", known_count_json(!why, why ? 0 : (uint64_t)answers->run_ns[i]),
                                              "unknown", text_json(why)));
    }
    return json_pack("{s:o, s:o}", "run_ns", count_json((uint64_t)answers->recorded_ns), "what_if", list);
}
