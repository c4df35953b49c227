#include "counters/softevents.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SW_CGROUP_SWITCHES = 11 }; /* of newer headers */

static const struct {
    const char *name, *other, *more; /* as PAPI has them */
    int event;
    const char *unit;
} table[] = {
    {"perf::PAGE-FAULTS", "perf::PERF_COUNT_SW_PAGE_FAULTS", "perf::FAULTS", PERF_COUNT_SW_PAGE_FAULTS, ""},
    {"perf::MINOR-FAULTS", "perf::PERF_COUNT_SW_PAGE_FAULTS_MIN", "", PERF_COUNT_SW_PAGE_FAULTS_MIN, ""},
    {"perf::MAJOR-FAULTS", "perf::PERF_COUNT_SW_PAGE_FAULTS_MAJ", "", PERF_COUNT_SW_PAGE_FAULTS_MAJ, ""},
    {"perf::CONTEXT-SWITCHES", "perf::PERF_COUNT_SW_CONTEXT_SWITCHES", "perf::CS", PERF_COUNT_SW_CONTEXT_SWITCHES, ""},
    {"perf::CPU-MIGRATIONS", "perf::PERF_COUNT_SW_CPU_MIGRATIONS", "perf::MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS,
     ""},
    {"perf::TASK-CLOCK", "perf::PERF_COUNT_SW_TASK_CLOCK", "", PERF_COUNT_SW_TASK_CLOCK, "ns"},
    {"perf::CPU-CLOCK", "perf::PERF_COUNT_SW_CPU_CLOCK", "", PERF_COUNT_SW_CPU_CLOCK, "ns"},
    {"perf::ALIGNMENT-FAULTS", "perf::PERF_COUNT_SW_ALIGNMENT_FAULTS", "", PERF_COUNT_SW_ALIGNMENT_FAULTS, ""},
    {"perf::EMULATION-FAULTS", "perf::PERF_COUNT_SW_EMULATION_FAULTS", "", PERF_COUNT_SW_EMULATION_FAULTS, ""},
    {"perf::CGROUP-SWITCHES", "perf::PERF_COUNT_SW_CGROUP_SWITCHES", "", SW_CGROUP_SWITCHES, ""},
};
enum { NAMES = sizeof table / sizeof table[0] };

int soft_event_named(const char *name)
{
    for (size_t i = 0; i < NAMES; i++)
        if (strcasecmp(name, table[i].name) == 0 || strcasecmp(name, table[i].other) == 0 ||
            strcasecmp(name, table[i].more) == 0)
            return table[i].event;
    return -1;
}

const char *soft_event_name(size_t i)
{
    return i < NAMES ? table[i].name : NULL;
}

const char *soft_event_unit(int event)
{
    for (size_t i = 0; i < NAMES; i++)
        if (table[i].event == event)
            return table[i].unit;
    return "";
}

enum { NUMBERS_MOST = 4096, NUMBERS_ABOVE = 64 };

/* Moves a descriptor to a high number. A program may close descriptors that it does not know, and get their numbers for
 * its own, the lowest first. */
static int high(int fd)
{
    struct rlimit limit;
    int least = NUMBERS_MOST;
    if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return fd;
    if (limit.rlim_cur < (rlim_t)least)
        least = (int)limit.rlim_cur;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, least > 2 * NUMBERS_ABOVE ? least - NUMBERS_ABOVE : least / 2);
    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

/* True if the descriptor still belongs to a counter. */
static bool is_counter(int fd)
{
    char path[64], name[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(path, name, sizeof name - 1);
    name[bytes > 0 ? bytes : 0] = '\0';
    return strcmp(name, "anon_inode:[perf_event]") == 0;
}

/* Counts in the kernel, too: there a message is copied into untouched pages, and there threads are switched. */
static int event_open(int event, int group)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof attributes,
                                         .config = (uint64_t)event,
                                         .read_format = PERF_FORMAT_GROUP,
                                         .exclude_hv = 1};
    return high((int)syscall(SYS_perf_event_open, &attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC));
}

void soft_group_close(const int *fds, size_t count)
{
    for (size_t i = count; i-- > 0;)
        if (is_counter(fds[i]))
            close(fds[i]);
}

int soft_group_open(const int *events, size_t count, int fds[SOFT_EVENTS_MOST])
{
    for (size_t i = 0; i < count; i++) {
        fds[i] = event_open(events[i], i ? fds[0] : -1);
        if (fds[i] < 0) {
            soft_group_close(fds, i);
            return -1;
        }
    }
    return fds[0];
}

bool soft_group_read(int group, uint64_t *values, size_t count)
{
    uint64_t got[1 + SOFT_EVENTS_MOST];
    size_t bytes = (1 + count) * sizeof *got;
    /* the kernel's own call: the library's is a cancellation point */
    if (syscall(SYS_read, group, got, bytes) != (long)bytes || got[0] != count)
        return false;
    memcpy(values, got + 1, count * sizeof *values);
    return true;
}
