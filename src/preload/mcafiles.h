/*
 * Open MPI's parameter files: $HOME/.openmpi/mca-params.conf, openmpi-mca-params.conf of the installation, and the
 * files that the user names (--tune, --am, mca_base_param_files).
 */
#ifndef MPIT_PRELOAD_MCAFILES_H
#define MPIT_PRELOAD_MCAFILES_H

#include <stdbool.h>

/* Returns whether one of the files that this launcher will read sets mca_base_env_list or LD_PRELOAD. `launcher` is the
 * path of its executable. */
bool mca_files_forward(char *argv[], const char *launcher);

#endif
