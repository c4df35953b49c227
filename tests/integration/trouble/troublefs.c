/* troublefs [--direct-io] BACKING MOUNTPOINT [STALL]: a FUSE file system that passes all on to BACKING, and makes
 * trouble.
 *
 *   --direct-io   files cannot be mapped with MAP_SHARED
 *   SIGUSR1       from then on every operation fails with EIO
 *   SIGUSR2       every operation waits until STALL seconds later
 *
 * Runs in the foreground. Ends when it is unmounted. */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 4096 };

static const char *backing;
static bool direct_io;
static time_t stall_seconds;
static _Atomic(bool) broken;
static _Atomic(time_t) stalls_until;

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void on_signal(int number)
{
    if (number == SIGUSR1)
        atomic_store_explicit(&broken, true, memory_order_relaxed);
    else
        atomic_store_explicit(&stalls_until, seconds_now() + stall_seconds, memory_order_relaxed);
}

/* Every operation passes here first. 0, or an error. */
static int trouble(void)
{
    while (seconds_now() < atomic_load_explicit(&stalls_until, memory_order_relaxed))
        usleep(20000);
    return atomic_load_explicit(&broken, memory_order_relaxed) ? -EIO : 0;
}

static const char *real_path(char *buffer, const char *path)
{
    snprintf(buffer, LONGEST, "%s%s", backing, path);
    return buffer;
}

#define PATH(path) real_path((char[LONGEST]){0}, path)

static int outcome(long result)
{
    return result < 0 ? -errno : (int)result;
}

static int fs_getattr(const char *path, struct stat *found, struct fuse_file_info *file)
{
    int error = trouble();
    return error ? error : outcome(file ? fstat((int)file->fh, found) : lstat(PATH(path), found));
}

static int fs_mkdir(const char *path, mode_t mode)
{
    int error = trouble();
    return error ? error : outcome(mkdir(PATH(path), mode));
}

static int fs_unlink(const char *path)
{
    int error = trouble();
    return error ? error : outcome(unlink(PATH(path)));
}

static int fs_rmdir(const char *path)
{
    int error = trouble();
    return error ? error : outcome(rmdir(PATH(path)));
}

static int fs_rename(const char *from, const char *to, unsigned flags)
{
    int error = trouble();
    return error ? error : outcome(renameat2(AT_FDCWD, PATH(from), AT_FDCWD, PATH(to), flags));
}

static int fs_link(const char *from, const char *to)
{
    int error = trouble();
    return error ? error : outcome(link(PATH(from), PATH(to)));
}

static int fs_chmod(const char *path, mode_t mode, struct fuse_file_info *file)
{
    int error = trouble();
    return error ? error : outcome(file ? fchmod((int)file->fh, mode) : chmod(PATH(path), mode));
}

static int fs_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *file)
{
    int error = trouble();
    return error ? error : outcome(file ? futimens((int)file->fh, times) : utimensat(AT_FDCWD, PATH(path), times, 0));
}

static int fs_truncate(const char *path, off_t size, struct fuse_file_info *file)
{
    int error = trouble();
    return error ? error : outcome(file ? ftruncate((int)file->fh, size) : truncate(PATH(path), size));
}

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *file)
{
    int error = trouble();
    if (error)
        return error;
    int fd = open(PATH(path), (file->flags & ~O_NOFOLLOW) | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    file->fh = (uint64_t)fd;
    file->direct_io = direct_io;
    return 0;
}

static int fs_open(const char *path, struct fuse_file_info *file)
{
    return fs_create(path, 0, file);
}

static int fs_read(const char *path, char *bytes, size_t count, off_t at, struct fuse_file_info *file)
{
    (void)path;
    int error = trouble();
    return error ? error : outcome(pread((int)file->fh, bytes, count, at));
}

static int fs_write(const char *path, const char *bytes, size_t count, off_t at, struct fuse_file_info *file)
{
    (void)path;
    int error = trouble();
    return error ? error : outcome(pwrite((int)file->fh, bytes, count, at));
}

static int fs_fallocate(const char *path, int mode, off_t at, off_t count, struct fuse_file_info *file)
{
    (void)path;
    int error = trouble();
    return error ? error : outcome(fallocate((int)file->fh, mode, at, count));
}

static int fs_fsync(const char *path, int data_only, struct fuse_file_info *file)
{
    (void)path;
    (void)data_only;
    int error = trouble();
    return error ? error : outcome(fsync((int)file->fh));
}

static int fs_flush(const char *path, struct fuse_file_info *file)
{
    (void)path;
    (void)file;
    return trouble();
}

static int fs_release(const char *path, struct fuse_file_info *file)
{
    (void)path;
    return outcome(close((int)file->fh));
}

static int fs_statfs(const char *path, struct statvfs *found)
{
    int error = trouble();
    return error ? error : outcome(statvfs(PATH(path), found));
}

static int fs_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t at, struct fuse_file_info *file,
                      enum fuse_readdir_flags flags)
{
    (void)at;
    (void)file;
    (void)flags;
    int error = trouble();
    if (error)
        return error;
    DIR *directory = opendir(PATH(path));
    if (!directory)
        return -errno;
    for (struct dirent *entry; (entry = readdir(directory));)
        fill(buffer, entry->d_name, NULL, 0, 0);
    closedir(directory);
    return 0;
}

static const struct fuse_operations operations = {
    .getattr = fs_getattr,
    .mkdir = fs_mkdir,
    .unlink = fs_unlink,
    .rmdir = fs_rmdir,
    .rename = fs_rename,
    .link = fs_link,
    .chmod = fs_chmod,
    .utimens = fs_utimens,
    .truncate = fs_truncate,
    .create = fs_create,
    .open = fs_open,
    .read = fs_read,
    .write = fs_write,
    .fallocate = fs_fallocate,
    .fsync = fs_fsync,
    .flush = fs_flush,
    .release = fs_release,
    .statfs = fs_statfs,
    .readdir = fs_readdir,
};

int main(int argc, char **argv)
{
    direct_io = argc > 1 && !strcmp(argv[1], "--direct-io");
    argv += direct_io;
    if (argc - direct_io < 3) {
        fputs("Usage: troublefs [--direct-io] BACKING MOUNTPOINT [STALL]\n", stderr);
        return 2;
    }
    backing = argv[1];
    stall_seconds = argv[3] ? atol(argv[3]) : 0;
    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, on_signal);
    char *arguments[] = {"troublefs", "-f", argv[2], NULL};
    return fuse_main(3, arguments, &operations, NULL);
}
