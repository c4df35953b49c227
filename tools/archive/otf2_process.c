#include "archive/otf2_process.h"

#include "trace/nest.h"
#include "archive/otf2_events.h"
#include "archive/otf2_io.h"
#include "definitions/otf2_numbers.h"
#include "archive/otf2_rma.h"
#include "trace/pending.h"
#include "reader/readernext.h"

#include <stdlib.h>

enum { STEPS_BETWEEN_LOOKS = 1 << 12, RECORDS_BETWEEN_RESTS = 1 << 20 };

struct lane {
    struct trace_location location;
    struct call_stream stream;
    struct traced_call next;
    bool has_next;
    struct nest nest;
    uint32_t thread;
    uint64_t missing; /* Records that are missing at a known place: */
    uint64_t unknown; /* records, that are damaged: */
    bool gap;         /* before the next call */
};

struct lanes {
    struct trace_process process;
    struct trace_requests requests;
    struct lane *list;
    size_t count;
    struct otf2_report *report;
    struct trace_watch *watch;
    uint64_t steps;
    uint64_t told;   /* records that the progress knows of */
    uint64_t rested; /* when the pages of the file were given back */
};

static int lane_advance(struct lanes *lanes, struct lane *lane)
{
    if (lane->missing != lane->stream.cursor.missing) { /* before the record that was read ahead */
        lane->missing = lane->stream.cursor.missing;
        lane->gap = true;
        lanes->process.states.tears++;
    }
    int got = call_stream_next(&lane->stream, &lane->next);
    if (lane->unknown != lane->stream.unknown) { /* between the last call and this one */
        lane->unknown = lane->stream.unknown;
        lane->gap = true;
        lanes->process.states.tears++;
    }
    lane->has_next = got > 0;
    return got < 0 ? report_no_memory(lanes->report) : 0;
}

static struct lane *lane_first_returned(struct lanes *lanes)
{
    struct lane *first = NULL;
    if (lanes->count == 1)
        return lanes->list->has_next ? lanes->list : NULL;
    for (size_t i = 0; i < lanes->count; i++)
        if (lanes->list[i].has_next && (!first || lanes->list[i].next.end < first->next.end))
            first = &lanes->list[i];
    return first;
}

static int traced_request_post(struct lanes *lanes, enum request_class class, const struct event *post, uint64_t *id)
{
    *id = trace_requests_add(&lanes->requests, class, post);
    return *id ? 0 : report_no_memory(lanes->report);
}

/* A request that is not in the archive. Its end must not be taken for the end of another request of the same tick. */
static int request_leave(struct lanes *lanes, enum request_class class, const struct event *post, bool none_are_kept)
{
    if (none_are_kept || lanes->process.job->in_part || post->kind & EVENT_FAILED)
        return 0;
    return trace_requests_add_absent(&lanes->requests, class, post) ? 0 : report_no_memory(lanes->report);
}

static inline int send_post(struct lanes *lanes, const struct event *post, uint64_t *id)
{
    return process_has_message(&lanes->process, post)
               ? traced_request_post(lanes, REQUEST_IS_SEND, post, id)
               : request_leave(lanes, REQUEST_IS_SEND, post, lanes->process.job->no_messages);
}

static inline int receive_post(struct lanes *lanes, const struct event *post, uint64_t *id)
{
    return process_has_receive(&lanes->process, post)
               ? traced_request_post(lanes, REQUEST_IS_RECV, post, id)
               : request_leave(lanes, REQUEST_IS_RECV, post, lanes->process.job->no_messages);
}

/* Finds the request of a failed test. */
static void test_match(struct lanes *lanes, struct traced_call *call)
{
    struct trace_process *process = &lanes->process;
    struct event post;
    uint64_t id = trace_requests_find(&lanes->requests, call->event.bytes, &post);
    bool access = id && post.kind == REQUEST_IS_ACCESS, transfer = id && post.kind == REQUEST_IS_TRANSFER;
    uint32_t comm = access || transfer ? process_comm(process, &post) : NO_COMM;
    if (comm != NO_COMM)
        call->object = object_known(process->objects, access ? OBJECT_WINDOW : OBJECT_FILE, comm,
                                    trace_object_number(process->comms, comm, process->world_rank, (uint32_t)post.tag));
    if (access && call->object && !rma_is_under_way(process, call->object, post.peer, id))
        call->object = NULL;
    call->request = (access || transfer) && !call->object ? 0 : id;
}

static bool collective_is_placed(struct lanes *lanes, const struct event *event)
{
    return !(event->kind & EVENT_FAILED) && !lanes->process.job->no_collectives &&
           process_has_collective(&lanes->process, event);
}

