#ifndef MPIT_PRELOAD_FORKAGENT_H
#define MPIT_PRELOAD_FORKAGENT_H

/* Before main of every process that libmpit.so is loaded into. It does something in Open MPI's launchers alone. `here`:
 * where libmpit.so is, with a slash behind it. */
void launcher_prepare(int argc, char *argv[], const char *here);

#endif
