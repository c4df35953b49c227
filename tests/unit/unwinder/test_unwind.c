/*
 * The unwinder against libgcc's, which knows the same tables and does not look where it reads: at every single
 * instruction of functions of all kinds. And where tables are missing or wrong, so that libgcc's could not be asked.
 */
#define _GNU_SOURCE
#include "format/samples.h"
#include "unwinder/unwinder.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cmocka.h>

#if defined(__x86_64__)

enum { MOST = SAMPLE_FRAMES_MOST, STEPS_LEAST = 2000 };

static struct unwinder unwinder;
static volatile int steps, differences;
static volatile unsigned deepest;
static char difference[4096];

struct frames {
    uint64_t pcs[MOST + 16];
    unsigned count;
};

static _Unwind_Reason_Code frame_take(struct _Unwind_Context *context, void *value)
{
    struct frames *frames = value;
    if (frames->count == MOST + 16)
        return _URC_END_OF_STACK;
    frames->pcs[frames->count++] = _Unwind_GetIP(context);
    return _URC_NO_REASON;
}

/* What libgcc has from the interrupted frame on must be what we have. Its last frames may be none: it goes on until
 * there is no table. */
static void on_step(int number, siginfo_t *info, void *context)
{
    struct frames theirs = {.count = 0};
    uint64_t pcs[MOST];
    uint32_t flags;
    unsigned first = 0, same = 0, count = unwind_stack(&unwinder, context, pcs, MOST, &flags);
    (void)number, (void)info;
    _Unwind_Backtrace(frame_take, &theirs);
    while (first < theirs.count && theirs.pcs[first] != pcs[0])
        first++;
    while (same < count && first + same < theirs.count && theirs.pcs[first + same] == pcs[same])
        same++;
    bool whole = first + same == theirs.count || theirs.pcs[first + same] == 0;
    steps++;
    deepest = count > deepest ? count : deepest;
    if (same == count && whole && flags == 0)
        return;
    if (differences++ == 0) {
        int n =
            snprintf(difference, sizeof difference, "step %d: %u frames of %u, flags %u:", steps, same, count, flags);
        for (unsigned i = 0; i < count || first + i < theirs.count; i++)
            n += snprintf(difference + n, sizeof difference - (size_t)n, " %llx/%llx",
                          (unsigned long long)(i < count ? pcs[i] : 0),
                          (unsigned long long)(first + i < theirs.count ? theirs.pcs[first + i] : 0));
    }
}

/* The thread sanitizer delivers a signal when the thread comes to the next call that it knows, and blocks all others in
 * the handler: a stack is then another one, and a step that finds SIGTRAP blocked is deadly. */
#if defined(__SANITIZE_THREAD__)
#define NOT_WITH_DELAYED_SIGNALS() skip()
#else
#define NOT_WITH_DELAYED_SIGNALS() ((void)0)
#endif

/* The processor's trap flag: a SIGTRAP behind each instruction. */
#define STEPPER(name, change)                                                                                          \
    ".type " name ", @function\n" name ":\n\t.cfi_startproc\n\tpushfq\n\t.cfi_adjust_cfa_offset 8\n\t" change          \
    "\n\tpopfq\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n\t.size " name ", .-" name "\n"
__asm__(".text\n" STEPPER("steps_begin", "orq $0x100, (%rsp)") STEPPER("steps_end", "andq $~0x100, (%rsp)"));
extern void steps_begin(void);
extern void steps_end(void);

static void handler_set(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigaction(number, &action, NULL);
}

/* ---- functions of all kinds */

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) int with_many_registers(int n, const int *values)
{
    int a = values[0], b = values[1], c = values[2], d = values[3], e = values[4], f = values[5];
    for (int i = 0; i < n; i++) {
        a += b ^ i;
        b += c * a;
        c -= d + b;
        d ^= e - c;
        e += f | d;
        f -= a & compare(&e, &b);
    }
    return a + b + c + d + e + f;
}

static __attribute__((noinline)) int with_a_stack_of_its_own_size(int n)
{
    char *memory = alloca((size_t)n);
    memset(memory, n, (size_t)n);
    return memory[n / 2] + with_many_registers(2, (int[]){n, 2, 3, 4, 5, 6});
}

/* The stack is aligned anew, so that the frame is found by an expression. */
static __attribute__((noinline)) int with_an_aligned_stack(int n, ...)
{
    _Alignas(128) volatile char place[256];
    va_list rest;
    va_start(rest, n);
    int sum = 0;
    for (int i = 0; i < n; i++) {
        place[i] = (char)va_arg(rest, int);
        sum += place[i];
    }
    va_end(rest);
    return sum + with_a_stack_of_its_own_size(n * 16) + (int)((uintptr_t)place % 128);
}