static int placed_collective_post(struct lanes *lanes, enum request_class class, const struct event *post, uint64_t *id)
{
    return collective_is_placed(lanes, post) ? traced_request_post(lanes, class, post, id)
                                             : request_leave(lanes, class, post, lanes->process.job->no_collectives);
}

static int call_match(struct lanes *lanes, struct traced_call *call)
{
    const struct event *event = &call->event;
    switch (call_shape(call)) {
    case FOLD_POST_SEND:
        return send_post(lanes, event, &call->request);
    case FOLD_POST_RECV:
        return receive_post(lanes, event, &call->request);
    case FOLD_POST_COLL:
        return placed_collective_post(lanes, REQUEST_IS_COLL, event, &call->request);
    case FOLD_COMM:
        return call_creates_later(event) ? placed_collective_post(lanes, REQUEST_IS_COMM, event, &call->request) : 0;
    case FOLD_COMPLETION: /* a failed test names its request */
        if (event->peer <= 0 && event->bytes && !(event->kind & EVENT_FAILED))
            test_match(lanes, call);
        return 0;
    case FOLD_RMA:
        return rma_match(&lanes->process, &lanes->requests, call) == 0 ? 0 : report_no_memory(lanes->report);
    case FOLD_IO:
        return io_match(&lanes->process, &lanes->requests, call) == 0 ? 0 : report_no_memory(lanes->report);
    case FOLD_CALL:
        return event_kind(event) != CALL_MPI_File_delete || io_match(&lanes->process, &lanes->requests, call) == 0
                   ? 0
                   : report_no_memory(lanes->report);
    default:
        return 0;
    }
}

/* The request of an access to a window or of a transfer has ended. */
static int object_part_match(struct lanes *lanes, struct call_part *part)
{
    bool access = event_kind(&part->event) == RECORD_RMA_DONE ||
                  (part->event.duration < CALL_COUNT && call_table[part->event.duration].class == CLASS_RMA);
    int result = access ? rma_part_match(&lanes->process, &lanes->requests, part)
                        : io_part_match(&lanes->process, &lanes->requests, part);
    return result == 0 ? 0 : report_no_memory(lanes->report);
}

/* The end of a request whose post was not seen, although the archive has requests of its class. */
static __attribute__((noinline)) void unmatched_count(struct trace_process *process, const struct event *event,
                                                      enum request_class class)
{
    bool collective = class == REQUEST_IS_COLL || class == REQUEST_IS_COMM;
    bool written = !process->job->in_part && !process->job->selection &&
                   !(collective ? process->job->no_collectives : process->job->no_messages);
    if (written && (collective || event->peer != PEER_PROC_NULL) && process_comm(process, event) != NO_COMM)
        process->unmatched++;
}

/* The request that a record ends. */
static inline uint64_t ended_request(struct lanes *lanes, const struct event *record, enum request_class class)
{
    uint64_t request = trace_requests_take(&lanes->requests, class, record);
    if (!request)
        unmatched_count(&lanes->process, record, class);
    return request;
}

static inline void part_request_end(struct lanes *lanes, struct call_part *part, enum request_class class)
{
    part->request = ended_request(lanes, &part->event, class);
}

static int part_match(struct lanes *lanes, struct call_part *part)
{
    const struct event *event = &part->event;
    unsigned kind = event_kind(event);
    switch (kind) {
    case RECORD_RECEIVE:
    case RECORD_ARGUMENT:
        return 0;
    case RECORD_SEND_DONE:
        part_request_end(lanes, part, REQUEST_IS_SEND);
        return 0;
    case RECORD_RECV_DONE:
        part_request_end(lanes, part, REQUEST_IS_RECV);
        return 0;
    case RECORD_SEND_POSTED:
        return send_post(lanes, event, &part->request);
    case RECORD_RECV_POSTED:
        return receive_post(lanes, event, &part->request);
    case RECORD_COLL_POSTED:
        return placed_collective_post(lanes, REQUEST_IS_COLL, event, &part->request);
    case RECORD_RMA_DONE:
    case RECORD_IO_DONE:
        return object_part_match(lanes, part);
    default:
        break;
    }
    if ((kind == RECORD_CANCELLED || kind == RECORD_FREED) && event->duration < CALL_COUNT &&
        (call_table[event->duration].class == CLASS_RMA || call_table[event->duration].class == CLASS_IO))
        return object_part_match(lanes, part);
    int ended = request_class_ended(event);
    if (ended >= 0)
        part_request_end(lanes, part, (enum request_class)ended);
    return 0;
}

