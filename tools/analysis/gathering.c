#include "analysis/gathering.h"

#include "analysis/worlds.h"

#include <stdlib.h>

enum { NOBODY = -1 };

/* Each of them awaits others. */
static bool has_members(const struct gathering *gathering)
{
    return gathering->form == FORM_PREFIX || gathering->form == FORM_NEIGHBORS;
}

static struct gathering *gathering_make(struct gatherings *gatherings, const struct gathering *like, uint64_t number)
{
    size_t times = gatherings->paths->times;
    struct gathering *gathering = malloc(sizeof *gathering);
    struct arrival *members = NULL;
    double *latest = calloc(3 * times + 1, sizeof *latest);
    if (has_members(like)) {
        members = calloc((size_t)like->size[0], sizeof *members);
        for (int32_t i = 0; members && i < like->size[0]; i++)
            members[i].world_rank = NOBODY;
    }
    if (!gathering || !latest || (has_members(like) && !members)) {
        free(gathering);
        free(latest);
        free(members);
        return NULL;
    }
    *gathering = *like;
    gathering->members = members;
    gathering->latest[0] = latest;
    gathering->latest[1] = latest + times;
    gathering->second = latest + 2 * times;
    gathering->number = ++gatherings->made;
    gathering->last[0] = gathering->last[1] = gathering->root = (struct arrival){.world_rank = NOBODY};
    gathering->first_ns = UINT64_MAX;
    if (keytable_put(&gatherings->open, &gathering->keyed, like->comm, number) == 0)
        return gathering;
    free(members);
    free(latest);
    free(gathering);
    return NULL;
}

static void arrival_set(struct paths *paths, struct arrival *arrival, const struct attendee *who, struct moment moment)
{
    path_drop(paths, arrival->moment.path);
    *arrival = (struct arrival){moment, who->world_rank};
    path_hold(moment.path);
}

static void latest_take(struct gathering *gathering, int side, const double *times, size_t count)
{
    double *latest = gathering->latest[side], *second = gathering->second;
    for (size_t k = 0; k < count; k++) {
        double earlier = times[k] < latest[k] ? times[k] : latest[k];
        latest[k] = times[k] > latest[k] ? times[k] : latest[k];
        second[k] = earlier > second[k] ? earlier : second[k];
    }
}

struct gathering *gathering_enter(struct gatherings *gatherings, const struct gathering *like, uint64_t number,
                                  const struct attendee *who, struct moment moment)
{
    struct gathering *gathering = keytable_find(&gatherings->open, like->comm, number);
    if (!gathering && !(gathering = gathering_make(gatherings, like, number))) {
        gatherings->no_memory = true;
        return NULL;
    }
    struct arrival *last = &gathering->last[who->side];
    gathering->mixed |= gathering->operation != like->operation;
    gathering->come[who->side]++;
    if (path_times(moment.path))
        latest_take(gathering, who->side, path_times(moment.path), gatherings->paths->times);
    if (moment.ns < gathering->first_ns)
        gathering->first_ns = moment.ns;
    if (last->world_rank == NOBODY || moment.ns > last->moment.ns)
        arrival_set(gatherings->paths, last, who, moment);
    if (who->root)
        arrival_set(gatherings->paths, &gathering->root, who, moment);
    if (gathering->members && who->rank < gathering->size[0])
        arrival_set(gatherings->paths, &gathering->members[who->rank], who, moment);
    return gathering;
}

bool gathering_is_complete(const struct gathering *gathering)
{
    return gathering->come[0] == gathering->size[0] && gathering->come[1] == gathering->size[1];
}

const struct arrival *gathering_last(const struct gathering *gathering)
{
    const struct arrival *last = gathering->last;
    return &last[last[1].world_rank != NOBODY && last[1].moment.ns > last[0].moment.ns];
}

/* The i-th member that this one awaits. NULL: that is not known, or it has not come. */
static const struct arrival *awaited_member(const struct gathering *gathering, const struct attendee *who, size_t i)
{
    int32_t rank = gathering->form == FORM_PREFIX ? (int32_t)i : who->neighbors->ranks[i];
    const struct arrival *member = rank >= 0 && rank < gathering->size[0] ? &gathering->members[rank] : NULL;
    return member && member->world_rank != NOBODY ? member : NULL;
}

