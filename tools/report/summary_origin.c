#define _GNU_SOURCE
#include "report/summary_origin.h"

#include "base/username.h"

#include <inttypes.h>
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

void summary_origin_print(const struct summary *summary, FILE *out)
{
    const struct summary_origin *origin = &summary->origin;
    char begin[TIME_BYTES], end[TIME_BYTES], hosts[HOSTS_BYTES], user[USER_BYTES];
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
    summary_hosts(summary, hosts, sizeof hosts);
    fprintf(out, "  hosts      %s\n", hosts);
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
    json_t *hosts = json_array();
    for (size_t i = 0; i < summary->host_count; i++)
        json_array_append_new(hosts, json_string(summary->hosts[i].name));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "command", optional_text_json(origin->command),
                     "directory", optional_text_json(origin->directory), "user", user_json(origin), "uid",
                     origin->told ? json_integer(origin->uid) : json_null(), "scheduler_job",
                     optional_text_json(origin->scheduler_job), "begin_ns", ns_json(origin->begin_ns), "end_ns",
                     ns_json(origin->end_ns), "hosts", hosts);
}

json_t *summary_missing_json(const struct summary *summary)
{
    if (!summary->row_count)
        return json_null();
    json_t *missing = json_array();
    size_t at = 0;
    for (int32_t rank = 0; rank < (int32_t)summary->world_size; rank++) {
        while (at < summary->row_count && summary->rows[at].rank < rank)
            at++;
        if (at == summary->row_count || summary->rows[at].rank != rank)
            json_array_append_new(missing, json_integer(rank));
    }
    return missing;
}