static void lane_write(struct lane *lane)
{
    nest_write(&lane->nest, &lane->location, location_enter, location_leave);
}

/* Called now and then: updates the progress, and returns -1 if the work is to stop. */
static int lanes_look(struct lanes *lanes)
{
    uint64_t read = 0;
    for (size_t i = 0; i < lanes->count; i++)
        read += lanes->list[i].stream.cursor.next;
    progress_add(&lanes->watch->progress, read - lanes->told);
    lanes->told = read;
    if (read - lanes->rested > RECORDS_BETWEEN_RESTS) { /* read pages are not needed again */
        run_reader_rest(lanes->process.rank->run);
        lanes->rested = read;
    }
    return trace_watch_stops(lanes->watch) ? -1 : 0;
}

enum {
    MESSAGE_SHAPES = 1 << FOLD_SEND | 1 << FOLD_SENDRECV | 1 << FOLD_RECV | 1 << FOLD_POST_SEND | 1 << FOLD_POST_RECV |
                     1 << FOLD_COMPLETION,
    FLAGS_OF_GENERAL = EVENT_WIDE | EVENT_FAILED | EVENT_NESTED
};

/* Returns whether the call does only the work of a message. */
static inline bool call_is_message(const struct event *event)
{
    unsigned kind = event_kind(event);
    if (kind - 1 >= CALL_COUNT - 1 || event->kind & FLAGS_OF_GENERAL || !(MESSAGE_SHAPES >> call_table[kind].fold & 1))
        return false;
    return call_table[kind].fold != FOLD_COMPLETION || event->peer > 0 || !event->bytes; /* a test that failed */
}

/* Returns the number of records after the call. Returns SIZE_MAX if it has other records than those for messages, or if
 * this is not known yet. Also if the next call is wide: only event_cursor_next can show it. */
static inline size_t message_records(const struct event *ready, const struct event *end)
{
    const struct event *const first = ready;
    for (; ready != end; ready++) {
        unsigned kind = event_kind(ready);
        if (kind < RECORD_FIRST)
            return ready->kind & EVENT_WIDE ? SIZE_MAX : (size_t)(ready - first);
        if ((kind != RECORD_RECEIVE && kind != RECORD_SEND_DONE && kind != RECORD_RECV_DONE && kind != RECORD_STALL) ||
            ready->kind & EVENT_WIDE)
            break;
    }
    return SIZE_MAX;
}

/*
 * Handles the next calls of a lane in one pass. It continues while the calls are only messages, returned before
 * `until`, and lie unpacked with their records. This covers nearly all calls of most programs. lane_step needs four
 * passes over a call and a copy of it.
 */
static int lane_run(struct lanes *lanes, struct lane *lane, uint64_t until)
{
    struct call_stream *stream = &lane->stream;
    struct event_cursor *cursor = &stream->cursor;
    uint64_t requests[EVENTS_READY_MOST];
    while (stream->ahead && cursor->ready != cursor->ready_end && call_is_message(stream->ahead)) {
        struct message_call call = {
            .event = stream->ahead, .records = cursor->ready, .requests = requests, .path = cursor->path};
        uint64_t end = call.event->begin + call.event->duration;
        call.shape = (enum fold_shape)call_table[event_kind(call.event)].fold;
        call.record_count = message_records(cursor->ready, cursor->ready_end);
        if (call.record_count == SIZE_MAX || end >= until || end < call.event->begin)
            break;
        int posted = 0;
        if (call.shape == FOLD_POST_SEND)
            posted = send_post(lanes, call.event, &call.request);
        else if (call.shape == FOLD_POST_RECV)
            posted = receive_post(lanes, call.event, &call.request);
        if (posted != 0)
            return -1;
        for (size_t i = 0; i < call.record_count; i++)
            if (event_kind(&call.records[i]) == RECORD_SEND_DONE)
                requests[i] = ended_request(lanes, &call.records[i], REQUEST_IS_SEND);
            else if (event_kind(&call.records[i]) == RECORD_RECV_DONE)
                requests[i] = ended_request(lanes, &call.records[i], REQUEST_IS_RECV);
        location_message(&lane->location, &call);
        stream->calls++;
        cursor->ready = call.records + call.record_count + 1;
        stream->ahead = event_cursor_show(cursor, cursor->ready - 1);
        cursor->next += call.record_count + 1;
    }
    return 0;
}

