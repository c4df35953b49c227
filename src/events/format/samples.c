/* The writer of samples. It runs in signal handlers, so nothing here waits, allocates or reports. */
#include "format/samples.h"

#include "writer/filesize.h"
#include "writer/room.h"
#include "writer/run.h"
#include "writer/runtrace.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

static size_t chunk_room(const struct chunk_header *chunk)
{
    return chunk->bytes - sizeof *chunk;
}

/* True if there is room for `bytes` more. */
static bool sample_fits(const struct sample_writer *writer, size_t bytes)
{
    return writer->chunk && chunk_room(writer->chunk) - writer->chunk->packed_bytes >= bytes;
}

/* The end of the written records. */
static char *records_end(const struct sample_writer *writer)
{
    return (char *)(writer->chunk + 1) + writer->chunk->packed_bytes;
}

static void record_publish(struct sample_writer *writer, size_t bytes)
{
    __atomic_store_n(&writer->chunk->packed_bytes, writer->chunk->packed_bytes + bytes, __ATOMIC_RELEASE);
}

bool sample_put_thread(struct sample_writer *writer, uint32_t thread, int32_t tid, uint64_t period_ns,
                       const char name[16])
{
    struct sample_thread record = {.head = {.kind = SAMPLE_THREAD, .words = sizeof record / 8},
                                   .thread = thread,
                                   .tid = tid,
                                   .period_ns = period_ns};
    if (!sample_fits(writer, sizeof record))
        return false;
    memcpy(record.name, name, sizeof record.name);
    memcpy(records_end(writer), &record, sizeof record);
    record_publish(writer, sizeof record);
    return true;
}

bool sample_put_module(struct sample_writer *writer, const struct sample_module *module, const char *path)
{
    size_t length = strnlen(path, SAMPLE_PATH_MOST - 1), bytes = (sizeof *module + length + 1 + 7) / 8 * 8;
    struct sample_module record = *module;
    if (!sample_fits(writer, bytes))
        return false;
    record.head = (struct sample_head){.kind = SAMPLE_MODULE, .words = (uint16_t)(bytes / 8)};
    record.path_bytes = (uint32_t)length + 1;
    char *place = records_end(writer);
    memset(place + bytes - 8, 0, 8);
    memcpy(place, &record, sizeof record);
    memcpy(place + sizeof record, path, length);
    place[sizeof record + length] = '\0';
    record_publish(writer, bytes);
    return true;
}

bool sample_put(struct sample_writer *writer, const struct sample_taken *taken, const uint64_t *pcs, unsigned frames)
{
    unsigned shared = 0;
    frames = frames < SAMPLE_FRAMES_MOST ? frames : SAMPLE_FRAMES_MOST;
    while (shared < frames && shared < writer->last_frames && writer->last[shared] == pcs[frames - 1 - shared])
        shared++;
    unsigned fresh = frames - shared;
    size_t bytes = sizeof *taken + fresh * sizeof *pcs;
    if (!sample_fits(writer, bytes))
        return false;
    struct sample_taken record = *taken;
    record.head.kind = SAMPLE_TAKEN;
    record.head.words = (uint16_t)(bytes / 8);
    record.frames = (uint16_t)frames;
    record.fresh = (uint16_t)fresh;
    char *place = records_end(writer);
    memcpy(place, &record, sizeof record);
    memcpy(place + sizeof record, pcs, fresh * sizeof *pcs);
    for (unsigned i = shared; i < frames; i++)
        writer->last[i] = pcs[frames - 1 - i];
    writer->last_frames = (uint16_t)frames;
    writer->number++;
    record_publish(writer, bytes);
    return true;
}

/* Appends the buffer's records as a chunk at the end of the file. Returns 0, or an errno. They are not a part of a
 * trace and not under its limit, since they grow with time, and slowly. */
static int chunk_append(struct run *run, const struct chunk_header *buffer)
{
    struct chunk_header chunk = *buffer;
    static const char padding[RUN_PAGE_BYTES];
    size_t bytes = run_pages(sizeof chunk + buffer->packed_bytes);
    uint64_t offset = run->virtual_bytes;
    if (!run_has_file(run) || run->closed || run->broken)
        return run_broken_by(run);
    if (!filesize_permits(offset + bytes) || !run_spool_fits(run, bytes) || room_of_files(run->fd, run->path) < bytes)
        return EFBIG;
    chunk.bytes = bytes;
    chunk.reserved[0] = 0;
    struct iovec parts[] = {{&chunk, sizeof chunk},
                            {(void *)(uintptr_t)(buffer + 1), buffer->packed_bytes},
                            {(void *)(uintptr_t)padding, bytes - sizeof chunk - buffer->packed_bytes}};
    int fd = run_file_hold(run), error = 0;
    if (fd < 0)
        return errno;
    ssize_t written = filesize_write(fd, parts, 3, offset);
    if (written != (ssize_t)bytes) {
        error = written < 0 ? errno : ENOSPC;
        /*
         * Written parts of it would be in the way when the file grows next. If they cannot be cut off, growing fails.
         */
        if (filesize_set(fd, offset) != 0)
            run_tear(run, error);
        run->length = offset;
    } else {
        run->virtual_bytes += bytes;
        room_in(run->header)->appended = run->appended_bytes += bytes;
        run->length = run->length > run->virtual_bytes ? run->length : run->virtual_bytes;
        __atomic_store_n(&run->header->file_bytes, run->virtual_bytes, __ATOMIC_RELEASE);
    }
    run_file_release(run, fd);
    return error;
}

bool run_samples_flush(struct run *run, struct sample_writer *writer)
{
    struct chunk_header *buffer = writer->chunk;
    if (!buffer || pthread_mutex_trylock(&run->lock) != 0)
        return false;
    int error = chunk_append(run, buffer);
    pthread_mutex_unlock(&run->lock);
    if (error)
        __atomic_fetch_add(&run->header->samples_lost, writer->number - buffer->first_event, __ATOMIC_RELAXED);
    __atomic_store_n(&buffer->packed_bytes, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&buffer->first_event, writer->number, __ATOMIC_RELEASE);
    writer->last_frames = 0;
    return true;
}
