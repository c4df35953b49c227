#include "live/livefind.h"

#include "base/hash.h"
#include "base/processlife.h"
#include "base/spools.h"
#include "base/systemclock.h"
#include "base/text.h"
#include "reader/regularfile.h"
#include "writer/spool.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A scan takes at most 1 / SCAN_SHARE of the time. */
enum { SCAN_SHARE = 20 };

/* Of a scan for all users each one has a share, so that nobody can stop it for the others: so many steps, and more for
 * each processor. A step takes about a microsecond. A process, a directory, a name of a run file, and a live file, which
 * every look reads, are some steps. */
enum { USER_STEPS = 1 << 16, PROCESSOR_STEPS = 512 };
enum { STEPS_PROCESS = 16, STEPS_DIRECTORY = 8, STEPS_NAME = 8, STEPS_FILE = 128 };

struct live_user {
    struct keyed keyed; /* its number */
    size_t steps;
    bool cut; /* its share was too small */
};

/* A directory whose files are to be read, too. */
struct live_directory {
    struct keyed keyed; /* hash of its path, user who named it */
    char path[];
};

/* ---- files ------------------------------------------------------------------------------------------------------- */

void live_file_release(struct live_file *file)
{
    if (file->open)
        run_reader_close(&file->process.run);
    free(file->path);
    free(file);
}

/* Takes steps of the user's share. Returns false if it has not so many. */
static bool user_goes(struct live_finder *finder, uid_t user, size_t steps)
{
    struct live_user *one = keytable_make(&finder->users, user, 0, sizeof *one);
    if (!finder->shared || !one)
        return one;
    bool goes = one->steps + steps <= finder->steps_most;
    finder->users_cut += !goes && !one->cut;
    one->cut = one->cut || !goes;
    one->steps += goes ? steps : 0;
    return goes;
}

/* Adds a file that `user` has named, at `path`, which is copied. Returns 0, or -1 without memory. */
static int file_found(struct live_finder *finder, const char *path, const struct stat *st, uid_t user)
{
    struct live_file *file = keytable_find(&finder->files, st->st_dev, st->st_ino);
    bool other = !file || file->changed.tv_sec != st->st_ctim.tv_sec || file->changed.tv_nsec != st->st_ctim.tv_nsec;
    bool costs = !file || (file->scan != finder->scan && (file->open || other || !file->ended));
    if ((finder->shared && st->st_uid != user) || (costs && !user_goes(finder, user, STEPS_FILE)))
        return 0;
    file = keytable_make(&finder->files, st->st_dev, st->st_ino, sizeof *file);
    if (!file)
        return -1;
    file->scan = finder->scan;
    file->owner = st->st_uid;
    if (other && !file->open) { /* perhaps another file in its place */
        file->changed = st->st_ctim;
        file->peeked = file->ended = file->results = false;
    }
    if (file->path && (strcmp(file->path, path) == 0 || strncmp(path, "/proc/", 6) == 0))
        return 0;
    free(file->path);
    file->path = strdup(path);
    return file->path ? 0 : -1;
}

