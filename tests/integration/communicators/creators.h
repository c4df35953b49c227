/*
 * What the parts of the program creators share: it makes communicators in every way there is, and counts for itself
 * what it does on each. One line for each communicator of each process:
 *
 *     comm LABEL world=PID rank=R size=S remote=T sent=N bytes=B received=N bytes=B colls=N bytes=B
 *
 * test_creators.sh holds that against what mpit says of the communicator whose name is the label's (creators.py).
 */
#ifndef MPIT_TESTS_CREATORS_H
#define MPIT_TESTS_CREATORS_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int world_rank, world_size;
extern const char *scratch_directory;

/* What this process did on a communicator. */
struct account {
    char label[64];
    int rank, size, remote;
    unsigned long long sent, sent_bytes, received, received_bytes, colls, coll_bytes;
};

/* Says it in one write. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the program if it does not hold. */
#define EXPECT(what)                                                                                                   \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            say("process %d: line %d of %s: %s does not hold\n", world_rank, __LINE__, __FILE__, #what);               \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Messages and collectives on an intra-communicator. */
void use_intra(MPI_Comm comm, const char *label);
/* On an inter-communicator; `first`: this process is in the group that has the roots. */
void use_inter(MPI_Comm comm, int first, const char *label);
/* A communicator that is not used. */
void use_not(MPI_Comm comm, const char *label);

int creators_here(void);               /* four processes */
int creators_spawn(char **argv);       /* two processes that spawn */
int creators_meet(const char *role);   /* server or client, two jobs */
int creators_threads(void);            /* four processes with two threads each */
int creators_sessions(int with_world); /* without MPI_Init, or around it */

#endif
