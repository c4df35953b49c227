#include "summary/summary.h"

#include "format/label.h"
#include "summary/summarycounters.h"
#include "summary/summaryinstruments.h"
#include "summary/summaryphases.h"
#include "summary/summarysites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The flat form: "mpit-sum", version, byte order, sizes of the three structures, then the structures. The sizes differ
 * if a build has another table of calls.
 */
struct flat_header {
    char magic[8];
    uint32_t version, byte_order;
    uint64_t summary_bytes, comm_bytes, comm_count, instrument_bytes, instrument_count;
    uint64_t row_bytes, row_count, host_bytes, host_count; /* headers up to version 7 end before them, */
    uint64_t site_bytes, site_count, frame_bytes, frame_count, module_bytes, module_count, text_bytes; /* up to 9, */
    uint64_t phase_bytes, phase_count;                                                                 /* up to 11 */
};

#define FLAT_MAGIC "mpit-sum"
enum { FLAT_VERSION = 15, FLAT_VERSION_LEAST = 3 };
#define FLAT_ROWS_MOST (UINT64_C(1) << 24)
enum { FLAT_FRAMES_MOST = 1 << 22, FLAT_TEXT_MOST = 1 << 28, FLAT_PHASES_MOST = 1 << 24 };

/* Appends an array to the flat form. */
static char *array_put(char *to, const void *array, size_t bytes)
{
    if (bytes)
        memcpy(to, array, bytes);
    return to + bytes;
}

void *summary_pack(const struct summary *summary, size_t *bytes)
{
    const struct summary_sites *sites = &summary->sites;
    struct flat_header header = {.version = FLAT_VERSION,
                                 .byte_order = RUN_BYTE_ORDER,
                                 .summary_bytes = offsetof(struct summary, traced),
                                 .comm_bytes = sizeof *summary->comms,
                                 .comm_count = summary->comm_count,
                                 .instrument_bytes = sizeof *summary->instruments,
                                 .instrument_count = summary->instrument_count,
                                 .row_bytes = sizeof *summary->rows,
                                 .row_count = summary->row_count,
                                 .host_bytes = sizeof *summary->hosts,
                                 .host_count = summary->host_count,
                                 .site_bytes = sizeof *sites->list,
                                 .site_count = sites->count,
                                 .frame_bytes = sizeof *sites->frames,
                                 .frame_count = sites->frame_count,
                                 .module_bytes = sizeof *sites->modules,
                                 .module_count = sites->module_count,
                                 .text_bytes = sites->text_bytes,
                                 .phase_bytes = sizeof *summary->phases,
                                 .phase_count = summary->phase_count};
    size_t comm_bytes = summary->comm_count * sizeof *summary->comms;
    size_t instrument_bytes = summary->instrument_count * sizeof *summary->instruments;
    size_t row_bytes = summary->row_count * sizeof *summary->rows;
    size_t host_bytes = summary->host_count * sizeof *summary->hosts;
    memcpy(header.magic, FLAT_MAGIC, sizeof header.magic);
    size_t site_bytes = sites->count * sizeof *sites->list, frame_bytes = sites->frame_count * sizeof *sites->frames;
    size_t module_bytes = sites->module_count * sizeof *sites->modules;
    *bytes = sizeof header + header.summary_bytes + comm_bytes + instrument_bytes + row_bytes + host_bytes +
             site_bytes + frame_bytes + module_bytes + sites->text_bytes +
             summary->phase_count * sizeof *summary->phases;
    char *data = calloc(1, *bytes);
    if (!data)
        return NULL;
    struct summary body = *summary;
    body.comms = NULL; /* an address has no meaning elsewhere */
    body.instruments = NULL;
    body.rows = NULL;
    body.hosts = NULL;
    body.phases = NULL;
    body.sites.list = NULL;
    body.sites.frames = NULL;
    body.sites.modules = NULL;
    body.sites.texts = NULL;
    char *at = array_put(data, &header, sizeof header);
    at = array_put(at, &body, header.summary_bytes);
    at = array_put(at, summary->comms, comm_bytes);
    at = array_put(at, summary->instruments, instrument_bytes);
    at = array_put(at, summary->rows, row_bytes);
    at = array_put(at, summary->hosts, host_bytes);
    at = array_put(at, sites->list, site_bytes);
    at = array_put(at, sites->frames, frame_bytes);
    at = array_put(at, sites->modules, module_bytes);
    at = array_put(at, sites->texts, sites->text_bytes);
    array_put(at, summary->phases, summary->phase_count * sizeof *summary->phases);
    return data;
}

