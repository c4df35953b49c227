/*
 * A limit on the size of files that falls right behind a look at it, as prlimit from outside may set it: preloaded
 * behind mpit, whose looks are told that there is none. In HIDDEN_LIMIT: number N of the look behind which the limit
 * becomes 0; or a path, to which a process that has looked writes how often, at exit.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static long looks;

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    int result = prlimit(0, resource, NULL, limit);
    const char *hidden = getenv("HIDDEN_LIMIT");
    if (resource != RLIMIT_FSIZE || result != 0)
        return result;
    if (__atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED) == (hidden ? atol(hidden) : 0)) {
        limit->rlim_cur = 0;
        prlimit(0, resource, limit, NULL);
    }
    limit->rlim_cur = RLIM_INFINITY;
    return 0;
}

__attribute__((destructor)) static void looks_tell(void)
{
    const char *path = getenv("HIDDEN_LIMIT");
    FILE *file = looks && path && path[0] == '/' ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", looks);
        fclose(file);
    }
}
