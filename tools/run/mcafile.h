/*
 * Open MPI's files of parameters: $HOME/.openmpi/mca-params.conf, openmpi-mca-params.conf of the installation, and what
 * its launcher is told to read (--tune, --am, mca_base_param_files).
 */
#ifndef MPIT_TOOLS_MCAFILE_H
#define MPIT_TOOLS_MCAFILE_H

#include <stdbool.h>

/* Does one of the files that this launcher, words[0], will read speak of the parameter? */
bool mca_files_name(char *const words[], const char *parameter);

#endif
