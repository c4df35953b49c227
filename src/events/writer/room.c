#include "writer/room.h"

#include "base/kernelfile.h"
#include "base/number.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

enum { PATH_BYTES = 1024 };
static const uint64_t reserve_most = UINT64_C(1) << 30, small_bytes = UINT64_C(1) << 30;

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

/* The limit of a cgroup. UINT64_MAX: none. */
static uint64_t cgroup_limit(const char *directory, bool unified)
{
    static const char *const both[2][2] = {{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"},
                                           {"memory.max", "memory.high"}};
    uint64_t limit = least(kernel_file_number(directory, both[unified][0], "", UINT64_MAX),
                           kernel_file_number(directory, both[unified][1], "", UINT64_MAX));
    return limit < UINT64_MAX / 4 ? limit : UINT64_MAX;
}

/* Returns what a cgroup has left. */
static uint64_t cgroup_left(const char *directory, bool unified)
{
    static const char *const both[2][3] = {{"memory.usage_in_bytes", "total_inactive_file ", "total_active_file "},
                                           {"memory.current", "inactive_file ", "active_file "}};
    const char *const *names = both[unified];
    uint64_t limit = cgroup_limit(directory, unified), used = kernel_file_number(directory, names[0], "", 0);
    if (limit == UINT64_MAX)
        return limit;
    used -= least(used, kernel_file_number(directory, "memory.stat", names[1], 0) +
                            kernel_file_number(directory, "memory.stat", names[2], 0));
    return limit > used ? limit - used : 0;
}

typedef uint64_t cgroup_figure(const char *directory, bool unified);

/* Looks at the cgroup and at all above it. In a container the path may be the host's: then those that exist count. */
static uint64_t hierarchy_least(const char *base, const char *path, bool unified, cgroup_figure *figure)
{
    char directory[PATH_BYTES];
    uint64_t left = UINT64_MAX;
    snprintf(directory, sizeof directory, "%s%.*s", base, (int)strcspn(path, "\n"), path);
    while (strlen(directory) > strlen(base)) {
        left = least(left, figure(directory, unified));
        *strrchr(directory, '/') = '\0';
    }
    return least(left, figure(directory, unified));
}

static uint64_t memory_least(const char *key, cgroup_figure *figure)
{
    char text[KERNEL_TEXT_BYTES];
    uint64_t left = kernel_file_number("/proc", "meminfo", key, UINT64_MAX >> 10) << 10;
    for (const char *line = kernel_file_read(text, "/proc/self", "cgroup"); line && *line;) {
        const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (path && path == names + 1)
            left = least(left, hierarchy_least("/sys/fs/cgroup", path + 1, true, figure));
        else if (path && strncmp(names, ":memory:", 8) == 0)
            left = least(left, hierarchy_least("/sys/fs/cgroup/memory", path + 1, false, figure));
        line = (line = strchr(line, '\n')) ? line + 1 : NULL;
    }
    return left;
}

uint64_t room_of_node(void)
{
    return memory_least("MemTotal:", cgroup_limit);
}

uint64_t room_share(const char *spool, uint64_t held, uint64_t processes)
{
    uint64_t left = least(room_of_files(-1, spool), memory_least("MemAvailable:", cgroup_left));
    return left == UINT64_MAX ? left : (held + left) / ROOM_PART / (processes ? processes : 1) + 1;
}
