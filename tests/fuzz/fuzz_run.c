/* Run files: the first byte of an input chooses, the others are patches. Its upper half is 0 for a file of today, as it
 * is written or, where bit 0 is set, in a job file; or the number of a sample among those that MPIT_FUZZ_SAMPLES names
 * (separated by spaces). */
#include "jobfile/summaryfile.h"
#include "format/packedrun.h"
#include "jobfile/jobwriter.h"
#include "summary/summary.h"
#include "patched.h"
#include "runfixture.h"
#include "walk.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { SAMPLES_MOST = 32 };

static struct patched written, packed, samples[SAMPLES_MOST];
static unsigned sample_count;

static void samples_open(void)
{
    char *names = getenv("MPIT_FUZZ_SAMPLES"), *copy = names ? strdup(names) : NULL, *rest = NULL;
    for (char *name = copy ? strtok_r(copy, " ", &rest) : NULL; name; name = strtok_r(NULL, " ", &rest)) {
        if (sample_count == SAMPLES_MOST)
            errx(1, "more than %d samples", SAMPLES_MOST);
        patched_open(&samples[sample_count++], name);
    }
    free(copy);
}

static void packed_write(const char *path, const char *run)
{
    struct run_reader reader;
    struct job_writer writer;
    struct summary summary = {.ranks = 0};
    FILE *file = fopen(path, "w+");
    if (!file || run_reader_open(&reader, run) != 0 || summary_of_run(&summary, &reader) != 0)
        errx(1, "%s", path);
    struct section_header *section = summary_section_make_whole(&summary, SECTION_SUMMARY);
    if (!section || job_writer_begin(&writer, fileno(file), reader.header.job, 1) != 0 ||
        job_writer_process(&writer, &reader, NULL) != 0 || job_writer_section(&writer, section) != 0 ||
        job_writer_end(&writer) != 0)
        err(1, "%s", path);
    job_writer_release(&writer);
    summary_release(&summary);
    run_reader_close(&reader);
    free(section);
    fclose(file);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static struct fixture fixture;
    char path[sizeof fixture.directory + 16];
    (void)argc, (void)argv;
    fixture_fill(&fixture);
    packed_enable();
    patched_open(&written, fixture.run.path);
    snprintf(path, sizeof path, "%s/packed", fixture.directory);
    packed_write(path, fixture.run.path);
    patched_open(&packed, path);
    fixture_remove(&fixture);
    samples_open();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    unsigned sample = data[0] >> 4;
    struct patched *file = sample && sample_count ? &samples[(sample - 1) % sample_count]
                           : data[0] & 1          ? &packed
                                                  : &written;
    patched_apply(file, data + 1, size - 1);
    run_walk(file->path);
    return 0;
}
