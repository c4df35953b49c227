#include "job/valuelist.h"

#include "figures/figures.h"
#include "format/label.h"
#include "job/rundir.h"

#include <err.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

/* A damaged file may claim more. */
enum { VALUES_MOST = 1 << 16 };

static const char *slot_name(const struct run_reader *run, enum variable_names names, size_t slot, char number[24])
{
    const char *name =
        names == NAMES_CALL ? run_reader_call_name(run, (unsigned)slot) : variable_slot_name(names, slot);
    snprintf(number, 24, "%zu", slot);
    return name && names != NAMES_NONE ? name : number;
}

/* One value becomes a number. Several values become an object with the values that are not 0. */
static json_t *values_json(const struct run_reader *run, const struct variable_record *record, const uint64_t *values,
                           size_t count)
{
    const struct variable *known = variable_known(record);
    enum variable_names names = known ? known->names : NAMES_NONE;
    char number[24];
    if (count == 1)
        return json_integer((json_int_t)values[0]);
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++)
        if (values[i])
            json_object_set_new(object, slot_name(run, names, i, number), json_integer((json_int_t)values[i]));
    return object;
}

static void variable_list(json_t *list, const struct run_reader *run, const struct variable_record *record,
                          const struct figures_comm *comm)
{
    static uint64_t values[VALUES_MOST];
    char name[VARIABLE_NAME_BYTES], where[COMM_NAME_BYTES], job[24];
    size_t count = figures_of_record(run, record, comm, values, VALUES_MOST);
    if (count == 0 || record->combine == COMBINE_NONE)
        return;
    bool none = record->combine == COMBINE_LOW && values[0] == LOW_NEUTRAL;
    snprintf(name, sizeof name, "%s", record->name);
    text_tidy(name, sizeof name);
    snprintf(job, sizeof job, "%016" PRIx64, run->header.job);
    if (comm)
        label_clean(where, sizeof where, comm->name, COMM_NAME_BYTES);
    json_t *shown = none ? json_null() : values_json(run, record, values, count < VALUES_MOST ? count : VALUES_MOST);
    json_array_append_new(list, json_pack("{s:s, s:i, s:s*, s:s, s:s, s:s, s:o}", "job", job, "rank",
                                          (int)run_rank(&run->header), "communicator", comm ? where : NULL, "name",
                                          name, "class", variable_class_name(record->class), "unit",
                                          strcmp(record->unit, "ticks") == 0 ? "ns" : record->unit, "values", shown));
}

void value_list_add(json_t *list, const struct run_reader *run, const char *pattern)
{
    for (size_t i = 0; i < run->variable_count; i++) {
        const struct variable_record *record = &run->variables[i];
        uint32_t at = 0;
        struct figures_comm comm;
        if (pattern && fnmatch(pattern, record->name, 0) != 0)
            continue;
        if (!record->bound)
            variable_list(list, run, record, NULL);
        while (record->bound && figures_comm_next(&(struct figures){run}, &at, &comm))
            variable_list(list, run, record, &comm);
    }
}

json_t *value_list(const char *path, const char *pattern, char error[512])
{
    struct run_dir dir;
    json_t *list = NULL;
    int opened = run_dir_open(&dir, path, error);
    size_t files = 0;
    for (size_t i = 0; i < dir.problem_count; i++)
        warnx("%s", dir.problems[i]);
    for (size_t i = 0; opened == 0 && i < dir.job_count; i++)
        files += dir.jobs[i].file_count;
    if (opened == 0 && !files)
        snprintf(error, 512,
                 "%s has only the summary of its job, which mpit-dump shows. Processes keep their files with a trace, "
                 "or with MPIT_REDUCE=0",
                 path);
    else if (opened == 0)
        list = json_array();
    for (size_t i = 0; list && i < dir.job_count; i++)
        for (size_t k = 0; k < dir.jobs[i].file_count; k++) {
            const struct run_reader *run = run_job_file(&dir.jobs[i], k);
            value_list_add(list, run, pattern);
        }
    run_dir_close(&dir);
    return list;
}

void value_entry_print(const json_t *entry, FILE *out)
{
    const json_t *values = json_object_get(entry, "values"), *value;
    const char *comm = json_string_value(json_object_get(entry, "communicator")), *slot;
    fprintf(out, "%5" JSON_INTEGER_FORMAT "  %-28s %-13s %-6s %s%s", json_integer_value(json_object_get(entry, "rank")),
            json_string_value(json_object_get(entry, "name")), json_string_value(json_object_get(entry, "class")),
            json_string_value(json_object_get(entry, "unit")), comm ? comm : "", comm ? ": " : "");
    if (json_is_integer(values))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(values));
    else if (json_is_null(values) || json_object_size(values) == 0)
        fputs(json_is_null(values) ? "none" : "0", out);
    const char *between = "";
    json_object_foreach((json_t *)(uintptr_t)values, slot, value)
    {
        fprintf(out, "%s%s %" JSON_INTEGER_FORMAT, between, slot, json_integer_value(value));
        between = ", ";
    }
    fputc('\n', out);
}

void value_list_print(const json_t *list, FILE *out)
{
    const char *job = "";
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *of = json_string_value(json_object_get(entry, "job"));
        if (strcmp(of, job) != 0)
            fprintf(out, "%sjob %s\n%5s  %-28s %-13s %-6s %s\n", job[0] ? "\n" : "", of, "rank", "variable", "class",
                    "unit", "value");
        job = of;
        value_entry_print(entry, out);
    }
}
