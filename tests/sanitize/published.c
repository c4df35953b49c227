/*
 * What announced.h must and must not hide: one thread publishes data to another.
 *
 *     (nothing)                     released and acquired: no report
 *     -DORDER=__ATOMIC_RELAXED      published without an order: a report
 *     -DPLAIN                       and both change a variable without any: a report
 */
#include <pthread.h>
#include <stdint.h>

#ifndef ORDER
#define ORDER __ATOMIC_RELEASE
#endif

static uint64_t data, plain, *where;

static void change(void)
{
#ifdef PLAIN
    plain++;
#else
    (void)plain;
#endif
}

static void *publish(void *argument)
{
    change();
    data = 42;
    __atomic_store_n(&where, &data, ORDER);
    return argument;
}

static void *consume(void *argument)
{
    uint64_t *seen;
    change();
    do
        seen = __atomic_load_n(&where, ORDER == __ATOMIC_RELEASE ? __ATOMIC_ACQUIRE : ORDER);
    while (!seen);
    return *seen == 42 ? argument : NULL;
}

int main(void)
{
    pthread_t threads[2];
    void *good = NULL;
    pthread_create(&threads[0], NULL, publish, &good);
    pthread_create(&threads[1], NULL, consume, &good);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], &good);
    return good ? 0 : 1;
}
