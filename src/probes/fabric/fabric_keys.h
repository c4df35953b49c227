/*
 * Finds operations of nonblocking collectives that begin inside of a blocking collective.
 *
 * MPICH makes progress inside of itself, without a callback that would tell. But all operations of a nonblocking
 * collective have one key (context and tag of the message, with any peer). The first ones begin where the collective is
 * posted. There keys are learned, and in blocking collectives they are recognized.
 *
 *   keys[next % KEYS] <── key, of the latest that were posted         any thread writes and looks, relaxed and whole
 *
 * When a communicator is freed, another one can get its context, and its tags begin anew. Then all keys are forgotten.
 * The operations outstanding at that moment count for the call in progress.
 */
#ifndef MPIT_PROBES_FABRIC_KEYS_H
#define MPIT_PROBES_FABRIC_KEYS_H

#include "base/linkage.h"

#include <stdbool.h>
#include <stdint.h>

enum { FABRIC_KEYS = 64 };

/* Makes a key of a UCX tag as MPICH makes it. The upper 16 bits are the context, then come the source and the tag. Two
 * of the lower bits may be marks. 0: none. */
static inline uint64_t fabric_key(uint64_t tag)
{
    return tag >> 48 << 24 | (tag & 0xffffff);
}

void fabric_key_learn(uint64_t key);
bool fabric_key_known(uint64_t key);
void fabric_keys_forget(void);

#endif
