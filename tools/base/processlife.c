#include "base/processlife.h"

#include "base/processes.h"
#include "base/systemclock.h"
#include "clock/clock.h"
#include "writer/spool.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool process_has_this_kernel(const struct run_header *header)
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

bool process_is_of_earlier_boot(const struct run_header *header)
{
    char host[sizeof header->host] = "";
    return header->boot[0] && gethostname(host, sizeof host - 1) == 0 &&
           strncmp(host, header->host, sizeof host) == 0 && !process_has_this_kernel(header);
}

/* Returns the PID namespace of a process ("self", or a number), or 0 if unknown. */
static uint64_t namespace_of(const char *process)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%s/ns/pid", process);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Returns this tool's namespace. Returns 0 if it is not known, or if /proc belongs to another namespace and would show
 * other processes. */
static uint64_t namespace_own(void)
{
    static uint64_t own;
    static bool asked;
    char text[32];
    if (!asked) {
        ssize_t n = readlink("/proc/self", text, sizeof text - 1);
        text[n > 0 ? n : 0] = '\0';
        own = strtol(text, NULL, 10) == (long)getpid() ? namespace_of("self") : 0;
        asked = true;
    }
    return own;
}

bool process_is_here(const struct run_header *header)
{
    return process_has_this_kernel(header) && (header->pid_namespace == 0 || header->pid_namespace == namespace_own());
}

/* If a running program was replaced or removed, the kernel appends " (deleted)" to its name. A hidden name may be any. */
static bool is_program(const char *now, const struct run_header *header)
{
    size_t length = strnlen(header->program, sizeof header->program - 1);
    if (header->program[0] == '#')
        return true;
    if (strncmp(now, header->program, length) != 0)
        return false;
    return length == sizeof header->program - 1 || !now[length] || strcmp(now + length, " (deleted)") == 0;
}

bool process_lives(const struct run_header *header)
{
    char path[64], program[PATH_MAX];
    if (!process_is_here(header) || !process_runs(header->pid, header->process_start))
        return false;
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", header->pid);
    ssize_t n = readlink(path, program, sizeof program - 1); /* none if its main thread has left */
    program[n > 0 ? n : 0] = '\0';
    return n <= 0 || is_program(program, header);
}

/* Returns the process number in the innermost of its namespaces, or 0 if not known. */
static uint32_t number_within(const char *process)
{
    char path[64], *line = NULL;
    size_t room = 0;
    uint32_t number = 0;
    snprintf(path, sizeof path, "/proc/%s/status", process);
    FILE *status = fopen(path, "re");
    while (status && !number && getline(&line, &room, status) > 0) {
        const char *last = strrchr(line, '\t');
        if (last && strncmp(line, "NSpid:", 6) == 0)
            number = (uint32_t)strtoul(last, NULL, 10);
    }
    free(line);
    if (status)
        fclose(status);
    return number;
}

bool process_is_at(const struct run_header *header, pid_t pid)
{
    char process[16], path[64], program;
    snprintf(process, sizeof process, "%d", (int)pid);
    snprintf(path, sizeof path, "/proc/%s/exe", process);
    return pid > 0 && header->pid_namespace && header->pid && process_has_this_kernel(header) && namespace_own() &&
           namespace_of(process) == header->pid_namespace && number_within(process) == header->pid &&
           readlink(path, &program, 1) > 0; /* of a zombie: none */
}

bool process_has_let_go(const struct run_header *header, const char *path)
{
    int fd = process_has_this_kernel(header) ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    bool held = fd < 0 || spool_file_is_held(fd);
    if (fd >= 0)
        close(fd);
    return !held;
}

enum process_life process_life(const struct run_header *header)
{
    if (process_is_here(header))
        return process_lives(header) ? LIFE_HERE : LIFE_GONE;
    bool told = header->phase >= RUN_ABORTED || header->end_realtime_ns;
    return told || header->phase < RUN_STARTING ? LIFE_GONE : LIFE_UNSEEN;
}

uint64_t realtime_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t process_ticks_now(const struct run_header *header)
{
    return header->clock_kind == CLOCK_KIND_TSC ? clock_counter() : monotonic_ns();
}

uint64_t process_now(const struct run_header *header)
{
    struct clock_scale scale = {header->clock_mult ? header->clock_mult : UINT64_C(1) << 32};
    if (!process_has_this_kernel(header))
        return realtime_now();
    if (!header->clock_mult && header->clock_kind == CLOCK_KIND_TSC)
        scale = clock_calibrate();
    uint64_t ticks = process_ticks_now(header);
    return header->begin_realtime_ns + (ticks > header->begin_ticks ? clock_ns(scale, ticks - header->begin_ticks) : 0);
}

bool run_file_has_ended(const struct run_header *header, const char *path)
{
    enum process_life life = process_life(header);
    return header->phase == RUN_FINALIZED || header->phase == RUN_EXITED || life == LIFE_GONE ||
           process_is_of_earlier_boot(header) || (life == LIFE_UNSEEN && process_has_let_go(header, path));
}
