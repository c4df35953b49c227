#include "profile/jobnames.h"

#include "base/systemclock.h"
#include "jobfile/summaryfile.h"
#include "job/join.h"
#include "profile/stacks.h"
#include "symbols/storednames.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAY_SECONDS = 2 };

struct naming {
    struct symbols *symbols;
    uint64_t begin_ns;
    bool quiet, said, over;
};

/* Returns whether there is still time. */
static bool time_is_left(struct naming *naming)
{
    uint64_t passed = (monotonic_ns() - naming->begin_ns) / 1000000000;
    if (passed >= SAY_SECONDS && !naming->said && !naming->quiet)
        fprintf(stderr, "mpit-run: looking up the names of functions, for at most %d s\n", JOB_NAMES_SECONDS);
    naming->said |= passed >= SAY_SECONDS;
    naming->over |= passed >= JOB_NAMES_SECONDS;
    return !naming->over;
}

/* The walk has looked up all addresses of the sample. */
static int sample_pass(void *data, const struct stack_sample *sample)
{
    (void)sample;
    return time_is_left(data) ? 0 : 1;
}

/* As the call sites are looked up (sitenames.c). */
static void frame_look_up(const struct naming *naming, const struct run_reader *run, uint64_t frame)
{
    const struct module_record *record = run_reader_module(run, frame);
    if (!record)
        return;
    struct module module = {.end = UINT64_MAX,
                            .path = record->path,
                            .build_id = record->build_id,
                            .build_id_bytes = record->build_id_bytes};
    symbols_look_up(naming->symbols, &module, "", (frame & PATH_OFFSET_MASK) - 1);
}

static void path_look_up(const struct naming *naming, const struct run_reader *run, const struct path_record *path)
{
    for (uint32_t i = 0; path && i < path->frames; i++)
        frame_look_up(naming, run, path->frame[i]);
}

static void paths_look_up(struct naming *naming, const struct run_job *job)
{
    for (size_t i = 0; i < job->file_count && !naming->over; i++) {
        const struct run_reader *run = run_job_file(job, i);
        for (uint32_t number = 1; number < run->path_count && time_is_left(naming); number++)
            path_look_up(naming, run, run_reader_path_of(run, number));
        const struct run_openmp *openmp = run_reader_openmp(run);
        for (uint32_t number = 0; openmp && number < OPENMP_REGIONS && time_is_left(naming); number++)
            frame_look_up(naming, run, openmp->region[number].frame);
        run_reader_rest(run);
    }
}

/* Returns whether all names are stored. */
static bool names_write(const struct run_dir *dir, const struct run_job *job, const struct symbols *symbols)
{
    struct names_list list;
    names_list_begin(&list, job->job);
    symbols_keep(symbols, &list);
    bool whole = !list.full;
    bool some = list.summary.sites.frame_count > 0;
    struct section_header *section = some ? summary_section_make_whole(&list.summary, SECTION_NAMES) : NULL;
    if (some && (!section || run_job_append(dir, job, section) != 0))
        warn("note: the names of functions cannot be stored in %s", dir->path);
    free(section);
    names_list_release(&list);
    return whole;
}

void job_names_store(const struct run_dir *dir, bool quiet)
{
    struct naming naming = {.begin_ns = monotonic_ns(), .quiet = quiet};
    bool whole = true;
    for (size_t i = 0; i < dir->job_count && whole; i++) {
        const struct run_job *job = &dir->jobs[i];
        struct stacks stacks;
        if (!job->file_count || job->trace_goes) /* the summary has its names */
            continue;
        if (stacks_open(&stacks, job, NULL, false) == 0) {
            naming.symbols = stacks.symbols;
            whole = stacks_walk(&stacks, sample_pass, &naming) == 0;
            paths_look_up(&naming, job);
            whole = names_write(dir, job, stacks.symbols) && whole && !naming.over;
        } else {
            whole = false;
        }
        stacks_release(&stacks);
    }
    if (!whole)
        warnx("note: not all names of functions are stored with the run%s. mpit-dump looks up the others in the "
              "program's files",
              naming.over ? ", since that takes too long" : "");
}
