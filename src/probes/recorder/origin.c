#define _GNU_SOURCE
#include "recorder/origin.h"

#include "base/hash.h"
#include "recorder/batch.h"
#include "site/hide.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* /proc/self/cmdline has a NUL after each word. Words with blanks get quotes. */
static void command_note(char text[ORIGIN_COMMAND_BYTES])
{
    char words[ORIGIN_COMMAND_BYTES], hidden[ORIGIN_COMMAND_BYTES];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? -1 : read(fd, words, sizeof words - 1);
    if (fd >= 0)
        close(fd);
    size_t used = 0;
    for (ssize_t at = 0, length; at < bytes && used < ORIGIN_COMMAND_BYTES - 1; at += length + 1) {
        const char *word = words + at;
        words[bytes] = '\0';
        length = (ssize_t)strlen(word);
        if (!at && hides(HIDE_PROGRAM)) {
            hide_path(hidden, sizeof hidden, word);
            word = hidden;
        }
        const char *quote = strpbrk(word, " \t\n") || !*word ? "'" : "";
        int n = snprintf(text + used, ORIGIN_COMMAND_BYTES - used, "%s%s%s%s", at ? " " : "", quote, word, quote);
        used += n > 0 ? (size_t)n : 0;
        if (hides(HIDE_ARGUMENTS))
            return;
    }
}

/* The name comes from the environment, because a lookup could ask a server. The number identifies the user. */
void origin_user(char text[ORIGIN_USER_BYTES])
{
    const char *name = getenv("USER");
    if (!name || !*name)
        name = getenv("LOGNAME");
    snprintf(text, ORIGIN_USER_BYTES, "%s", name ? name : "");
    if (!hides(HIDE_USER))
        return;
    if (!*text) /* tools would look up the name */
        snprintf(text, ORIGIN_USER_BYTES, "%lu", (unsigned long)geteuid());
    hide_text(text, ORIGIN_USER_BYTES, text);
}

void origin_program(char text[NAME_MAX + 1])
{
    snprintf(text, NAME_MAX + 1, "%s", program_invocation_short_name);
    if (hides(HIDE_PROGRAM))
        hide_text(text, NAME_MAX + 1, text);
}

static void processors_note(struct run_header *header)
{
    cpu_set_t processors;
    if (sched_getaffinity(0, sizeof processors, &processors) != 0)
        return;
    header->processors = (uint32_t)CPU_COUNT(&processors);
    header->processor_set = hash_bytes(HASH_BEGIN, &processors, sizeof processors) | 1;
}

void origin_note(struct run *run)
{
    uint64_t offset;
    struct origin_record *origin = run_has_file(run) ? run_alloc(run, sizeof *origin, &offset) : NULL;
    if (!origin || !offset)
        return;
    origin_user(origin->user);
    batch_job(origin->scheduler_job);
    const char *label = getenv("MPIT_LABEL");
    snprintf(origin->label, sizeof origin->label, "%s", label ? label : "");
    command_note(origin->command);
    if (!getcwd(origin->directory, sizeof origin->directory))
        origin->directory[0] = '\0';
    if (hides(HIDE_DIRECTORY))
        hide_text(origin->directory, sizeof origin->directory, origin->directory);
    run->header->uid = hides(HIDE_USER) ? ORIGIN_UID_HIDDEN : (uint32_t)geteuid();
    processors_note(run->header);
    __atomic_store_n(&run->header->origin, offset, __ATOMIC_RELEASE);
}
