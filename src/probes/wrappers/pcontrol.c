#include "wrappers/pcontrol.h"

#include "gate.h"
#include "instruments/instrument.h"
#include "instruments/namedphases.h"
#include "thread/log.h"
#include "wrappers/next.h"
#include "recorder/recorder.h"
#include "settings/knobs.h"
#include "settings/settings.h"
#include "wrappers/switchboard.h"

#include <mpi.h>
#include <pthread.h>

/* The functions to call next, for the two entries. NULL: not found yet, or there is none. */
void *pcontrol_next HIDDEN, *pcontrol_next_profiled HIDDEN;
void pcontrol_called(int level, uintptr_t argument) HIDDEN;
void pcontrol_called_profiled(int level, uintptr_t argument) HIDDEN;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock: a stretch without recording begins or ends now. */
static void stretch_turn(bool on, uint64_t now)
{
    struct run_header *header = book.run.header;
    uint64_t since = __atomic_load_n(&header->off_since, __ATOMIC_RELAXED);
    struct log *log = log_get();
    if (on && since) {
        __atomic_store_n(&header->off_ticks, run_off_ticks(header, now), __ATOMIC_RELAXED);
        __atomic_store_n(&header->off_since, 0, __ATOMIC_RELEASE);
    } else if (!on && !since) {
        __atomic_store_n(&header->off_since, now, __ATOMIC_RELEASE);
        __atomic_store_n(&header->off_count, header->off_count + 1, __ATOMIC_RELAXED);
    }
    uintptr_t outer;
    if (log && log_in(log, stack_entered(), &outer)) {
        struct event event = {.begin = now, .kind = EVENT_SWITCHED, .peer = on};
        if (log->state->call != CALL_NONE)
            event.kind |= EVENT_NESTED;
        log_commit(log, &event);
        log_out(log, outer);
    }
}

/* The times of the two marks enclose all calls that are recorded between them, in all threads. */
static void recording_switch(bool on)
{
    pthread_mutex_lock(&lock);
    bool running = __atomic_load_n(&recorder_on, __ATOMIC_ACQUIRE);
    if (on != switchboard_records()) {
        uint64_t before = clock_now();
        switchboard_record(on);
        if (running)
            stretch_turn(on, on ? before : clock_now());
    }
    pthread_mutex_unlock(&lock);
}

