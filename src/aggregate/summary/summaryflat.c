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
    uint64_t phase_bytes, phase_count, link_bytes, link_count;
    uint64_t region_bytes, region_count, place_bytes, place_count, library_bytes, library_count,
        name_bytes; /* of `parallel` */
};

#define FLAT_MAGIC "mpit-sum"
enum { FLAT_VERSION = 24 };
#define FLAT_BODY_BYTES offsetof(struct summary, trace_limit_ns) /* the rest is not stored */
#define FLAT_ROWS_MOST (UINT64_C(1) << 24)
#define PASS_SECONDS_MOST 1e12F
enum { FLAT_FRAMES_MOST = 1 << 22, FLAT_TEXT_MOST = 1 << 28, FLAT_PHASES_MOST = 1 << 24 };

#define ARRAY(field, number, told, limit)                                                                              \
    {                                                                                                                  \
        offsetof(struct summary, field), offsetof(struct summary, number), offsetof(struct flat_header, told),         \
            sizeof *((struct summary *)NULL)->field, limit                                                             \
    }

/* The arrays, in the order of the flat form. */
static const struct flat_array {
    size_t list, count, told_count; /* places of the pointer and the number in a summary, of the number in a header */
    size_t size;                    /* of an element. The header has it before the number. It has none for bytes */
    uint64_t most;
} arrays[] = {
    ARRAY(comms, comm_count, comm_count, SUMMARY_COMMS_MAX + 1),
    ARRAY(instruments, instrument_count, instrument_count, SUMMARY_INSTRUMENTS_MAX),
    ARRAY(rows, row_count, row_count, FLAT_ROWS_MOST),
    ARRAY(hosts, host_count, host_count, FLAT_ROWS_MOST),
    ARRAY(sites.list, sites.count, site_count, EVENT_PATHS_MOST),
    ARRAY(sites.frames, sites.frame_count, frame_count, FLAT_FRAMES_MOST),
    ARRAY(sites.modules, sites.module_count, module_count, PATH_MODULES_MOST),
    ARRAY(sites.texts, sites.text_bytes, text_bytes, FLAT_TEXT_MOST),
    ARRAY(phases, phase_count, phase_count, FLAT_PHASES_MOST),
    ARRAY(links, link_count, link_count, SUMMARY_LINKS_MOST),
    ARRAY(parallel.list, parallel.count, region_count, EVENT_PATHS_MOST),
    ARRAY(parallel.frames, parallel.frame_count, place_count, FLAT_FRAMES_MOST),
    ARRAY(parallel.modules, parallel.module_count, library_count, PATH_MODULES_MOST),
    ARRAY(parallel.texts, parallel.text_bytes, name_bytes, FLAT_TEXT_MOST),
};
enum { ARRAYS = sizeof arrays / sizeof arrays[0], NUMBER = sizeof(uint64_t) };

_Static_assert(sizeof(size_t) == NUMBER && sizeof(void *) == NUMBER, "all fields of the table are alike");

/* Reads or stores a number or a pointer of a structure. */
static uint64_t field_get(const void *structure, size_t place)
{
    uint64_t value;
    memcpy(&value, (const char *)structure + place, sizeof value);
    return value;
}

static void field_set(void *structure, size_t place, uint64_t value)
{
    memcpy((char *)structure + place, &value, sizeof value);
}

