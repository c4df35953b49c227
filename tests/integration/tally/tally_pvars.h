/*
 * The variables as a tool sees them: found by name and class, bound to a communicator, read, and held against the book.
 */
#ifndef TALLY_PVARS_H
#define TALLY_PVARS_H

#include "tally_book.h"

#include <mpi.h>

enum { PVAR_SLOTS = 512 };

/* One handle of one variable. */
struct pvar {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int count;
    bool continuous;
};

/* Finds the variables and checks what get_info says of them. False: mpit is not there. */
bool pvars_open(void);
void pvars_close(void);

/* Handles of every variable for the book's communicator, started; book.pvars keeps them. */
void pvars_bind(struct book *book);
void pvars_release(struct book *book);

/* The same for mpit_call_count, which belongs to the process. */
void pvars_bind_calls(void);

void pvars_compare(struct book *book);
void pvars_compare_calls(void);

/* Reads slot `slot` of a bound variable. */
uint64_t pvars_read(const struct book *book, const char *name, int slot);

/* A handle of its own; comm may be NULL for a variable of the process. */
struct pvar pvar_open(MPI_T_pvar_session session, const char *name, int class, MPI_Comm *comm);
uint64_t pvar_value(const struct pvar *pvar, int slot);
void pvar_values(const struct pvar *pvar, uint64_t *values);
void pvar_start(const struct pvar *pvar);
void pvar_close(struct pvar *pvar);

/* An MPI_T call that failed ends the test. */
void tool_check(int code, const char *what, const char *name);

#endif
