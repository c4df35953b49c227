/* Reports of monitor windows as lines of JSON, and for people to read. share/doc/monitor.md describes both. */
#include "monitor/monitorwindow.h"

#include "base/textbuffer.h"

#include <stdio.h>
#include <string.h>

static char *text_end(struct textbuffer *text, size_t *bytes)
{
    *bytes = text->used;
    if (text->failed)
        text_free(text);
    return text->bytes;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* Each byte outside of a valid character becomes U+FFFD. */
static void put_string(struct textbuffer *text, const char *string)
{
    text_put(text, "\"");
    for (const unsigned char *at = (const unsigned char *)string; *at;) {
        unsigned number;
        size_t bytes = text_character((const char *)at, SIZE_MAX, &number);
        if (*at == '"' || *at == '\\')
            text_format(text, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            text_format(text, "\\u%04x", *at);
        else if (bytes)
            text_put_bytes(text, at, bytes);
        else
            text_put(text, "\\ufffd");
        at += bytes ? bytes : 1;
    }
    text_put(text, "\"");
}

/* The first element of an object or array follows its bracket. */
static void separate(struct textbuffer *text)
{
    if (text->used && !strchr("{[", text->bytes[text->used - 1]))
        text_put(text, ",");
}

static void put_key(struct textbuffer *text, const char *key)
{
    separate(text);
    text_format(text, "\"%s\":", key);
}

static void put_value(struct textbuffer *text, uint64_t value)
{
    if (value == MPIX_MONITOR_UNKNOWN)
        text_put(text, "null");
    else
        text_format(text, "%llu", (unsigned long long)value);
}

static void put_number(struct textbuffer *text, const char *key, uint64_t value)
{
    put_key(text, key);
    put_value(text, value);
}

static void put_named(struct textbuffer *text, const char *key, const char *string)
{
    put_key(text, key);
    put_string(text, string);
}

static void open_bracket(struct textbuffer *text, const char *key, char bracket)
{
    if (key)
        put_key(text, key);
    else
        separate(text);
    text_format(text, "%c", bracket);
}

static void close_bracket(struct textbuffer *text, char bracket)
{
    text_format(text, "%c", bracket);
}

static void put_array(struct textbuffer *text, const char *key, const uint64_t *values, unsigned count)
{
    open_bracket(text, key, '[');
    for (unsigned i = 0; i < count; i++) {
        separate(text);
        put_value(text, values[i]);
    }
    close_bracket(text, ']');
}

/* Which option, or options, a number belongs to. */
struct figure {
    const char *key;
    size_t offset;
    unsigned options;
};

#define FIGURE(field, options)                                                                                         \
    {                                                                                                                  \
#field, offsetof(MPIX_Monitor_figures, field), options                                                         \
    }
#define PROFILE MPIX_MONITOR_PROFILE
#define PTTOPT MPIX_MONITOR_PTTOPT
#define COLL MPIX_MONITOR_COLL
#define COMM MPIX_MONITOR_COMM
#define TRAFFIC MPIX_MONITOR_TRAFFIC
#define MSGSIZE MPIX_MONITOR_MSGSIZE
#define OTHER MPIX_MONITOR_OTHER

static const struct figure figures[] = {
    FIGURE(p2p_time_ns, PTTOPT),
    FIGURE(wait_time_ns, PTTOPT),
    FIGURE(coll_time_ns, COLL),
    FIGURE(comm_time_ns, PROFILE),
    FIGURE(rma_time_ns, PROFILE),
    FIGURE(io_time_ns, PROFILE),
    FIGURE(transfer_time_ns, PTTOPT),
    FIGURE(coll_transfer_time_ns, COLL),
    FIGURE(stall_time_ns, PROFILE),
    FIGURE(fabric_time_ns, OTHER),
    FIGURE(completed, PTTOPT | COMM),
    FIGURE(sent, PTTOPT | COMM | TRAFFIC),
    FIGURE(received, PTTOPT | COMM | TRAFFIC),
    FIGURE(timeouts, PTTOPT | COMM),
    FIGURE(collectives, COLL | COMM),
    FIGURE(coll_transfers, COLL),
    FIGURE(sent_bytes, TRAFFIC),
    FIGURE(received_bytes, TRAFFIC),
    FIGURE(coll_bytes, TRAFFIC | COLL),
    FIGURE(rma_bytes, TRAFFIC),
    FIGURE(io_bytes, TRAFFIC),
    FIGURE(small, MSGSIZE),
    FIGURE(large, MSGSIZE),
};

static void put_figures(struct textbuffer *text, const char *key, const MPIX_Monitor_figures *from, unsigned options)
{
    open_bracket(text, key, '{');
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (options & figures[i].options)
            put_number(text, figures[i].key, *(const uint64_t *)((const char *)from + figures[i].offset));
    if (options & MSGSIZE) {
        put_array(text, "sent_size_count", from->sent_size_count, MPIX_MONITOR_BUCKETS);
        put_array(text, "sent_size_bytes", from->sent_size_bytes, MPIX_MONITOR_BUCKETS);
        put_array(text, "received_size_count", from->received_size_count, MPIX_MONITOR_BUCKETS);
        put_array(text, "received_size_bytes", from->received_size_bytes, MPIX_MONITOR_BUCKETS);
        put_array(text, "coll_size_count", from->coll_size_count, MPIX_MONITOR_BUCKETS);
    }
    close_bracket(text, '}');
}

static void put_pending(struct textbuffer *text, const char *key, const MPIX_Monitor_pending *pending)
{
    open_bracket(text, key, '{');
    put_number(text, "sends", pending->sends);
    put_number(text, "recvs", pending->recvs);
    put_number(text, "send_bytes", pending->send_bytes);
    put_number(text, "calls", pending->calls);
    put_number(text, "call_time_ns", pending->call_time_ns);
    put_number(text, "p2p_time_ns", pending->p2p_time_ns);
    put_number(text, "wait_time_ns", pending->wait_time_ns);
    put_number(text, "coll_time_ns", pending->coll_time_ns);
    close_bracket(text, '}');
}

static void put_comm(struct textbuffer *text, const MPIX_Monitor_comm *comm, unsigned options)
{
    open_bracket(text, NULL, '{');
    put_named(text, "name", comm->name);
    put_named(text, "label", comm->label);
    put_number(text, "size", (uint64_t)comm->size);
    put_number(text, "remote_size", (uint64_t)comm->remote_size);
    put_number(text, "created", !!(comm->flags & MPIX_MONITOR_COMM_CREATED));
    put_number(text, "freed", !!(comm->flags & MPIX_MONITOR_COMM_FREED));
    put_number(text, "sum", !!(comm->flags & MPIX_MONITOR_COMM_SUM));
    put_number(text, "first_ns", comm->first_ns);
    put_number(text, "last_ns", comm->last_ns);
    put_number(text, "span_ns", comm->span_ns);
    put_pending(text, "before", &comm->before);
    put_pending(text, "after", &comm->after);
    put_figures(text, "figures", &comm->figures, options);
    close_bracket(text, '}');
}

static void put_calls(struct textbuffer *text, const char *key, const MPIX_Monitor_call *calls, uint32_t count)
{
    open_bracket(text, key, '[');
    for (uint32_t i = 0; i < count; i++) {
        open_bracket(text, NULL, '{');
        put_number(text, "thread", calls[i].thread);
        put_number(text, "tid", (uint64_t)calls[i].tid);
        put_named(text, "function", calls[i].function);
        put_named(text, "comm", calls[i].comm);
        put_key(text, "peer");
        text_format(text, calls[i].peer < 0 ? "null" : "%d", calls[i].peer);
        put_number(text, "since_ns", calls[i].since_ns);
        put_number(text, "inside_ns", calls[i].inside_ns);
        close_bracket(text, '}');
    }
    close_bracket(text, ']');
}

static void put_other(struct textbuffer *text, const MPIX_Monitor_other *other)
{
    open_bracket(text, "other", '{');
    put_number(text, "fabric_time_ns", other->fabric_time_ns);
    put_number(text, "fabric_ops", other->fabric_ops);
    put_number(text, "fabric_bytes", other->fabric_bytes);
    put_number(text, "fabric_polls", other->fabric_polls);
    put_number(text, "fabric_empty_polls", other->fabric_empty_polls);
    put_number(text, "fabric_poll_time_ns", other->fabric_poll_time_ns);
    put_number(text, "os_time_ns", other->os_time_ns);
    put_number(text, "os_switches", other->os_switches);
    put_number(text, "os_faults", other->os_faults);
    open_bracket(text, "counters", '[');
    for (uint32_t i = 0; i < other->counter_count; i++) {
        open_bracket(text, NULL, '{');
        put_named(text, "name", other->counters[i].name);
        put_named(text, "unit", other->counters[i].unit);
        put_array(text, "places", other->counters[i].places, 6);
        close_bracket(text, '}');
    }
    close_bracket(text, ']');
    close_bracket(text, '}');
}

static void put_site(struct textbuffer *text, const MPIX_Monitor_site *site)
{
    open_bracket(text, NULL, '{');
    put_named(text, "function", site->function);
    put_named(text, "module", site->module);
    put_number(text, "offset", site->frame_count ? site->offset : MPIX_MONITOR_UNKNOWN);
    put_number(text, "count", site->count);
    put_number(text, "time_ns", site->time_ns);
    put_number(text, "stall_time_ns", site->stall_time_ns);
    put_number(text, "sent", site->sent);
    put_number(text, "sent_bytes", site->sent_bytes);
    put_number(text, "received", site->received);
    put_number(text, "received_bytes", site->received_bytes);
    put_array(text, "frames", site->frames, site->frame_count);
    close_bracket(text, '}');
}

static void put_interval(struct textbuffer *text, const char *key, const MPIX_Monitor_interval *interval,
                         unsigned options)
{
    open_bracket(text, key, '{');
    put_number(text, "begin_ns", interval->begin_ns);
    put_number(text, "end_ns", interval->end_ns);
    put_number(text, "duration_ns", interval->duration_ns);
    put_number(text, "threads", interval->threads);
    put_number(text, "events", interval->events);
    put_number(text, "mpi_time_ns", interval->mpi_time_ns);
    put_number(text, "inside_ns", interval->inside_ns);
    put_number(text, "begun_before_ns", interval->begun_before_ns);
    put_number(text, "unfinished_ns", interval->unfinished_ns);
    put_number(text, "stall_time_ns", interval->stall_time_ns);
    put_number(text, "useful_time_ns", interval->useful_time_ns);
    put_pending(text, "before", &interval->before);
    put_pending(text, "after", &interval->after);
    put_figures(text, "sum", &interval->sum, options);
    if (options & COMM) {
        open_bracket(text, "comms", '[');
        for (uint32_t i = 0; i < interval->comm_count; i++)
            put_comm(text, &interval->comms[i], options);
        close_bracket(text, ']');
    }
    if (options & COLL) {
        open_bracket(text, "colls", '[');
        for (uint32_t i = 0; i < interval->coll_count; i++) {
            open_bracket(text, NULL, '{');
            put_named(text, "kind", interval->colls[i].kind);
            put_number(text, "processes", (uint64_t)interval->colls[i].processes);
            put_number(text, "count", interval->colls[i].count);
            put_number(text, "time_ns", interval->colls[i].time_ns);
            put_number(text, "execution_time_ns", interval->colls[i].execution_time_ns);
            close_bracket(text, '}');
        }
        close_bracket(text, ']');
    }
    if (interval->sites) {
        open_bracket(text, "sites", '[');
        for (uint32_t i = 0; i < interval->site_count; i++)
            put_site(text, &interval->sites[i]);
        close_bracket(text, ']');
    }
    put_calls(text, "calls_before", interval->calls_before, interval->call_before_count);
    put_calls(text, "calls_after", interval->calls_after, interval->call_after_count);
    if (options & OTHER)
        put_other(text, &interval->other);
    close_bracket(text, '}');
}

static const char *reason_name(uint32_t reason)
{
    return reason == MPIX_MONITOR_AT_PERIOD ? "period" : reason == MPIX_MONITOR_AT_FINALIZE ? "finalize" : "end";
}

static void put_options(struct textbuffer *text, unsigned options)
{
    static const char *const names[] = {"profile", "other", "pttopt", "coll", "comm", "msgsize", "traffic"};
    open_bracket(text, "options", '[');
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (options >> i & 1) {
            separate(text);
            put_string(text, names[i]);
        }
    close_bracket(text, ']');
}

char *monitor_json(const MPIX_Monitor_report *report, size_t *bytes)
{
    struct textbuffer text = {0};
    open_bracket(&text, NULL, '{');
    put_number(&text, "mpit_monitor", 1);
    put_number(&text, "rank", (uint64_t)report->rank);
    put_number(&text, "size", (uint64_t)report->size);
    put_number(&text, "request", report->request);
    put_named(&text, "name", report->name);
    put_named(&text, "reason", reason_name(report->reason));
    put_number(&text, "last", report->last);
    put_options(&text, report->options);
    put_number(&text, "sequence", report->sequence);
    put_number(&text, "period_ns", report->period_ns);
    put_number(&text, "number", report->number);
    put_number(&text, "missed", report->missed);
    put_number(&text, "due_ns", report->due_ns);
    put_number(&text, "late_ns", report->late_ns);
    put_number(&text, "large_bytes", report->large_bytes);
    put_number(&text, "timeout_ns", report->timeout_ns);
    open_bracket(&text, "warnings", '[');
    for (uint32_t i = 0; i < report->warning_count; i++) {
        separate(&text);
        put_string(&text, report->warnings[i]);
    }
    close_bracket(&text, ']');
    put_interval(&text, "period", report->period, report->options);
    put_interval(&text, "whole", report->whole, report->options);
    close_bracket(&text, '}');
    text_put(&text, "\n");
    return text_end(&text, bytes);
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

static void put_time(struct textbuffer *text, uint64_t ns)
{
    if (ns == MPIX_MONITOR_UNKNOWN)
        text_put(text, "not known");
    else if (ns < 1000000)
        text_format(text, "%.1f us", (double)ns / 1e3);
    else if (ns < 1000000000)
        text_format(text, "%.2f ms", (double)ns / 1e6);
    else
        text_format(text, "%.3f s", (double)ns / 1e9);
}

static void line_time(struct textbuffer *text, const char *what, uint64_t ns)
{
    text_format(text, "  %-34s ", what);
    put_time(text, ns);
    text_put(text, "\n");
}

static void line_number(struct textbuffer *text, const char *what, uint64_t number)
{
    if (number == MPIX_MONITOR_UNKNOWN)
        text_format(text, "  %-34s unknown\n", what);
    else
        text_format(text, "  %-34s %llu\n", what, (unsigned long long)number);
}

static void text_sum(struct textbuffer *text, const MPIX_Monitor_figures *sum, unsigned options)
{
    if (options & PTTOPT) {
        line_time(text, "point to point, transfer time", sum->transfer_time_ns);
        line_time(text, "  in posting and blocking calls", sum->p2p_time_ns);
        line_time(text, "  in completing calls", sum->wait_time_ns);
        line_number(text, "  messages completed", sum->completed);
        line_number(text, "  timeouts", sum->timeouts);
    }
    if (options & COLL) {
        line_time(text, "collectives, time in calls", sum->coll_time_ns);
        line_number(text, "  completed", sum->collectives);
        line_number(text, "  transfers inside", sum->coll_transfers);
    }
    if (options & TRAFFIC) {
        text_format(text, "  %-34s %llu messages, %llu bytes\n", "sent", (unsigned long long)sum->sent,
                    (unsigned long long)sum->sent_bytes);
        text_format(text, "  %-34s %llu messages, %llu bytes\n", "received", (unsigned long long)sum->received,
                    (unsigned long long)sum->received_bytes);
    }
    if (options & MSGSIZE)
        text_format(text, "  %-34s %llu small, %llu large\n", "sizes", (unsigned long long)sum->small,
                    (unsigned long long)sum->large);
}

static void text_lists(struct textbuffer *text, const MPIX_Monitor_interval *interval)
{
    for (uint32_t i = 0; i < interval->coll_count; i++) {
        const MPIX_Monitor_coll *coll = &interval->colls[i];
        text_format(text, "  %-24s of %5d: %8llu in ", coll->kind, coll->processes, (unsigned long long)coll->count);
        put_time(text, coll->time_ns);
        text_put(text, ", from start to completion ");
        put_time(text, coll->execution_time_ns);
        text_put(text, "\n");
    }
    for (uint32_t i = 0; i < interval->comm_count; i++) {
        const MPIX_Monitor_comm *comm = &interval->comms[i];
        text_format(text, "  %s%s%s: %llu messages, %llu collectives, from first to last ", comm->name,
                    comm->label[0] ? " = " : "", comm->label, (unsigned long long)comm->figures.completed,
                    (unsigned long long)comm->figures.collectives);
        put_time(text, comm->span_ns);
        text_put(text, "\n");
    }
    for (uint32_t i = 0; i < interval->site_count; i++) {
        const MPIX_Monitor_site *site = &interval->sites[i];
        text_format(text, "  %s at %s+%#llx: %llu calls in ", site->frame_count ? site->function : "other call sites",
                    site->module[0] ? site->module : "the program", (unsigned long long)site->offset,
                    (unsigned long long)site->count);
        put_time(text, site->time_ns);
        text_put(text, "\n");
    }
}

static void text_pending(struct textbuffer *text, const char *edge, const MPIX_Monitor_pending *pending,
                         const MPIX_Monitor_call *calls, uint32_t count)
{
    if (pending->sends || pending->recvs)
        text_format(text, "  at the %s: %llu sends (%llu bytes) and %llu receives pending\n", edge,
                    (unsigned long long)pending->sends, (unsigned long long)pending->send_bytes,
                    (unsigned long long)pending->recvs);
    for (uint32_t i = 0; i < count; i++) {
        text_format(text, "  at the %s: thread %u in %s%s%s since ", edge, calls[i].thread, calls[i].function,
                    calls[i].comm[0] ? " on " : "", calls[i].comm);
        put_time(text, calls[i].inside_ns);
        text_put(text, "\n");
    }
}

static void text_other(struct textbuffer *text, const MPIX_Monitor_other *other)
{
    line_time(text, "in libfabric and UCX", other->fabric_time_ns);
    line_number(text, "  operations", other->fabric_ops);
    line_time(text, "in the operating system", other->os_time_ns);
    for (uint32_t i = 0; i < other->counter_count; i++) {
        uint64_t inside = 0;
        for (unsigned place = 1; place < 6; place++)
            inside += other->counters[i].places[place];
        line_number(text, other->counters[i].name, inside);
    }
}

char *monitor_text(const MPIX_Monitor_report *report, size_t *bytes)
{
    const MPIX_Monitor_interval *interval = report->period;
    struct textbuffer text = {0};
    text_format(&text, "mpit: monitor%s%s, rank %d, report %llu (%s): ", report->name[0] ? " " : "", report->name,
                report->rank, (unsigned long long)report->sequence, reason_name(report->reason));
    put_time(&text, interval->duration_ns);
    text_put(&text, "\n");
    line_time(&text, "in MPI", interval->inside_ns);
    line_time(&text, "  stalled there", interval->stall_time_ns);
    line_time(&text, "outside of MPI, mean of threads", interval->useful_time_ns);
    text_sum(&text, &interval->sum, report->options);
    text_lists(&text, interval);
    if (report->options & OTHER)
        text_other(&text, &interval->other);
    text_pending(&text, "begin", &interval->before, interval->calls_before, interval->call_before_count);
    text_pending(&text, "end", &interval->after, interval->calls_after, interval->call_after_count);
    if (report->missed)
        text_format(&text, "  %llu periods before this one have no report\n", (unsigned long long)report->missed);
    for (uint32_t i = 0; i < report->warning_count; i++)
        text_format(&text, "  %s\n", report->warnings[i]);
    return text_end(&text, bytes);
}
