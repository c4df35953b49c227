#include "report/summary_placement.h"

#include "base/units.h"
#include "job/jsonvalue.h"
#include "summaryjson.h"

enum { NODES_SHOWN = 6, NODE_COLUMNS = 12 };

static const struct summary_link *link_of(const struct summary *summary, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < summary->link_count; i++)
        if (summary->links[i].from == from && summary->links[i].to == to)
            return &summary->links[i];
    return NULL;
}

static void nodes_matrix_print(const struct summary *summary, FILE *out)
{
    char text[UNIT_TEXT_BYTES];
    fprintf(out, "  %-24s", "from, to");
    for (uint32_t to = 0; to < summary->host_count; to++)
        fprintf(out, " %*.*s", NODE_COLUMNS, NODE_COLUMNS, summary->hosts[to].name);
    for (uint32_t from = 0; from < summary->host_count; from++) {
        fprintf(out, "\n  %-24.24s", summary->hosts[from].name);
        for (uint32_t to = 0; to < summary->host_count; to++) {
            const struct summary_link *link = link_of(summary, from, to);
            fprintf(out, " %*s", NODE_COLUMNS, link ? text_of_bytes(text, link->bytes) : "-");
        }
    }
    fputc('\n', out);
}

/* The largest between two nodes. */
static void largest_link_print(const struct summary *summary, FILE *out)
{
    const struct summary_link *largest = NULL;
    char text[UNIT_TEXT_BYTES];
    for (size_t i = 0; i < summary->link_count; i++) {
        const struct summary_link *is = &summary->links[i];
        if (is->from != is->to && (!largest || is->bytes > largest->bytes))
            largest = is;
    }
    if (largest)
        fprintf(out, "  most from %s to %s: %s\n", summary->hosts[largest->from].name, summary->hosts[largest->to].name,
                text_of_bytes(text, largest->bytes));
}

/* Why the gain of the better order is not known. NULL: it is. */
static const char *gain_unknown(const struct summary_placement *is)
{
    return !is->replayed     ? "the trace was not replayed"
           : !is->gain_known ? "no message of the trace tells how long those that move take there"
                             : NULL;
}

static void better_print(const struct summary *summary, FILE *out)
{
    const struct summary_placement *is = &summary->traced.placement;
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    double saved = (double)is->between_bytes - (double)is->better_bytes;
    if (is->better_bytes >= is->between_bytes) {
        fprintf(out, "  No order of the ranks was found that saves a tenth of the bytes between nodes.\n");
        return;
    }
    fprintf(out,
            "  A better order of the ranks has %s between nodes, %s less (mpit-dump --export placement DIR RUN).\n",
            text_of_bytes(a, is->better_bytes), text_of_share(b, saved, (double)is->between_bytes));
    if (gain_unknown(is))
        fprintf(out, "  What it gains is not known: %s.\n", gain_unknown(is));
    else if (is->gain_ns)
        fprintf(out, "  By a replay the run is %s shorter with it.\n", text_of_ns(a, is->gain_ns));
    else
        fprintf(out, "  By a replay the run is not shorter with it.\n");
}

void summary_placement_print(const struct summary *summary, FILE *out)
{
    const struct summary_placement *is = &summary->traced.placement;
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    if (!is->known || (!is->inside_bytes && !is->between_bytes))
        return;
    fprintf(out, "\nMessages by node, without collectives and windows\n  inside nodes %s, between nodes %s",
            text_of_bytes(a, is->inside_bytes), text_of_bytes(b, is->between_bytes));
    if (is->unplaced_bytes)
        fprintf(out, "; to ranks that are not known %s", text_of_bytes(a, is->unplaced_bytes));
    fputc('\n', out);
    if (summary->link_count && summary->host_count <= NODES_SHOWN)
        nodes_matrix_print(summary, out);
    else
        largest_link_print(summary, out);
    better_print(summary, out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

json_t *summary_placement_json(const struct summary *summary)
{
    const struct summary_placement *is = &summary->traced.placement;
    const char *unknown = gain_unknown(is);
    bool better = is->better_bytes < is->between_bytes;
    if (!is->known)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "inside_bytes", count_json(is->inside_bytes), "between_bytes",
                     count_json(is->between_bytes), "unplaced_bytes", count_json(is->unplaced_bytes),
                     "better_between_bytes", known_count_json(better, is->better_bytes), "gain_seconds",
                     known_seconds_json(better && !unknown, is->gain_ns), "gain_unknown",
                     text_json(better ? unknown : NULL));
}

static json_t *link_json(const struct summary *summary, const struct summary_link *is)
{
    json_t *json = json_object();
    summary_link_json_add(json, is);
    json_object_set_new(json, "from", json_string(summary->hosts[is->from].name));
    json_object_set_new(json, "to", json_string(summary->hosts[is->to].name));
    return json;
}

json_t *summary_links_json(const struct summary *summary)
{
    bool known = summary->traced.placement.known;
    return known ? JSON_LIST(i, summary->link_count, link_json(summary, &summary->links[i])) : json_null();
}
