/* The profile as text. */
#include "format/label.h"
#include "base/array.h"
#include "profile/profile.h"
#include "symbols/symbols.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 20, PATH_LINES_MOST = 200, PLACE_BYTES = 128 };
static const double PATH_SHARE_LEAST = 0.005;

static const char *place_text(char text[PLACE_BYTES], const char *file, unsigned line)
{
    if (!file)
        return "";
    if (line)
        snprintf(text, PLACE_BYTES, "%.100s:%u", path_base(file), line);
    else
        snprintf(text, PLACE_BYTES, "%.100s", path_base(file));
    return text;
}

static const char *rate_text(char text[UNIT_TEXT_BYTES], uint64_t period_ns)
{
    double hz = period_ns ? 1e9 / (double)period_ns : 0;
    snprintf(text, UNIT_TEXT_BYTES, hz < 10 ? "%.3g Hz" : "%.0f Hz", hz);
    return text;
}

static void profile_head_print(const struct profile *profile, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], note[SYMBOLS_NOTE_BYTES];
    const struct run_job *job = profile->stacks.job;
    char program[sizeof job->files[0].header.program] = "";
    if (job->file_count)
        label_clean(program, sizeof program, job->files[0].header.program, sizeof program);
    fprintf(out, "%.99s: %" PRIu64 " process%s, %" PRIu64 " thread%s", program[0] ? path_base(program) : "(no name)",
            profile->ranks, profile->ranks == 1 ? "" : "es", profile->streams, profile->streams == 1 ? "" : "s");
    fprintf(out, ", sampled at %s", rate_text(a, profile->period_least_ns));
    if (profile->period_most_ns != profile->period_least_ns)
        fprintf(out, " and less, down to %s", rate_text(a, profile->period_most_ns));
    fprintf(out, ": %s samples of %s\n", text_of_count(b, profile->sum.samples), text_of_ns(c, profile->sum.ns));
    if (profile->stacks.selection && selection_is_given(profile->stacks.selection))
        fprintf(out, "  selected part only: %s\n", profile->stacks.selection->described);
    if (profile->stacks.lost)
        fprintf(out, "  ! %s samples were lost: their buffer was full\n", text_of_count(a, profile->stacks.lost));
    if (profile->stacks.limit_ns)
        fprintf(out, "  ! samples were taken for the first %s only (mpit_trace_limit_seconds)\n",
                text_of_ns(a, profile->stacks.limit_ns));
    if (profile->stacks.damaged)
        fprintf(out, "  ! the samples of %s threads are damaged; all samples after the damage are left out\n",
                text_of_count(a, profile->stacks.damaged));
    for (size_t i = 0; symbols_note(profile->stacks.symbols, i, note); i++)
        fprintf(out, "  ! %s\n", note);
}

/* ---- shares of states -------------------------------------------------------------------------------------------- */

static void state_print(const struct profile *profile, const char *title, uint64_t ns, uint64_t inside_ns,
                        uint64_t exact_ns, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES];
    const struct profile_exact *exact = &profile->exact;
    double whole = (double)profile->sum.ns, span = (double)exact->span_ns;
    double error = profile_error((double)ns, whole, profile_samples(profile), PROFILE_STANDARD_ERRORS);
    fprintf(out, "  %-22s%8s +- %6s", title, text_of_share(a, (double)ns, whole), text_of_share(b, error, 1));
    if (!exact->none) {
        error = profile_error((double)inside_ns, span, span * span / exact->squares, PROFILE_STANDARD_ERRORS);
        fprintf(out, "%14s +- %6s%17s", text_of_share(a, (double)inside_ns, span), text_of_share(b, error, 1),
                text_of_share(c, (double)exact_ns, span));
    }
    fprintf(out, "\n");
}

