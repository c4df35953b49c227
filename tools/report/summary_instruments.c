#define _GNU_SOURCE
#include "report/summary_instruments.h"

#include "base/units.h"
#include "figures/variables.h"
#include "job/jsonvalue.h"

#include <mpit/instrument_interface.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { NAME_COLUMNS = 40, TOP_LINES = 64 };

/* Classes whose values can be added up over all ranks. */
static bool can_be_summed(const struct summary_instrument *line)
{
    return line->class == VARIABLE_COUNTER || line->class == VARIABLE_AGGREGATE || line->class == VARIABLE_TIMER;
}

static const char *name_text(char text[320], const struct summary_instrument *line)
{
    char place[ITEM_NAME_BYTES + 16] = "";
    if (line->array && line->item[0])
        snprintf(place, sizeof place, "[%s]", line->item);
    else if (line->array)
        snprintf(place, sizeof place, "[%" PRIu32 "]", line->element);
    snprintf(text, 320, "%s%s%s%s", line->name, place, line->comm[0] ? " " : "", line->comm);
    return text;
}

/* Formats nanoseconds and seconds as times, counts with commas, and all other values unchanged. */
static const char *number_text(char text[UNIT_TEXT_BYTES], const struct summary_instrument *line, double number)
{
    if (strcmp(line->unit, "ns") == 0)
        return text_of_seconds(text, number * 1e-9);
    if (strcmp(line->unit, "s") == 0)
        return text_of_seconds(text, number);
    if (line->type != MPIT_TYPE_DOUBLE && number == floor(number) && number >= 0 && number < 1e15)
        return text_of_count(text, (uint64_t)number);
    snprintf(text, UNIT_TEXT_BYTES, "%.6g", number);
    return text;
}

static const char *sum_text(char text[UNIT_TEXT_BYTES], const struct summary_instrument *line)
{
    if (line->type != MPIT_TYPE_DOUBLE && !line->unit[0])
        return text_of_count(text, line->sum);
    return number_text(text, line, line->spread.sum);
}

static const char *extreme_text(char text[UNIT_TEXT_BYTES * 2], const struct summary_instrument *line, double number,
                                int32_t rank)
{
    char figure[UNIT_TEXT_BYTES];
    snprintf(text, UNIT_TEXT_BYTES * 2, "%s (%" PRId32 ")", number_text(figure, line, number), rank);
    return text;
}

/* The first of a region's two lines is its COUNTER, and the next its TIMER. */
static void regions_print(const struct summary *summary, FILE *out)
{
    char name[320], count[UNIT_TEXT_BYTES], time[UNIT_TEXT_BYTES], mean[UNIT_TEXT_BYTES];
    char least[UNIT_TEXT_BYTES * 2], most[UNIT_TEXT_BYTES * 2];
    bool titled = false;
    for (size_t i = 0; i < summary->instrument_count; i++) {
        const struct summary_instrument *times = &summary->instruments[i];
        if (!times->region || times->class != VARIABLE_COUNTER || strcmp(times->component, PHASE_COMPONENT) == 0)
            continue;
        for (size_t k = i + 1; k < summary->instrument_count; k++) {
            const struct summary_instrument *timer = &summary->instruments[k];
            if (strcmp(timer->name, times->name) != 0)
                break;
            if (timer->class != VARIABLE_TIMER || strcmp(timer->comm, times->comm) != 0)
                continue;
            if (!titled)
                fprintf(out,
                        "\nRegions of the program and its libraries, sums over all ranks\n  %-*s %12s %10s %10s %16s "
                        "%16s\n",
                        NAME_COLUMNS, "", "times", "time", "mean", "least (rank)", "most (rank)");
            titled = true;
            double seconds = timer->spread.sum * 1e-9;
            fprintf(out, "  %-*.*s %12s %10s %10s %16s %16s\n", NAME_COLUMNS, NAME_COLUMNS, name_text(name, times),
                    text_of_count(count, times->sum), text_of_seconds(time, seconds),
                    text_of_seconds(mean, times->sum ? seconds / (double)times->sum : 0),
                    extreme_text(least, timer, timer->spread.min, timer->spread.min_rank),
                    extreme_text(most, timer, timer->spread.max, timer->spread.max_rank));
        }
    }
}

