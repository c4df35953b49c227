#include "jobs/usual.h"

#include "base/units.h"
#include "job/jsonvalue.h"
#include "jobs/joblist.h"

#include <math.h>

enum figure_form { FORM_SECONDS, FORM_SHARE, FORM_COUNT, FORM_BYTES };
static const struct {
    enum job_column column;
    const char *title;
    enum figure_form form;
} figures[USUAL_FIGURES] = {
    {JOB_SECONDS, "run time", FORM_SECONDS},
    {JOB_MPI_SHARE, "share in MPI", FORM_SHARE},
    {JOB_PARALLEL, "efficiency", FORM_SHARE},
    {JOB_BALANCE, "load balance", FORM_SHARE},
    {JOB_COMMUNICATION, "communication", FORM_SHARE},
    {JOB_MESSAGES, "messages", FORM_COUNT},
    {JOB_BYTES, "bytes sent", FORM_BYTES},
};

/* A figure that differs less is not unusual, however equal the others are. */
static const double noise = 0.05;

/* Jobs that can be compared with the one whose source is the parameter. */
#define OTHERS                                                                                                         \
    "FROM jobs AS other, jobs AS one WHERE one.source = ?1 AND other.source <> one.source AND other.program = "        \
    "one.program AND other.size = one.size AND other.ended_badly = 0 AND other.ranks = other.size"

static const char *source_of(const struct usual *usual)
{
    return (const char *)sqlite3_column_text(usual->job, JOB_SOURCE);
}

/* Every other value, sorted, gives median and range. */
static void figure_find(struct usual_figure *figure, const struct usual *usual, struct job_table *table)
{
    char sql[512];
    const char *name = job_column_names[figure->column];
    snprintf(sql, sizeof sql, "SELECT other.%s, count(*) OVER () " OTHERS " AND other.%s IS NOT NULL ORDER BY 1", name,
             name);
    sqlite3_stmt *ask = job_table_ask(table, sql, NULL);
    sqlite3_bind_text(ask, 1, source_of(usual), -1, SQLITE_TRANSIENT);
    double sum = 0;
    for (size_t i = 0; job_row_next(ask); i++) {
        double value = sqlite3_column_double(ask, 0);
        figure->others = (size_t)sqlite3_column_int64(ask, 1);
        figure->least = i == 0 ? value : figure->least;
        figure->most = value;
        if (i == (figure->others - 1) / 2 || i == figure->others / 2)
            sum += figure->others % 2 ? 2 * value : value;
    }
    sqlite3_finalize(ask);
    figure->median = sum / 2;
    figure->known = figure->others >= USUAL_LEAST && sqlite3_column_type(usual->job, figure->column) != SQLITE_NULL;
    figure->value = sqlite3_column_double(usual->job, figure->column);
    bool outside = figure->value < figure->least || figure->value > figure->most;
    figure->unusual = figure->known && outside && fabs(figure->value - figure->median) > noise * fabs(figure->median);
}

bool usual_find(struct usual *usual, struct job_table *table, const char *name, char error[128])
{
    *usual = (struct usual){.job = job_row_find(table, name, error)};
    if (!usual->job)
        return false;
    sqlite3_stmt *ask = job_table_ask(table, "SELECT count(*) " OTHERS, NULL);
    sqlite3_bind_text(ask, 1, source_of(usual), -1, SQLITE_TRANSIENT);
    usual->others = job_row_next(ask) ? (size_t)sqlite3_column_int64(ask, 0) : 0;
    sqlite3_finalize(ask);
    for (size_t i = 0; i < USUAL_FIGURES; i++) {
        usual->figures[i].column = figures[i].column;
        figure_find(&usual->figures[i], usual, table);
    }
    return true;
}

void usual_release(struct usual *usual)
{
    sqlite3_finalize(usual->job);
    usual->job = NULL;
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

static const char *figure_text(char text[UNIT_TEXT_BYTES], enum figure_form form, double value)
{
    switch (form) {
    case FORM_SECONDS:
        return text_of_seconds(text, value);
    case FORM_SHARE:
        return text_of_share(text, value, 1);
    case FORM_COUNT:
        return text_of_count(text, whole_of(value));
    default:
        return text_of_bytes(text, whole_of(value));
    }
}

static void figure_print(const struct usual_figure *figure, size_t i, FILE *out)
{
    char value[UNIT_TEXT_BYTES], median[UNIT_TEXT_BYTES], least[UNIT_TEXT_BYTES], most[UNIT_TEXT_BYTES];
    enum figure_form form = figures[i].form;
    if (!figure->known)
        return;
    fprintf(out, "  %-14s %10s   usual %10s  (%s to %s)%s\n", figures[i].title, figure_text(value, form, figure->value),
            figure_text(median, form, figure->median), figure_text(least, form, figure->least),
            figure_text(most, form, figure->most),
            !figure->unusual                 ? ""
            : figure->value > figure->median ? "   higher than in all of them"
                                             : "   lower than in all of them");
}

void usual_print(const struct usual *usual, FILE *out)
{
    size_t unusual = 0;
    job_row_title_print(usual->job, out);
    if (usual->others < USUAL_LEAST) {
        fprintf(out,
                "  %zu other jobs of this program and size ended well. At least %d are needed to tell the usual.\n",
                usual->others, USUAL_LEAST);
        return;
    }
    for (size_t i = 0; i < USUAL_FIGURES; i++)
        unusual += usual->figures[i].unusual;
    fprintf(out, "  compared with %zu other jobs of this program and size: %s\n", usual->others,
            unusual ? "it differs" : "nothing is unusual");
    for (size_t i = 0; i < USUAL_FIGURES; i++)
        figure_print(&usual->figures[i], i, out);
    if (sqlite3_column_int64(usual->job, JOB_ENDED_BADLY))
        fprintf(out, "  Some of its processes died. mpit-dump --crash says where.\n");
}

json_t *usual_json(const struct usual *usual)
{
    json_t *list = json_object();
    for (size_t i = 0; i < USUAL_FIGURES; i++) {
        const struct usual_figure *is = &usual->figures[i];
        json_object_set_new(list, job_column_names[is->column],
                            is->known
                                ? json_pack("{s:o, s:o, s:o, s:o, s:i, s:b}", "value", figure_json(is->value), "median",
                                            figure_json(is->median), "min", figure_json(is->least), "max",
                                            figure_json(is->most), "jobs", (int)is->others, "unusual", (int)is->unusual)
                                : json_null());
    }
    return json_pack("{s:o, s:i, s:o}", "job", job_json(usual->job), "others", (int)usual->others, "figures", list);
}
