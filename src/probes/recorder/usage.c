#include "recorder/usage.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

static struct run_usage before;

/* How long its threads have waited for a processor. A kernel without such figures says 0 for all, or has no files. */
static bool run_delay_read(uint64_t *ns)
{
    uint64_t ran = 0, run, delay;
    glob_t files = {.gl_pathc = 0};
    if (glob("/proc/self/task/*/schedstat", GLOB_NOSORT, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc; i++) {
            FILE *file = fopen(files.gl_pathv[i], "re");
            if (file && fscanf(file, "%" SCNu64 " %" SCNu64, &run, &delay) == 2) {
                ran += run;
                *ns += delay;
            }
            if (file)
                fclose(file);
        }
    globfree(&files);
    return ran > 0;
}

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

static struct run_usage usage_read(void)
{
    int error = errno;
    struct rusage all;
    struct run_usage usage = {.known = 0};
    if (getrusage(RUSAGE_SELF, &all) == 0)
        usage = (struct run_usage){timeval_ns(all.ru_utime), timeval_ns(all.ru_stime), 0, (uint64_t)all.ru_majflt,
                                   USAGE_TIMES};
    usage.known |= run_delay_read(&usage.run_delay_ns) ? USAGE_DELAY : 0;
    errno = error;
    return usage;
}

void usage_begin(void)
{
    before = usage_read();
}

/* Threads that ended have taken their delays with them. */
static uint64_t usage_growth(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

void usage_end(struct run_header *header)
{
    struct run_usage now = usage_read();
    header->usage =
        (struct run_usage){usage_growth(before.user_ns, now.user_ns), usage_growth(before.system_ns, now.system_ns),
                           usage_growth(before.run_delay_ns, now.run_delay_ns),
                           usage_growth(before.major_faults, now.major_faults), before.known & now.known};
}
