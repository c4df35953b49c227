/*
 * The outputs of mpit-dump that use samples. Each returns the tool's exit status, or ends the tool with a message if it
 * cannot show any samples.
 */
#ifndef MPIT_TOOLS_SAMPLEVIEW_H
#define MPIT_TOOLS_SAMPLEVIEW_H

#include "job/rundir.h"
#include "job/select.h"

#include <stdbool.h>

struct sample_request {
    const struct selection *selection;
    bool internal; /* including functions inside MPI */
    bool json;
    const char *target; /* "-": standard output */
};

int sampleview_profile(const struct run_dir *dir, const struct sample_request *request);
/* It has one job. */
int sampleview_pprof(const struct run_dir *dir, const struct sample_request *request);

/* If there are several jobs, prints which of them follows. All outputs use it. */
void job_title_print(const struct run_dir *dir, size_t i);

#endif