static void states_print(const struct profile *profile, FILE *out)
{
    static const char *const titles[PROFILE_STATES] = {"not in MPI",    "work in MPI",      "  in sends",
                                                       "  in receives", "  in collectives", "  in completion",
                                                       "  in others"};
    const struct profile_exact *exact = &profile->exact;
    char a[UNIT_TEXT_BYTES];
    if (exact->none)
        fprintf(out, "\nstates                   samples\n");
    else
        fprintf(
            out,
            "\nstates                   all samples                from MPI_Init to MPI_Finalize: samples, timers\n");
    for (int state = 0; state < PROFILE_STATES; state++) {
        if (state == MPIT_STATE_STALL_SEND)
            state_print(profile, "stalled in MPI", profile_stall_ns(profile->sum.state_ns),
                        profile_stall_ns(exact->inside_ns), profile_stall_ns(exact->ns), out);
        if (state < MPIT_STATE_STALL_SEND || profile->sum.state_ns[state] || (!exact->none && exact->ns[state]))
            state_print(profile, titles[state], profile->sum.state_ns[state], exact->inside_ns[state], exact->ns[state],
                        out);
    }
    fprintf(out, "  %-22s%8s\n", "on a processor",
            text_of_share(a, (double)profile->sum.on_cpu_ns, (double)profile->sum.ns));
    fprintf(out, "  +- is the 95 %% confidence interval, 1.96 sqrt(p (1 - p) / n), with n = %.0f timer periods\n",
            profile_samples(profile));
    if (exact->none)
        fprintf(out, "  samples are not compared with the timers: %s\n", exact->none);
    else if (exact->agrees)
        fprintf(out, "  samples and timers agree: all differences are within the statistical error\n");
    else
        fprintf(out, "  ! samples and timers differ by more than the statistical error\n");
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static int profile_call_order(const void *one, const void *other)
{
    const struct profile_call *a = *(struct profile_call *const *)one, *b = *(struct profile_call *const *)other;
    return ORDER(b->sum.ns, a->sum.ns) ?: strcmp(a->frame->name, b->frame->name);
}

static int frames_compare(const struct frame *a, const struct frame *b)
{
    return strcmp(a->name, b->name) ?: strcmp(a->module, b->module);
}

static int places_compare(const char *file, unsigned line, const char *other_file, unsigned other_line)
{
    return strcmp(file ? file : "", other_file ? other_file : "") ?: ORDER(line, other_line);
}

static int site_order(const void *one, const void *other)
{
    const struct profile_site *a = *(struct profile_site *const *)one, *b = *(struct profile_site *const *)other;
    int order = ORDER(b->sum.ns, a->sum.ns) ?: strcmp(a->call->name, b->call->name);
    return order ?: places_compare(a->file, a->line, b->file, b->line);
}

static int function_order(const void *one, const void *other)
{
    const struct profile_function *a = *(struct profile_function *const *)one,
                                  *b = *(struct profile_function *const *)other;
    uint64_t own = a->self_ns + a->mpi_ns, others = b->self_ns + b->mpi_ns;
    return ORDER(others, own) ?: ORDER(b->total_ns, a->total_ns) ?: frames_compare(a->frame, b->frame);
}

static int source_line_order(const void *one, const void *other)
{
    const struct profile_line *a = *(struct profile_line *const *)one, *b = *(struct profile_line *const *)other;
    uint64_t own = a->self_ns + a->mpi_ns, others = b->self_ns + b->mpi_ns;
    int order = ORDER(others, own) ?: strcmp(a->frame->name, b->frame->name);
    return order ?: places_compare(a->file, a->line, b->file, b->line);
}

/* The text while it is made. */
struct profile_out {
    const struct profile *profile;
    FILE *out;
    bool seen, told; /* mpit's own frames, and their explanation, which comes with the first table that has them */
    unsigned lines;  /* of paths */
    uint64_t left_out;
};

static void recorder_see(struct profile_out *to, const struct frame *frame)
{
    to->seen = to->seen || (frame && frame->kind == FRAME_RECORDER);
}

static void recorder_explain(struct profile_out *to)
{
    if (to->seen && !to->told)
        fprintf(to->out, "  [mpit] is time in mpit itself: recording, and checks at each poll of a waiting call%s\n",
                to->profile->stacks.internal ? "" : "; --internal shows the functions");
    to->told = to->seen;
}

/* Prints the first records of a table in this order, a line for each. */
static void profile_table_print(struct profile_out *to, const struct keytable *table,
                                int (*order)(const void *, const void *), const char *title,
                                void (*record_print)(struct profile_out *to, const struct keyed *record))
{
    struct keyed **list = keytable_sorted(table);
    if (!list)
        return;
    qsort(list, table->count, sizeof(struct keyed *), order);
    fprintf(to->out, "\n%s\n", title);
    for (size_t i = 0; i < table->count && i < ROWS_MOST; i++)
        record_print(to, list[i]);
    if (table->count > ROWS_MOST)
        fprintf(to->out, "  ... and %zu more; --json and --pprof show all\n", table->count - ROWS_MOST);
    recorder_explain(to);
    free(list);
}

static const char *share_or_none(char text[UNIT_TEXT_BYTES], uint64_t ns, uint64_t whole)
{
    return ns ? text_of_share(text, (double)ns, (double)whole) : "-";
}

static bool call_name_is_end(const char *name)
{
    return strncmp(name, "MPI_Init", 8) == 0 || strcmp(name, "MPI_Finalize") == 0;
}

static void profile_call_print(struct profile_out *to, const struct keyed *record)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES];
    const struct profile *profile = to->profile;
    const struct profile_call *call = (const struct profile_call *)record;
    const struct profile_sum *sum = &call->sum;
    double whole = (double)profile->sum.ns, samples = profile_samples(profile);
    fprintf(to->out, "  %-28s%8s +- %-8s%8s   %8s", call->frame->name, text_of_share(a, (double)sum->ns, whole),
            text_of_share(b, profile_error((double)sum->ns, whole, samples, PROFILE_STANDARD_ERRORS), 1),
            share_or_none(c, profile_stall_ns(sum->state_ns), sum->ns), share_or_none(d, sum->on_cpu_ns, sum->ns));
    if (!profile->exact.none)
        fprintf(to->out, "   %8s",
                call_name_is_end(call->frame->name) ? "-" : share_or_none(a, call->exact_ns, profile->sum.ns));
    fprintf(to->out, "\n");
}

