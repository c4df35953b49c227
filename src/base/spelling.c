#include "base/spelling.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static unsigned least_of(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

unsigned spelling_distance(const char *one, const char *other)
{
    unsigned row[SPELLING_MOST + 1]; /* of the letters of `one` so far, to each begin of `other` */
    size_t length = strlen(other);
    if (length > SPELLING_MOST)
        return SPELLING_MOST;
    for (size_t i = 0; i <= length; i++)
        row[i] = (unsigned)i;
    for (unsigned at = 1; *one; one++, at++) {
        unsigned corner = row[0];
        row[0] = at;
        for (size_t i = 1; i <= length; i++) {
            unsigned above = row[i];
            bool differs = toupper((unsigned char)*one) != toupper((unsigned char)other[i - 1]);
            row[i] = least_of(above + 1, row[i - 1] + 1, corner + differs);
            corner = above;
        }
    }
    return row[length];
}

void spelling_try(struct spelling *spelling, const char *known)
{
    unsigned distance = spelling_distance(spelling->word, known);
    if (distance >= SPELLING_FAR || 2 * distance > strlen(known) ||
        (spelling->nearest && distance >= spelling->distance))
        return;
    spelling->nearest = known;
    spelling->distance = distance;
}