/* A copy of an array in the flat form. Its room is a power of two (summarysites.c). NULL also if it is empty. */
static void *array_copy(const char *from, size_t count, size_t element)
{
    size_t room = 1;
    while (room < count)
        room *= 2;
    void *copy = count ? malloc(room * element) : NULL;
    if (copy)
        memcpy(copy, from, count * element);
    return copy;
}

enum {
    FLAT_VERSION_WITH_STALLS = 5,
    FLAT_VERSION_WITH_OBJECTS = 6,
    FLAT_VERSION_WITH_FABRIC /* and counters */,
    FLAT_VERSION_WITH_ROWS /* and origin */,
    FLAT_VERSION_WITH_EXECUTION,
    FLAT_VERSION_WITH_SITES /* and figures by rank */,
    FLAT_VERSION_WITH_EXTREMES /* of sites by rank */,
    FLAT_VERSION_WITH_OFF /* time without recording, by rank, and phases */,
    FLAT_VERSION_WITH_RECEIVED /* by rank */,
    FLAT_VERSION_WITH_NEWER_CALLS /* of MPI 4.1 and 5.0 */,
    FLAT_VERSION_WITH_USAGE /* by rank */
};

/* Older versions had shorter arrays: what is missing, by the place in the structure. In order. */
enum { LOSSES_ONCE = 8, CALLS_ONCE = CALL_MPI_Type_ub + 1 };
#define FLAT_GAP(field, once, version)                                                                                 \
    {                                                                                                                  \
        offsetof(struct summary, field) + (once) * sizeof *((struct summary *)0)->field,                               \
            sizeof((struct summary *)0)->field - (once) * sizeof *((struct summary *)0)->field, version                \
    }
static const struct flat_gap {
    size_t at, bytes;
    uint32_t version; /* the first one without the gap */
} flat_gaps[] = {FLAT_GAP(lost, LOSSES_ONCE, FLAT_VERSION_WITH_ROWS),
                 FLAT_GAP(calls, CALLS_ONCE, FLAT_VERSION_WITH_NEWER_CALLS),
                 FLAT_GAP(call_stall_ns, CALLS_ONCE, FLAT_VERSION_WITH_NEWER_CALLS),
                 FLAT_GAP(call_fabric_ns, CALLS_ONCE, FLAT_VERSION_WITH_NEWER_CALLS)};
enum { FLAT_GAPS = sizeof flat_gaps / sizeof flat_gaps[0] };

/* The part of the structure that the version has. */
static size_t flat_summary_end(const struct flat_header *header)
{
    return header->version < FLAT_VERSION_WITH_STALLS      ? offsetof(struct summary, stall_ns)
           : header->version < FLAT_VERSION_WITH_OBJECTS   ? offsetof(struct summary, objects_unknown)
           : header->version < FLAT_VERSION_WITH_FABRIC    ? offsetof(struct summary, fabric_watched)
           : header->version < FLAT_VERSION_WITH_ROWS      ? offsetof(struct summary, origin)
           : header->version < FLAT_VERSION_WITH_EXECUTION ? offsetof(struct summary, execution_unknown)
           : header->version < FLAT_VERSION_WITH_SITES     ? offsetof(struct summary, sites)
           : header->version < FLAT_VERSION_WITH_OFF       ? offsetof(struct summary, recorded_seconds)
           : header->version < FLAT_VERSION_WITH_RECEIVED  ? offsetof(struct summary, received_unknown)
                                                           : offsetof(struct summary, traced);
}

static bool gap_is_in(const struct flat_gap *gap, const struct flat_header *header)
{
    return header->version < gap->version && gap->at < flat_summary_end(header);
}

static size_t flat_summary_bytes(const struct flat_header *header)
{
    size_t bytes = flat_summary_end(header);
    for (size_t i = 0; i < FLAT_GAPS; i++)
        if (gap_is_in(&flat_gaps[i], header))
            bytes -= flat_gaps[i].bytes;
    return bytes;
}

