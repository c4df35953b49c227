#include "waiting/mismatch.h"

#include "base/array.h"
#include "base/units.h"
#include "calls.h"
#include "format/label.h"
#include "report/callplaces.h"
#include "trace/jointcalls.h"
#include "waiting/collsteps.h"
#include "waiting/ward.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct telling {
    const struct ward *ward;
    const char *indent;
    FILE *out;
};

/* The order of calls, and 0 for calls that match. */
static int match_order(const struct step *a, const struct step *b)
{
    return ORDER(a->call, b->call)
               ?: ORDER(a->root, b->root)
               ?: ORDER(a->reduction, b->reduction) ?: ORDER(a->bytes, b->bytes);
}

static int step_group_order(const void *one, const void *other)
{
    const struct step *a = one, *b = other;
    return match_order(a, b) ?: ORDER(a->file, b->file);
}

const char *agreed_text(char text[AGREED_TEXT_BYTES], int32_t root, uint32_t reduction, uint64_t bytes)
{
    int used = 0;
    text[0] = '\0';
    if (root >= 0)
        used = snprintf(text, AGREED_TEXT_BYTES, " with root %" PRId32, root);
    if (reduction != REDUCTION_UNKNOWN)
        used += snprintf(text + used, (size_t)(AGREED_TEXT_BYTES - used), " %s %s", used ? "and" : "with",
                         reduction_name(reduction));
    if (bytes != BYTES_UNKNOWN)
        snprintf(text + used, (size_t)(AGREED_TEXT_BYTES - used), " %s %" PRIu64 " bytes", used ? "and" : "with",
                 bytes);
    return text;
}

/* "rank 3 called MPI_Bcast with root 1 at mm.c:9 (solve)". `other`: a step that differs. `names`: with the function. */
static void group_say(const struct telling *telling, const struct step *group, size_t count, const struct step *other,
                      bool names)
{
    const struct ward *ward = telling->ward;
    char ranks[RANKS_TEXT_BYTES], place[CALL_PLACE_BYTES], agreed[AGREED_TEXT_BYTES];
    bool alike = group->call == other->call;
    const struct run_reader *file = &ward->job->files[group->file];
    uint32_t at = names && ward->places ? call_place_find(ward->places, file, group->path) : 0;
    int32_t *list = calloc(count, sizeof *list);
    for (size_t i = 0; list && i < count; i++) {
        list[i] = run_rank(&ward->job->files[group[i].file].header);
        at = at && call_place_find(ward->places, &ward->job->files[group[i].file], group[i].path) == at ? at : 0;
    }
    ranks_text(ranks, list, list ? count : 0);
    free(list);
    fputs(ranks, telling->out);
    if (names)
        fprintf(telling->out, " called %s", call_table[group->call].name);
    fputs(agreed_text(agreed, group->root, alike && group->reduction != other->reduction ? group->reduction : 0,
                      alike && group->bytes != other->bytes ? group->bytes : BYTES_UNKNOWN),
          telling->out);
    if (at)
        fprintf(telling->out, " at %s", call_place_text(ward->places, at, 0, place));
}

static void mismatch_say(const struct telling *telling, const struct mismatch *is)
{
    char title[COMM_TITLE_BYTES];
    fprintf(telling->out, "%scollectives do not match: on %s ", telling->indent,
            comm_title(title, is->many->comm->name, is->many->comm->label));
    group_say(telling, is->few, is->few_count, is->many, true);
    fprintf(telling->out, " %s %s %" PRIu64 "%s collective, ", is->few->makes ? "before" : "as",
            is->few_count > 1 ? "their" : "its", is->few->number, ordinal_end(is->few->number));
    group_say(telling, is->many, is->many_count, is->few, is->many->call != is->few->call);
    fputc('\n', telling->out);
}

/* ---- steps that differ ------------------------------------------------------------------------------------------- */

static size_t group_end(const struct step *steps, size_t count, size_t from)
{
    size_t end = from + 1;
    while (end < count && match_order(&steps[from], &steps[end]) == 0)
        end++;
    return end;
}

/* The same step of several processes: who differs from most. Sorts the steps. Returns whether anybody does. */
static bool same_step_judge(struct mismatches *found, struct step *steps, size_t count)
{
    size_t largest = 0, largest_end = 0, before = found->count;
    bool sized = true, known = true;
    for (size_t i = 0; i < count; i++) {
        sized = sized && steps[i].bytes != BYTES_UNKNOWN;
        known = known && steps[i].reduction != REDUCTION_UNKNOWN;
    }
    for (size_t i = 0; i < count; i++) {
        steps[i].bytes = sized ? steps[i].bytes : BYTES_UNKNOWN;
        steps[i].reduction = known ? steps[i].reduction : REDUCTION_UNKNOWN;
    }
    if (count)
        qsort(steps, count, sizeof *steps, step_group_order);
    for (size_t i = 0, end; i < count; i = end) {
        end = group_end(steps, count, i);
        if (end - i > largest_end - largest) {
            largest = i;
            largest_end = end;
        }
    }
    for (size_t i = 0, end; i < count && found->count < MISMATCHES_MOST; i = end) {
        end = group_end(steps, count, i);
        if (i != largest)
            found->list[found->count++] = (struct mismatch){&steps[i], &steps[largest], end - i, largest_end - largest};
    }
    return found->count > before;
}

