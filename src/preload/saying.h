#ifndef MPIT_PRELOAD_SAYING_H
#define MPIT_PRELOAD_SAYING_H

/* Prints one line on standard error, once for a process. If the launcher tells ranks, only in the first one. Raises
 * no signal. */
void say_once(const char *line);

#endif
