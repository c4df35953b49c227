/*
 * A library that the program loads and unloads. It is built several times with another PLUGIN_FRAME: same functions,
 * same sizes, other frames. So one library after another gets the same addresses.
 */
#include "pathwalk.h"

#include <string.h>

__attribute__((noinline, visibility("default"))) unsigned long plugin_inner(struct walk *walk, unsigned level)
{
    volatile char room[1024 + PLUGIN_FRAME];
    memset((void *)room, (int)level, sizeof room);
    call_here(walk);
    return descend(walk, level) + (unsigned long)room[level];
}

__attribute__((visibility("default"))) unsigned long plugin_enter(struct walk *walk, unsigned level)
{
    volatile char room[4096 - PLUGIN_FRAME];
    memset((void *)room, (int)level, sizeof room);
    unsigned long sum = plugin_inner(walk, level);
    call_here(walk);
    return sum + (unsigned long)room[level];
}
