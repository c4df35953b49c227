/*
 * mpit-top's pages on a terminal, and its keys. The only file that knows curses.
 */
#ifndef MPIT_TOOLS_TOPSCREEN_H
#define MPIT_TOOLS_TOPSCREEN_H

#include "top/toppage.h"

/* Opens the screen if standard output and input are a terminal that can be drawn on. Returns whether they are. */
bool top_screen_open(void);
/* The terminal is as it was. */
void top_screen_close(void);

/* A look at the jobs, when one is due: returns false when nothing is to be seen any more. */
typedef bool top_look(void *context, struct top_view *view, struct top_model *model);

/* Runs until the user or a signal ends it. Returns 0, or the signal. */
int top_screen_run(struct top_view *view, struct top_model *model, top_look *look, void *context);

#endif
