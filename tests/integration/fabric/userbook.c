#include "userbook.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { FUNCTIONS = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const char *name;
    uint64_t count, bytes;
} functions[FUNCTIONS];
static uint64_t polls, empty_polls, again, errors, started, completed, most, time_ns, slept_ns;
static unsigned checks, failures;

void book_operation(const char *function, uint64_t bytes, bool told)
{
    unsigned i = 0;
    pthread_mutex_lock(&lock);
    while (i < FUNCTIONS - 1 && functions[i].name && strcmp(functions[i].name, function) != 0)
        i++;
    functions[i].name = function;
    functions[i].count++;
    functions[i].bytes += bytes;
    started += told;
    if (started > completed && started - completed > most)
        most = started - completed;
    pthread_mutex_unlock(&lock);
}

void book_again(void)
{
    __atomic_add_fetch(&again, 1, __ATOMIC_RELAXED);
}

void book_error(void)
{
    __atomic_add_fetch(&errors, 1, __ATOMIC_RELAXED);
}

void book_poll(bool found)
{
    __atomic_add_fetch(&polls, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&empty_polls, !found, __ATOMIC_RELAXED);
}

void book_completed(uint64_t operations, uint64_t failed)
{
    pthread_mutex_lock(&lock);
    completed += operations;
    errors += failed;
    pthread_mutex_unlock(&lock);
}

void book_time(uint64_t ns, uint64_t slept)
{
    time_ns = ns;
    slept_ns = slept;
}

void book_check(const char *what, bool good)
{
    checks++;
    failures += !good;
    if (!good)
        fprintf(stderr, "not so: %s\n", what);
}

int book_close(const char *provider)
{
    printf("{\"provider\": \"%s\", \"checks\": %u, \"failures\": %u, \"polls\": %" PRIu64 ", \"empty_polls\": %" PRIu64
           ", \"again\": %" PRIu64 ", \"errors\": %" PRIu64 ", \"started\": %" PRIu64 ", \"completed\": %" PRIu64
           ", \"most_outstanding\": %" PRIu64 ", \"time_ns\": %" PRIu64 ", \"slept_ns\": %" PRIu64 ", \"functions\": {",
           provider, checks, failures, polls, empty_polls, again, errors, started, completed, most, time_ns, slept_ns);
    for (unsigned i = 0; i < FUNCTIONS && functions[i].name; i++)
        printf("%s\"%s\": {\"count\": %" PRIu64 ", \"bytes\": %" PRIu64 "}", i ? ", " : "", functions[i].name,
               functions[i].count, functions[i].bytes);
    printf("}}\n");
    return failures != 0;
}
