/*
 * An analysis as text and as JSON (share/doc/analyze.md).
 */
#ifndef MPIT_TOOLS_ANALYSIS_REPORT_H
#define MPIT_TOOLS_ANALYSIS_REPORT_H

#include "analysis/analysis.h"

#include <jansson.h>
#include <stdio.h>

/* Sums over one of the tables of waits, by rank. */
struct rank_sums {
    uint64_t waited_ns, caused_ns; /* all patterns */
    uint64_t path_ns, path_computing_ns;
};

/* Returns sums by rank, which the caller frees. Returns NULL without memory. */
struct rank_sums *analysis_ranks(const struct analysis *analysis);

/* Returns 0, or -1 without memory. */
int analysis_print(const struct analysis *analysis, FILE *out);
/* NULL without memory. `brief`: without the parts that grow with pairs of ranks, with places, or with ranks times
 * functions. "waits" are sums over all ranks then. "causes", "callsites", "wait_sites", "segments" and "matrix" are
 * missing. */
json_t *analysis_json(const struct analysis *analysis, bool brief);

/* analysis_places.c: where in the program the waits and the segments are. The printing functions return 0, or -1 without
 * memory. Without call paths they print nothing, and the lists are empty. */
int wait_places_print(const struct analysis *analysis, FILE *out);
int segments_print(const struct analysis *analysis, FILE *out);
json_t *analysis_sites_json(const struct analysis *analysis);
json_t *wait_places_json(const struct analysis *analysis);
json_t *segments_json(const struct analysis *analysis);
/* `from` and `to` become a part of it. */
json_t *segment_json(const struct analysis *analysis, const struct segment_figures *segment, json_t *from, json_t *to);
/* Returns whether a rank's time in a segment explains the wait after it. It does not if the time is short, or below the
 * mean of the ranks. Then the awaited rank had waited itself, or was in MPI. */
bool segment_explains(uint64_t own_ns, uint64_t waited_ns, const struct segment_figures *segment);
/* The function and line that were sampled most while others waited (sampled.h). null: nothing was sampled. */
json_t *sampled_json(const struct analysis *analysis, uint64_t first, uint64_t second);

#endif
