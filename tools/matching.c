#include "matching.h"

#include <stdlib.h>
#include <string.h>

/* Pointers, first in first out, with access to each. */
struct queue {
    void **items;
    size_t first, count, capacity;
};

struct channel {
    struct keyed keyed;
    struct queue sends, receives; /* with references */
};

/* Receives of one process on one communicator that ask for anything; in the order of their posting. */
struct opening {
    struct keyed keyed;
    struct queue open;
    struct queue undecided; /* done, and in their channels */
};

static int queue_insert(struct queue *queue, size_t place, void *item)
{
    if (queue->first && queue->first + queue->count == queue->capacity) {
        memmove(queue->items, queue->items + queue->first, queue->count * sizeof(void *));
        queue->first = 0;
    }
    if (queue->count == queue->capacity) {
        size_t capacity = queue->capacity ? queue->capacity * 2 : 4;
        void **items = realloc(queue->items, capacity * sizeof(void *));
        if (!items)
            return -1;
        queue->items = items;
        queue->capacity = capacity;
    }
    void **at = queue->items + queue->first + place;
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
    if (place == 0)
        queue->first++;
    else
        memmove(at, at + 1, (queue->count - place - 1) * sizeof(void *));
    if (--queue->count == 0)
        queue->first = 0;
}

/* Of receives in the order of their posting; queue->count: it is not there. */
static size_t queue_find(const struct queue *queue, const struct receive *receive)
{
    size_t low = 0, high = queue->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (((const struct receive *)queue_at(queue, middle))->order < receive->order)
            low = middle + 1;
        else
            high = middle;
    }
    return low < queue->count && queue_at(queue, low) == receive ? low : queue->count;
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

struct channel_key {
    uint64_t first, second;
};

static struct channel_key key_of(const struct envelope *envelope)
{
    return (struct channel_key){(uint64_t)envelope->comm << 32 | (uint32_t)envelope->tag,
                                (uint64_t)envelope->partitioned << 63 | /* ranks are below that */
                                    (uint64_t)(uint32_t)envelope->source << 32 | (uint32_t)envelope->dest};
}

static struct channel *channel_of(struct matching *matching, const struct envelope *envelope)
{
    struct channel_key key = key_of(envelope);
    struct channel *channel = keytable_make(&matching->channels, key.first, key.second, sizeof *channel);
    matching->no_memory |= channel == NULL;
    return channel;
}

static uint64_t opening_key(const struct envelope *envelope)
{
    return (uint64_t)(uint32_t)envelope->dest << 1 | envelope->partitioned;
}

static struct opening *opening_of(const struct matching *matching, const struct envelope *envelope)
{
    return keytable_find(&matching->openings, envelope->comm, opening_key(envelope));
}

static bool asks_for(const struct receive *receive, const struct envelope *envelope)
{
    const struct envelope *asked = &receive->envelope;
    return (asked->source == FROM_ANY || asked->source == envelope->source) &&
           (asked->tag == OF_ANY_TAG || asked->tag == envelope->tag);
}

/* The oldest open receive, posted before `order`, that may get a message of this channel first; NULL: there is none. */
static struct receive *contender_of(const struct matching *matching, const struct envelope *envelope, uint64_t order)
{
    const struct opening *opening = opening_of(matching, envelope);
    for (size_t i = 0; opening && i < opening->open.count; i++) {
        struct receive *receive = queue_at(&opening->open, i);
        if (receive->order >= order)
            return NULL;
        if (asks_for(receive, envelope))
            return receive;
    }
    return NULL;
}

static bool is_contested(const struct matching *matching, const struct envelope *envelope, uint64_t order)
{
    return contender_of(matching, envelope, order) != NULL;
}