static __attribute__((noinline)) int recursive(int n)
{
    volatile int here = n;
    return n == 0 ? with_an_aligned_stack(3, 1, 2, 3) : here + recursive(n - 1);
}

static __attribute__((noinline)) int in_a_loop(void)
{
    int values[12] = {9, 1, 8, 2, 7, 3, 6, 4, 5, 0, 11, 10}, sum = 0;
    char text[64];
    qsort(values, 12, sizeof *values, compare);
    snprintf(text, sizeof text, "%d %s %.3f", values[3], "text", 1.5);
    for (int i = 0; i < 12; i++)
        sum += values[i] * (int)strlen(text);
    return sum + recursive(5) + (int)getppid();
}

static int stepped(void **state)
{
    (void)state;
    steps = differences = 0;
    difference[0] = '\0';
    assert_true(unwind_open(&unwinder, pthread_self()));
    handler_set(SIGTRAP, on_step, 0);
    return 0;
}

static void each_instruction_has_the_stack_that_libgcc_sees(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) { /* the second one out of the cache, for the most part */
        uint64_t missed = unwinder.misses;
        steps_begin();
        volatile int result = in_a_loop();
        steps_end();
        (void)result;
        if (round == 1)
            assert_true(unwinder.misses - missed < missed);
    }
    if (differences)
        print_message("%s\n", difference);
    assert_int_equal(differences, 0);
    assert_true(steps > STEPS_LEAST);
    assert_true(deepest > 8);
}

static void on_user(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    steps_begin();
    volatile int result = in_a_loop();
    steps_end();
    (void)result;
}

static void a_handler_of_the_programs_leads_to_what_it_interrupted(void **state)
{
    (void)state;
    NOT_WITH_DELAYED_SIGNALS();
    handler_set(SIGUSR1, on_user, 0);
    volatile int result = (raise(SIGUSR1), recursive(1));
    (void)result;
    if (differences)
        print_message("%s\n", difference);
    assert_int_equal(differences, 0);
    assert_true(steps > STEPS_LEAST);
}

/* ---- where there is nothing to go by */

static struct frames seen;
static uint32_t seen_flags;

static void on_look(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    seen.count = unwind_stack(&unwinder, context, seen.pcs, MOST, &seen_flags);
}

static int looked(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    seen_flags = 0;
    assert_true(unwind_open(&unwinder, pthread_self()));
    handler_set(SIGUSR2, on_look, 0);
    return 0;
}

/* Kernels in assembler that say nothing of what they push; the program interrupts itself in them. */
__asm__(".text\n"
        ".type wild_pusher, @function\n"
        "wild_pusher:\n"
        "\t.cfi_startproc\n" /* and nothing else: the return address seems to be what was pushed last */
        "\tpushq %rbx\n"
        "\tpushq %rbp\n"
        "\tpushq %rdi\n"
        "\tmovq $0x10, %rbp\n"
        "\tcall *%rsi\n"
        "\taddq $8, %rsp\n"
        "\tpopq %rbp\n"
        "\tpopq %rbx\n"
        "\tret\n"
        "\t.cfi_endproc\n"
        "\t.size wild_pusher, .-wild_pusher\n"
        ".type begun, @function\n"
        "begun:\n"
        "\tsubq $8, %rsp\n"
        "\tmovl $234, %eax\n" /* tgkill(process, thread, signal) */
        "\tmovl process_id(%rip), %edi\n"
        "\tmovl thread_id(%rip), %esi\n"
        "\tmovl $12, %edx\n" /* SIGUSR2 */
        "\tsyscall\n"
        "\taddq $8, %rsp\n"
        "\tret\n"
        "\t.size begun, .-begun\n"
        ".type bare, @function\n"
        "bare:\n"
        "\tpushq %rbx\n"
        "\tcall *%rsi\n"
        "\tpopq %rbx\n"
        "\tret\n"
        "\t.size bare, .-bare\n");
extern void wild_pusher(uint64_t pushed, void (*function)(void));
extern void bare(uint64_t pushed, void (*function)(void));
extern void begun(void);
__attribute__((used)) int process_id, thread_id;

static __attribute__((noinline)) void interrupt(void)
{
    raise(SIGUSR2);
    __asm__ volatile("");
}

