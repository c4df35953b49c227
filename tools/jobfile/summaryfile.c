#include "jobfile/summaryfile.h"

#include "reader/regularfile.h"
#include "site/setting.h"
#include "summary/summarysites.h"

#include <err.h>
#include <errno.h>
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

/* Bytes that a summary may have besides 40 for each rank. 0: any. */
static uint64_t summary_limit(void)
{
    const char *text = setting("MPIT_SUMMARY_LIMIT_BYTES");
    char place[SETTING_PLACE_BYTES], *end;
    if (!text || !*text)
        return 0;
    errno = 0;
    uint64_t limit = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno)
        return limit;
    warnx(
        "%sMPIT_SUMMARY_LIMIT_BYTES=%.60s cannot be used: allowed are whole numbers of bytes; summaries have no limit",
        setting_place("MPIT_SUMMARY_LIMIT_BYTES", place), text);
    return 0;
}

struct section_header *summary_section_make_whole(const struct summary *summary, enum section_kind kind)
{
    size_t flat_bytes, bytes;
    void *flat = summary_pack(summary, &flat_bytes);
    bool fits = flat && flat_bytes <= SUMMARY_BYTES_MAX && summary_sites_are_sound(summary);
    struct section_header *section = fits ? section_pack(kind, flat, flat_bytes, &bytes) : NULL;
    free(flat);
    errno = flat && !fits ? EFBIG : ENOMEM;
    return section;
}

struct section_header *summary_section_make(struct summary *summary, enum section_kind kind)
{
    enum { RANK_BYTES = 40, FILE_BYTES = 512 }; /* of the job file around it */
    /* Other nodes may leave out other parts. A line of the sum would lack ranks. */
    bool all_ranks = summary->world_size && summary->row_count >= summary->world_size;
    uint64_t limit = all_ranks ? summary_limit() : 0;
    uint64_t most = limit && limit < SIZE_MAX / 2 ? limit + RANK_BYTES * summary->row_count : SIZE_MAX;
    most -= most > FILE_BYTES ? FILE_BYTES : 0;
    for (;;) {
        struct section_header *section = summary_section_make_whole(summary, kind);
        if (section ? section->bytes <= most : errno != EFBIG)
            return section;
        if (summary->traced.passes.window_count)
            summary_passes_reduce(&summary->traced.passes);
        else if (!summary_reduce(summary))
            return section;
        free(section);
    }
}
