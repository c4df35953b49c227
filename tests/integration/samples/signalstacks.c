/*
 * signalstacks SECONDS [RAW]: threads whose stacks have no room for the handler of a signal, and the program's own signal stack,
 * which stays as the program has set it. Prints "ok", or what was wrong. RAW threads are started by system calls.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LEFT = 2000, OWN_BYTES = 16 << 10, SMALL_BYTES = 2048, STACK_BYTES = 64 << 10 };

static int wrong;
static double until;

#define CHECK(holds)                                                                                                   \
    do {                                                                                                               \
        if (!(holds) && __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED) < 20)                                          \
            fprintf(stderr, "WRONG: line %d: %s (errno %d)\n", __LINE__, #holds, errno);                               \
    } while (0)

static __attribute__((noinline)) void spin(void)
{
    for (int i = 0; i < 20; i++)
        for (volatile int j = 0; j < 1000000; j++)
            ;
}

/* Computes at the end of its stack. What lies below belongs to nobody else, but is not to be written either. */
static void *nearly_full(void *memory)
{
    char *here = __builtin_frame_address(0), *low = (char *)memory + LEFT;
    volatile char *room = alloca((size_t)(here - low));
    room[0] = 1;
    memset(memory, 7, LEFT / 2);
    spin();
    for (int i = 0; i < LEFT / 2; i++)
        CHECK(((char *)memory)[i] == 7);
    return NULL;
}

static void nearly_full_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    char *memory = aligned_alloc(4096, STACK_BYTES);
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstack(&attributes, memory, STACK_BYTES) == 0);
    CHECK(pthread_create(&thread, &attributes, nearly_full, memory) == 0 && pthread_join(thread, NULL) == 0);
    pthread_attr_destroy(&attributes);
    free(memory);
}

static _Thread_local uintptr_t handled_at;

static void handle(int number)
{
    (void)number;
    handled_at = (uintptr_t)__builtin_frame_address(0);
    spin();
}

static int stack_is(const void *memory, size_t bytes)
{
    stack_t now;
    memset(&now, 1, sizeof now);
    if (sigaltstack(NULL, &now) != 0)
        return 0;
    return memory ? now.ss_sp == memory && now.ss_size == bytes && now.ss_flags == 0 : now.ss_flags == SS_DISABLE;
}

static void *own_stack(void *value)
{
    char *memory = malloc(OWN_BYTES);
    stack_t own = {.ss_sp = memory, .ss_size = OWN_BYTES}, none = {.ss_flags = SS_DISABLE}, before;
    CHECK(stack_is(NULL, 0));
    raise(SIGUSR1);
    CHECK(handled_at);
    CHECK(sigaltstack(&own, &before) == 0 && before.ss_flags == SS_DISABLE && stack_is(memory, OWN_BYTES));
    raise(SIGUSR1);
    CHECK(handled_at - (uintptr_t)memory < OWN_BYTES);
    own.ss_size = SMALL_BYTES;
    CHECK(sigaltstack(&own, &before) == 0 && before.ss_sp == memory);
    spin(); /* the kernel would end the program if a signal came to that stack */
    own.ss_size = 100;
    CHECK(sigaltstack(&own, NULL) == -1 && errno == ENOMEM);
    CHECK(sigaltstack(&none, NULL) == 0 && stack_is(NULL, 0));
    free(memory);
    spin();
    return value;
}

static int raw_run(void *unused)
{
    (void)unused;
    for (;;)
        syscall(SYS_pause); /* it shares errno with the thread that has made it */
    return 0;
}

static void raw_thread(void)
{
    char *memory = malloc(STACK_BYTES);
    CHECK(clone(raw_run, memory + STACK_BYTES, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL) >
          0);
}

int main(int argc, char *argv[])
{
    const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    const stack_t none = {.ss_flags = SS_DISABLE};
    MPI_Init(&argc, &argv);
    sigaltstack(&none, NULL); /* UCX has one for its report of a crash */
    sigaction(SIGUSR1, &action, NULL);
    until = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 1);
    for (int raw = argc > 2 ? atoi(argv[2]) : 0; raw > 0; raw--)
        raw_thread();
    do {
        pthread_t thread;
        nearly_full_thread();
        CHECK(pthread_create(&thread, NULL, own_stack, NULL) == 0 && pthread_join(thread, NULL) == 0);
        own_stack(NULL);
    } while (MPI_Wtime() < until);
    MPI_Finalize();
    puts(wrong ? "wrong" : "ok");
    return wrong != 0;
}
