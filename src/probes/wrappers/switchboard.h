/*
 * The switchboard: where the gates of the wrapped functions lead.
 *
 *   usual                    MPI_Send: gate ──> plain body, which reads the clock twice
 *   mpit_timing not 1        MPI_Send: gate ──> plain body that only counts; one call of a lot goes on to the general
 *   counters are read        MPI_Send: gate ──> general body, where they are read at begin and end
 *                            one
 *   filtered, recording off  MPI_Send: gate ──> the next MPI_Send
 *                            MPI_Isend: gate ──> general body, which keeps what is needed later, and records nothing
 *   a local function         MPI_Comm_rank: gate ──> the next MPI_Comm_rank, unless mpit_record_local_calls is on
 *
 * So what is not used costs nothing, and what is not recorded as little as can be. PMPI_ gates (profiled.h) and the
 * ways from Fortran (fortran.c) go along.
 *
 * Who may run with whom: anybody may change what it depends on, a signal handler too; the gates are stored one by one,
 * and the last one who stores has seen the newest. A call that is under way is recorded as it began.
 */
#ifndef MPIT_PROBES_SWITCHBOARD_H
#define MPIT_PROBES_SWITCHBOARD_H

#include "calls.h"
#include "base/linkage.h"

#include <stdbool.h>
#include <stddef.h>

/* The bodies of a wrapper; the same address where it has only one. */
struct bodies {
    void **way; /* the gate, or the way from Fortran */
    void *timed, *counted, *general;
};

enum profiled_way { PROFILED_LEFT, PROFILED_PASS, PROFILED_WRAPPER, PROFILED_ROUTE };

struct wrapped {
    const char *name;
    enum call kind;
    bool keeps; /* of a call that is not recorded something is needed later */
    bool local;
    struct bodies bodies;
    void **gate_profiled;  /* of PMPI_name */
    void *route;           /* the way of PMPI_name where only the Fortran layer gets to the wrapper */
    void *const *next;     /* the next definition of the symbol */
    void *profiled;        /* PMPI_name behind us; NULL: there is none */
    enum profiled_way way; /* of PMPI_name */
};

/* Generated; in the same order, the second list as the Fortran layer gets there. */
extern LIBRARY_LOCAL struct wrapped wrapped[];
extern LIBRARY_LOCAL const struct bodies wrapped_fortran[];
extern LIBRARY_LOCAL const size_t wrapped_count;

/* A run begins: the filter is read, and what is switched from here on is followed. */
void switchboard_open(void);
/* The run is over: local functions are no longer counted; or (false) it goes on. */
void switchboard_close(bool over);
/* All gates pass from now on, whatever happens. */
void switchboard_pass(void);
/* MPI_Pcontrol: on or off. */
void switchboard_record(bool on);
bool switchboard_records(void);
/* Sets all gates. */
void switchboard_set(void);

/* How the generated list is put together (wrappers.c). */
#define WRAPPED_DECLARE(name) extern char route_##name[] HIDDEN
#define WRAPPED_LIST struct wrapped wrapped[]
#define WRAPPED_END const size_t wrapped_count = sizeof wrapped / sizeof wrapped[0]
#define WRAPPED(kind, name, timed, counted, general, keeps, local)                                                     \
    {                                                                                                                  \
#name, kind, keeps, local,                                                                                     \
            {&gate_##name, (void *)(timed), (void *)(counted), (void *)(general) }, &gate_P##name,                     \
             (void *)route_##name, (void *const *)(void *)&next.name, NULL, PROFILED_LEFT                              \
    }

#endif
