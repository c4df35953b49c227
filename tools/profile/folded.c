#define _GNU_SOURCE
#include "profile/folded.h"

#include "base/textbuffer.h"
#include "format/label.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* A line, by its text. */
struct folded_line {
    uint64_t ns;
    char text[];
};

struct folding {
    const char *title;
    void *lines;            /* in a tree */
    struct textbuffer line; /* of the sample at hand */
    FILE *out;
};

static int folded_order(const void *one, const void *other)
{
    return strcmp(((const struct folded_line *)one)->text, ((const struct folded_line *)other)->text);
}

/* Writes a frame. A character that would end it is replaced, and so are control characters. */
static void frame_text_add(struct folding *folding, const char *text)
{
    struct textbuffer *line = &folding->line;
    if (line->used > sizeof(struct folded_line))
        text_put(line, ";");
    size_t begin = line->used;
    text_put(line, text);
    for (size_t at = begin; at < line->used; at++)
        line->bytes[at] = line->bytes[at] == ';' ? ':' : (unsigned char)line->bytes[at] < ' ' ? '?' : line->bytes[at];
}

static int sample_fold(void *data, const struct stack_sample *sample)
{
    struct folding *folding = data;
    char text[96];
    text_clear(&folding->line);
    text_put_bytes(&folding->line, &(struct folded_line){0}, sizeof(struct folded_line));
    if (sample->rank >= 0)
        snprintf(text, sizeof text, "%srank %" PRId32, folding->title, sample->rank);
    else
        snprintf(text, sizeof text, "%sprocess %" PRIu32, folding->title, sample->run->header.pid);
    frame_text_add(folding, text);
    snprintf(text, sizeof text, "%s %" PRId32, sample->sample->name[0] ? sample->sample->name : "thread",
             sample->sample->tid);
    text_tidy(text, sizeof text); /* the program may have given it any name */
    frame_text_add(folding, text);
    for (unsigned i = 0; i < sample->count; i++)
        frame_text_add(folding, sample->frames[i].frame->name);
    if (sample->sample->call) {
        snprintf(text, sizeof text, "[%s]", state_texts[sample->sample->state]);
        frame_text_add(folding, text);
    }
    if (folding->line.failed)
        return -1;
    struct folded_line *wanted = (struct folded_line *)(void *)folding->line.bytes;
    struct folded_line *const *found = tsearch(wanted, &folding->lines, folded_order);
    if (!found)
        return -1;
    if (*found == wanted) { /* it is new, and the tree has the memory now */
        struct folded_line *cut = realloc(wanted, folding->line.used + 1);
        folding->line = (struct textbuffer){0};
        *(struct folded_line **)(uintptr_t)found = cut ? cut : wanted;
    }
    (*found)->ns += sample->weight_ns;
    return 0;
}

static FILE *walk_out; /* twalk gives its function nothing of the caller's, and twalk_r is too new for older systems */

static void folded_line_write(const void *node, VISIT visit, int depth)
{
    const struct folded_line *line = *(struct folded_line *const *)node;
    (void)depth;
    if (visit == postorder || visit == leaf)
        fprintf(walk_out, "%s %" PRIu64 "\n", line->text, line->ns / 1000 + (line->ns % 1000 >= 500));
}

int folded_write(struct stacks *stacks, const char *title, FILE *out)
{
    struct folding folding = {.title = title, .out = out};
    int result = stacks_walk(stacks, sample_fold, &folding);
    walk_out = out;
    if (result == 0)
        twalk(folding.lines, folded_line_write);
    tdestroy(folding.lines, free);
    text_free(&folding.line);
    return result;
}
