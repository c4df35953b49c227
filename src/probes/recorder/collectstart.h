/*
 * Starts mpit-collect, from the directory of this library. The program never learns of it: it is no child of the
 * program, and no signal comes when it ends.
 */
#ifndef MPIT_PROBES_COLLECTSTART_H
#define MPIT_PROBES_COLLECTSTART_H

#include <sys/types.h>

/*
 * `words` end with NULL, and the first is the name. Its output goes to the descriptor `told`. Returns its number, or
 * -1 with errno.
 */
pid_t collect_start(const char *const words[], int told);

#endif
