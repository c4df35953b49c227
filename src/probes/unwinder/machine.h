/*
 * What the unwinder must know of the processor: its registers, and where calls leave them. For signals there is
 * signalframe.h.
 *
 *     REGISTER_...          numbers in the unwind tables. REGISTER_RETURN: the column of the return address
 *     saved_registers       registers that functions leave as they were, the return address last
 *     UNWIND_SAME           how many of them are the same where the tables do not name them
 *     RETURN_IS_REGISTER    a call leaves its return address in a register, where a function without calls may keep it
 *     RED_ZONE              bytes below the stack pointer that signals leave as they were. Values that an epilogue has
 *                           popped are still there, at the place that the tables name
 *
 * Sources: System V ABI for x86-64, 3.2 and 3.6. DWARF for the Arm 64-bit Architecture (AADWARF64), 4. Procedure Call
 * Standard for the Arm 64-bit Architecture (AAPCS64), 6.
 */
#ifndef MPIT_PROBES_MACHINE_H
#define MPIT_PROBES_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

enum { REGISTER_FRAME = 6, REGISTER_STACK = 7, REGISTER_RETURN = 16, UNWIND_REGISTERS = 17 };
enum { UNWIND_SAVED = 7, UNWIND_SAME = 6, RETURN_IS_REGISTER = false, RED_ZONE = 128 };
static const uint8_t saved_registers[UNWIND_SAVED] = {3, REGISTER_FRAME, 12, 13, 14, 15, REGISTER_RETURN};
typedef int8_t unwind_distance; /* words from the CFA down to a saved register */
enum { UNWIND_DISTANCE_MOST = INT8_MAX };

/* Returns the address that a stored return address means. */
static inline uint64_t return_address(uint64_t stored)
{
    return stored;
}

/* True if there is a call before this return address: relative, or through a register or memory. */
static inline bool follows_call(uint64_t pc)
{
    const uint8_t *code = (const uint8_t *)(uintptr_t)pc;
    if (code[-5] == 0xe8)
        return true;
    for (int bytes = 2; bytes <= 7; bytes++)
        if (code[-bytes] == 0xff && (code[1 - bytes] & 0x38) == 0x10)
            return true;
    return false;
}

static inline bool is_stub_jump(uint64_t instruction)
{
    (void)instruction;
    return false;
}

#elif defined(__aarch64__)

enum { REGISTER_FRAME = 29, REGISTER_STACK = 31, REGISTER_RETURN = 30, UNWIND_REGISTERS = 32 };
enum { UNWIND_SAVED = 12, UNWIND_SAME = 12, RETURN_IS_REGISTER = true, RED_ZONE = 0 };
static const uint8_t saved_registers[UNWIND_SAVED] = {
    19, 20, 21, 22, 23, 24, 25, 26, 27, 28, REGISTER_FRAME, REGISTER_RETURN};
typedef int16_t unwind_distance; /* the registers lie below the variables */
enum { UNWIND_DISTANCE_MOST = INT16_MAX };

/* The processor may have signed the address. xpaclri, which old processors take as a hint, takes the signature away. */
static inline uint64_t return_address(uint64_t stored)
{
    register uint64_t address __asm__("x30") = stored;
    __asm__("hint #7" : "+r"(address));
    return address;
}

/* bl, or blr in any form */
static inline bool follows_call(uint64_t pc)
{
    if (pc % 4)
        return false;
    uint32_t code = ((const uint32_t *)(uintptr_t)pc)[-1];
    return (code & 0xfc000000) == 0x94000000 || (code & 0xfefff000) == 0xd63f0000;
}

/* The jump out of a linker's stub, through x16 or x17. */
static inline bool is_stub_jump(uint64_t instruction)
{
    return (instruction & 0xffffffdf) == 0xd61f0200;
}

#else
#error "machine.h needs the registers of this architecture"
#endif

#endif
