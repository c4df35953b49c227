#include "exporter/openmetrics.h"

#include "base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- escapes ----------------------------------------------------------------------------------------------------- */

static void escaped_add(struct textbuffer *text, const char *value)
{
    for (const unsigned char *at = (const unsigned char *)value; *at;) {
        unsigned number;
        size_t bytes = text_character((const char *)at, SIZE_MAX, &number);
        if (*at == '\n')
            text_put(text, "\\n");
        else if (*at == '\\' || *at == '"')
            text_put_bytes(text, *at == '"' ? "\\\"" : "\\\\", 2);
        else if (bytes)
            text_put_bytes(text, at, bytes);
        else
            text_put(text, "\xef\xbf\xbd");
        at += bytes ? bytes : 1;
    }
}

void labels_add(struct textbuffer *labels, const char *name, const char *value)
{
    if (labels->used)
        text_put(labels, ",");
    text_put(labels, name);
    text_put(labels, "=\"");
    escaped_add(labels, value);
    text_put(labels, "\"");
}

/* ---- families ---------------------------------------------------------------------------------------------------- */

static struct metric_family *family_make(struct exposition *exposition, const char *name, const char *help)
{
    if (!ARRAY_GROWN(exposition->families, exposition->count))
        return NULL;
    struct metric_family *family = calloc(1, sizeof *family);
    if (!family || !(family->name = strdup(name)) || !(family->help = strdup(help))) {
        if (family)
            free(family->name);
        free(family);
        return NULL;
    }
    exposition->families[exposition->count++] = family;
    return family;
}

struct metric_family *exposition_family(struct exposition *exposition, const char *name, enum metric_type type,
                                        const char *unit, const char *help)
{
    for (size_t i = exposition->count; i > 0; i--)
        if (strcmp(exposition->families[i - 1]->name, name) == 0)
            return exposition->families[i - 1];
    struct metric_family *family = family_make(exposition, name, help);
    exposition->failed |= !family;
    if (family) {
        family->type = type;
        family->unit = unit;
    }
    return family;
}

/* Returns the suffix after the family's name, for samples of that kind. */
static const char *type_suffix(enum metric_type type)
{
    return type == METRIC_COUNTER ? "_total" : "";
}

bool exposition_write(const struct exposition *exposition, struct textbuffer *to)
{
    static const char *const types[] = {
        [METRIC_GAUGE] = "gauge", [METRIC_COUNTER] = "counter", [METRIC_HISTOGRAM] = "histogram"};
    for (size_t i = 0; i < exposition->count; i++) {
        const struct metric_family *family = exposition->families[i];
        if (!family->samples && !family->text.failed)
            continue;
        text_format(to, "# TYPE %s %s\n", family->name, types[family->type]);
        if (family->unit[0])
            text_format(to, "# UNIT %s %s\n", family->name, family->unit);
        text_format(to, "# HELP %s ", family->name);
        escaped_add(to, family->help);
        text_put(to, "\n");
        text_put_bytes(to, family->text.bytes ? family->text.bytes : "", family->text.used);
        to->failed |= family->text.failed;
    }
    text_put(to, "# EOF\n");
    return !to->failed && !exposition->failed;
}

void exposition_free(struct exposition *exposition)
{
    for (size_t i = 0; i < exposition->count; i++) {
        struct metric_family *family = exposition->families[i];
        free(family->name);
        free(family->help);
        text_free(&family->text);
        free(family);
    }
    free(exposition->families);
    *exposition = (struct exposition){0};
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* Writes the name and its labels. `more` is another finished label, or "". */
static struct textbuffer *sample_begin(struct metric_family *family, const char *suffix,
                                       const struct textbuffer *labels, const char *more)
{
    struct textbuffer *text = &family->text;
    size_t used = labels ? labels->used : 0;
    text_put(text, family->name);
    text_put(text, suffix);
    if (used || more[0]) {
        text_put(text, "{");
        if (used)
            text_put_bytes(text, labels->bytes, used);
        text_put(text, used && more[0] ? "," : "");
        text_put(text, more);
        text_put(text, "}");
    }
    text->failed |= labels && labels->failed;
    family->samples++;
    return text;
}

void family_add(struct metric_family *family, const struct textbuffer *labels, uint64_t value)
{
    text_format(sample_begin(family, type_suffix(family->type), labels, ""), " %" PRIu64 "\n", value);
}

void family_add_seconds(struct metric_family *family, const struct textbuffer *labels, uint64_t ns)
{
    text_format(sample_begin(family, type_suffix(family->type), labels, ""), " %" PRIu64 ".%09" PRIu64 "\n",
                ns / 1000000000, ns % 1000000000);
}

size_t histogram_samples(const struct histogram *histogram)
{
    return histogram->edge_count + (histogram->has_sum ? 2 : 0);
}

/* OpenMetrics requires both _sum and _count, or neither. */
void family_add_histogram(struct metric_family *family, const struct textbuffer *labels,
                          const struct histogram *histogram)
{
    uint64_t sofar = 0;
    size_t next = 0;
    for (size_t edge = 0; edge < histogram->edge_count; edge++) {
        char le[32] = "le=\"+Inf\"";
        for (; next <= histogram->edges[edge] && next < histogram->count; next++)
            sofar += histogram->counts[next];
        if (edge + 1 < histogram->edge_count)
            snprintf(le, sizeof le, "le=\"%" PRIu64 ".0\"", histogram->limits[histogram->edges[edge]]);
        text_format(sample_begin(family, "_bucket", labels, le), " %" PRIu64 "\n", sofar);
    }
    if (!histogram->has_sum)
        return;
    text_format(sample_begin(family, "_count", labels, ""), " %" PRIu64 "\n", sofar);
    text_format(sample_begin(family, "_sum", labels, ""), " %" PRIu64 "\n", histogram->sum);
}
