/*
 * Where a signal leaves the registers of what it interrupts.
 *
 *     CONTEXT_PC, context_offset    offsets in a ucontext_t: the program counter, the registers by their number
 *     SIGNAL_MARK                   a word in each frame of a signal, at SIGNAL_MARK_AT above the stack pointer of the
 *                                   handler's return. The context is at SIGNAL_CONTEXT_AT. 0: unwind tables know it all
 *
 * Source of SIGNAL_MARK: asm/sigcontext.h of Linux. The record of the vector registers is always the first.
 */
#ifndef MPIT_PROBES_SIGNALFRAME_H
#define MPIT_PROBES_SIGNALFRAME_H

#ifndef _GNU_SOURCE
#endif

#include "unwinder/machine.h"

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#if defined(__x86_64__)

enum { CONTEXT_PC = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * REG_RIP };
enum { SIGNAL_CONTEXT_AT = 0, SIGNAL_MARK_AT = 0 };
#define SIGNAL_MARK UINT64_C(0)

static inline size_t context_offset(unsigned number)
{
    static const uint8_t places[UNWIND_REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    return offsetof(ucontext_t, uc_mcontext.gregs) + 8 * (size_t)places[number];
}

#elif defined(__aarch64__)

enum { CONTEXT_PC = offsetof(ucontext_t, uc_mcontext.pc) };
enum { SIGNAL_CONTEXT_AT = sizeof(siginfo_t) };
enum { SIGNAL_MARK_AT = SIGNAL_CONTEXT_AT + offsetof(ucontext_t, uc_mcontext.__reserved) };
#define SIGNAL_MARK ((uint64_t)sizeof(struct fpsimd_context) << 32 | FPSIMD_MAGIC)

/* The stack pointer is behind the other registers. */
static inline size_t context_offset(unsigned number)
{
    return offsetof(ucontext_t, uc_mcontext.regs) + 8 * (size_t)number;
}

#endif

#endif
