/*
 * The programs in a command. Each process finds its MPI itself. This is for messages: some programs cannot be recorded,
 * and mpit-run gives the reason. It reads their files, and runs none.
 */
#ifndef MPIT_TOOLS_PROGRAMS_H
#define MPIT_TOOLS_PROGRAMS_H

struct programs {
    char mpi_program[512]; /* the first that loads an MPI library, or "" */
    char mpi_library[256]; /* the name of this library */
    /* The first that cannot be recorded, or "": "./app is linked statically, so mpit cannot be preloaded". */
    char hindrance[768];
    /* The program that the launcher starts, if no word is an MPI program: */
    char plain_program[512];   /* is linked to no MPI library */
    char plain_below[64];      /* but to this library below MPI, or "" */
    char missing_program[512]; /* a missing path in the command, if no word of it is a program */
};

void programs_examine(struct programs *programs, char *const words[]);

#endif
