#include "jobfile/summaryfile.h"

#include "collect/resultfile.h"
#include "reader/regularfile.h"

#include <stdlib.h>
#include <unistd.h>

static int data_take(struct summary *summary, void *data, size_t bytes, char error[128])
{
    int result = data ? summary_unpack(summary, data, bytes, error) : -1;
    free(data);
    return result;
}

int summary_part_read(struct summary *summary, const char *path, struct run_extent extent, uid_t *owner,
                      char error[128])
{
    size_t bytes = 0;
    void *data = job_section_read(path, extent, SUMMARY_BYTES_MAX, &bytes, owner, error);
    return data_take(summary, data, bytes, error);
}

static enum job_summary total_read(struct summary *summary, int fd, const struct job_index *index, char error[128])
{
    const struct section_entry *total = job_index_total(index);
    if (!total)
        return JOB_SUMMARY_NONE;
    size_t bytes = 0;
    void *data = job_section_read_at(fd, job_index_extent(index, total), SUMMARY_BYTES_MAX, &bytes, error);
    return data_take(summary, data, bytes, error) == 0 ? JOB_SUMMARY_READ : JOB_SUMMARY_BROKEN;
}

enum job_summary job_summary_read(struct summary *summary, const char *path, struct run_extent which, uid_t *owner,
                                  char error[128])
{
    struct stat st;
    struct job_index index;
    enum job_summary found = JOB_SUMMARY_NONE;
    int fd = regular_open(path, which, &st);
    enum job_index_kind kind = fd >= 0 ? job_index_read_at(&index, fd, error) : JOB_INDEX_NONE;
    if (kind == JOB_INDEX_READ) {
        *owner = index.owner;
        found = total_read(summary, fd, &index, error);
        job_index_release(&index);
    }
    if (fd >= 0)
        close(fd);
    return kind == JOB_INDEX_BROKEN ? JOB_SUMMARY_BROKEN : found;
}
