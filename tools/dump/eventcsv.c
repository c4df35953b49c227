#include "dump/eventcsv.h"

#include "calls.h"
#include "format/counter.h"
#include "format/label.h"
#include "dump/objectshown.h"
#include "base/units.h"

#include <inttypes.h>
#include <string.h>

enum { TEXT_BYTES = 1024 }; /* more than any name has */

/* The fields of a line. "" or a negative number means empty. */
struct row {
    const char *what, *function, *comm, *label, *name;
    bool has_start, has_duration;
    int64_t start_ns;
    uint64_t duration_ns;
    char peer[UNIT_TEXT_BYTES], tag[UNIT_TEXT_BYTES], bytes[UNIT_TEXT_BYTES], bytes_out[UNIT_TEXT_BYTES];
    char completed[UNIT_TEXT_BYTES], requests[UNIT_TEXT_BYTES], value[UNIT_TEXT_BYTES], path[UNIT_TEXT_BYTES];
    uint16_t flags;
    const char *op; /* of an access to a window */
};

void csv_head(FILE *out)
{
    fputs("job,rank,thread,what,function,start_s,duration_s,communicator,label,peer,tag,bytes,bytes_out,completed,"
          "requests,flags,name,value,path\n",
          out);
}

/* Writes a comma, and the text, in quotes if needed. Names may contain any bytes, and are cleaned as in all outputs.
 */
static void csv_text_put(FILE *out, const char *given)
{
    char text[TEXT_BYTES];
    label_clean(text, sizeof text, given, sizeof text - 1);
    fputc(',', out);
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (const char *at = text; *at; at++) {
        if (*at == '"')
            fputc('"', out);
        fputc(*at, out);
    }
    fputc('"', out);
}

/* Seconds with all nine digits, which a double could not hold in a long run. */
static void seconds_put(FILE *out, bool has, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    fputc(',', out);
    if (has)
        fprintf(out, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "", size / 1000000000, size % 1000000000);
}