void pcontrol_begin(void)
{
    pthread_mutex_lock(&lock);
    if (!switchboard_records())
        stretch_turn(false, clock_now());
    __atomic_store_n(&knobs_recording, recording_switch, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

static void called(int level, uintptr_t argument, bool profiled, uintptr_t here)
{
    if (!pcontrol_next)
        next_find(NULL);
    settings_read(); /* a later MPI_Init must not set mpit_recording */
    if (level >= 0)
        recording_switch(level > 0);
    phases_called(level, argument, profiled, here);
    if (level > 1 && __atomic_load_n(&recorder_on, __ATOMIC_ACQUIRE))
        instrument_publish();
}

/* `argument` is the second argument, if there was one. Else it is anything (namedphases.h). */
void pcontrol_called(int level, uintptr_t argument)
{
    called(level, argument, false, (uintptr_t)__builtin_frame_address(0));
}

void pcontrol_called_profiled(int level, uintptr_t argument)
{
    called(level, argument, true, (uintptr_t)__builtin_frame_address(0));
}

/* The next function if there is no other. */
static int nothing(int level)
{
    (void)level;
    return MPI_SUCCESS;
}

void pcontrol_find(void)
{
    void *next = native_symbol("MPI_Pcontrol"), *profiled = native_symbol("PMPI_Pcontrol");
    __atomic_store_n(&pcontrol_next, next ? next : (void *)nothing, __ATOMIC_RELEASE);
    __atomic_store_n(&pcontrol_next_profiled, profiled ? profiled : (void *)nothing, __ATOMIC_RELEASE);
}

/*
 * C cannot pass on a function with any arguments. So all places of arguments are saved around pcontrol_called, and the
 * call goes on as it came. PMPI_Pcontrol is seen as well, because Fortran and tools in front call it. A call that is
 * seen twice switches to the present state.
 */
#if defined(__x86_64__)
#define PCONTROL_PASS(entry, called, next)                                                                             \
    __asm__(                                                                                                           \
        ".pushsection .text\n\t.p2align 4\n\t.hidden " entry "\n\t.globl " entry "\n\t.type " entry                    \
        ", @function\n" entry ":\n\t"                                                                                  \
        ".cfi_startproc\n\t"                                                                                           \
        "pushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n\tpushq %r8\n\tpushq %r9\n\tpushq %rax\n\t"             \
        "subq $128, %rsp\n\t.cfi_def_cfa_offset 192\n\t"                                                               \
        "movups %xmm0, (%rsp)\n\tmovups %xmm1, 16(%rsp)\n\tmovups %xmm2, 32(%rsp)\n\tmovups %xmm3, 48(%rsp)\n\t"       \
        "movups %xmm4, 64(%rsp)\n\tmovups %xmm5, 80(%rsp)\n\tmovups %xmm6, 96(%rsp)\n\tmovups %xmm7, 112(%rsp)\n\t"    \
        "call " called "\n\t"                                                                                          \
        "movups (%rsp), %xmm0\n\tmovups 16(%rsp), %xmm1\n\tmovups 32(%rsp), %xmm2\n\tmovups 48(%rsp), %xmm3\n\t"       \
        "movups 64(%rsp), %xmm4\n\tmovups 80(%rsp), %xmm5\n\tmovups 96(%rsp), %xmm6\n\tmovups 112(%rsp), %xmm7\n\t"    \
        "addq $128, %rsp\n\t"                                                                                          \
        "popq %rax\n\tpopq %r9\n\tpopq %r8\n\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n\t"                    \
        ".cfi_def_cfa_offset 8\n\t"                                                                                    \
        "jmp *" next "(%rip)\n\t.cfi_endproc\n\t.size " entry ", .-" entry "\n\t.popsection")
#elif defined(__aarch64__)
#define PCONTROL_PASS(entry, called, next)                                                                             \
    __asm__(                                                                                                           \
        ".pushsection .text\n\t.p2align 4\n\t.hidden " entry "\n\t.globl " entry "\n\t.type " entry                    \
        ", %function\n" entry ":\n\t.cfi_startproc\n\t"                                                                \
        "stp x29, x30, [sp, #-208]!\n\t.cfi_def_cfa_offset 208\n\t.cfi_offset 29, -208\n\t.cfi_offset 30, -200\n\t"    \
        "mov x29, sp\n\t"                                                                                              \
        "stp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\tstp x4, x5, [sp, #48]\n\tstp x6, x7, [sp, #64]\n\t"         \
        "stp q0, q1, [sp, #80]\n\tstp q2, q3, [sp, #112]\n\tstp q4, q5, [sp, #144]\n\tstp q6, q7, [sp, #176]\n\t"      \
        "bl " called "\n\t"                                                                                            \
        "ldp x0, x1, [sp, #16]\n\tldp x2, x3, [sp, #32]\n\tldp x4, x5, [sp, #48]\n\tldp x6, x7, [sp, #64]\n\t"         \
        "ldp q0, q1, [sp, #80]\n\tldp q2, q3, [sp, #112]\n\tldp q4, q5, [sp, #144]\n\tldp q6, q7, [sp, #176]\n\t"      \
        "ldp x29, x30, [sp], #208\n\t.cfi_def_cfa_offset 0\n\t.cfi_restore 29\n\t.cfi_restore 30\n\t"                  \
        "adrp x16, " next "\n\tldr x16, [x16, :lo12:" next "]\n\tbr x16\n\t.cfi_endproc\n\t"                           \
        ".size " entry ", .-" entry "\n\t.popsection")
#endif

PCONTROL_PASS("mpit_impl_MPI_Pcontrol", "pcontrol_called", "pcontrol_next");
PCONTROL_PASS("mpit_impl_PMPI_Pcontrol", "pcontrol_called_profiled", "pcontrol_next_profiled");
GATE(MPI_Pcontrol);
GATE(PMPI_Pcontrol);
