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

#endif
