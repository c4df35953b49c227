#include "replay/replaying.h"

#include "base/array.h"
#include "registry/commsum.h"

#include <stdlib.h>
#include <string.h>

struct replayed_comm *replayed_comm_make(struct replay *replay, uint32_t slot)
{
    struct replayed_comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return NULL;
    comm->cells.message_low = comm->cells.span_first = LOW_NEUTRAL;
    comm->tally.cells = &comm->cells;
    shared_cells_clear(&comm->shared);
    comm->tally.shared = &comm->shared;
    comm->tally.page_number = UINT32_MAX;
    replay->comms[slot] = comm;
    return comm;
}

void replayed_comm_free(struct replayed_comm *comm)
{
    for (struct replayed_page *page = comm ? comm->pages : NULL, *next; page; page = next) {
        next = page->next;
        free(page);
    }
    free(comm);
}

bool replayed_page_select(struct replayed_comm *comm, int32_t peer)
{
    uint32_t number = (uint32_t)peer / PEERS_PER_PAGE;
    if (peer < 0 || (comm->tally.page && comm->tally.page_number == number))
        return true;
    struct replayed_page *page = comm->pages;
    while (page && page->number != number)
        page = page->next;
    if (!page) {
        page = calloc(1, sizeof *page);
        if (!page)
            return false;
        page->number = number;
        page->next = comm->pages;
        comm->pages = page;
    }
    comm->tally.page = &page->cells;
    comm->tally.page_number = number;
    return true;
}

/* The slot goes to the next communicator. The counts of the old one go to its sum, as in the recording. */
static bool comm_sum(struct replay *replay, struct replayed_comm *comm)
{
    const struct comm_record *record = replay->reader->comms[comm->number];
    struct replayed_comm *sum = replay->comms[record->sum];
    if (comm->number < replay->reader->slot_count || !record->sum ||
        (!sum && !(sum = replayed_comm_make(replay, record->sum))))
        return false;
    comm_cells_move(&sum->cells, &comm->cells, true);
    for (struct replayed_page *page = comm->pages; page; page = page->next) {
        if (!replayed_page_select(sum, (int32_t)(page->number * PEERS_PER_PAGE)))
            return false;
        peer_cells_move(sum->tally.page, &page->cells);
    }
    shared_cells_sum(&sum->shared, &comm->shared);
    shared_cells_clear(&comm->shared);
    return true;
}

/* Finds the communicator of an event, which may be none. Returns false if it is not known, or without memory. */
static bool comm_at(struct replay *replay, const struct event *event, struct replayed_comm **comm)
{
    uint32_t slot = event->comm, number = run_reader_comm(replay->reader, event);
    *comm = NULL;
    if (!number) {
        bool had = slot && slot < replay->reader->slot_count && replay->reader->comms[slot];
        replay->nameless += had;
        return !had;
    }
    *comm = replay->comms[slot];
    if (!*comm && !(*comm = replayed_comm_make(replay, slot)))
        return false;
    if ((*comm)->number != number && (*comm)->number && !comm_sum(replay, *comm))
        return false;
    const struct comm_record *record = replay->reader->comms[number];
    (*comm)->number = number;
    (*comm)->tally.peers = (uint32_t)(record->remote_size ? record->remote_size : record->size);
    return true;
}

/* At the end of a thread's events, adds the communicators that have lost their slots to their sums. */
static bool comms_sum(struct replay *replay)
{
    for (uint32_t slot = 1; slot < replay->reader->slot_count; slot++) {
        struct replayed_comm *comm = replay->comms[slot];
        if (comm && comm->number >= replay->reader->slot_count && !comm_sum(replay, comm))
            return false;
    }
    return true;
}

/* An event with its extension, if it is wide. */
struct whole_event {
    struct event event;
    union {
        struct event event;
        struct event_extension extension;
    } more;
    uint64_t records;
    uint32_t path; /* of a call */
};

/* Applies a selected event. */
static bool event_count(struct replay *replay, const struct whole_event *whole)
{
    const struct event *event = &whole->event;
    bool instrument = event_kind(event) >= RECORD_END; /* its peer is not a rank */
    struct replayed_comm *comm = NULL;
    if ((!instrument && !comm_at(replay, event, &comm)) || (comm && !replayed_page_select(comm, event->peer)))
        return false;
    replay->thread.events += whole->records;
    replay->tally.region = NULL;
    if (event_kind(event) == EVENT_REGION && run_reader_instrument(replay->reader, (uint32_t)event->peer))
        replay->tally.region = &replay->regions[event->peer];
    if (EVENT_KIND_IS_FABRIC(event_kind(event))) {
        if (!run_reader_provider(replay->reader, (uint32_t)event->peer))
            return false;
        replay->tally.fabric =
            (struct fabric_tally){.cells = &replay->fabric[event->peer], .pending = &replay->pending[event->peer]};
    }
    if (event_kind(event) < CALL_COUNT)
        replay->tally.path = run_reader_path_of(replay->reader, whole->path) ? &replay->paths[whole->path] : NULL;
    else if (event_kind(event) == EVENT_PASSED)
        replay->tally.path = NULL;
    fold(&replay->tally, comm ? &comm->tally : NULL, event, &whole->more.extension);
    return true;
}

/* ---- a part ------------------------------------------------------------------------------------------------------ */

static bool sieve_push(struct replay_sieve *sieve, uint64_t begin, uint64_t ticks)
{
    if (!ARRAY_RESERVED(sieve->nests, &sieve->nest_room, sieve->nest_count))
        return false;
    sieve->nests[sieve->nest_count++] = (struct replayed_nest){begin, ticks};
    return true;
}

/*
 * Time in MPI counts only calls that are not inside of another one, here of another selected one. Calls come in the
 * order of their returns, so the calls inside of a call wait for it.
 */
