#define _GNU_SOURCE
#include "recorder/origin.h"

#include "base/hash.h"
#include "recorder/batch.h"
#include "site/setting.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* /proc/self/cmdline has a NUL after each word. Words with blanks get quotes. */
static void command_note(char text[ORIGIN_COMMAND_BYTES])
{
    char words[ORIGIN_COMMAND_BYTES];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? -1 : read(fd, words, sizeof words - 1);
    if (fd >= 0)
        close(fd);
    size_t used = 0;
    for (ssize_t at = 0; at < bytes && used < ORIGIN_COMMAND_BYTES - 1;) {
        const char *word = words + at;
        words[bytes] = '\0';
        const char *quote = strpbrk(word, " \t\n") || !*word ? "'" : "";
        int n = snprintf(text + used, ORIGIN_COMMAND_BYTES - used, "%s%s%s%s", at ? " " : "", quote, word, quote);
        used += n > 0 ? (size_t)n : 0;
        at += (ssize_t)strlen(word) + 1;
    }
}

/* The name comes from the environment, because a lookup could ask a server. The number identifies the user. */
void origin_user(char text[ORIGIN_USER_BYTES])
{
    const char *name = getenv("USER");
    if (!name || !*name)
        name = getenv("LOGNAME");
    snprintf(text, ORIGIN_USER_BYTES, "%s", name ? name : "");
}

/* True if the site wants the text hidden: MPIT_HIDE names it. */
static bool is_hidden(const char *word)
{
    const char *list = setting("MPIT_HIDE");
    size_t bytes = strlen(word);
    for (size_t length; list && *list; list += length) {
        list += strspn(list, ", \t");
        length = strcspn(list, ", \t");
        if (length == bytes && strncmp(list, word, bytes) == 0)
            return true;
    }
    return false;
}

/* Replaces a text by its hash. Equal texts stay equal. The site's key is part of the hash. */
static void text_hide(char *text, size_t bytes)
{
    uint64_t hash = hash_text(hash_text(HASH_BEGIN, setting("MPIT_HIDE_KEY")), text);
    if (*text)
        snprintf(text, bytes, "#%016" PRIx64, hash);
}

static void texts_hide(struct origin_record *origin)
{
    if (is_hidden("user"))
        text_hide(origin->user, sizeof origin->user);
    if (is_hidden("arguments"))
        origin->command[strcspn(origin->command, " ")] = '\0';
    if (is_hidden("directory"))
        text_hide(origin->directory, sizeof origin->directory);
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
    command_note(origin->command);
    if (!getcwd(origin->directory, sizeof origin->directory))
        origin->directory[0] = '\0';
    texts_hide(origin);
    run->header->uid = (uint32_t)geteuid();
    processors_note(run->header);
    __atomic_store_n(&run->header->origin, offset, __ATOMIC_RELEASE);
}
