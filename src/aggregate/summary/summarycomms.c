#include "summary/summarycomms.h"

#include "base/array.h"
#include "format/label.h"
#include "summaryreading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS_NAME "(other communicators)"

static void comm_fill(struct summary_comm *line, const struct figures *from, const struct figures_comm *comm)
{
    label_clean(line->name, sizeof line->name, comm->name, COMM_NAME_BYTES);
    line->size = comm->size;
    label_clean(line->label, sizeof line->label, comm->label, COMM_LABEL_BYTES);
    line->ranks = 1;
    line->merged = comm->merged;
    line->sum = comm->is_sum;
    summary_comm_read(line, from, comm);
}

/* The place of `name` in the sorted lines, or the place to insert it. */
static size_t comm_line_place(const struct summary *summary, const char *name, bool *found)
{
    return ARRAY_PLACE(i, summary->comm_count, strcmp(name, summary->comms[i].name), found);
}

static void comm_line_sum(struct summary_comm *line, const struct summary_comm *other, bool same)
{
    summary_comm_sum(line, other);
    if (!same)
        line->merged += other->merged;
    else if (other->merged > line->merged)
        line->merged = other->merged;
    /* Ranks may have different labels. The choice must not depend on the order in which parts are merged. */
    if (other->label[0] && (!line->label[0] || strcmp(other->label, line->label) < 0))
        memcpy(line->label, other->label, sizeof line->label);
}

static int comm_insert(struct summary *summary, size_t place, const struct summary_comm *line)
{
    if (!ARRAY_RESIZED(summary->comms, summary->comm_count + 1))
        return -1;
    memmove(&summary->comms[place + 1], &summary->comms[place], (summary->comm_count - place) * sizeof *summary->comms);
    summary->comms[place] = *line;
    summary->comm_count++;
    return 0;
}

/* Adds a line that has no place of its own any more to the line of others. */
static int comm_add_to_others(struct summary *summary, const struct summary_comm *line)
{
    bool found;
    size_t place = comm_line_place(summary, OTHERS_NAME, &found);
    if (found) {
        comm_line_sum(&summary->comms[place], line, false);
        summary->comms[place].label[0] = '\0';
        return 0;
    }
    struct summary_comm others = *line;
    snprintf(others.name, sizeof others.name, "%s", OTHERS_NAME);
    others.label[0] = '\0';
    others.sum = 0;
    return comm_insert(summary, place, &others);
}

/* The line that is dropped first. Lines are sorted by name. MPI_COMM_WORLD and the like, and sums, stay as long as
 * possible. */
static size_t comm_last(const struct summary *summary)
{
    size_t last = SIZE_MAX;
    for (size_t i = summary->comm_count; i-- > 0;) {
        const char *name = summary->comms[i].name;
        if (strchr(name, '/') && !strchr(name, '*'))
            return i;
        if (last == SIZE_MAX && strcmp(name, OTHERS_NAME) != 0)
            last = i;
    }
    return last;
}

struct summary_comm *summary_comm_of(const struct summary *summary, const char name[COMM_NAME_BYTES])
{
    char clean[COMM_NAME_BYTES];
    bool found;
    label_clean(clean, sizeof clean, name, COMM_NAME_BYTES);
    size_t place = comm_line_place(summary, clean, &found);
    if (!found)
        place = comm_line_place(summary, OTHERS_NAME, &found);
    return found ? &summary->comms[place] : NULL;
}

static bool has_others(const struct summary *summary)
{
    bool found;
    comm_line_place(summary, OTHERS_NAME, &found);
    return found;
}

int summary_comms_trim(struct summary *summary, size_t most)
{
    int result = 0;
    while (result == 0 && summary->comm_count - has_others(summary) > most) {
        size_t last = comm_last(summary);
        struct summary_comm line = summary->comms[last];
        memmove(&summary->comms[last], &summary->comms[last + 1],
                (--summary->comm_count - last) * sizeof *summary->comms);
        result = comm_add_to_others(summary, &line);
    }
    return result;
}

/* Adds a line to the line with its name. Over the limit the last names share a line, in any order of merging. */
static int comm_line_add(struct summary *summary, const struct summary_comm *line)
{
    bool found;
    size_t place = comm_line_place(summary, line->name, &found);
    if (found) {
        comm_line_sum(&summary->comms[place], line, strcmp(line->name, OTHERS_NAME) != 0);
        return 0;
    }
    return comm_insert(summary, place, line) != 0 ? -1 : summary_comms_trim(summary, SUMMARY_COMMS_MAX);
}

int summary_comms_fill(struct summary *summary, const struct figures *from)
{
    struct figures_comm comm;
    struct summary_comm *line = malloc(sizeof *line);
    int result = line ? 0 : -1;
    for (uint32_t at = 0; result == 0 && figures_comm_next(from, &at, &comm);) {
        memset(line, 0, sizeof *line);
        comm_fill(line, from, &comm);
        result = comm_line_add(summary, line);
    }
    free(line);
    return result;
}

int summary_comms_merge(struct summary *summary, const struct summary *other)
{
    for (size_t i = 0; i < other->comm_count; i++)
        if (comm_line_add(summary, &other->comms[i]) != 0)
            return -1;
    return 0;
}
