/* Names that are stored with a run: a summary with frames alone. An input is a list of patches. */
#define _GNU_SOURCE
#include "patched.h"
#include "summary/summarysites.h"
#include "symbols/storednames.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct patched file;

static void names_fill(struct names_list *list)
{
    static const uint8_t build_id[] = {1, 2, 3, 4};
    const struct symbol_line lines[] = {{"kernel", "kernel.h", 3}, {"solve", "solve.c", 14}};
    for (unsigned module = 0; module < 3; module++) {
        names_list_module(list, module ? "/x/libfoo.so" : "/x/app", build_id, module);
        for (uint64_t address = 0x100; address < 0x400; address += 0x80)
            names_list_place(list, &(struct symbol_place){lines, address % 0x100 ? 2 : 1, "app", address, address - 9});
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[] = "/tmp/mpit-fuzz.XXXXXX";
    struct names_list list;
    size_t bytes;
    (void)argc, (void)argv;
    names_list_begin(&list, 1);
    names_fill(&list);
    void *flat = summary_pack(&list.summary, &bytes);
    int fd = mkstemp(path);
    if (!flat || list.full || fd < 0 || write(fd, flat, bytes) != (ssize_t)bytes)
        err(1, "%s", path);
    patched_open(&file, path);
    close(fd);
    unlink(path);
    free(flat);
    names_list_release(&list);
    return 0;
}

/* Looks up all addresses in the file. */
static void names_walk(const struct stored_names *names, const struct summary_sites *sites)
{
    for (uint64_t i = 0; i < sites->frame_count; i++) {
        const struct summary_frame *frame = &sites->frames[i];
        const struct summary_module *known = &sites->modules[frame->module - 1];
        const struct module module = {.build_id = known->build_id, .build_id_bytes = known->build_id_bytes};
        const struct symbol_place *place =
            stored_names_find(names, summary_text(sites, known->path), &module, frame->address);
        size_t letters = 0;
        for (unsigned line = 0; place && line < place->count; line++) {
            letters += place->lines[line].function ? strlen(place->lines[line].function) : 0;
            letters += place->lines[line].file ? strlen(place->lines[line].file) : 0;
        }
        if (!place || !place->count || letters > sites->text_bytes * 2 * place->count)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[128] = "";
    struct summary summary = {0}, same = {0};
    patched_apply(&file, data, size);
    size_t count = (size_t)lseek(file.fd, 0, SEEK_END);
    unsigned char *copy = malloc(count + 1); /* so that the sanitizer sees a read behind the end */
    if (!copy || pread(file.fd, copy, count, 0) != (ssize_t)count)
        err(1, "no memory");
    if (summary_unpack(&summary, copy, count, error) == 0 && summary_unpack(&same, copy, count, error) == 0) {
        struct stored_names *names = stored_names_open(&summary, error);
        if (names)
            names_walk(names, &same.sites);
        stored_names_close(names);
        summary_release(&same);
    }
    free(copy);
    return 0;
}
