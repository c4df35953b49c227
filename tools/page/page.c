#include "page/page.h"

#include "base/array.h"
#include "format/label.h"
#include "base/outputfile.h"
#include "placement/placement.h"
#include "waiting/postmortem.h"
#include "report/summary_json.h"

#include <err.h>
#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_VERSION = 3 };

json_t *page_unknown(const char *why)
{
    return json_pack("{s:s}", "unknown", why);
}

static json_t *unknown_unless_traced(const char *why)
{
    return json_pack("{s:s, s:s}", "unknown", why, "record", "--trace");
}

json_t *page_unknown_ranks(void)
{
    return page_unknown("none of the selected ranks is in this job");
}

json_t *page_unknown_files(const struct run_job *job)
{
    if (job->part && !job->part->found)
        return page_unknown_ranks();
    return job->file_count ? page_unknown("MPI_Init returned in none of the processes with files")
                           : unknown_unless_traced("this run kept only its summary");
}

json_t *page_unknown_trace(const struct run_job *job)
{
    return unknown_unless_traced(job->file_count ? "this run has no trace" : "this run kept only its summary");
}

json_t *page_counts(const uint64_t *list, size_t count, size_t step)
{
    return JSON_LIST(i, count, count_json(list[i * step]));
}

/* ---- parts that are there already -------------------------------------------------------------------------------- */

/* Returns the sort key of a list entry: a number of the object itself, or of its "time". */
static json_int_t entry_amount(const json_t *entry, const char *key)
{
    const json_t *time = json_object_get(entry, "time");
    return json_integer_value(json_object_get(time ? time : entry, key));
}

static const char *sorted_by; /* qsort has no place for it */

static int page_entry_order(const void *one, const void *other)
{
    json_int_t a = entry_amount(*(json_t *const *)one, sorted_by), b = entry_amount(*(json_t *const *)other, sorted_by);
    return ORDER(b, a);
}

int page_list_cut(json_t *object, const char *name, const char *key, size_t most)
{
    json_t *list = json_object_get(object, name), *kept = json_array();
    size_t count = json_array_size(list);
    char left_out[64];
    json_t **sorted = count ? calloc(count, sizeof(json_t *)) : NULL;
    if (!kept || (count && !sorted)) {
        json_decref(kept);
        return -1;
    }
    if (count <= most) {
        json_decref(kept);
        free(sorted);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = json_array_get(list, i);
    sorted_by = key;
    qsort(sorted, count, sizeof *sorted, page_entry_order);
    for (size_t i = 0; i < most; i++)
        json_array_append(kept, sorted[i]);
    free(sorted);
    json_object_set_new(object, name, kept);
    snprintf(left_out, sizeof left_out, "%s_left_out", name);
    json_object_set_new(object, left_out, count_json(count - most));
    return 0;
}

const struct selection *page_selection(const struct run_job *job)
{
    static const struct selection all;
    return job->part ? job->part->selection : &all;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

/* The states of the processes that did not reach their end, in the words of --crash. null: all did, as far as known. */
enum { UNENDED_LINES_MOST = 64 };
static json_t *job_unended(const struct run_job *job)
{
    if (job->part) /* a call that did not return is in no part */
        return json_null();
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    size_t count = out ? postmortem_print(job, UNENDED_LINES_MOST, out) : 0;
    bool good = out && fclose(out) == 0;
    json_t *told = count && good ? json_string(text) : json_null();
    free(text);
    return told ? told : json_null();
}

static json_t *job_document(const struct run_job *job)
{
    static const struct {
        const char *name;
        json_t *(*part)(const struct run_job *);
    } parts[] = {{"unended", job_unended}, {"places", page_site_places}, {"ranks", page_ranks},
                 {"matrix", page_matrix},  {"timeline", page_timeline},  {"analysis", page_analysis},
                 {"profile", page_profile}};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (json_object_set_new(object, parts[i].name, parts[i].part(job)) != 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

static json_t *document_make(const struct run_dir *dir)
{
    char name[256];
    const char *end = dir->path + strlen(dir->path), *begin;
    while (end > dir->path + 1 && end[-1] == '/')
        end--;
    for (begin = end; begin > dir->path && begin[-1] != '/';)
        begin--;
    label_clean(name, sizeof name, begin, (size_t)(end - begin));
    json_t *jobs = json_array();
    for (size_t i = 0; i < dir->job_count; i++)
        placement_fill(&dir->jobs[i]);
    for (size_t i = 0; i < dir->job_count; i++)
        if (json_array_append_new(jobs, job_document(&dir->jobs[i])) != 0) {
            json_decref(jobs);
            return NULL;
        }
    return json_pack("{s:i, s:s, s:s, s:o, s:o}", "version", PAGE_VERSION, "mpit", MPIT_VERSION, "run", name, "summary",
                     summary_json(dir), "jobs", jobs);
}

/* In JSON these characters occur only in strings. There each has an escaped form without a meaning in HTML. */
static int put_escaped(const char *bytes, size_t count, void *out)
{
    for (size_t i = 0, begin = 0; i <= count; i++) {
        bool special = i < count && (bytes[i] == '<' || bytes[i] == '>' || bytes[i] == '&');
        if (i < count && !special)
            continue;
        if (fwrite(bytes + begin, 1, i - begin, out) != i - begin)
            return -1;
        if (special && fprintf(out, "\\u%04x", (unsigned)bytes[i]) < 0)
            return -1;
        begin = i + 1;
    }
    return 0;
}

static int page_put(json_t *document, FILE *out)
{
    size_t head = (size_t)(page_template[1] - page_template[0]), tail = (size_t)(page_template[3] - page_template[2]);
    return fwrite(page_template[0], 1, head, out) != head ||
           json_dump_callback(document, put_escaped, out, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12)) !=
               0 ||
           fwrite(page_template[2], 1, tail, out) != tail;
}

/* Returns NULL after a message. */
static FILE *page_open(const char *target)
{
    char error[OUTPUT_ERROR_BYTES] = "";
    if (!page_template[0]) {
        warnx("--html: this mpit was built without the plotting library D3; install it (Debian: node-d3), then "
              "configure and build mpit again");
        return NULL;
    }
    FILE *out = output_file_open(target, error);
    if (!out)
        warnx("%s", error);
    return out;
}

/* Writes and releases the document, and closes the page. */
static int page_finish(FILE *out, json_t *document, const char *target)
{
    char error[OUTPUT_ERROR_BYTES] = "";
    if (!document)
        snprintf(error, sizeof error, "out of memory for the page");
    int failed = !document || page_put(document, out) != 0;
    if (document && failed && ferror(out)) /* its reason is known only now */
        snprintf(error, sizeof error, "%.300s cannot be written: %s", out == stdout ? "standard output" : target,
                 strerror(errno));
    json_decref(document);
    if (output_file_close(out, target, failed, error) != 0) {
        warnx("%s", error[0] ? error : "the page cannot be written");
        if (out == stdout) { /* reported here, and not again at the end */
            __fpurge(stdout);
            clearerr(stdout);
        }
        return 1;
    }
    return 0;
}

int page_write(const struct run_dir *dir, const char *target)
{
    FILE *out = page_open(target);
    return out ? page_finish(out, document_make(dir), target) : 1;
}

int page_write_document(json_t *document, const char *target)
{
    FILE *out = page_open(target);
    if (out)
        return page_finish(out, document, target);
    json_decref(document);
    return 1;
}