static void nest_take(struct replay *replay, struct whole_event *whole, bool wanted)
{
    struct replay_sieve *sieve = replay->sieve;
    uint64_t begin = whole->event.begin, ticks = event_duration(&whole->event, &whole->more.extension);
    bool nested = whole->event.kind & EVENT_NESTED;
    while (wanted && sieve->nest_count && sieve->nests[sieve->nest_count - 1].begin >= begin)
        replay->thread.nested_time += sieve->nests[--sieve->nest_count].ticks;
    if (!nested)
        sieve->nest_count = 0;
    else if (wanted && !sieve_push(sieve, begin, ticks))
        sieve->out_of_memory = true;
    if (wanted)
        whole->event.kind &= (uint16_t)~EVENT_NESTED; /* the fold must not subtract it */
}

/* The time of the selected calls that opened the first session or closed the last, like header.session_ticks for all
 * calls. The first is the call that returned before the run began. The other is the last call of its kind. */
static void session_take(struct replay *replay, const struct whole_event *whole, bool wanted)
{
    const struct run_header *header = &replay->reader->header;
    struct replay_sieve *sieve = replay->sieve;
    unsigned kind = event_kind(&whole->event);
    uint64_t begin = whole->event.begin, ticks = event_duration(&whole->event, &whole->more.extension);
    if (kind == CALL_MPI_Session_init && wanted && begin < header->init_ticks)
        sieve->session_ticks += ticks;
    if (kind == CALL_MPI_Session_finalize && begin >= header->finalize_ticks && begin >= sieve->session_closed) {
        sieve->session_closed = begin;
        sieve->closing_ticks = wanted ? ticks : 0;
    }
}

static bool sieve_passes(struct replay *replay, struct whole_event *whole, bool torn)
{
    struct replay_sieve *sieve = replay->sieve;
    const struct replay_choice *choice = sieve->choice;
    struct event *event = &whole->event;
    uint32_t number = event_kind(event) < RECORD_END ? run_reader_comm(replay->reader, event) : 0;
    if (!event_is_whole(event)) {
        if (torn)
            sieve->call = false; /* its call is missing */
        return sieve->call && (number && !sieve->bound ? choice->has_comm(choice->data, number) : sieve->comm);
    }
    sieve->call = choice->has_call(choice->data, event, &whole->more.extension);
    sieve->comm = choice->has_comm(choice->data, number);
    sieve->bound = number != 0;
    bool wanted = sieve->call && sieve->comm;
    if (event_kind(event) >= CALL_COUNT)
        return wanted;
    nest_take(replay, whole, wanted);
    session_take(replay, whole, wanted);
    sieve->calls += wanted;
    return wanted;
}

/* Applies an event that is not selected, to counters that are never read. */
static void event_pass(struct replay *replay, const struct whole_event *whole)
{
    struct replay_sieve *sieve = replay->sieve;
    struct tally *tally = &replay->tally;
    struct comm_tally comm = {.cells = &sieve->spare_comm, .shared = &sieve->spare_shared, .page = &sieve->spare_page};
    bool instrument = event_kind(&whole->event) >= RECORD_END;
    tally->cells = &sieve->spare;
    tally->path = NULL;
    tally->fabric_calls = &sieve->spare_fabric;
    if (!instrument || event_kind(&whole->event) == EVENT_PASSED)
        fold(tally, whole->event.comm ? &comm : NULL, &whole->event, &whole->more.extension);
    tally->cells = &replay->thread;
    tally->fabric_calls = &replay->fabric_calls;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static bool event_take(struct replay *replay, struct event_cursor *cursor, const struct event *from)
{
    struct whole_event whole = {.event = *from, .records = 1, .path = cursor->path};
    bool torn = cursor->gap != 0;
    while (whole.event.kind & EVENT_WIDE) {
        const struct event *behind = event_cursor_next(cursor);
        if (replay->sieve && behind && event_kind(behind) != RECORD_EXTENSION) { /* it is missing */
            replay->sieve->call = false;
            whole.event = *behind;
            whole.path = cursor->path;
            torn = cursor->gap != 0;
            continue;
        }
        if (!behind || event_kind(behind) != RECORD_EXTENSION)
            return replay->sieve != NULL; /* the last one of a process that was killed */
        whole.more.event = *behind;
        whole.records++;
        break;
    }
    if (replay->sieve && !sieve_passes(replay, &whole, torn)) {
        event_pass(replay, &whole);
        return true;
    }
    return event_count(replay, &whole);
}

enum replay_result replay_thread(struct replay *replay, uint32_t thread, uint64_t *missing)
{
    struct event_cursor cursor;
    bool whole = true;
    memset(&replay->thread, 0, sizeof replay->thread);
    memset(replay->regions, 0, (replay->reader->instrument_count + 1) * sizeof *replay->regions);
    memset(&replay->counters, 0, sizeof replay->counters);
    memset(replay->paths, 0, (replay->reader->path_count + 1) * sizeof *replay->paths);
    memset(replay->fabric, 0, (FABRIC_PROVIDERS_MOST + 1) * sizeof *replay->fabric);
    memset(&replay->fabric_calls, 0, sizeof replay->fabric_calls);
    replay->tally =
        (struct tally){.cells = &replay->thread, .fabric_calls = &replay->fabric_calls, .counters = &replay->counters};
    event_cursor_open(&cursor, replay->reader, thread);
    for (const struct event *event; whole && (event = event_cursor_next(&cursor));)
        whole = event_take(replay, &cursor, event);
    event_cursor_close(&cursor);
    whole = whole && comms_sum(replay);
    *missing = cursor.missing;
    return replay->nameless ? REPLAY_NAMELESS : whole ? REPLAY_WHOLE : REPLAY_TORN;
}
