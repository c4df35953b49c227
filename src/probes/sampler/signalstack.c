#include "sampler/signalstack.h"

#include "base/pages.h"
#include "gate.h"
#include "sampler/behind.h"
#include "sampler/sampler.h"

#include <sys/auxv.h>

/* The least that the kernel takes, and what the handler needs before it goes on to the other stack. */
enum { STACK_BYTES = 256 << 10, KERNEL_LEAST = 2048, HANDLER_NEEDS = 1024, FRAME_USUAL = 4096 };
enum { OF_FRAME = 51 }; /* AT_MINSIGSTKSZ, which older headers lack */

typedef void taking(siginfo_t *info, void *context);
typedef void taking_apart(siginfo_t *info, void *context, taking *function);

/* Calls signal_stack_apart with another stack pointer. */
extern void stack_switch(siginfo_t *info, void *context, taking *function, void *top) HIDDEN;
extern taking_apart signal_stack_apart HIDDEN;
#if defined(__x86_64__)
#define SWITCH                                                                                                         \
    "push %rbp\n mov %rsp, %rbp\n mov %rcx, %rsp\n call signal_stack_apart\n mov %rbp, %rsp\n pop %rbp\n ret\n"
#else
#define SWITCH                                                                                                         \
    "stp x29, x30, [sp, #-16]!\n mov x29, sp\n mov sp, x3\n bl signal_stack_apart\n mov sp, x29\n"                     \
    "ldp x29, x30, [sp], #16\n ret\n"
#endif
__asm__(".pushsection .text\n.globl stack_switch\n.hidden stack_switch\n.type stack_switch, %function\n"
        "stack_switch: " SWITCH ".size stack_switch, .-stack_switch\n.popsection");

BEHIND(sigaltstack)

static int ours_set(stack_t *old)
{
    const stack_t ours = {.ss_sp = sampled_self.stack, .ss_size = STACK_BYTES};
    return behind_sigaltstack()(&ours, old);
}

/* True if the frame of a signal fits. */
static bool is_large_enough(const stack_t *stack)
{
    size_t frame = getauxval(OF_FRAME);
    return !(stack->ss_flags & SS_DISABLE) && stack->ss_size >= (frame ? frame : FRAME_USUAL) + HANDLER_NEEDS;
}

GUARD(sigaltstack);
int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
    bool replaced = stack && sampled_self.stack && !is_large_enough(stack) &&
                    (stack->ss_flags & SS_DISABLE || stack->ss_size >= KERNEL_LEAST);
    int result = replaced ? ours_set(old) : behind_sigaltstack()(stack, old);
    if (result == 0 && old && sampled_self.stack && old->ss_sp == sampled_self.stack)
        *old = (stack_t){.ss_flags = SS_DISABLE};
    return result;
}

void signal_stack_begin(void)
{
    stack_t now;
    void *stack = sampler_is_guarded() ? pages_map(STACK_BYTES) : NULL;
    sampled_self.stack = stack;
    if (!stack)
        return;
    mprotect(stack, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE);
    if (behind_sigaltstack()(NULL, &now) == 0 && !is_large_enough(&now))
        ours_set(NULL);
}

void signal_stack_end(void)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    stack_t now;
    if (sampled_self.stack && behind_sigaltstack()(NULL, &now) == 0 && now.ss_sp == sampled_self.stack)
        behind_sigaltstack()(&none, NULL);
    pages_unmap(sampled_self.stack, STACK_BYTES);
    sampled_self.stack = NULL;
}

/* Tells the kernel the stack until the handler returns: a fault must not overwrite the frame on the program's. */
void signal_stack_apart(siginfo_t *info, void *context, taking *function)
{
    ours_set(NULL);
    function(info, context);
}

void signal_stack_call(taking *function, siginfo_t *info, void *context)
{
    char *stack = sampled_self.stack, *here = __builtin_frame_address(0);
    if ((uintptr_t)here - (uintptr_t)stack < STACK_BYTES)
        function(info, context);
    else
        stack_switch(info, context, function, stack + STACK_BYTES);
}
