#include "registry/commsum.h"

#include "figures/fold.h"
#include "figures/variables.h"

#include <stdio.h>
#include <string.h>

#define WORDS(type) (sizeof(type) / sizeof(uint64_t))
#define WORD_AT(type, field) (offsetof(type, field) / sizeof(uint64_t))

/* There is no other writer meanwhile, and most counters of a communicator are 0. */
typedef uint64_t word_pair __attribute__((vector_size(16), aligned(8), may_alias));

enum { WORDS_AT_ONCE = 16 };

static inline bool words_are_zero(const uint64_t *words)
{
    const word_pair *p = (const word_pair *)words;
    word_pair any = (p[0] | p[1] | p[2] | p[3]) | (p[4] | p[5] | p[6] | p[7]);
    return (any[0] | any[1]) == 0;
}

static inline void cells_drain(uint64_t *to, uint64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = cell_load(&from[i]);
        if (value) {
            cell_store(&to[i], cell_load(&to[i]) + value);
            cell_store(&from[i], 0);
        }
    }
}

/* Moves the counts of `from` to `to`. */
static void words_move(uint64_t *to, uint64_t *from, size_t first, size_t end)
{
    size_t i = first;
    for (; i + WORDS_AT_ONCE <= end; i += WORDS_AT_ONCE)
        if (!words_are_zero(&from[i]))
            cells_drain(&to[i], &from[i], WORDS_AT_ONCE);
    cells_drain(&to[i], &from[i], end - i);
}

/* Between the two are the end of the last communication, and the extremes. */
#define FIRST_SPECIAL WORD_AT(struct comm_cells, span_last)
#define BEHIND_SPECIAL WORD_AT(struct comm_cells, coll_bytes)

/* Sent and received messages. */
#define FIRST_BY_SIZE WORD_AT(struct comm_cells, send)
#define BEHIND_BY_SIZE WORD_AT(struct comm_cells, coll_size_count)
_Static_assert(BEHIND_BY_SIZE - FIRST_BY_SIZE == 2 * BUCKET_COUNT * WORDS(struct message_cells), "and nothing else");

void comm_cells_move(struct comm_cells *to, struct comm_cells *from, bool messages)
{
    words_move((uint64_t *)to, (uint64_t *)from, 0, FIRST_SPECIAL);
    words_move((uint64_t *)to, (uint64_t *)from, BEHIND_SPECIAL, FIRST_BY_SIZE);
    if (messages)
        words_move((uint64_t *)to, (uint64_t *)from, FIRST_BY_SIZE, BEHIND_BY_SIZE);
    words_move((uint64_t *)to, (uint64_t *)from, BEHIND_BY_SIZE, WORDS(struct comm_cells));
    cell_raise(&to->span_last, cell_load(&from->span_last));
    cell_lower(&to->span_first, cell_load(&from->span_first));
    cell_lower(&to->message_low, cell_load(&from->message_low));
    cell_raise(&to->message_high, cell_load(&from->message_high));
    cell_store(&from->span_last, 0);
    cell_store(&from->span_first, LOW_NEUTRAL);
    cell_store(&from->message_low, LOW_NEUTRAL);
    cell_store(&from->message_high, 0);
}

void peer_cells_move(struct peer_cells *to, struct peer_cells *from)
{
    words_move((uint64_t *)to, (uint64_t *)from, 0, WORDS(struct peer_cells));
}

static void level_sum(struct level_cells *to, const struct level_cells *from)
{
    cell_store(&to->now, cell_load(&to->now) + cell_load(&from->now));
    cell_raise(&to->high, cell_load(&from->high));
    cell_lower(&to->low, cell_load(&from->low));
}

static void level_clear(struct level_cells *level)
{
    cell_store(&level->now, 0);
    cell_store(&level->high, 0);
    cell_store(&level->low, 0);
}

void shared_cells_sum(struct shared_cells *to, const struct shared_cells *from)
{
    level_sum(&to->sends, &from->sends);
    level_sum(&to->recvs, &from->recvs);
    level_sum(&to->bytes, &from->bytes);
    for (unsigned i = 0; i < EXTREME_COUNT; i++) {
        uint64_t value = cell_load(&from->closed[i]);
        if (extreme_neutral((enum extreme)i) == 0)
            cell_raise(&to->closed[i], value);
        else
            cell_lower(&to->closed[i], value);
    }
}

void shared_cells_clear(struct shared_cells *cells)
{
    level_clear(&cells->sends);
    level_clear(&cells->recvs);
    level_clear(&cells->bytes);
    for (unsigned i = 0; i < EXTREME_COUNT; i++)
        cell_store(&cells->closed[i], extreme_neutral((enum extreme)i));
}

/* In a name that was too long, the begin is hashed (probes/communicators/communicator.h). Returns its last part. */
static const char *name_hashed(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    const char *last = strrchr(name, '/');
    return digits == 16 && strncmp(name + digits, "...", 3) == 0 ? (last ? last : "") : NULL;
}

static const char *word_skip(const char *name)
{
    return name + strcspn(name, "/#:");
}

/* Both from the first letter of a name on, or after a '#' or ':' if its '*' is passed. */
static bool pattern_fits(const char *pattern, const char *name)
{
    while (*name) {
        char c = *name++;
        if (*pattern++ != c)
            return false;
        if (c != '#' && c != ':')
            continue;
        if (*pattern++ != '*')
            return false;
        name = word_skip(name);
    }
    return *pattern == '\0';
}

/* The number after the last operation. */
static const char *number_find(const char *name)
{
    const char *last = strrchr(name, '/'), *sign = strchr(last ? last : name, '#');
    return sign ? sign + 1 : NULL;
}

void comm_kind_learn(struct comm_kind *kind, const char *pattern, const char *name)
{
    const char *number = number_find(name), *star = number_find(pattern);
    kind->stem = 0;
    if (!number || !star || !pattern_fits(pattern, name))
        return;
    kind->stem = (size_t)(number - name);
    memcpy(kind->name, name, kind->stem);
    kind->rest = star + 1;
}

bool comm_kind_has(const struct comm_kind *kind, const char *name)
{
    return kind->stem && strncmp(kind->name, name, kind->stem) == 0 &&
           pattern_fits(kind->rest, word_skip(name + kind->stem));
}

void comm_pattern(char pattern[COMM_NAME_BYTES], const char *name)
{
    const char *end = name_hashed(name);
    size_t used = end ? (size_t)snprintf(pattern, COMM_NAME_BYTES, "*...") : 0;
    for (const char *at = end ? end : name; *at && used + 2 < COMM_NAME_BYTES;) {
        pattern[used++] = *at;
        if (*at++ != '#' && at[-1] != ':')
            continue;
        pattern[used++] = '*';
        at += strcspn(at, "/#:");
    }
    pattern[used] = '\0';
}
