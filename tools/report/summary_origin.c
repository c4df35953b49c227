#define _GNU_SOURCE
#include "report/summary_origin.h"

#include "base/units.h"
#include "base/username.h"
#include "job/jsonvalue.h"
#include "summary/hostload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIME_BYTES = 32, HOSTS_BYTES = 512, COMMAND_COLUMNS = 100 };

/* Formats local time of the machine that shows it, or "" if it is not known. */
static const char *time_text(char text[TIME_BYTES], const char *format, uint64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm local;
    text[0] = '\0';
    if (ns && localtime_r(&seconds, &local))
        strftime(text, TIME_BYTES, format, &local);
    return text;
}

/* The version of mpit that recorded. Returns false if it is not known. */
static bool recorder_text(char text[32], const struct summary_origin *origin)
{
    uint32_t number = origin->recorder;
    snprintf(text, 32, "%u.%u.%u", number / 1000000, number / 1000 % 1000, number % 1000);
    return number != 0;
}

void summary_origin_print(const struct summary *summary, FILE *out)
{
    const struct summary_origin *origin = &summary->origin;
    char begin[TIME_BYTES], end[TIME_BYTES], hosts[HOSTS_BYTES], user[USER_BYTES], recorder[32];
    if (!origin->told)
        return;
    fprintf(out, "  command    %.*s%s\n", COMMAND_COLUMNS, origin->command,
            strlen(origin->command) > COMMAND_COLUMNS ? "..." : "");
    fprintf(out, "  when       %s", time_text(begin, "%Y-%m-%d %H:%M:%S", origin->begin_ns));
    if (origin->end_ns)
        fprintf(out, " to %s", time_text(end, "%H:%M:%S", origin->end_ns));
    user_name(user, origin->uid);
    fprintf(out, ", by %s%s%s\n", origin->user[0] ? origin->user : user, origin->scheduler_job[0] ? ", job " : "",
            origin->scheduler_job);
    if (origin->label[0])
        fprintf(out, "  label      %s\n", origin->label);
    summary_hosts(summary, hosts, sizeof hosts);
    fprintf(out, "  hosts      %s\n", hosts);
    if (recorder_text(recorder, origin))
        fprintf(out, "  recorder   mpit %s\n", recorder);
}

void summary_when_print(const struct summary *summary, FILE *out)
{
    const struct summary_origin *origin = &summary->origin;
    char begin[TIME_BYTES], time[UNIT_TEXT_BYTES], user[USER_BYTES];
    text_of_seconds(time, summary->run_seconds.max);
    if (!origin->told) {
        fprintf(out, "  run time   %s\n", time);
        return;
    }
    user_name(user, origin->uid);
    fprintf(out, "  when       %s, %s%.19s, by %.20s%s%.20s\n", time_text(begin, "%Y-%m-%d %H:%M:%S", origin->begin_ns),
            summary->ranks ? "for " : "", summary->ranks ? time : "no run time", origin->user[0] ? origin->user : user,
            origin->scheduler_job[0] ? ", job " : "", origin->scheduler_job);
}

static int load_text(char *text, size_t bytes, const struct summary_host *host, const struct host_load *load, bool all)
{
    char ranks[16];
    snprintf(ranks, sizeof ranks, "%u on ", load->ranks);
    int used = snprintf(text, bytes, "%s%.40s", all ? "" : ranks, host->name);
    if (load->processors && used > 0 && (size_t)used < bytes)
        used += snprintf(text + used, bytes - (size_t)used, " (%u processor%s)", load->processors,
                         load->processors == 1 ? "" : "s");
    return used;
}

void summary_loads_text(const struct summary *summary, char *text, size_t bytes)
{
    struct host_load *loads = host_loads_of(summary);
    size_t count = loads ? summary->host_count : 0;
    uint32_t least = UINT32_MAX, most = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        least = loads[i].ranks < least ? loads[i].ranks : least;
        most = loads[i].ranks > most ? loads[i].ranks : most;
    }
    if (count == 1)
        load_text(text, bytes, &summary->hosts[0], &loads[0], true);
    else if (count == 2) {
        int used = snprintf(text, bytes, "2 hosts: ");
        used += load_text(text + used, bytes - (size_t)used, &summary->hosts[0], &loads[0], false);
        used += snprintf(text + used, bytes - (size_t)used, ", ");
        load_text(text + used, bytes - (size_t)used, &summary->hosts[1], &loads[1], false);
    } else if (count > 2) {
        int used = snprintf(text, bytes, "%zu hosts (%.30s ... %.30s), %u", count, summary->hosts[0].name,
                            summary->hosts[count - 1].name, least);
        used += most > least ? snprintf(text + used, bytes - (size_t)used, " to %u", most) : 0;
        snprintf(text + used, bytes - (size_t)used, " on each");
    }
    free(loads);
}

