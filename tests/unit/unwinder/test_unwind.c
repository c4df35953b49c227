/*
 * The unwinder against libgcc's, which knows the same tables and does not look where it reads: at every single
 * instruction of functions of all kinds. And where tables are missing or wrong, so that libgcc's could not be asked.
 *
 * A process on aarch64 cannot step through itself. There a timer interrupts it, some thousand times, at any instruction.
 * (QEMU does so only between blocks of instructions, or with QEMU_SINGLESTEP=1 in the environment.)
 */
#define _GNU_SOURCE
#include "unittest.h"

#include "format/samples.h"
#include "unwinder/loaded.h"
#include "unwinder/signalframe.h"
#include "unwinder/unwinder.h"

#include <alloca.h>
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum { MOST = SAMPLE_FRAMES_MOST, STEPS_LEAST = 2000 };

#if defined(__x86_64__)
enum { STEP_SIGNAL = SIGTRAP, WITHOUT_TABLES = false };
#else
/* Linkers make stubs without tables. libgcc ends there, and we go on. */
enum { STEP_SIGNAL = SIGALRM, WITHOUT_TABLES = true };
#endif

static struct unwinder unwinder;
static volatile int steps, differences;
static volatile unsigned deepest;
static char difference[4096];

#if defined(__x86_64__)
/* The processor's trap flag: a SIGTRAP behind each instruction. */
#define STEPPER(name, change)                                                                                          \
    ".type " name ", @function\n" name ":\n\t.cfi_startproc\n\tpushfq\n\t.cfi_adjust_cfa_offset 8\n\t" change          \
    "\n\tpopfq\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n\t.size " name ", .-" name "\n"
__asm__(".text\n" STEPPER("steps_begin", "orq $0x100, (%rsp)") STEPPER("steps_end", "andq $~0x100, (%rsp)"));
extern void steps_begin(void);
extern void steps_end(void);

static void step_next(void)
{
}
#else
static volatile sig_atomic_t stepping;

static void step_next(void)
{
    const struct itimerval soon = {.it_value.tv_usec = 50 + steps * 7 % 100};
    if (stepping)
        setitimer(ITIMER_REAL, &soon, NULL);
}

static void steps_begin(void)
{
    stepping = 1;
    step_next();
}

static void steps_end(void)
{
    stepping = 0;
}
#endif

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
    step_next();
    if (whole && (same == count || (WITHOUT_TABLES && same > 0)) && flags == 0)
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

static __attribute__((noinline)) int with_a_large_frame(int n)
{
    volatile int place[4000];
    place[n % 4000] = n;
    return place[n % 4000] + with_an_aligned_stack(3, 1, 2, n);
}

#if defined(__aarch64__)
#define SIGNED __attribute__((noinline, target("branch-protection=pac-ret")))
#else
#define SIGNED __attribute__((noinline))
#endif

/* Its return address is signed, where the processor can do so. */
static SIGNED int with_a_signed_return_address(int n)
{
    volatile int here = n;
    return here + with_a_large_frame(n);
}

