#define _GNU_SOURCE
#include "profile/folded.h"

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
    void *lines; /* in a tree */
    char *text;  /* of the sample at hand */
    size_t used, capacity;
    bool no_memory;
    FILE *out;
};

static int folded_order(const void *one, const void *other)
{
    return strcmp(((const struct folded_line *)one)->text, ((const struct folded_line *)other)->text);
}

/* Writes a frame. A character that would end it is replaced, and so are control characters. */
static void frame_text_add(struct folding *folding, const char *text)
{
    size_t length = strlen(text);
    if (folding->used + length + 2 > folding->capacity) {
        size_t capacity = (folding->used + length + 2) * 2;
        char *grown = realloc(folding->text, capacity);
        if (!grown) {
            folding->no_memory = true;
            return;
        }
        folding->text = grown;
        folding->capacity = capacity;
    }
    char *to = folding->text + folding->used;
    if (folding->used > sizeof(struct folded_line))
        *to++ = ';';
    for (size_t i = 0; i < length; i++)
        *to++ = text[i] == ';' ? ':' : (unsigned char)text[i] < ' ' ? '?' : text[i];
    *to = '\0';
    folding->used = (size_t)(to - folding->text);
}

static int sample_fold(void *data, const struct stack_sample *sample)
{
    struct folding *folding = data;
    char text[96];
    folding->used = sizeof(struct folded_line);
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
    if (folding->no_memory)
        return -1;
    struct folded_line *wanted = (struct folded_line *)(void *)folding->text;
    struct folded_line *const *found = tsearch(wanted, &folding->lines, folded_order);
    if (!found)
        return -1;
    if (*found == wanted) { /* it is new, and the tree has the memory now */
        wanted->ns = 0;
        folding->text = NULL;
        folding->capacity = 0;
        struct folded_line *cut = realloc(wanted, folding->used + 1);
        *(struct folded_line **)(uintptr_t)found = cut ? cut : wanted;
    }
    (*found)->ns += sample->weight_ns;
    return 0;
}

static void folded_line_write(const void *node, VISIT visit, void *data)
{
    const struct folded_line *line = *(struct folded_line *const *)node;
    const struct folding *folding = data;
    if (visit == postorder || visit == leaf)
        fprintf(folding->out, "%s %" PRIu64 "\n", line->text, line->ns / 1000 + (line->ns % 1000 >= 500));
}

int folded_write(struct stacks *stacks, const char *title, FILE *out)
{
    struct folding folding = {.title = title, .out = out};
    int result = stacks_walk(stacks, sample_fold, &folding);
    if (result == 0)
        twalk_r(folding.lines, folded_line_write, &folding);
    tdestroy(folding.lines, free);
    free(folding.text);
    return result;
}
