#include "base/threadown.h"

#define EXPORTED __attribute__((visibility("default")))
/* Of up to 8 bytes. */
#define OWN(name) EXPORTED __thread _Alignas(8) char mpit_thread_##name[8]
OWN(book_thread_state);
OWN(thread_log);
OWN(log_attaching);
OWN(log_is_refused);
OWN(thread_is_internal);
OWN(fabric_opening);
OWN(thread_phases);
OWN(phases_busy);
OWN(region_stack);
OWN(native_holder);
OWN(native_inside);
OWN(components_entering);
OWN(delivering);
OWN(delivered);
OWN(delivered_native);
OWN(delivered_safety);
EXPORTED __thread _Alignas(8) char mpit_thread_sampled_self[SAMPLED_BYTES];
/* Each thread begins with a pointer to an object of the recorder, which is zero until the recorder is there. */
EXPORTED _Alignas(64) char mpit_no_log[NO_LOG_BYTES];
EXPORTED __thread void *mpit_thread_thread_log_or_none = mpit_no_log;
