#include "reader/readerversions.h"

#include "calls.h"
#include "reader/readercomms.h"

#include <string.h>

enum {
    VERSION_WITH_FREE = 6,
    VERSION_WITH_CLOCKS = 7,
    VERSION_WITH_STALLS = 8,
    VERSION_WITH_SAMPLES = 9,
    VERSION_WITH_FABRIC, /* and counters */
    VERSION_WITH_PATHS
};

int reader_version_check(struct run_reader *reader)
{
    struct run_header *header = &reader->header;
    if (header->version < RUN_VERSION_LEAST || header->version > RUN_VERSION)
        return reader_fail(reader,
                           "has format version %u, but this mpit reads versions %d to %d; use the mpit-dump of the "
                           "mpit that recorded it",
                           header->version, RUN_VERSION_LEAST, RUN_VERSION);
    if (header->version < VERSION_WITH_CLOCKS)
        header->clock_syncs = header->first_object = 0;
    if (header->header_bytes < offsetof(struct run_header, stall_known))
        header->gaps = 0;
    if (header->version < VERSION_WITH_STALLS)
        header->stall_known = 0;
    if (header->version < VERSION_WITH_SAMPLES)
        header->samples_hz = header->samples_lost = 0;
    if (header->version < VERSION_WITH_FABRIC)
        header->first_provider = header->fabric_watched = header->counters = 0;
    if (header->header_bytes < offsetof(struct run_header, pid_namespace) + sizeof header->pid_namespace)
        header->pid_namespace = 0;
    bool launch_is_told = header->header_bytes >= offsetof(struct run_header, launched_size) + sizeof(uint32_t);
    if (!launch_is_told || header->launched_as > INT32_MAX || header->launched_size > INT32_MAX)
        header->launched_as = header->launched_size = 0;
    bool clock_is_told = header->header_bytes >= offsetof(struct run_header, clock_trouble) + sizeof(uint32_t);
    if (!clock_is_told || header->clock_way > CLOCK_WAY_MPI || header->clock_trouble >= CLOCK_TROUBLE_COUNT)
        header->clock_way = header->clock_trouble = 0;
    if (header->header_bytes < offsetof(struct run_header, collected) + sizeof header->collected)
        header->collected = 0;
    if (header->version < VERSION_WITH_PATHS)
        header->first_path = header->first_module = 0;
    if (header->header_bytes < offsetof(struct run_header, processor_set) + sizeof header->processor_set)
        header->processor_set = 0;
    if (header->header_bytes < offsetof(struct run_header, recorder) + sizeof header->recorder)
        header->recorder = 0;
    if (header->header_bytes < offsetof(struct run_header, trace_limit_ns) + sizeof header->trace_limit_ns)
        header->trace_limit_ns = 0;
    if (header->header_bytes < offsetof(struct run_header, trace_bytes_over) + sizeof header->trace_bytes_over)
        header->trace_bytes_over = 0;
    if (header->header_bytes < offsetof(struct run_header, process_start) + sizeof header->process_start)
        header->process_start = 0;
    if (header->header_bytes < offsetof(struct run_header, end_signal) + sizeof header->end_signal)
        header->usage.known = header->end_signal = 0;
    if (header->version < VERSION_WITH_FREE)
        header->trace_policy = TRACE_STOP;
    if (header->header_bytes < offsetof(struct run_header, spool_limit) + sizeof header->spool_limit) {
        header->origin = header->drained = header->spool_limit = 0;
        header->uid = header->apart = 0;
    }
    return 0;
}

bool reader_header_is_whole(const struct run_header *header)
{
    if (header->version < VERSION_WITH_CLOCKS)
        return header->header_bytes >= offsetof(struct run_header, clock_syncs);
    if (header->version < VERSION_WITH_STALLS)
        return header->header_bytes >= offsetof(struct run_header, gaps);
    if (header->version < VERSION_WITH_SAMPLES)
        return header->header_bytes >= offsetof(struct run_header, samples_hz);
    if (header->version < VERSION_WITH_FABRIC)
        return header->header_bytes >= offsetof(struct run_header, first_provider);
    if (header->version < VERSION_WITH_PATHS)
        return header->header_bytes >= offsetof(struct run_header, pid_namespace);
    return header->header_bytes >= offsetof(struct run_header, processor_set);
}

int reader_calls_check(struct run_reader *reader)
{
    if (reader->header.version == RUN_VERSION)
        return 0;
    for (size_t kind = 0; kind < reader->call_count; kind++)
        if (kind >= CALL_COUNT || strcmp(reader->calls[kind].name, call_table[kind].name) != 0)
            return reader_fail(reader,
                               "has format version %u and other calls than this mpit (number %zu is %s); use the "
                               "mpit-dump of the mpit that recorded it",
                               reader->header.version, kind, reader->calls[kind].name);
    return 0;
}

uint32_t reader_columns_kind(uint32_t first_kind)
{
    return first_kind == CHUNK_IMAGE - 1 ? CHUNK_COLUMNS - 1 : CHUNK_COLUMNS;
}

bool reader_has_paths(const struct run_reader *reader)
{
    return reader->header.version >= VERSION_WITH_PATHS;
}

bool reader_tells_turns(const struct run_reader *reader)
{
    return reader->header.version >= VERSION_WITH_FREE;
}

uint64_t reader_ring_spare(const struct run_reader *reader)
{
    return reader->header.version < VERSION_WITH_FABRIC ? RING_SPARE_ONCE : RING_SPARE;
}
