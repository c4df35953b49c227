/*
 * Whose operations are those that begin inside of a blocking collective while a nonblocking one is outstanding?
 *
 * Where the MPI library makes progress inside of itself (MPICH), no callback tells. But what it begins for a
 * nonblocking collective has one key from the first operation on (context and tag of the message, whoever its peer is),
 * and the first ones begin where the collective is posted: there keys are learned, and in blocking collectives they are
 * known again.
 *
 *   keys[next % KEYS] <── key, of the latest that were posted         any thread writes and looks, relaxed and whole
 *
 * When a communicator is freed, its context can be another one's, whose tags begin anew: then all are forgotten. What
 * is outstanding at that moment is not told apart any more, and counts as that of the call in progress.
 */
#ifndef MPIT_PROBES_FABRIC_KEYS_H
#define MPIT_PROBES_FABRIC_KEYS_H

#include "base/linkage.h"

#include <stdbool.h>
#include <stdint.h>

enum { FABRIC_KEYS = 64 };

/* Of UCX's tags, as MPICH makes them: its context in the upper 16 bits, then the source, the tag in the lower ones, of
 * which two may be marks. 0: none. */
static inline uint64_t fabric_key(uint64_t tag)
{
    return tag >> 48 << 24 | (tag & 0xffffff);
}

void fabric_key_learn(uint64_t key);
bool fabric_key_known(uint64_t key);
void fabric_keys_forget(void);

#endif
