#include "analysis/matching.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* Pointers, first in first out, with access to each of them. */
struct queue {
    void **items;
    size_t first, count, capacity;
};

struct channel {
    struct keyed keyed;
    struct queue sends, receives; /* with references */
};

/*
 * An opening is a set of wildcard receives of one process on one communicator with the same wildcards: any source, any
 * tag, or both. At most three openings contest a channel. Each of them contests the receives that are younger than its
 * oldest open receive. An undecided receive waits at one opening until no older receive is open there. It comes to each
 * opening once, no matter which receives leave before.
 */
struct opening {
    struct keyed keyed;
    struct receive *oldest, *youngest; /* the open ones, in the order of their posts, with references */
    struct queue undecided; /* done, in their channels, and younger than the oldest. A heap from items[0] on */
};

/* Makes room for one more at that end. An array that is half full is enlarged, so that there is much room after each
 * move. */
static int queue_room(struct queue *queue, bool in_front)
{
    if (in_front ? queue->first > 0 : queue->first + queue->count < queue->capacity)
        return 0;
    size_t capacity = queue->capacity ? queue->capacity : 2;
    if (queue->count >= capacity / 2)
        capacity *= 2;
    void **items = capacity > queue->capacity ? realloc(queue->items, capacity * sizeof(void *)) : queue->items;
    if (!items)
        return -1;
    size_t first = in_front ? (capacity - queue->count) / 2 : 0;
    memmove(items + first, items + queue->first, queue->count * sizeof(void *));
    *queue = (struct queue){items, first, queue->count, capacity};
    return 0;
}

/* Moves the shorter side. An insert at the front therefore costs as little as an insert at the end. */
static int queue_insert(struct queue *queue, size_t place, void *item)
{
    bool in_front = place < queue->count / 2;
    if (queue_room(queue, in_front) != 0)
        return -1;
    void **at = queue->items + queue->first + place;
    if (in_front) {
        memmove(at - place - 1, at - place, place * sizeof(void *));
        queue->first--;
        at--;
    } else
        memmove(at + 1, at, (queue->count - place) * sizeof(void *));
    *at = item;
    queue->count++;
    return 0;
}

static void *queue_at(const struct queue *queue, size_t place)
{
    return queue->items[queue->first + place];
}

static void queue_remove(struct queue *queue, size_t place)
{
    void **at = queue->items + queue->first + place;
    if (place < queue->count / 2 || place == 0) {
        memmove(at - place + 1, at - place, place * sizeof(void *));
        queue->first++;
    } else
        memmove(at, at + 1, (queue->count - place - 1) * sizeof(void *));
    if (--queue->count == 0)
        queue->first = 0;
}

/* For queues of receives. */
static uint64_t order_at(const struct queue *queue, size_t place)
{
    return ((const struct receive *)queue_at(queue, place))->order;
}

/* For receives in the order of their posts: returns how many were posted before this one. */
static size_t queue_find(const struct queue *queue, const struct receive *receive)
{
    return ARRAY_FIRST(i, 0, queue->count, order_at(queue, i) >= receive->order);
}

static void moment_forget(struct matching *matching, struct moment *moment)
{
    path_drop(matching->paths, moment->path);
    moment->path = NULL;
}

void message_drop(struct matching *matching, struct message *message)
{
    if (!message || --message->references)
        return;
    moment_forget(matching, &message->begun);
    moment_forget(matching, &message->posted);
    free(message);
}

void receive_drop(struct matching *matching, struct receive *receive)
{
    if (!receive || --receive->references)
        return;
    moment_forget(matching, &receive->posted);
    moment_forget(matching, &receive->begun);
    free(receive);
}

enum { RANK_BITS = (1 << 21) - 1 };

struct channel_key {
    uint64_t first, second;
};

static struct channel_key key_of(const struct envelope *envelope)
{
    uint64_t stretch = envelope->stretch < STRETCHES_MOST ? envelope->stretch : STRETCHES_MOST;
    return (struct channel_key){(uint64_t)envelope->comm << 32 | (uint32_t)envelope->tag,
                                (uint64_t)envelope->partitioned << 63 | /* ranks are below 2^20 (WORLD_SIZE_MAX) */
                                    (uint64_t)((uint32_t)envelope->source & RANK_BITS) << 42 |
                                    (uint64_t)((uint32_t)envelope->dest & RANK_BITS) << 21 | stretch};
}

/* Receives that ask for anything contest messages of all stretches. */
static struct channel_key opening_key(struct envelope envelope)
{
    envelope.stretch = 0;
    return key_of(&envelope);
}

void matching_doubt(struct matching *matching, const struct envelope *envelope)
{
    struct channel_key key = key_of(envelope);
    if (matching->doubts && !keytable_make(matching->doubts, key.first, key.second, sizeof(struct keyed)))
        matching->no_memory = true;
}

