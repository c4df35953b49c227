/*
 * LIBRARY_LOCAL marks our data that other files of the same library use. Without it the compiler must assume that
 * another library may replace the data, and uses a table for each access.
 */
#ifndef MPIT_EVENTS_LINKAGE_H
#define MPIT_EVENTS_LINKAGE_H

#define LIBRARY_LOCAL __attribute__((visibility("hidden")))

#endif
