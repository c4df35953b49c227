#include "profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void profile_sum_add(struct profile_sum *sum, const struct stack_sample *sample)
{
    sum->samples++;
    sum->ns += sample->weight_ns;
    sum->on_cpu_ns += sample->cpu_ns;
    sum->state_ns[sample->sample->state] += sample->weight_ns;
}

static uint64_t frame_pair_key(const struct frame *one, const struct frame *other)
{
    return (uint64_t)one->number << 32 | (other ? other->number + UINT64_C(1) : 0);
}

/* Names of files have unique addresses. */
static uint64_t place(const struct stack_frame *frame)
{
    return ((uint64_t)(uintptr_t)frame->file << 20) ^ ((uint64_t)(uintptr_t)frame->file >> 44) ^ frame->line;
}

static bool frame_is_inside(const struct frame *frame)
{
    return frame->kind == FRAME_MPI || frame->kind == FRAME_INTERNAL || frame->kind == FRAME_RECORDER;
}

/* ---- what is counted of each sample ------------------------------------------------------------------------------ */

/* Adds the MPI function, and the place of its call. */
static int call_count(struct profile *profile, const struct stack_sample *sample)
{
    unsigned at = 0;
    while (at < sample->count && sample->frames[at].frame->kind != FRAME_MPI)
        at++;
    if (at == sample->count)
        return 0;
    const struct frame *frame = sample->frames[at].frame;
    struct profile_call *call = keytable_make(&profile->calls, frame->number, 0, sizeof *call);
    if (!call)
        return -1;
    call->frame = frame;
    profile_sum_add(&call->sum, sample);
    const struct stack_frame *caller = at ? &sample->frames[at - 1] : NULL;
    struct profile_site *site = keytable_make(&profile->sites, frame_pair_key(frame, caller ? caller->frame : NULL),
                                              caller ? place(caller) : 0, sizeof *site);
    if (!site)
        return -1;
    site->call = frame;
    if (caller) {
        site->caller = caller->frame;
        site->file = caller->file;
        site->line = caller->line;
    }
    profile_sum_add(&site->sum, sample);
    return 0;
}

static int line_count(struct profile *profile, const struct stack_sample *sample, const struct stack_frame *frame)
{
    struct profile_line *line = keytable_make(&profile->lines, frame->frame->number, place(frame), sizeof *line);
    if (!line)
        return -1;
    line->frame = frame->frame;
    line->file = frame->file;
    line->line = frame->line;
    *(sample->sample->call ? &line->mpi_ns : &line->self_ns) += sample->weight_ns;
    return 0;
}

static int functions_count(struct profile *profile, const struct stack_sample *sample)
{
    const struct stack_frame *last = NULL;
    for (unsigned i = 0; i < sample->count && !frame_is_inside(sample->frames[i].frame); i++) {
        const struct frame *frame = sample->frames[i].frame;
        struct profile_function *function = keytable_make(&profile->functions, frame->number, 0, sizeof *function);
        if (!function)
            return -1;
        function->frame = frame;
        if (function->last_sample != profile->sum.samples) /* the number of this one, from 1 */
            function->total_ns += sample->weight_ns;
        function->last_sample = profile->sum.samples;
        last = &sample->frames[i];
    }
    if (!last)
        return 0;
    struct profile_function *function = keytable_find(&profile->functions, last->frame->number, 0);
    *(sample->sample->call ? &function->mpi_ns : &function->self_ns) += sample->weight_ns;
    return line_count(profile, sample, last);
}

static struct profile_node *child_of(struct profile *profile, struct profile_node *parent,
                                     const struct stack_frame *frame)
{
    struct profile_node *node =
        keytable_make(&profile->nodes, parent->number, frame->frame->number + UINT64_C(1), sizeof *node);
    if (node && !node->frame) {
        node->frame = frame->frame;
        node->number = ++profile->node_count;
        node->parent = parent;
        node->next = parent->first;
        parent->first = node;
        node->file = frame->file;
        node->line = frame->line;
    }
    if (node && (node->file != frame->file || node->line != frame->line))
        node->several = true;
    return node;
}

static int path_count(struct profile *profile, const struct stack_sample *sample)
{
    struct profile_node *node = profile->root;
    profile_sum_add(&node->sum, sample);
    for (unsigned i = 0; i < sample->count; i++) {
        node = child_of(profile, node, &sample->frames[i]);
        if (!node)
            return -1;
        profile_sum_add(&node->sum, sample);
    }
    profile_sum_add(&node->self, sample);
    return 0;
}

static int share_count(struct keytable *table, const struct stack_sample *sample, uint64_t stream)
{
    struct profile_share *share = keytable_make(table, (uint64_t)(uintptr_t)sample->run, stream, sizeof *share);
    if (!share)
        return -1;
    share->rank = sample->rank;
    share->pid = sample->run->header.pid;
    share->tid = sample->sample->tid;
    memcpy(share->name, sample->sample->name, sizeof sample->sample->name);
    profile_sum_add(&share->sum, sample);
    return 0;
}

static int sample_count(void *data, const struct stack_sample *sample)
{
    struct profile *profile = data;
    uint64_t period = sample->sample->period_ns;
    if (sample->run != profile->last_run)
        profile->ranks++;
    if (sample->run != profile->last_run || sample->stream != profile->last_stream)
        profile->streams++;
    profile->last_run = sample->run;
    profile->last_stream = sample->stream;
    if (!profile->period_least_ns || period < profile->period_least_ns)
        profile->period_least_ns = period;
    if (period > profile->period_most_ns)
        profile->period_most_ns = period;
    profile->squares += (double)sample->weight_ns * (double)sample->sample->period_ns;
    profile_sum_add(&profile->sum, sample);
    profile_exact_sample(profile, sample);
    if (share_count(&profile->processes, sample, 0) != 0 || share_count(&profile->threads, sample, sample->stream) != 0)
        return -1;
    if (call_count(profile, sample) != 0 || functions_count(profile, sample) != 0)
        return -1;
    return path_count(profile, sample);
}

/* ---- what it is worth -------------------------------------------------------------------------------------------- */

double profile_samples(const struct profile *profile)
{
    double ns = (double)profile->sum.ns;
    return profile->squares > 0 ? ns * ns / profile->squares : 0;
}

double profile_error(double ns, double whole, double samples, double standard_errors)
{
    if (whole <= 0 || samples <= 0)
        return 1;
    double share = (ns / whole * samples + 2) / (samples + 4);
    return standard_errors * sqrt(share * (1 - share) / (samples + 4));
}

uint64_t profile_stall_ns(const uint64_t state_ns[PROFILE_STATES])
{
    uint64_t ns = 0;
    for (int state = MPIT_STATE_STALL_SEND; state < PROFILE_STATES; state++)
        ns += state_ns[state];
    return ns;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

int profile_open(struct profile *profile, const struct run_job *job, const struct selection *selection, bool internal)
{
    *profile = (struct profile){0};
    profile->root = calloc(1, sizeof *profile->root);
    if (stacks_open(&profile->stacks, job, selection, internal) != 0 || !profile->root)
        return -1;
    if (profile_exact_begin(profile) != 0 || stacks_walk(&profile->stacks, sample_count, profile) != 0)
        return -1;
    return profile_exact_end(profile);
}

void profile_release(struct profile *profile)
{
    struct keytable *const tables[] = {&profile->calls, &profile->sites,     &profile->functions, &profile->lines,
                                       &profile->nodes, &profile->processes, &profile->threads};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        keytable_release(tables[i], NULL);
    free(profile->root);
    stacks_release(&profile->stacks);
    *profile = (struct profile){0};
}
