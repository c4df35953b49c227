#include "profile/profile.h"

#include "figures/figures.h"

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

static uint64_t place(const struct stack_frame *frame)
{
    return (uint64_t)frame->file_number << 32 | frame->line;
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
    uint64_t frames = (uint64_t)frame->number << 32 | (caller ? caller->frame->number + UINT64_C(1) : 0);
    struct profile_site *site = keytable_make(&profile->sites, frames, caller ? place(caller) : 0, sizeof *site);
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

/* What a function of the C library or of a compiler does counts for its caller. */
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
        if (!last || !frame_is_runtime(frame) || frame_is_runtime(last->frame))
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

static int share_count(struct profile *profile, struct keytable *table, const struct stack_sample *sample,
                       uint64_t stream)
{
    uint64_t number = (uint64_t)(sample->run - profile->stacks.job->files);
    struct profile_share *share = keytable_make(table, number, stream, sizeof *share);
    if (!share)
        return -1;
    share->rank = sample->rank;
    share->pid = sample->run->header.pid;
    share->tid = sample->sample->tid;
    memcpy(share->name, sample->sample->name, sizeof sample->sample->name);
    profile_sum_add(&share->sum, sample);
    return 0;
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

/* ---- the recorder's timers ----------------------------------------------------------------------------------------- */

/* Values for the same span: from the end of MPI_Init to the begin of MPI_Finalize. */

enum { KINDS_MOST = 1 << 12 };
/* The bounds of sampled time over the time of the threads. */
static const double COVERED_LEAST = 0.95, COVERED_MOST = 1.05;

static const char *process_obstacle(const struct run_reader *run)
{
    const struct run_header *header = &run->header;
    if (!header->init_ticks || !header->finalize_ticks)
        return "a process did not reach MPI_Finalize";
    if (header->timed != 1 || header->timed_changed)
        return "not all calls were timed (stalls of the others are shown as work)";
    return NULL;
}

/* Subtracts MPI's own functions at the ends, with their stalls, which lie outside the span. */
static void ends_take_off(const struct run_reader *run, const uint64_t *times, const uint64_t *stalls, size_t count,
                          uint64_t *mpi_ns, uint64_t *stall_other_ns)
{
    static const char *const ends[] = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize"};
    for (size_t kind = 1; kind < count; kind++)
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            if (strcmp(run_reader_call_name(run, (unsigned)kind), ends[i]) != 0)
                continue;
            *mpi_ns -= times[kind] < *mpi_ns ? times[kind] : *mpi_ns;
            *stall_other_ns -= stalls[kind] < *stall_other_ns ? stalls[kind] : *stall_other_ns;
        }
    uint64_t sessions_ns = clock_ns(run_reader_scale(run), run->header.session_ticks);
    *mpi_ns -= sessions_ns < *mpi_ns ? sessions_ns : *mpi_ns;
}

static void functions_take(struct profile *profile, const struct run_reader *run, const uint64_t *times, size_t count)
{
    for (size_t kind = 1; kind < count; kind++)
        for (size_t i = 0; times[kind] && i < profile->calls.capacity; i++)
            for (struct keyed *keyed = profile->calls.buckets[i]; keyed; keyed = keyed->next) {
                struct profile_call *call = (struct profile_call *)keyed;
                if (strcmp(call->frame->name, run_reader_call_name(run, (unsigned)kind)) == 0)
                    call->exact_ns += times[kind];
            }
}

/* Returns how long the threads that have called MPI existed between the ends. */
static uint64_t threads_ns(const struct run_reader *run)
{
    const struct run_header *header = &run->header;
    uint64_t ticks = 0;
    for (size_t i = 0; i < run->thread_count; i++) {
        const struct thread_record *thread = run->threads[i];
        if (!thread)
            continue;
        uint64_t begin = thread->begin_ticks > header->init_ticks ? thread->begin_ticks : header->init_ticks;
        uint64_t end = thread->end_ticks && thread->end_ticks < header->finalize_ticks ? thread->end_ticks
                                                                                       : header->finalize_ticks;
        ticks += end > begin ? end - begin : 0;
    }
    return clock_ns(run_reader_scale(run), ticks);
}

static int exact_times_take(struct profile *profile, const struct run_reader *run)
{
    struct profile_exact *exact = &profile->exact;
    uint64_t *times = calloc(2 * KINDS_MOST, sizeof *times), *stalls = times ? times + KINDS_MOST : NULL;
    uint64_t by_state[PROFILE_STATES] = {0};
    const struct figures from = {run};
    if (!times)
        return -1;
    size_t count = figures_read(&from, "mpit_call_time", VARIABLE_TIMER, NULL, times, KINDS_MOST);
    figures_read(&from, "mpit_call_stall_time", VARIABLE_TIMER, NULL, stalls, KINDS_MOST);
    figures_read(&from, "mpit_stall_time", VARIABLE_TIMER, NULL, by_state, PROFILE_STATES);
    uint64_t mpi_ns = figures_one(&from, "mpit_mpi_time", VARIABLE_TIMER, NULL);
    count = count < KINDS_MOST ? count : KINDS_MOST;
    ends_take_off(run, times, stalls, count, &mpi_ns, &by_state[MPIT_STATE_STALL_OTHER]);
    uint64_t stall_ns = profile_stall_ns(by_state);
    for (int state = MPIT_STATE_STALL_SEND; state < PROFILE_STATES; state++)
        exact->ns[state] += by_state[state];
    exact->ns[MPIT_STATE_WORK] += mpi_ns > stall_ns ? mpi_ns - stall_ns : 0;
    exact->threads_ns += threads_ns(run);
    functions_take(profile, run, times, count);
    free(times);
    return 0;
}

static bool is_thread_of_mpi(const struct stack_sample *sample)
{
    const struct run_reader *run = sample->run;
    for (size_t i = 0; i < run->thread_count; i++)
        if (run->threads[i] && run->threads[i]->tid == sample->sample->tid)
            return sample->sample->ticks >= run->threads[i]->begin_ticks;
    return sample->sample->thread != SAMPLE_NO_THREAD;
}

static void exact_sample(struct profile *profile, const struct stack_sample *sample)
{
    struct profile_exact *exact = &profile->exact;
    if (!sample->inside)
        return;
    exact->inside_ns[sample->sample->state] += sample->weight_ns;
    exact->span_ns += sample->weight_ns;
    exact->squares += (double)sample->weight_ns * (double)sample->sample->period_ns;
    if (is_thread_of_mpi(sample))
        exact->covered_ns += sample->weight_ns;
}

static void verdict_find(struct profile_exact *exact)
{
    uint64_t known = 0;
    double whole = (double)exact->span_ns, samples = whole * whole / exact->squares;
    double uncovered = fabs((double)exact->covered_ns - (double)exact->threads_ns) / (double)exact->threads_ns;
    for (int state = MPIT_STATE_WORK; state < PROFILE_STATES; state++)
        known += exact->ns[state];
    exact->ns[MPIT_STATE_NOT_IN_MPI] = exact->span_ns > known ? exact->span_ns - known : 0;
    exact->agrees = true;
    for (int state = 0; state < PROFILE_STATES; state++) {
        double difference = fabs((double)exact->inside_ns[state] - (double)exact->ns[state]) / whole;
        if (difference > uncovered + profile_error((double)exact->ns[state], whole, samples, PROFILE_FAMILY_ERRORS))
            exact->agrees = false;
    }
}

static int exact_end(struct profile *profile)
{
    struct profile_exact *exact = &profile->exact;
    const struct run_job *job = profile->stacks.job;
    for (size_t i = 0; i < job->file_count && !exact->none; i++) {
        const struct run_reader *run = run_job_file(job, i);
        bool wanted =
            !profile->stacks.selection || selection_has_rank(profile->stacks.selection, run_rank(&run->header));
        if (wanted && run_reader_sample_streams(run)) {
            exact->none = process_obstacle(run);
            if (!exact->none && exact_times_take(profile, run) != 0)
                return -1;
        }
        run_reader_rest(run);
    }
    if (!exact->none && profile->stacks.lost)
        exact->none = "samples were lost";
    if (!exact->none && (!exact->span_ns || !exact->threads_ns))
        exact->none = "there are no samples between MPI_Init and MPI_Finalize";
    double covered = exact->none ? 0 : (double)exact->covered_ns / (double)exact->threads_ns;
    if (!exact->none && (covered < COVERED_LEAST || covered > COVERED_MOST))
        exact->none = "samples do not cover the time of the threads in MPI from MPI_Init to MPI_Finalize";
    if (!exact->none)
        verdict_find(exact);
    return 0;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

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
    exact_sample(profile, sample);
    if (share_count(profile, &profile->processes, sample, 0) != 0 ||
        share_count(profile, &profile->threads, sample, sample->stream) != 0)
        return -1;
    if (call_count(profile, sample) != 0 || functions_count(profile, sample) != 0)
        return -1;
    return path_count(profile, sample);
}

int profile_open(struct profile *profile, const struct run_job *job, const struct selection *selection, bool internal)
{
    *profile = (struct profile){0};
    profile->root = calloc(1, sizeof *profile->root);
    if (stacks_open(&profile->stacks, job, selection, internal) != 0 || !profile->root)
        return -1;
    if (selection && selection_cuts_calls(selection))
        profile->exact.none = "only a part is selected, but timers are of whole processes";
    return stacks_walk(&profile->stacks, sample_count, profile) == 0 ? exact_end(profile) : -1;
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
