#include "summary.h"

#include "label.h"
#include "summarycounters.h"
#include "summaryinstruments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The flat form: "mpit-sum", version, byte order, sizes of the three structures (which tell a build with another table
 * of calls), then the structures.
 */
struct flat_header {
    char magic[8];
    uint32_t version, byte_order;
    uint64_t summary_bytes, comm_bytes, comm_count, instrument_bytes, instrument_count;
};

#define FLAT_MAGIC "mpit-sum"
enum { FLAT_VERSION = 7, FLAT_VERSION_LEAST = 3 };

void *summary_pack(const struct summary *summary, size_t *bytes)
{
    struct flat_header header = {.version = FLAT_VERSION,
                                 .byte_order = RUN_BYTE_ORDER,
                                 .summary_bytes = sizeof *summary,
                                 .comm_bytes = sizeof *summary->comms,
                                 .comm_count = summary->comm_count,
                                 .instrument_bytes = sizeof *summary->instruments,
                                 .instrument_count = summary->instrument_count};
    size_t comm_bytes = summary->comm_count * sizeof *summary->comms;
    size_t instrument_bytes = summary->instrument_count * sizeof *summary->instruments;
    memcpy(header.magic, FLAT_MAGIC, sizeof header.magic);
    *bytes = sizeof header + sizeof *summary + comm_bytes + instrument_bytes;
    char *data = calloc(1, *bytes);
    if (!data)
        return NULL;
    memcpy(data, &header, sizeof header);
    struct summary *body = (struct summary *)(void *)(data + sizeof header);
    *body = *summary;
    body->comms = NULL; /* an address says nothing elsewhere */
    body->instruments = NULL;
    if (comm_bytes)
        memcpy(data + sizeof header + sizeof *summary, summary->comms, comm_bytes);
    if (instrument_bytes)
        memcpy(data + sizeof header + sizeof *summary + comm_bytes, summary->instruments, instrument_bytes);
    return data;
}

/* A copy of an array in the flat form; NULL also where it is empty. */
static void *array_copy(const char *from, size_t count, size_t element)
{
    void *copy = count ? malloc(count * element) : NULL;
    if (copy)
        memcpy(copy, from, count * element);
    return copy;
}

enum { FLAT_VERSION_WITH_STALLS = 5, FLAT_VERSION_WITH_OBJECTS = 6, FLAT_VERSION_WITH_FABRIC /* and counters */ };

static size_t flat_summary_bytes(const struct flat_header *header)
{
    return header->version < FLAT_VERSION_WITH_STALLS    ? offsetof(struct summary, stall_ns)
           : header->version < FLAT_VERSION_WITH_OBJECTS ? offsetof(struct summary, objects_unknown)
           : header->version < FLAT_VERSION_WITH_FABRIC  ? offsetof(struct summary, fabric_watched)
                                                         : sizeof(struct summary);
}

static size_t flat_comm_bytes(const struct flat_header *header)
{
    return header->version < FLAT_VERSION_WITH_STALLS    ? offsetof(struct summary_comm, stall_ns)
           : header->version < FLAT_VERSION_WITH_OBJECTS ? offsetof(struct summary_comm, rma_time_ns)
           : header->version < FLAT_VERSION_WITH_FABRIC  ? offsetof(struct summary_comm, fabric_ns)
                                                         : sizeof(struct summary_comm);
}

static struct summary_comm *comms_copy(const char *from, size_t count, size_t bytes)
{
    struct summary_comm *comms = count ? calloc(count, sizeof *comms) : NULL;
    for (size_t i = 0; comms && i < count; i++)
        memcpy(&comms[i], from + i * bytes, bytes);
    return comms;
}

static bool header_fits(const struct flat_header *header, size_t rest)
{
    if (header->comm_count > SUMMARY_COMMS_MAX + 1 || header->instrument_count > SUMMARY_INSTRUMENTS_MAX)
        return false;
    return rest == flat_summary_bytes(header) + header->comm_count * flat_comm_bytes(header) +
                       header->instrument_count * sizeof(struct summary_instrument);
}

/* Version 3 had no ended_later, and the two behind it each in the place before its own. */
static void later_insert(struct summary *summary)
{
    summary->spawned = summary->unfinished;
    summary->unfinished = summary->ended_later;
    summary->ended_later = 0;
}

int summary_unpack(struct summary *summary, const void *data, size_t bytes, char error[128])
{
    struct flat_header header;
    *summary = (struct summary){0};
    if (bytes < sizeof header || memcmp(data, FLAT_MAGIC, sizeof header.magic) != 0) {
        snprintf(error, 128, "is no mpit summary");
        return -1;
    }
    memcpy(&header, data, sizeof header);
    if (header.byte_order == RUN_BYTE_ORDER && (header.version < FLAT_VERSION_LEAST || header.version > FLAT_VERSION)) {
        snprintf(error, 128,
                 "has summary format version %u; this mpit reads versions %d to %d: take the mpit that wrote it",
                 header.version, FLAT_VERSION_LEAST, FLAT_VERSION);
        return -1;
    }
    if (header.byte_order != RUN_BYTE_ORDER || header.summary_bytes != flat_summary_bytes(&header) ||
        header.comm_bytes != flat_comm_bytes(&header) || header.instrument_bytes != sizeof *summary->instruments) {
        snprintf(error, 128, "was written by another version of mpit or on another kind of machine");
        return -1;
    }
    if (!header_fits(&header, bytes - sizeof header)) {
        snprintf(error, 128, "is damaged: %zu bytes do not fit its %llu communicators", bytes,
                 (unsigned long long)header.comm_count);
        return -1;
    }
    const char *body = (const char *)data + sizeof header, *comms = body + flat_summary_bytes(&header);
    memcpy(summary, body, flat_summary_bytes(&header));
    if (header.version == 3)
        later_insert(summary);
    if (header.version < FLAT_VERSION_WITH_OBJECTS)
        summary->objects_unknown = 1;
    summary->comm_count = header.comm_count;
    summary->instrument_count = header.instrument_count;
    summary->comms = comms_copy(comms, header.comm_count, flat_comm_bytes(&header));
    summary->instruments = array_copy(comms + header.comm_count * flat_comm_bytes(&header), header.instrument_count,
                                      sizeof *summary->instruments);
    if ((header.comm_count && !summary->comms) || (header.instrument_count && !summary->instruments)) {
        summary_release(summary);
        snprintf(error, 128, "does not fit into memory");
        return -1;
    }
    if (!summary_counters_sanitize(summary)) {
        summary_release(summary);
        snprintf(error, 128, "is damaged: it has too many counters");
        return -1;
    }
    text_tidy(summary->mpi, sizeof summary->mpi);
    text_tidy(summary->program, sizeof summary->program);
    text_tidy(summary->filter, sizeof summary->filter);
    for (size_t i = 0; i < SUMMARY_PROVIDERS_MAX; i++)
        text_tidy(summary->providers[i].name, sizeof summary->providers[i].name);
    for (size_t i = 0; i < summary->comm_count; i++) {
        struct summary_comm *comm = &summary->comms[i];
        text_tidy(comm->name, sizeof comm->name);
        text_tidy(comm->label, sizeof comm->label);
    }
    for (size_t i = 0; i < summary->instrument_count; i++)
        summary_instrument_sanitize(&summary->instruments[i]);
    return 0;
}
