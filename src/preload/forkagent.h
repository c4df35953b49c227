/*
 * Takes mpit to other nodes if Open MPI's mpirun cannot do that with -x (launchers.h).
 *
 *   mpit-run    MPIT_FORK_AGENT=.../mpit-fork-agent, LD_PRELOAD, MPIT_...
 *   mpirun      this library is loaded into it: OMPI_MCA_orte_fork_agent = "AGENT LD_PRELOAD=... MPIT_...=... --"
 *   orted       gets that parameter from mpirun, as all parameters, and starts "AGENT ... -- program" on its node
 *   program     the agent executes it after it has completed the environment
 */
#ifndef MPIT_PRELOAD_FORKAGENT_H
#define MPIT_PRELOAD_FORKAGENT_H

#include <stdbool.h>

/* Sets the parameter. Returns false if the line has an agent of its own, or a value is too long. `agent` is the path of
 * mpit-fork-agent, `preload` the libraries to preload. */
bool agent_set(const char *agent, const char *preload, int argc, char *argv[]);

#endif