/* Opens a directory that `user` has named. Of a scan for all users: only one of the user's own. */
static DIR *directory_open(struct live_finder *finder, int above, const char *name, int flags, uid_t user)
{
    struct stat st;
    bool goes = user_goes(finder, user, STEPS_DIRECTORY);
    int looked = goes ? openat(above, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags) : -1, fd = -1;
    if (looked >= 0 && fstat(looked, &st) == 0 && (!finder->shared || st.st_uid == user))
        fd = openat(looked, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (looked >= 0)
        close(looked);
    return fd >= 0 ? fdopendir(fd) : NULL;
}

/* Looks at the files of a directory, and closes it. NULL: there is none. */
static int live_directory_look(struct live_finder *finder, DIR *directory, const char *path, uid_t user)
{
    int result = 0;
    for (struct dirent *entry;
         result == 0 && directory && user_goes(finder, user, 1) && (entry = readdir(directory));) {
        char name[PATH_MAX];
        struct stat st;
        int length = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (!text_ends(entry->d_name, RUN_FILE_SUFFIX) || length < 0 || (size_t)length >= sizeof name)
            continue;
        if (user_goes(finder, user, STEPS_NAME) &&
            fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            result = file_found(finder, name, &st, user);
    }
    if (directory)
        closedir(directory);
    return result;
}

static int named_directory_look(struct live_finder *finder, const char *path, uid_t user)
{
    return live_directory_look(finder, directory_open(finder, AT_FDCWD, path, 0, user), path, user);
}

/* Adds a directory that was named to this tool, and the spools of this node for it. */
static int place_look(struct live_finder *finder, const char *path)
{
    struct spool_list spools = {.list = NULL};
    int result = named_directory_look(finder, path, geteuid()) ?: spools_find(&spools, path);
    for (size_t i = 0; result == 0 && i < spools.count; i++)
        result = named_directory_look(finder, spools.list[i].path, geteuid());
    spools_release(&spools);
    return result;
}

/* The spools of a user whose process was found. */
static int user_spools_look(struct live_finder *finder, uid_t user)
{
    const char *bases[SPOOL_BASES_MOST];
    size_t count = spool_bases(bases);
    int result = 0;
    for (size_t i = 0; i < count; i++) {
        char path[PATH_MAX], spool[PATH_MAX + NAME_MAX + 1];
        snprintf(path, sizeof path, "%.4000s/mpit-%u", bases[i], (unsigned)user);
        DIR *directory = directory_open(finder, AT_FDCWD, path, O_NOFOLLOW, user);
        for (struct dirent *entry;
             result == 0 && directory && user_goes(finder, user, 1) && (entry = readdir(directory));) {
            if (entry->d_name[0] == '.')
                continue;
            DIR *inside = directory_open(finder, dirfd(directory), entry->d_name, O_NOFOLLOW, user);
            snprintf(spool, sizeof spool, "%s/%s", path, entry->d_name);
            result = live_directory_look(finder, inside, spool, user);
        }
        if (directory)
            closedir(directory);
    }
    return result;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* The owner of a process. The kernel shows root for one that others may not look into. */
static uid_t process_owner(const char *pid, uid_t shown)
{
    char path[64], line[256];
    unsigned owner = shown;
    snprintf(path, sizeof path, "/proc/%.20s/status", pid);
    FILE *status = shown == 0 ? fopen(path, "re") : NULL;
    while (status && fgets(line, sizeof line, status) && sscanf(line, "Uid: %*u %u", &owner) != 1) {
    }
    if (status)
        fclose(status);
    return (uid_t)owner;
}

static int directory_add(struct live_finder *finder, const char *path, uid_t user)
{
    uint64_t hash = hash_text(HASH_BEGIN, path);
    if (keytable_find(&finder->directories, hash, user) || !user_goes(finder, user, STEPS_DIRECTORY))
        return 0;
    struct live_directory *one = keytable_make(&finder->directories, hash, user, sizeof *one + strlen(path) + 1);
    if (one)
        strcpy(one->path, path);
    return one ? 0 : -1;
}

/* Process `pid` holds the file open. Its owner may have a different number there, in another PID namespace. */
static void holder_find(struct live_finder *finder, const struct stat *st, const char *pid, const char *path)
{
    struct live_file *file = keytable_find(&finder->files, st->st_dev, st->st_ino);
    struct run_header header;
    if (!file || file->holder || (file->open && process_is_here(&file->process.run.header)))
        return;
    pid_t number = (pid_t)strtol(pid, NULL, 10);
    if (run_header_read(path, regular_file(st), &header) && !process_is_here(&header) && process_is_at(&header, number))
        file->holder = number;
}

/* Descriptor `number` of a process points to `target`. Returns 0, or -1 without memory. */
static int descriptor_take(struct live_finder *finder, const char *pid, uid_t user, const char *number, char *target)
{
    static const char memory[] = "/memfd:" RUN_MEMORY_NAME " (deleted)", gone[] = RUN_FILE_SUFFIX " (deleted)";
    bool named = text_ends(target, RUN_FILE_SUFFIX);
    char path[PATH_MAX];
    struct stat st, there;
    if ((!named && strcmp(target, memory) != 0 && !text_ends(target, gone)) || !user_goes(finder, user, STEPS_NAME))
        return 0;
    snprintf(path, sizeof path, "/proc/%.20s/fd/%.20s", pid, number);
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    /* by its name, unless the name is gone or means another file here */
    bool elsewhere = !named || stat(target, &there) != 0 || there.st_dev != st.st_dev || there.st_ino != st.st_ino;
    int result = file_found(finder, elsewhere ? path : target, &st, user);
    if (result == 0)
        holder_find(finder, &st, pid, path);
    char *slash = strrchr(target, '/');
    if (result == 0 && !elsewhere && slash && slash > target) {
        *slash = '\0';
        result = directory_add(finder, target, user);
    }
    return result;
}

/* The run files that a process holds open. Returns 0, or -1 without memory. */
static int descriptors_look(struct live_finder *finder, const char *pid, uid_t user)
{
    char path[64], target[PATH_MAX];
    int result = 0;
    snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    DIR *open_files = opendir(path);
    for (struct dirent *entry;
         result == 0 && open_files && user_goes(finder, user, 1) && (entry = readdir(open_files));) {
        ssize_t n = readlinkat(dirfd(open_files), entry->d_name, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        if (target[0] == '/')
            result = descriptor_take(finder, pid, user, entry->d_name, target);
    }
    if (open_files)
        closedir(open_files);
    return result;
}

static int live_processes_look(struct live_finder *finder)
{
    DIR *processes = opendir("/proc");
    int result = 0;
    struct stat st;
    for (struct dirent *entry; result == 0 && processes && (entry = readdir(processes));) {
        const char *pid = entry->d_name;
        if (!isdigit((unsigned char)pid[0]) || fstatat(dirfd(processes), pid, &st, 0) != 0 ||
            !(finder->all_users || st.st_uid == geteuid()))
            continue;
        uid_t user = finder->shared ? process_owner(pid, st.st_uid) : st.st_uid;
        if (user_goes(finder, user, STEPS_PROCESS) && strtol(pid, NULL, 10) != getpid() &&
            descriptors_look(finder, pid, user) != 0)
            result = -1;
    }
    if (processes)
        closedir(processes);
    struct keyed **directories = keytable_sorted(&finder->directories), **users = keytable_sorted(&finder->users);
    for (size_t i = 0; result == 0 && directories && i < finder->directories.count; i++)
        result = named_directory_look(finder, ((struct live_directory *)(void *)directories[i])->path,
                                      (uid_t)directories[i]->key[1]);
    for (size_t i = 0; result == 0 && users && i < finder->users.count; i++)
        result = user_spools_look(finder, (uid_t)users[i]->key[0]);
    free(directories);
    free(users);
    return result;
}

/* ---- a scan ------------------------------------------------------------------------------------------------------ */

/* Another file has its name now. */
static bool file_is_replaced(const struct live_file *file)
{
    struct stat st;
    return file->path && stat(file->path, &st) == 0 &&
           (st.st_dev != file->keyed.key[0] || st.st_ino != file->keyed.key[1]);
}

static void forgotten_release(struct live_finder *finder)
{
    struct keyed **files = keytable_sorted(&finder->files);
    for (size_t i = finder->files.count; files && i-- > 0;) {
        struct live_file *file = (struct live_file *)(void *)files[i];
        if (file->scan == finder->scan ||
            (file->open && !file_is_replaced(file) && user_goes(finder, file->owner, STEPS_FILE)))
            continue;
        keytable_take(&finder->files, files[i]);
        live_file_release(file);
    }
    free(files);
}

static int path_look(struct live_finder *finder, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return place_look(finder, path); /* it is made when the job ends */
    return S_ISDIR(st.st_mode) ? place_look(finder, path) : file_found(finder, path, &st, geteuid());
}

int live_find(struct live_finder *finder, char *const *paths, size_t count)
{
    uint64_t begin = monotonic_ns(), pause = SCAN_SHARE * finder->cost_ns;
    if (pause < LIVE_SCAN_NS)
        pause = LIVE_SCAN_NS;
    bool none =
        finder->files.count == 0 && finder->cost_ns < LIVE_SCAN_NS / SCAN_SHARE; /* the user waits for the first */
    if (finder->scan && !none && begin - finder->scanned_ns < pause)
        return 0;
    finder->scan++;
    finder->shared = finder->all_users && !count;
    finder->steps_most = USER_STEPS + PROCESSOR_STEPS * (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    finder->users_cut = 0;
    int result = 0;
    for (size_t i = 0; result == 0 && i < count; i++)
        result = path_look(finder, paths[i]);
    if (result == 0 && !count)
        result = live_processes_look(finder);
    if (result == 0)
        forgotten_release(finder);
    keytable_release(&finder->directories, NULL);
    keytable_release(&finder->users, NULL);
    finder->scanned_ns = begin;
    finder->cost_ns = monotonic_ns() - begin;
    return result;
}

static void file_free(struct keyed *record)
{
    live_file_release((struct live_file *)(void *)record);
}

void live_finder_release(struct live_finder *finder)
{
    keytable_release(&finder->files, file_free);
    free(finder->seen);
    free(finder);
}