static __attribute__((noinline)) int recursive(int n)
{
    volatile int here = n;
    return n == 0 ? with_a_signed_return_address(3) : here + recursive(n - 1);
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

/* Some steps at the least. */
static void step_through(void)
{
    int wanted = steps + STEPS_LEAST;
    steps_begin();
    do {
        volatile int result = in_a_loop();
        (void)result;
    } while (steps <= wanted);
    steps_end();
}

FIXTURE(stepped)
{
    steps = differences = 0;
    difference[0] = '\0';
    assert_true(unwind_open(&unwinder, pthread_self()));
    handler_set(STEP_SIGNAL, on_step, 0);
}

static void each_instruction_has_the_stack_that_libgcc_sees(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) { /* the second one out of the cache, for the most part */
        uint64_t missed = unwinder.misses;
        step_through();
        if (round == 1) /* each step has some ten frames, of which two may have one place in the cache */
            assert_true(unwinder.misses - missed < 2 * (uint64_t)steps);
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
    step_through();
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

/* ---- from a call on */

static unsigned calls, compared;

/* A function that keeps its frame pointer. clang has no attribute for that, but the x86-64 tests need none. */
#ifdef __clang__
#define WITH_FRAME_POINTER
#else
#define WITH_FRAME_POINTER optimize("no-omit-frame-pointer")
#endif

/* As a wrapper of an MPI function begins. */
static __attribute__((noinline, WITH_FRAME_POINTER)) int called(int n)
{
    struct frames theirs = {.count = 0};
    struct unwind_words words;
    uint64_t pcs[UNWIND_FRAMES_MOST];
    uint32_t flags;
    unsigned count = unwind_call(&unwinder, __builtin_frame_address(0), (uintptr_t)__builtin_dwarf_cfa(), pcs,
                                 UNWIND_FRAMES_MOST, &flags, &words);
    _Unwind_Backtrace(frame_take, &theirs);
    assert_int_equal(flags, 0);
    assert_true(count > 3 && count < theirs.count);
    assert_memory_equal(pcs, theirs.pcs + 1, count * sizeof *pcs);
    assert_false(words.overflow);
    assert_true(words.count > 2 && words.until[count - 1] <= words.count);
    for (unsigned i = 0; i < words.count; i++)
        assert_int_equal(*words.list[i].at, words.list[i].value);
    calls++;
    return n + 1;
}

static __attribute__((noinline)) int called_last(int n)
{
    return called(n);
}

static __attribute__((noinline)) int called_with_a_large_frame(int n)
{
    volatile int place[4000];
    place[n] = called_last(n);
    return place[n] + called(n);
}

static __attribute__((noinline, WITH_FRAME_POINTER)) int called_with_a_frame_pointer(int n)
{
    return called_with_a_large_frame(n) + called(n);
}

static __attribute__((noinline)) int called_with_alloca(int n)
{
    volatile char *memory = alloca((size_t)n * 100);
    memory[n] = (char)called_with_a_frame_pointer(n);
    return memory[n] + called(n);
}

static SIGNED int called_with_a_signed_return_address(int n)
{
    return called_with_alloca(n) + called(n);
}

static int called_through_a_pointer(const void *a, const void *b)
{
    compared++;
    return called_with_a_signed_return_address(*(const int *)a) - *(const int *)b;
}

static void on_call(int number)
{
    called_with_alloca(number);
}

static void a_call_has_the_stack_that_libgcc_sees(void **state)
{
    (void)state;
    if (unwind_works())
        assert_true(unwind_open(&unwinder, pthread_self()));
    int values[2] = {2, 1};
    calls = compared = 0;
    qsort(values, 2, sizeof *values, called_through_a_pointer); /* once; a sanitizer's compares again */
    assert_true(compared > 0);
    assert_int_equal(calls, 5 * compared);
    NOT_WITH_DELAYED_SIGNALS();
    signal(SIGUSR1, on_call);
    raise(SIGUSR1);
    assert_int_equal(calls, 5 * compared + 4);
}

/* ---- where there is nothing to go by */

static struct frames seen;
static uint32_t seen_flags;

static void on_look(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    seen.count = unwind_stack(&unwinder, context, seen.pcs, MOST, &seen_flags);
}

FIXTURE(looked)
{
    memset(&seen, 0, sizeof seen);
    seen_flags = 0;
    assert_true(unwind_open(&unwinder, pthread_self()));
    handler_set(SIGUSR2, on_look, 0);
}

/* Kernels in assembler that say nothing of what they push, or what is wrong. The program interrupts itself in them. */
#if defined(__x86_64__)
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
#else
__asm__(".text\n"
        ".type wild_pusher, %function\n"
        "wild_pusher:\n"
        "\t.cfi_startproc\n"
        "\t.cfi_def_cfa_offset 16\n"
        "\t.cfi_offset 29, -8\n"
        "\t.cfi_offset 30, -16\n" /* the return address seems to be what was pushed last */
        "\tstp x29, x30, [sp, #-16]!\n"
        "\tstp x0, x0, [sp, #-16]!\n"
        "\tmov x29, #0x10\n"
        "\tblr x1\n"
        "\tadd sp, sp, #16\n"
        "\tldp x29, x30, [sp], #16\n"
        "\tret\n"
        "\t.cfi_endproc\n"
        "\t.size wild_pusher, .-wild_pusher\n"
        ".type begun, %function\n"
        "begun:\n"
        "\tsub sp, sp, #32\n"
        "\tmov x8, #131\n" /* tgkill(process, thread, signal) */
        "\tadrp x0, process_id\n"
        "\tldr w0, [x0, :lo12:process_id]\n"
        "\tadrp x1, thread_id\n"
        "\tldr w1, [x1, :lo12:thread_id]\n"
        "\tmov x2, #12\n" /* SIGUSR2 */
        "\tsvc #0\n"
        "\tadd sp, sp, #32\n"
        "\tret\n"
        "\t.size begun, .-begun\n"
        ".type bare, %function\n"
        "bare:\n"
        "\tstp x29, x30, [sp, #-32]!\n"
        "\tstr x0, [sp, #16]\n"
        "\tblr x1\n"
        "\tldp x29, x30, [sp], #32\n"
        "\tret\n"
        "\t.size bare, .-bare\n");
#endif
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

/* With a frame pointer, which is needed where calls put nothing on the stack. */
static __attribute__((WITH_FRAME_POINTER)) void a_function_without_a_table_that_has_just_begun_is_left(void **state)
{
    (void)state;
    NOT_WITH_DELAYED_SIGNALS();
    process_id = getpid();
    thread_id = (int)syscall(SYS_gettid);
    begun();
    assert_true(seen.count > 4 && seen_flags == 0);
    assert_true(seen.pcs[1] - (uintptr_t)a_function_without_a_table_that_has_just_begun_is_left < 512);
}

static uint64_t *context_word(ucontext_t *context, size_t offset)
{
    return (void *)((char *)context + offset);
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
        for (unsigned r = 0; r < UNWIND_REGISTERS; r++)
            if (rand_r(&random) % 3 == 0)
                *context_word(&context, context_offset(r)) +=
                    (uint64_t)((rand_r(&random) % 4096 - 2048) * (rand_r(&random) % 2 ? 8 : 0x100000));
        *context_word(&context, CONTEXT_PC) =
            (uintptr_t)(rand_r(&random) % 2 ? (char *)in_a_loop : (char *)qsort) + (uintptr_t)rand_r(&random) % 8192;
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
    EQUALS({seen.count, MOST}, {seen_flags, SAMPLE_CUT});
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
    EQUALS({seen.count, 1}, {seen_flags, SAMPLE_ELSEWHERE});
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

/* ---- what is loaded */

static const uint8_t *build_id_of(const struct dl_phdr_info *info, uint32_t *bytes)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const char *at = (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
                   *end = at + info->dlpi_phdr[i].p_filesz;
        for (const ElfW(Nhdr) * note; info->dlpi_phdr[i].p_type == PT_NOTE && at < end;
             at += sizeof *note + (note->n_namesz + 3) / 4 * 4 + (note->n_descsz + 3) / 4 * 4) {
            note = (const void *)at;
            *bytes = note->n_descsz;
            if (note->n_type == NT_GNU_BUILD_ID && strcmp(at + sizeof *note, "GNU") == 0)
                return (const uint8_t *)at + sizeof *note + 4;
        }
    }
    *bytes = 0;
    return NULL;
}

static int image_judge(struct dl_phdr_info *info, size_t bytes, void *count)
{
    uint32_t id_bytes;
    const uint8_t *id = build_id_of(info, &id_bytes);
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        struct image image;
        struct loaded loaded;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        assert_true(image_find(begin, &image) && image.begin <= begin && image.end >= begin + part->p_filesz);
        assert_ptr_equal(image.parts, info->dlpi_phdr);
        assert_int_equal(image.part_count, info->dlpi_phnum);
        assert_true(loaded_find(begin + part->p_filesz - 1, &loaded));
        EQUALS({loaded.bias, info->dlpi_addr}, {loaded.build_id_bytes, id_bytes});
        if (id)
            assert_memory_equal(loaded.build_id, id, id_bytes);
        ++*(int *)count;
    }
    return 0;
}

/* Beside this program. A sanitizer's dlopen does not know where the program looks. */
static void *library_open(const char *name)
{
    char path[4096];
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 64);
    assert_true(bytes > 0);
    path[bytes] = '\0';
    strcpy(strrchr(path, '/') + 1, name);
    return dlopen(path, RTLD_NOW);
}

