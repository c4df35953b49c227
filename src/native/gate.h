/*
 * Gates: the symbols that the program calls.
 *
 * Each is one instruction that jumps to where its pointer points: to our definition, or past us to the next one. A gate
 * that is let pass touches no argument, so that it is right for every ABI: with the wrong preload loaded, or with
 * MPIT_DISABLE set, the program runs as if mpit were not there.
 *
 *     MPI_Send:  jmp *gate_MPI_Send          gate_MPI_Send -> mpit_impl_MPI_Send (the definition that follows GATE)
 *                                                          or the next MPI_Send
 */
#ifndef MPIT_NATIVE_GATE_H
#define MPIT_NATIVE_GATE_H

#include "native.h"

#if defined(__x86_64__)
#define GATE_JUMP(symbol, gate) "jmp *" gate "(%rip)\n"
#elif defined(__aarch64__)
#define GATE_JUMP(symbol, gate) "adrp x16, " gate "\n\tldr x16, [x16, :lo12:" gate "]\n\tbr x16\n"
#else
#error "gate.h needs the jump through a pointer for this architecture"
#endif

/* `mpit_entry_` + symbol is the same address under a name that nobody can replace. */
#define GATE_SYMBOL(symbol, gate)                                                                                      \
    __asm__(".pushsection .text\n\t.p2align 4\n\t.globl mpit_entry_" symbol "\n\t.hidden mpit_entry_" symbol           \
            "\nmpit_entry_" symbol ":\n\t.globl " symbol "\n\t.type " symbol ", %function\n" symbol                    \
            ":\n\t" GATE_JUMP(symbol, gate) "\t.size " symbol ", .-" symbol "\n\t.popsection")

/* A symbol of this library alone, which jumps to where the address points. */
#define GATE_LOCAL(symbol, gate)                                                                                       \
    __asm__(".pushsection .text\n\t.p2align 4\n\t.globl " symbol "\n\t.hidden " symbol "\n\t.type " symbol             \
            ", %function\n" symbol ":\n\t" GATE_JUMP(symbol, gate) "\t.size " symbol ", .-" symbol "\n\t.popsection")

#define HIDDEN __attribute__((visibility("hidden")))

/* Stands before the definition of `name`. */
#define GATE(name)                                                                                                     \
    extern __typeof__(name) name __asm__("mpit_impl_" #name);                                                          \
    void *gate_##name __attribute__((visibility("hidden"), used)) = (void *)(name);                                    \
    GATE_SYMBOL(#name, "gate_" #name)

/* Stands behind the definition of MPI_name: PMPI_name comes to it, too, until its gate is let pass (profiled.h). */
#define GATE_PROFILED(name)                                                                                            \
    void *gate_P##name __attribute__((visibility("hidden"), used)) = (void *)(name);                                   \
    GATE_SYMBOL("P" #name, "gate_P" #name)

/* Stands behind that: the way to the wrapper for the library's Fortran layer alone (fortran.c). */
#define ROUTE(name, parameters, arguments) _Static_assert(1, "")
#define ROUTE_LOCAL ROUTE

/* Lets the gate pass: its calls go to the next definition. */
#define GATE_PASS(name)                                                                                                \
    do {                                                                                                               \
        extern void *gate_##name __attribute__((visibility("hidden")));                                                \
        void *next_definition = native_symbol(#name);                                                                  \
        if (next_definition)                                                                                           \
            __atomic_store_n(&gate_##name, next_definition, __ATOMIC_RELEASE);                                         \
    } while (0)

#endif
