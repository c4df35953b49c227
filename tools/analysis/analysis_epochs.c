/*
 * Epochs of MPI_Win_post, start, complete and wait: for which rank a call has waited.
 *
 *   target   post ─────────────────────────> wait
 *              │                              ^
 *   origin     └──> start ─ put ─ complete ───┘
 *
 * The k-th access epoch of an origin that has the target belongs to the target's k-th exposure epoch that has the origin.
 */
#include "analysis/analysis_lanes.h"
#include "base/array.h"

#include <stdlib.h>

enum {
    PAIRS_MOST = 1 << 18,
    PEERS_MOST = 1024,
    KEPT = 2
}; /* pairs in all windows, ranks of an epoch, epochs of a pair */

/* An origin and a target of a window. */
struct epoch_pair {
    struct keyed keyed; /* the window, origin << 32 | target */
    uint32_t posts, starts, completes, waits;
    struct arrival posted[KEPT], completed[KEPT]; /* the last ones, by the epoch's number */
};

/* The ranks of the epoch that a process has open on a window. */
struct epoch {
    struct keyed keyed; /* rank << 1 | it is exposed, its number of the window */
    bool known;
    int32_t *peers; /* in the world */
    size_t count, room;
};

/* What the call is about. */
struct epoch_call {
    uint64_t window;
    int32_t own;
    bool exposed; /* it is the target */
    struct place place;
    struct epoch *epoch;
};

static bool epoch_peer_add(struct epoch *epoch, int32_t peer)
{
    int32_t *peers = array_reserve(epoch->peers, &epoch->room, epoch->count, sizeof *peers);
    if (!peers)
        return false;
    epoch->peers = peers;
    peers[epoch->count++] = peer;
    return true;
}

/* Takes the ranks that the call names: all of the window, or one for each record. */
static void epoch_peers_take(struct analysis_lanes *lanes, const struct analysis_lane *lane,
                             const struct epoch_call *call)
{
    const struct place *place = &call->place;
    struct epoch *epoch = call->epoch;
    epoch->count = 0;
    epoch->known = false;
    for (size_t i = 0; i < lane->call.part_count && epoch->count <= PEERS_MOST; i++) {
        const struct event *part = &lane->call.parts[i].event;
        if (event_kind(part) != RECORD_ARGUMENT)
            continue;
        bool all = part->peer == PEER_ANY, one = part->peer >= 0 && part->peer < place->comm->size;
        epoch->known = true;
        for (int32_t peer = all ? 0 : part->peer; peer < place->comm->size && (all || one); peer++, one = false) {
            int32_t world = peer_world(lane->process, place, peer);
            lanes->analysis->no_memory |= world >= 0 && !epoch_peer_add(epoch, world);
        }
        if (all)
            break;
    }
    epoch->known &= epoch->count <= PEERS_MOST;
    epoch->count = epoch->known ? epoch->count : 0;
}

/* Returns false if the window, or the ranks of its epoch, are not known. */
static bool epoch_call_find(struct analysis_lanes *lanes, const struct analysis_lane *lane, bool exposed,
                            struct epoch_call *call)
{
    const struct event *event = &lane->call.event;
    if (!lock_window_find(lanes, lane, &call->window) || !event_place_find(lanes, lane->process, event, &call->place) ||
        !calls_are_counted(lanes, lane->process, &call->place))
        return false;
    call->own = lane->process->world_rank;
    call->exposed = exposed;
    call->epoch = keytable_make(&lanes->epochs, (uint64_t)call->own << 1 | exposed, lock_window_number(event),
                                sizeof *call->epoch);
    lanes->analysis->no_memory |= !call->epoch;
    return call->epoch != NULL;
}

/* NULL: there are too many. */
static struct epoch_pair *pair_with(struct analysis_lanes *lanes, const struct epoch_call *call, int32_t peer)
{
    uint64_t origin = (uint64_t)(uint32_t)(call->exposed ? peer : call->own);
    uint64_t both = origin << 32 | (uint32_t)(call->exposed ? call->own : peer);
    if (lanes->pairs.count >= PAIRS_MOST)
        return keytable_find(&lanes->pairs, call->window, both);
    struct epoch_pair *pair = keytable_make(&lanes->pairs, call->window, both, sizeof *pair);
    lanes->analysis->no_memory |= !pair;
    return pair;
}

