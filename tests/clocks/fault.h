/* What is wrong with the clock of a node: known to those who break it and to those who judge the repair. */
#ifndef MPIT_CLOCKS_FAULT_H
#define MPIT_CLOCKS_FAULT_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fault {
    int node, nodes;
    int64_t begin_ns, offset_ns;
    double drift, wobble_ns;
};

/* That of the node on which the rank is. -1: the environment does not say. */
static inline int fault_read(struct fault *fault, int rank)
{
    const char *begin = getenv("FAULT_BEGIN_NS"), *nodes = getenv("FAULT_NODES");
    char text[4096];
    int count = 1;
    if (!begin || !nodes || strlen(nodes) >= sizeof text)
        return -1;
    memcpy(text, nodes, strlen(nodes) + 1);
    for (const char *c = text; *c; c++)
        count += *c == ',';
    char *word = text;
    *fault = (struct fault){.node = rank % count, .nodes = count, .begin_ns = atoll(begin)};
    for (int i = 0; i < fault->node; i++)
        word = strchr(word, ',') + 1;
    double offset = 0, ppm = 0, wobble = 0;
    if (sscanf(word, "%lf:%lf:%lf", &offset, &ppm, &wobble) < 2)
        return -1;
    fault->offset_ns = (int64_t)offset;
    fault->drift = ppm * 1e-6;
    fault->wobble_ns = wobble;
    return 0;
}

/* How much the clock is ahead at a true time. */
static inline int64_t fault_ns(const struct fault *fault, int64_t true_ns)
{
    double since = (double)(true_ns - fault->begin_ns);
    double wobble = fault->wobble_ns ? fault->wobble_ns * sin(since * 3.14159265358979 / 1e9) : 0;
    return fault->offset_ns + (int64_t)floor(since * fault->drift + wobble);
}

/* The true time at which the clock showed `local_ns`. */
static inline int64_t fault_undo(const struct fault *fault, int64_t local_ns)
{
    int64_t at = local_ns - fault->offset_ns;
    for (int i = 0; i < 6; i++)
        at = local_ns - fault_ns(fault, at);
    return at;
}

#endif
