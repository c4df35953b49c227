/*
 * Questions of the user: how long would the run take if one thing were different (worlds.h).
 *
 *   latency x0.5       messages between hosts, or between ranks of a single host, take half the latency (network.h)
 *   latency +100us     or so much longer
 *   bandwidth x2       a byte of them takes half as long
 *   computing x0.5     computation takes half as long
 *   rank 3 balanced    this rank computes as long as the others do on average
 *   PLACE free         calls at PLACE, or below it, cost nothing and need nobody: halo.c:72, a function of the program or of MPI
 */
#ifndef MPIT_TOOLS_QUESTIONS_H
#define MPIT_TOOLS_QUESTIONS_H

#include "analysis/analysis.h"

#include <jansson.h>
#include <stdio.h>

enum question_kind { ASK_LATENCY, ASK_LATENCY_MORE, ASK_BANDWIDTH, ASK_COMPUTING, ASK_RANK, ASK_PLACE };

struct question {
    const char *text; /* the user's */
    enum question_kind kind;
    double amount; /* factor, or nanoseconds */
    int32_t rank;
};

enum { QUESTIONS_MOST = WORLDS_MOST - WORLDS_FIXED - 1, QUESTION_PROBLEM_BYTES = 512 };

struct answers {
    const struct question *questions;
    size_t count;
    double recorded_ns;
    double run_ns[QUESTIONS_MOST]; /* below 0: it has no answer */
    const char *why[QUESTIONS_MOST];
};

/* Reads one. Returns 0, or -1 with the error in `problem`. */
int question_read(struct question *question, const char *text, char problem[QUESTION_PROBLEM_BYTES]);
/* Replays the trace of an open analysis once. Returns 0. -1: no memory, or `why` says why it cannot be replayed. */
int questions_ask(struct answers *answers, const struct analysis *analysis, const struct question *questions,
                  size_t count, const char **why);
void answers_print(const struct answers *answers, FILE *out);
/* NULL: no memory. */
json_t *answers_json(const struct answers *answers);

/* Returns why a trace cannot be replayed. NULL: it can. */
const char *replay_obstacle(const struct analysis *analysis);

#endif
