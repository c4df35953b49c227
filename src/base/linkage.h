/*
 * LIBRARY_LOCAL stands before data of ours that other files of the same library use: without it the compiler must think
 * that another library may replace them, and goes through a table for each access.
 */
#ifndef MPIT_EVENTS_LINKAGE_H
#define MPIT_EVENTS_LINKAGE_H

#define LIBRARY_LOCAL __attribute__((visibility("hidden")))

#endif
