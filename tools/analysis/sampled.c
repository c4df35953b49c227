#include "analysis/sampled.h"

#include "profile/stacks.h"

#include <stdlib.h>

/* The samples of a cause. */
struct sampled_target {
    struct keyed keyed; /* the target's number, 0 */
    double ns;
    uint64_t samples;
    struct sampled_function *functions;
};

struct sampled_function {
    struct keyed keyed; /* the target's number, the frame's */
    struct sampled_function *next;
    const struct frame *frame;
    double ns;
    struct sampled_line *lines;
};

struct sampled_line {
    struct sampled_line *next;
    const char *file;
    unsigned line;
    double ns;
};

struct sampled {
    struct stacks stacks; /* owns the texts */
    struct keytable targets, functions;
};

struct joining {
    struct analysis *analysis;
    struct sampled *sampled;
    struct keyed **delays; /* sorted */
};

/* The innermost function whose source is known, and which is in no runtime library. Without any, the innermost one. */
static const struct stack_frame *frame_choose(const struct stack_sample *sample)
{
    for (unsigned i = sample->count; i-- > 0;)
        if (sample->frames[i].file && sample->frames[i].line && !frame_is_runtime(sample->frames[i].frame))
            return &sample->frames[i];
    return &sample->frames[sample->count - 1];
}

static int line_add(struct sampled_function *function, const struct stack_frame *frame, double ns)
{
    struct sampled_line *line = function->lines;
    while (line && (line->file != frame->file || line->line != frame->line))
        line = line->next;
    if (!line) {
        if (!(line = calloc(1, sizeof *line)))
            return -1;
        *line = (struct sampled_line){.next = function->lines, .file = frame->file, .line = frame->line};
        function->lines = line;
    }
    line->ns += ns;
    return 0;
}

static int target_add(struct sampled *sampled, uint32_t number, const struct stack_frame *frame, double ns)
{
    struct sampled_target *target = keytable_make(&sampled->targets, number, 0, sizeof *target);
    struct sampled_function *function =
        target ? keytable_make(&sampled->functions, number, frame->frame->number, sizeof *function) : NULL;
    if (!function)
        return -1;
    if (!function->frame) {
        function->frame = frame->frame;
        function->next = target->functions;
        target->functions = function;
    }
    target->ns += ns;
    target->samples++;
    function->ns += ns;
    return line_add(function, frame, ns);
}

static int sample_join(void *data, const struct stack_sample *sample)
{
    struct joining *joining = data;
    struct analysis *analysis = joining->analysis;
    int32_t rank = sample->run->header.world_rank;
    int64_t at_ns = rank >= 0 ? timeline_ns(&analysis->job.line, sample->run, sample->sample->ticks) : -1;
    const struct delay *delay =
        at_ns >= 0 && !sample->sample->call
            ? delay_at(joining->delays, analysis->delays.list.count, rank, sample->sample->thread, (uint64_t)at_ns)
            : NULL;
    int result = 0;
    for (const struct delay_wait *wait = delay ? delay->waits : NULL; wait && result == 0; wait = wait->next)
        result = target_add(joining->sampled, wait->target, frame_choose(sample),
                            (double)sample->weight_ns * ((double)wait->ns / (double)delay->ns));
    return result;
}

int analysis_join_samples(struct analysis *analysis, const struct run_job *job)
{
    if (!analysis->delays.list.count)
        return 0;
    struct joining joining = {.analysis = analysis,
                              .sampled = calloc(1, sizeof *joining.sampled),
                              .delays = keytable_sorted(&analysis->delays.list)};
    analysis->sampled = joining.sampled;
    int result = joining.sampled && joining.delays ? 0 : -1;
    if (result == 0)
        result = stacks_open(&joining.sampled->stacks, job, NULL, false);
    if (result == 0)
        result = stacks_walk(&joining.sampled->stacks, sample_join, &joining);
    free(joining.delays);
    return result == 0 ? 0 : -1;
}

static bool line_is_before(const struct sampled_line *line, const struct sampled_line *best)
{
    return !best || line->ns > best->ns || (!(line->ns < best->ns) && line->line < best->line);
}

bool sampled_find(const struct analysis *analysis, uint64_t first, uint64_t second, struct sampled_place *place)
{
    const struct sampled *sampled = analysis->sampled;
    uint32_t number = sampled ? delay_target_find(&analysis->delays, first, second) : 0;
    const struct sampled_target *target = number ? keytable_find(&sampled->targets, number, 0) : NULL;
    const struct sampled_function *function = NULL;
    const struct sampled_line *line = NULL;
    if (!target || target->ns <= 0)
        return false;
    for (const struct sampled_function *next = target->functions; next; next = next->next)
        if (!function || next->ns > function->ns ||
            (!(next->ns < function->ns) && next->frame->number < function->frame->number))
            function = next;
    for (const struct sampled_line *next = function->lines; next; next = next->next)
        if (line_is_before(next, line))
            line = next;
    *place = (struct sampled_place){.function = function->frame->name,
                                    .file = line->file,
                                    .line = line->line,
                                    .share = function->ns / target->ns,
                                    .samples = target->samples};
    return true;
}

static void function_release(struct keyed *keyed)
{
    for (struct sampled_line *line = ((struct sampled_function *)keyed)->lines, *next; line; line = next) {
        next = line->next;
        free(line);
    }
    free(keyed);
}

void sampled_close(struct sampled *sampled)
{
    if (!sampled)
        return;
    keytable_release(&sampled->functions, function_release);
    keytable_release(&sampled->targets, NULL);
    stacks_release(&sampled->stacks);
    free(sampled);
}
