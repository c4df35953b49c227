/*
 * The last part of a long run, of a brief trace. Its threads begin at different times, so that the first message or
 * collective there is not the first of its partner. But all end together: the last of one belongs to the last of the other.
 *
 *   rank 0   ... lost ...   7 8 9 end          the part begins where all have come,
 *   rank 1   ... lost ... 6 7 8 9 end          and the number of a call is known from the end
 *
 * A first reading counts. The second one begins to count so that the ends agree, and leaves out messages and receives
 * whose partners are lost.
 */
#include "analysis/analysis_lanes.h"

struct last_channel {
    struct keyed keyed; /* communicator and tag, sender and receiver */
    int64_t more;       /* messages than receives, */
    int64_t met;        /* and how many of them have come in this reading */
};

/* How many calls the processes have of one kind. */
struct last_count {
    struct keyed keyed; /* what, which process. MOST_OF_ALL: the most of one */
    uint64_t count;
    uint64_t least; /* MOST_OF_ALL: the least of one, */
    int32_t ranks;  /* and how many there are */
};

enum { MOST_OF_ALL = UINT32_MAX, LAST_STEPS_MOST = 2 << 20 };

uint64_t last_events(const struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct run_reader *run)
{
    struct event_cursor cursor;
    uint64_t first, end, begin = 0, behind = 0, most = LAST_STEPS_MOST / (lanes->capacity + 1);
    event_ranges_open(&cursor, run, lane->thread);
    while (event_ranges_next(&cursor, &first, &end)) {
        begin = first == behind ? begin : first;
        behind = end;
    }
    lane->process->torn |= behind != cursor.end;
    event_cursor_close(&cursor);
    return behind - begin < most ? behind - begin : most;
}

static struct last_channel *last_channel_of(struct analysis *analysis, const struct envelope *envelope)
{
    uint64_t ends =
        (uint64_t)envelope->partitioned << 63 | (uint64_t)(uint32_t)envelope->source << 32 | (uint32_t)envelope->dest;
    struct last_channel *channel = keytable_make(
        &analysis->last->channels, (uint64_t)envelope->comm << 32 | (uint32_t)envelope->tag, ends, sizeof *channel);
    analysis->no_memory |= !channel;
    return channel;
}

void last_count(struct analysis *analysis, const struct envelope *envelope, int more)
{
    struct last_channel *channel =
        analysis->last && analysis->last->counting ? last_channel_of(analysis, envelope) : NULL;
    if (channel)
        channel->more += more;
}

bool last_has_no_partner(struct analysis *analysis, const struct envelope *envelope, int more)
{
    if (!analysis->last || analysis->last->counting || envelope->source == FROM_ANY || envelope->tag == OF_ANY_TAG)
        return false;
    struct last_channel *channel = last_channel_of(analysis, envelope);
    if (!channel || (channel->more - channel->met) * more <= 0)
        return false;
    channel->met += more;
    return true;
}

static void count_add(struct analysis *analysis, struct keytable *table, uint64_t what, uint32_t rank, uint64_t count)
{
    struct last_count *own = keytable_make(table, what, rank, sizeof *own);
    struct last_count *most = keytable_make(table, what, MOST_OF_ALL, sizeof *most);
    if (!own || !most) {
        analysis->no_memory = true;
        return;
    }
    own->count += count;
    most->count = own->count > most->count ? own->count : most->count;
    most->least = most->ranks++ && most->least < own->count ? most->least : own->count;
}

/* The number of the process's first call there: the last ones of all have one number, and the process with the most of them
 * begins at 0. */
static uint64_t count_before(const struct keytable *table, uint64_t what, uint32_t rank)
{
    const struct last_count *own = keytable_find(table, what, rank), *most = keytable_find(table, what, MOST_OF_ALL);
    return !most ? 0 : most->count - (own ? own->count : 0);
}

/* The three numbers of a process that count calls on a communicator. */
static uint64_t *numbers_of(const struct analysis_process *process, int i)
{
    return i == LAST_OPERATIONS ? process->operations : i == LAST_CREATIONS ? process->creations : process->joints;
}

static void process_count(struct analysis *analysis, const struct analysis_process *process)
{
    for (uint32_t number = 0; number < process->comm_count; number++) {
        uint32_t comm = trace_comm_find(&analysis->comms, &analysis->job, process->world_rank, number);
        for (int i = 0; i < LAST_CALLS && comm != NO_COMM; i++)
            count_add(analysis, &analysis->last->calls, (uint64_t)comm << 2 | (uint64_t)i,
                      (uint32_t)process->world_rank, numbers_of(process, i)[number]);
    }
}

void last_calls_count(struct analysis *analysis, const struct analysis_lanes *lanes)
{
    for (int32_t r = 0; r < analysis->job.size; r++)
        process_count(analysis, &lanes->processes[r]);
}

bool last_lacks_members(const struct analysis *analysis, uint32_t comm, enum last_calls which, uint64_t number)
{
    if (!analysis->last || analysis->last->counting)
        return false;
    const struct last_count *most = keytable_find(&analysis->last->calls, (uint64_t)comm << 2 | which, MOST_OF_ALL);
    const struct trace_comm *found = &analysis->comms.list[comm];
    bool all = most && most->ranks >= found->size + found->remote_size;
    return number < (most ? most->count : 0) - (all ? most->least : 0);
}

void last_visit_count(struct analysis *analysis, uint32_t from, uint32_t to, int32_t rank)
{
    if (analysis->last && analysis->last->counting)
        count_add(analysis, &analysis->last->visits, (uint64_t)from << 32 | to, (uint32_t)rank, 1);
}

void last_reading_begin(const struct analysis *analysis)
{
    const struct keytable *channels = &analysis->last->channels;
    for (size_t i = 0; i < channels->capacity; i++)
        for (struct keyed *keyed = channels->buckets[i]; keyed; keyed = keyed->next)
            ((struct last_channel *)keyed)->met = 0;
}

void last_process_begin(const struct analysis *analysis, struct analysis_process *process)
{
    for (uint32_t number = 0; number < process->comm_count; number++) {
        uint32_t comm = trace_comm_find(&analysis->comms, &analysis->job, process->world_rank, number);
        for (int i = 0; i < LAST_CALLS && comm != NO_COMM; i++)
            numbers_of(process, i)[number] =
                count_before(&analysis->last->calls, (uint64_t)comm << 2 | (uint64_t)i, (uint32_t)process->world_rank);
    }
}

uint64_t last_visits_before(const struct analysis *analysis, uint32_t from, uint32_t to, int32_t rank)
{
    return analysis->last ? count_before(&analysis->last->visits, (uint64_t)from << 32 | to, (uint32_t)rank) : 0;
}

void last_part_release(struct last_part *last)
{
    keytable_release(&last->channels, NULL);
    keytable_release(&last->calls, NULL);
    keytable_release(&last->visits, NULL);
}
