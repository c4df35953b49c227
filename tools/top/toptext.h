/*
 * Texts of mpit-top: columns on a terminal, numbers, and texts that are too long.
 *
 * A number is never cut. A text that does not fit ends with "...", and before a number rather than inside it.
 */
#ifndef MPIT_TOOLS_TOPTEXT_H
#define MPIT_TOOLS_TOPTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Marks inside texts: the style of the next text. 0 ends a text, and 9 and 10 are a tab and a newline. */
enum top_style { STYLE_PLAIN = 1, STYLE_TITLE, STYLE_DIM, STYLE_BAD, STYLE_STALL, STYLE_WORK, STYLE_HEAD, STYLE_END };

/* Returns how many columns a text takes on the screen. */
int top_text_columns(const char *text);
/* Returns how many bytes of it fit into a number of columns. */
size_t top_text_fitting(const char *text, int columns);
/* Returns how many bytes to keep of a text that is wider than `columns`, so that dots[] fits behind them. dots is "..."
 * or shorter in a very narrow place, and "" if the whole text fits. */
size_t top_text_cut(const char *text, int columns, char dots[4]);

/* "12.3k": six columns at most. */
enum { TOP_NUMBER_BYTES = 32 };
const char *top_number(char text[TOP_NUMBER_BYTES], double value);
/* The same for bytes, in units of the summary: "12.3 KiB". */
const char *top_bytes(char text[TOP_NUMBER_BYTES], double value);
/* "####||||....": work, stall, the rest. */
const char *top_bar(char *text, size_t bytes, int columns, double work, double stall);

/* Parts of a line. */
struct top_part {
    const char *text; /* NULL or "": none */
    int rank;         /* 1 matters most */
};
enum { TOP_PARTS_MOST = 16 };
/* Joins the parts that fit into `columns`, with two blanks between them. The most important ones are chosen first. The
 * very first one is there in any case. */
void top_parts_join(char *text, size_t bytes, int columns, const struct top_part *parts, size_t count);

#endif
