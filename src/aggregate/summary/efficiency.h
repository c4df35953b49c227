/*
 * Efficiencies of a job, after POP (pop-coe.eu) and TALP. U = useful time of a process (recorded, outside of MPI), T = the
 * longest recorded time.
 *
 *   parallel efficiency      = mean(U) / T       = load balance x communication efficiency
 *   load balance             = mean(U) / max(U)  = balance in nodes x balance between nodes
 *     in nodes               = M / max(U)        M: the largest mean(U) of a node
 *     between nodes          = mean(U) / M
 *   communication efficiency = max(U) / T        = serialization x transfer
 *     serialization          = max(U) / T_ideal  T_ideal: T on a network that takes no time, from a trace
 *     transfer               = T_ideal / T
 *
 * That is the MPI efficiency. With figures of OpenMP, U is the mean of the threads, and so is what they do not use of it. The parallel
 * efficiency is then MPI efficiency x OpenMP efficiency. W = thread time outside of MPI of all processes:
 *
 *   OpenMP efficiency = useful / W = serial x balance x scheduling
 *     serial          = (W - idle outside of regions) / W
 *     balance         = (W - idle outside - imbalance) / (W - idle outside)
 *     scheduling      = useful / (W - idle outside - imbalance)
 *
 * Pure: no file, no clock, no global state. Tools call it for a run, mpit-top for an interval.
 */
#ifndef MPIT_AGGREGATE_EFFICIENCY_H
#define MPIT_AGGREGATE_EFFICIENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The times of a process. Of several threads, `useful` is their mean. Any unit will do. */
struct efficiency_part {
    double run, useful;
    uint32_t host; /* 0, 1, ... */
};

struct efficiency {
    bool known;                     /* false: the others are 0 */
    double run, mean, max, in_node; /* T, mean(U), max(U), M: in the unit of the parts */
    double parallel, load_balance, load_balance_in_node, load_balance_between_nodes, communication;
    bool split; /* false: the others are 0 */
    double ideal, serialization, transfer;
    double mpi;    /* parallel = mpi x openmp */
    bool threaded; /* false: openmp is 1, and so are its factors */
    double openmp, openmp_serial, openmp_balance, openmp_scheduling;
};

/* Not known without parts, or if no part has a run time. `hosts` is more than each part.host. */
struct efficiency efficiency_of(const struct efficiency_part *parts, size_t count, size_t hosts);

/* Splits the communication efficiency. `ideal` is T_ideal in the unit of the parts. */
void efficiency_split(struct efficiency *is, double ideal);

struct openmp_sums;
/* Adds the OpenMP efficiency. */
void efficiency_thread(struct efficiency *is, const struct openmp_sums *sums);

struct summary;
/* Of a job. Not known if calls were not recorded or not timed. */
struct efficiency summary_efficiency(const struct summary *summary);
/* Why it is not known: a part of a sentence. NULL: no reason that a user can do something about. */
const char *efficiency_obstacle(const struct summary *summary);
struct summary_phase;
/* Of a phase: over the `ranks` processes that were in it. Of several threads in it, times are sums. */
struct efficiency summary_phase_efficiency(const struct summary *summary, const struct summary_phase *first,
                                           size_t ranks);

#endif