static void arrival_keep(struct analysis_lanes *lanes, struct arrival *arrival, struct moment moment, int32_t rank)
{
    path_drop(&lanes->analysis->paths, arrival->moment.path);
    path_hold(moment.path);
    *arrival = (struct arrival){moment, rank};
}

void epochs_begin(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    unsigned kind = event_kind(&lane->call.event);
    bool posts = kind == CALL_MPI_Win_post, starts = kind == CALL_MPI_Win_start;
    struct epoch_call call;
    if ((!posts && !starts && kind != CALL_MPI_Win_complete) || !epoch_call_find(lanes, lane, posts, &call))
        return;
    if (posts || starts)
        epoch_peers_take(lanes, lane, &call);
    struct moment moment = posts ? lane_moment(lanes->analysis, lane) : send_moment(lanes, lane);
    for (size_t i = 0; i < call.epoch->count; i++) {
        struct epoch_pair *pair = pair_with(lanes, &call, call.epoch->peers[i]);
        if (!pair)
            continue;
        if (starts)
            pair->starts++;
        else if (posts)
            arrival_keep(lanes, &pair->posted[pair->posts++ % KEPT], moment, call.own);
        else
            arrival_keep(lanes, &pair->completed[pair->completes++ % KEPT], moment, call.own);
    }
    path_drop(&lanes->analysis->paths, moment.path);
}

/* An access epoch needs the exposure. MPI_Win_start need not wait for it: then the end of the epoch does. The library may
 * also let an origin run ahead, and keep what it puts. */
static void posted_offer(struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct epoch_pair *pair,
                         const struct epoch_call *call, struct blame *blame)
{
    bool starts = event_kind(&lane->call.event) == CALL_MPI_Win_start;
    const struct arrival *posted = &pair->posted[(pair->starts - 1) % KEPT];
    if (!pair->starts || pair->posts < pair->starts ||
        (starts && (posted->moment.ns < lane->begin_ns || posted->moment.ns > lane->end_ns)))
        return;
    if (pair->posts - pair->starts >= KEPT) {
        need_unknown(lanes);
        return;
    }
    need_posted(lanes, &posted->moment);
    blame_offer(blame, WAIT_LATE_POST, call->place.index, posted, NULL);
}

static void completed_offer(struct analysis_lanes *lanes, struct epoch_pair *pair, const struct epoch_call *call,
                            struct blame *blame)
{
    uint32_t number = pair->waits++;
    if (pair->completes <= number || pair->completes - number > KEPT) {
        need_unknown(lanes);
        return;
    }
    const struct arrival *completed = &pair->completed[number % KEPT];
    need_known(lanes, &completed->moment);
    blame_offer(blame, WAIT_LATE_COMPLETE, call->place.index, completed, NULL);
}

void epochs_end(struct analysis_lanes *lanes, struct analysis_lane *lane, struct blame *blame)
{
    unsigned kind = event_kind(&lane->call.event);
    bool waits = kind == CALL_MPI_Win_wait || (kind == CALL_MPI_Win_test && call_argument(&lane->call));
    struct epoch_call call;
    if (!waits && kind != CALL_MPI_Win_start && kind != CALL_MPI_Win_complete)
        return;
    if (!epoch_call_find(lanes, lane, waits, &call) || !call.epoch->known) {
        need_unknown(lanes);
        return;
    }
    for (size_t i = 0; i < call.epoch->count; i++) {
        struct epoch_pair *pair = pair_with(lanes, &call, call.epoch->peers[i]);
        if (!pair)
            need_unknown(lanes);
        else if (waits)
            completed_offer(lanes, pair, &call, blame);
        else
            posted_offer(lanes, lane, pair, &call, blame);
    }
}

void epochs_release(struct analysis_lanes *lanes)
{
    for (size_t i = 0; i < lanes->pairs.capacity; i++)
        for (struct keyed *keyed = lanes->pairs.buckets[i]; keyed; keyed = keyed->next) {
            struct epoch_pair *pair = (struct epoch_pair *)keyed;
            for (size_t k = 0; k < KEPT; k++) {
                path_drop(&lanes->analysis->paths, pair->posted[k].moment.path);
                path_drop(&lanes->analysis->paths, pair->completed[k].moment.path);
            }
        }
    for (size_t i = 0; i < lanes->epochs.capacity; i++)
        for (struct keyed *keyed = lanes->epochs.buckets[i]; keyed; keyed = keyed->next)
            free(((struct epoch *)keyed)->peers);
    keytable_release(&lanes->pairs, NULL);
    keytable_release(&lanes->epochs, NULL);
}
