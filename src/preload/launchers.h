/*
 * libmpit.so in a launcher that runs below mpit-run: takes mpit's environment to processes on other nodes. A line of
 * mpit-run and a line of a script are served alike. The launcher starts once more, in the same process, with words
 * added. Without mpit-run (always on) launchers stay as they are.
 *
 *   orterun (Open MPI 4)   forwards only named variables. -x NAME is put after the launcher's name and after each ":",
 *                          because it applies to one application context. Open MPI refuses -x together with the
 *                          parameter mca_base_env_list. If the user or a parameter file (mcafiles.h) sets that, the
 *                          fork agent takes the variables along (forkagent.h)
 *   prterun (Open MPI 5)   the same. The names are appended to a list of the user
 *   Hydra                  forwards everything, except with -genvnone, -genvlist or the like. Then -genv NAME VALUE
 *                          is added
 *   srun                   forwards everything, unless --export limits it, which is reported
 *
 * If the line itself sets LD_PRELOAD for the processes (-x LD_PRELOAD=..., -genv LD_PRELOAD ...), mpit's library is
 * put before its value.
 */
#ifndef MPIT_PRELOAD_LAUNCHERS_H
#define MPIT_PRELOAD_LAUNCHERS_H

/* Runs before main in every process that loads libmpit.so. It acts only in launchers. `here` is the directory of
 * libmpit.so, followed by a slash. */
void launcher_prepare(int argc, char *argv[], const char *here);

#endif
