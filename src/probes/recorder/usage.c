#define _GNU_SOURCE
#include "recorder/usage.h"

#include "base/number.h"
#include "base/systemclock.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct run_usage before;
static uint64_t before_ns;

/* A helper had a processor for this part of the run, at least. */
enum { HELPER_PART = 20 };

/* Reads the times of the process's threads. A kernel without such figures says 0 for all, or has no files. */
static bool threads_read(struct run_usage *usage, uint64_t least)
{
    char own[64];
    uint64_t ran = 0, run, delay;
    glob_t files = {.gl_pathc = 0};
    snprintf(own, sizeof own, "/proc/self/task/%d/schedstat", (int)syscall(SYS_gettid));
    if (glob("/proc/self/task/*/schedstat", GLOB_NOSORT, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc; i++) {
            FILE *file = fopen(files.gl_pathv[i], "re");
            bool read = file && fscanf(file, "%" SCNu64 " %" SCNu64, &run, &delay) == 2;
            if (file)
                fclose(file);
            if (!read)
                continue;
            ran += run;
            usage->run_delay_ns += delay;
            if (strcmp(files.gl_pathv[i], own) == 0 || run < least)
                continue;
            usage->helpers++;
            usage->helper_ns += run;
        }
    globfree(&files);
    return ran > 0;
}

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

/* `least`: the processor time of a helper. */
static struct run_usage usage_read(uint64_t least)
{
    int error = errno;
    struct rusage all;
    struct run_usage usage = {.known = 0};
    if (getrusage(RUSAGE_SELF, &all) == 0)
        usage = (struct run_usage){.user_ns = timeval_ns(all.ru_utime),
                                   .system_ns = timeval_ns(all.ru_stime),
                                   .major_faults = (uint64_t)all.ru_majflt,
                                   .known = USAGE_TIMES};
    usage.known |= threads_read(&usage, least) ? USAGE_DELAY : 0;
    errno = error;
    return usage;
}

void usage_begin(void)
{
    before = usage_read(0);
    before_ns = monotonic_ns();
}

/* Threads that ended have taken their delays with them. */
void usage_end(struct run_header *header)
{
    struct run_usage now = usage_read((monotonic_ns() - before_ns) / HELPER_PART);
    header->usage = (struct run_usage){.user_ns = less(now.user_ns, before.user_ns),
                                       .system_ns = less(now.system_ns, before.system_ns),
                                       .run_delay_ns = less(now.run_delay_ns, before.run_delay_ns),
                                       .major_faults = less(now.major_faults, before.major_faults),
                                       .helper_ns = less(now.helper_ns, before.helper_ns),
                                       .helpers = now.helpers,
                                       .known = before.known & now.known};
}
