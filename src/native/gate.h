/*
 * Gates: how calls come from libmpit.so to the recorder. An exported function of libmpit.so is one jump through its
 * gate (src/preload/preload.h). The recorder's constructor writes its bodies into the gates. A gate that passes leads
 * to the next definition. Registers, stack and return address are then the same as in a process without mpit.
 *
 *     MPI_Send of libmpit.so:  jmp *gate_MPI_Send      gate_MPI_Send -> mpit_impl_MPI_Send (the definition after GATE)
 *                                                                    or the next MPI_Send
 */
#ifndef MPIT_NATIVE_GATE_H
#define MPIT_NATIVE_GATE_H

#include "native.h"

#define HIDDEN __attribute__((visibility("hidden")))

#if defined(__x86_64__)
#define GATE_JUMP(symbol, gate) "jmp *" gate "(%rip)\n"
#elif defined(__aarch64__)
#define GATE_JUMP(symbol, gate) "adrp x16, " gate "\n\tldr x16, [x16, :lo12:" gate "]\n\tbr x16\n"
#else
#error "gate.h needs the jump through a pointer for this architecture"
#endif

/* A symbol only of this library, which jumps to the address in the gate. */
#define GATE_LOCAL(symbol, gate)                                                                                       \
    __asm__(".pushsection .text\n\t.p2align 4\n\t.globl " symbol "\n\t.hidden " symbol "\n\t.type " symbol             \
            ", %function\n" symbol ":\n\t" GATE_JUMP(symbol, gate) "\t.size " symbol ", .-" symbol "\n\t.popsection")

/* An entry that the constructor writes (native.c). */
struct gate {
    void **gate, *body; /* gate is NULL: the library with the gates of the C library's functions is not loaded */
};

#define GATE_BODY(name, body_of_it)                                                                                    \
    extern void *gate_##name __asm__("mpit_gate_" #name);                                                              \
    static struct gate entry_##name __attribute__((section("mpit_gates"), used)) = {&gate_##name, (void *)(body_of_it)}

/* Stands before the definition of `name`. */
#define GATE(name)                                                                                                     \
    extern __typeof__(name) name __asm__("mpit_impl_" #name);                                                          \
    GATE_BODY(name, name)

/* The same for a function of the C library with a gate in libmpit-sampler.so. */
#define GUARD(name)                                                                                                    \
    extern __typeof__(name) name __asm__("mpit_impl_" #name);                                                          \
    extern void *guard_##name __asm__("mpit_guard_" #name) __attribute__((weak));                                      \
    static struct gate entry_##name __attribute__((section("mpit_gates"), used)) = {&guard_##name, (void *)(name)}

/* Stands after the definition of MPI_name: PMPI_name also leads to it, until its gate passes (profiled.h). */
#define GATE_PROFILED(name) GATE_BODY(P##name, name)

/* Makes the gate pass: its calls go to the next definition. */
#define GATE_PASS(name)                                                                                                \
    do {                                                                                                               \
        extern void *gate_##name __asm__("mpit_gate_" #name);                                                          \
        void *next_definition = native_symbol(#name);                                                                  \
        if (next_definition)                                                                                           \
            __atomic_store_n(&gate_##name, next_definition, __ATOMIC_RELEASE);                                         \
    } while (0)

#endif
