/*
 * The small file in the output directory with the address of rank 0's leader. A file system may not answer. So a
 * short-lived thread does the work, and the caller waits for it no longer than its timer says. A stuck thread ends by
 * itself later. Until then no other task begins.
 */
#ifndef MPIT_PROBES_CLOCKS_FILE_H
#define MPIT_PROBES_CLOCKS_FILE_H

#include "clock/clocklink.h"

/* Begins to write it, whole or not at all, readable for the user alone. False: there is no thread. */
bool clocks_file_publish(const char *path, const struct clock_server *server);
/* False: it was not written, or not yet. In the second case it is removed as soon as it is written. */
bool clocks_file_published(const struct clock_timer *timer);

enum clocks_file_found { CLOCKS_FILE_FOUND, CLOCKS_FILE_MISSING, CLOCKS_FILE_STUCK, CLOCKS_FILE_NO_THREAD };
/* Looks for the file until it is there. */
enum clocks_file_found clocks_file_find(const char *path, struct clock_server *server, const struct clock_timer *timer);

void clocks_file_remove(const char *path, const struct clock_timer *timer);

#endif