static int profile_share_order(const void *one, const void *other)
{
    const struct profile_share *a = *(struct profile_share *const *)one, *b = *(struct profile_share *const *)other;
    return ORDER(a->rank, b->rank) ?: ORDER(a->pid, b->pid);
}

static int thread_order(const void *one, const void *other)
{
    const struct profile_share *a = *(struct profile_share *const *)one, *b = *(struct profile_share *const *)other;
    return profile_share_order(one, other) ?: ORDER(a->tid, b->tid);
}

/* The states and on-cpu time as shares of its own time. */
static void share_states_print(const struct profile_sum *sum, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES];
    fprintf(out, "%12s%11s%11s%11s\n", share_or_none(a, sum->state_ns[MPIT_STATE_NOT_IN_MPI], sum->ns),
            share_or_none(b, sum->state_ns[MPIT_STATE_WORK], sum->ns),
            share_or_none(c, profile_stall_ns(sum->state_ns), sum->ns), share_or_none(d, sum->on_cpu_ns, sum->ns));
}

static void process_title(char text[PLACE_BYTES], const struct profile_share *share)
{
    if (share->rank >= 0)
        snprintf(text, PLACE_BYTES, "%" PRId32, share->rank);
    else
        snprintf(text, PLACE_BYTES, "process %" PRIu32, share->pid);
}

static void profile_process_print(struct profile_out *to, const struct keyed *record)
{
    char title[PLACE_BYTES], time[UNIT_TEXT_BYTES];
    const struct profile_share *share = (const struct profile_share *)record;
    process_title(title, share);
    fprintf(to->out, "  %-18s%10s", title, text_of_ns(time, share->sum.ns));
    share_states_print(&share->sum, to->out);
}

static void profile_thread_print(struct profile_out *to, const struct keyed *record)
{
    char title[PLACE_BYTES], line[PLACE_BYTES + 40], part[UNIT_TEXT_BYTES];
    const struct profile_share *share = (const struct profile_share *)record;
    process_title(title, share);
    snprintf(line, sizeof line, "%s: %s %" PRId32, title, share->name[0] ? share->name : "thread", share->tid);
    fprintf(to->out, "  %-22s%8s", line, text_of_share(part, (double)share->sum.ns, (double)to->profile->sum.ns));
    share_states_print(&share->sum, to->out);
}

static void profile_site_print(struct profile_out *to, const struct keyed *record)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], place[PLACE_BYTES], name[UNIT_NAME_BYTES];
    const struct profile_site *site = (const struct profile_site *)record;
    const char *where = place_text(place, site->file, site->line);
    recorder_see(to, site->caller);
    fprintf(to->out, "  %-28s%9s%9s  %s%s%s%s\n", site->call->name,
            text_of_share(a, (double)site->sum.ns, (double)to->profile->sum.ns),
            share_or_none(b, profile_stall_ns(site->sum.state_ns), site->sum.ns),
            site->caller ? text_of_name(name, site->caller->name) : "[unknown]", where[0] ? " (" : "", where,
            where[0] ? ")" : "");
}

static void profile_function_print(struct profile_out *to, const struct keyed *record)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], name[UNIT_NAME_BYTES];
    const struct profile_function *function = (const struct profile_function *)record;
    const char *module = function->frame->kind == FRAME_PROGRAM ? function->frame->module : "";
    uint64_t whole = to->profile->sum.ns;
    recorder_see(to, function->frame);
    fprintf(to->out, "  %23s%12s%9s  %s%s%s%s\n", share_or_none(a, function->self_ns, whole),
            share_or_none(b, function->mpi_ns, whole), share_or_none(c, function->total_ns, whole),
            text_of_name(name, function->frame->name), module[0] ? " [" : "", module, module[0] ? "]" : "");
}

