#include "format/jobfile.h"

#include "base/hash.h"
#include "format/runfile.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { LEVEL = 6 };

/* Of a header whose sum is at `place`, as if it was 0. */
static uint64_t header_sum(const void *header, size_t bytes, size_t place)
{
    static const uint64_t none;
    const char *begin = header, *rest = begin + place + sizeof none;
    uint64_t hash = hash_bytes(hash_bytes(HASH_BEGIN, begin, place), &none, sizeof none);
    return hash_bytes(hash, rest, (size_t)(begin + bytes - rest));
}

#define SUM(header) header_sum(header, sizeof *(header), offsetof(__typeof__(*(header)), sum))

void job_header_seal(struct job_header *header)
{
    memcpy(header->magic, JOB_MAGIC, sizeof header->magic);
    header->sum = SUM(header);
}

bool job_header_is_sound(const struct job_header *header)
{
    return memcmp(header->magic, JOB_MAGIC, sizeof header->magic) == 0 && header->sum == SUM(header);
}

void section_seal(struct section_header *section)
{
    memcpy(section->magic, SECTION_MAGIC, sizeof section->magic);
    section->sum = SUM(section);
}

/* Of all that is behind the header. */
static uint64_t rest_sum(const struct section_header *section)
{
    return hash_bytes(HASH_BEGIN, section + 1, section->bytes - sizeof *section);
}

bool section_is_sound(const struct section_header *section, uint64_t room)
{
    return memcmp(section->magic, SECTION_MAGIC, sizeof section->magic) == 0 && section->bytes >= sizeof *section &&
           section->bytes % SECTION_ALIGN == 0 && section->bytes <= room &&
           section->payload_bytes <= section->bytes - sizeof *section && section->sum == SUM(section);
}

void job_tail_seal(struct job_tail *tail, uint64_t index)
{
    *tail = (struct job_tail){.index = index};
    memcpy(tail->magic, JOB_TAIL_MAGIC, sizeof tail->magic);
    tail->sum = SUM(tail);
}

bool job_tail_is_sound(const struct job_tail *tail)
{
    return memcmp(tail->magic, JOB_TAIL_MAGIC, sizeof tail->magic) == 0 && tail->sum == SUM(tail);
}

void *section_pack(enum section_kind kind, const void *data, size_t bytes, size_t *section_bytes)
{
    struct section_header header = {.kind = kind, .plain_bytes = bytes};
    size_t room = ZSTD_compressBound(bytes);
    char *section = calloc(1, section_padded(sizeof header + room));
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t packed = 0;
    if (section && context) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        packed = ZSTD_compress2(context, section + sizeof header, room, data, bytes);
    }
    ZSTD_freeCCtx(context);
    if (!packed || ZSTD_isError(packed)) {
        free(section);
        return NULL;
    }
    header.payload_bytes = packed;
    header.bytes = *section_bytes = section_padded(sizeof header + packed);
    memcpy(section, &header, sizeof header);
    header.rest_sum = rest_sum((const struct section_header *)(const void *)section);
    section_seal(&header);
    memcpy(section, &header, sizeof header);
    return section;
}

void *section_unpack(const struct section_header *section, size_t most, size_t *bytes, char error[128])
{
    /* real data does not shrink as much: a small file cannot become all of the memory */
    const uint64_t grown = (UINT64_C(1) << 20) + 1000 * section->bytes, plain = section->plain_bytes;
    char *data = plain <= most && plain <= grown ? malloc(plain + 1) : NULL;
    if (!data) {
        snprintf(error, 128, "has a section that is too long, or does not fit into memory (%llu bytes)",
                 (unsigned long long)plain);
        return NULL;
    }
    bool sound = section->rest_sum == rest_sum(section);
    size_t got = sound ? ZSTD_decompress(data, plain, section + 1, section->payload_bytes) : 0;
    if (!sound || ZSTD_isError(got) || got != plain) {
        free(data);
        snprintf(error, 128,
                 sound ? "is damaged: a section cannot be decompressed" : "is damaged: a section has a wrong checksum");
        return NULL;
    }
    *bytes = got;
    return data;
}

uint64_t run_identity(const struct run_header *header)
{
    const uint64_t numbers[] = {header->job, (uint32_t)header->world_rank, header->pid, header->begin_ticks,
                                header->begin_realtime_ns};
    size_t host = strnlen(header->host, sizeof header->host);
    uint64_t hash = hash_bytes(hash_bytes(HASH_BEGIN, numbers, sizeof numbers), header->host, host);
    return hash ? hash : 1;
}
