/*
 * How far a mistyped word is from one that is known.
 */
#ifndef MPIT_BASE_SPELLING_H
#define MPIT_BASE_SPELLING_H

enum {
    SPELLING_FAR = 3 /* so far apart, two words do not look alike */,
    SPELLING_MOST = 127 /* also for longer words */
};

/* Returns how many letters must be changed, added or removed to make one word of the other. Case does not count. */
unsigned spelling_distance(const char *one, const char *other);

/* Of known words, the one that looks most like `word`. NULL: none looks like it. */
struct spelling {
    const char *word, *nearest;
    unsigned distance; /* of the nearest */
};

/* Compares one more known word. It has to stay valid while it is the nearest. */
void spelling_try(struct spelling *spelling, const char *known);

#endif
