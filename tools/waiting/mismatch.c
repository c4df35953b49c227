#include "waiting/mismatch.h"

#include "calls.h"
#include "format/label.h"
#include "report/callplaces.h"
#include "waiting/ward.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A thread in a collective. Others in the same one have the same name and number. */
struct visit {
    const struct comm_record *comm;
    uint64_t number; /* 1: the first one on this communicator */
    uint32_t call;
    int32_t root; /* below 0: it has none */
    const struct patient *patient;
};

/* The order of collectives, and 0 for the same one. */
static int same_order(const struct visit *a, const struct visit *b)
{
    int names = strcmp(a->comm->name, b->comm->name);
    return names ? names : (a->number > b->number) - (a->number < b->number);
}

/* The same of calls that match. */
static int match_order(const struct visit *a, const struct visit *b)
{
    if (a->call != b->call)
        return a->call < b->call ? -1 : 1;
    return (a->root > b->root) - (a->root < b->root);
}

static int visit_order(const void *one, const void *other)
{
    const struct visit *a = one, *b = other;
    int same = same_order(a, b), calls = same ? same : match_order(a, b);
    return calls ? calls : (a->patient > b->patient) - (a->patient < b->patient);
}

/* A running rank may have gone on between the looks at its state and at its counters. */
static bool is_settled(const struct ward *ward, const struct patient *patient)
{
    return !patient->alive || ward->end_ns - patient->since_ns >= WAIT_LONG_NS;
}

/* The threads that are in a collective. In an inter-communicator roots differ between its groups. */
static size_t visits_find(const struct ward *ward, struct visit *visits)
{
    size_t count = 0;
    for (size_t i = 0; i < ward->count; i++) {
        const struct patient *patient = &ward->patients[i];
        uint32_t call = patient->state.call;
        const struct comm_record *comm = patient_comm(patient);
        if (!comm || comm->remote_size || comm->size < 2 || call == CALL_NONE || call >= CALL_COUNT ||
            strcmp(patient->call, call_table[call].name) != 0 || call_table[call].fold != FOLD_COLL ||
            call_table[call].class != CLASS_COLLECTIVE || !is_settled(ward, patient))
            continue;
        visits[count++] = (struct visit){comm, patient->done + 1, call, patient->state.peer, patient};
    }
    qsort(visits, count, sizeof *visits, visit_order);
    return count;
}

static size_t group_end(const struct visit *visits, size_t count, size_t from,
                        int (*order)(const struct visit *, const struct visit *))
{
    size_t end = from + 1;
    while (end < count && order(&visits[from], &visits[end]) == 0)
        end++;
    return end;
}

static const char *ordinal_end(uint64_t number)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    bool teen = number % 100 / 10 == 1;
    return number % 10 < 4 && !teen ? ends[number % 10] : "th";
}

/* "rank 3 called MPI_Bcast with root 1 at mm.c:9 (solve)" */
static void group_say(const struct ward *ward, const struct visit *group, size_t count, bool names, FILE *out)
{
    char ranks[RANKS_TEXT_BYTES], place[CALL_PLACE_BYTES];
    int32_t *list = calloc(count, sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        list[i] = run_rank(&group[i].patient->file->header);
    ranks_text(ranks, list, list ? count : 0);
    free(list);
    fputs(ranks, out);
    if (names)
        fprintf(out, " called %s", call_table[group->call].name);
    if (group->root >= 0)
        fprintf(out, " with root %" PRId32, group->root);
    if (names && group->patient->place && ward->places)
        fprintf(out, " at %s", call_place_text(ward->places, group->patient->place, 0, place));
}

/* The visits of one collective. */
static size_t collective_print(const struct ward *ward, const struct visit *visits, size_t count, const char *indent,
                               size_t most, FILE *out)
{
    size_t lines = 0, largest = 0, largest_end = 0;
    char title[COMM_TITLE_BYTES];
    for (size_t i = 0, end; i < count; i = end) {
        end = group_end(visits, count, i, match_order);
        if (end - i > largest_end - largest) {
            largest = i;
            largest_end = end;
        }
    }
    for (size_t i = 0, end; i < count && lines < most; i = end) {
        end = group_end(visits, count, i, match_order);
        if (i == largest)
            continue;
        fprintf(out, "%scollectives do not match: on %s ", indent,
                comm_title(title, visits->comm->name, visits->comm->label));
        group_say(ward, &visits[i], end - i, true, out);
        fprintf(out, " as %s %" PRIu64 "%s collective, ", end - i > 1 ? "their" : "its", visits->number,
                ordinal_end(visits->number));
        group_say(ward, &visits[largest], largest_end - largest, visits[largest].call != visits[i].call, out);
        fputc('\n', out);
        lines++;
    }
    return lines;
}

size_t mismatches_print(const struct ward *ward, const char *indent, size_t most, FILE *out)
{
    struct visit *visits = calloc(ward->count + 1, sizeof *visits);
    size_t count = visits ? visits_find(ward, visits) : 0, lines = 0;
    for (size_t i = 0, end; i < count && lines < most; i = end) {
        end = group_end(visits, count, i, same_order);
        lines += collective_print(ward, &visits[i], end - i, indent, most - lines, out);
    }
    free(visits);
    return lines;
}
