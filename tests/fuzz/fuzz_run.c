/* Run files, as they are written and compact: the first byte of an input chooses, the others are patches. */
#include "compact.h"
#include "compaction.h"
#include "patched.h"
#include "runfixture.h"
#include "walk.h"

#include <err.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct patched written, compact;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static struct fixture fixture;
    struct run_dir dir;
    struct compaction result;
    char error[512];
    (void)argc, (void)argv;
    fixture_fill(&fixture);
    patched_open(&written, fixture.run.path);
    if (run_dir_open(&dir, fixture.directory, error) != 0 || compaction_run(&dir, 1, &result, error) != 0)
        errx(1, "%s", error);
    run_dir_close(&dir);
    patched_open(&compact, fixture.run.path);
    fixture_remove(&fixture);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct patched *file = data[0] & 1 ? &compact : &written;
    patched_apply(file, data + 1, size - 1);
    run_walk(file->path);
    return 0;
}