bool matching_doubts(const struct keytable *doubts, const struct envelope *envelope)
{
    struct channel_key key = key_of(envelope);
    return keytable_find(doubts, key.first, key.second) != NULL;
}

static struct channel *channel_of(struct matching *matching, const struct envelope *envelope)
{
    struct channel_key key = key_of(envelope);
    struct channel *channel = keytable_make(&matching->channels, key.first, key.second, sizeof *channel);
    matching->no_memory |= channel == NULL;
    return channel;
}

/* Returns an opening with receives that were posted before `order` and may get a message of this channel first, or NULL
 * if there is none. */
static struct opening *contest_of(const struct matching *matching, const struct envelope *envelope, uint64_t order)
{
    const struct envelope asked[] = {
        {envelope->comm, FROM_ANY, envelope->dest, envelope->tag, envelope->partitioned, 0},
        {envelope->comm, envelope->source, envelope->dest, OF_ANY_TAG, envelope->partitioned, 0},
        {envelope->comm, FROM_ANY, envelope->dest, OF_ANY_TAG, envelope->partitioned, 0},
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct channel_key key = opening_key(asked[i]);
        struct opening *opening = keytable_find(&matching->openings, key.first, key.second);
        if (opening && opening->oldest->order < order)
            return opening;
    }
    return NULL;
}

static bool is_contested(const struct matching *matching, const struct envelope *envelope, uint64_t order)
{
    return contest_of(matching, envelope, order) != NULL;
}

static void message_match(struct matching *matching, struct message *message, struct receive *receive)
{
    message->received = receive->matched = true;
    message->posted = receive->posted;
    path_hold(message->posted.path);
    receive->begun = message->begun;
    receive->goes_on = message->goes_on;
    path_hold(receive->begun.path);
    if (receive->late && matching->late)
        matching->late(matching->late_data, receive);
    if (matching->pair)
        matching->pair(matching->pair_data, message, receive);
    matching->matched++;
    matching->unseen += receive->done_ns == UINT64_MAX;
    bool uneven = receive->bytes != UINT64_MAX && receive->bytes != message->bytes;
    matching->uneven += uneven;
    if (uneven || receive->done_ns < message->begun.ns)
        matching_doubt(matching, &message->envelope);
    if (receive->done_ns < message->begun.ns) {
        uint64_t ns = message->begun.ns - receive->done_ns;
        matching->early++;
        if (ns > matching->early_most_ns)
            matching->early_most_ns = ns;
    }
}

static void channel_free(struct keyed *keyed)
{
    struct channel *channel = (struct channel *)keyed;
    free(channel->sends.items);
    free(channel->receives.items);
    free(channel);
}

/* Releases the settled entries at the front. Frees the channel if it is empty. */
static void channel_trim(struct matching *matching, struct channel *channel)
{
    while (channel->sends.count && channel->receives.count) {
        struct receive *receive = queue_at(&channel->receives, 0);
        if (!receive->matched)
            break;
        queue_remove(&channel->receives, 0);
        struct message *message = queue_at(&channel->sends, 0);
        queue_remove(&channel->sends, 0);
        receive->channel = NULL;
        message_drop(matching, message);
        receive_drop(matching, receive);
    }
    if (channel->sends.count == 0 && channel->receives.count == 0) {
        keytable_take(&matching->channels, &channel->keyed);
        channel_free(&channel->keyed);
    }
}

/* Decides on a completed receive if that is possible now. Otherwise returns the opening that contests its message. */
static struct opening *receive_settle(struct matching *matching, struct receive *receive)
{
    struct channel *channel = receive->channel;
    if (!channel || receive->matched || receive->state != RECEIVE_DONE)
        return NULL;
    struct opening *contest = contest_of(matching, &receive->envelope, receive->order);
    if (contest)
        return contest;
    size_t place = queue_find(&channel->receives, receive);
    if (place < channel->sends.count)
        message_match(matching, queue_at(&channel->sends, place), receive);
    channel_trim(matching, channel);
    return NULL;
}

struct message *matching_send(struct matching *matching, struct envelope envelope, uint64_t bytes, struct moment begun)
{
    struct channel *channel = channel_of(matching, &envelope);
    struct message *message = calloc(1, sizeof *message);
    if (!channel || !message || queue_insert(&channel->sends, channel->sends.count, message) != 0) {
        matching->no_memory = true;
        path_drop(matching->paths, begun.path);
        free(message);
        return NULL;
    }
    *message = (struct message){
        .envelope = envelope, .number = ++matching->sent, .bytes = bytes, .begun = begun, .references = 2};
    size_t place = channel->sends.count - 1;
    if (place < channel->receives.count)
        receive_settle(matching, queue_at(&channel->receives, place));
    return message;
}

