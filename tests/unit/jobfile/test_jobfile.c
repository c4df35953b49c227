/* Job files: sections come back, with the index and without it; cut, damaged and crafted files; calls that fail. */
#include "unittest.h"

#include "format/runfile.h"
#include "jobfile/jobindex.h"
#include "jobfile/jobwriter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/mpit-jobfile.XXXXXX";
static int fails_in; /* so many calls from now on one fails. 0: none */

static bool call_fails(void)
{
    return fails_in > 0 && --fails_in == 0;
}

ssize_t __real_pwrite(int fd, const void *bytes, size_t count, off_t place);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t count, off_t place);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t count, off_t place)
{
    if (!call_fails())
        return __real_pwrite(fd, bytes, count, place);
    errno = ENOSPC;
    return count < 2 ? -1 : __real_pwrite(fd, bytes, count / 2, place) < 0 ? -1 : (fails_in = 1, (ssize_t)(count / 2));
}

int __real_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes)
{
    if (!call_fails())
        return __real_ftruncate(fd, bytes);
    errno = EIO;
    return -1;
}

static int file_make(void **state)
{
    (void)state;
    strcpy(strrchr(path, '.'), ".XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int file_remove(void **state)
{
    (void)state;
    fails_in = 0;
    return unlink(path);
}

/* Data of a section: the same for the same number, and some of it large. */
static char *data_of(unsigned number, size_t *bytes)
{
    *bytes = number % 3 == 2 ? (3 << 20) + number : 100 * number + 1;
    char *data = malloc(*bytes);
    assert_non_null(data);
    uint64_t state = 88172645463325252u + number;
    for (size_t i = 0; i < *bytes; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data[i] = (char)state;
    }
    return data;
}

static int section_add(struct job_writer *writer, unsigned number)
{
    size_t bytes, section_bytes;
    char *data = data_of(number, &bytes);
    struct section_header *section =
        section_pack(number % 2 ? SECTION_SUMMARY : SECTION_NAMES, data, bytes, &section_bytes);
    assert_non_null(section);
    int result = job_writer_section(writer, section), problem = errno;
    free(section);
    free(data);
    errno = problem;
    return result;
}

/* A file with the sections 0 .. count - 1. */
static void file_fill(unsigned count)
{
    struct job_writer writer;
    int fd = open(path, O_RDWR | O_TRUNC);
    assert_int_equal(job_writer_begin(&writer, fd, 7, 1), 0);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(section_add(&writer, i), 0);
    assert_int_equal(job_writer_end(&writer), 0);
    job_writer_release(&writer);
    close(fd);
}

static unsigned char *file_load(size_t *bytes)
{
    FILE *file = fopen(path, "r");
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*bytes + 1);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

static void file_store(const unsigned char *data, size_t bytes)
{
    FILE *file = fopen(path, "w");
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* Returns whether section `entry` can be read, and has the data of this number. */
static bool section_has(const struct job_index *index, size_t entry, unsigned number)
{
    char error[128];
    size_t bytes, wanted;
    uid_t owner;
    void *data = job_section_read(path, job_index_extent(index, &index->list[entry]), 64 << 20, &bytes, &owner, error);
    char *own = data_of(number, &wanted);
    bool same = data && bytes == wanted && memcmp(data, own, bytes) == 0;
    free(data);
    free(own);
    return same;
}

/* The file has these sections, and is cut or not. */
static void file_has(unsigned count, bool cut)
{
    char error[128];
    struct job_index index;
    assert_int_equal(job_index_read(&index, path, (struct run_extent){0}, error), JOB_INDEX_READ);
    EQUALS({index.cut, cut}, {index.job, 7}, {index.count, count});
    for (unsigned i = 0; i < count; i++)
        assert_true(section_has(&index, i, i));
    job_index_release(&index);
}

TESTS_EACH(file_make, file_remove)

TEST(sections_come_back)
{
    for (unsigned count = 1; count < 9; count++) {
        file_fill(count);
        file_has(count, false);
    }
    assert_int_equal(job_file_parts(path, (struct run_extent){0}), 1);
}

TEST(more_sections_follow)
{
    file_fill(3);
    for (unsigned i = 3; i < 8; i++) {
        struct job_writer writer;
        int fd = open(path, O_RDWR);
        assert_int_equal(job_writer_resume(&writer, fd), 0);
        assert_int_equal(section_add(&writer, i), 0);
        assert_int_equal(job_writer_end(&writer), 0);
        job_writer_release(&writer);
        close(fd);
        file_has(i + 1, false);
    }
}

TEST(sections_are_copied)
{
    char error[128];
    struct job_index index;
    struct job_writer writer;
    file_fill(6);
    int from = open(path, O_RDONLY);
    assert_int_equal(job_index_read_at(&index, from, error), JOB_INDEX_READ);
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_int_equal(job_writer_begin(&writer, fd, 7, 1), 0);
    for (size_t i = 0; i < index.count; i++)
        assert_int_equal(job_writer_copy(&writer, from, &index.list[i]), 0);
    struct section_entry wrong = index.list[1];
    wrong.begin += SECTION_ALIGN;
    assert_int_equal(job_writer_copy(&writer, from, &wrong), -1);
    assert_int_equal(errno, ESTALE);
    assert_int_equal(job_writer_end(&writer), 0);
    job_writer_release(&writer);
    job_index_release(&index);
    close(fd);
    close(from);
    file_has(6, false);
}

/* The whole sections of what is left. */
TEST(a_cut_file_has_its_first_sections)
{
    char error[128];
    struct job_index index;
    size_t bytes, ends[4];
    file_fill(4);
    assert_int_equal(job_index_read(&index, path, (struct run_extent){0}, error), JOB_INDEX_READ);
    for (size_t i = 0; i < index.count; i++)
        ends[i] = index.list[i].begin + index.list[i].bytes;
    job_index_release(&index);
    unsigned char *data = file_load(&bytes);
    const size_t places[] = {bytes - 1,   bytes - 64,  bytes - 65,  ends[3],     ends[3] - 1,
                             ends[2],     ends[2] - 1, ends[1] + 1, ends[1] - 1, ends[0],
                             ends[0] - 1, 64,          63,          8,           0};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        unsigned count = 0;
        while (count < 4 && ends[count] <= places[i])
            count++;
        file_store(data, places[i]);
        if (count)
            file_has(count, true);
        else
            assert_int_equal(job_index_read(&index, path, (struct run_extent){0}, error),
                             places[i] < 64 ? JOB_INDEX_NONE : JOB_INDEX_BROKEN);
    }
    free(data);
}

/* A changed byte is noticed: no section has other data than before. */
TEST(no_changed_byte_passes)
{
    char error[128];
    size_t bytes, lost = 0;
    file_fill(2);
    unsigned char *data = file_load(&bytes);
    for (size_t at = 0; at < bytes; at++) {
        struct job_index index;
        data[at] ^= (unsigned char)(1 << at % 8);
        file_store(data, bytes);
        data[at] ^= (unsigned char)(1 << at % 8);
        enum job_index_kind kind = job_index_read(&index, path, (struct run_extent){0}, error);
        for (size_t i = 0; kind == JOB_INDEX_READ && i < index.count; i++) {
            size_t read;
            uid_t owner;
            void *section =
                job_section_read(path, job_index_extent(&index, &index.list[i]), 1 << 20, &read, &owner, error);
            lost += !section;
            free(section);
            assert_true(!section || section_has(&index, i, (unsigned)i));
        }
        lost += kind != JOB_INDEX_READ || index.count < 2;
        if (kind == JOB_INDEX_READ)
            job_index_release(&index);
    }
    assert_true(lost > 100);
    free(data);
}

/* An index with a right checksum that somebody else wrote: its places are checked. */
TEST(places_outside_are_not_followed)
{
    size_t bytes, index_bytes;
    file_fill(2);
    unsigned char *data = file_load(&bytes);
    struct job_tail tail;
    memcpy(&tail, data + bytes - sizeof tail, sizeof tail);
    const struct section_entry wrong[] = {
        {.kind = SECTION_NAMES, .begin = UINT64_MAX - 63, .bytes = 128},
        {.kind = SECTION_NAMES, .begin = 64, .bytes = UINT64_MAX - 63},
        {.kind = SECTION_NAMES, .begin = 64, .bytes = 1 << 30},
        {.kind = SECTION_NAMES, .begin = 0, .bytes = 64},
        {.kind = SECTION_NAMES, .begin = 65, .bytes = 64},
        {.kind = SECTION_NAMES, .begin = 64, .bytes = 0},
        {.kind = SECTION_INDEX, .begin = 64, .bytes = 64},
        {.kind = 99, .begin = 64, .bytes = 64},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *index = section_pack(SECTION_INDEX, &wrong[i], sizeof wrong[i], &index_bytes);
        struct job_tail end;
        job_tail_seal(&end, tail.index);
        FILE *file = fopen(path, "w");
        fwrite(data, 1, tail.index, file);
        fwrite(index, 1, index_bytes, file);
        fwrite(&end, sizeof end, 1, file);
        assert_int_equal(fclose(file), 0);
        free(index);
        file_has(2, true); /* found without it */
    }
    const uint64_t places[] = {UINT64_MAX, UINT64_MAX - 63, 0, 64, bytes, bytes - 64};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct job_tail end;
        job_tail_seal(&end, places[i]);
        memcpy(data + bytes - sizeof end, &end, sizeof end);
        file_store(data, bytes);
        file_has(2, true);
    }
    free(data);
}

TEST(other_files_are_none)
{
    char error[128];
    struct job_index index;
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(job_index_read(&index, path, (struct run_extent){0}, error), JOB_INDEX_NONE);
    assert_int_equal(job_index_read(&index, "/dev/zero", (struct run_extent){0}, error), JOB_INDEX_NONE);
    assert_int_equal(job_index_read(&index, "/tmp", (struct run_extent){0}, error), JOB_INDEX_NONE);
    assert_int_equal(job_index_read(&index, "/tmp/no-such-file", (struct run_extent){0}, error), JOB_INDEX_NONE);
    file_fill(1);
    size_t bytes;
    unsigned char *data = file_load(&bytes);
    ((struct job_header *)(void *)data)->version++;
    job_header_seal((struct job_header *)(void *)data);
    file_store(data, bytes);
    assert_int_equal(job_index_read(&index, path, (struct run_extent){0}, error), JOB_INDEX_BROKEN);
    assert_non_null(strstr(error, "version"));
    free(data);
}

/* Writes sections 0 to 4 while one call fails: each section is there as a whole, or not at all. Returns whether a call
 * failed. */
static bool fault_survived(int call)
{
    char error[128];
    struct job_index index;
    struct job_writer writer;
    unsigned written[5], count = 0;
    int fd = open(path, O_RDWR | O_TRUNC);
    fails_in = call;
    assert_int_equal(job_writer_begin(&writer, fd, 7, 1), 0);
    for (unsigned i = 0; i < 5; i++)
        if (section_add(&writer, i) == 0)
            written[count++] = i;
    bool ended = job_writer_end(&writer) == 0;
    bool failed = fails_in == 0;
    fails_in = 0;
    if (!ended && job_writer_end(&writer) == 0) /* when there is room again */
        ended = true;
    assert_true(ended);
    job_writer_release(&writer);
    close(fd);
    assert_int_equal(job_index_read(&index, path, (struct run_extent){0}, error), JOB_INDEX_READ);
    assert_false(index.cut);
    assert_int_equal(index.count, count);
    for (unsigned i = 0; i < count; i++)
        assert_true(section_has(&index, i, written[i]));
    job_index_release(&index);
    return failed;
}

TEST(a_call_that_fails_costs_one_section)
{
    int call = 1;
    while (fault_survived(call))
        call++;
    assert_true(call > 5);
}

/* A file that gets more sections while a call fails keeps all that it had. */
TEST(a_call_that_fails_costs_no_older_section)
{
    bool failed = true;
    for (int call = 1; failed; call++) {
        char error[128];
        struct job_index index;
        struct job_writer writer;
        file_fill(3);
        int fd = open(path, O_RDWR);
        fails_in = call;
        assert_int_equal(job_writer_resume(&writer, fd), 0);
        for (unsigned i = 3; i < 6; i++)
            section_add(&writer, i);
        (void)!job_writer_end(&writer);
        failed = fails_in == 0;
        fails_in = 0;
        job_writer_release(&writer);
        close(fd);
        assert_int_equal(job_index_read(&index, path, (struct run_extent){0}, error), JOB_INDEX_READ);
        assert_true(index.count >= 3);
        for (unsigned i = 0; i < 3; i++)
            assert_true(section_has(&index, i, i));
        job_index_release(&index);
    }
}
