/* What the parts of instrument_check share. */
#ifndef MPIT_TESTS_INSTRUMENT_CHECK_H
#define MPIT_TESTS_INSTRUMENT_CHECK_H

#include <mpit/mpi_t.h>

#include <stdio.h>

extern int passed, failed;
extern MPI_T_pvar_session session;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            passed++;                                                                                                  \
        } else {                                                                                                       \
            failed++;                                                                                                  \
            printf("not ok line %d: %s\n", __LINE__, #condition);                                                      \
        }                                                                                                              \
    } while (0)

/* -1: there is none. */
int index_of(const char *name, int class);
/* Started; with a line where there is none. */
MPI_T_pvar_handle handle_of(const char *name, int class, MPI_Comm *comm);
unsigned long long value_of(MPI_T_pvar_handle handle);
double real_of(MPI_T_pvar_handle handle);

/* With threads, signals and a fork (instrument_threads.c). */
void nothing_is_lost_or_doubled(void);
void removal_is_safe_while_others_read(void);
void child_of_fork_counts_for_itself(void);

#endif
