/*
 * The small file in the output directory that says where rank 0's leader listens. A file system may not answer, so a
 * short-lived thread does what is to be done, and whoever waits for it waits no longer than its timer says. A thread
 * that is stuck ends by itself later; until then nothing else is begun.
 */
#ifndef MPIT_PROBES_CLOCKS_FILE_H
#define MPIT_PROBES_CLOCKS_FILE_H

#include "clock/clocklink.h"

/* Begins to write it, whole or not at all, readable for the user alone. False: there is no thread. */
bool clocks_file_publish(const char *path, const struct clock_server *server);
/* False: it was not written, or not yet; then it is removed when it is. */
bool clocks_file_published(const struct clock_timer *timer);

enum clocks_file_found { CLOCKS_FILE_FOUND, CLOCKS_FILE_MISSING, CLOCKS_FILE_STUCK, CLOCKS_FILE_NO_THREAD };
/* Looks for it until it is there. */
enum clocks_file_found clocks_file_find(const char *path, struct clock_server *server, const struct clock_timer *timer);

void clocks_file_remove(const char *path, const struct clock_timer *timer);

#endif