static void wrong_tables_are_survived(void **state)
{
    const uint64_t pushed[] = {0,
                               1,
                               0x10,
                               (uint64_t)(uintptr_t)state,
                               (uint64_t)(uintptr_t)wild_pusher + 4,
                               UINT64_MAX,
                               UINT64_C(0x8000000000000000)};
    for (size_t i = 0; i < sizeof pushed / sizeof pushed[0]; i++) {
        wild_pusher(pushed[i], interrupt);
        assert_true(seen.count >= 2 && seen.count < MOST);
        bare(pushed[i], interrupt);
        /* where the program was compiled with frame pointers, they lead out of it */
        assert_true(seen_flags == SAMPLE_UNKNOWN ? seen.count >= 2 : seen_flags == 0 && seen.count > 4);
    }
}

static void a_function_without_a_table_that_has_just_begun_is_left(void **state)
{
    (void)state;
    NOT_WITH_DELAYED_SIGNALS();
    process_id = getpid();
    thread_id = (int)syscall(SYS_gettid);
    begun();
    assert_true(seen.count > 4 && seen_flags == 0);
    assert_true(seen.pcs[1] - (uintptr_t)a_function_without_a_table_that_has_just_begun_is_left < 512);
}

/* Every register has any value, anywhere in the code: what is not on the stack is not read. */
static void registers_of_all_values_are_survived(void **state)
{
    (void)state;
    ucontext_t context;
    uint64_t pcs[MOST];
    uint32_t flags;
    getcontext(&context);
    const ucontext_t sound = context;
    unsigned random = 1, unknown = 0;
    for (int i = 0; i < 200000; i++) {
        context = sound;
        for (int r = 0; r < 17; r++)
            if (rand_r(&random) % 3 == 0)
                context.uc_mcontext.gregs[r] += (rand_r(&random) % 4096 - 2048) * (rand_r(&random) % 2 ? 8 : 0x100000);
        context.uc_mcontext.gregs[REG_RIP] =
            (greg_t)((uintptr_t)(rand_r(&random) % 2 ? (char *)in_a_loop : (char *)qsort) +
                     (uintptr_t)rand_r(&random) % 8192);
        unsigned count = unwind_stack(&unwinder, &context, pcs, MOST, &flags);
        assert_true(count >= 1 && count <= MOST);
        unknown += flags != 0;
    }
    assert_true(unknown > 1000);
}

static __attribute__((noinline)) int down(int n)
{
    volatile int here = n;
    if (n == 0)
        interrupt();
    else
        down(n - 1);
    return here;
}

static void a_stack_that_is_too_deep_is_cut(void **state)
{
    (void)state;
    down(MOST * 3);
    assert_int_equal(seen.count, MOST);
    assert_int_equal(seen_flags, SAMPLE_CUT);
    down(3);
    assert_true(seen.count > 5 && seen.count < MOST);
    assert_int_equal(seen_flags, 0);
}

static void on_other_stack(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    interrupt();
}

static void another_stack_has_its_innermost_frame_alone(void **state)
{
    (void)state;
    NOT_WITH_DELAYED_SIGNALS();
    stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16}, none = {.ss_flags = SS_DISABLE};
    assert_int_equal(sigaltstack(&other, NULL), 0);
    handler_set(SIGUSR1, on_other_stack, SA_ONSTACK);
    raise(SIGUSR1);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen_flags, SAMPLE_ELSEWHERE);
    sigaltstack(&none, NULL);
    free(other.ss_sp);
}

static void *thread_look(void *value)
{
    looked(NULL);
    down(4);
    return value;
}

static void a_thread_has_a_stack_of_its_own(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, thread_look, NULL), 0);
    pthread_join(thread, NULL);
    assert_true(seen.count > 6);
    assert_int_equal(seen_flags, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_instruction_has_the_stack_that_libgcc_sees, stepped),
        cmocka_unit_test_setup(a_handler_of_the_programs_leads_to_what_it_interrupted, stepped),
        cmocka_unit_test_setup(wrong_tables_are_survived, looked),
        cmocka_unit_test_setup(a_function_without_a_table_that_has_just_begun_is_left, looked),
        cmocka_unit_test_setup(registers_of_all_values_are_survived, looked),
        cmocka_unit_test_setup(a_stack_that_is_too_deep_is_cut, looked),
        cmocka_unit_test_setup(another_stack_has_its_innermost_frame_alone, looked),
        cmocka_unit_test_setup(a_thread_has_a_stack_of_its_own, looked),
    };
    return unwind_works() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}

#else

int main(void)
{
    return 0;
}

#endif
