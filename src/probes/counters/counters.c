#include "counters/counters.h"

#include "base/cancel.h"
#include "base/spelling.h"
#include "settings/demand.h"
#include "thread/log.h"
#include "counters/oscounters.h"
#include "counters/papi.h"
#include "counters/softevents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The counters of a thread. */
struct counting {
    bool inside;     /* of an outermost call */
    bool unrecorded; /* there is something in `counts` */
    uint64_t counts[COUNTER_COUNT][PLACE_COUNT];
    uint16_t calls[PLACE_COUNT]; /* the last one of each place */
    struct os_counters os;
    uint32_t seen; /* bits: the named counter has been read before, and goes on from `last` */
    uint64_t last[COUNTER_COUNT];
    int group, fds[SOFT_EVENTS_MOST]; /* -1: there is none */
    struct papi_sets sets;
};

enum { MESSAGES_MOST = COUNTER_ASKED_MOST + 4, MESSAGE_BYTES = 1200 };

/* The counters that the user named, in their order. Fixed when the run begins. */
static struct {
    char name[COUNTER_NAME_BYTES];
    int soft; /* -1: PAPI's */
} asked[COUNTER_ASKED_MOST];
static size_t asked_count;
static int soft_events[COUNTER_ASKED_MOST];
static uint8_t soft_counter[COUNTER_ASKED_MOST], papi_counter[COUNTER_ASKED_MOST];
static size_t soft_count, papi_count;
static uint64_t read_ns;
static char messages[MESSAGES_MOST][MESSAGE_BYTES];
static size_t message_count;
static bool thread_failed;

