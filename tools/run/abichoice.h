/*
 * What the programs among the words of a command are linked to: nothing is recorded of some, and mpit-run says why.
 * Their files are read, and nothing is run.
 */
#ifndef MPIT_TOOLS_ABICHOICE_H
#define MPIT_TOOLS_ABICHOICE_H

#include "run/elfkind.h"

#include <stdbool.h>

struct abi_choice {
    enum mpi_abi found; /* of the first program that loads an MPI library; ABI_NONE: there is none */
    char because[256];  /* that, as a clause: "./app loads libmpi.so.40" */
    /* Programs that cannot be recorded, each the first of its sort; "": none. */
    char static_program[512]; /* has MPI linked in */
    /* What the launcher starts, where no program of MPI is among the words: */
    char plain_program[512];   /* is linked to no MPI library */
    char missing_program[512]; /* a path in the command where nothing is, and no word of it is a program */
    bool plain_is_static;
    char plain_below[64]; /* and is to this library below MPI; "": to none */
};

void abi_choose(struct abi_choice *choice, char *const words[]);

#endif
