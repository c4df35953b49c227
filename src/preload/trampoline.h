/*
 * Trampolines: each exported function is one jump through its gate. At first the gate leads to the lines after the
 * jump. They call preload_resolve(number) with all registers of arguments saved, and jump to its result. So the return
 * address stays the caller's.
 *
 *     MPI_Send:  jmp *mpit_gate_MPI_Send        mpit_gate_MPI_Send: -> the line below, or the recorder's, or the next
 *                push number; jmp preload_stub
 *
 * The names need no relocation, and the numbers follow from the addresses. So a process without MPI pays only one
 * relocation for each gate.
 */
#ifndef MPIT_PRELOAD_TRAMPOLINE_H
#define MPIT_PRELOAD_TRAMPOLINE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
enum { TRAMPOLINE_BYTES = 16, TRAMPOLINE_STUB = 6 };
#define TRAMPOLINE(number, name)                                                                                       \
    "\t.p2align 4\n" name ":\n\t{disp32} jmp *.Lgate" number "(%rip)\n.Lstub" number ":\n\tpush $" number              \
    "\n\tjmp preload_stub\n"
#define TRAMPOLINE_COMMON                                                                                              \
    "preload_stub:\n\t.cfi_startproc\n\t.cfi_def_cfa_offset 16\n\t"                                                    \
    "pushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n\tpushq %r8\n\tpushq %r9\n\tpushq %rax\n\tpushq %r10\n\t"   \
    "subq $128, %rsp\n\t.cfi_def_cfa_offset 208\n\t"                                                                   \
    "movups %xmm0, (%rsp)\n\tmovups %xmm1, 16(%rsp)\n\tmovups %xmm2, 32(%rsp)\n\tmovups %xmm3, 48(%rsp)\n\t"           \
    "movups %xmm4, 64(%rsp)\n\tmovups %xmm5, 80(%rsp)\n\tmovups %xmm6, 96(%rsp)\n\tmovups %xmm7, 112(%rsp)\n\t"        \
    "movq 192(%rsp), %rdi\n\tcall preload_resolve\n\tmovq %rax, %r11\n\t"                                              \
    "movups (%rsp), %xmm0\n\tmovups 16(%rsp), %xmm1\n\tmovups 32(%rsp), %xmm2\n\tmovups 48(%rsp), %xmm3\n\t"           \
    "movups 64(%rsp), %xmm4\n\tmovups 80(%rsp), %xmm5\n\tmovups 96(%rsp), %xmm6\n\tmovups 112(%rsp), %xmm7\n\t"        \
    "addq $128, %rsp\n\t.cfi_def_cfa_offset 80\n\t"                                                                    \
    "popq %r10\n\tpopq %rax\n\tpopq %r9\n\tpopq %r8\n\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n\t"           \
    "addq $8, %rsp\n\t.cfi_def_cfa_offset 8\n\tjmp *%r11\n\t.cfi_endproc\n"
#elif defined(__aarch64__)
enum { TRAMPOLINE_BYTES = 32, TRAMPOLINE_STUB = 12 };
#define TRAMPOLINE(number, name)                                                                                       \
    "\t.p2align 5\n" name ":\n\tadrp x16, .Lgate" number "\n\tldr x16, [x16, :lo12:.Lgate" number "]\n\tbr x16\n"      \
    ".Lstub" number ":\n\tmov x16, #" number "\n\tb preload_stub\n"
#define TRAMPOLINE_COMMON                                                                                              \
    "preload_stub:\n\t.cfi_startproc\n\t"                                                                              \
    "stp x29, x30, [sp, #-224]!\n\t.cfi_def_cfa_offset 224\n\t.cfi_offset 29, -224\n\t.cfi_offset 30, -216\n\t"        \
    "mov x29, sp\n\tstp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\tstp x4, x5, [sp, #48]\n\t"                       \
    "stp x6, x7, [sp, #64]\n\tstr x8, [sp, #80]\n\t"                                                                   \
    "stp q0, q1, [sp, #96]\n\tstp q2, q3, [sp, #128]\n\tstp q4, q5, [sp, #160]\n\tstp q6, q7, [sp, #192]\n\t"          \
    "mov x0, x16\n\tbl preload_resolve\n\tmov x16, x0\n\t"                                                             \
    "ldp x0, x1, [sp, #16]\n\tldp x2, x3, [sp, #32]\n\tldp x4, x5, [sp, #48]\n\tldp x6, x7, [sp, #64]\n\t"             \
    "ldr x8, [sp, #80]\n\t"                                                                                            \
    "ldp q0, q1, [sp, #96]\n\tldp q2, q3, [sp, #128]\n\tldp q4, q5, [sp, #160]\n\tldp q6, q7, [sp, #192]\n\t"          \
    "ldp x29, x30, [sp], #224\n\t.cfi_def_cfa_offset 0\n\tbr x16\n\t.cfi_endproc\n"
#else
#error "trampoline.h needs the jump through a pointer for this architecture"
#endif

#define TRAMPOLINE_EXPORT(name, kind, bytes)                                                                           \
    "\t.globl " name "\n\t.type " name ", " kind "\n\t.size " name ", " bytes "\n"

/* With PRELOAD_NAMES, and PREFIX of the gates. */
#define TRAMPOLINE_CODE(number, name) TRAMPOLINE(#number, #name) TRAMPOLINE_EXPORT(#name, "%function", ".-" #name)
#define TRAMPOLINE_GATE(number, name)                                                                                  \
    PRELOAD_PREFIX #name ":\n.Lgate" #number ":\n\t.quad .Lstub" #number                                               \
                         "\n" TRAMPOLINE_EXPORT(PRELOAD_PREFIX #name, "%object", "8")
#define TRAMPOLINES                                                                                                    \
    __asm__(".pushsection .text\n\t.p2align 6\npreload_code:\n" PRELOAD_NAMES(TRAMPOLINE_CODE) TRAMPOLINE_COMMON       \
            "\t.popsection\n\t.pushsection .data\n\t.p2align 3\npreload_gates:\n" PRELOAD_NAMES(                       \
                TRAMPOLINE_GATE) "\t.popsection");                                                                     \
    extern char preload_code[] __attribute__((visibility("hidden")));                                                  \
    extern void *preload_gates[PRELOAD_COUNT] __attribute__((visibility("hidden")));                                   \
    static const char preload_names[PRELOAD_COUNT][PRELOAD_NAME_BYTES] = {PRELOAD_NAMES(TRAMPOLINE_NAME)};             \
    __attribute__((visibility("hidden"), used)) void *preload_resolve(size_t number)
#define TRAMPOLINE_NAME(number, name) #name,

/* The first target of the gate. */
#define TRAMPOLINE_START(number) ((void *)(preload_code + (number)*TRAMPOLINE_BYTES + TRAMPOLINE_STUB))

#endif