static size_t awaited_count(const struct gathering *gathering, const struct attendee *who)
{
    return gathering->form == FORM_PREFIX ? (size_t)who->rank : who->neighbors->count;
}

static enum cause_known members_cause(const struct gathering *gathering, const struct attendee *who,
                                      struct arrival *cause)
{
    if (!gathering->members || gathering->inter || (gathering->form == FORM_NEIGHBORS && !who->neighbors->known))
        return CAUSE_UNKNOWN;
    size_t count = awaited_count(gathering, who);
    for (size_t i = 0; i < count; i++) {
        const struct arrival *member = awaited_member(gathering, who, i);
        if (!member)
            return CAUSE_UNKNOWN;
        if (i == 0 || member->moment.ns > cause->moment.ns)
            *cause = *member;
    }
    return count ? CAUSE_KNOWN : CAUSE_NONE;
}

enum cause_known gathering_cause(const struct gathering *gathering, const struct attendee *who, struct arrival *cause)
{
    int other = gathering->inter ? !who->side : 0;
    bool all = gathering->come[other] == gathering->size[other];
    if (gathering->mixed)
        return CAUSE_UNKNOWN;
    if (who->bystander)
        return CAUSE_NONE;
    switch (gathering->form) {
    case FORM_ONE_TO_ALL:
        if (who->root)
            return CAUSE_NONE;
        *cause = gathering->root;
        return cause->world_rank == NOBODY ? CAUSE_UNKNOWN : CAUSE_KNOWN;
    case FORM_ALL_TO_ONE:
        if (!who->root)
            return CAUSE_NONE;
        break;
    case FORM_PREFIX:
    case FORM_NEIGHBORS:
        return members_cause(gathering, who, cause);
    default:
        break;
    }
    *cause = gathering->last[other];
    return all && cause->world_rank != NOBODY ? CAUSE_KNOWN : CAUSE_UNKNOWN;
}

void gathering_need(const struct gathering *gathering, const struct attendee *who, const double *own, double *need,
                    size_t worlds)
{
    bool from_root = gathering->form == FORM_ONE_TO_ALL;
    const double *times =
        from_root ? path_times(gathering->root.moment.path) : gathering->latest[gathering->inter ? !who->side : 0];
    if (!has_members(gathering)) {
        if (times)
            world_times_join(need, times, worlds);
        for (size_t k = 0; own && !from_root && !gathering->inter && k < worlds; k++)
            if (times[k] == own[k] && need[k] == own[k])
                need[k] = gathering->second[k];
        return;
    }
    for (size_t i = 0; i < awaited_count(gathering, who); i++) {
        const struct arrival *member = awaited_member(gathering, who, i);
        if (member && path_times(member->moment.path))
            world_times_join(need, path_times(member->moment.path), worlds);
    }
}

bool gathering_leave(struct gathering *gathering)
{
    return ++gathering->left == (int64_t)gathering->size[0] + gathering->size[1];
}

static void contents_release(struct paths *paths, struct gathering *gathering)
{
    path_drop(paths, gathering->last[0].moment.path);
    path_drop(paths, gathering->last[1].moment.path);
    path_drop(paths, gathering->root.moment.path);
    for (int32_t i = 0; gathering->members && i < gathering->size[0]; i++)
        path_drop(paths, gathering->members[i].moment.path);
    free(gathering->members);
    free(gathering->latest[0]);
}

void gathering_release(struct gatherings *gatherings, struct gathering *gathering)
{
    keytable_take(&gatherings->open, &gathering->keyed);
    contents_release(gatherings->paths, gathering);
    free(gathering);
}

void gatherings_release(struct gatherings *gatherings)
{
    for (size_t i = 0; i < gatherings->open.capacity; i++)
        for (struct keyed *keyed = gatherings->open.buckets[i]; keyed; keyed = keyed->next)
            contents_release(gatherings->paths, (struct gathering *)keyed);
    keytable_release(&gatherings->open, NULL);
}
