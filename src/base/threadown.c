#include "base/threadown.h"

#define EXPORTED __attribute__((visibility("default")))
#define OWN(name) EXPORTED __thread _Alignas(8) char mpit_thread_##name[8];
THREAD_OWN_WORDS(OWN)
EXPORTED __thread _Alignas(8) char mpit_thread_sampled_self[SAMPLED_BYTES];
/* Each thread begins with a pointer to an object of the recorder, which is zero until the recorder is there. */
EXPORTED _Alignas(64) char mpit_no_log[NO_LOG_BYTES];
EXPORTED __thread void *mpit_thread_thread_log_or_none = mpit_no_log;
