#include "base/outputfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20 };

/* The file that the handler removes, or "" for none. */
static char unfinished[PATH_MAX];

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNAL_COUNT = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNAL_COUNT];

static void interrupted(int signal)
{
    if (unfinished[0])
        unlink(unfinished);
    raise(signal); /* SA_RESETHAND: ends the program as if there were no handler */
}

static void cut_short(int signal)
{
    static const char text[] = "mpit-dump: a run file was cut short while it was read, or its disk has failed\n";
    (void)signal;
    if (unfinished[0])
        unlink(unfinished);
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(2);
    _exit(1);
}

void output_guard(void)
{
    struct sigaction action = {.sa_handler = cut_short};
    sigaction(SIGBUS, &action, NULL);
}

static void signals_take(void)
{
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        struct sigaction action = {.sa_handler = interrupted, .sa_flags = (int)SA_RESETHAND};
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

static void signals_return(void)
{
    for (int i = 0; i < SIGNAL_COUNT; i++)
        sigaction(signals[i], &before[i], NULL);
}

static int is_stdout(const char *path)
{
    struct stat st, out;
    if (strcmp(path, "-") == 0)
        return 1;
    return stat(path, &st) == 0 && fstat(STDOUT_FILENO, &out) == 0 && st.st_dev == out.st_dev &&
           st.st_ino == out.st_ino; /* /dev/stdout: a link to its target, which may be a regular file */
}

/* Returns whether the path names a descriptor, such as /proc/self/fd/3. Other paths below /proc, such as
 * /proc/self/cwd/file, do not. */
static int names_descriptor(const char *path)
{
    if (strncmp(path, "/proc/", 6) != 0)
        return strncmp(path, "/dev/fd/", 8) == 0;
    const char *rest = path + 6 + strcspn(path + 6, "/");
    if (strncmp(rest, "/task/", 6) == 0)
        rest += 6 + strcspn(rest + 6, "/");
    return strncmp(rest, "/fd/", 4) == 0;
}

/* Returns whether it names a descriptor, such as /dev/stderr or /dev/fd/3, and not a file. */
static int is_descriptor(const char *path)
{
    char target[PATH_MAX] = "";
    return names_descriptor(path) || (readlink(path, target, sizeof target - 1) > 0 && names_descriptor(target));
}

/* Returns whether the path is a pipe or a device, which is written directly and cannot be replaced. */
static int is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

void output_say(const char *path)
{
    if (!is_stdout(path) && !is_descriptor(path) && !is_special(path))
        printf("wrote %s\n", path);
}

/* An existing file of the temporary name is not ours. */
static void unfinished_forget(void)
{
    if (unfinished[0])
        signals_return();
    unfinished[0] = '\0';
}

/* Makes the file with the temporary name. Returns its descriptor, or -1 with errno. */
static int unfinished_make(const char *path)
{
    if (snprintf(unfinished, sizeof unfinished, "%s.partial.%d", path, (int)getpid()) >= (int)sizeof unfinished) {
        unfinished[0] = '\0';
        errno = ENAMETOOLONG;
        return -1;
    }
    signals_take();
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error like a full disk */
    return open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

FILE *output_file_open(const char *path, char error[OUTPUT_ERROR_BYTES])
{
    struct stat st;
    FILE *file = NULL;
    if (is_stdout(path))
        return stdout;
    if (is_descriptor(path)) {
        file = fopen(path, "a"); /* earlier contents stay */
    } else if (is_special(path)) {
        file = fopen(path, "w");
    } else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
    } else {
        int fd = unfinished_make(path);
        file = fd < 0 ? NULL : fdopen(fd, "w");
        if (!file)
            unfinished_forget();
    }
    if (!file)
        snprintf(error, OUTPUT_ERROR_BYTES, "%.300s cannot be written: %s", path, strerror(errno));
    else
        setvbuf(file, NULL, _IOFBF, BUFFER_BYTES);
    return file;
}

/* Returns why a write failed. The C library may have forgotten the reason, so it writes again, which must fail
 * again. */
static int reason_of(FILE *file)
{
    int fd = fileno(file);
    errno = 0;
    if (unfinished[0] && lseek(fd, 0, SEEK_END) >= 0 && write(fd, "\n", 1) == 1)
        errno = 0; /* it is removed anyway */
    return errno;
}

int output_file_close(FILE *file, const char *path, int failed, char error[OUTPUT_ERROR_BYTES])
{
    errno = 0;
    int written = fflush(file) == 0 && !ferror(file);
    int problem = written || errno ? errno : reason_of(file);
    if (file != stdout && fclose(file) != 0 && written) {
        written = 0;
        problem = errno;
    }
    if (!unfinished[0]) {
        if (!written && !failed)
            snprintf(error, OUTPUT_ERROR_BYTES, "%.300s cannot be written: %s",
                     file == stdout ? "standard output" : path, strerror(problem ? problem : EIO));
        return written && !failed ? 0 : -1;
    }
    if (written && !failed && rename(unfinished, path) != 0) {
        written = 0;
        problem = errno;
    }
    if (!written && !failed)
        snprintf(error, OUTPUT_ERROR_BYTES, "%.300s cannot be written: %s", path, strerror(problem ? problem : EIO));
    if (!written || failed)
        unlink(unfinished);
    unfinished[0] = '\0';
    signals_return();
    return written && !failed ? 0 : -1;
}

const char *output_name_open(const char *path, char error[OUTPUT_ERROR_BYTES])
{
    struct stat st;
    if (is_stdout(path) || is_descriptor(path)) {
        snprintf(error, OUTPUT_ERROR_BYTES, "%.300s cannot be a database; allowed is the name of a new file", path);
        return NULL;
    }
    if (lstat(path, &st) == 0) {
        snprintf(error, OUTPUT_ERROR_BYTES, "%.300s exists; remove it, or name a new file", path);
        return NULL;
    }
    int fd = unfinished_make(path);
    if (fd < 0) {
        snprintf(error, OUTPUT_ERROR_BYTES, "%.300s cannot be written: %s", path, strerror(errno));
        unfinished_forget();
        return NULL;
    }
    close(fd);
    return unfinished;
}

int output_name_close(const char *path, int failed, char error[OUTPUT_ERROR_BYTES])
{
    int result = failed ? -1 : rename(unfinished, path);
    if (result != 0 && !failed)
        snprintf(error, OUTPUT_ERROR_BYTES, "%.300s cannot be written: %s", path, strerror(errno));
    if (result != 0)
        unlink(unfinished);
    unfinished[0] = '\0';
    signals_return();
    return result;
}

int output_directory_make(const char *directory, char error[OUTPUT_ERROR_BYTES])
{
    if (mkdir(directory, 0777) == 0)
        return 0;
    snprintf(error, OUTPUT_ERROR_BYTES, "%.300s cannot be created: %s; allowed is a new directory", directory,
             strerror(errno));
    return -1;
}

FILE *output_file_open_in(const char *directory, const char *name, char error[OUTPUT_ERROR_BYTES])
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return output_file_open(path, error);
}

int output_file_close_in(FILE *file, const char *directory, const char *name, char error[OUTPUT_ERROR_BYTES])
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return output_file_close(file, path, 0, error);
}