/* This program has a gap between its segments, and so have two libraries. */
static void each_image_is_found(void **state)
{
    (void)state;
    int known = 0, all = 0;
    struct image image;
    dl_iterate_phdr(image_judge, &known);
    void *above = library_open("gapabove.so"), *below = library_open("gapbelow.so");
    assert_true(known > 1 && above && below);
    dl_iterate_phdr(image_judge, &all);
    assert_int_equal(all, known + 2);
    uintptr_t code = (uintptr_t)dlsym(below, "gap_code");
    assert_true(image_find(code, &image));
    dlclose(below);
    assert_false(image_find(code, &image));
    dlclose(above);
    assert_false(image_find(UINT64_MAX - 8, &image));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_instruction_has_the_stack_that_libgcc_sees, stepped),
        cmocka_unit_test_setup(a_handler_of_the_programs_leads_to_what_it_interrupted, stepped),
        cmocka_unit_test(a_call_has_the_stack_that_libgcc_sees),
        cmocka_unit_test_setup(wrong_tables_are_survived, looked),
        cmocka_unit_test_setup(a_function_without_a_table_that_has_just_begun_is_left, looked),
        cmocka_unit_test_setup(registers_of_all_values_are_survived, looked),
        cmocka_unit_test_setup(a_stack_that_is_too_deep_is_cut, looked),
        cmocka_unit_test_setup(another_stack_has_its_innermost_frame_alone, looked),
        cmocka_unit_test_setup(a_thread_has_a_stack_of_its_own, looked),
        cmocka_unit_test(each_image_is_found),
    };
    const struct CMUnitTest of_calls[] = {
        cmocka_unit_test(a_call_has_the_stack_that_libgcc_sees),
        cmocka_unit_test(each_image_is_found),
    };
    int failed = unwind_works() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
    unwind_open(&unwinder, pthread_self());
    find_object = NULL; /* as with an older C library */
    return failed + cmocka_run_group_tests(of_calls, NULL, NULL);
}
