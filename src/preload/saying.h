#ifndef MPIT_PRELOAD_SAYING_H
#define MPIT_PRELOAD_SAYING_H

/* One line on standard error: once for a process, and where the launcher tells ranks only in the first. Raises no
 * signal. */
void say_once(const char *line);

#endif