static void profile_line_print(struct profile_out *to, const struct keyed *record)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], place[PLACE_BYTES], name[UNIT_NAME_BYTES];
    const struct profile_line *line = (const struct profile_line *)record;
    const char *where = place_text(place, line->file, line->line);
    recorder_see(to, line->frame);
    fprintf(to->out, "  %23s%12s  %s in %s\n", share_or_none(a, line->self_ns, to->profile->sum.ns),
            share_or_none(b, line->mpi_ns, to->profile->sum.ns), where[0] ? where : "(no line)",
            text_of_name(name, line->frame->name));
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

static int node_order(const void *one, const void *other)
{
    const struct profile_node *a = *(struct profile_node *const *)one, *b = *(struct profile_node *const *)other;
    return ORDER(b->sum.ns, a->sum.ns) ?: frames_compare(a->frame, b->frame);
}

static void node_print(struct profile_out *to, const struct profile_node *node, unsigned depth)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], place[PLACE_BYTES], name[UNIT_NAME_BYTES];
    double whole = (double)to->profile->sum.ns;
    recorder_see(to, node->frame);
    const char *where = place_text(place, node->file, node->several ? 0 : node->line);
    fprintf(to->out, "  %8s%9s%9s  %*s%s%s%s%s\n", text_of_share(a, (double)node->sum.ns, whole),
            share_or_none(b, node->self.ns, to->profile->sum.ns),
            share_or_none(c, profile_stall_ns(node->sum.state_ns), node->sum.ns), (int)(depth < 60 ? depth : 60) * 2,
            "", text_of_name(name, node->frame->name), where[0] ? " (" : "", where, where[0] ? ")" : "");
}

static int nodes_print(struct profile_out *to, const struct profile_node *parent, unsigned depth)
{
    size_t count = 0;
    for (const struct profile_node *node = parent->first; node; node = node->next)
        count++;
    const struct profile_node **list = count ? calloc(count, sizeof(struct profile_node *)) : NULL;
    int result = count && !list ? -1 : 0;
    if (!list)
        return result;
    count = 0;
    for (const struct profile_node *node = parent->first; node; node = node->next)
        list[count++] = node;
    qsort(list, count, sizeof(struct profile_node *), node_order);
    for (size_t i = 0; i < count && result == 0; i++) {
        if ((double)list[i]->sum.ns < PATH_SHARE_LEAST * (double)to->profile->sum.ns || to->lines == PATH_LINES_MOST) {
            to->left_out += count - i;
            break;
        }
        to->lines++;
        node_print(to, list[i], depth);
        result = nodes_print(to, list[i], depth + 1);
    }
    free(list);
    return result;
}

static int paths_print(struct profile_out *to)
{
    fprintf(to->out, "\ncall paths\n     total     self  stalled\n");
    int result = nodes_print(to, to->profile->root, 0);
    if (to->left_out)
        fprintf(to->out, "  paths below %.1f %% are left out%s\n", PATH_SHARE_LEAST * 100,
                to->lines == PATH_LINES_MOST ? ", and more; --json shows all" : "");
    recorder_explain(to);
    return result;
}

int profile_print(struct profile *profile, FILE *out)
{
    struct profile_out to = {.profile = profile, .out = out};
    profile_head_print(profile, out);
    states_print(profile, out);
    profile_table_print(
        &to, &profile->processes, profile_share_order,
        "ranks                  sampled  not in MPI       work    stalled     on cpu   (shares of each one's time)",
        profile_process_print);
    if (profile->threads.count != profile->processes.count) /* else each process has one thread */
        profile_table_print(
            &to, &profile->threads, thread_order,
            "threads             share of all  not in MPI       work    stalled     on cpu   (of each one's time)",
            profile_thread_print);
    profile_table_print(&to, &profile->calls, profile_call_order,
                        profile->exact.none
                            ? "MPI functions                  share of time      stalled     on cpu"
                            : "MPI functions                  share of time      stalled     on cpu     timers",
                        profile_call_print);
    profile_table_print(&to, &profile->sites, site_order, "places that call MPI              share  stalled",
                        profile_site_print);
    profile_table_print(&to, &profile->functions, function_order, "functions            self  MPI called    total",
                        profile_function_print);
    profile_table_print(&to, &profile->lines, source_line_order, "lines                self  MPI called",
                        profile_line_print);
    return paths_print(&to);
}