static void body_copy(struct summary *summary, const struct flat_header *header, const char *body)
{
    size_t at = 0;
    for (size_t i = 0; i < FLAT_GAPS; i++) {
        const struct flat_gap *gap = &flat_gaps[i];
        if (!gap_is_in(gap, header))
            continue;
        memcpy((char *)summary + at, body, gap->at - at);
        body += gap->at - at;
        at = gap->at + gap->bytes;
    }
    memcpy((char *)summary + at, body, flat_summary_end(header) - at);
}

static size_t flat_comm_bytes(const struct flat_header *header)
{
    return header->version < FLAT_VERSION_WITH_STALLS      ? offsetof(struct summary_comm, stall_ns)
           : header->version < FLAT_VERSION_WITH_OBJECTS   ? offsetof(struct summary_comm, rma_time_ns)
           : header->version < FLAT_VERSION_WITH_FABRIC    ? offsetof(struct summary_comm, fabric_ns)
           : header->version < FLAT_VERSION_WITH_EXECUTION ? offsetof(struct summary_comm, coll_execution_ns)
                                                           : sizeof(struct summary_comm);
}

static struct summary_comm *comms_copy(const char *from, size_t count, size_t bytes)
{
    struct summary_comm *comms = count ? calloc(count, sizeof *comms) : NULL;
    for (size_t i = 0; comms && i < count; i++)
        memcpy(&comms[i], from + i * bytes, bytes);
    return comms;
}

static size_t flat_row_bytes(const struct flat_header *header)
{
    return header->version < FLAT_VERSION_WITH_SITES      ? offsetof(struct summary_row, run_ns)
           : header->version < FLAT_VERSION_WITH_OFF      ? offsetof(struct summary_row, off_ns)
           : header->version < FLAT_VERSION_WITH_RECEIVED ? offsetof(struct summary_row, received)
           : header->version < FLAT_VERSION_WITH_USAGE    ? offsetof(struct summary_row, usage)
                                                          : sizeof(struct summary_row);
}

static struct summary_row *rows_copy(const char *from, size_t count, size_t bytes)
{
    struct summary_row *rows = count ? calloc(count, sizeof *rows) : NULL;
    for (size_t i = 0; rows && i < count; i++)
        memcpy(&rows[i], from + i * bytes, bytes);
    return rows;
}

static size_t flat_header_bytes(const struct flat_header *header)
{
    return header->version < FLAT_VERSION_WITH_ROWS    ? offsetof(struct flat_header, row_bytes)
           : header->version < FLAT_VERSION_WITH_SITES ? offsetof(struct flat_header, site_bytes)
           : header->version < FLAT_VERSION_WITH_OFF   ? offsetof(struct flat_header, phase_bytes)
                                                       : sizeof *header;
}

static size_t flat_site_bytes(const struct flat_header *header)
{
    return header->version < FLAT_VERSION_WITH_EXTREMES ? offsetof(struct summary_site, least_ns)
                                                        : sizeof(struct summary_site);
}

static struct summary_site *sites_list_copy(const char *from, size_t count, size_t bytes)
{
    size_t room = 1;
    while (room < count)
        room *= 2;
    struct summary_site *list = count ? calloc(room, sizeof *list) : NULL;
    for (size_t i = 0; list && i < count; i++) {
        list[i].least_rank = list[i].most_rank = -1;
        memcpy(&list[i], from + i * bytes, bytes);
    }
    return list;
}

static size_t flat_sites_bytes(const struct flat_header *header)
{
    return header->site_count * flat_site_bytes(header) + header->frame_count * sizeof(struct summary_frame) +
           header->module_count * sizeof(struct summary_module) + header->text_bytes;
}

