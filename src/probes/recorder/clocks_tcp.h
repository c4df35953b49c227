/*
 * Clocks measured over TCP, by the leader of each node. The leader is the process with the lowest rank on the node, as
 * the launcher says. If the launcher does not say so, or on a single node, nothing is done.
 *
 *    rank 0's leader                          the other leaders
 *    listens, leaves its address in a file
 *    MPI_Init of the library, where processes wait for each other; so the file is there afterwards
 *    gathers the others                <──    find the file, join          clockparty.h
 *    answers                           <──    measure, answer
 *    removes the file
 *
 * The same around MPI_Finalize. The bounds hold for any state of the others: dead, stopped, without mpit, other
 * settings.
 */
#ifndef MPIT_PROBES_CLOCKS_TCP_H
#define MPIT_PROBES_CLOCKS_TCP_H

enum clocks_stage { CLOCKS_BEGIN, CLOCKS_END };

/* Call it before the library's function. */
void clocks_tcp_expect(enum clocks_stage stage);
/* Call it after the library's function. */
void clocks_tcp_measure(enum clocks_stage stage);

#endif