/* Returns the time until which calls of this lane come before the calls of all other lanes. */
static uint64_t lane_bound(const struct lanes *lanes, const struct lane *lane)
{
    uint64_t until = UINT64_MAX;
    for (size_t i = 0; lanes->count > 1 && i < lanes->count; i++) {
        const struct lane *other = &lanes->list[i];
        if (other != lane && other->has_next && other->next.end < until)
            until = other->next.end;
    }
    return until;
}

/* Marks a damaged chunk, which is found only when events are unpacked. A gap that is known in advance has no mark here,
 * because its process is not complete anyway (markers report it). */
static void lane_gap(struct lanes *lanes, struct lane *lane, uint64_t until)
{
    if (lanes->process.rank->complete)
        location_gap(&lane->location, until);
    lane->gap = false;
}

static int lane_step(struct lanes *lanes, struct lane *lane)
{
    struct traced_call *call = &lane->next;
    if (lane->gap && lane->nest.count == 0)
        lane_gap(lanes, lane, call->event.begin);
    bool outermost = !(call->event.kind & EVENT_NESTED);
    if (call_match(lanes, call) != 0)
        return -1;
    for (size_t i = 0; i < call->part_count; i++)
        if (part_match(lanes, &call->parts[i]) != 0)
            return -1;
    if (outermost && lane->nest.count == 0) { /* most of them: nothing was called from inside */
        location_call(&lane->location, call);
    } else {
        if (nest_push(&lane->nest, call) != 0)
            return report_no_memory(lanes->report);
        if (outermost || lane->nest.count == NEST_MAX)
            lane_write(lane);
    }
    if (lane->location.schedule.failed)
        return report_no_memory(lanes->report);
    if (lanes->process.error != OTF2_SUCCESS)
        return report_error(lanes->report, "an event of rank %d could not be written: %s", lanes->process.world_rank,
                            OTF2_Error_GetDescription(lanes->process.error));
    if (++lanes->steps % STEPS_BETWEEN_LOOKS == 0 && lanes_look(lanes) != 0)
        return -1;
    if (lane->location.plain && lane->nest.count == 0 && lane_run(lanes, lane, lane_bound(lanes, lane)) != 0)
        return -1;
    return lane_advance(lanes, lane);
}

static int lanes_open(struct lanes *lanes, OTF2_Archive *archive)
{
    const struct trace_process *process = &lanes->process;
    const struct trace_rank *rank = process->rank;
    uint32_t end = trace_rank_thread_end(rank);
    lanes->list = calloc(end, sizeof *lanes->list);
    if (!lanes->list)
        return report_no_memory(lanes->report);
    for (uint32_t thread = 0; thread < end; thread++) {
        if (!trace_rank_has_location(rank, thread))
            continue;
        struct lane *lane = &lanes->list[lanes->count++];
        lane->thread = thread;
        lane->location.process = &lanes->process;
        lane->location.writer = OTF2_Archive_GetEvtWriter(archive, trace_location(process->world_rank, thread));
        if (!lane->location.writer)
            return report_error(lanes->report, "no events can be written for thread %u of rank %d", thread,
                                process->world_rank);
        if (!rank->run || rank->left_out || thread >= rank->run->thread_count)
            continue;
        if (schedule_open(&lane->location.schedule, &process->job->instruments, rank->run, thread,
                          rank->written[thread], true) != 0)
            return report_no_memory(lanes->report);
        location_begin(&lane->location);
        call_stream_open(&lane->stream, rank->run, thread, rank->written[thread], true);
        if (lane_advance(lanes, lane) != 0)
            return -1;
    }
    return 0;
}

static uint64_t lane_unknown(const struct lane *lane)
{
    const struct schedule *schedule = &lane->location.schedule;
    return lane->stream.unknown + (schedule->nobodys ? lane->stream.between : schedule->unknown);
}

static void losses_count(const struct lanes *lanes)
{
    const struct trace_process *process = &lanes->process;
    uint64_t *losses = process->job->ranks[process->world_rank].losses;
    for (size_t i = 0; i < lanes->count; i++) {
        losses[TRACE_LOSS_MISSING] += lanes->list[i].stream.cursor.missing;
        losses[TRACE_LOSS_ORPHANS] += lanes->list[i].stream.orphans;
        losses[TRACE_LOSS_UNKNOWN] += lane_unknown(&lanes->list[i]);
    }
    losses[TRACE_LOSS_COMM] = process->unknown_comm;
    losses[TRACE_LOSS_ABSENT_COMM] = process->absent_comm;
    losses[TRACE_LOSS_PEER] = process->bad_peer;
    losses[TRACE_LOSS_OBJECT] = process->states.unknown;
    losses[TRACE_LOSS_LEFT_OUT] = process->left_out;
    losses[TRACE_LOSS_FOREIGN_SENT] = process->foreign_sent;
    losses[TRACE_LOSS_FOREIGN_RECEIVED] = process->foreign_received;
    losses[TRACE_LOSS_UNMATCHED] = process->unmatched;
}

