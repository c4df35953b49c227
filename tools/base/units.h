/*
 * Quantities and names for people. Each function fills the buffer that it is given and returns it.
 */
#ifndef MPIT_TOOLS_UNITS_H
#define MPIT_TOOLS_UNITS_H

#include <stdbool.h>
#include <stdint.h>

enum { UNIT_TEXT_BYTES = 32 };

/* Formats like "1.23 ms", with three significant digits, in s, ms, us or ns. */
const char *text_of_seconds(char text[UNIT_TEXT_BYTES], double seconds);
const char *text_of_ns(char text[UNIT_TEXT_BYTES], uint64_t ns);
/* Formats like "1.5 MiB". Whole multiples of a unit have no fraction. */
const char *text_of_bytes(char text[UNIT_TEXT_BYTES], uint64_t bytes);
/* "512 B .. < 1 KiB": the sizes of messages in a bucket (bucket.h). */
enum { UNIT_BUCKET_BYTES = 2 * UNIT_TEXT_BYTES };
const char *text_of_bucket(char text[UNIT_BUCKET_BYTES], unsigned bucket);
/* "1,234,567" */
const char *text_of_count(char text[UNIT_TEXT_BYTES], uint64_t count);
/* "3", or "-": no rank yet */
const char *text_of_rank(char text[UNIT_TEXT_BYTES], int32_t rank);
/* "12.3 %" */
const char *text_of_share(char text[UNIT_TEXT_BYTES], double part, double whole);

/* A figure of a file, which may be any, as a whole number: 0 to INT64_MAX. */
uint64_t whole_of(double figure);

/* Returns the name itself, or its begin and end if it is longer than a table column. C++ names may have the same begin
 * or the same end. */
enum { UNIT_NAME_BEGIN = 60, UNIT_NAME_END = 33, UNIT_NAME_BYTES = UNIT_NAME_BEGIN + 3 + UNIT_NAME_END + 1 };
const char *text_of_name(char text[UNIT_NAME_BYTES], const char *name);

/* Returns whether the terminal's character set is UTF-8. Call setlocale first. */
bool text_is_utf8(void);

/* Reads a time with its unit, or seconds without one, up to the end or a colon: "1.5", "200ms:". *text is what follows. */
bool ns_of_text(const char **text, int64_t *ns);

/* A number of an instrument, of the type enum mpit_type: an integer, or the bits of a double. */
const char *text_of_number(char text[UNIT_TEXT_BYTES], uint32_t type, uint64_t number);

/* "st" of 1st, and so on. */
const char *ordinal_end(uint64_t number);

#endif