void *summary_pack(const struct summary *summary, size_t *bytes)
{
    struct flat_header header = {
        .version = FLAT_VERSION, .byte_order = RUN_BYTE_ORDER, .summary_bytes = FLAT_BODY_BYTES};
    struct summary body = *summary;
    memcpy(header.magic, FLAT_MAGIC, sizeof header.magic);
    *bytes = sizeof header + FLAT_BODY_BYTES;
    for (size_t i = 0; i < ARRAYS; i++) {
        uint64_t count = field_get(summary, arrays[i].count);
        if (arrays[i].size > 1)
            field_set(&header, arrays[i].told_count - NUMBER, arrays[i].size);
        field_set(&header, arrays[i].told_count, count);
        field_set(&body, arrays[i].list, 0); /* an address has no meaning elsewhere */
        *bytes += count * arrays[i].size;
    }
    char *data = calloc(1, *bytes);
    if (!data)
        return NULL;
    memcpy(data, &header, sizeof header);
    memcpy(data + sizeof header, &body, FLAT_BODY_BYTES);
    char *at = data + sizeof header + FLAT_BODY_BYTES;
    for (size_t i = 0; i < ARRAYS; i++) {
        size_t part = field_get(summary, arrays[i].count) * arrays[i].size;
        if (part)
            memcpy(at, (const void *)(uintptr_t)field_get(summary, arrays[i].list), part);
        at += part;
    }
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

static bool sizes_fit(const struct flat_header *header)
{
    bool fit = header->byte_order == RUN_BYTE_ORDER && header->summary_bytes == FLAT_BODY_BYTES;
    for (size_t i = 0; i < ARRAYS; i++)
        fit = fit && (arrays[i].size == 1 || field_get(header, arrays[i].told_count - NUMBER) == arrays[i].size);
    return fit;
}

static bool counts_fit(const struct flat_header *header, size_t bytes)
{
    size_t whole = sizeof *header + FLAT_BODY_BYTES;
    for (size_t i = 0; i < ARRAYS; i++) {
        uint64_t count = field_get(header, arrays[i].told_count);
        if (count > arrays[i].most)
            return false;
        whole += count * arrays[i].size;
    }
    return header->host_count <= header->row_count && bytes == whole;
}

/* True if they are sorted, as merging needs, and each has an existing host. */
static bool rows_are_sound(const struct summary *summary)
{
    for (size_t i = 0; i < summary->row_count; i++)
        if (summary->rows[i].host >= summary->host_count || summary->rows[i].better_host >= summary->host_count ||
            summary->rows[i].rank < -1 || (i && summary->rows[i].rank < summary->rows[i - 1].rank))
            return false;
    for (size_t i = 0; i < summary->link_count; i++)
        if (summary->links[i].from >= summary->host_count || summary->links[i].to >= summary->host_count)
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
    text_tidy(origin->label, sizeof origin->label);
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

static bool mismatch_is_sound(struct summary_mismatch *is)
{
    is->name[sizeof is->name - 1] = is->label[sizeof is->label - 1] = '\0';
    return ((const unsigned char *)is)[offsetof(struct summary_mismatch, makes)] <= 1 && is->call < CALL_COUNT &&
           is->usual < CALL_COUNT && is->ranks.count <= RANKS_KEPT;
}

/* Bools may have any value in a damaged file. */
static bool traced_is_sound(struct summary_traced *traced)
{
    const unsigned char *bytes = (const unsigned char *)traced;
    const struct summary_passes *passes = &traced->passes;
    const unsigned char *slow = (const unsigned char *)&passes->slow;
    uint64_t timed = passes->count ? passes->count - 1 : 0;
    bool windows = passes->count <= PASSES_MOST &&
                   (!passes->window_count || passes->window_count == (timed < PASS_WINDOWS ? timed : PASS_WINDOWS)) &&
                   passes->slow.first <= passes->slow.last && passes->slow.last <= passes->count;
    bool sound = slow[offsetof(struct slow_passes, drifts)] <= 1 && windows &&
                 bytes[offsetof(struct summary_traced, there)] <= 1 &&
                 bytes[offsetof(struct summary_traced, part_is_last)] <= 1 &&
                 bytes[offsetof(struct summary_traced, split)] <= 1 &&
                 bytes[offsetof(struct summary_traced, replayed)] <= 1 && traced->cure_count <= CURES_KEPT &&
                 mismatch_is_sound(&traced->mismatch);
    for (size_t i = 0; sound && i < passes->window_count; i++)
        sound = passes->windows[i].seconds >= 0 && passes->windows[i].seconds < PASS_SECONDS_MOST;
    for (size_t i = 0; sound && i < traced->cure_count; i++) {
        const struct summary_cure *cure = &traced->cures[i];
        sound = ((const unsigned char *)cure)[offsetof(struct summary_cure, moves)] <= 1 &&
                cure->causes.count <= RANKS_KEPT && cure->waiting.count <= RANKS_KEPT;
    }
    return sound;
}

/* Copies the arrays after the body. Returns false without memory. */
static bool arrays_copy(struct summary *summary, const struct flat_header *header, const char *at)
{
    bool whole = true;
    for (size_t i = 0; i < ARRAYS; i++) {
        uint64_t count = field_get(header, arrays[i].told_count);
        void *list = array_copy(at, count, arrays[i].size);
        field_set(summary, arrays[i].list, (uintptr_t)list);
        field_set(summary, arrays[i].count, list ? count : 0);
        whole = whole && (list || !count);
        at += count * arrays[i].size;
    }
    return whole;
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
    if (!sizes_fit(&header)) {
        snprintf(error, 128, "was written by another version of mpit, or on a machine of another architecture");
        return -1;
    }
    if (!counts_fit(&header, bytes)) {
        snprintf(error, 128, "is damaged: its size of %zu bytes does not match its %llu communicators", bytes,
                 (unsigned long long)header.comm_count);
        return -1;
    }
    const char *body = (const char *)data + sizeof header;
    memcpy(summary, body, FLAT_BODY_BYTES);
    summary->sites.named = summary->sites.named != 0;
    summary->parallel.named = summary->parallel.named != 0;
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
