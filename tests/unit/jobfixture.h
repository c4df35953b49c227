/*
 * A job's run files made by hand, one for each rank, with events in any order and of any content: what a sound recorder
 * would never write as well. (runfixture makes one file that is right in every byte.)
 */
#ifndef MPIT_UNIT_JOBFIXTURE_H
#define MPIT_UNIT_JOBFIXTURE_H

#include "run.h"

enum { RANKS_MAX = 4, THREADS_MAX = 2, CHUNK_EVENTS = 2000, BEGIN = 1000, END = 1000000, WORLD = 1, SELF = 2 };

struct rank_fixture {
    struct run run;
    struct thread_record *threads[THREADS_MAX];
    struct chunk_header *chunks[THREADS_MAX];
    uint64_t *cells[THREADS_MAX];
};

struct job_fixture {
    char directory[64];
    struct rank_fixture ranks[RANKS_MAX];
};

extern struct job_fixture job;

/* Setup and teardown of a test: the directory of the run files, and all that is in it. */
int job_directory_make(void **state);
int job_directory_remove(void **state);

/* A rank with thread 0, MPI_COMM_WORLD and MPI_COMM_SELF. */
void rank_make(int rank, int size);
void thread_make(struct rank_fixture *maker, uint32_t thread);
void comm_make(int rank, struct comm_record filled);
void rank_end(int rank, enum run_phase phase);

void event_put(int rank, int thread, struct event event);
/* An event of thread 0, its other fields by name: on communicator `slot`, on MPI_COMM_WORLD. */
#define PUT_IN(slot, rank, at, lasts, what, ...)                                                                       \
    event_put(rank, 0, (struct event){.begin = at, .duration = lasts, .kind = what, .comm = slot, ##__VA_ARGS__})
#define PUT(...) PUT_IN(WORLD, __VA_ARGS__)

#endif