__attribute__((format(printf, 1, 2))) static void message_add(const char *format, ...)
{
    va_list args;
    if (message_count >= MESSAGES_MOST)
        return;
    va_start(args, format);
    vsnprintf(messages[message_count++], MESSAGE_BYTES, format, args);
    va_end(args);
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

static uint32_t asked_read(struct counting *counting, uint64_t now[COUNTER_COUNT])
{
    uint64_t values[COUNTER_ASKED_MOST];
    uint32_t read = 0;
    if (counting->group >= 0 && !soft_group_read(counting->group, values, soft_count))
        counting->group = -1; /* the program has closed it */
    if (counting->group >= 0)
        for (size_t i = 0; i < soft_count; i++) {
            now[soft_counter[i]] = values[i];
            read |= 1u << soft_counter[i];
        }
    if (counting->sets.events && papi_read(&counting->sets, values))
        for (size_t i = 0; i < papi_count; i++) {
            now[papi_counter[i]] = values[i];
            read |= 1u << papi_counter[i];
        }
    return read;
}

/* ---- a thread ------------------------------------------------------------------------------------------------- */

/* False: some are missing. The reason is the last one. */
static bool counting_open(struct counting *counting, char reason[PAPI_REASON_BYTES])
{
    counting->group = -1;
    if (soft_count)
        counting->group = soft_group_open(soft_events, soft_count, counting->fds);
    bool good = !soft_count || counting->group >= 0;
    if (!good)
        snprintf(reason, PAPI_REASON_BYTES, "%s", strerror(errno));
    if (!papi_count)
        return good;
    papi_thread_begin();
    for (size_t i = 0; i < papi_count; i++)
        good = papi_add(&counting->sets, asked[papi_counter[i] - COUNTER_ASKED].name, reason) && good;
    /* without one of them the order would change */
    if (counting->sets.events == papi_count && papi_start(&counting->sets, reason))
        return good;
    papi_stop(&counting->sets);
    return false;
}

static void counting_close(struct counting *counting)
{
    if (counting->group >= 0)
        soft_group_close(counting->fds, soft_count);
    counting->group = -1;
    if (!papi_count)
        return;
    papi_stop(&counting->sets);
    papi_thread_end();
}

static struct counting *counting_make(struct log *log)
{
    struct counting *counting = book_counters(&log->own) ? calloc(1, sizeof *counting) : NULL;
    if (!counting)
        return NULL;
    char reason[PAPI_REASON_BYTES] = "";
    int error = errno, cancel = cancel_hold();
    bool good = counting_open(counting, reason);
    cancel_release(cancel);
    if (!good && !__atomic_exchange_n(&thread_failed, true, __ATOMIC_RELAXED))
        native_say("mpit: MPIT_PAPI_EVENTS: thread %u cannot count all events (%s); the missing ones are 0",
                   log->own.index, reason);
    log->counting = counting;
    errno = error;
    return counting;
}

/* A value that falls is a level (a temperature, a length) and not a counter, even if PAPI calls it one. Its difference
 * would wrap. */
static uint64_t grown(unsigned counter, uint64_t last, uint64_t now)
{
    static uint32_t fallen;         /* bits: this was reported of the counter */
    if ((int64_t)(now - last) >= 0) /* the values may be signed, and pass through 0 */
        return now - last;
    uint32_t bit = 1u << counter;
    if (book.run.header->world_rank <= 0 && !(__atomic_fetch_or(&fallen, bit, __ATOMIC_RELAXED) & bit))
        native_say("mpit: MPIT_PAPI_EVENTS: %s decreased by %" PRIu64
                   ": it is a level, not a counter; only its increases are counted",
                   asked[counter - COUNTER_ASKED].name, last - now);
    return 0;
}

/* Counts since the last look belong to the place where the thread was. */
static void asked_pass(struct counting *counting, enum counter_place place)
{
    uint64_t now[COUNTER_COUNT];
    int error = errno;
    if (!asked_count)
        return;
    uint32_t read = asked_read(counting, now);
    for (unsigned i = COUNTER_ASKED; read >> i; i++) {
        if (!(read & (1u << i)))
            continue;
        if (counting->seen & (1u << i))
            counting->counts[i][place] += grown(i, counting->last[i], now[i]);
        counting->last[i] = now[i];
    }
    counting->seen = read;
    counting->unrecorded |= read != 0;
    errno = error;
}

static bool os_read(struct counting *counting, uint64_t now)
{
    bool read = os_counters_read(&counting->os, now, counting->counts);
    counting->unrecorded |= read;
    return read;
}

/* Writes a record for each place where the counter has counted. After a call, the record of its place also has the
 * counts from outside. */
static void counter_record(struct log *log, unsigned counter, unsigned kind, uint64_t begin)
{
    struct counting *counting = log->counting;
    uint64_t *counts = counting->counts[counter];
    unsigned here = kind == CALL_NONE ? PLACE_OUTSIDE : counter_place_of(kind);
    for (unsigned place = 0; place < PLACE_COUNT; place++) {
        uint64_t outside = place == here ? counts[PLACE_OUTSIDE] : 0;
        uint64_t inside = place != PLACE_OUTSIDE ? counts[place] : 0;
        if (!outside && !inside)
            continue;
        struct event event =
            counter_event(counter, place == here ? kind : counting->calls[place], begin, outside, inside);
        fold_counter(&log->own.tally, &event);
        log_commit(log, &event);
    }
    memset(counts, 0, sizeof counting->counts[counter]);
}

static void counters_record(struct log *log, unsigned kind, uint64_t begin)
{
    log->counting->unrecorded = false;
    for (unsigned i = 0; i < COUNTER_ASKED + asked_count; i++)
        counter_record(log, i, kind, begin);
}

/* The begin of the call is after the readings. */
uint64_t counters_call_begin(struct log *log)
{
    uint64_t now = clock_now();
    struct counting *counting = log->counting ? log->counting : counting_make(log);
    if (!counting)
        return now;
    bool due = os_counters_pass(&counting->os, PLACE_OUTSIDE, now);
    if (due && book.run.header->world_size)
        os_counters_check();
    bool read = due && os_read(counting, now);
    asked_pass(counting, PLACE_OUTSIDE);
    counting->inside = true;
    return read || counting->seen ? clock_now() : now;
}

/* First of all, so that mpit's own work for the call is not included. */
void counters_call_returned(struct log *log, unsigned kind, uint64_t now)
{
    struct counting *counting = log->counting;
    enum counter_place own = counter_place_of(kind), place = counting->inside ? own : PLACE_OUTSIDE;
    asked_pass(counting, place);
    if (os_counters_pass(&counting->os, place, now))
        os_read(counting, now);
    counting->calls[own] = (uint16_t)kind;
    counting->inside = false;
}

void counters_call_ended(struct log *log, const struct event *call)
{
    if (log->counting->unrecorded)
        counters_record(log, event_kind(call), call->begin);
}

void counters_flush(struct log *log)
{
    struct counting *counting = log ? log->counting : NULL;
    if (!counting || counting->inside)
        return;
    uint64_t now = clock_now();
    asked_pass(counting, PLACE_OUTSIDE);
    os_counters_pass(&counting->os, PLACE_OUTSIDE, now);
    os_read(counting, now);
    counters_record(log, CALL_NONE, now);
}

void counters_thread_end(struct log *log)
{
    log->counting->inside = false; /* it may have been canceled inside of a call */
    if (__atomic_load_n(&recorder_on, __ATOMIC_ACQUIRE))
        counters_flush(log);
    counting_close(log->counting);
    free(log->counting);
    log->counting = NULL;
}

/* ---- who asks ------------------------------------------------------------------------------------------------- */

/* The gates follow: knobs_attend sets the switchboard. */
static void wanted_set(void)
{
    static bool attending;
    bool wanted = asked_count || os_counters_on();
    __atomic_store_n(&counters_wanted, wanted, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&attending, wanted, __ATOMIC_SEQ_CST) != wanted)
        knobs_attend(wanted ? 1 : -1);
}

