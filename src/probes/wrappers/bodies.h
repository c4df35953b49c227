/*
 * The parts of the generated wrappers (wrappers.c in the build folder). generate_calls.py has the shapes.
 *
 *     MPI_Send        ──> body_MPI_Send(..., &next_of_c)           the gate leads there (switchboard.h)
 *     route_MPI_Send  ──> body_MPI_Send(..., &next_of_fortran)     the way from the library's Fortran layer (caller.h)
 *
 *     body_MPI_Send:  enter_comm: the thread is in the recorder, and its state says in which call
 *                     next->MPI_Send
 *                     leave_send: the event is folded, and kept
 *
 * The call always returns the result of the next definition. Before the call, handles are looked up only in mpit's own
 * tables. MPI is asked about them only after it has accepted them.
 */
#ifndef MPIT_PROBES_BODIES_H
#define MPIT_PROBES_BODIES_H

#include "gate.h"
#include "wrappers/collectives.h"
#include "wrappers/communicators.h"
#include "wrappers/completing.h"
#include "wrappers/hot.h"
#include "wrappers/made.h"
#include "wrappers/message.h"
#include "wrappers/objects.h"
#include "wrappers/posting.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow" /* MPI_STATUSES_IGNORE is an address, but not of an array */
#endif

#define BODY static __attribute__((noinline))
#define ROUTE HIDDEN extern

/* Some MPIs have integers for handles, some pointers. */
#define SESSION_HANDLE(session) ((session) ? (uint64_t)(uintptr_t) * (session) : 0)

#endif