static void flags_put(FILE *out, uint16_t flags, const char *op)
{
    static const struct {
        uint16_t bit;
        const char *name;
    } names[] = {
        {EVENT_FAILED, "failed"}, {EVENT_NESTED, "nested"}, {EVENT_LARGE, "large"}, {EVENT_TIMEOUT, "timeout"}};
    const char *between = "";
    fputc(',', out);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (flags & names[i].bit) {
            fprintf(out, "%s%s", between, names[i].name);
            between = " ";
        }
    if (op)
        fprintf(out, "%s%s", between, op);
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static void row_put(const struct csv_source *source, const struct row *row)
{
    FILE *out = source->out;
    const struct run_header *header = &source->file->header;
    fprintf(out, "%zu,", source->job);
    if (run_rank(header) >= 0)
        fprintf(out, "%" PRId32, run_rank(header));
    fprintf(out, ",%" PRIu32, source->thread);
    csv_text_put(out, row->what);
    csv_text_put(out, text_or_empty(row->function));
    seconds_put(out, row->has_start, row->start_ns);
    seconds_put(out, row->has_duration, (int64_t)row->duration_ns);
    csv_text_put(out, text_or_empty(row->comm));
    csv_text_put(out, text_or_empty(row->label));
    fprintf(out, ",%s,%s,%s,%s,%s,%s", row->peer, row->tag, row->bytes, row->bytes_out, row->completed, row->requests);
    flags_put(out, row->flags, row->op);
    csv_text_put(out, text_or_empty(row->name));
    csv_text_put(out, row->value);
    fprintf(out, ",%s\n", row->path);
}

static void field_number_set(char text[UNIT_TEXT_BYTES], uint64_t number)
{
    snprintf(text, UNIT_TEXT_BYTES, "%" PRIu64, number);
}

static void path_set(const struct csv_source *source, struct row *row)
{
    if (source->path)
        field_number_set(row->path, source->path);
}

static void peer_set(char text[UNIT_TEXT_BYTES], int32_t peer)
{
    const char *word = peer == PEER_PROC_NULL ? "none" : peer == PEER_ANY ? "any" : peer == PEER_ROOT ? "root" : NULL;
    if (word)
        snprintf(text, UNIT_TEXT_BYTES, "%s", word);
    else if (peer != PEER_NONE)
        snprintf(text, UNIT_TEXT_BYTES, "%" PRId32, peer);
}

/* Sets the communicator that had the slot at that time. */
static void comm_set(const struct csv_source *source, struct row *row, unsigned slot, uint64_t ticks)
{
    const struct run_reader *file = source->file;
    const struct comm_record *comm = ticks || !file->header.past ? run_reader_comm_record(file, slot, ticks) : NULL;
    row->comm = comm ? comm->name : NULL;
    row->label = comm ? comm->label : NULL;
}

/* Sets the fields that the class defines. */
static void fields_set(struct row *row, const struct event *event, unsigned class, const struct event_extension *more)
{
    switch (class) {
    case CLASS_P2P:
        peer_set(row->peer, event->peer);
        if (event->tag == TAG_ANY)
            snprintf(row->tag, sizeof row->tag, "any");
        else
            snprintf(row->tag, sizeof row->tag, "%" PRId32, event->tag);
        field_number_set(row->bytes, event->bytes);
        break;
    case CLASS_COLLECTIVE:
        peer_set(row->peer, event->peer);
        field_number_set(row->bytes, event->bytes);
        field_number_set(row->bytes_out, more ? more->bytes_out : (uint32_t)event->tag);
        break;
    case CLASS_COMPLETION:
        field_number_set(row->completed, event->peer > 0 ? (uint64_t)event->peer : 0);
        snprintf(row->requests, sizeof row->requests, "%" PRId32, event->tag);
        break;
    case CLASS_RMA:
        row->flags = (uint16_t)(row->flags & ~(unsigned)EVENT_OP);
        row->op = event_op_name(event);
        break;
    default:
        break;
    }
}

/* For a call on a window or a file, or the end of its request: name is the name of the object, value is its number. */
static void object_set(const struct csv_source *source, struct row *row, const struct event *event, unsigned class,
                       uint64_t ticks)
{
    struct object_shown shown = object_shown(source->file, event, class, ticks);
    if (!shown.what)
        return;
    peer_set(row->peer, event->peer);
    if (shown.moves)
        field_number_set(row->bytes, event->bytes);
    if (shown.number)
        field_number_set(row->value, shown.number);
    row->name = object_shown_name(source->file, &shown);
}

static void start_set(const struct csv_source *source, struct row *row, uint64_t ticks)
{
    row->has_start = ticks != 0; /* 0: it was not timed */
    row->start_ns = row->has_start ? timeline_ns(source->line, source->file, ticks) : 0;
}

static void instrument_set(const struct csv_source *source, struct row *row, const struct event *event, char *name,
                           size_t size)
{
    const struct instrument_record *record = run_reader_instrument(source->file, (uint32_t)event->peer);
    bool metric = event_kind(event) == EVENT_METRIC;
    row->what = metric ? "metric" : "region";
    row->name = record ? record->name : "unknown";
    row->has_duration = !metric;
    row->flags &= (uint16_t) ~(unsigned)EVENT_CALLS; /* for a message this bit is EVENT_LARGE */
    if (!metric || !record)
        return;
    text_of_number(row->value, record->type, event->bytes);
    if (record->count < 2)
        return;
    const char *item = run_reader_item(source->file, record, (int64_t)event->duration);
    if (item)
        snprintf(name, size, "%s[%s]", record->name, item);
    else
        snprintf(name, size, "%s[%" PRIu32 "]", record->name, event->duration);
    row->name = name;
}

/* For a library below MPI: name = function, value = provider. requests = number of operations. For polls, completed =
 * number of successful polls. */
static void fabric_set(const struct csv_source *source, struct row *row, const struct event *event)
{
    unsigned kind = event_kind(event);
    const char *provider = run_reader_provider(source->file, (uint32_t)event->peer);
    uint32_t tag = (uint32_t)event->tag;
    row->flags &= (uint16_t) ~(unsigned)EVENT_PENDING; /* for a message this bit is EVENT_LARGE */
    snprintf(row->value, sizeof row->value, "%s", provider ? provider : "unknown");
    row->what = kind == EVENT_FABRIC         ? "fabric"
                : kind == EVENT_FABRIC_AGAIN ? "fabric again"
                : kind == EVENT_FABRIC_DONE  ? "fabric done"
                                             : "fabric polls";
    if (kind == EVENT_FABRIC || kind == EVENT_FABRIC_AGAIN)
        row->name = fabric_table[tag % FABRIC_FUNCTION_COUNT].name;
    if (kind == EVENT_FABRIC)
        field_number_set(row->bytes, event->bytes);
    if (kind == EVENT_FABRIC)
        return;
    row->has_duration = kind != EVENT_FABRIC_DONE;
    row->duration_ns = clock_ns(run_reader_scale(source->file), event->bytes);
    field_number_set(row->requests, event->duration);
    if (kind == EVENT_FABRIC_POLLS)
        field_number_set(row->completed, event->duration >= tag ? event->duration - tag : 0);
}

void csv_call(const struct csv_source *source, const struct event *event, const struct event_extension *more)
{
    const struct run_reader *file = source->file;
    unsigned kind = event_kind(event);
    char name[2 * INSTRUMENT_NAME_BYTES];
    struct row row = {.flags = event->kind, .has_duration = true};
    row.duration_ns = clock_ns(run_reader_scale(file), event_duration(event, more));
    start_set(source, &row, event->begin);
    comm_set(source, &row, event->comm, event->begin);
    if (kind < RECORD_FIRST) {
        row.what = "call";
        path_set(source, &row);
        row.function = run_reader_call_name(file, kind);
        unsigned class = kind < file->call_count ? file->calls[kind].class : CLASS_OTHER;
        fields_set(&row, event, class, more);
        object_set(source, &row, event, class, event->begin);
    } else if (kind == EVENT_REGION || kind == EVENT_METRIC) {
        instrument_set(source, &row, event, name, sizeof name);
    } else if (EVENT_KIND_IS_FABRIC(kind)) {
        fabric_set(source, &row, event);
    } else {
        row.has_duration = false;
        row.what = kind == EVENT_PASSED                    ? "passed"
                   : kind == EVENT_SWITCHED && event->peer ? "recording on"
                   : kind == EVENT_SWITCHED                ? "recording off"
                                                           : "unknown";
    }
    row.has_duration = row.has_duration && row.has_start;
    row_put(source, &row);
}

/* The count inside the call is the value. The count before it, outside of MPI, is in bytes_out. */
static void counter_set(const struct csv_source *source, struct row *row, const struct event *event)
{
    start_set(source, row, event->begin);
    row->function = counter_call(event) ? run_reader_call_name(source->file, counter_call(event)) : NULL;
    row->name = run_reader_counter_name(source->file, counter_of(event));
    field_number_set(row->value, event->bytes);
    field_number_set(row->bytes_out, counter_outside(event));
}

void csv_record(const struct csv_source *source, const char *name, const struct event *event, uint64_t call,
                const struct event_extension *more)
{
    unsigned kind = event_kind(event);
    struct row row = {.what = name, .flags = event->kind};
    bool ends = (kind >= RECORD_SEND_DONE && kind <= RECORD_FREED) || kind == RECORD_RMA_DONE ||
                kind == RECORD_IO_DONE || kind == RECORD_HALF_DONE;
    if (kind == RECORD_COUNTER) {
        counter_set(source, &row, event);
        row_put(source, &row);
        return;
    }
    uint64_t ticks = event->begin ? event->begin : call;
    comm_set(source, &row, event->comm, ticks);
    bool told =
        kind == RECORD_STALL || kind == RECORD_OFF_PROCESSOR || kind == RECORD_FABRIC || kind == RECORD_TRANSFERS;
    if (told) {
        row.duration_ns = clock_ns(run_reader_scale(source->file), event->bytes);
        row.has_duration = true;
    }
    if (ends || told) {
        start_set(source, &row, event->begin);
        row.function = run_reader_call_name(source->file, event->duration);
    }
    if (kind == RECORD_COLL_POSTED || kind == RECORD_COLL_DONE)
        fields_set(&row, event, CLASS_COLLECTIVE, more);
    else if (object_class_ended(kind) != CLASS_OTHER)
        object_set(source, &row, event, object_class_ended(kind), ticks);
    else if (kind == RECORD_TRANSFERS)
        snprintf(row.requests, sizeof row.requests, "%" PRId32, event->tag);
    else if (!told && kind != RECORD_CREATED && kind != RECORD_DESTROYED && kind != RECORD_COMM_DONE)
        fields_set(&row, event, CLASS_P2P, more);
    if (kind == RECORD_ARGUMENT) /* for a seek it may be negative */
        snprintf(row.bytes, sizeof row.bytes, "%" PRId64, (int64_t)event->bytes);
    if (kind == RECORD_CANCELLED || kind == RECORD_FREED)
        row.tag[0] = '\0'; /* the field shows whether it was a receive */
    row_put(source, &row);
}

void csv_unfinished(const struct csv_source *source, const struct event *event)
{
    struct row row = {.what = "unfinished", .function = run_reader_call_name(source->file, event_kind(event))};
    start_set(source, &row, event->begin);
    comm_set(source, &row, event->comm, event->begin);
    peer_set(row.peer, event->peer);
    path_set(source, &row);
    row_put(source, &row);
}

void csv_missing(const struct csv_source *source, uint64_t count)
{
    struct row row = {.what = "missing"};
    field_number_set(row.value, count);
    row_put(source, &row);
}
