#include "communicators/commname.h"

#include "base/hash.h"
#include "format/label.h"
#include "site/hide.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_NAME_BYTES = 640, TEXT_MOST = 300, GROUP_TEXT_BYTES = 40 };

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Text that is put together piece by piece. printf takes ten times as long, and a program may make very many names. */
struct text {
    char *at, *end; /* there is room for the end of the string */
};

static inline void text_add(struct text *text, const char *piece)
{
    size_t bytes = strlen(piece), room = (size_t)(text->end - text->at);
    bytes = bytes < room ? bytes : room;
    memcpy(text->at, piece, bytes);
    text->at += bytes;
    *text->at = '\0';
}

static void text_add_number(struct text *text, int64_t number)
{
    char digits[24], *first = digits + sizeof digits - 1;
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
    *first = '\0';
    do
        *--first = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--first = '-';
    text_add(text, first);
}

/* 16 digits. */
static void text_add_hash(struct text *text, uint64_t hash)
{
    char digits[17];
    for (unsigned i = 0; i < 16; i++)
        digits[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
    digits[16] = '\0';
    text_add(text, digits);
}

/* ---- who is in it ------------------------------------------------------------------------------------------------ */

/* The groups of a communicator. MPI_GROUP_NULL where there is none: only inter-communicators have a remote group. */
struct sides {
    MPI_Group local, remote;
};

static struct sides sides_open(MPI_Comm comm, bool inter)
{
    struct sides sides = {native.group_null, native.group_null};
    if (native.Comm_group(comm, &sides.local) != MPI_SUCCESS)
        sides.local = native.group_null;
    if (inter && native.Comm_remote_group(comm, &sides.remote) != MPI_SUCCESS)
        sides.remote = native.group_null;
    return sides;
}

static void group_release(MPI_Group *group)
{
    if (*group != native.group_null)
        native.Group_free(group);
}

static void sides_close(struct sides *sides)
{
    group_release(&sides->local);
    group_release(&sides->remote);
}

enum { RANKS_AT_HAND = 64 };

/* Hashes the members' ranks in `base`, in order. False: `base` does not have all of them. */
static bool group_hash(MPI_Group group, MPI_Group base, uint64_t *hash)
{
    int size = 0;
    if (group == native.group_null || base == native.group_null || native.Group_size(group, &size) != MPI_SUCCESS ||
        size <= 0)
        return false;
    int few[2 * RANKS_AT_HAND];
    int *ranks = size <= RANKS_AT_HAND ? few : malloc(2 * (size_t)size * sizeof *ranks);
    for (int i = 0; ranks && i < size; i++)
        ranks[i] = i;
    bool good = ranks && native.Group_translate_ranks(group, size, ranks, base, ranks + size) == MPI_SUCCESS;
    *hash = HASH_BEGIN;
    for (int i = 0; good && i < size; i++) {
        good = ranks[size + i] != MPI_UNDEFINED;
        *hash = hash_add(*hash, (uint32_t)ranks[size + i]);
    }
    if (ranks != few)
        free(ranks);
    return good;
}

static bool sides_hash(const struct sides *sides, bool inter, MPI_Group base, MPI_Group remote_base, uint64_t hash[2])
{
    return group_hash(sides->local, base, &hash[0]) && (!inter || group_hash(sides->remote, remote_base, &hash[1]));
}

struct members {
    bool foreign; /* some are processes of other worlds */
    uint64_t hash[2];
    bool hashed;
};

static struct members members_learn(MPI_Comm comm, bool inter, const struct comm *parent, MPI_Comm from)
{
    struct members members = {0};
    MPI_Group world = native.group_null;
    struct sides sides = sides_open(comm, inter);
    if (!native_world_group(&world))
        world = native.group_null;
    members.hashed = sides_hash(&sides, inter, world, world, members.hash);
    members.foreign = !members.hashed;
    if (!members.hashed && parent && from != native.comm_null) {
        bool parent_inter = parent->remote_size > 0;
        struct sides of_parent = sides_open(from, parent_inter);
        members.hashed =
            sides_hash(&sides, inter, of_parent.local, parent_inter ? of_parent.remote : of_parent.local, members.hash);
        sides_close(&of_parent);
    }
    sides_close(&sides);
    group_release(&world);
    return members;
}

static void members_tell(const struct members *members, const struct comm_facts *facts, char text[GROUP_TEXT_BYTES])
{
    bool inter = facts->remote_size > 0;
    uint64_t a = members->hash[0], b = members->hash[1];
    int32_t small = facts->size < facts->remote_size ? facts->size : facts->remote_size;
    int32_t large = facts->size < facts->remote_size ? facts->remote_size : facts->size;
    struct text told = {text, text + GROUP_TEXT_BYTES - 1};
    text_add(&told, members->hashed ? "" : "n");
    if (members->hashed)
        text_add_hash(&told, inter && b < a ? b : a);
    else
        text_add_number(&told, inter ? small : facts->size);
    if (!inter)
        return;
    text_add(&told, "+");
    if (members->hashed)
        text_add_hash(&told, a < b ? b : a);
    else
        text_add_number(&told, large);
}

/* ---- the number of a name ---------------------------------------------------------------------------------------- */

struct name_count {
    uint64_t hash; /* 0 = empty */
    uint32_t count;
};

static struct {
    pthread_mutex_t lock;
    struct name_count *places;
    size_t size, used;
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct name_count *name_place(struct name_count *places, size_t size, uint64_t hash)
{
    size_t i = hash & (size - 1);
    while (places[i].hash && places[i].hash != hash)
        i = (i + 1) & (size - 1);
    return &places[i];
}

static bool names_extend(void)
{
    size_t size = names.size ? 2 * names.size : 64;
    struct name_count *places = calloc(size, sizeof *places);
    if (!places) {
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
        return false;
    }
    for (size_t i = 0; i < names.size; i++)
        if (names.places[i].hash)
            *name_place(places, size, names.places[i].hash) = names.places[i];
    free(names.places);
    names.places = places;
    names.size = size;
    return true;
}

/* A limit: a program may make each communicator with a tag of its own. */
enum { NAMES_MOST = 1 << 16 };

/* Returns the count of communicators with this name: 1, 2, ... Returns 0 for a new name without memory, or beyond
 * NAMES_MOST. */
static uint32_t name_number(const char *name)
{
    uint64_t hash = hash_text(HASH_BEGIN, name);
    uint32_t number = 0;
    hash = hash ? hash : 1;
    pthread_mutex_lock(&names.lock);
    struct name_count *place = names.size ? name_place(names.places, names.size, hash) : NULL;
    if ((!place || !place->hash) && names.used < NAMES_MOST && 2 * (names.used + 1) > names.size)
        place = names_extend() ? name_place(names.places, names.size, hash) : NULL;
    if (place && (place->hash || names.used < NAMES_MOST)) {
        names.used += !place->hash;
        place->hash = hash;
        number = ++place->count;
    }
    pthread_mutex_unlock(&names.lock);
    return number;
}

/* ---- the name ---------------------------------------------------------------------------------------------------- */

/* A name that is too long keeps its end, and has a hash of the whole. It is the same on all ranks. */
static void name_fit(const char *long_name, size_t bytes, char name[COMM_NAME_BYTES])
{
    const char *end = long_name + bytes - (bytes < 100 ? bytes : 100);
    while ((*end & 0xc0) == 0x80)
        end++; /* not inside of a character */
    if (bytes < COMM_NAME_BYTES)
        memcpy(name, long_name, bytes + 1);
    else
        snprintf(name, COMM_NAME_BYTES, "%016" PRIx64 "...%s", hash_text(HASH_BEGIN, long_name), end);
}

static void mark_tell(const struct comm_origin *origin, const struct comm_facts *facts, const char *group, char *mark,
                      size_t bytes)
{
    char text[TEXT_MOST];
    struct text told = {mark, mark + bytes - 1};
    mark[0] = '\0';
    switch (origin->mark) {
    case MARK_NONE:
        break;
    case MARK_COLOR:
        text_add(&told, ":");
        text_add_number(&told, origin->tag);
        break;
    case MARK_GROUP:
        text_add(&told, ":");
        text_add(&told, group);
        break;
    case MARK_TAG:
        snprintf(mark, bytes, ":%s:%d", group, origin->tag);
        break;
    case MARK_TEXT:
        label_clean(text, sizeof text, origin->text ? origin->text : "", SIZE_MAX);
        if (hides(HIDE_COMMUNICATORS))
            hide_text(text, sizeof text, text);
        snprintf(mark, bytes, ":%s:%s", group, text);
        break;
    case MARK_PARENTS:
        snprintf(mark, bytes, ":%" PRId32 "+%" PRId32, facts->size, facts->remote_size);
        break;
    case MARK_CHILDREN:
        snprintf(mark, bytes, ":%" PRId32 "+%" PRId32, facts->remote_size, facts->size);
        break;
    }
}

void comm_name_make(MPI_Comm comm, const struct comm *parent, const struct comm_origin *origin,
                    struct comm_facts *facts, char name[COMM_NAME_BYTES])
{
    bool inter = facts->remote_size > 0;
    bool at_home = parent && !parent->foreign && !origin->apart; /* all members are of this world, as in the parent */
    bool by_group = origin->mark >= MARK_GROUP && origin->mark <= MARK_TEXT;
    char long_name[LONG_NAME_BYTES], mark[LONG_NAME_BYTES / 2], group[GROUP_TEXT_BYTES] = "";
    if (inter || by_group || !at_home) {
        struct members members = members_learn(comm, inter, parent, origin->from);
        members_tell(&members, facts, group);
        facts->group = inter && members.hashed ? members.hash[0] : 0;
        facts->flags |= members.foreign ? COMM_FOREIGN : 0;
    }
    facts->flags |= origin->apart ? COMM_APART : 0;
    mark_tell(origin, facts, group, mark, sizeof mark);
    struct text text = {long_name, long_name + sizeof long_name - 1};
    if (!origin->apart) {
        text_add(&text, parent ? parent->name : "unnamed");
        text_add(&text, "/");
    }
    text_add(&text, origin->operation);
    if (origin->by_name)
        text_add(&text, mark);
    uint32_t number = origin->by_name ? name_number(long_name) : origin->number;
    text_add(&text, "#");
    text_add_number(&text, number);
    if (!origin->by_name)
        text_add(&text, mark);
    name_fit(long_name, (size_t)(text.at - long_name), name);
}

void comm_name_unknown(MPI_Comm comm, struct comm_facts *facts, char name[COMM_NAME_BYTES])
{
    bool inter = facts->remote_size > 0;
    char group[GROUP_TEXT_BYTES];
    struct members members = members_learn(comm, inter, NULL, native.comm_null);
    facts->group = inter && members.hashed ? members.hash[0] : 0;
    facts->flags |= COMM_APART | (members.foreign ? COMM_FOREIGN : 0);
    members_tell(&members, facts, group);
    if (members.hashed && !inter)
        snprintf(name, COMM_NAME_BYTES, "unnamed:%016" PRIx64, members.hash[0]);
    else
        snprintf(name, COMM_NAME_BYTES, "unnamed:%s", group);
}
