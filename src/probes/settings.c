#define _GNU_SOURCE
#include "settings.h"

#include "native.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void setting_name(const struct knob_description *knob, char *name, size_t size)
{
    size_t i = 0;
    for (; knob->name[i] && i + 1 < size; i++)
        name[i] = (char)toupper((unsigned char)knob->name[i]);
    name[i] = '\0';
}

static bool number_read(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)text[0]))
        return false; /* strtoull would take a sign */
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

void settings_read(void)
{
    for (unsigned i = 0; i < KNOB_COUNT; i++) {
        const struct knob_description *knob = &knob_table[i];
        char name[64];
        setting_name(knob, name, sizeof name);
        const char *text = getenv(name);
        uint64_t value;
        if (!text || !text[0])
            continue;
        if (number_read(text, &value) && value >= knob->least && value <= knob->most)
            knob_store((enum knob)i, value);
        else
            native_say("mpit: %s=%s cannot be used; allowed are whole numbers from %" PRIu64 " to %" PRIu64
                       ". The default, %" PRIu64 ", holds.",
                       name, text, knob->least, knob->most, knob->initial);
    }
}
