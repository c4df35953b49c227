#define _GNU_SOURCE
#include "copy.h"

#include "next.h"

#include <dlfcn.h>

/* One for all copies of this library in a process, of every ABI: the loader takes the first one's for each. */
__attribute__((visibility("default"))) const void *mpit_recorder_here;

bool copy_is_second(void)
{
    const void *first = NULL;
    Dl_info one, two;
    if (__atomic_compare_exchange_n(&mpit_recorder_here, &first, (const void *)&next, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE) ||
        first == &next)
        return false;
    if (dladdr(first, &one) && dladdr(&next, &two))
        native_say("mpit is loaded twice: %s records, and %s does not", one.dli_fname, two.dli_fname);
    return true;
}

bool copy_records(void)
{
    return __atomic_load_n(&mpit_recorder_here, __ATOMIC_ACQUIRE) == (const void *)&next;
}

bool copy_any_records(void)
{
    return __atomic_load_n(&mpit_recorder_here, __ATOMIC_ACQUIRE) != NULL;
}
