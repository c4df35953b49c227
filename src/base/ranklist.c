#include "base/ranklist.h"

#include <errno.h>
#include <stdlib.h>

/* Reads a rank in decimal. Returns false if there is none. */
static bool rank_read(const char **text, int32_t *rank)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    long value = strtol(*text, &end, 10);
    if (errno || value > INT32_MAX)
        return false;
    *text = end;
    *rank = (int32_t)value;
    return true;
}

bool rank_range_read(const char **text, struct rank_range *range)
{
    const char *at = *text;
    if (!rank_read(&at, &range->first))
        return false;
    range->last = range->first;
    if (*at == '-') {
        at++;
        if (!rank_read(&at, &range->last))
            range->last = INT32_MAX;
    }
    *text = at;
    return (*at == '\0' || *at == ',') && range->last >= range->first;
}

/* Reads the next range of a list. Returns false if there is none. After an invalid range *text is NULL. */
static bool range_next(const char **text, struct rank_range *range)
{
    if (!*text || **text == '\0')
        return false;
    if (!rank_range_read(text, range)) {
        *text = NULL;
        return false;
    }
    if (**text == ',' && *++*text == '\0')
        *text = NULL; /* a comma must be followed by a range */
    return true;
}

bool rank_list_is_good(const char *text)
{
    struct rank_range range;
    bool any = false;
    while (range_next(&text, &range))
        any = true;
    return any && text;
}

bool rank_list_has(const char *text, int32_t rank)
{
    struct rank_range range;
    while (range_next(&text, &range))
        if (rank >= range.first && rank <= range.last)
            return true;
    return false;
}
