#ifndef MPIT_PRELOAD_FORKAGENT_H
#define MPIT_PRELOAD_FORKAGENT_H

/* Runs before main in every process that loads libmpit.so. It acts only in Open MPI's launchers. `here` is the
 * directory of libmpit.so, followed by a slash. */
void launcher_prepare(int argc, char *argv[], const char *here);

#endif