static void pair(struct matching *matching, struct message *message, struct receive *receive)
{
    message->received = receive->matched = true;
    message->posted = receive->posted;
    path_hold(message->posted.path);
    receive->begun = message->begun;
    path_hold(receive->begun.path);
    if (receive->late && matching->late)
        matching->late(matching->late_data, receive);
    matching->matched++;
    matching->unseen += receive->done_ns == UINT64_MAX;
    matching->uneven += receive->bytes != UINT64_MAX && receive->bytes != message->bytes;
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

/* Lets go of what is settled in front; a channel that is empty goes. */
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

/* Decides on a receive that is done, if that can be done now. */
static void receive_settle(struct matching *matching, struct receive *receive)
{
    struct channel *channel = receive->channel;
    if (!channel || receive->matched || receive->state != RECEIVE_DONE)
        return;
    if (is_contested(matching, &receive->envelope, receive->order))
        return;
    size_t place = queue_find(&channel->receives, receive);
    if (place < channel->sends.count)
        pair(matching, queue_at(&channel->sends, place), receive);
    channel_trim(matching, channel);
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
    *message = (struct message){.envelope = envelope, .bytes = bytes, .begun = begun, .references = 2};
    size_t place = channel->sends.count - 1;
    if (place < channel->receives.count)
        receive_settle(matching, queue_at(&channel->receives, place));
    return message;
}

/* Into its channel, behind those that were posted before. */
static void channel_join(struct matching *matching, struct receive *receive)
{
    struct channel *channel = channel_of(matching, &receive->envelope);
    if (!channel)
        return;
    size_t place = channel->receives.count;
    while (place && ((struct receive *)queue_at(&channel->receives, place - 1))->order > receive->order)
        place--;
    if (queue_insert(&channel->receives, place, receive) != 0) {
        matching->no_memory = true;
        return;
    }
    receive->references++;
    receive->channel = channel;
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
    if (envelope.source != FROM_ANY && envelope.tag != OF_ANY_TAG) {
        channel_join(matching, receive);
        return receive;
    }
    struct opening *opening =
        keytable_make(&matching->openings, envelope.comm, opening_key(&envelope), sizeof *opening);
    if (!opening || queue_insert(&opening->open, opening->open.count, receive) != 0)
        matching->no_memory = true;
    else
        receive->references++;
    return receive;
}

/* One that is undecided waits for the oldest that contests it, and is not asked about before that one leaves. */
static void contender_wait(struct receive *receive, struct receive *contender)
{
    receive->contender = contender->order;
    contender->waiting++;
}

/* One that asked for anything is open no more. True: those that wait for it may be decided now. */
static bool opening_leave(struct opening *opening, struct receive *receive)
{
    size_t place = opening ? queue_find(&opening->open, receive) : 0;
    if (!opening || place == opening->open.count)
        return false;
    queue_remove(&opening->open, place);
    receive->references--; /* the caller has another one */
    return receive->waiting != 0;
}

static void undecided_settle(struct matching *matching, struct opening *opening, uint64_t left)
{
    for (size_t i = 0; opening && i < opening->undecided.count;) {
        struct receive *receive = queue_at(&opening->undecided, i);
        matching->asked++;
        if (receive->contender != left) {
            i++;
            continue;
        }
        receive_settle(matching, receive);
        struct receive *contender = contender_of(matching, &receive->envelope, receive->order);
        if (contender) {
            contender_wait(receive, contender);
            i++;
            continue;
        }
        queue_remove(&opening->undecided, i);
        receive_drop(matching, receive);
    }
}

void matching_done(struct matching *matching, struct receive *receive, int32_t source, int32_t tag, uint64_t bytes,
                   uint64_t ns)
{
    struct opening *opening = opening_of(matching, &receive->envelope);
    uint64_t order = receive->order;
    bool decides = false;
    receive->state = RECEIVE_DONE;
    receive->done_ns = ns;
    receive->bytes = bytes;
    if (!receive->channel) {
        receive->envelope.source = source;
        receive->envelope.tag = tag;
        channel_join(matching, receive);
        decides = opening_leave(opening, receive);
    }
    receive_settle(matching, receive);
    struct receive *contender =
        opening && !receive->matched ? contender_of(matching, &receive->envelope, receive->order) : NULL;
    if (contender && queue_insert(&opening->undecided, opening->undecided.count, receive) == 0) {
        contender_wait(receive, contender);
        receive->references++;
    } else if (contender)
        matching->no_memory = true;
    if (decides)
        undecided_settle(matching, opening, order);
}

void matching_gone(struct matching *matching, struct receive *receive, bool cancelled)
{
    struct channel *channel = receive->channel;
    struct opening *opening = opening_of(matching, &receive->envelope);
    if (!cancelled && channel) {
        matching_done(matching, receive, receive->envelope.source, receive->envelope.tag, UINT64_MAX, UINT64_MAX);
        return;
    }
    uint64_t order = receive->order;
    receive->state = RECEIVE_GONE;
    if (!channel) {
        if (opening_leave(opening, receive))
            undecided_settle(matching, opening, order);
    } else {
        queue_remove(&channel->receives, queue_find(&channel->receives, receive));
        receive->channel = NULL;
        for (size_t i = 0; i < channel->receives.count && i < channel->sends.count; i++) {
            struct receive *behind = queue_at(&channel->receives, i);
            if (behind->state == RECEIVE_DONE && !behind->matched &&
                !is_contested(matching, &behind->envelope, behind->order))
                pair(matching, queue_at(&channel->sends, i), behind);
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
            for (size_t k = 0; k < opening->open.count; k++)
                tell(data, NULL, queue_at(&opening->open, k));
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
            for (size_t k = 0; k < opening->open.count; k++)
                receive_drop(matching, queue_at(&opening->open, k));
            for (size_t k = 0; k < opening->undecided.count; k++)
                receive_drop(matching, queue_at(&opening->undecided, k));
            free(opening->open.items);
            free(opening->undecided.items);
        }
    keytable_release(&matching->openings, NULL);
    keytable_release(&matching->channels, channel_free);
}
