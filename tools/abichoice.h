/*
 * Which MPI a command will run: from the programs among its words, else from its launcher, else from what a script in
 * it names. Nothing is run for it but launchers with --version.
 */
#ifndef MPIT_TOOLS_ABICHOICE_H
#define MPIT_TOOLS_ABICHOICE_H

#include "elfkind.h"

#include <stdbool.h>

struct abi_choice {
    enum mpi_abi abi;   /* ABI_NONE: nothing of MPI was found, or no answer */
    bool contradictory; /* ABI_NONE because scripts name both */
    char because[768];  /* what was found, as a clause: "./app loads libmpi.so.40" */
    enum mpi_abi found; /* what `because` speaks for, also where --mpi has decided otherwise */
    /* Programs that cannot be recorded, each the first of its sort; "": none. */
    char static_program[512]; /* has MPI linked in */
    /* What the launcher starts, where no program of MPI is among the words: */
    char plain_program[512];   /* is linked to no MPI library */
    char missing_program[512]; /* a path in the command where nothing is, and no word of it is a program */
    bool plain_is_static;
    char plain_below[64]; /* and is to this library below MPI; "": to none */
};

void abi_choose(struct abi_choice *choice, char *const words[]);

/* The MPI of the launcher that a shell finds first, or ABI_NONE. */
enum mpi_abi abi_default(void);

#endif
