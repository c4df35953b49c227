#include "jobfile/jobwriter.h"

#include "base/array.h"
#include "base/invariant.h"
#include "format/runfile.h"
#include "jobfile/jobindex.h"
#include "jobfile/packing.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20 };

static int bytes_put_at(int fd, const char *bytes, size_t count, uint64_t place)
{
    for (size_t done = 0; done < count;) {
        ssize_t n = pwrite(fd, bytes + done, count - done, (off_t)(place + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n < 0 ? errno : ENOSPC;
            return -1;
        }
        done += (size_t)n;
    }
    return 0;
}

static bool job_writer_is_valid(const struct job_writer *writer)
{
    return writer->buffer && writer->used <= BUFFER_BYTES && writer->count <= writer->room &&
           writer->end <= job_writer_place(writer);
}

int job_writer_flush(struct job_writer *writer)
{
    MPIT_ASSERT(job_writer_is_valid(writer));
    if (bytes_put_at(writer->fd, writer->buffer, writer->used, writer->written) != 0)
        return -1;
    writer->written += writer->used;
    writer->used = 0;
    return 0;
}

int job_writer_put(struct job_writer *writer, const void *bytes, size_t count)
{
    MPIT_ASSERT(job_writer_is_valid(writer));
    for (size_t done = 0, n; done < count; done += n) {
        if (writer->used == BUFFER_BYTES && job_writer_flush(writer) != 0)
            return -1;
        n = count - done < BUFFER_BYTES - writer->used ? count - done : BUFFER_BYTES - writer->used;
        memcpy(writer->buffer + writer->used, (const char *)bytes + done, n);
        writer->used += n;
    }
    return 0;
}

int job_writer_pad(struct job_writer *writer)
{
    static const char zeros[SECTION_ALIGN];
    uint64_t place = job_writer_place(writer);
    return job_writer_put(writer, zeros, section_padded(place) - place);
}

int job_writer_open(struct job_writer *writer, int fd, uint64_t place)
{
    *writer = (struct job_writer){.fd = fd, .end = place, .written = place, .buffer = malloc(BUFFER_BYTES)};
    if (writer->buffer)
        return 0;
    errno = ENOMEM;
    return -1;
}

void job_writer_release(struct job_writer *writer)
{
    packing_free(writer->packing);
    free(writer->buffer);
    free(writer->list);
    *writer = (struct job_writer){.fd = -1};
}

int job_writer_begin(struct job_writer *writer, int fd, uint64_t job, uint64_t parts)
{
    struct job_header header = {.version = JOB_VERSION, .byte_order = RUN_BYTE_ORDER, .job = job, .parts = parts};
    job_header_seal(&header);
    if (job_writer_open(writer, fd, 0) != 0 || job_writer_put(writer, &header, sizeof header) != 0)
        return -1;
    writer->end = sizeof header;
    return 0;
}

static int section_note(struct job_writer *writer, const struct section_entry *entry)
{
    if (!ARRAY_RESERVED(writer->list, &writer->room, writer->count)) {
        errno = ENOMEM;
        return -1;
    }
    writer->list[writer->count++] = *entry;
    return 0;
}

int job_writer_resume(struct job_writer *writer, int fd)
{
    char error[128];
    struct job_index index;
    int result = job_writer_open(writer, fd, 0);
    if (result != 0)
        return -1;
    if (job_index_read_at(&index, fd, error) != JOB_INDEX_READ) {
        errno = EBADMSG;
        return -1;
    }
    if (index.cut) { /* there may be more behind what is damaged */
        errno = EBADMSG;
        result = -1;
    }
    for (size_t i = 0; result == 0 && i < index.count; i++)
        result = section_note(writer, &index.list[i]);
    writer->end = writer->written = index.end;
    job_index_release(&index);
    return result;
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

/* Takes back what there is behind the last section. The index that the file had before is gone then. */
static void rest_drop(struct job_writer *writer)
{
    if (writer->written > writer->end) {
        writer->written = writer->end;
        writer->used = 0;
        (void)!ftruncate(writer->fd, (off_t)writer->end);
    } else {
        writer->used = (size_t)(writer->end - writer->written);
    }
}

void job_writer_undo(struct job_writer *writer)
{
    MPIT_ASSERT(job_writer_is_valid(writer) && writer->count);
    writer->end = writer->list[--writer->count].begin;
    rest_drop(writer);
}

/* Notes a whole section, or drops what there is of it. */
static int section_settle(struct job_writer *writer, const struct section_entry *entry, int result)
{
    int problem = errno;
    MPIT_ASSERT(job_writer_is_valid(writer));
    if (result == 0 && section_note(writer, entry) == 0) {
        writer->end = entry->begin + entry->bytes;
        return 0;
    }
    problem = result == 0 ? errno : problem;
    rest_drop(writer);
    errno = problem;
    return -1;
}

/* Writes the header of a section, for which there is a place. */
static int section_head_put(struct job_writer *writer, uint64_t begin, const struct section_header *head)
{
    if (begin >= writer->written) { /* all of it is in the buffer */
        memcpy(writer->buffer + (begin - writer->written), head, sizeof *head);
        return 0;
    }
    return job_writer_flush(writer) == 0 ? bytes_put_at(writer->fd, (const char *)head, sizeof *head, begin) : -1;
}

int job_writer_process(struct job_writer *writer, const struct run_reader *run, const struct drained *drained)
{
    const uint64_t begin = writer->end;
    struct section_header head = {
        .kind = SECTION_PROCESS, .plain_bytes = run->bytes, .process = run_identity(&run->header)};
    static const struct section_header nothing;
    if (!writer->packing && !(writer->packing = packing_make())) {
        errno = ENOMEM;
        return -1;
    }
    int result = job_writer_put(writer, &nothing, sizeof nothing);
    if (result == 0)
        result = packing_put(writer->packing, writer, run, drained, &head.chunks);
    head.bytes = job_writer_place(writer) - begin;
    head.payload_bytes = head.bytes - sizeof head;
    section_seal(&head);
    if (result == 0)
        result = section_head_put(writer, begin, &head);
    const struct section_entry entry = {
        .kind = head.kind, .begin = begin, .bytes = head.bytes, .process = head.process};
    return section_settle(writer, &entry, result);
}

int job_writer_section(struct job_writer *writer, const struct section_header *section)
{
    const struct section_entry entry = {.kind = section->kind, .begin = writer->end, .bytes = section->bytes};
    return section_settle(writer, &entry, job_writer_put(writer, section, section->bytes));
}

/* Reads more of a section into the buffer, `done` bytes are there. Returns how many, or -1 with errno. The entry gets the
 * process that the header of the section names. */
static ssize_t section_part_read(struct job_writer *writer, int from, struct section_entry *entry, uint64_t done)
{
    struct section_header head;
    size_t room = BUFFER_BYTES - writer->used, left = (size_t)(entry->bytes - done);
    char *to = writer->buffer + writer->used;
    ssize_t n;
    while ((n = pread(from, to, left < room ? left : room, (off_t)(entry->begin + done))) < 0 && errno == EINTR) {
    }
    bool whole = n > 0;
    if (whole && !done) {
        whole = n >= (ssize_t)sizeof head;
        memcpy(&head, to, whole ? sizeof head : 0);
        whole =
            whole && section_is_sound(&head, entry->bytes) && head.bytes == entry->bytes && head.kind == entry->kind;
        entry->process = whole ? head.process : 0;
    }
    if (n >= 0 && !whole)
        errno = ESTALE;
    return whole ? n : -1;
}

int job_writer_copy(struct job_writer *writer, int from, const struct section_entry *entry)
{
    struct section_entry from_entry = *entry;
    int result = 0;
    for (uint64_t done = 0; result == 0 && done < entry->bytes;) {
        if (BUFFER_BYTES - writer->used < sizeof(struct section_header))
            result = job_writer_flush(writer);
        ssize_t n = result == 0 ? section_part_read(writer, from, &from_entry, done) : -1;
        writer->used += n > 0 ? (size_t)n : 0;
        done += n > 0 ? (uint64_t)n : 0;
        result = n > 0 ? 0 : -1;
    }
    const struct section_entry own = {
        .kind = entry->kind, .begin = writer->end, .bytes = entry->bytes, .process = from_entry.process};
    return section_settle(writer, &own, result);
}

int job_writer_end(struct job_writer *writer)
{
    struct job_tail tail;
    size_t bytes = 0;
    uint64_t begin = writer->end;
    void *index = section_pack(SECTION_INDEX, writer->list, writer->count * sizeof *writer->list, &bytes);
    if (!index) {
        errno = ENOMEM;
        return -1;
    }
    job_tail_seal(&tail, begin);
    bool good = job_writer_put(writer, index, bytes) == 0 && job_writer_put(writer, &tail, sizeof tail) == 0 &&
                job_writer_flush(writer) == 0 && ftruncate(writer->fd, (off_t)writer->written) == 0;
    int problem = errno;
    free(index);
    if (!good) {
        writer->written = writer->end;
        writer->used = 0;
        (void)!ftruncate(writer->fd, (off_t)writer->end);
        errno = problem;
        return -1;
    }
    return 0;
}