static void variable_print(const struct summary_instrument *line, FILE *out)
{
    char name[320], sum[UNIT_TEXT_BYTES], least[UNIT_TEXT_BYTES * 2], most[UNIT_TEXT_BYTES * 2];
    fprintf(out, "  %-*.*s %-13s ", NAME_COLUMNS, NAME_COLUMNS, name_text(name, line),
            variable_class_name(line->class));
    const struct summary_spread *spread = &line->spread;
    if (line->class == VARIABLE_STATE) {
        char state[ITEM_NAME_BYTES + 16];
        snprintf(state, sizeof state, "%" PRId32 "%s%s", (int32_t)line->element, line->item[0] ? " " : "", line->item);
        fprintf(out, "%s rank%s in %s\n", text_of_count(sum, line->sum), line->sum == 1 ? "" : "s", state);
        return;
    }
    fprintf(out, "%14s %16s %16s\n",
            can_be_summed(line) ? sum_text(sum, line)
                                : number_text(sum, line, line->ranks ? spread->sum / line->ranks : 0),
            extreme_text(least, line, spread->min, spread->min_rank),
            extreme_text(most, line, spread->max, spread->max_rank));
}

void summary_instruments_print(const struct summary *summary, FILE *out)
{
    size_t shown = 0, more = 0;
    regions_print(summary, out);
    for (size_t i = 0; i < summary->instrument_count; i++) {
        const struct summary_instrument *line = &summary->instruments[i];
        if (line->region)
            continue;
        if (shown == TOP_LINES) {
            more++;
            continue;
        }
        if (!shown++)
            fprintf(out,
                    "\nVariables of the program and its libraries, sums over all ranks\n  %-*s %-13s %14s %16s %16s\n",
                    NAME_COLUMNS, "", "class", "sum or mean", "least (rank)", "most (rank)");
        variable_print(line, out);
    }
    if (more)
        fprintf(out, "  %zu others: mpit-dump --json shows them\n", more);
    if (summary->instruments_left_out)
        fprintf(out,
                "  %" PRIu64
                " values, regions and phases are left out: of large arrays, beyond the limit of %d, or over "
                "MPIT_SUMMARY_LIMIT_BYTES\n",
                summary->instruments_left_out, SUMMARY_INSTRUMENTS_MAX);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *instrument_figure_json(const struct summary_instrument *line, double figure)
{
    if (!isfinite(figure))
        return json_null();
    bool whole = line->type != MPIT_TYPE_DOUBLE && figure == floor(figure) && fabs(figure) < 9e15;
    return whole ? json_integer((json_int_t)figure) : json_real(figure);
}

static void text_set(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, text_json(text));
}

static json_t *instrument_json(const struct summary_instrument *line)
{
    json_t *json = json_object();
    text_set(json, "name", line->name);
    text_set(json, "class", variable_class_name(line->class));
    text_set(json, "component", line->component);
    json_object_set_new(json, "region", json_boolean(line->region));
    text_set(json, "communicator", line->comm[0] ? line->comm : NULL);
    if (line->array)
        json_object_set_new(json, "element", json_integer(line->element));
    if (line->class == VARIABLE_STATE)
        json_object_set_new(json, "state", json_integer((int32_t)line->element));
    if (line->item[0])
        text_set(json, "item", line->item);
    text_set(json, "unit", line->unit);
    json_object_set_new(json, "ranks", json_integer(line->ranks));
    if (line->class == VARIABLE_STATE)
        return json;
    const struct summary_spread *spread = &line->spread;
    if (can_be_summed(line) && line->type != MPIT_TYPE_DOUBLE)
        json_object_set_new(json, "sum", count_json(line->sum));
    else if (can_be_summed(line))
        json_object_set_new(json, "sum", instrument_figure_json(line, spread->sum));
    json_object_set_new(json, "mean", figure_json(spread->sum / (line->ranks ? line->ranks : 1)));
    json_object_set_new(json, "min", instrument_figure_json(line, spread->min));
    json_object_set_new(json, "max", instrument_figure_json(line, spread->max));
    json_object_set_new(json, "min_rank", json_integer(spread->min_rank));
    json_object_set_new(json, "max_rank", json_integer(spread->max_rank));
    return json;
}

json_t *summary_instruments_json(const struct summary *summary)
{
    return JSON_LIST(i, summary->instrument_count, instrument_json(&summary->instruments[i]));
}
