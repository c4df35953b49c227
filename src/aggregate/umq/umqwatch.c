#include "settings/knobs.h"
#include "umq/umq.h"

#include <errno.h>

enum { WATCH_PATIENCE = 1024 }; /* every call looks */

static struct umq_watch *watches;

static void umq_length_look(struct umq_watch *watch, bool leaves, const struct event *posting)
{
    int error = errno;
    uint64_t seen = cell_load(&watch->highest);
    struct umq_look look = {.floor = seen, .patience = WATCH_PATIENCE, .leaves = leaves, .posting = posting};
    uint64_t length = umq_length_seen(watch->umq, &look);
    while (length > seen &&
           !__atomic_compare_exchange_n(&watch->highest, &seen, length, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    errno = error;
}

/* While there is a watch, calls take the rare path, which reads the length. The short path has no place for that. */
static void watch_set(struct umq_watch *watch, bool open)
{
    if (__atomic_exchange_n(&watch->open, open, __ATOMIC_ACQ_REL) != open)
        knobs_attend(open ? 1 : -1);
}

/* The length falls only when a receive returns or is posted. A completion call ends a receive that was pending. */
static bool may_shorten(const struct umq *umq, enum fold_shape shape)
{
    if (shape == FOLD_COMPLETION)
        return umq_receives(umq) != 0;
    return shape != FOLD_SEND && shape != FOLD_POST_SEND && shape != FOLD_COLL && shape != FOLD_POST_COLL;
}

void umq_watches_look(enum fold_shape shape, const struct event *call)
{
    for (struct umq_watch *w = __atomic_load_n(&watches, __ATOMIC_ACQUIRE); w; w = w->next) {
        if (!__atomic_load_n(&w->open, __ATOMIC_ACQUIRE))
            continue;
        if (umq_is_over(w->umq))
            watch_set(w, false); /* its handle can only be freed now */
        else if (may_shorten(w->umq, shape))
            umq_length_look(w, true, shape == FOLD_POST_RECV ? call : NULL);
    }
}

void umq_watch_tie(struct umq_watch *watch, struct umq *umq)
{
    __atomic_store_n(&watch->open, false, __ATOMIC_RELEASE);
    watch->umq = umq;
    cell_store(&watch->highest, umq_length(umq));
    if (watch->linked)
        return;
    watch->linked = true;
    watch->next = __atomic_load_n(&watches, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&watches, &watch->next, watch, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void umq_watch_open(struct umq_watch *watch)
{
    umq_length_look(watch, false, NULL);
    watch_set(watch, true);
}

void umq_watch_close(struct umq_watch *watch)
{
    if (__atomic_load_n(&watch->open, __ATOMIC_ACQUIRE))
        umq_length_look(watch, false, NULL);
    watch_set(watch, false);
}

void umq_watch_reset(struct umq_watch *watch)
{
    cell_store(&watch->highest, umq_length(watch->umq));
}

uint64_t umq_watch_read(struct umq_watch *watch)
{
    if (__atomic_load_n(&watch->open, __ATOMIC_ACQUIRE))
        umq_length_look(watch, false, NULL);
    return cell_load(&watch->highest);
}
