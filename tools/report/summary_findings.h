/* Findings as text and JSON. */
#ifndef MPIT_TOOLS_SUMMARY_FINDINGS_H
#define MPIT_TOOLS_SUMMARY_FINDINGS_H

#include "findings/findings.h"

#include <jansson.h>
#include <stdio.h>

enum { FINDINGS_SHOWN = 3 };

/* A list with a heading, at most `most`, with or without the advice. Leaves out notes, which have lines of their own.
 * Prints nothing if findings are not known, or ranks lacked processors. */
void summary_findings_print(const struct findings *findings, size_t most, bool advice, FILE *out);
/* A line for each note, and for a lack of processors. */
void finding_notes_print(const struct findings *findings, FILE *out);
/* {"function", "file", "line", "mpi"}: the place of a site. null: NULL, or not known */
json_t *finding_place_json(const struct summary *summary, const struct summary_site *site);
/* Sets "findings", and "not_judged": why there are none on times. */
void summary_findings_put(json_t *json, const struct summary *summary);

#endif
