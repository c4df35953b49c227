/*
 * The programs in a command. Each process finds its MPI itself. These functions read the programs' files, for messages
 * and for --fabric.
 */
#ifndef MPIT_TOOLS_PROGRAMS_H
#define MPIT_TOOLS_PROGRAMS_H

enum { PROGRAM_WORD_BYTES = 512, PROGRAM_REASON_BYTES = 1024 };

/* Explains why nothing was recorded, after a command with this exit status. "./app is linked statically, so mpit ..." */
void programs_explain(char *const words[], int status, char reason[PROGRAM_REASON_BYTES]);

/* If the program is linked to a library below MPI and no program in the command has MPI, returns the program's word, and
 * writes the name of this library. Otherwise returns NULL. */
const char *program_below(char *const words[], char library[PROGRAM_WORD_BYTES]);

#endif
