#include "fabric/fabric_keys.h"

#include "figures/cells.h"

static uint64_t keys[FABRIC_KEYS];
static uint32_t learned; /* 0: no key is known */

bool fabric_key_known(uint64_t key)
{
    uint32_t count = RELAXED_LOAD(&learned);
    for (uint32_t i = 0; i < FABRIC_KEYS && i < count; i++)
        if (RELAXED_LOAD(&keys[i]) == key)
            return true;
    return false;
}

void fabric_key_learn(uint64_t key)
{
    if (fabric_key_known(key))
        return;
    uint32_t place = __atomic_fetch_add(&learned, 1, __ATOMIC_RELAXED);
    if (place >= UINT32_MAX / 2) /* it would begin again at 0, and hide the known keys */
        __atomic_store_n(&learned, FABRIC_KEYS, __ATOMIC_RELAXED);
    RELAXED_STORE(&keys[place % FABRIC_KEYS], key);
}

void fabric_keys_forget(void)
{
    if (!RELAXED_LOAD(&learned))
        return;
    __atomic_store_n(&learned, 0, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < FABRIC_KEYS; i++)
        RELAXED_STORE(&keys[i], 0);
}
