/*
 * Starts mpit-collect, which lies beside this library, out of the program's process. The program never learns of it.
 */
#ifndef MPIT_PROBES_COLLECTSTART_H
#define MPIT_PROBES_COLLECTSTART_H

#include <sys/types.h>

/*
 * `words` end with NULL, and the first is the name. What it says goes to the descriptor `told`. Returns its number,
 * which waitpid finds with __WCLONE alone, or -1 with errno.
 */
pid_t collect_start(const char *const words[], int told);

#endif