static bool header_fits(const struct flat_header *header, size_t bytes)
{
    if (header->comm_count > SUMMARY_COMMS_MAX + 1 || header->instrument_count > SUMMARY_INSTRUMENTS_MAX ||
        header->row_count > FLAT_ROWS_MOST || header->host_count > header->row_count ||
        header->site_count > EVENT_PATHS_MOST || header->frame_count > FLAT_FRAMES_MOST ||
        header->module_count > PATH_MODULES_MOST || header->text_bytes > FLAT_TEXT_MOST ||
        header->phase_count > FLAT_PHASES_MOST)
        return false;
    return bytes == flat_header_bytes(header) + flat_summary_bytes(header) +
                        header->comm_count * flat_comm_bytes(header) +
                        header->instrument_count * sizeof(struct summary_instrument) +
                        header->row_count * flat_row_bytes(header) + header->host_count * sizeof(struct summary_host) +
                        flat_sites_bytes(header) + header->phase_count * sizeof(struct summary_phase);
}

/* True if they are sorted, as merging needs, and each has an existing host. */
static bool rows_are_sound(const struct summary *summary)
{
    for (size_t i = 0; i < summary->row_count; i++)
        if (summary->rows[i].host >= summary->host_count || summary->rows[i].rank < -1 ||
            (i && summary->rows[i].rank < summary->rows[i - 1].rank))
            return false;
    for (size_t i = 1; i < summary->host_count; i++)
        if (strcmp(summary->hosts[i - 1].name, summary->hosts[i].name) >= 0)
            return false;
    return true;
}

static void texts_tidy(struct summary *summary)
{
    struct summary_origin *origin = &summary->origin;
    text_tidy(summary->mpi, sizeof summary->mpi);
    text_tidy(summary->program, sizeof summary->program);
    text_tidy(summary->filter, sizeof summary->filter);
    text_tidy(origin->user, sizeof origin->user);
    text_tidy(origin->scheduler_job, sizeof origin->scheduler_job);
    text_tidy(origin->command, sizeof origin->command);
    text_tidy(origin->directory, sizeof origin->directory);
    for (size_t i = 0; i < summary->host_count; i++)
        text_tidy(summary->hosts[i].name, sizeof summary->hosts[i].name);
    for (size_t i = 0; i < SUMMARY_PROVIDERS_MAX; i++)
        text_tidy(summary->providers[i].name, sizeof summary->providers[i].name);
    for (size_t i = 0; i < summary->comm_count; i++) {
        struct summary_comm *comm = &summary->comms[i];
        text_tidy(comm->name, sizeof comm->name);
        text_tidy(comm->label, sizeof comm->label);
    }
}

static bool sites_copy(struct summary_sites *sites, const struct flat_header *header, const char *at)
{
    uint64_t named = sites->named != 0;
    *sites = (struct summary_sites){.named = named};
    sites->list = sites_list_copy(at, header->site_count, flat_site_bytes(header));
    sites->count = sites->list ? header->site_count : 0;
    at += header->site_count * flat_site_bytes(header);
    sites->frames = array_copy(at, header->frame_count, sizeof *sites->frames);
    sites->frame_count = sites->frames ? header->frame_count : 0;
    at += header->frame_count * sizeof *sites->frames;
    sites->modules = array_copy(at, header->module_count, sizeof *sites->modules);
    sites->module_count = sites->modules ? header->module_count : 0;
    at += header->module_count * sizeof *sites->modules;
    sites->texts = array_copy(at, header->text_bytes, 1);
    sites->text_bytes = sites->texts ? header->text_bytes : 0;
    return sites->count == header->site_count && sites->frame_count == header->frame_count &&
           sites->module_count == header->module_count && sites->text_bytes == header->text_bytes;
}

/* Copies the arrays after the body. Returns false without memory. */
static bool arrays_copy(struct summary *summary, const struct flat_header *header, const char *at)
{
    summary->comms = comms_copy(at, header->comm_count, flat_comm_bytes(header));
    summary->comm_count = summary->comms ? header->comm_count : 0;
    at += header->comm_count * flat_comm_bytes(header);
    summary->instruments = array_copy(at, header->instrument_count, sizeof *summary->instruments);
    summary->instrument_count = summary->instruments ? header->instrument_count : 0;
    at += header->instrument_count * sizeof *summary->instruments;
    summary->rows = rows_copy(at, header->row_count, flat_row_bytes(header));
    summary->row_count = summary->rows ? header->row_count : 0;
    at += header->row_count * flat_row_bytes(header);
    summary->hosts = array_copy(at, header->host_count, sizeof *summary->hosts);
    summary->host_count = summary->hosts ? header->host_count : 0;
    at += header->host_count * sizeof *summary->hosts;
    summary->phases = array_copy(at + flat_sites_bytes(header), header->phase_count, sizeof *summary->phases);
    summary->phase_count = summary->phases ? header->phase_count : 0;
    return sites_copy(&summary->sites, header, at) && summary->phase_count == header->phase_count &&
           summary->comm_count == header->comm_count && summary->instrument_count == header->instrument_count &&
           summary->row_count == header->row_count && summary->host_count == header->host_count;
}

