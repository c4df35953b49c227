/* Touches all that the reader hands out of a run file, as the tools do. */
#ifndef MPIT_FUZZ_WALK_H
#define MPIT_FUZZ_WALK_H

/* Opens the run file, reads all of it, replays it, makes its summary. What does not hold ends the process. */
void run_walk(const char *path);

#endif
