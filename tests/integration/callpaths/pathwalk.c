/*
 * Walks through random trees of calls (pathwalk.h), and notes its stack at each call of MPI.
 *
 *     pathwalk CALLS DIRECTORY [PLUGIN...]
 *
 * DIRECTORY/notes has a record for each call: tag, flags, number of frames, frames. A frame is the number of its module
 * and the offset in it, as in a run file. DIRECTORY/modules has a line for each module: its path.
 *
 * Parts: threads that walk at once while libraries come and go, signals at any instruction, coroutines.
 */
#define _GNU_SOURCE
#include "pathwalk.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    STEPS_MOST = 400,
    MODULES_MOST = 100,
    THREADS = 3,
    SEEDS = 120,      /* walks repeat after so many */
    WALK_CALLS = 100, /* of a walk */
    WALK_LEVELS = 12,
    STACK_BYTES = 1 << 20,
    SHIFTS = 4,
    MODULE_SHIFT = 48,
};

struct notes {
    FILE *out;
};

static walk_step steps[STEPS_MOST];
static unsigned step_count;
static char *modules[MODULES_MOST];
static unsigned module_count;
static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;
static int last_tag;
static const char *directory;
static __thread uintptr_t stack_low, stack_high;
static __thread struct walk *current; /* of a handler or a callback */
static __thread unsigned current_level;
static MPI_Comm called; /* its error handler walks */

static void fail(const char *what)
{
    fprintf(stderr, "pathwalk: %s\n", what);
    exit(2);
}

void walk_register(const walk_step *list, unsigned count)
{
    for (unsigned i = 0; i < count && step_count < STEPS_MOST; i++)
        steps[step_count++] = list[i];
}

unsigned long walk_draw(struct walk *walk, unsigned long below)
{
    walk->random = walk->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned long)(walk->random >> 33) % below;
}

walk_step walk_choose(struct walk *walk)
{
    return steps[walk_draw(walk, step_count)];
}

/* For Fortran. */
void *walk_frames(struct walk *walk);
void walk_busy(struct walk *walk, int busy);
int walk_left(struct walk *walk);

void *walk_frames(struct walk *walk)
{
    return walk->frames;
}

void walk_busy(struct walk *walk, int busy)
{
    walk->busy = busy;
}

int walk_left(struct walk *walk)
{
    return walk->calls > 0;
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

static unsigned module_number(const char *name)
{
    unsigned number = 0;
    pthread_mutex_lock(&modules_lock);
    while (number < module_count && strcmp(modules[number], name) != 0)
        number++;
    if (number == module_count && module_count < MODULES_MOST)
        modules[module_count++] = strdup(name);
    pthread_mutex_unlock(&modules_lock);
    return number + 1;
}

static uint64_t frame_of(void *pc)
{
    struct dl_find_object found;
    if (_dl_find_object((char *)pc - 1, &found) != 0)
        return (uintptr_t)pc & ((UINT64_C(1) << MODULE_SHIFT) - 1);
    return (uint64_t)module_number(found.dlfo_link_map->l_name) << MODULE_SHIFT |
           ((uintptr_t)pc - found.dlfo_link_map->l_addr);
}

int walk_note(struct walk *walk, int count, unsigned flags)
{
    uint64_t record[WALK_FRAMES + 1];
    uintptr_t here = (uintptr_t)&record;
    int tag = __atomic_add_fetch(&last_tag, 1, __ATOMIC_RELAXED);
    if (here < stack_low || here >= stack_high)
        flags |= NOTE_ELSEWHERE;
    record[0] = (uint64_t)tag << 32 | (uint64_t)count << 16 | flags;
    for (int i = 0; i < count; i++)
        record[i + 1] = frame_of(walk->frames[i]);
    if (fwrite(record, sizeof record[0], (size_t)count + 1, walk->notes->out) != (size_t)count + 1)
        fail("the notes cannot be written");
    walk->calls--;
    return tag;
}

static struct notes notes_open(unsigned number)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/notes.%u", directory, number);
    struct notes notes = {fopen(path, "w")};
    if (!notes.out)
        fail(path);
    return notes;
}

static void stack_know(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0 || pthread_attr_getstack(&attributes, &low, &bytes) != 0)
        fail("the stack is not known");
    pthread_attr_destroy(&attributes);
    stack_low = (uintptr_t)low;
    stack_high = (uintptr_t)low + bytes;
}

/* ---- steps from other places -------------------------------------------------------------------------------------- */

static unsigned long unknown_inner(struct walk *walk, unsigned level)
{
    call_here(walk);
    return descend(walk, level) + 1;
}

static void *unknown_code;

/* Before libraries come and go: the C library (2.36) says for a moment after it has unmapped one that it is still there.
 * Who has new memory in its place then, and unwinds, is killed. */
__attribute__((constructor)) static void unknown_code_make(void)
{
#if defined(__x86_64__)
    /* push %rbp; mov %rsp, %rbp; call *%rdx; pop %rbp; ret */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd2, 0x5d, 0xc3};
    unknown_code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (unknown_code == MAP_FAILED)
        fail("no page for code");
    memcpy(unknown_code, code, sizeof code);
