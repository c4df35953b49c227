/*
 * mpit-top's pages on a terminal, and its keys. Only this file uses curses.
 */
#ifndef MPIT_TOOLS_TOPSCREEN_H
#define MPIT_TOOLS_TOPSCREEN_H

#include "top/toppage.h"

/* Opens the screen if standard output and input are a terminal that can be drawn on. Returns whether they are. */
bool top_screen_open(void);
/* Restores the terminal. */
void top_screen_close(void);

/* Looks at the jobs when it is time. Returns false when there are no more jobs to show. */
typedef bool top_look(void *context, struct top_view *view, struct top_model *model);

/* Runs until the user or a signal ends it. Returns 0, or the signal. */
int top_screen_run(struct top_view *view, struct top_model *model, top_look *look, void *context);

#endif