/* Version 3 had no ended_later. The two fields after it were one place earlier. */
static void later_insert(struct summary *summary)
{
    summary->spawned = summary->unfinished;
    summary->unfinished = summary->ended_later;
    summary->ended_later = 0;
}

int summary_unpack(struct summary *summary, const void *data, size_t bytes, char error[128])
{
    struct flat_header header = {.version = 0};
    *summary = (struct summary){0};
    if (bytes < offsetof(struct flat_header, row_bytes) || memcmp(data, FLAT_MAGIC, sizeof header.magic) != 0) {
        snprintf(error, 128, "is not an mpit summary");
        return -1;
    }
    memcpy(&header, data, offsetof(struct flat_header, row_bytes));
    if (header.byte_order == RUN_BYTE_ORDER && (header.version < FLAT_VERSION_LEAST || header.version > FLAT_VERSION)) {
        snprintf(error, 128,
                 "has summary format version %u, but this mpit reads versions %d to %d; use the mpit that wrote it",
                 header.version, FLAT_VERSION_LEAST, FLAT_VERSION);
        return -1;
    }
    if (bytes >= flat_header_bytes(&header))
        memcpy(&header, data, flat_header_bytes(&header));
    if (header.byte_order != RUN_BYTE_ORDER || header.summary_bytes != flat_summary_bytes(&header) ||
        header.comm_bytes != flat_comm_bytes(&header) || header.instrument_bytes != sizeof *summary->instruments ||
        (header.row_count && header.row_bytes != flat_row_bytes(&header)) ||
        (header.site_count &&
         (header.site_bytes != flat_site_bytes(&header) || header.frame_bytes != sizeof *summary->sites.frames ||
          header.module_bytes != sizeof *summary->sites.modules)) ||
        (header.phase_count && header.phase_bytes != sizeof *summary->phases) ||
        (header.host_count && header.host_bytes != sizeof *summary->hosts)) {
        snprintf(error, 128, "was written by another version of mpit, or on a machine of another architecture");
        return -1;
    }
    if (!header_fits(&header, bytes)) {
        snprintf(error, 128, "is damaged: its size of %zu bytes does not match its %llu communicators", bytes,
                 (unsigned long long)header.comm_count);
        return -1;
    }
    const char *body = (const char *)data + flat_header_bytes(&header);
    body_copy(summary, &header, body);
    if (header.version == 3)
        later_insert(summary);
    if (header.version < FLAT_VERSION_WITH_OBJECTS)
        summary->objects_unknown = 1;
    if (header.version < FLAT_VERSION_WITH_EXECUTION)
        summary->execution_unknown = 1;
    if (header.version < FLAT_VERSION_WITH_OFF) {
        summary->recorded_seconds = summary->run_seconds;
        summary->recorded_unknown = summary->off_seconds.max > 0;
    }
    if (header.version < FLAT_VERSION_WITH_RECEIVED)
        summary->received_unknown = 1;
    if (!arrays_copy(summary, &header, body + flat_summary_bytes(&header))) {
        summary_release(summary);
        snprintf(error, 128, "does not fit into memory");
        return -1;
    }
    texts_tidy(summary);
    if (!summary_counters_sanitize(summary) || !rows_are_sound(summary) || !summary_sites_are_sound(summary) ||
        !summary_phases_are_sound(summary)) {
        summary_release(summary);
        snprintf(error, 128, "is damaged: its counters or its rows are not valid");
        return -1;
    }
    for (size_t i = 0; i < summary->instrument_count; i++)
        summary_instrument_sanitize(&summary->instruments[i]);
    return 0;
}
