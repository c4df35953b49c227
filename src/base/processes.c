#include "base/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROC_BYTES = 1024 };

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

/* Reads a file of /proc. "" if it cannot. */
static const char *proc_read(uint32_t pid, const char *name, char text[PROC_BYTES])
{
    char path[64], number[16] = "self";
    if (pid)
        snprintf(number, sizeof number, "%" PRIu32, pid);
    snprintf(path, sizeof path, "/proc/%s/%s", number, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? -1 : read(fd, text, PROC_BYTES - 1);
    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    return text;
}

uint64_t process_start(uint32_t pid)
{
    enum { NAME = 2, START = 22 }; /* fields of proc_pid_stat(5) */
    char text[PROC_BYTES];
    const char *at = strrchr(proc_read(pid, "stat", text), ')'); /* the name may contain any character */
    for (int field = NAME; at && field < START; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

uint32_t process_parent(uint32_t pid, char name[PROCESS_NAME_BYTES])
{
    char text[PROC_BYTES];
    const char *begin = strchr(proc_read(pid, "stat", text), '('), *end = strrchr(text, ')');
    name[0] = '\0';
    if (!begin || !end || strlen(end) < 4)
        return 0;
    snprintf(name, PROCESS_NAME_BYTES, "%.*s", (int)(end - begin - 1), begin + 1);
    return (uint32_t)strtoul(end + 4, NULL, 10); /* ") S 1234" */
}

bool process_is_running(uint32_t pid)
{
    char text[PROC_BYTES];
    const char *name_end = strrchr(proc_read(pid, "stat", text), ')');
    return name_end && strncmp(name_end, ") R", 3) == 0;
}

uint64_t process_moved(uint32_t pid)
{
    char text[PROC_BYTES];
    uint64_t in = 0, out = 0;
    int found = sscanf(proc_read(pid, "io", text), "rchar: %" SCNu64 " wchar: %" SCNu64, &in, &out);
    return found == 2 ? in + out : 0;
}

bool process_runs(uint32_t pid, uint64_t start)
{
    uint64_t now = start ? process_start(pid) : 0;
    return (!now || now == start) && process_has_program(pid);
}
