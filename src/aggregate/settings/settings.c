#include "settings/settings.h"

#include "base/spelling.h"
#include "base/text.h"
#include "site/hide.h"
#include "site/setting.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
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

/* Settings that are no control variables. */
static const char *const others[] = {"MPIT_OUTPUT",
                                     "MPIT_REDUCE",
                                     "MPIT_BRIEF",
                                     "MPIT_DISABLE",
                                     "MPIT_SAMPLE_RANKS",
                                     "MPIT_FORK_AGENT",
                                     "MPIT_SPOOL",
                                     "MPIT_MPI",
                                     "MPIT_CONF",
                                     "MPIT_EXCLUDE",
                                     "MPIT_MODE",
                                     "MPIT_GROUP",
                                     "MPIT_HIDE",
                                     "MPIT_HIDE_KEY",
                                     "MPIT_SUMMARY_LIMIT_BYTES",
                                     "MPIT_FORK_AGENT_DONE",
                                     "MPIT_PASSES",
                                     "MPIT_LABEL"};
enum { OTHER_COUNT = sizeof others / sizeof others[0], PREFIX_BYTES = sizeof "MPIT_" - 1 };

bool settings_know(const char *variable, size_t bytes)
{
    for (size_t i = 0; i < OTHER_COUNT; i++)
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

/* Returns the setting whose name looks most like this word, without MPIT_ in front, or NULL. The case says nothing. */
static const char *nearest_name(const char *word)
{
    struct spelling like = {.word = word};
    for (size_t i = 0; i < OTHER_COUNT; i++)
        spelling_try(&like, others[i] + PREFIX_BYTES);
    for (enum knob knob = 0; knob < KNOB_COUNT; knob++)
        spelling_try(&like, knob_table[knob].name + PREFIX_BYTES);
    return like.nearest;
}

void settings_hint(const char *variable, size_t bytes, bool of_site, char hint[SETTINGS_HINT_BYTES])
{
    char word[SETTING_NAME_BYTES];
    snprintf(word, sizeof word, "%.*s", (int)bytes, variable);
    bool twice = of_site && text_begins(word + PREFIX_BYTES, "MPIT_"); /* it has none in the file */
    const char *nearest = nearest_name(word + (twice ? 2 : 1) * PREFIX_BYTES);
    if (!nearest) {
        snprintf(hint, SETTINGS_HINT_BYTES, "; see man mpit");
        return;
    }
    int begin = snprintf(hint, SETTINGS_HINT_BYTES, "; did you mean ");
    snprintf(hint + begin, SETTINGS_HINT_BYTES - (size_t)begin, "%s%s?", of_site ? "" : "MPIT_", nearest);
    for (char *letter = hint + begin; *letter; letter++)
        *letter = (char)(of_site ? tolower((unsigned char)*letter) : toupper((unsigned char)*letter));
}

static void site_tell(void (*say)(const char *format, ...))
{
    const char *variable, *name;
    char hint[SETTINGS_HINT_BYTES];
    int line;
    if (setting_unread())
        say("mpit: %s cannot be read: %s. mpit has no settings of the site", setting_file(),
            strerror(setting_unread()));
    for (size_t i = 0; setting_line(i, &variable, &name, &line); i++) {
        if (!variable) {
            say("mpit: %s:%d: the line has no effect; allowed are lines \"name = value\" whose name has letters, "
                "digits and _, and lines that begin with #",
                setting_file(), line);
        } else if (!settings_know(variable, strlen(variable))) {
            settings_hint(variable, strlen(variable), true, hint);
            say("mpit: %s:%d: mpit has no setting %s%s", setting_file(), line, name, hint);
        }
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
    const char *excluded = setting("MPIT_EXCLUDE");
    if (excluded && strpbrk(excluded, "\"'#"))
        say("mpit: %sMPIT_EXCLUDE=%.200s: quotes and # are parts of its patterns", setting_place("MPIT_EXCLUDE", place),
            excluded);
    site_tell(say);
}
