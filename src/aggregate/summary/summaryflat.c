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
 * The flat form: "mpit-sum", version, byte order, sizes and numbers of the structures, then the structures. The sizes differ
 * if a build has another table of calls.
 */
struct flat_header {
    char magic[8];
    uint32_t version, byte_order;
    uint64_t summary_bytes, comm_bytes, comm_count, instrument_bytes, instrument_count;
    uint64_t row_bytes, row_count, host_bytes, host_count;
    uint64_t site_bytes, site_count, frame_bytes, frame_count, module_bytes, module_count, text_bytes;
    uint64_t phase_bytes, phase_count;
};

#define FLAT_MAGIC "mpit-sum"
enum { FLAT_VERSION = 18 };
#define FLAT_BODY_BYTES offsetof(struct summary, trace_limit_ns) /* the rest is not stored */
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
                                 .summary_bytes = FLAT_BODY_BYTES,
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

static size_t flat_sites_bytes(const struct flat_header *header)
{
    return header->site_count * sizeof(struct summary_site) + header->frame_count * sizeof(struct summary_frame) +
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
    return bytes == sizeof *header + FLAT_BODY_BYTES + header->comm_count * sizeof(struct summary_comm) +
                        header->instrument_count * sizeof(struct summary_instrument) +
                        header->row_count * sizeof(struct summary_row) +
                        header->host_count * sizeof(struct summary_host) + flat_sites_bytes(header) +
                        header->phase_count * sizeof(struct summary_phase);
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

/* Bools may have any value in a damaged file. */
static bool traced_is_sound(struct summary_traced *traced)
{
    const unsigned char *bytes = (const unsigned char *)traced;
    bool sound = bytes[offsetof(struct summary_traced, there)] <= 1 &&
                 bytes[offsetof(struct summary_traced, split)] <= 1 &&
                 bytes[offsetof(struct summary_traced, replayed)] <= 1 && traced->cure_count <= CURES_KEPT;
    for (size_t i = 0; sound && i < traced->cure_count; i++) {
        const struct summary_cure *cure = &traced->cures[i];
        sound = ((const unsigned char *)cure)[offsetof(struct summary_cure, moves)] <= 1 &&
                cure->causes.count <= RANKS_KEPT && cure->waiting.count <= RANKS_KEPT;
    }
    return sound;
}

static bool sites_copy(struct summary_sites *sites, const struct flat_header *header, const char *at)
{
    uint64_t named = sites->named != 0;
    *sites = (struct summary_sites){.named = named};
    sites->list = array_copy(at, header->site_count, sizeof *sites->list);
    sites->count = sites->list ? header->site_count : 0;
    at += header->site_count * sizeof *sites->list;
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
    summary->comms = array_copy(at, header->comm_count, sizeof *summary->comms);
    summary->comm_count = summary->comms ? header->comm_count : 0;
    at += header->comm_count * sizeof *summary->comms;
    summary->instruments = array_copy(at, header->instrument_count, sizeof *summary->instruments);
    summary->instrument_count = summary->instruments ? header->instrument_count : 0;
    at += header->instrument_count * sizeof *summary->instruments;
    summary->rows = array_copy(at, header->row_count, sizeof *summary->rows);
    summary->row_count = summary->rows ? header->row_count : 0;
    at += header->row_count * sizeof *summary->rows;
    summary->hosts = array_copy(at, header->host_count, sizeof *summary->hosts);
    summary->host_count = summary->hosts ? header->host_count : 0;
    at += header->host_count * sizeof *summary->hosts;
    summary->phases = array_copy(at + flat_sites_bytes(header), header->phase_count, sizeof *summary->phases);
    summary->phase_count = summary->phases ? header->phase_count : 0;
    return sites_copy(&summary->sites, header, at) && summary->phase_count == header->phase_count &&
           summary->comm_count == header->comm_count && summary->instrument_count == header->instrument_count &&
           summary->row_count == header->row_count && summary->host_count == header->host_count;
}

int summary_unpack(struct summary *summary, const void *data, size_t bytes, char error[128])
{
    struct flat_header header = {.version = 0};
    *summary = (struct summary){0};
    if (bytes < offsetof(struct flat_header, summary_bytes) || memcmp(data, FLAT_MAGIC, sizeof header.magic) != 0) {
        snprintf(error, 128, "is not an mpit summary");
        return -1;
    }
    memcpy(&header, data, bytes < sizeof header ? bytes : sizeof header);
    if (header.byte_order == RUN_BYTE_ORDER && header.version != FLAT_VERSION) {
        snprintf(error, 128,
                 "has summary format version %u, but this mpit reads version %d; use the mpit that wrote it",
                 header.version, FLAT_VERSION);
        return -1;
    }
    if (header.byte_order != RUN_BYTE_ORDER || header.summary_bytes != FLAT_BODY_BYTES ||
        header.comm_bytes != sizeof *summary->comms || header.instrument_bytes != sizeof *summary->instruments ||
        header.row_bytes != sizeof *summary->rows || header.site_bytes != sizeof *summary->sites.list ||
        header.frame_bytes != sizeof *summary->sites.frames || header.module_bytes != sizeof *summary->sites.modules ||
        header.phase_bytes != sizeof *summary->phases || header.host_bytes != sizeof *summary->hosts) {
        snprintf(error, 128, "was written by another version of mpit, or on a machine of another architecture");
        return -1;
    }
    if (!header_fits(&header, bytes)) {
        snprintf(error, 128, "is damaged: its size of %zu bytes does not match its %llu communicators", bytes,
                 (unsigned long long)header.comm_count);
        return -1;
    }
    const char *body = (const char *)data + sizeof header;
    memcpy(summary, body, FLAT_BODY_BYTES);
    if (!arrays_copy(summary, &header, body + FLAT_BODY_BYTES)) {
        summary_release(summary);
        snprintf(error, 128, "does not fit into memory");
        return -1;
    }
    texts_tidy(summary);
    if (!summary_counters_sanitize(summary) || !traced_is_sound(&summary->traced) || !rows_are_sound(summary) ||
        !summary_sites_are_sound(summary) || !summary_phases_are_sound(summary)) {
        summary_release(summary);
        snprintf(error, 128, "is damaged: its counters, findings or rows are not valid");
        return -1;
    }
    for (size_t i = 0; i < summary->instrument_count; i++)
        summary_instrument_sanitize(&summary->instruments[i]);
    return 0;
}
