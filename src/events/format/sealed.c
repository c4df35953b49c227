#include "format/sealed.h"

#include "base/hash.h"
#include "format/runfile.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define SEALED_MAGIC "mpit-job"
enum { SEALED_VERSION = 1, LEVEL = 6 };

struct sealed_header {
    char magic[8];
    uint32_t version, byte_order;
    uint64_t plain_bytes, packed_bytes;
    uint64_t sum; /* FNV-1a over the header with 0 here, and the frame */
};

static uint64_t sum_of(struct sealed_header header, const void *frame)
{
    header.sum = 0;
    return hash_bytes(hash_bytes(HASH_BEGIN, &header, sizeof header), frame, header.packed_bytes);
}

bool sealed_is(const void *file, size_t bytes)
{
    return bytes >= sizeof(struct sealed_header) && memcmp(file, SEALED_MAGIC, 8) == 0;
}

void *sealed_pack(const void *data, size_t bytes, size_t *file_bytes)
{
    size_t room = ZSTD_compressBound(bytes);
    char *file = malloc(sizeof(struct sealed_header) + room);
    if (!file)
        return NULL;
    struct sealed_header header = {
        .version = SEALED_VERSION, .byte_order = RUN_BYTE_ORDER, .plain_bytes = bytes, .packed_bytes = 0};
    size_t packed = ZSTD_compress(file + sizeof header, room, data, bytes, LEVEL);
    if (ZSTD_isError(packed)) {
        free(file);
        return NULL;
    }
    memcpy(header.magic, SEALED_MAGIC, sizeof header.magic);
    header.packed_bytes = packed;
    header.sum = sum_of(header, file + sizeof header);
    memcpy(file, &header, sizeof header);
    *file_bytes = sizeof header + packed;
    return file;
}

void *sealed_unpack(const void *file, size_t file_bytes, size_t most, size_t *bytes, char error[128])
{
    struct sealed_header header;
    const char *frame = (const char *)file + sizeof header;
    memcpy(&header, file, sizeof header);
    if (header.byte_order != RUN_BYTE_ORDER || header.version != SEALED_VERSION) {
        snprintf(error, 128, "has format version %u, or is damaged; this mpit reads version %d of this architecture",
                 header.version, SEALED_VERSION);
        return NULL;
    }
    if (header.packed_bytes != file_bytes - sizeof header || header.sum != sum_of(header, frame)) {
        snprintf(error, 128, "is damaged: its checksum is wrong");
        return NULL;
    }
    /* real data does not shrink as much: a small file cannot become all of the memory */
    const uint64_t grown = (UINT64_C(1) << 20) + 1000 * (uint64_t)file_bytes;
    char *data = header.plain_bytes <= most && header.plain_bytes <= grown ? malloc(header.plain_bytes + 1) : NULL;
    if (!data) {
        snprintf(error, 128, "is too long for a summary, or does not fit into memory (%llu bytes)",
                 (unsigned long long)header.plain_bytes);
        return NULL;
    }
    size_t got = ZSTD_decompress(data, header.plain_bytes, frame, header.packed_bytes);
    if (ZSTD_isError(got) || got != header.plain_bytes) {
        free(data);
        snprintf(error, 128, "is damaged: it cannot be decompressed");
        return NULL;
    }
    *bytes = got;
    return data;
}
