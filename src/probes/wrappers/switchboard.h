/*
 * The switchboard: where the gates of the wrapped functions lead.
 *
 *   usual                    MPI_Send:  gate ──> its hot case (hot.h), or the body
 *   mpit_timing 0            MPI_Send:  gate ──> the hot case without the clock
 *   counters are read        MPI_Send:  gate ──> the body
 *   threads run at once      MPI_Send:  gate ──> the body
 *   filtered, recording off  MPI_Send:  gate ──> the next MPI_Send
 *                            MPI_Isend: gate ──> the body, which keeps what is needed later, and records nothing
 *   a local function         MPI_Comm_rank: gate ──> the next MPI_Comm_rank, unless mpit_record_local_calls is on.
 *                            Functions that make or free a datatype or a group keep it (made.h)
 *
 * So an unused function costs nothing, and a call that is not recorded costs as little as possible. The PMPI_ gates
 * (profiled.h) and the ways from Fortran follow.
 *
 * Who may run with whom: any thread or signal handler may change the conditions. The gates are stored one by one, and
 * the last one who stores has seen the newest conditions. A call that is under way is recorded as it began.
 */
#ifndef MPIT_PROBES_SWITCHBOARD_H
#define MPIT_PROBES_SWITCHBOARD_H

#include "calls.h"
#include "base/linkage.h"

#include <stdbool.h>
#include <stddef.h>

enum profiled_way { PROFILED_LEFT, PROFILED_PASS, PROFILED_WRAPPER, PROFILED_ROUTE };

struct wrapped {
    const char *name;
    enum call kind;
    bool keeps; /* later calls need facts about this call even if it is not recorded */
    bool local;
    void **gate;
    void *usual;           /* the function of libmpit.so's entry */
    void *general;         /* for calls with a mode, or while threads run at once. `usual` if there is no hot case */
    void **gate_profiled;  /* of PMPI_name */
    void *route;           /* where PMPI_name leads if only the Fortran layer gets to the wrapper */
    void *const *next;     /* the next definition of the symbol */
    void *profiled;        /* the next PMPI_name. NULL: there is none */
    enum profiled_way way; /* of PMPI_name */
};

/* Generated. */
extern LIBRARY_LOCAL struct wrapped wrapped[];
extern LIBRARY_LOCAL const size_t wrapped_count;

/* A run begins: reads the filter, and follows all switches from here on. */
void switchboard_open(void);
/* The run is over: local functions are no longer counted. False: it goes on. */
void switchboard_close(bool over);
/* All gates pass for good. */
void switchboard_pass(void);
/* Recording is on or off, for all calls (mpit_recording). */
void switchboard_record(bool on);
bool switchboard_records(void);
/* Sets all gates. */
void switchboard_set(void);

/* An entry of the generated list. */
#define WRAPPED(kind, name, general, keeps, local)                                                                     \
    {                                                                                                                  \
#name, kind, keeps, local, &gate_##name, (void *)(name), (void *)(general), &gate_P##name,                     \
            (void *)route_##name, (void *const *)(void *)&next_of_c.name, NULL, PROFILED_LEFT                          \
    }

#endif
