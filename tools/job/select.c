#include "job/select.h"

#include "base/array.h"
#include "base/units.h"
#include "settings/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int selection_ranks(struct selection *selection, const char *text, char problem[SELECT_PROBLEM_BYTES])
{
    const char *at = text;
    do {
        if (!ARRAY_GROWN(selection->ranks, selection->rank_count)) {
            snprintf(problem, SELECT_PROBLEM_BYTES, "out of memory");
            return -1;
        }
        if (!rank_range_read(&at, &selection->ranks[selection->rank_count])) {
            snprintf(problem, SELECT_PROBLEM_BYTES, "'%.60s' is not a list of ranks; " RANK_LIST_ALLOWED, text);
            return -1;
        }
        selection->rank_count++;
    } while (*at++ == ',');
    return 0;
}

int selection_window(struct selection *selection, const char *text, char problem[SELECT_PROBLEM_BYTES])
{
    const char *at = text;
    selection->windowed = true;
    selection->from_ns = INT64_MIN;
    selection->to_ns = INT64_MAX;
    bool good = *at == ':' || ns_of_text(&at, &selection->from_ns);
    good = good && *at == ':' && text[1];
    if (good && *++at)
        good = ns_of_text(&at, &selection->to_ns) && *at == '\0' && selection->to_ns >= selection->from_ns;
    if (good)
        return 0;
    snprintf(problem, SELECT_PROBLEM_BYTES,
             "'%.60s' is not a time window; allowed are FROM:TO, FROM: and :TO, in seconds since the job began or with "
             "a unit (s, ms, us, ns), as in 1.5:2.25 or 200ms:",
             text);
    return -1;
}

int selection_comm(struct selection *selection, const char *text, char problem[SELECT_PROBLEM_BYTES])
{
    if (!text[0] || selection->comm_count == SELECT_COMMS_MAX) {
        snprintf(problem, SELECT_PROBLEM_BYTES,
                 text[0] ? "more than %d communicators are named; use the wildcards * and ? in a name"
                         : "the name of the communicator is empty",
                 SELECT_COMMS_MAX);
        return -1;
    }
    selection->comms[selection->comm_count++] = text;
    return 0;
}

int selection_functions(struct selection *selection, const char *text, char problem[SELECT_PROBLEM_BYTES])
{
    if (!text[0]) {
        snprintf(problem, SELECT_PROBLEM_BYTES, "the list of functions is empty");
        return -1;
    }
    if (filter_select(text, selection->left_out, problem, SELECT_PROBLEM_BYTES) != 0)
        return -1;
    selection->by_function = true;
    return 0;
}

void selection_describe(struct selection *selection, const char *option, const char *text)
{
    size_t used = strlen(selection->described);
    snprintf(selection->described + used, sizeof selection->described - used, "%s--%s %s", used ? " " : "", option,
             text);
}

void selection_release(struct selection *selection)
{
    free(selection->ranks);
    *selection = (struct selection){0};
}

bool selection_is_given(const struct selection *selection)
{
    return selection->ranks || selection_cuts_calls(selection);
}

bool selection_cuts_calls(const struct selection *selection)
{
    return selection->windowed || selection->comm_count || selection->by_function;
}

bool selection_has_rank(const struct selection *selection, int32_t world_rank)
{
    for (size_t i = 0; i < selection->rank_count; i++)
        if (world_rank >= selection->ranks[i].first && world_rank <= selection->ranks[i].last)
            return true;
    return selection->rank_count == 0;
}

/* The ranges may be in any order, and may overlap. The size comes from a file, so ranks are not counted one by one. */
int32_t selection_ranks_below(const struct selection *selection, int32_t size)
{
    int64_t count = 0, next = 0; /* ranks below `next` have been counted */
    if (!selection->ranks)
        return size;
    while (next < size) {
        const struct rank_range *nearest = NULL;
        for (size_t i = 0; i < selection->rank_count; i++) {
            const struct rank_range *range = &selection->ranks[i];
            if (range->last >= next && (!nearest || range->first < nearest->first))
                nearest = range;
        }
        if (!nearest || nearest->first >= size)
            break;
        int64_t first = nearest->first > next ? nearest->first : next;
        int64_t behind = nearest->last < size ? (int64_t)nearest->last + 1 : size;
        count += behind - first;
        next = behind;
    }
    return (int32_t)count;
}

bool selection_has_time(const struct selection *selection, int64_t begin_ns, int64_t end_ns)
{
    return !selection->windowed || (begin_ns <= selection->to_ns && end_ns >= selection->from_ns);
}

int64_t selection_ns(const struct run_reader *run, const struct event *event, const struct event_extension *more)
{
    unsigned kind = event_kind(event);
    bool lasts = kind < RECORD_END || kind == EVENT_REGION || kind == EVENT_FABRIC;
    return lasts ? (int64_t)clock_ns(run_reader_scale(run), event_duration(event, more)) : 0;
}

static const char *character_end(const char *at)
{
    do
        at++;
    while (((unsigned char)*at & 0xc0) == 0x80); /* UTF-8 */
    return at;
}

/* fnmatch would give a meaning to brackets and backslashes, which occur in names. */
bool selection_name_fits(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL; /* after the last *, and the first character beyond its match */
    while (*name) {
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (*pattern == '?') {
            pattern++;
            name = character_end(name);
        } else if (*pattern && *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star;
            name = from = character_end(from);
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

bool selection_has_comm(const struct selection *selection, const char *name, const char *label)
{
    for (size_t i = 0; i < selection->comm_count; i++)
        if ((name && selection_name_fits(selection->comms[i], name)) ||
            (label && label[0] && selection_name_fits(selection->comms[i], label)))
            return true;
    return selection->comm_count == 0;
}

bool selection_has_function(const struct selection *selection, unsigned kind)
{
    return !selection->by_function || (kind < CALL_COUNT && kind && !selection->left_out[kind]);
}

bool selection_has_call(const struct selection *selection, const struct run_reader *run, const struct event *event,
                        int64_t begin_ns, int64_t end_ns)
{
    /* without a time, the owner of a reused slot is not known */
    bool timed = event->begin || !run->header.past;
    const struct comm_record *comm = timed ? run_reader_comm_record(run, event->comm, event->begin) : NULL;
    return selection_has_rank(selection, run_rank(&run->header)) && selection_has_time(selection, begin_ns, end_ns) &&
           selection_has_function(selection, event_kind(event)) &&
           selection_has_comm(selection, comm ? comm->name : NULL, comm ? comm->label : NULL);
}
