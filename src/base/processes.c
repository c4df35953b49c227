#include "base/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool program_is_told(const char *path)
{
    char program;
    return readlink(path, &program, 1) > 0 || errno == EACCES;
}

bool process_has_program(uint32_t pid)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);
    if (program_is_told(path))
        return true;
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", pid);
    DIR *tasks = opendir(path);
    bool found = false;
    for (struct dirent *task; !found && tasks && (task = readdir(tasks));) {
        unsigned long number = strtoul(task->d_name, NULL, 10);
        if (!number || number == pid)
            continue;
        snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%lu/exe", pid, number);
        found = program_is_told(path);
    }
    if (tasks)
        closedir(tasks);
    return found;
}

uint64_t process_start(uint32_t pid)
{
    enum { NAME = 2, START = 22 }; /* fields of proc_pid_stat(5) */
    char path[32], text[1024];
    snprintf(path, sizeof path, pid ? "/proc/%" PRIu32 "/stat" : "/proc/self/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    const char *at = strrchr(text, ')'); /* the name may contain any character */
    for (int field = NAME; at && field < START; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

bool process_runs(uint32_t pid, uint64_t start)
{
    uint64_t now = start ? process_start(pid) : 0;
    return (!now || now == start) && process_has_program(pid);
}
