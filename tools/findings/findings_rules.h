/*
 * The rules behind findings.h: one function a fault. It returns false if there is nothing to say.
 *
 *   findings.c         facts, the table of rules
 *   findings_ranks.c   rules on figures by rank and host
 *   findings_memory.c  notes on memory
 *   findings_openmp.c  threads of OpenMP
 *   findings_calls.c   rules on call sites
 *   findings_cures.c   what a replay of the trace has found, in place of both
 */
#ifndef MPIT_TOOLS_FINDINGS_RULES_H
#define MPIT_TOOLS_FINDINGS_RULES_H

#include "findings/findings.h"
#include "summary/efficiency.h"
#include "summary/hostload.h"

/* The least share of the run time. */
#define LEAST_SHARE 0.02

/* What several rules need. Times are seconds. */
struct facts {
    double analysed; /* seconds of the run that the trace has */
    const struct summary *summary;
    const struct host_load *loads; /* by host */
    struct efficiency efficiency;
    double run;       /* the longest run time */
    double ranks;     /* processes with figures */
    double threads;   /* of these processes, that call MPI */
    double imbalance; /* mean time that a rank waits for the rank with the most useful time */
    bool stalls;      /* stalls are known for all of them */
    double stall_mean, stall_least;
    const struct summary_site *waiting; /* a site of the place with the most stall. NULL: none */
    uint32_t slow_host;                 /* slow_node is about it. UINT32_MAX: none */
    int32_t hot_rank;                   /* hot_spot is about it. -1: none */
    double explained;                   /* cost of the findings so far that are calls of their own */
};

static inline double seconds_of(uint64_t ns)
{
    return (double)ns * 1e-9;
}

static inline double useful_of(const struct summary_row *row)
{
    return seconds_of(row->useful_ns);
}

/* Of a process with several threads: their mean. */
static inline double stall_of(const struct summary_row *row)
{
    return seconds_of(row->stall_ns) / (double)row->threads;
}

/* Time in MPI that is not a stall. */
static inline double work_of(const struct summary_row *row)
{
    uint64_t work = row->mpi_ns > row->stall_ns ? row->mpi_ns - row->stall_ns : 0;
    return seconds_of(work) / (double)row->threads;
}

/* Adds to the text. What has no room is cut. */
void finding_append(struct finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum { RANKS_TEXT_BYTES = 96, PLACE_TEXT_BYTES = 176, SEGMENT_TEXT_BYTES = 2 * PLACE_TEXT_BYTES + 16 };
/* "Rank 2" or "Ranks 2, 5, 6, 7 and 12 others". */
const char *finding_ranks_text(const struct finding *finding, char text[RANKS_TEXT_BYTES]);
/* "MPI_Recv (halo.c:72 exchange)". A long place is cut. */
const char *finding_place_text(const struct facts *facts, const struct summary_site *site, char text[PLACE_TEXT_BYTES]);
/* "MPI_Recv (halo.c:72 exchange < halo.c:90 main)": with the caller. */
const char *finding_caller_text(const struct facts *facts, const struct summary_site *site,
                                char text[PLACE_TEXT_BYTES]);

/* The start and the end of MPI, which are outside of the run time. */
bool site_is_outside(const struct summary_site *site);

/* findings_ranks.c. slow_node comes before load_imbalance, and hot_spot before late_rank and late_receives: they
 * leave out what it has told. */
bool find_oversubscribed(struct facts *facts, struct finding *finding);
bool find_idle_threads(struct facts *facts, struct finding *finding);
bool find_slow_node(struct facts *facts, struct finding *finding);
bool find_load_imbalance(struct facts *facts, struct finding *finding);
bool find_hot_spot(struct facts *facts, struct finding *finding);
bool find_late_rank(struct facts *facts, struct finding *finding);
bool find_long_init(struct facts *facts, struct finding *finding);
bool find_waits_unexplained(struct facts *facts, struct finding *finding);

/* findings_cures.c: the finding of a replay. */
/* " between MPI_Recv (halo.c:64) and MPI_Send (halo.c:72)": the hashes of both sites. Or "". */
const char *finding_segment_text(const struct facts *facts, uint64_t first, uint64_t second,
                                 char text[SEGMENT_TEXT_BYTES]);
/* Returns false for what no replay finds: of a damaged file. */
bool cure_is_sound(const struct summary_cure *cure);
void finding_of_cure(const struct facts *facts, const struct summary_cure *cure, struct finding *finding);

/* findings_openmp.c */
bool find_serial_part(struct facts *facts, struct finding *finding);
bool find_openmp_imbalance(struct facts *facts, struct finding *finding);
bool find_openmp_overhead(struct facts *facts, struct finding *finding);

/* findings_calls.c. Their seconds are 0. */
bool find_mismatch(struct facts *facts, struct finding *finding);
bool find_messages_left(struct facts *facts, struct finding *finding);
bool find_objects_left(struct facts *facts, struct finding *finding);

/* findings_memory.c. Their seconds are 0. */
bool find_memory_full(struct facts *facts, struct finding *finding);
bool find_memory_uneven(struct facts *facts, struct finding *finding);
bool find_memory_grows(struct facts *facts, struct finding *finding);

/* findings_calls.c */
const struct summary_site *find_waiting(const struct facts *facts);
bool find_small_messages(struct facts *facts, struct finding *finding);
bool find_polling(struct facts *facts, struct finding *finding);
bool find_many_small_collectives(struct facts *facts, struct finding *finding);
bool find_barriers(struct facts *facts, struct finding *finding);
bool find_made_in_loop(struct facts *facts, struct finding *finding);
bool find_small_io(struct facts *facts, struct finding *finding);
bool find_late_receives(struct facts *facts, struct finding *finding);

#endif
