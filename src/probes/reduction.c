#define _GNU_SOURCE
#include "reduction.h"

#include "filesize.h"
#include "job.h"
#include "jobcomm.h"
#include "log.h"
#include "recorder.h"
#include "summary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Takes in the part of the process `source`. False: it did not arrive or could not be taken. */
static bool part_receive(MPI_Comm comm, int source, struct summary *summary)
{
    unsigned long long size = 0;
    char error[128];
    if (native.Recv(&size, 1, native.unsigned_long_long, source, JOB_TAG_SIZE, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return false;
    if (!size || size > INT32_MAX)
        return false;
    void *data = malloc(size);
    struct summary part = {0};
    if (!data) { /* what was announced must be received all the same */
        native.Recv(NULL, 0, native.byte, source, JOB_TAG_PART, comm, MPI_STATUS_IGNORE);
        return false;
    }
    bool good =
        native.Recv(data, (int)size, native.byte, source, JOB_TAG_PART, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        summary_unpack(&part, data, size, error) == 0;
    good = good && summary_merge(summary, &part) == 0;
    summary_release(&part);
    free(data);
    return good;
}

static bool part_send(MPI_Comm comm, int target, const struct summary *summary)
{
    size_t bytes = 0;
    void *data = summary->ranks ? summary_pack(summary, &bytes) : NULL;
    if (bytes > INT32_MAX)
        bytes = 0;
    unsigned long long size = data ? bytes : 0;
    bool good = native.Send(&size, 1, native.unsigned_long_long, target, JOB_TAG_SIZE, comm) == MPI_SUCCESS;
    if (good && size)
        good = native.Send(data, (int)size, native.byte, target, JOB_TAG_PART, comm) == MPI_SUCCESS;
    free(data);
    return good && size;
}

/* Processes have the same number again: in other namespaces, after many others, or because one executes the next. */
static void summary_path(char *path, size_t size)
{
    char host[64] = "localhost";
    gethostname(host, sizeof host - 1);
    snprintf(path, size, "%s/%s.%d%s", recorder_directory(), host, (int)getpid(), SUMMARY_SUFFIX);
    for (unsigned i = 1; i < UINT16_MAX && access(path, F_OK) == 0; i++)
        snprintf(path, size, "%s/%s.%d.%u%s", recorder_directory(), host, (int)getpid(), i, SUMMARY_SUFFIX);
}

static bool file_write(const struct summary *summary)
{
    char path[4096 + 128], temporary[4096 + 136];
    size_t bytes;
    void *data = summary_pack(summary, &bytes);
    if (!data)
        return false;
    summary_path(path, sizeof path);
    snprintf(temporary, sizeof temporary, "%s.part", path);
    bool fits = filesize_permits(bytes);
    int fd = fits ? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    ssize_t written = fd >= 0 ? filesize_write(fd, &(struct iovec){data, bytes}, 1, 0) : -1;
    bool good = written == (ssize_t)bytes;
    int error = !fits ? EFBIG : written >= 0 ? ENOSPC : errno;
    if (fd >= 0 && close(fd) != 0)
        good = false;
    if (good && rename(temporary, path) != 0) {
        good = false;
        error = errno;
    }
    if (!good) {
        char text[sizeof path + 128];
        snprintf(text, sizeof text, "cannot write the summary %s: %s", path, strerror(error));
        run_tell(&book.run, text);
        if (fd >= 0)
            unlink(temporary);
    }
    free(data);
    return good;
}

static bool tree_reduce(MPI_Comm comm, int rank, int size, struct summary *summary)
{
    for (int bit = 1; bit < size; bit <<= 1) {
        if (rank & bit)
            return part_send(comm, rank - bit, summary);
        if (rank + bit < size && !part_receive(comm, rank + bit, summary))
            summary->ended_badly++; /* at least one process is missing in the sums; readers see ranks < world_size */
    }
    return summary->ranks && !summary->unfinished && file_write(summary);
}

bool reduction_possible(void)
{
    const char *wanted = getenv("MPIT_REDUCE"), *contexts = getenv("OMPI_NUM_APP_CTX");
    if (wanted && strcmp(wanted, "0") == 0)
        return false;
    return contexts ? atoi(contexts) <= 1 : !world_is_spawned();
}

bool reduction_run(bool recording, bool unfinished)
{
    MPI_Comm comm = job_comm();
    struct summary summary = {0};
    int rank = 0, size = 1;
    if (recording && summary_of_book(&summary, clock_now()) != 0)
        summary.ranks = 0;
    summary.unfinished = unfinished;
    if (comm == native.comm_null) {
        summary_release(&summary);
        return false;
    }
    native.Comm_rank(comm, &rank);
    native.Comm_size(comm, &size);
    int good = tree_reduce(comm, rank, size, &summary);
    unsigned long long job = summary.job;
    native.Bcast(&good, 1, native.int_, 0, comm); /* all keep their run files if rank 0 has no summary */
    native.Bcast(&job, 1, native.unsigned_long_long, 0, comm);
    if (recording && job)
        book.run.header->job = job; /* what rank 0 took for it, on all nodes */
    summary_release(&summary);
    return good;
}
