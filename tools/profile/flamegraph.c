#include "profile/folded.h"
#include "profile/profile.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1200, MARGIN = 10, ROW = 17, HEAD = 60, FOOT = 10, LETTER = 7, TEXT_BYTES = 512 };
static const double WIDTH_LEAST = 0.1; /* smallest width to draw, in pixels */

struct drawing {
    const struct profile *profile;
    FILE *out;
    double height;
};

static double width_of(const struct drawing *drawing, uint64_t ns)
{
    return (double)(WIDTH - 2 * MARGIN) * (double)ns / (double)drawing->profile->sum.ns;
}

static void xml_put(FILE *out, const char *text, size_t most)
{
    for (size_t i = 0; text[i] && (i < most || ((unsigned char)text[i] & 0xc0) == 0x80); i++) {
        if (strchr("<>&\"'", text[i]))
            fprintf(out, "&#%d;", text[i]);
        else
            fputc((unsigned char)text[i] < ' ' ? '?' : text[i], out);
    }
}

/* The shade depends on the name, so that neighbors differ. The color shows the kind: one palette for all figures of
 * mpit (report.md). Time outside of MPI is gray, work in MPI blue, a stall orange. */
static void colour_put(const struct drawing *drawing, const char *name, enum frame_kind kind, int state)
{
    unsigned shade = 0;
    for (const char *c = name; *c; c++)
        shade = shade * 31 + (unsigned char)*c;
    int hue = 213, saturation = 19, light = 74 + (int)(shade % 14);
    if (kind == FRAME_UNKNOWN)
        saturation = 0, light = 94;
    else if (kind == FRAME_RECORDER)
        hue = 280, saturation = 40;
    else if (state >= MPIT_STATE_STALL_SEND)
        hue = 24, saturation = 88, light = 48 + (int)(shade % 10);
    else if (state == MPIT_STATE_WORK || kind == FRAME_MPI || kind == FRAME_INTERNAL)
        hue = 211, saturation = 58, light = 60 + (int)(shade % 10);
    fprintf(drawing->out, "hsl(%d,%d%%,%d%%)", hue, saturation, light);
}

static void box_put(const struct drawing *drawing, double x, unsigned row, uint64_t ns, const char *name,
                    const char *module, enum frame_kind kind, int state)
{
    char share[UNIT_TEXT_BYTES], time[UNIT_TEXT_BYTES];
    double width = width_of(drawing, ns), y = drawing->height - FOOT - (double)(row + 1) * ROW;
    FILE *out = drawing->out;
    fprintf(out, "<g><title>");
    xml_put(out, name, TEXT_BYTES);
    if (module[0]) {
        fprintf(out, " [");
        xml_put(out, module, TEXT_BYTES);
        fprintf(out, "]");
    }
    fprintf(out, ", %s, %s</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" rx=\"1\" fill=\"",
            text_of_share(share, (double)ns, (double)drawing->profile->sum.ns), text_of_ns(time, ns), x, y, width,
            ROW - 1);
    colour_put(drawing, name, kind, state);
    fprintf(out, "\"/>");
    size_t letters = width > 3 * LETTER ? (size_t)((width - 6) / LETTER) : 0;
    if (letters) {
        fprintf(out, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + ROW - 5);
        xml_put(out, name, strlen(name) > letters ? letters - 1 : letters);
        fprintf(out, "%s</text>", strlen(name) > letters ? "&#8230;" : "");
    }
    fprintf(out, "</g>\n");
}

static int child_order(const void *one, const void *other)
{
    const struct profile_node *a = *(struct profile_node *const *)one, *b = *(struct profile_node *const *)other;
    int names = strcmp(a->frame->name, b->frame->name);
    return names ? names : (a->frame->number > b->frame->number) - (a->frame->number < b->frame->number);
}