/* Steps with one number. Before a collective a process may have made communicators: these calls have an order, too. Returns
 * whether anybody differs. */
static bool number_judge(struct mismatches *found, struct step *steps, size_t count)
{
    size_t collectives = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && steps[end].made == steps[i].made;)
            end++;
        if (steps[i].made != MADE_UNKNOWN && same_step_judge(found, &steps[i], end - i))
            return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (steps[i].makes)
            continue;
        struct step step = steps[i];
        steps[i] = steps[collectives];
        steps[collectives++] = step;
    }
    return same_step_judge(found, steps, collectives);
}

/* Two communicators of a process have the same name. */
static bool is_twofold(const struct step *steps, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (steps[i].file == steps[i - 1].file && steps[i].made == steps[i - 1].made)
            return true;
    return false;
}

/* The steps on one communicator: the first that differs. What comes after it differs, too. */
static void comm_judge(struct mismatches *found, struct step *steps, size_t count)
{
    bool differs = false;
    for (size_t i = 0, end; i < count && !differs; i = end) {
        for (end = i + 1; end < count && steps[end].number == steps[i].number;)
            end++;
        differs = is_twofold(&steps[i], end - i) || number_judge(found, &steps[i], end - i);
    }
}

int mismatches_find(const struct run_job *job, const struct ward *ward, struct mismatches *found)
{
    *found = (struct mismatches){.count = 0};
    if (steps_find(job, ward, &found->steps) != 0)
        return -1;
    for (size_t i = 0, end; i < found->steps.count; i = end) {
        for (end = i + 1;
             end < found->steps.count && step_comm_order(&found->steps.list[i], &found->steps.list[end]) == 0;)
            end++;
        comm_judge(found, &found->steps.list[i], end - i);
    }
    return 0;
}

void mismatches_release(struct mismatches *found)
{
    steps_release(&found->steps);
}

/* ---- calls that wait for each other ------------------------------------------------------------------------------ */

/* The thread of a rank in a collective, or in a call that is one in effect. NULL: none. */
static const struct patient *gathered_find(const struct ward *ward, int32_t rank)
{
    for (size_t i = 0; i < ward->count; i++) {
        const struct patient *patient = &ward->patients[i];
        uint32_t call = patient->state.call;
        bool known = call != CALL_NONE && call < CALL_COUNT && strcmp(patient->call, call_table[call].name) == 0;
        if (known && run_rank(&patient->file->header) == rank &&
            (call_gathers(call) || call_table[call].class == CLASS_COLLECTIVE))
            return patient;
    }
    return NULL;
}

static bool is_same_call(const struct patient *a, const struct patient *b)
{
    const struct comm_record *one = patient_comm(a), *other = patient_comm(b);
    return a->state.call == b->state.call &&
           (one && other && a->state.call != CALL_MPI_Finalize ? strcmp(one->name, other->name) == 0 : true);
}

/* "ranks 0-1 called MPI_Barrier on "cells" at mm.c:9 (solve)" */
static void crossed_say(const struct telling *telling, const struct patient *one)
{
    const struct ward *ward = telling->ward;
    const struct comm_record *comm = one->state.call == CALL_MPI_Finalize ? NULL : patient_comm(one);
    char ranks[RANKS_TEXT_BYTES], place[CALL_PLACE_BYTES], title[COMM_TITLE_BYTES];
    int32_t *list = calloc(ward->count, sizeof *list);
    size_t count = 0;
    for (size_t i = 0; list && i < ward->count; i++)
        if (is_same_call(&ward->patients[i], one) && ward->patients[i].place == one->place)
            list[count++] = run_rank(&ward->patients[i].file->header);
    ranks_text(ranks, list, count);
    free(list);
    fprintf(telling->out, "%s called %s", ranks, one->call);
    if (comm)
        fprintf(telling->out, " on %s", comm_title(title, comm->name, comm->label));
    if (one->place && ward->places)
        fprintf(telling->out, " at %s", call_place_text(ward->places, one->place, 0, place));
}

/* Ranks that wait for each other in a circle, two of them in different calls, or on different communicators: MPI_Finalize and a
 * collective, or two communicators in the opposite order. Returns the number of lines. */
static size_t crossed_print(const struct telling *telling)
{
    int32_t *ranks;
    bool sure;
    size_t count = waits_circle(telling->ward, &ranks, &sure), lines = 0;
    for (size_t i = count; i-- > 0 && !lines;) {
        const struct patient *one = gathered_find(telling->ward, ranks[i]),
                             *other = gathered_find(telling->ward, ranks[(i + 1) % count]);
        if (!one || !other || is_same_call(one, other))
            continue;
        fprintf(telling->out, "%scollectives do not match: ", telling->indent);
        crossed_say(telling, one);
        fputs(", ", telling->out);
        crossed_say(telling, other);
        fputs(", and each waits for the other\n", telling->out);
        lines++;
    }
    free(ranks);
    return lines;
}

size_t mismatches_print(const struct ward *ward, const char *indent, size_t most, FILE *out)
{
    struct telling telling = {ward, indent, out};
    struct mismatches found;
    size_t lines = 0;
    if (mismatches_find(ward->job, ward, &found) == 0)
        for (; lines < found.count && lines < most; lines++)
            mismatch_say(&telling, &found.list[lines]);
    mismatches_release(&found);
    return !lines && most ? crossed_print(&telling) : lines;
}
