/*
 * The libraries of the programs in a command. Some programs cannot be recorded, and mpit-run gives the reason. It reads
 * their files, and runs none.
 */
#ifndef MPIT_TOOLS_ABICHOICE_H
#define MPIT_TOOLS_ABICHOICE_H

#include "run/elfkind.h"

#include <stdbool.h>

struct abi_choice {
    enum mpi_abi found; /* MPI of the first program that loads an MPI library, or ABI_NONE */
    char because[256];  /* the MPI, as a clause: "./app loads libmpi.so.40" */
    /* Programs that cannot be recorded, the first of each sort, or "" for none. */
    char static_program[512]; /* has MPI linked in */
    /* The program that the launcher starts, if no word is an MPI program: */
    char plain_program[512];   /* is linked to no MPI library */
    char missing_program[512]; /* a missing path in the command, if no word of it is a program */
    bool plain_is_static;
    char plain_below[64]; /* and to this library below MPI, or "" */
};

void abi_choose(struct abi_choice *choice, char *const words[]);

#endif
