/* The calls on files that programs seldom make. */
#ifndef FILECALLS_H
#define FILECALLS_H

#include "../common/callcount.h"

/* Makes each of them on a file of this name; returns the bytes that this process has transferred. */
unsigned long long filecalls_use(MPI_Comm comm, const char *name);

#endif
