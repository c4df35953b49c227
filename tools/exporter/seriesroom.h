/*
 * Room for series: how many there may be, and how many each user may have.
 *
 * The last eighth of the room is for users with few series (an eighth or less). So the jobs of one user do not push out
 * the jobs of another one.
 */
#ifndef MPIT_TOOLS_SERIESROOM_H
#define MPIT_TOOLS_SERIESROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct series_user {
    uid_t user;
    size_t used;
};

struct series_room {
    size_t most;
    bool shared; /* by the jobs of several users: the last eighth is not for everybody */
    size_t used, left_out;
    struct series_user *users;
    size_t user_count;
};

/* Counts series that exist already. They stay, whatever room there is. Returns 0, or -1 without memory. */
int series_room_note(struct series_room *room, uid_t user, size_t series);
/* Takes room for more series of a user. Returns false if there is none. Then these series are counted as left out. */
bool series_room_take(struct series_room *room, uid_t user, size_t series);
void series_room_free(struct series_room *room);

#endif