#endif
}

unsigned long walk_from_unknown_code(struct walk *walk, unsigned level)
{
#if defined(__x86_64__)
    typedef unsigned long unknown_function(struct walk * walk, unsigned level, walk_step inner);
    int catchers = walk->catchers;
    walk->catchers = 0; /* no exception can leave it */
    unsigned long sum = ((unknown_function *)(uintptr_t)unknown_code)(walk, level, unknown_inner);
    walk->catchers = catchers;
    return sum;
#else
    return unknown_inner(walk, level);
#endif
}

static unsigned long walk_inside(struct walk *walk, unsigned level)
{
    jmp_buf *jump = walk->jump;
    int catchers = walk->catchers;
    walk->catchers = 0;
    walk->jump = NULL;
    call_here(walk);
    unsigned long sum = descend(walk, level);
    walk->catchers = catchers;
    walk->jump = jump;
    return sum;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    walk_inside(current, current_level);
}

unsigned long walk_from_callback(struct walk *walk, unsigned level)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40200000
    return 0; /* MPICH 4.2.1 and 5.0.2 end the program there: a mutex that the thread has already */
#endif
    if (!walk->can_nest)
        return 0;
    current = walk;
    current_level = level;
    walk->busy = 1;
    MPI_Comm_call_errhandler(called, MPI_ERR_OTHER);
    walk->busy = 0;
    return 1;
}

static void on_raised(int number)
{
    int error = errno;
    (void)number;
    walk_inside(current, current_level);
    errno = error;
}

unsigned long walk_from_handler(struct walk *walk, unsigned level)
{
    current = walk;
    current_level = level;
    raise(SIGUSR1);
    return 1;
}

unsigned long walk_from_handler_apart(struct walk *walk, unsigned level)
{
    if (walk->made)
        return 0; /* the other coroutine could use that stack, too */
    current = walk;
    current_level = level;
    raise(SIGUSR2);
    return 1;
}

