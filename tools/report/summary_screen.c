#define _GNU_SOURCE
#include "report/summary_screen.h"

#include "base/textwrap.h"
#include "base/units.h"
#include "report/summary_below.h"
#include "report/summary_findings.h"
#include "report/summary_head.h"
#include "report/summary_origin.h"
#include "report/summary_passes.h"
#include "report/summary_ranks.h"
#include "report/summary_sites.h"

#include <err.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A line is left for the next command, and one before it. */
#define LARGE_SHARE 0.05
enum { SCREEN_LINES = 22, SITES_SHOWN = 5, SITES_LEAST = 2, BOTH_TABLES = 6, LABEL_COLUMNS = 13 };

/* Lines of other functions may be longer than the screen. */
static void lines_wrap(char *lines, FILE *out)
{
    for (char *line = lines, *end; *line; line = end) {
        end = strchrnul(line, '\n');
        if (*end)
            *end++ = '\0';
        bool label = strlen(line) > SCREEN_COLUMNS && line[0] == ' ';
        text_wrap(label ? line + fprintf(out, "%.*s", LABEL_COLUMNS, line) : line, label ? LABEL_COLUMNS : 0, out);
    }
}

static void title_print(const struct summary *summary, FILE *out)
{
    char title[ORIGIN_COMMAND_BYTES];
    const char *command = summary->origin.told ? summary->origin.command : "";
    const char *program = summary->program[0] ? summary->program : "(a program without a name)";
    snprintf(title, sizeof title, "%s", command[0] ? command : program);
    fprintf(out, "%s\n", text_cut(title, SCREEN_COLUMNS, "..."));
}

static void screen_ranks_print(const struct summary *summary, FILE *out)
{
    char text[1024], hosts[512], count[UNIT_TEXT_BYTES], recorded[UNIT_TEXT_BYTES + 32] = "", some[UNIT_TEXT_BYTES];
    summary_loads_text(summary, hosts, sizeof hosts);
    if (summary->ranks < summary->world_size)
        snprintf(recorded, sizeof recorded, ", %s of them recorded", text_of_count(some, summary->ranks));
    snprintf(text, sizeof text, "%s%s%s%s; %.40s",
             text_of_count(count, summary->world_size ? summary->world_size : summary->ranks), recorded,
             hosts[0] ? " on " : "", hosts, summary->mpi[0] ? summary->mpi : "without MPI");
    fprintf(out, "  %-*s", LABEL_COLUMNS - 2, "ranks");
    text_wrap(text_cut(text, 2 * (SCREEN_COLUMNS - LABEL_COLUMNS), "..."), LABEL_COLUMNS, out);
    if (summary->spawned && summary->parent_job)
        fprintf(out, "  spawned by job %016" PRIx64 "\n", summary->parent_job);
    else if (summary->spawned)
        fprintf(out, "  spawned by another job\n");
}

static void screen_times_print(const struct summary *summary, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    uint64_t stall_ns[STATE_COUNT];
    double all = summary->mpi_seconds.sum * 1e9, stalled = summary_stalls(summary, stall_ns);
    const char *share = summary_share_text(summary, a);
    if (!summary->mpi[0])
        return;
    if (strcmp(share, "-") == 0 || all <= 0)
        fprintf(out, "  in MPI     %s\n", share);
    else if (!summary->stall_known)
        fprintf(out, "  in MPI     %s of %s (mean of ranks)\n", share, summary_whole_text(summary));
    else
        fprintf(out, "  in MPI     %s of %s (mean of ranks), %s of that stalled\n", share, summary_whole_text(summary),
                text_of_share(b, stalled > all ? all : stalled, all));
}

static void screen_head_print(const struct summary *summary, const struct findings *findings, FILE *out)
{
    title_print(summary, out);
    summary_when_print(summary, out);
    screen_ranks_print(summary, out);
    finding_notes_print(findings, out);
    screen_times_print(summary, out);
    summary_efficiency_print(summary, out);
    summary_notes_print(summary, NULL, out);
}

static unsigned lines_of(const char *text)
{
    unsigned lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* How many of the findings that may be shown are too large to make room for advice. */
static size_t large_count(const struct findings *findings)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count && count < FINDINGS_SHOWN; i++)
        count += !findings->list[i].note && findings->list[i].share_of_run >= LARGE_SHARE;
    return count;
}

/* As many findings with their advice as have room beside `used` lines and some sites. The small ones go first, then
 * advice, then the others. The caller frees the text. */
static char *findings_text(const struct findings *findings, unsigned used)
{
    size_t least = large_count(findings) > 1 ? large_count(findings) : 1;
    for (size_t most = FINDINGS_SHOWN, advice = 1;; most > least || !advice ? most-- : advice--) {
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        if (!out)
            return NULL;
        summary_findings_print(findings, most, advice, out);
        fclose(out);
        if ((most == 1 && !advice) || used + lines_of(text) + SITES_LEAST + 2 <= SCREEN_LINES)
            return text;
        free(text);
    }
}

/* The head may have any number of notes. It is made first, so that its lines can be counted. */
static char *head_text(const struct summary *summary, const struct findings *findings)
{
    char *raw = NULL, *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&raw, &bytes);
    if (out) {
        screen_head_print(summary, findings, out);
        fclose(out);
    }
    out = raw ? open_memstream(&text, &bytes) : NULL;
    if (out) {
        lines_wrap(raw, out);
        fclose(out);
    }
    free(raw);
    return text;
}

/* The caller frees it. `most`: lines of the table. 0: the line of the passes, and no table */
static char *part_text(const struct summary *summary, size_t most)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    if (most)
        summary_below_print(summary, most, out);
    else
        summary_passes_line_print(summary, out);
    fclose(out);
    return text;
}

void summary_screen_print(const struct summary *summary, FILE *out)
{
    struct findings *findings = malloc(sizeof *findings);
    if (!findings)
        err(1, "no memory");
    findings_find(findings, summary);
    char *head = head_text(summary, findings);
    unsigned used = head ? lines_of(head) : 0, hint = summary_hint_lines(summary);
    char *found = findings_text(findings, used + hint);
    used += found ? lines_of(found) : 0;
    char *passes = part_text(summary, 0);
    unsigned loop = passes ? lines_of(passes) : 0;
    bool fits = used + loop + hint + SITES_LEAST + 2 <= SCREEN_LINES; /* findings come first */
    used += fits ? loop : 0;
    fprintf(out, "%s%s%s", head ? head : "", passes && fits ? passes : "", found ? found : "");
    free(passes);
    unsigned room = used + 3 < SCREEN_LINES ? SCREEN_LINES - used - 2 : 1;
    char *below = room < BOTH_TABLES ? NULL : part_text(summary, room / 2 - 1);
    unsigned sites = room - (below ? lines_of(below) : 0);
    summary_costly_print(summary, sites < SITES_SHOWN ? sites : SITES_SHOWN, out);
    fprintf(out, "%s", below ? below : "");
    free(below);
    free(head);
    free(found);
    free(findings);
}
