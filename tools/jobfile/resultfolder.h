/*
 * The folder of results, and the access to it (MPIT_MODE, MPIT_GROUP).
 *
 *     /logs  /2026  /11   /ann-heat-4711
 *            └─ of the site's pattern, and of all users, as the folder above    └─ the last one: of the user
 */
#ifndef MPIT_TOOLS_RESULTFOLDER_H
#define MPIT_TOOLS_RESULTFOLDER_H

#include "base/linkage.h"
#include <stdbool.h>

/* Makes the folder with those above it. Returns 0 or an errno. EPERM: it is there already, and belongs to another user, who
 * could take the results away. Root's may be used. Root may use any that it names itself. */
MUST_CHECK int result_folder_make(const char *path);

/* True for a folder that the site's pattern leads to. Folders that a user names are the user's. */
bool result_is_of_site(const char *path);

/* Gives a new file, or the last folder, the mode and the group that are wanted. What cannot be done is reported once. */
void result_share(int fd);

#endif