static void os_changed(bool wanted)
{
    os_counters_switch(wanted);
    wanted_set();
}

/* ---- counters by name ------------------------------------------------------------------------------------------- */

struct nearest {
    const char *name;
    bool known; /* PAPI has this name, too */
    char found[COUNTER_NAME_BYTES];
    unsigned distance;
};

static void nearest_take(void *to, const char *name)
{
    struct nearest *nearest = to;
    unsigned distance = spelling_distance(nearest->name, name);
    nearest->known = nearest->known || strcmp(nearest->name, name) == 0;
    if (distance >= nearest->distance)
        return;
    snprintf(nearest->found, COUNTER_NAME_BYTES, "%s", name);
    nearest->distance = distance;
}

/* Prints the name that is most like this one, and the names that can be counted everywhere. */
static void refused(const char *name, bool papi, const char *reason)
{
    struct nearest nearest = {.name = name, .distance = (unsigned)strlen(name) / 3 + 2};
    char possible[400] = "";
    for (size_t i = 0; soft_event_name(i); i++) {
        nearest_take(&nearest, soft_event_name(i));
        size_t used = strlen(possible);
        if (i < 7)
            snprintf(possible + used, sizeof possible - used, "%s%s", used ? " " : "", soft_event_name(i));
    }
    if (papi)
        papi_names(nearest_take, &nearest);
    bool like = nearest.found[0] && !nearest.known;
    message_add("mpit: PAPI event %s is not counted: %s%s%s%s. Events of the kernel: %s. papi_native_avail and "
                "papi_avail list the events of PAPI",
                name, nearest.known ? "PAPI knows it, but cannot count it on this machine: " : "", reason,
                like ? "; similar: " : "", like ? nearest.found : "", possible);
}

static void soft_refused(const char *name)
{
    if (errno == EACCES || errno == EPERM)
        message_add("mpit: PAPI event %s is not counted: the system does not permit it (needed: 1 or less in "
                    "/proc/sys/kernel/perf_event_paranoid, or CAP_PERFMON); mpit_os_faults and mpit_os_switches (--os) "
                    "need no permission",
                    name);
    else
        message_add("mpit: PAPI event %s is not counted: perf_event_open: %s", name, strerror(errno));
}

