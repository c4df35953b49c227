#include "requests/front.h"

struct front_place request_front[FRONT_PLACES];
struct front_pair request_pairs[FRONT_PLACES];
struct front_place request_beside[FRONT_PLACES + 1];

struct front_place *front_oldest(uint64_t handle)
{
    struct front_place *place = front_place(handle);
    if (place->handle == handle)
        return place;
    for (uint32_t i = place->beside ? request_beside[0].younger : 0; i; i = request_beside[i].younger)
        if (request_beside[i].handle == handle)
            return &request_beside[i];
    return NULL;
}

/* Links the place as the youngest. */
HOT struct front_place *beside_take(struct front_place *front, uint32_t number, uint64_t handle)
{
    struct front_place *place = &request_beside[number];
    uint32_t youngest = request_beside[0].older;
    place->older = youngest;
    place->younger = 0;
    request_beside[youngest].younger = request_beside[0].older = number;
    front->beside++;
    place->posted.view = NULL; /* for a handler that reads it meanwhile */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    place->handle = handle;
    return place;
}

/* For a handle that came twice, and is not the one that abi_request_was_shared knows. */
static __attribute__((noinline)) struct front_place *beside_post_asked(struct front_place *front, uint32_t number,
                                                                       uint64_t handle)
{
    return abi_request_is_shared(handle) ? beside_take(front, number, handle) : NULL; /* it may have ended unseen */
}

struct front_place *beside_post(uint64_t handle, const void *where)
{
    struct front_place *front = front_place(handle);
    uint32_t number = beside_number(where);
    __asm__("" : "+r"(front)); /* kept, not found again */
    if (!book.plain || front->behind || request_beside[number].handle)
        return NULL;
    if ((front->handle == handle || front->beside) && !abi_request_was_shared(handle))
        return beside_post_asked(front, number, handle);
    return beside_take(front, number, handle);
}

void beside_give_back(void)
{
    struct front_place *youngest = &request_beside[request_beside[0].older];
    if (youngest->handle && !youngest->posted.view)
        beside_free(youngest);
}

bool front_keep_beside(const struct posted *posted, uint64_t handle)
{
    bool may = !(posted->type & POSTED_PERSISTENT) && posted->type != REQUEST_PAIR;
    struct front_place *place = may ? beside_post(handle, posted->where) : NULL;
    if (place)
        place->posted = *posted;
    return place != NULL;
}
