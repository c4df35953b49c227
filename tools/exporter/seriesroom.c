#include "exporter/seriesroom.h"

#include "base/array.h"

#include <stdlib.h>

enum { RESERVED_SHARE = 8 };

static struct series_user *series_user_find(struct series_room *room, uid_t user)
{
    for (size_t i = 0; i < room->user_count; i++)
        if (room->users[i].user == user)
            return &room->users[i];
    if (!ARRAY_GROWN(room->users, room->user_count))
        return NULL;
    room->users[room->user_count] = (struct series_user){.user = user};
    return &room->users[room->user_count++];
}

int series_room_note(struct series_room *room, uid_t user, size_t series)
{
    struct series_user *one = series_user_find(room, user);
    if (!one)
        return -1;
    one->used += series;
    room->used += series;
    return 0;
}

static size_t room_of_user(const struct series_room *room, const struct series_user *one, size_t series)
{
    size_t reserved = room->most / RESERVED_SHARE;
    return !room->shared || one->used + series <= reserved ? room->most : room->most - reserved;
}

bool series_room_take(struct series_room *room, uid_t user, size_t series)
{
    struct series_user *one = series_user_find(room, user);
    if (!one || room->used + series > room_of_user(room, one, series)) {
        room->left_out += series;
        return false;
    }
    one->used += series;
    room->used += series;
    return true;
}

void series_room_free(struct series_room *room)
{
    free(room->users);
    *room = (struct series_room){0};
}
