#define _GNU_SOURCE
#include "eventlist.h"

#include "calls.h"
#include "timeline.h"
#include "units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One thread's stream; `next` is the call that it shows next, NULL at its end. */
struct stream {
    const struct run_reader *file;
    uint32_t thread;
    struct event_cursor cursor;
    const struct event *next;
    int64_t next_ns;
};

struct listing {
    FILE *out;
    struct timeline line;
    struct stream *streams;
    size_t count;
};

static const char *const record_names[RECORD_END - RECORD_FIRST] = {
    [RECORD_EXTENSION - RECORD_FIRST] = "extension",       [RECORD_RECEIVE - RECORD_FIRST] = "received",
    [RECORD_SEND_POSTED - RECORD_FIRST] = "send begun",    [RECORD_RECV_POSTED - RECORD_FIRST] = "receive begun",
    [RECORD_SEND_DONE - RECORD_FIRST] = "send done",       [RECORD_RECV_DONE - RECORD_FIRST] = "receive done",
    [RECORD_COLL_DONE - RECORD_FIRST] = "collective done", [RECORD_COMM_DONE - RECORD_FIRST] = "communicator done",
    [RECORD_CANCELLED - RECORD_FIRST] = "cancelled",       [RECORD_FREED - RECORD_FIRST] = "freed",
    [RECORD_CREATED - RECORD_FIRST] = "created",           [RECORD_DESTROYED - RECORD_FIRST] = "destroyed",
};

static bool is_call(const struct event *event)
{
    return event_kind(event) < RECORD_FIRST;
}

static const char *comm_name(const struct run_reader *file, unsigned slot)
{
    return slot < file->comm_count && file->comms[slot] ? file->comms[slot]->name : "-";
}

static const char *peer_text(char text[UNIT_TEXT_BYTES], int32_t peer)
{
    switch (peer) {
    case PEER_NONE:
        return "-";
    case PEER_PROC_NULL:
        return "none";
    case PEER_ANY:
        return "any";
    case PEER_ROOT:
        return "root";
    default:
        snprintf(text, UNIT_TEXT_BYTES, "%" PRId32, peer);
        return text;
    }
}

static const char *tag_text(char text[UNIT_TEXT_BYTES], int32_t tag)
{
    if (tag == TAG_ANY)
        return "any";
    snprintf(text, UNIT_TEXT_BYTES, "%" PRId32, tag);
    return text;
}

/* Behind the call's name: what its class gives a meaning to. */
static void fields_print(FILE *out, const struct run_reader *file, const struct event *event, unsigned class,
                         const struct event_extension *more)
{
    char peer[UNIT_TEXT_BYTES], tag[UNIT_TEXT_BYTES];
    const char *comm = comm_name(file, event->comm);
    uint64_t bytes_out = more ? more->bytes_out : (uint32_t)event->tag;
    switch (class) {
    case CLASS_P2P:
        fprintf(out, " %-24s %6s %8s %12" PRIu64, comm, peer_text(peer, event->peer), tag_text(tag, event->tag),
                event->bytes);
        break;
    case CLASS_COLLECTIVE:
        fprintf(out, " %-24s %6s %8s %12" PRIu64 " out %" PRIu64, comm, peer_text(peer, event->peer), "-", event->bytes,
                bytes_out);
        break;
    case CLASS_COMPLETION:
        fprintf(out, " %-24s %6s %8s %12s completed %" PRId32 " of %" PRId32, comm, "-", "-", "-",
                event->peer > 0 ? event->peer : 0, event->tag);
        break;
    default:
        fprintf(out, " %-24s %6s %8s %12s", comm, "-", "-", "-");
    }
    if (event->kind & EVENT_FAILED)
        fputs(" failed", out);
    if (event->kind & EVENT_NESTED)
        fputs(" nested", out);
    fputc('\n', out);
}

static void call_print(const struct listing *listing, const struct stream *stream, const struct event *event,
                       const struct event_extension *more)
{
    char duration[UNIT_TEXT_BYTES];
    const struct run_reader *file = stream->file;
    unsigned kind = event_kind(event);
    uint64_t ns = clock_ns(run_reader_scale(file), event_duration(event, more));
    char rank[UNIT_TEXT_BYTES] = "-"; /* ended before it got one */
    if (file->header.world_rank >= 0 && file->header.world_size > 0)
        snprintf(rank, sizeof rank, "%" PRId32, file->header.world_rank);
    fprintf(listing->out, "%5s %3" PRIu32 " %14.9f %9s  %-22s", rank, stream->thread, (double)stream->next_ns * 1e-9,
            text_of_ns(duration, ns), run_reader_call_name(file, kind));
    fields_print(listing->out, file, event, kind < file->call_count ? file->calls[kind].class : CLASS_OTHER, more);
}

