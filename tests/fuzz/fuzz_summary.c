/* Summaries: the flat form that lies in a section of a job file. An input is a list of patches. */
#define _GNU_SOURCE
#include "patched.h"
#include "reader/reader.h"
#include "runfixture.h"
#include "summary/summary.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct patched file;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static struct fixture fixture;
    struct run_reader reader;
    struct summary summary = {0};
    char path[sizeof fixture.directory + 16];
    (void)argc, (void)argv;
    fixture_fill(&fixture);
    size_t bytes;
    void *flat = NULL;
    if (run_reader_open(&reader, fixture.run.path) != 0 || summary_of_run(&summary, &reader) != 0 ||
        !(flat = summary_pack(&summary, &bytes)))
        errx(1, "no summary can be made");
    snprintf(path, sizeof path, "%s/flat", fixture.directory);
    FILE *out = fopen(path, "w");
    if (!out || fwrite(flat, bytes, 1, out) != 1 || fclose(out) != 0)
        err(1, "%s", path);
    patched_open(&file, path);
    free(flat);
    summary_release(&summary);
    run_reader_close(&reader);
    fixture_remove(&fixture);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[128] = "";
    struct summary summary = {0}, again = {0};
    size_t bytes;
    patched_apply(&file, data, size);
    size_t count = (size_t)lseek(file.fd, 0, SEEK_END);
    unsigned char *copy = malloc(count + 1); /* so that the sanitizer sees a read behind the end */
    if (!copy || pread(file.fd, copy, count, 0) != (ssize_t)count)
        err(1, "no memory");
    if (summary_unpack(&summary, copy, count, error) == 0) {
        void *flat = summary_pack(&summary, &bytes); /* what was accepted can be sent on, and is accepted again */
        if (!flat || summary_unpack(&again, flat, bytes, error) != 0 || summary_merge(&again, &summary) != 0)
            abort();
        free(flat);
    } else if (!error[0]) {
        abort();
    }
    summary_release(&again);
    summary_release(&summary);
    free(copy);
    return 0;
}