/* Adds the receive to its channel, after the receives that were posted before. */
static void channel_join(struct matching *matching, struct receive *receive)
{
    struct channel *channel = channel_of(matching, &receive->envelope);
    if (!channel)
        return;
    size_t place = channel->receives.count;
    if (place && order_at(&channel->receives, place - 1) > receive->order)
        place = queue_find(&channel->receives, receive);
    if (queue_insert(&channel->receives, place, receive) != 0) {
        matching->no_memory = true;
        return;
    }
    receive->references++;
    receive->channel = channel;
}

/* ---- receives that ask for anything ------------------------------------------------------------------------------ */

static void opening_join(struct matching *matching, struct receive *receive)
{
    struct channel_key key = opening_key(receive->envelope);
    struct opening *opening = keytable_make(&matching->openings, key.first, key.second, sizeof *opening);
    if (!opening) {
        matching->no_memory = true;
        return;
    }
    receive->opening = opening;
    receive->older = opening->youngest;
    *(receive->older ? &receive->older->younger : &opening->oldest) = receive;
    opening->youngest = receive;
    receive->references++;
}

/* Removes a wildcard receive from its opening. If it was the oldest there, returns the opening, because undecided
 * receives may wait for it. Otherwise returns NULL. */
static struct opening *opening_leave(struct matching *matching, struct receive *receive)
{
    struct opening *opening = receive->opening;
    if (!opening)
        return NULL;
    bool oldest = opening->oldest == receive;
    *(oldest ? &opening->oldest : &receive->older->younger) = receive->younger;
    *(receive->younger ? &receive->younger->older : &opening->youngest) = receive->older;
    receive->opening = NULL;
    receive->older = receive->younger = NULL;
    receive->references--; /* the caller has another one */
    if (!opening->oldest)
        keytable_take(&matching->openings, &opening->keyed);
    return oldest ? opening : NULL;
}

