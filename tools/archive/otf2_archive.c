/* The parts of writing an archive that do not depend on its contents. */
#include "archive/otf2_archive.h"

#include "trace/tracereport.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <otf2/OTF2_Pthread_Locks.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each thread of the process that is being converted has a chunk of events in memory. */
enum { EVENT_CHUNK_BYTES = 1 << 20, NFTW_DESCRIPTORS = 16 };

struct chunk {
    struct chunk *before;
    uint64_t alignment; /* the next member is for any type */
};

static OTF2_FlushType flush_always(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)data, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

/* There is no function for the end of a flush. It would write BufferFlush events into a trace without flushes. */
static const OTF2_FlushCallbacks flush_callbacks = {.otf2_pre_flush = flush_always};

/*
 * Gives each writer one chunk. When the first is full, OTF2 asks for a second, and flushes the first if it does not get
 * it. By itself OTF2 takes up to 128 MiB for each location.
 */
static void *chunk_give(void *data, OTF2_FileType type, OTF2_LocationRef location, void **held, uint64_t size)
{
    (void)data, (void)location;
    if (*held && type == OTF2_FILETYPE_EVENTS)
        return NULL;
    struct chunk *chunk = malloc(sizeof *chunk + size);
    if (!chunk)
        return NULL;
    chunk->before = *held;
    *held = chunk;
    return chunk + 1;
}

static void chunks_take_back(void *data, OTF2_FileType type, OTF2_LocationRef location, void **held, bool final)
{
    (void)data, (void)type, (void)location, (void) final;
    for (struct chunk *chunk = *held, *before; chunk; chunk = before) {
        before = chunk->before;
        free(chunk);
    }
    *held = NULL;
}

static const OTF2_MemoryCallbacks memory_callbacks = {chunk_give, chunks_take_back};

/* OTF2 reports the cause of an error to this function. Its own functions return only a number. */
OTF2_ErrorCode otf2_error_keep(void *data, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
                               const char *format, va_list args)
{
    (void)file, (void)line, (void)function;
    struct otf2_report *report = data;
    char text[OTF2_ERROR_BYTES / 2];
    if (code == OTF2_WARNING || code == OTF2_DEPRECATED)
        return code;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* several threads write */
    vsnprintf(text, sizeof text, format, args);
    pthread_mutex_lock(&lock);
    report_error(report, "OTF2: %s (%s)", text, OTF2_Error_GetDescription(code));
    pthread_mutex_unlock(&lock);
    return code;
}

static int entry_remove(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)walk;
    int shortened = type == FTW_F ? truncate(path, 0) : 0; /* frees the space, even if OTF2 has it open */
    (void)shortened;
    return remove(path);
}

OTF2_Archive *otf2_archive_open(const char *directory)
{
    return OTF2_Archive_Open(directory, "traces", OTF2_FILEMODE_WRITE, EVENT_CHUNK_BYTES, OTF2_UNDEFINED_UINT64,
                             OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
}

int otf2_archive_prepare(OTF2_Archive *archive, struct otf2_report *report)
{
    if (OTF2_Archive_SetFlushCallbacks(archive, &flush_callbacks, NULL) != OTF2_SUCCESS ||
        OTF2_Archive_SetMemoryCallbacks(archive, &memory_callbacks, NULL) != OTF2_SUCCESS ||
        OTF2_Pthread_Archive_SetLockingCallbacks(archive, NULL) != OTF2_SUCCESS ||
        OTF2_Archive_SetCreator(archive, "mpit") != OTF2_SUCCESS)
        return report_error(report, "the archive cannot be prepared");
    return 0;
}

/* Renames, but does not replace a file that was created there in the meantime. */
int otf2_directory_publish(const char *made, const char *directory)
{
    if (renameat2(AT_FDCWD, made, AT_FDCWD, directory, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS) /* file systems that do not know the flag */
        return -1;
    struct stat st;
    if (lstat(directory, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(made, directory);
}

void otf2_directory_remove(const char *path)
{
    nftw(path, entry_remove, NFTW_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}