static void asked_add(const char *name, int soft, const char *unit)
{
    unsigned counter = COUNTER_ASKED + (unsigned)asked_count;
    if (!variable_add_counter(counter, name, unit))
        return;
    snprintf(asked[asked_count].name, COUNTER_NAME_BYTES, "%s", name);
    asked[asked_count++].soft = soft;
    if (soft >= 0) {
        soft_events[soft_count] = soft;
        soft_counter[soft_count++] = (uint8_t)counter;
    } else {
        papi_counter[papi_count++] = (uint8_t)counter;
    }
}

/* Adds one event, so that each countable one is counted. An event of PAPI goes into `sets`, to see which of them go
 * together. */
static void event_ask(const char *name, struct papi_sets *sets)
{
    char reason[PAPI_REASON_BYTES] = "";
    for (size_t i = 0; i < asked_count; i++)
        if (strcmp(asked[i].name, name) == 0)
            return;
    if (asked_count == COUNTER_ASKED_MOST || strlen(name) >= COUNTER_NAME_BYTES) {
        message_add("mpit: PAPI event %.100s is not counted; allowed are %d events with names of up to %d characters",
                    name, COUNTER_ASKED_MOST, COUNTER_NAME_BYTES - 1);
        return;
    }
    int soft = soft_event_named(name), fds[SOFT_EVENTS_MOST];
    if (soft >= 0) {
        if (soft_group_open(&soft, 1, fds) < 0) {
            soft_refused(name);
            return;
        }
        soft_group_close(fds, 1);
        asked_add(name, soft, soft_event_unit(soft));
        return;
    }
    bool papi = papi_open(reason);
    if (papi && papi_add(sets, name, reason))
        asked_add(name, -1, "");
    else
        refused(name, papi, reason);
}

static void counter_names_read(char *text)
{
    struct papi_sets sets = {.count = 0};
    char *rest = text;
    for (char *name; (name = strsep(&rest, ","));)
        if (name[0])
            event_ask(name, &sets);
    if (!sets.count)
        return;
    char reason[PAPI_REASON_BYTES];
    bool starts = papi_start(&sets, reason);
    papi_stop(&sets);
    if (!starts) {
        papi_count = 0;
        message_add("mpit: the events of PAPI are not counted: PAPI cannot start them: %s", reason);
    }
}

/* Stores the smallest of several costs, the one without an interruption. */
static void cost_measure(void)
{
    struct counting counting = {.inside = false};
    uint64_t now[COUNTER_COUNT], least = UINT64_MAX;
    char reason[PAPI_REASON_BYTES];
    if (!counting_open(&counting, reason))
        return;
    for (int i = 0; i < 64; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        asked_read(&counting, now);
        asked_read(&counting, now);
        asked_read(&counting, now);
        asked_read(&counting, now);
        clock_gettime(CLOCK_MONOTONIC, &end);
        uint64_t took = (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000 + (uint64_t)(end.tv_nsec - begin.tv_nsec);
        least = took < least ? took : least;
    }
    read_ns = least / 4;
    counting_close(&counting);
}

void counters_open(void)
{
    char text[KNOB_TEXT_BYTES];
    knob_read_text(KNOB_PAPI_EVENTS, text);
    counter_names_read(text);
    if (asked_count)
        cost_measure();
    wanted_set();
    demand_serve(DEMAND_OS, os_changed);
}

void counters_publish(void)
{
    uint64_t offset = 0;
    struct counter_table *table = asked_count ? run_alloc(&book.run, sizeof *table, &offset) : NULL;
    if (!table)
        return;
    table->count = asked_count;
    table->read_ns = read_ns;
    for (size_t i = 0; i < asked_count; i++) {
        memcpy(table->list[i].name, asked[i].name, COUNTER_NAME_BYTES);
        snprintf(table->list[i].unit, VARIABLE_UNIT_BYTES, "%s",
                 asked[i].soft >= 0 ? soft_event_unit(asked[i].soft) : "");
    }
    book.counters = table;
    __atomic_store_n(&book.run.header->counters, offset, __ATOMIC_RELEASE);
}

void counters_tell(void (*say)(const char *format, ...))
{
    for (size_t i = 0; i < message_count; i++)
        say("%s", messages[i]);
    os_counters_check();
}
