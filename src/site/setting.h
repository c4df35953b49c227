/*
 * Settings: of the environment, and of the site's file, which the administrator writes for all programs.
 *
 *   /etc/mpit.conf, or the file in MPIT_CONF:     # a comment
 *                                                 output = /logs/%Y/%m/%d/%u-%p-%j
 *                                                 call_depth = 7
 *
 * A line has the name of an environment variable, in lower case and without MPIT_. The environment comes first. The file
 * is read once by each library of mpit, at the first call. Any thread may call these functions, also from the constructor
 * of a library. They need no symbol of a glibc later than 2.17.
 */
#ifndef MPIT_SITE_SETTING_H
#define MPIT_SITE_SETTING_H

#include <stdbool.h>
#include <stddef.h>

enum { SETTING_NAME_BYTES = 64, SETTING_PLACE_BYTES = 224 };

/* Returns the value of MPIT_..., or NULL: it is not set, or empty in the file. The text is valid until the variable is
 * changed. */
const char *setting(const char *variable);

/* True if mpit is to record nothing: MPIT_DISABLE has any value in the environment, or another one than 0, no, off and
 * false in the file. */
bool setting_disabled(void);

/* True if the setting comes from the site's file. */
bool setting_is_of_site(const char *variable);

/* Writes where the setting is: "FILE:LINE: ", or "" if it is not from the site's file. Returns `place`. */
const char *setting_place(const char *variable, char place[SETTING_PLACE_BYTES]);

/* Why the site's file cannot be read: an errno, or 0. */
int setting_unread(void);

/* The first line of the site's file that had no room, or 0. This one and those after it have no effect. */
int setting_cut(void);

/* The site's file, or "" if there is none. */
const char *setting_file(void);

/* A line of the site's file, from 0 on. Returns false if there are no more. *variable: MPIT_..., or NULL: the line is
 * not of the form "name = value". *name: the same as it is written. */
bool setting_line(size_t i, const char **variable, const char **name, int *line);

/* Reads the access that results have (MPIT_MODE, such as 0640) into *mode. Returns false if it is not set. Then only the
 * user has access. *wrong gets true for a value that is none, or that lets all users write. */
bool setting_mode(unsigned *mode, bool *wrong);

#endif
