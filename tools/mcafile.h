/*
 * Open MPI's files of parameters: $HOME/.openmpi/mca-params.conf, and behind it openmpi-mca-params.conf of the
 * installation.
 */
#ifndef MPIT_TOOLS_MCAFILE_H
#define MPIT_TOOLS_MCAFILE_H

/*
 * What these files set a parameter to, for the installation of the launcher (its path); NULL: nothing. To be given to
 * free. Ends the process with status 2 when there is no memory.
 */
char *mca_file_value(const char *launcher, const char *parameter);

#endif