/* Closes the writers, which writes the rest of their buffers. After a failure it does not close them (otf2.c has the
 * reason). */
static int lanes_close(struct lanes *lanes, OTF2_Archive *archive, bool failed)
{
    OTF2_ErrorCode error = OTF2_SUCCESS;
    for (size_t i = 0; i < lanes->count; i++) {
        struct lane *lane = &lanes->list[i];
        uint64_t events = 0;
        location_range(&lane->location);
        if (lane->location.writer && !failed) {
            OTF2_ErrorCode counted = OTF2_EvtWriter_GetNumberOfEvents(lane->location.writer, &events);
            OTF2_ErrorCode closed = OTF2_Archive_CloseEvtWriter(archive, lane->location.writer);
            error = error != OTF2_SUCCESS ? error : counted != OTF2_SUCCESS ? counted : closed;
            failed = error != OTF2_SUCCESS;
        }
        if (lanes->process.rank->event_count)
            lanes->process.rank->event_count[lane->thread] = events;
        call_stream_close(&lane->stream);
        nest_release(&lane->nest);
        free(lane->next.parts);
        schedule_release(&lane->location.schedule);
        location_release(&lane->location);
    }
    free(lanes->list);
    free(lanes->process.created);
    object_states_release(&lanes->process.states);
    trace_requests_release(&lanes->requests);
    if (error != OTF2_SUCCESS)
        return report_error(lanes->report, "the events of rank %d could not be written: %s", lanes->process.world_rank,
                            OTF2_Error_GetDescription(error));
    return 0;
}

static int lanes_write(struct lanes *lanes, OTF2_StringRef program)
{
    bool complete = lanes->process.rank->complete; /* readers compare a complete process with its partners */
    if (complete)
        location_program_begin(&lanes->list[0].location, program);
    for (struct lane *lane; (lane = lane_first_returned(lanes));)
        if (lane_step(lanes, lane) != 0)
            return -1;
    for (size_t i = 0; i < lanes->count; i++) {
        struct lane *lane = &lanes->list[i];
        lane_write(lane);
        if (lane->gap || lane->missing != lane->stream.cursor.missing)
            lane_gap(lanes, lane, UINT64_MAX);
    }
    for (size_t i = 0; i < lanes->count; i++) {
        location_end(&lanes->list[i].location);
        if (lanes->list[i].location.schedule.failed)
            return report_no_memory(lanes->report);
    }
    if (complete)
        location_program_end(&lanes->list[0].location);
    if (lanes->process.error != OTF2_SUCCESS)
        return report_error(lanes->report, "the events of rank %d could not be written: %s", lanes->process.world_rank,
                            OTF2_Error_GetDescription(lanes->process.error));
    losses_count(lanes);
    return 0;
}

int trace_process_write(struct trace_job *job, struct trace_comms *comms, struct trace_objects *objects,
                        int32_t world_rank, OTF2_Archive *archive, OTF2_StringRef program, struct trace_watch *watch,
                        struct otf2_report *report)
{
    const struct trace_rank *rank = &job->ranks[world_rank];
    struct object_set set = {.names = &objects->names};
    struct lanes lanes = {
        .process = {.job = job,
                    .comms = comms,
                    .objects = &set,
                    .rank = rank,
                    .world_rank = world_rank,
                    .path_places = job->archive->callpaths ? job->archive->callpaths->places[world_rank] : NULL,
                    .clock = rank->run ? timeline_map(&job->line, rank->run) : NULL,
                    .error = OTF2_SUCCESS},
        .watch = watch,
        .report = report};
    if (rank->run)
        process_stamps_find(&lanes.process);
    lanes.process.created = calloc((rank->run ? rank->run->comm_count : 0) + 1, sizeof(bool));
    int result = lanes.process.created ? lanes_open(&lanes, archive) : report_no_memory(report);
    result = result ?: lanes_write(&lanes, program) ?: lanes_look(&lanes);
    if (lanes_close(&lanes, archive, result != 0) != 0)
        result = -1;
    if (result == 0 && trace_numbers_keep(objects, world_rank, &set) != 0)
        result = report_no_memory(report);
    object_set_release(&set);
    return result;
}
