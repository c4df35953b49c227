#include "progress/memory.h"

#include "base/kernelfile.h"
#include "base/number.h"
#include "figures/cells.h"
#include "writer/filesize.h"
#include "writer/room.h"

#include <errno.h>
#include <sys/resource.h>

/* Shares of a peak: how far the process that started the program may have been above it, and how far the memory has to grow
 * until it is told where. */
enum { LOOK_NS = 10000000, FOREIGN_PARTS = 16, GROWN_PARTS = 16, TRIES = 1000 };

static struct run_memory *memory; /* in the header. NULL: before MPI_Init, and after the end */
static struct run_memory before;  /* what was read and written at the begin */
static uint64_t look_ticks, looked, told_bytes;
static uint32_t looking;
static uint64_t foreign; /* memory of the process that started the program, if it had more. 0: it had not */

/* The most memory of the program so far. */
static uint64_t peak_read(void)
{
    return 1024 * kernel_file_number("/proc/self", "status", "VmHWM:", 0);
}

/* The same with less work, but at least the memory of the process that started the program. */
static uint64_t peak_quickly(void)
{
    struct rusage all;
    return getrusage(RUSAGE_SELF, &all) == 0 ? 1024 * (uint64_t)all.ru_maxrss : 0;
}

/* Without what the recorder has written. */
static void files_read(struct run_memory *now)
{
    char text[KERNEL_TEXT_BYTES];
    struct filesize_writes own = filesize_written();
    kernel_file_read(text, "/proc/self", "io");
    now->read_bytes = kernel_text_number(text, "rchar:", 0);
    now->written_bytes = less(kernel_text_number(text, "wchar:", 0), own.bytes);
    now->reads = kernel_text_number(text, "syscr:", 0);
    now->writes = less(kernel_text_number(text, "syscw:", 0), own.calls);
}

/* A full list keeps every second sample, and goes on with twice the distance. */
static void memory_sample_add(struct run_memory *to, uint64_t ticks, uint64_t bytes)
{
    if (to->samples == MEMORY_SAMPLES) {
        for (uint32_t i = 1; i < MEMORY_SAMPLES / 2; i++)
            to->sample[i] = to->sample[2 * i];
        to->samples = MEMORY_SAMPLES / 2;
        to->distance_ticks *= 2;
    }
    if (to->samples && ticks < to->sample[to->samples - 1].ticks + to->distance_ticks)
        return;
    to->sample[to->samples++] = (struct memory_sample){ticks, bytes};
}

/* False: another thread looks. */
static bool look_begin(void)
{
    return !__atomic_exchange_n(&looking, 1, __ATOMIC_ACQUIRE);
}

static void look_end(void)
{
    __atomic_store_n(&looking, 0, __ATOMIC_RELEASE);
}

void memory_begin(struct run_header *header, struct clock_scale scale)
{
    int error = errno;
    struct run_memory *begin = &header->memory;
    if (__atomic_load_n(&memory, __ATOMIC_ACQUIRE) || begin->samples)
        return; /* MPI_Init and a session have begun */
    uint64_t bytes = peak_read(), now = clock_now();
    uint64_t all = peak_quickly();
    foreign = all > bytes + bytes / FOREIGN_PARTS ? all : 0;
    look_ticks = clock_ticks(scale, LOOK_NS);
    *begin = (struct run_memory){
        .node_bytes = room_of_node(), .begin_bytes = bytes, .peak_bytes = bytes, .distance_ticks = look_ticks};
    memory_sample_add(begin, now, bytes);
    files_read(&before);
    told_bytes = bytes;
    RELAXED_STORE(&looked, now);
    __atomic_store_n(&memory, begin, __ATOMIC_RELEASE);
    errno = error;
}

static void peak_take(struct run_memory *to, uint64_t bytes, uint64_t now, uint32_t path)
{
    to->peak_bytes = bytes > to->peak_bytes ? bytes : to->peak_bytes;
    memory_sample_add(to, now, to->peak_bytes);
    if (bytes <= told_bytes + told_bytes / GROWN_PARTS)
        return;
    told_bytes = bytes;
    to->peak_path = path;
}

void memory_look(uint64_t now, uint32_t path)
{
    struct run_memory *to = __atomic_load_n(&memory, __ATOMIC_ACQUIRE);
    if (!to || now < RELAXED_LOAD(&looked) + look_ticks || !look_begin())
        return;
    int error = errno;
    RELAXED_STORE(&looked, now);
    uint64_t bytes = peak_quickly();
    if (bytes > foreign)
        peak_take(to, bytes, now, path);
    errno = error;
    look_end();
}

void memory_end(void)
{
    struct run_memory *to = __atomic_exchange_n(&memory, NULL, __ATOMIC_ACQ_REL), now = {0};
    int error = errno;
    bool mine = false;
    for (unsigned i = 0; to && !mine && i < TRIES; i++)
        mine = look_begin();
    if (!mine)
        return;
    files_read(&now);
    peak_take(to, peak_read(), clock_now(), 0);
    to->shared_bytes = 1024 * kernel_file_number("/proc/self", "status", "RssShmem:", 0);
    to->read_bytes = less(now.read_bytes, before.read_bytes);
    to->written_bytes = less(now.written_bytes, before.written_bytes);
    to->reads = less(now.reads, before.reads);
    to->writes = less(now.writes, before.writes);
    to->files_known = now.reads > 0;
    look_end();
    errno = error;
}
