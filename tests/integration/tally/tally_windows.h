/*
 * Handles are windows: what one session does with its handles, no other session notices. And levels: the first value of
 * a watermark is the level at that moment.
 */
#ifndef TALLY_WINDOWS_H
#define TALLY_WINDOWS_H

#include "tally_book.h"
#include "tally_draw.h"

/* On communicators made from `self`, which has one process. */
void windows_check(struct book *self, struct draw *own);

#endif
