#include "settings/settings.h"

#include "site/hide.h"
#include "site/setting.h"

#include <pthread.h>
#include <string.h>

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

bool settings_know(const char *variable, size_t bytes)
{
    static const char *const others[] = {"MPIT_OUTPUT",     "MPIT_REDUCE", "MPIT_DISABLE", "MPIT_SAMPLE_RANKS",
                                         "MPIT_FORK_AGENT", "MPIT_SPOOL",  "MPIT_MPI",     "MPIT_CONF",
                                         "MPIT_EXCLUDE",    "MPIT_MODE",   "MPIT_GROUP",   "MPIT_HIDE",
                                         "MPIT_HIDE_KEY"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strlen(others[i]) == bytes && strncmp(variable, others[i], bytes) == 0)
            return true;
    for (enum knob knob = 0; knob < KNOB_COUNT; knob++) {
        char name[KNOB_VARIABLE_BYTES];
        knob_variable(knob, name);
        if (strlen(name) == bytes && strncmp(variable, name, bytes) == 0)
            return true;
    }
    return false;
}

static void site_tell(void (*say)(const char *format, ...))
{
    const char *variable;
    int line;
    if (setting_unread())
        say("mpit: %s cannot be read: %s. mpit has no settings of the site", setting_file(),
            strerror(setting_unread()));
    for (size_t i = 0; setting_line(i, &variable, &line); i++) {
        if (!variable)
            say("mpit: %s:%d: the line has no effect; allowed are lines \"name = value\", and lines that begin with #",
                setting_file(), line);
        else if (!settings_know(variable, strlen(variable)))
            say("mpit: %s:%d: mpit has no setting for %s; see man mpit", setting_file(), line, variable);
    }
    if (setting_cut())
        say("mpit: %s:%d: this line and those after it have no effect: the file is too long", setting_file(),
            setting_cut());
}

void settings_tell(void (*say)(const char *format, ...))
{
    for (enum knob knob = 0; knob < KNOB_COUNT; knob++) {
        char problem[KNOB_PROBLEM_BYTES];
        uint64_t value;
        if (!knob_from_environment(knob, &value, problem) && problem[0])
            say("mpit: %s", problem);
    }
    char unknown[HIDE_PROBLEM_BYTES];
    char place[SETTING_PLACE_BYTES];
    if (!hide_is_known(unknown))
        say("mpit: %sMPIT_HIDE=%s cannot be used: %s. mpit hides all of them.", setting_place("MPIT_HIDE", place),
            setting("MPIT_HIDE"), unknown);
    site_tell(say);
}
