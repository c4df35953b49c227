#include "writer/room.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, TEXT_BYTES = 8192 };
static const uint64_t reserve_most = UINT64_C(1) << 30, small_bytes = UINT64_C(1) << 30;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t bytes_left(const struct statfs *files)
{
    if (!files->f_blocks) /* a memfd, or a tmpfs without a limit */
        return UINT64_MAX;
    uint64_t block = (uint64_t)files->f_bsize, left = files->f_bavail * block, reserve = files->f_blocks * block / 4;
    if (files->f_type != TMPFS_MAGIC)
        reserve = least(reserve, reserve_most);
    return left > reserve ? left - reserve : 0;
}

uint64_t room_of_files(int fd, const char *path)
{
    struct statfs files;
    int error = errno, result = fd >= 0 ? fstatfs(fd, &files) : statfs(path, &files);
    errno = error;
    return result == 0 ? bytes_left(&files) : UINT64_MAX;
}

bool room_is_enough(const char *base, bool named)
{
    struct statfs files;
    if (statfs(base, &files) != 0)
        return true; /* it cannot be used either, and the reason is better told */
    bool small = files.f_blocks && files.f_blocks * (uint64_t)files.f_bsize < small_bytes;
    return bytes_left(&files) >= ROOM_FIRST_BYTES && (named || !small || strcmp(base, "/dev/shm") != 0);
}

/* Reads a file of the kernel. "": there is none. */
static const char *proc_text_read(char text[TEXT_BYTES], const char *directory, const char *name)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = n < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t bytes = fd < 0 ? -1 : read(fd, text, TEXT_BYTES - 1);
    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    return text;
}

/* Returns the number behind the key, which begins a line. `otherwise`: there is none, or it is "max". */
static uint64_t number_of(const char *directory, const char *name, const char *key, uint64_t otherwise)
{
    char text[TEXT_BYTES], *end;
    const char *line = proc_text_read(text, directory, name);
    while (line && strncmp(line, key, strlen(key)) != 0)
        line = (line = strchr(line, '\n')) ? line + 1 : NULL;
    uint64_t number = line ? strtoull(line + strlen(key), &end, 10) : 0;
    return line && end > line + strlen(key) ? number : otherwise;
}

/* Returns what a cgroup has left. */
static uint64_t cgroup_left(const char *directory, bool unified)
{
    static const char *const both[2][5] = {
        {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ",
         "total_active_file "},
        {"memory.max", "memory.high", "memory.current", "inactive_file ", "active_file "}};
    const char *const *names = both[unified];
    uint64_t limit =
        least(number_of(directory, names[0], "", UINT64_MAX), number_of(directory, names[1], "", UINT64_MAX));
    if (limit >= UINT64_MAX / 4) /* none */
        return UINT64_MAX;
    uint64_t used = number_of(directory, names[2], "", 0);
    used -= least(used,
                  number_of(directory, "memory.stat", names[3], 0) + number_of(directory, "memory.stat", names[4], 0));
    return limit > used ? limit - used : 0;
}

/* Looks at the cgroup and at all above it. In a container the path may be the host's: then those that exist count. */
static uint64_t hierarchy_left(const char *base, const char *path, bool unified)
{
    char directory[PATH_BYTES];
    uint64_t left = UINT64_MAX;
    snprintf(directory, sizeof directory, "%s%.*s", base, (int)strcspn(path, "\n"), path);
    while (strlen(directory) > strlen(base)) {
        left = least(left, cgroup_left(directory, unified));
        *strrchr(directory, '/') = '\0';
    }
    return least(left, cgroup_left(directory, unified));
}

static uint64_t room_of_memory(void)
{
    char text[TEXT_BYTES];
    uint64_t left = number_of("/proc", "meminfo", "MemAvailable:", UINT64_MAX >> 10) << 10;
    for (const char *line = proc_text_read(text, "/proc/self", "cgroup"); line && *line;) {
        const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (path && path == names + 1)
            left = least(left, hierarchy_left("/sys/fs/cgroup", path + 1, true));
        else if (path && strncmp(names, ":memory:", 8) == 0)
            left = least(left, hierarchy_left("/sys/fs/cgroup/memory", path + 1, false));
        line = (line = strchr(line, '\n')) ? line + 1 : NULL;
    }
    return left;
}

uint64_t room_share(const char *spool, uint64_t held, uint64_t processes)
{
    uint64_t left = least(room_of_files(-1, spool), room_of_memory());
    return left == UINT64_MAX ? left : (held + left) / ROOM_PART / (processes ? processes : 1) + 1;
}
