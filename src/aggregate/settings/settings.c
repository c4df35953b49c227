#include "settings/settings.h"

#include <pthread.h>

static void environment_read(void)
{
    for (enum knob knob = 0; knob < KNOB_COUNT; knob++)
        knob_take_environment(knob);
}

void settings_read(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, environment_read);
}

void settings_tell(void (*say)(const char *format, ...))
{
    for (enum knob knob = 0; knob < KNOB_COUNT; knob++) {
        char problem[KNOB_PROBLEM_BYTES];
        uint64_t value;
        if (!knob_from_environment(knob, &value, problem) && problem[0])
            say("mpit: %s", problem);
    }
}
