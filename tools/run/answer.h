/*
 * What another program prints, for mpit-run itself to read.
 */
#ifndef MPIT_TOOLS_ANSWER_H
#define MPIT_TOOLS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Runs words[0], a path, and reads its output, with that of stderr if `errors`. No shell is started, and LD_PRELOAD is
 * not passed on. Ends the program when it has closed its output, the text is full, or the time is over.
 */
void program_answer(char *const words[], bool errors, long timeout_ms, char *text, size_t size);

#endif
