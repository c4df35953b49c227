#include "base/processes.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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