void summary_missing_print(const struct summary *summary, FILE *out)
{
    char ranks[SUMMARY_MISSING_BYTES];
    if (!summary_missing(summary, ranks))
        return;
    bool several = strpbrk(ranks, ",-") != NULL;
    fprintf(out, "  !          rank%s %s %s missing: not recorded, or not collected from another host\n",
            several ? "s" : "", ranks, several ? "are" : "is");
}

static json_t *optional_text_json(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

static json_t *ns_json(uint64_t ns)
{
    return ns ? json_integer((json_int_t)ns) : json_null();
}

/* As in the text: if a number has no name, only the number is shown. */
static json_t *user_json(const struct summary_origin *origin)
{
    char name[USER_BYTES];
    if (!origin->told)
        return json_null();
    user_name(name, origin->uid);
    return json_string(origin->user[0] ? origin->user : name);
}

json_t *summary_origin_json(const struct summary *summary)
{
    const struct summary_origin *origin = &summary->origin;
    if (!summary->row_count)
        return json_null();
    json_t *hosts = JSON_LIST(i, summary->host_count, json_string(summary->hosts[i].name));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "command", optional_text_json(origin->command),
                     "directory", optional_text_json(origin->directory), "user", user_json(origin), "uid",
                     origin->told && origin->uid != ORIGIN_UID_HIDDEN ? json_integer(origin->uid) : json_null(),
                     "scheduler_job", optional_text_json(origin->scheduler_job), "label",
                     optional_text_json(origin->label), "begin_ns", ns_json(origin->begin_ns), "end_ns",
                     ns_json(origin->end_ns), "hosts", hosts);
}

/* ---- about ------------------------------------------------------------------------------------------------------- */

/* Words of a command line. A word with blanks is in quotes, as the recorder wrote it (origin.c). */
static json_t *words_json(const char *command)
{
    char word[ORIGIN_COMMAND_BYTES];
    json_t *words = json_array();
    while (*command) {
        char end = *command == '\'' ? '\'' : ' ';
        command += end == '\'';
        size_t bytes = strcspn(command, end == ' ' ? " " : "'");
        while (end == '\'' && command[bytes] && command[bytes + 1] && command[bytes + 1] != ' ') /* a quote in it */
            bytes += 1 + strcspn(command + bytes + 1, "'");
        snprintf(word, sizeof word, "%.*s", (int)bytes, command);
        json_array_append_new(words, text_json(word));
        command += bytes;
        command += end == '\'' && *command == '\'';
        command += *command == ' ';
    }
    return words;
}

/* The recorder joins the name of the scheduler and the number of the job with a blank. */
static json_t *scheduler_json(const char *job)
{
    const char *blank = strchr(job, ' ');
    if (!blank)
        return json_null();
    return json_pack("{s:o, s:o}", "name", json_stringn(job, (size_t)(blank - job)), "id", text_json(blank + 1));
}

static json_t *loads_json(const struct summary *summary)
{
    struct host_load *loads = host_loads_of(summary);
    json_t *hosts =
        JSON_LIST(i, loads ? summary->host_count : 0,
                  json_pack("{s:o, s:i, s:o}", "name", text_json(summary->hosts[i].name), "ranks", (int)loads[i].ranks,
                            "processors", loads[i].processors ? json_integer(loads[i].processors) : json_null()));
    free(loads);
    return hosts;
}

json_t *summary_about_json(const struct summary *summary)
{
    const struct summary_origin *origin = &summary->origin;
    char recorder[32];
    if (!summary->row_count)
        return json_null();
    bool known = recorder_text(recorder, origin);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "recorder", known ? json_string(recorder) : json_null(),
                     "command", origin->command[0] ? words_json(origin->command) : json_null(), "start",
                     instant_json(origin->begin_ns), "user", user_json(origin), "hosts", loads_json(summary),
                     "scheduler", scheduler_json(origin->scheduler_job));
}

/* The number of ranks is from a file, and any. So many of them are not shown one by one. */
json_t *summary_missing_json(const struct summary *summary)
{
    enum { SINGLE_MOST = 1000 };
    const struct missing_ranks begin = {.last = -1};
    int64_t count = 0;
    char text[48];
    if (!summary->row_count)
        return json_null();
    json_t *list = json_array();
    for (struct missing_ranks missing = begin; summary_missing_next(summary, &missing);)
        count += missing.last - missing.first + 1;
    for (struct missing_ranks missing = begin; summary_missing_next(summary, &missing);) {
        snprintf(text, sizeof text, "%" PRId64 "-%" PRId64, missing.first, missing.last);
        bool range = count > SINGLE_MOST && missing.last > missing.first;
        if (range)
            json_array_append_new(list, json_string(text));
        for (int64_t rank = missing.first; !range && rank <= missing.last; rank++)
            json_array_append_new(list, json_integer(rank));
    }
    return list;
}
