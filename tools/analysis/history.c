#include "analysis/history.h"

#include "base/array.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 16, STEPS_MOST = 1 << 12 };

static struct stretch *stretch_at(const struct history *history, size_t place)
{
    return &history->list[(history->first + place) % history->capacity];
}

static bool history_grow(struct history *history)
{
    size_t capacity = history->capacity ? 2 * history->capacity : FIRST_CAPACITY;
    struct stretch *list = malloc(capacity * sizeof *list);
    if (!list)
        return false;
    for (size_t i = 0; i < history->count; i++)
        list[i] = *stretch_at(history, i);
    free(history->list);
    history->list = list;
    history->first = 0;
    history->capacity = capacity;
    return true;
}

bool history_add(struct history *history, struct stretch stretch, uint64_t needed_ns)
{
    if (stretch.to_ns <= stretch.from_ns)
        return true;
    while (history->count && stretch_at(history, 0)->to_ns <= needed_ns) {
        history->first = (history->first + 1) % history->capacity;
        history->count--;
    }
    if (history->count == history->capacity && history->count < HISTORY_MOST && !history_grow(history))
        return false;
    if (history->count == history->capacity) {
        history->first = (history->first + 1) % history->capacity;
        history->count--;
    }
    *stretch_at(history, history->count++) = stretch;
    return true;
}

const struct stretch *history_before(const struct history *history, uint64_t ns)
{
    size_t later = ARRAY_FIRST(i, 0, history->count, stretch_at(history, i)->from_ns >= ns);
    return later ? stretch_at(history, later - 1) : NULL;
}

void history_release(struct history *history)
{
    free(history->list);
    *history = (struct history){NULL, 0, 0, 0};
}

void history_roots(const struct history *const *histories, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
                   void (*tell)(void *data, const struct root *root), void *data)
{
    uint64_t at = to_ns;
    for (size_t steps = 0; at > from_ns && steps < STEPS_MOST; steps++) {
        const struct stretch *before = history_before(histories[thread], at);
        if (!before)
            break;
        uint64_t end = before->to_ns < at ? before->to_ns : at, begin = before->from_ns;
        begin = begin > from_ns ? begin : from_ns;
        if (end < at) { /* between its stretches */
            end = end > from_ns ? end : from_ns;
            tell(data, &(struct root){thread, STRETCH_COMPUTES, 0, at - end, before->to_ns, at});
            at = end;
        } else if (before->kind == STRETCH_WAITS) {
            thread = before->what;
        } else {
            tell(data, &(struct root){thread, before->kind, before->what, at - begin, before->from_ns, before->to_ns});
            at = begin;
        }
    }
    if (at > from_ns)
        tell(data, &(struct root){thread, STRETCH_COMPUTES, 0, at - from_ns, from_ns, at});
}
