/*
 * Takes mpit's environment to processes on other machines, by changes to the command's words for its launcher.
 *
 *   Open MPI   forwards only named variables. -x NAME is put after the launcher's name and after each ":", because it
 *              applies to one application context. Open MPI refuses -x together with the parameter mca_base_env_list.
 *              If that is on the command line or in the environment, the names are appended to it. In a file it is not
 *              changed. An mpirun that a script calls cannot be reached. src/preload/forkagent.c handles both cases.
 *   hydra      forwards everything, except with -genvnone, -genvlist or the like. Then -genv NAME VALUE is added.
 *   srun       forwards everything, unless --export limits it.
 *
 * If the command itself sets LD_PRELOAD (-x LD_PRELOAD=..., -genv LD_PRELOAD ..., env LD_PRELOAD=...), mpit's library
 * is put before its value.
 */
#ifndef MPIT_TOOLS_FORWARD_H
#define MPIT_TOOLS_FORWARD_H

#include "run/launcher.h"

/*
 * Returns the words to run, with NULL at the end. Return them with forward_free. LD_PRELOAD and MPIT_* must be in the
 * environment already. `library` is the entry that mpit-run put into LD_PRELOAD. May change OMPI_MCA_mca_base_env_list
 * there. `note` gets a line for the user if something cannot be forwarded, else "".
 */
char **forward_words(char *const words[], size_t launcher, enum launcher_kind kind, const char *library,
                     char note[512]);

/* Returns whether the launcher, words[0], or another command in its place, needs the fork agent for that. */
bool forward_by_agent(enum launcher_kind kind, char *const words[]);

void forward_free(char **words);

#endif
