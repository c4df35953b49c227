/*
 * Open MPI's parameter files: $HOME/.openmpi/mca-params.conf, openmpi-mca-params.conf of the installation, and the
 * files that the user names (--tune, --am, mca_base_param_files).
 */
#ifndef MPIT_TOOLS_MCAFILE_H
#define MPIT_TOOLS_MCAFILE_H

#include <stdbool.h>

/* Returns whether one of the files that this launcher, words[0], will read sets the parameter. */
bool mca_files_name(char *const words[], const char *parameter);

#endif
