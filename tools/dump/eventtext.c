#include "dump/eventtext.h"

#include "calls.h"
#include "format/counter.h"
#include "format/label.h"
#include "dump/objectshown.h"
#include "base/units.h"

#include <inttypes.h>
#include <string.h>

/* The communicator that had the slot at that time. */
static const char *comm_name(char title[COMM_TITLE_BYTES], const struct run_reader *file, unsigned slot, uint64_t ticks)
{
    const struct comm_record *comm = run_reader_comm_record(file, slot, ticks);
    return comm ? comm_title(title, comm->name, comm->label) : "-";
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

static const char *rank_text(char text[UNIT_TEXT_BYTES], const struct run_reader *file)
{
    int32_t rank = run_rank(&file->header);
    if (rank < 0)
        return "-"; /* ended before it got one */
    snprintf(text, UNIT_TEXT_BYTES, "%" PRId32, rank);
    return text;
}

static const char *tag_text(char text[UNIT_TEXT_BYTES], int32_t tag)
{
    if (tag == TAG_ANY)
        return "any";
    snprintf(text, UNIT_TEXT_BYTES, "%" PRId32, tag);
    return text;
}

/* The duration of a call that was not timed is not known. A timed call took some ticks, with a few exceptions: a
 * counter may advance in steps of up to 10 ns. If only some calls were timed, a duration of 0 therefore counts as not
 * timed. */
static const char *duration_text(char text[UNIT_TEXT_BYTES], const struct run_reader *file, uint64_t ticks)
{
    bool untimed = file->header.timed != 1 || file->header.timed_changed;
    return ticks || !untimed ? text_of_ns(text, clock_ns(run_reader_scale(file), ticks)) : "-";
}

/* Prints the number and name of a window or file. */
static void object_print(const struct text_source *source, const struct object_shown *shown)
{
    char clean[OBJECT_NAME_BYTES];
    const char *name = object_shown_name(source->file, shown);
    if (shown->number)
        fprintf(source->out, " %s %" PRIu32, shown->what, shown->number);
    if (!name)
        return;
    label_clean(clean, sizeof clean, name, sizeof clean);
    fputs(" \"", source->out);
    for (const char *at = clean; *at; at++) {
        if (*at == '"' || *at == '\\')
            fputc('\\', source->out);
        fputc(*at, source->out);
    }
    fputc('"', source->out);
}

/* Prints where in the program the call was made. */
static void place_print(const struct text_source *source)
{
    if (source->place && source->place[0])
        fprintf(source->out, " at %s", source->place);
    else if (!source->place && source->path)
        fprintf(source->out, " path %" PRIu32, source->path);
}

/* Prints the fields that the class defines, after the call's name. `ticks` is a time when the call had its
 * communicator. */
static void fields_print(const struct text_source *source, const struct event *event, uint64_t ticks, unsigned class,
                         const struct event_extension *more)
{
    char peer[UNIT_TEXT_BYTES], tag[UNIT_TEXT_BYTES], bytes[UNIT_TEXT_BYTES] = "-";
    FILE *out = source->out;
    const struct run_reader *file = source->file;
    int columns = source->columns->comm;
    char title[COMM_TITLE_BYTES];
    const char *comm = comm_name(title, file, event->comm, ticks);
    uint64_t bytes_out = more ? more->bytes_out : (uint32_t)event->tag;
    struct object_shown shown = object_shown(file, event, class, ticks);
    switch (class) {
    case CLASS_P2P:
        fprintf(out, " %-*s %6s %10s %12" PRIu64, columns, comm, peer_text(peer, event->peer),
                tag_text(tag, event->tag), event->bytes);
        break;
    case CLASS_COLLECTIVE:
        fprintf(out, " %-*s %6s %10s %12" PRIu64 " out %" PRIu64, columns, comm, peer_text(peer, event->peer), "-",
                event->bytes, bytes_out);
        break;
    case CLASS_COMPLETION:
        fprintf(out, " %-*s %6s %10s %12s completed %" PRId32 " of %" PRId32, columns, comm, "-", "-", "-",
                event->peer > 0 ? event->peer : 0, event->tag);
        break;
    case CLASS_RMA:
    case CLASS_IO:
        if (shown.moves)
            snprintf(bytes, sizeof bytes, "%" PRIu64, event->bytes);
        fprintf(out, " %-*s %6s %10s %12s", columns, comm, peer_text(peer, event->peer), "-", bytes);
        object_print(source, &shown);
        break;
    default:
        fprintf(out, " %-*s %6s %10s %12s", columns, comm, "-", "-", "-");
    }
    if (event->kind & EVENT_FAILED)
        fputs(" failed", out);
    if (event->kind & EVENT_NESTED)
        fputs(" nested", out);
    if (class == CLASS_RMA && event_kind(event) < RECORD_FIRST && event_op_name(event))
        fprintf(out, " %s", event_op_name(event));
    if (event_kind(event) < RECORD_FIRST)
        place_print(source);
    fputc('\n', out);
}

/* Prints the same for a library below MPI. */
static const char *fabric_text(const struct run_reader *file, const struct event *event, char *detail, size_t size)
{
    const char *provider = run_reader_provider(file, (uint32_t)event->peer);
    unsigned kind = event_kind(event), function = (uint32_t)event->tag % FABRIC_FUNCTION_COUNT;
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    provider = provider ? provider : "?";
    switch (kind) {
    case EVENT_FABRIC:
        snprintf(detail, size, "%s  %s%s%s%s", provider, text_of_bytes(a, event->bytes),
                 event->kind & EVENT_PENDING ? ", pending" : "", event->kind & EVENT_FAILED ? ", refused" : "",
                 event->kind & EVENT_NESTED ? ", in a poll" : "");
        return fabric_table[function].name;
    case EVENT_FABRIC_AGAIN:
        snprintf(detail, size, "%s  %s: %" PRIu32 " times, in %s", provider, fabric_table[function].name,
                 event->duration, text_of_ns(a, clock_ns(run_reader_scale(file), event->bytes)));
        return "try again";
    case EVENT_FABRIC_DONE:
        snprintf(detail, size, "%s  %" PRIu32 " operations%s%s%s", provider, event->duration, event->tag ? ", " : "",
                 event->tag ? text_of_count(a, (uint32_t)event->tag) : "", event->tag ? " with an error" : "");
        return "completed";
    default:
        snprintf(detail, size, "%s  %" PRIu32 ", %s of them found nothing, in %s", provider, event->duration,
                 text_of_count(a, (uint32_t)event->tag), text_of_ns(b, clock_ns(run_reader_scale(file), event->bytes)));
        return "polls";
    }
}

/* Returns the name of the kind of event. `detail` gets the text of the instrument. */
static const char *instrument_text(const struct run_reader *file, const struct event *event, char *detail, size_t size)
{
    const struct instrument_record *record = run_reader_instrument(file, (uint32_t)event->peer);
    unsigned kind = event_kind(event);
    uint32_t element = event->duration;
    detail[0] = '\0';
    if (EVENT_KIND_IS_FABRIC(kind))
        return fabric_text(file, event, detail, size);
    if (kind == EVENT_SWITCHED)
        return event->peer ? "recording on" : "recording off";
    if (kind == EVENT_PASSED) {
        snprintf(detail, size, "an unrecorded completion call");
        return "passed";
    }
    if (!record || (kind != EVENT_REGION && kind != EVENT_METRIC))
        return "unknown record";
    if (kind == EVENT_REGION) {
        snprintf(detail, size, "%s%s", record->name, event->kind & EVENT_NESTED ? " nested" : "");
        return "region";
    }
    char value[UNIT_TEXT_BYTES], place[INSTRUMENT_NAME_BYTES + 2] = "";
    const char *item = run_reader_item(file, record, record->count > 1 ? (int64_t)element : (int64_t)event->bytes);
    if (record->count > 1)
        item ? snprintf(place, sizeof place, "[%s]", item) : snprintf(place, sizeof place, "[%" PRIu32 "]", element);
    text_of_number(value, record->type, event->bytes);
    snprintf(detail, size, "%s%s = %s%s%s%s%s", record->name, place, value, record->unit[0] ? " " : "", record->unit,
             record->count == 1 && item ? " " : "", record->count == 1 && item ? item : "");
    return "metric";
}

void eventtext_call(const struct text_source *source, const struct event *event, int64_t begin_ns,
                    const struct event_extension *more)
{
    char duration[UNIT_TEXT_BYTES];
    const struct run_reader *file = source->file;
    unsigned kind = event_kind(event);
    bool metric = kind >= RECORD_END && kind != EVENT_REGION && kind != EVENT_FABRIC; /* an instant */
    uint64_t ticks = metric ? 0 : event_duration(event, more);
    char rank[UNIT_TEXT_BYTES];
    if (kind >= RECORD_END) {
        char detail[INSTRUMENT_TEXT_BYTES + INSTRUMENT_NAME_BYTES];
        char title[COMM_TITLE_BYTES];
        const char *what = instrument_text(file, event, detail, sizeof detail);
        text_tidy(detail, sizeof detail);
        fprintf(source->out, "%5s %3" PRIu32 " %*.9f %9s  %-*s %-*s %s\n", rank_text(rank, file), source->thread,
                source->columns->seconds, (double)begin_ns * 1e-9, metric ? "" : duration_text(duration, file, ticks),
                source->columns->call, what, source->columns->comm, comm_name(title, file, event->comm, event->begin),
                detail);
        return;
    }
    fprintf(source->out, "%5s %3" PRIu32 " %*.9f %9s  %-*s", rank_text(rank, file), source->thread,
            source->columns->seconds, (double)begin_ns * 1e-9, duration_text(duration, file, ticks),
            source->columns->call, run_reader_call_name(file, kind));
    fields_print(source, event, event->begin, kind < file->call_count ? file->calls[kind].class : CLASS_OTHER, more);
}

/* `call` is the begin of the call that owns the record. A request that was not timed at its post has no begin. It had
 * its communicator, and kept it, when the completing call began. */
void eventtext_record(const struct text_source *source, const char *name, const struct event *event, uint64_t call,
                      const struct event_extension *more)
{
    uint64_t ticks = event->begin ? event->begin : call;
    unsigned kind = event_kind(event);
    const struct run_reader *file = source->file;
    char title[COMM_TITLE_BYTES], parent[COMM_TITLE_BYTES], duration[UNIT_TEXT_BYTES];
    fprintf(source->out, "%5s %3s %*s %9s  + %-*s", "", "", source->columns->seconds, "", "", source->columns->call - 2,
            name);
    switch (kind) {
    case RECORD_DESTROYED:
        fprintf(source->out, " %s\n", comm_name(title, file, event->comm, event->begin));
        return;
    case RECORD_CREATED:
        fprintf(source->out, " %-*s from %s\n", source->columns->comm,
                comm_name(title, file, event->comm, event->begin),
                comm_name(parent, file, event->peer > 0 ? (unsigned)event->peer : 0, event->begin));
        return;
    case RECORD_COLL_POSTED:
    case RECORD_COLL_DONE:
        fields_print(source, event, ticks, CLASS_COLLECTIVE, more);
        break;
    case RECORD_COMM_DONE:
        fields_print(source, event, ticks, CLASS_COMMUNICATOR, more);
        break;
    case RECORD_COUNTER:
        fprintf(source->out, " %s %" PRIu64 " in %s, before the call %" PRIu64 "\n",
                run_reader_counter_name(file, counter_of(event)), event->bytes,
                counter_call(event) ? run_reader_call_name(file, counter_call(event)) : "no call",
                counter_outside(event));
        return;
    case RECORD_ARGUMENT: /* for a seek it may be negative */
        fprintf(source->out, " %-*s %6s %10" PRId32 " %12" PRId64 "\n", source->columns->comm,
                comm_name(title, file, event->comm, ticks), peer_text(parent, event->peer), event->tag,
                (int64_t)event->bytes);
        return;
    case RECORD_OFF_PROCESSOR:
    case RECORD_STALL:
        fprintf(source->out, " %s", duration_text(duration, file, event->bytes));
        if (event->tag > 1)
            fprintf(source->out, ", in %" PRId32 " pieces", event->tag);
        fputc('\n', source->out);
        return;
    case RECORD_FABRIC:
        fprintf(source->out, " %s", duration_text(duration, file, event->bytes));
        if (event->tag)
            fprintf(source->out, "; %" PRId32 " operations of another call", event->tag);
        fputc('\n', source->out);
        return;
    case RECORD_TRANSFERS:
        fprintf(source->out, " %s, %" PRId32 " of them\n", duration_text(duration, file, event->bytes), event->tag);
        return;
    case RECORD_RMA_DONE:
    case RECORD_IO_DONE:
        fields_print(source, event, ticks, object_class_ended(kind), more);
        break;
    default:
        fields_print(source, event, ticks, CLASS_P2P, more);
    }
    if ((kind < RECORD_SEND_DONE || kind > RECORD_FREED) && kind != RECORD_HALF_DONE)
        return;
    if (!event->begin) { /* its posting was not timed */
        fprintf(source->out, "%*s  posted by %s\n", source->columns->seconds + 24, "",
                run_reader_call_name(file, event->duration));
        return;
    }
    fprintf(source->out, "%*s  posted at %.9f by %s\n", source->columns->seconds + 24, "",
            (double)timeline_ns(source->line, file, event->begin) * 1e-9, run_reader_call_name(file, event->duration));
}

void eventtext_gap(const struct text_source *source, const struct run_gap *gap, int64_t begin_ns, int64_t since_ns)
{
    char rank[UNIT_TEXT_BYTES], cause[GAP_CAUSE_BYTES];
    fprintf(source->out, "%5s %3" PRIu32 " %*.9f %9s  ", rank_text(rank, source->file), source->thread,
            source->columns->seconds, (double)begin_ns * 1e-9, "");
    if (since_ns >= 0)
        fprintf(source->out, "(since %.9f)", (double)since_ns * 1e-9);
    else
        fprintf(source->out, "(from the start)");
    run_gap_cause(source->file, gap, cause);
    fprintf(source->out, " %" PRIu64 " events are missing here (%s)\n", gap->count, cause);
}

void eventtext_unfinished(const struct text_source *source, const struct event *event)
{
    const struct run_reader *file = source->file;
    char peer[UNIT_TEXT_BYTES], rank[UNIT_TEXT_BYTES], title[COMM_TITLE_BYTES];
    char since[UNIT_TEXT_BYTES] = "-"; /* a call that is not timed */
    if (event->begin)
        snprintf(since, sizeof since, "%.9f", (double)timeline_ns(source->line, file, event->begin) * 1e-9);
    fprintf(source->out, "%5s %3" PRIu32 " %*s %9s  %-*s %-*s %6s %10s %12s", rank_text(rank, file), source->thread,
            source->columns->seconds, since, "-", source->columns->call, run_reader_call_name(file, event_kind(event)),
            source->columns->comm, comm_name(title, file, event->comm, event->begin), peer_text(peer, event->peer), "-",
            "-");
    if (source->place)
        place_print(source);
    fputs(" has not returned\n", source->out);
}

void eventtext_missing(const struct text_source *source, uint64_t count)
{
    fprintf(source->out, "%5" PRId32 " %3" PRIu32 " %" PRIu64 " records are missing\n", run_rank(&source->file->header),
            source->thread, count);
}

void eventtext_head(FILE *out, const struct text_columns *columns)
{
    fprintf(out, "%5s %3s %*s %9s  %-*s %-*s %6s %10s %12s\n", "rank", "thr", columns->seconds, "seconds", "time",
            columns->call, "call", columns->comm, "communicator", "peer", "tag", "bytes");
}

static void column_widen(int *column, size_t bytes)
{
    if (bytes > (size_t)*column)
        *column = (int)bytes;
}

/* Names are printed in full, because names may differ only at the end or in the middle. */
void eventtext_measure(struct text_columns *columns, const struct timeline *line, const struct run_reader *file)
{
    char seconds[UNIT_TEXT_BYTES * 2], title[COMM_TITLE_BYTES];
    for (size_t number = 0; number < file->comm_count; number++)
        if (file->comms[number])
            column_widen(&columns->comm,
                         strlen(comm_title(title, file->comms[number]->name, file->comms[number]->label)));
    for (unsigned kind = 1; kind < file->call_count; kind++)
        column_widen(&columns->call, strlen(run_reader_call_name(file, kind)));
    uint64_t end = file->header.end_ticks;
    int length = end ? snprintf(seconds, sizeof seconds, "%.9f", (double)timeline_ns(line, file, end) * 1e-9) : 0;
    column_widen(&columns->seconds, length > 0 ? (size_t)length : 0);
}
