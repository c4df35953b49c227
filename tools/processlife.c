#define _GNU_SOURCE
#include "processlife.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool process_is_here(const struct run_header *header)
{
    static char boot[sizeof header->boot]; /* it does not change while a tool runs */
    char text[sizeof boot] = "";
    if (!boot[0]) {
        FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
        if (file && fgets(text, sizeof text, file))
            memcpy(boot, text, sizeof boot);
        if (file)
            fclose(file);
    }
    return boot[0] && header->boot[0] && strncmp(boot, header->boot, strnlen(header->boot, sizeof header->boot)) == 0;
}

/* Of a program that was replaced or removed while it runs, the kernel says so behind its name. */
static bool is_program(const char *now, const struct run_header *header)
{
    size_t length = strnlen(header->program, sizeof header->program - 1);
    if (strncmp(now, header->program, length) != 0)
        return false;
    return length == sizeof header->program - 1 || !now[length] || strcmp(now + length, " (deleted)") == 0;
}

bool process_lives(const struct run_header *header)
{
    char path[64], program[PATH_MAX];
    if (!process_is_here(header) || header->pid > INT_MAX || header->pid == 0 || kill((pid_t)header->pid, 0) != 0)
        return false;
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", header->pid);
    ssize_t n = readlink(path, program, sizeof program - 1); /* of a zombie: none */
    program[n > 0 ? n : 0] = '\0';
    return n > 0 && is_program(program, header);
}

uint64_t realtime_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
