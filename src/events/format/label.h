/*
 * Labels: names that a program gives its communicators with MPI_Comm_set_name. They may be any bytes, so they are
 * cleaned before they are shown.
 */
#ifndef MPIT_EVENTS_LABEL_H
#define MPIT_EVENTS_LABEL_H

#include "format/runfile.h"

/* Copies the text at `from`, of at most `most` bytes, as far as it fits. Bytes that are not UTF-8 become '?'. So do
 * characters that would move a terminal's cursor or change its direction. The copy ends with NUL, after a whole
 * character. */
void label_clean(char *to, size_t size, const char *from, size_t most);

/* The same in place: a text in `size` bytes, of at most FILTER_BYTES, becomes one line of UTF-8. */
void text_tidy(char *text, size_t size);

enum { LABEL_QUOTED_BYTES = 2 * COMM_LABEL_BYTES + 3, COMM_TITLE_BYTES = COMM_NAME_BYTES + LABEL_QUOTED_BYTES + 1 };

/* The label in quotes, with a backslash before each quote and backslash in it. "" if it is empty. */
const char *label_quote(char quoted[LABEL_QUOTED_BYTES], const char *label);

/* The communicator in one line: its name, which is the same on all ranks, and its label in quotes, if it has one.
 * Both are cleaned. */
const char *comm_title(char title[COMM_TITLE_BYTES], const char *name, const char *label);

#endif
