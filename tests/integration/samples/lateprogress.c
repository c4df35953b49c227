/*
 * Preloaded into the MPICH programs of test_nodes.sh. MPICH 4.0 over UCX and TCP hangs in MPI_Finalize in about every
 * third run on several hosts, with mpit and without: a process that has closed its own connections waits for the others
 * in a read from its process manager, and no longer answers those that are still closing theirs. Here it answers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static void *worker; /* UCX's; the program has one thread in MPI_Finalize */

int ucp_worker_create(void *context, const void *params, void **created);
void ucp_worker_destroy(void *destroyed);
unsigned ucp_worker_progress(void *progressed);

int ucp_worker_create(void *context, const void *params, void **created)
{
    int (*next)(void *, const void *, void **) = dlsym(RTLD_NEXT, "ucp_worker_create");
    int status = next(context, params, created);
    if (status == 0)
        worker = *created;
    return status;
}

void ucp_worker_destroy(void *destroyed)
{
    void (*next)(void *) = dlsym(RTLD_NEXT, "ucp_worker_destroy");
    worker = NULL;
    next(destroyed);
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
    static ssize_t (*next)(int, void *, size_t);
    if (!next)
        next = dlsym(RTLD_NEXT, "read");
    const char *manager = worker ? getenv("PMI_FD") : NULL;
    if (manager && atoi(manager) == fd) {
        unsigned (*progress)(void *) = dlsym(RTLD_NEXT, "ucp_worker_progress");
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        while (progress && worker && poll(&wait, 1, 1) == 0)
            progress(worker);
    }
    return next(fd, buffer, bytes);
}