static void record_print(const struct listing *listing, const struct stream *stream, const struct event *event,
                         const struct event_extension *more)
{
    unsigned kind = event_kind(event);
    const struct run_reader *file = stream->file;
    const char *name = kind < RECORD_END ? record_names[kind - RECORD_FIRST] : "unknown record";
    fprintf(listing->out, "%5s %3s %14s %9s  + %-20s", "", "", "", "", name);
    switch (kind) {
    case RECORD_CREATED:
    case RECORD_DESTROYED:
        fprintf(listing->out, " %-24s from %s\n", comm_name(file, event->comm),
                comm_name(file, event->peer > 0 ? (unsigned)event->peer : 0));
        return;
    case RECORD_COLL_DONE:
        fields_print(listing->out, file, event, CLASS_COLLECTIVE, more);
        break;
    case RECORD_COMM_DONE:
        fields_print(listing->out, file, event, CLASS_COMMUNICATOR, more);
        break;
    default:
        fields_print(listing->out, file, event, CLASS_P2P, more);
    }
    if (kind < RECORD_SEND_DONE || kind > RECORD_FREED)
        return;
    fprintf(listing->out, "%38s  posted at %.9f by %s\n", "",
            (double)timeline_ns(&listing->line, file, event->begin) * 1e-9,
            run_reader_call_name(file, event->duration));
}

static void stream_take(const struct listing *listing, struct stream *stream)
{
    do
        stream->next = event_cursor_next(&stream->cursor);
    while (stream->next && !is_call(stream->next)); /* a ring may begin in the middle of a call's records */
    if (stream->next)
        stream->next_ns = timeline_ns(&listing->line, stream->file, stream->next->begin);
}

/* Prints the stream's call and its records, and leaves the next call in the stream. */
static void stream_print(const struct listing *listing, struct stream *stream)
{
    const struct event *event = stream->next;
    while (event) {
        const struct event *behind = event_cursor_next(&stream->cursor);
        const struct event_extension *more = NULL;
        if ((event->kind & EVENT_WIDE) && behind && event_kind(behind) == RECORD_EXTENSION) {
            more = (const void *)behind;
            behind = event_cursor_next(&stream->cursor);
        }
        if (is_call(event))
            call_print(listing, stream, event, more);
        else
            record_print(listing, stream, event, more);
        if (!behind || is_call(behind)) {
            stream->next = behind;
            break;
        }
        event = behind;
    }
    if (stream->next)
        stream->next_ns = timeline_ns(&listing->line, stream->file, stream->next->begin);
}

static struct stream *stream_earliest(const struct listing *listing)
{
    struct stream *earliest = NULL;
    for (size_t i = 0; i < listing->count; i++)
        if (listing->streams[i].next && (!earliest || listing->streams[i].next_ns < earliest->next_ns))
            earliest = &listing->streams[i];
    return earliest;
}

static int streams_open(struct listing *listing, const struct run_job *job)
{
    size_t most = 0;
    for (size_t i = 0; i < job->file_count; i++)
        most += job->files[i].thread_count;
    if (!(listing->streams = calloc(most + 1, sizeof *listing->streams)))
        return -1;
    for (size_t i = 0; i < job->file_count; i++)
        for (uint32_t thread = 0; thread < job->files[i].thread_count; thread++) {
            struct stream *stream = &listing->streams[listing->count];
            *stream = (struct stream){.file = &job->files[i], .thread = thread};
            event_cursor_open(&stream->cursor, stream->file, thread);
            stream_take(listing, stream);
            listing->count++;
        }
    return 0;
}

int events_print(const struct run_job *job, FILE *out)
{
    struct listing listing = {.out = out};
    if (job->file_count == 0) {
        fprintf(out, "(only a summary is left of this job, no run files)\n");
        return 0;
    }
    timeline_open(&listing.line, job->files, job->file_count);
    if (streams_open(&listing, job) != 0)
        return -1;
    fprintf(out, "%5s %3s %14s %9s  %-22s %-24s %6s %8s %12s\n", "rank", "thr", "seconds", "time", "call",
            "communicator", "peer", "tag", "bytes");
    for (struct stream *stream; (stream = stream_earliest(&listing));)
        stream_print(&listing, stream);
    for (size_t i = 0; i < listing.count; i++)
        if (listing.streams[i].cursor.missing)
            fprintf(out, "%5" PRId32 " %3" PRIu32 " %" PRIu64 " records were not kept\n",
                    listing.streams[i].file->header.world_rank, listing.streams[i].thread,
                    listing.streams[i].cursor.missing);
    free(listing.streams);
    return 0;
}
