/* What instrument_check loads and unloads. */
#include <mpit/instrument.h>

MPIT_COUNTER(plugin_calls, "Calls of the plugin.");
MPIT_LEVEL(plugin_level, "A level of the plugin.");
MPIT_REGION(plugin_region, "A region of the plugin.");
MPIT_CONTROL_INT(plugin_control, 7, 0, 10, "A control of the plugin.");

void plugin_call(int level)
{
    mpit_region_enter(&plugin_region);
    mpit_add(&plugin_calls, 1);
    mpit_level_add(&plugin_level, (unsigned long long)level);
    mpit_level_subtract(&plugin_level, (unsigned long long)level);
    mpit_region_leave(&plugin_region);
}

int plugin_control_get(void)
{
    return mpit_control_int(&plugin_control);
}
