#include "wrappers/next.h"

#include "gate.h"
#include "wrappers/profiled.h"
#include "wrappers/switchboard.h"

#include <pthread.h>
#include <stdlib.h>

struct next next_of_c, next_of_fortran;

void next_find(const char *wanted)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    native_find();
#define NEXT_FIND(name)                                                                                                \
    {                                                                                                                  \
        void *next = native_symbol(#name), *profiled = next ? native_symbol("P" #name) : NULL;                         \
        __atomic_store_n(&next_of_c.name, (__typeof__(next_of_c.name))next, __ATOMIC_RELEASE);                         \
        __atomic_store_n(&next_of_fortran.name, (__typeof__(next_of_c.name))profiled, __ATOMIC_RELEASE);               \
    }
    NEXT_CALLS(NEXT_FIND)
#undef NEXT_FIND
    profiled_find();
    pthread_mutex_unlock(&lock);
    if (wanted && !native_symbol(wanted)) {
        native_say("mpit: the program calls %s, which no library in the process defines", wanted);
        abort(); /* the call cannot be passed on */
    }
}

void next_pass(void)
{
    profiled_pass();
    switchboard_pass();
#define NEXT_PASS(name) GATE_PASS(name);
    NEXT_CALLS(NEXT_PASS)
#undef NEXT_PASS
    GATE_PASS(MPI_Pcontrol);
}
