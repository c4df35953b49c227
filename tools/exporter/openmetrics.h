/*
 * Metrics as text, in OpenMetrics 1.0, for Prometheus and others.
 *
 *   exposition ── families[] ── text     the lines of its samples, in the order in which they came
 *
 * A family is one metric: a name, a type, a unit, and a sample for each set of labels. All samples of a family are
 * adjacent, no matter in which order they were added. The textfile collector of node_exporter reads the text, too. It
 * knows no types beside these three.
 *
 * Without memory the whole exposition fails, because a part of the metrics would be misleading.
 */
#ifndef MPIT_TOOLS_OPENMETRICS_H
#define MPIT_TOOLS_OPENMETRICS_H

#include "base/textbuffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM };

struct metric_family {
    char *name; /* without the suffix of its samples: _total, _bucket */
    char *help;
    const char *unit; /* "" or the end of the name, constant text */
    enum metric_type type;
    struct textbuffer text;
    size_t samples;
};

struct exposition {
    struct metric_family **families;
    size_t count;
    bool failed;
};

/* Returns the family of that name, and makes it if needed. Returns NULL without memory. unit: constant text. */
struct metric_family *exposition_family(struct exposition *exposition, const char *name, enum metric_type type,
                                        const char *unit, const char *help);
/* Writes all families that have a sample. Returns false without memory. */
bool exposition_write(const struct exposition *exposition, struct textbuffer *to);
void exposition_free(struct exposition *exposition);

/* Adds a label of a sample, as text: NAME="VALUE",NAME="VALUE". A value may have any bytes. Invalid UTF-8 becomes
 * U+FFFD.
 */
void labels_add(struct textbuffer *labels, const char *name, const char *value);

/* Adds a sample. That of a counter gets _total. labels: NULL for none. */
void family_add(struct metric_family *family, const struct textbuffer *labels, uint64_t value);
void family_add_seconds(struct metric_family *family, const struct textbuffer *labels, uint64_t ns);

/* A histogram: counts[i] observations that were at most limits[i] and over limits[i - 1]. The last has no limit. They
 * are exported cumulatively, and only for the indices in `buckets` (ascending, the last one is count - 1). */
struct histogram {
    const uint64_t *counts, *limits;
    size_t count;
    const unsigned *edges; /* indices in counts of the exported buckets */
    size_t edge_count;
    uint64_t sum;
    bool has_sum;
};
/* Returns the number of samples (lines) of a histogram. */
size_t histogram_samples(const struct histogram *histogram);
void family_add_histogram(struct metric_family *family, const struct textbuffer *labels,
                          const struct histogram *histogram);

#endif