static void handlers_set(void)
{
    struct sigaction action = {.sa_handler = on_raised, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags |= SA_ONSTACK;
    sigaction(SIGUSR2, &action, NULL);
}

static void stack_apart_set(void)
{
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    if (!stack.ss_sp || sigaltstack(&stack, NULL) != 0)
        fail("no stack for signals");
}

/* ---- signals at any instruction ----------------------------------------------------------------------------------
 *
 * A timer's signal lets the processor stop after each instruction, for some instructions. The handler calls MPI, if the
 * interrupted code is the program's: neither MPI nor malloc nor the loader.
 */

enum { STEPPED = 400, CALLED = 60, CALLED_IN_ALL = 2000 };

extern const char __executable_start[], etext[], __start_unsteppable[], __stop_unsteppable[];
static struct walk *volatile interrupted; /* NULL: no */
static struct walk asynchronous;
static int stepped, called_here, called_in_all;

#if defined(__x86_64__)

static const unsigned long long TRAP_FLAG = 0x100;

static bool is_good_time(const ucontext_t *context)
{
    const struct walk *walk = interrupted;
    const char *pc = (const char *)context->uc_mcontext.gregs[REG_RIP];
    return walk && !walk->busy && pc >= __executable_start && pc < etext &&
           (pc < __start_unsteppable || pc >= __stop_unsteppable);
}

static void on_instruction(int number, siginfo_t *info, void *data)
{
    ucontext_t *context = data;
    int error = errno;
    (void)number, (void)info;
    if (is_good_time(context) && called_in_all < CALLED_IN_ALL) {
        call_here(&asynchronous);
        called_here++;
        called_in_all++;
    }
    if (++stepped > STEPPED || called_here > CALLED)
        context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    errno = error;
}

static void on_timer(int number, siginfo_t *info, void *data)
{
    ucontext_t *context = data;
    (void)number, (void)info;
    /* a thread of the MPI library would trap when it ends, with all signals held back, and be killed */
    if (!interrupted || interrupted->busy || syscall(SYS_gettid) != getpid())
        return;
    stepped = called_here = 0;
    context->uc_mcontext.gregs[REG_EFL] |= (greg_t)TRAP_FLAG;
}

static void timer_set(long microseconds)
{
    struct sigaction action = {.sa_sigaction = on_instruction, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    sigaddset(&action.sa_mask, SIGALRM);
    sigaction(SIGTRAP, &action, NULL);
    action.sa_sigaction = on_timer;
    sigaddset(&action.sa_mask, SIGTRAP);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

#else

static void timer_set(long microseconds)
{
    (void)microseconds;
}

#endif

/* ---- walks --------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void walk_go(struct walk *walk, long number)
{
    volatile char *room = alloca(16 + (size_t)(number / SEEDS % SHIFTS) * 176);
    room[0] = 1;
    walk->random = (uint64_t)(number % SEEDS) * 977 + 1;
    walk->calls = WALK_CALLS;
    while (walk->calls > 0)
        walk_choose(walk)(walk, WALK_LEVELS);
    room[0] = 2;
}

static void walks_go(struct notes *notes, long calls, bool can_nest, bool timed)
{
    struct walk *walk = calloc(1, sizeof *walk);
    walk->notes = notes;
    walk->can_nest = can_nest;
    interrupted = timed ? walk : NULL;
    for (long i = 0; i * WALK_CALLS < calls; i++)
        walk_go(walk, i);
    if (timed)
        interrupted = NULL;
    free(walk);
}

struct thread {
    unsigned number;
    long calls;
};

static void *thread_run(void *argument)
{
    const struct thread *thread = argument;
    struct notes notes = notes_open(thread->number);
    stack_know();
    stack_apart_set();
    walks_go(&notes, thread->calls, false, false);
    fclose(notes.out);
    return NULL;
}

/* One library after the other, mostly at the same addresses. Returns how often that was so. */
static long plugins_walk(struct notes *notes, long calls, char *const plugins[], int count)
{
    struct walk *walk = calloc(1, sizeof *walk);
    uintptr_t last = 0;
    long again = 0;
    walk->notes = notes;
    for (long i = 0, left = calls; left > 0; i++) {
        void *handle = dlopen(plugins[i % count], RTLD_NOW);
        walk_step enter = handle ? (walk_step)dlsym(handle, "plugin_enter") : NULL;
        if (!enter)
            fail(dlerror());
        again += (uintptr_t)enter == last;
        last = (uintptr_t)enter;
        walk->random = (uint64_t)(i / count % 5) + 1;
        walk->calls = 30;
        while (walk->calls > 0)
            enter(walk, 3);
        left -= 30 - walk->calls;
        if (dlclose(handle) != 0)
            fail("dlclose");
    }
    free(walk);
    return again;
}

static struct walk *entered;

static void coroutine_run(void)
{
    struct walk *walk = entered;
    walk->calls = WALK_CALLS;
    while (walk->calls > 0)
        walk_choose(walk)(walk, WALK_LEVELS);
    walk->made = NULL; /* it has ended: its link is its outside */
}

static void coroutine_begin(struct walk *walk, struct coroutine *made, char *stack, struct notes *notes, long number)
{
    memset(walk, 0, sizeof *walk);
    walk->notes = notes;
    walk->made = made;
    walk->random = (uint64_t)number;
    getcontext(&made->inside);
    made->inside.uc_stack.ss_sp = stack;
    made->inside.uc_stack.ss_size = STACK_BYTES;
    made->inside.uc_link = &made->outside;
    makecontext(&made->inside, coroutine_run, 0);
}

/* Several coroutines take turns. */
static void coroutines_walk(struct notes *notes, long calls)
{
    enum { COUNT = 3 };
    static struct walk walks[COUNT];
    static struct coroutine made[COUNT];
    static char stacks[COUNT][STACK_BYTES];
    for (long round = 0; round * WALK_CALLS * COUNT < calls; round++) {
        for (int i = 0; i < COUNT; i++)
            coroutine_begin(&walks[i], &made[i], stacks[i], notes, round % SEEDS * COUNT + i + 1);
        for (bool any = true; any;) {
            any = false;
            for (int i = 0; i < COUNT; i++) {
                if (!walks[i].made)
                    continue;
                any = true;
                entered = &walks[i];
                swapcontext(&made[i].outside, &made[i].inside);
            }
        }
    }
}

static void modules_write(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/modules", directory);
    FILE *out = fopen(path, "w");
    for (unsigned i = 0; out && i < module_count; i++)
        fprintf(out, "%s\n", modules[i]);
    if (!out || fclose(out) != 0)
        fail(path);
}

int main(int argc, char *argv[])
{
    int provided;
    long calls = argc > 2 ? atol(argv[1]) : 0, again = 0;
    pthread_t threads[THREADS];
    struct thread tasks[THREADS];
    MPI_Errhandler handler;
    if (calls <= 0)
        fail("usage: pathwalk CALLS DIRECTORY [PLUGIN...]");
    directory = argv[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_dup(MPI_COMM_SELF, &called);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(called, handler);
    stack_know();
    stack_apart_set();
    handlers_set();
    struct notes notes = notes_open(0), timed = notes_open(THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++) {
        tasks[i] = (struct thread){i + 1, calls / 8};
        if (provided == MPI_THREAD_MULTIPLE)
            pthread_create(&threads[i], NULL, thread_run, &tasks[i]);
    }
    if (argc > 3)
        again = plugins_walk(&notes, calls / 8, argv + 3, argc - 3);
    for (unsigned i = 0; i < THREADS && provided == MPI_THREAD_MULTIPLE; i++)
        pthread_join(threads[i], NULL);
    asynchronous.notes = &timed;
    timer_set(50);
    walks_go(&notes, calls * 3 / 8, true, true);
    timer_set(0);
    coroutines_walk(&notes, calls / 8);
    fclose(notes.out);
    fclose(timed.out);
    modules_write();
    printf("%d calls, %ld libraries at the address of another one, %d in signals at any time\n", last_tag, again,
           called_in_all);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&called);
    MPI_Finalize();
    return 0;
}