/* Draws the states in MPI at this node: the flames' tips. */
static double states_put(struct drawing *drawing, const struct profile_node *node, double x, unsigned row)
{
    char text[64];
    for (int state = MPIT_STATE_WORK; state < PROFILE_STATES; state++) {
        uint64_t ns = node->self.state_ns[state];
        if (!ns || width_of(drawing, ns) < WIDTH_LEAST)
            continue;
        snprintf(text, sizeof text, "[%s]", state_texts[state]);
        box_put(drawing, x, row, ns, text, "", FRAME_MPI, state);
        x += width_of(drawing, ns);
    }
    return x;
}

static void children_put(struct drawing *drawing, const struct profile_node *node, double x, unsigned row)
{
    size_t count = 0;
    for (const struct profile_node *child = node->first; child; child = child->next)
        count++;
    x = states_put(drawing, node, x, row);
    const struct profile_node **list = count ? calloc(count, sizeof(struct profile_node *)) : NULL;
    if (!list)
        return;
    count = 0;
    for (const struct profile_node *child = node->first; child; child = child->next)
        list[count++] = child;
    qsort(list, count, sizeof(struct profile_node *), child_order);
    for (size_t i = 0; i < count; i++) {
        double width = width_of(drawing, list[i]->sum.ns);
        if (width < WIDTH_LEAST)
            continue;
        box_put(drawing, x, row, list[i]->sum.ns, list[i]->frame->name, list[i]->frame->module, list[i]->frame->kind,
                MPIT_STATE_NOT_IN_MPI);
        children_put(drawing, list[i], x, row + 1);
        x += width;
    }
    free(list);
}

static void legend_put(const struct drawing *drawing)
{
    static const struct {
        const char *text;
        enum frame_kind kind;
        int state;
    } entries[] = {{"not in MPI", FRAME_PROGRAM, MPIT_STATE_NOT_IN_MPI},
                   {"at work in MPI", FRAME_MPI, MPIT_STATE_WORK},
                   {"stalled in MPI", FRAME_MPI, MPIT_STATE_STALL_RECV},
                   {"unknown", FRAME_UNKNOWN, MPIT_STATE_NOT_IN_MPI}};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        fprintf(drawing->out, "<rect x=\"%d\" y=\"32\" width=\"12\" height=\"12\" fill=\"", MARGIN + (int)i * 120);
        colour_put(drawing, "", entries[i].kind, entries[i].state);
        fprintf(drawing->out, "\"/><text x=\"%d\" y=\"42\">%s</text>\n", MARGIN + (int)i * 120 + 17, entries[i].text);
    }
}

static unsigned depth_of(const struct drawing *drawing, const struct profile_node *node)
{
    unsigned deepest = 0;
    for (const struct profile_node *child = node->first; child; child = child->next) {
        unsigned depth = width_of(drawing, child->sum.ns) < WIDTH_LEAST ? 0 : depth_of(drawing, child);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

void flamegraph_write(const struct profile *profile, const char *title, FILE *out)
{
    struct drawing drawing = {.profile = profile, .out = out};
    char samples[UNIT_TEXT_BYTES], time[UNIT_TEXT_BYTES];
    if (!profile->sum.ns)
        return;
    drawing.height = HEAD + FOOT + (double)(depth_of(&drawing, profile->root) + 2) * ROW;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
            "width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" font-family=\"monospace\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"20\" font-size=\"14\">",
            WIDTH, drawing.height, WIDTH, drawing.height, MARGIN);
    xml_put(out, title, TEXT_BYTES);
    fprintf(out, ": %s samples, %s</text>\n", text_of_count(samples, profile->sum.samples),
            text_of_ns(time, profile->sum.ns));
    legend_put(&drawing);
    box_put(&drawing, MARGIN, 0, profile->sum.ns, "all", "", FRAME_PROGRAM, MPIT_STATE_NOT_IN_MPI);
    children_put(&drawing, profile->root, MARGIN, 1);
    fprintf(out, "</svg>\n");
}