static void undecided_put(struct matching *matching, struct opening *opening, struct receive *receive)
{
    struct queue *heap = &opening->undecided;
    if (queue_insert(heap, heap->count, receive) != 0) {
        matching->no_memory = true;
        return;
    }
    receive->references++;
    size_t at = heap->count - 1;
    for (; at && order_at(heap, (at - 1) / 2) > receive->order; at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = receive;
}

/* Moves the oldest to the end of the array, after the rest of the heap. */
static void undecided_take(struct queue *heap)
{
    struct receive *oldest = heap->items[0], *last = heap->items[--heap->count];
    size_t at = 0;
    for (size_t below = 1; below < heap->count; below = 2 * at + 1) {
        below += below + 1 < heap->count && order_at(heap, below + 1) < order_at(heap, below);
        if (order_at(heap, below) > last->order)
            break;
        heap->items[at] = heap->items[below];
        at = below;
    }
    heap->items[at] = last;
    heap->items[heap->count] = oldest;
}

static int compare_done(const void *left, const void *right)
{
    const struct receive *a = *(struct receive *const *)left, *b = *(struct receive *const *)right;
    return ORDER(a->done_order, b->done_order);
}

/* The oldest receive of an opening has left. Settles the receives that waited for it, in the order of their
 * completion. */
static void undecided_settle(struct matching *matching, struct opening *opening)
{
    struct queue *heap = &opening->undecided;
    size_t all = heap->count;
    while (heap->count && (!opening->oldest || order_at(heap, 0) < opening->oldest->order))
        undecided_take(heap);
    if (heap->count < all)
        qsort(heap->items + heap->count, all - heap->count, sizeof(void *), compare_done);
    for (size_t i = heap->count; i < all; i++) {
        struct receive *receive = heap->items[i];
        matching->asked++;
        struct opening *contest = receive_settle(matching, receive);
        if (contest)
            undecided_put(matching, contest, receive);
        receive_drop(matching, receive);
    }
    if (!opening->oldest) {
        free(heap->items);
        free(opening);
    }
}

struct receive *matching_post(struct matching *matching, struct envelope envelope, struct moment posted)
{
    struct receive *receive = calloc(1, sizeof *receive);
    if (!receive) {
        matching->no_memory = true;
        path_drop(matching->paths, posted.path);
        return NULL;
    }
    *receive = (struct receive){
        .envelope = envelope, .posted = posted, .order = matching->posted++, .state = RECEIVE_OPEN, .references = 1};
    if (envelope.source != FROM_ANY && envelope.tag != OF_ANY_TAG)
        channel_join(matching, receive);
    else
        opening_join(matching, receive);
    return receive;
}

void matching_done(struct matching *matching, struct receive *receive, int32_t source, int32_t tag, uint64_t bytes,
                   uint64_t ns)
{
    struct opening *left = NULL;
    receive->state = RECEIVE_DONE;
    receive->done_ns = ns;
    receive->done_order = matching->done++;
    receive->bytes = bytes;
    if (!receive->channel) {
        receive->envelope.source = source;
        receive->envelope.tag = tag;
        channel_join(matching, receive);
        left = opening_leave(matching, receive);
    }
    struct opening *contest = receive_settle(matching, receive);
    if (contest)
        undecided_put(matching, contest, receive);
    if (left)
        undecided_settle(matching, left);
}

void matching_gone(struct matching *matching, struct receive *receive, bool cancelled)
{
    struct channel *channel = receive->channel;
    if (!cancelled && channel) {
        matching_done(matching, receive, receive->envelope.source, receive->envelope.tag, UINT64_MAX, UINT64_MAX);
        return;
    }
    receive->state = RECEIVE_GONE;
    if (!channel) {
        struct opening *left = opening_leave(matching, receive);
        if (left)
            undecided_settle(matching, left);
    } else {
        queue_remove(&channel->receives, queue_find(&channel->receives, receive));
        receive->channel = NULL;
        for (size_t i = 0; i < channel->receives.count && i < channel->sends.count; i++) {
            struct receive *behind = queue_at(&channel->receives, i);
            if (behind->state == RECEIVE_DONE && !behind->matched &&
                !is_contested(matching, &behind->envelope, behind->order))
                message_match(matching, queue_at(&channel->sends, i), behind);
        }
        receive_drop(matching, receive);
        channel_trim(matching, channel);
    }
}

const struct moment *matching_posted(const struct matching *matching, const struct message *message)
{
    if (message->received)
        return &message->posted;
    struct channel_key key = key_of(&message->envelope);
    const struct channel *channel = keytable_find(&matching->channels, key.first, key.second);
    size_t place = channel ? channel->sends.count : 0;
    while (place && queue_at(&channel->sends, place - 1) != message)
        place--;
    if (place == 0 || place > channel->receives.count)
        return NULL;
    const struct receive *receive = queue_at(&channel->receives, place - 1);
    return is_contested(matching, &message->envelope, receive->order) ? NULL : &receive->posted;
}

const struct message *matching_next(const struct matching *matching, const struct envelope *envelope)
{
    struct channel_key key = key_of(envelope);
    const struct channel *channel = keytable_find(&matching->channels, key.first, key.second);
    if (!channel || channel->sends.count <= channel->receives.count ||
        is_contested(matching, envelope, matching->posted))
        return NULL;
    return queue_at(&channel->sends, channel->receives.count);
}

void matching_rest(const struct matching *matching, void *data,
                   void (*tell)(void *data, const struct message *message, const struct receive *receive))
{
    for (size_t i = 0; i < matching->channels.capacity; i++)
        for (struct keyed *keyed = matching->channels.buckets[i]; keyed; keyed = keyed->next) {
            const struct channel *channel = (const struct channel *)keyed;
            for (size_t k = 0; k < channel->sends.count; k++) {
                const struct message *message = queue_at(&channel->sends, k);
                if (!message->received)
                    tell(data, message, NULL);
            }
            for (size_t k = 0; k < channel->receives.count; k++) {
                const struct receive *receive = queue_at(&channel->receives, k);
                if (!receive->matched)
                    tell(data, NULL, receive);
            }
        }
    for (size_t i = 0; i < matching->openings.capacity; i++)
        for (struct keyed *keyed = matching->openings.buckets[i]; keyed; keyed = keyed->next) {
            const struct opening *opening = (const struct opening *)keyed;
            for (const struct receive *receive = opening->oldest; receive; receive = receive->younger)
                tell(data, NULL, receive);
        }
}

void matching_release(struct matching *matching)
{
    for (size_t i = 0; i < matching->channels.capacity; i++)
        for (struct keyed *keyed = matching->channels.buckets[i]; keyed; keyed = keyed->next) {
            struct channel *channel = (struct channel *)keyed;
            for (size_t k = 0; k < channel->sends.count; k++)
                message_drop(matching, queue_at(&channel->sends, k));
            for (size_t k = 0; k < channel->receives.count; k++)
                receive_drop(matching, queue_at(&channel->receives, k));
        }
    for (size_t i = 0; i < matching->openings.capacity; i++)
        for (struct keyed *keyed = matching->openings.buckets[i]; keyed; keyed = keyed->next) {
            struct opening *opening = (struct opening *)keyed;
            for (struct receive *receive = opening->oldest, *younger; receive; receive = younger) {
                younger = receive->younger;
                receive_drop(matching, receive);
            }
            for (size_t k = 0; k < opening->undecided.count; k++)
                receive_drop(matching, queue_at(&opening->undecided, k));
            free(opening->undecided.items);
        }
    keytable_release(&matching->openings, NULL);
    keytable_release(&matching->channels, channel_free);
}
