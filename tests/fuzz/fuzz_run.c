/* Run files: the first byte of an input chooses, the others are patches. Its upper half is 0 for a file of today, as it
 * is written or, where bit 0 is set, compact; or the number of a sample among those that MPIT_FUZZ_SAMPLES names
 * (separated by spaces). */
#include "format/compact.h"
#include "job/compaction.h"
#include "patched.h"
#include "runfixture.h"
#include "walk.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { SAMPLES_MOST = 32 };

static struct patched written, compact, samples[SAMPLES_MOST];
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

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static struct fixture fixture;
    struct run_dir dir;
    struct compaction result;
    char error[512];
    (void)argc, (void)argv;
    fixture_fill(&fixture);
    patched_open(&written, fixture.run.path);
    if (run_dir_open(&dir, fixture.directory, error) != 0 || compaction_run(&dir, NULL, 1, &result, error) != 0)
        errx(1, "%s", error);
    run_dir_close(&dir);
    patched_open(&compact, fixture.run.path);
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
                           : data[0] & 1          ? &compact
                                                  : &written;
    patched_apply(file, data + 1, size - 1);
    run_walk(file->path);
    return 0;
}
