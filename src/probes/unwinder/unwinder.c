#define _GNU_SOURCE
#include "unwinder/unwindtable.h"

#include "format/samples.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <ucontext.h>

uint32_t unwind_generation = 1;

void unwind_forget_all(void)
{
    __atomic_add_fetch(&unwind_generation, 1, __ATOMIC_RELEASE);
}

#if defined(__x86_64__)

/* Register numbers of x86-64 (System V ABI, 3.6). */
enum { RBP = 6, RSP = 7, RIP = 16 };
/* The size of the area below the stack that signal frames leave as it was (3.2.2). Values that an epilogue has popped
 * are still there, at the place that the tables name. */
enum { RED_ZONE = 128 };

/* In the order of these numbers. */
static const int context_places[UNWIND_REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
static const uint8_t saved_registers[UNWIND_SAVED] = {3, RBP, 12, 13, 14, 15};

bool unwind_works(void)
{
    return find_object != NULL;
}

bool unwind_open(struct unwinder *unwinder, pthread_t thread)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    memset(unwinder, 0, sizeof *unwinder);
    if (!unwind_works() || pthread_getattr_np(thread, &attributes) != 0)
        return false;
    bool good = pthread_attr_getstack(&attributes, &low, &bytes) == 0;
    pthread_attr_destroy(&attributes);
    unwinder->low = (uintptr_t)low;
    unwinder->high = (uintptr_t)low + bytes;
    return good;
}

/* Reads a word of the stack. False: it is outside of the stack. (Sanitizers have marks between variables, which do not
 * matter here.) */
static __attribute__((no_sanitize("address"))) bool word_read(const struct unwinder *u, uint64_t address,
                                                              uint64_t *value)
{
    if (address < u->floor || address > u->high - sizeof *value || address % sizeof *value)
        return false;
    *value = *(const uint64_t *)(uintptr_t)address;
    return true;
}

/* Notes a word that decided about the stack. */
static __attribute__((no_sanitize("address"))) void word_note(const struct unwinder *u, uint64_t address)
{
    struct unwind_words *words = u->words;
    const uint64_t *at = (const uint64_t *)(uintptr_t)address;
    if (!words || !address)
        return;
    for (unsigned i = 0; i < words->count; i++)
        if (words->list[i].at == at)
            return;
    if (words->count == UNWIND_WORDS_MOST)
        words->overflow = true;
    else
        words->list[words->count++] = (struct unwind_word){at, *at};
}

/* The same for a word that was read. */
static bool word_read_noted(const struct unwinder *u, uint64_t address, uint64_t *value)
{
    bool good = word_read(u, address, value);
    if (good)
        word_note(u, address);
    return good;
}

enum { EXPRESSION_DEPTH = 16 };

struct evaluation {
    const struct unwinder *unwinder;
    struct bytes bytes;
    uint64_t stack[EXPRESSION_DEPTH];
    unsigned depth;
};

static bool push(struct evaluation *e, uint64_t value)
{
    if (e->depth == EXPRESSION_DEPTH)
        return false;
    e->stack[e->depth++] = value;
    return true;
}

/* Operations on the two topmost values, and on the topmost. DW_OP_... (DWARF 5, 7.7.1) */
static bool calculate(struct evaluation *e, uint8_t operation)
{
    if (e->depth < 2)
        return false;
    uint64_t b = e->stack[--e->depth], *a = &e->stack[e->depth - 1];
    int64_t one = (int64_t)*a, other = (int64_t)b;
    switch (operation) {
    case 0x1a:
        *a &= b;
        return true;
    case 0x1c:
        *a -= b;
        return true;
    case 0x1e:
        *a *= b;
        return true;
    case 0x21:
        *a |= b;
        return true;
    case 0x22:
        *a += b;
        return true;
    case 0x24:
        *a = b < 64 ? *a << b : 0;
        return true;
    case 0x25:
        *a = b < 64 ? *a >> b : 0;
        return true;
    case 0x29:
        *a = one == other;
        return true;
    case 0x2a:
        *a = one >= other;
        return true;
    case 0x2b:
        *a = one > other;
        return true;
    case 0x2c:
        *a = one <= other;
        return true;
    case 0x2d:
        *a = one < other;
        return true;
    case 0x2e:
        *a = one != other;
        return true;
    default:
        return false;
    }
}

static bool operation_do(struct evaluation *e, uint8_t operation)
{
    static const struct {
        uint8_t size;
        bool is_signed;
    } constants[] = {{1, false}, {1, true}, {2, false}, {2, true}, {4, false}, {4, true}, {8, false}, {8, true}};
    if (operation >= 0x30 && operation <= 0x4f) /* lit */
        return push(e, operation - 0x30u);
    if (operation >= 0x70 && operation <= 0x8f) { /* breg */
        unsigned number = operation - 0x70u;
        int64_t offset = bytes_sleb(&e->bytes);
        word_note(e->unwinder, number < UNWIND_REGISTERS ? e->unwinder->sources[number] : 0);
        return number < UNWIND_REGISTERS && e->unwinder->known & 1u << number &&
               push(e, e->unwinder->registers[number] + (uint64_t)offset);
    }
    if (operation >= 0x08 && operation <= 0x0f) { /* const1u to const8s */
        size_t size = constants[operation - 0x08].size;
        return push(e, constants[operation - 0x08].is_signed ? (uint64_t)bytes_signed(&e->bytes, size)
                                                             : bytes_number(&e->bytes, size));
    }
    switch (operation) {
    case 0x06: /* deref */
        return e->depth && word_read_noted(e->unwinder, e->stack[e->depth - 1], &e->stack[e->depth - 1]);
    case 0x10: /* constu */
        return push(e, bytes_uleb(&e->bytes));
    case 0x11: /* consts */
        return push(e, (uint64_t)bytes_sleb(&e->bytes));
    case 0x12: /* dup */
        return e->depth && push(e, e->stack[e->depth - 1]);
    case 0x13: /* drop */
        return e->depth && e->depth--;
    case 0x23: /* plus_uconst */
        return e->depth && (e->stack[e->depth - 1] += bytes_uleb(&e->bytes), true);
    default:
        return calculate(e, operation);
    }
}

/* `first` is on the stack at the begin, if it is given. False: it cannot be evaluated. */
static bool evaluate(const struct unwinder *u, int64_t expression, const uint64_t *first, uint64_t *value)
{
    struct evaluation e = {.unwinder = u, .depth = 0};
    e.bytes = (struct bytes){(const uint8_t *)(uintptr_t)expression, (const uint8_t *)(uintptr_t)expression + 10};
    uint64_t length = bytes_uleb(&e.bytes);
    e.bytes.end = e.bytes.at ? e.bytes.at + length : NULL;
    if (first)
        push(&e, *first);
    while (e.bytes.at && e.bytes.at < e.bytes.end)
        if (!operation_do(&e, (uint8_t)bytes_number(&e.bytes, 1)))
            return false;
    if (!e.bytes.at || !e.depth)
        return false;
    *value = e.stack[e.depth - 1];
    return true;
}

/* Finds the caller's value of a register. *source: where it was read from, or the old value was. False: it is lost. */
static bool register_find(const struct unwinder *u, const uint64_t old[UNWIND_REGISTERS], unsigned number, uint64_t cfa,
                          uint64_t *value, uint64_t *source)
{
    const struct unwind_row *row = &u->row;
    uint64_t address;
    *source = 0;
    switch (row->rules[number]) {
    case RULE_SAME:
        *value = old[number];
        *source = u->sources[number];
        return u->known & 1u << number;
    case RULE_AT:
        *source = cfa + (uint64_t)row->values[number];
        return word_read(u, *source, value);
    case RULE_IS:
        *value = cfa + (uint64_t)row->values[number];
        return true;
    case RULE_IN:
        if (row->values[number] < 0 || row->values[number] >= UNWIND_REGISTERS)
            return false;
        *value = old[row->values[number]];
        *source = u->sources[row->values[number]];
        return u->known & 1u << row->values[number];
    case RULE_AT_EXPRESSION:
        if (!evaluate(u, row->values[number], &cfa, &address))
            return false;
        *source = address;
        return word_read(u, address, value);
    case RULE_IS_EXPRESSION:
        return evaluate(u, row->values[number], &cfa, value);
    default:
        return false;
    }
}

enum step { STEP_DONE, STEP_END, STEP_UNKNOWN, STEP_ELSEWHERE };

static bool cfa_find(const struct unwinder *u, uint64_t *cfa)
{
    const struct unwind_row *row = &u->row;
    if (row->cfa_is_expression)
        return evaluate(u, row->cfa, NULL, cfa);
    if (row->cfa_register >= UNWIND_REGISTERS || !(u->known & 1u << row->cfa_register))
        return false;
    word_note(u, u->sources[row->cfa_register]);
    *cfa = u->registers[row->cfa_register] + (uint64_t)row->cfa;
    return true;
}

/* Each frame is above the one that it called. */
static enum step cfa_judge(const struct unwinder *u, uint64_t cfa)
{
    if (cfa > u->high || cfa < u->floor)
        return STEP_ELSEWHERE;
    return cfa > u->registers[RSP] ? STEP_DONE : STEP_UNKNOWN;
}

/* Goes to the caller, by unwinder->row. */
static enum step row_apply(struct unwinder *u)
{
    uint64_t cfa, old[UNWIND_REGISTERS], fresh[UNWIND_REGISTERS], sources[UNWIND_REGISTERS];
    uint32_t known = 0;
    if (u->row.rules[RIP] == RULE_UNDEFINED)
        return STEP_END; /* the mark of a function without a caller */
    if (!cfa_find(u, &cfa))
        return STEP_UNKNOWN;
    enum step step = cfa_judge(u, cfa);
    if (step != STEP_DONE)
        return step;
    memcpy(old, u->registers, sizeof old);
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        if (register_find(u, old, i, cfa, &fresh[i], &sources[i]))
            known |= 1u << i;
    if (!(known & 1u << RIP))
        return STEP_UNKNOWN;
    if (!(known & 1u << RSP) || u->row.rules[RSP] == RULE_SAME) {
        fresh[RSP] = cfa;
        sources[RSP] = 0; /* it follows from what is noted */
    }
    word_note(u, sources[RIP]);
    memcpy(u->registers, fresh, sizeof fresh);
    memcpy(u->sources, sources, sizeof sources);
    u->known = known | 1u << RSP;
    return STEP_DONE;
}

/* Remembers the row, if it is of the usual kind. */
static void row_cache(struct unwinder *u, uint64_t pc)
{
    const struct unwind_row *row = &u->row;
    struct unwind_cached entry = {.pc = pc, .cfa = (int32_t)row->cfa, .cfa_register = row->cfa_register};
    if (row->cfa_is_expression || row->cfa != entry.cfa || row->rules[RIP] != RULE_AT || row->values[RIP] != -8)
        return;
    if (row->cfa_register != RSP && row->cfa_register != RBP)
        return;
    for (unsigned i = 0; i < UNWIND_SAVED; i++) {
        uint8_t rule = row->rules[saved_registers[i]];
        int64_t value = row->values[saved_registers[i]];
        if (rule == RULE_SAME)
            continue;
        if (rule != RULE_AT || value % 8 || value >= 0 || value / -8 > INT8_MAX)
            return;
        entry.saved[i] = (int8_t)(value / -8);
    }
    u->cache[pc % UNWIND_CACHED] = entry;
}

static enum step cached_apply(struct unwinder *u, const struct unwind_cached *entry)
{
    uint64_t pc;
    if (!(u->known & 1u << entry->cfa_register))
        return STEP_UNKNOWN;
    word_note(u, u->sources[entry->cfa_register]);
    uint64_t cfa = u->registers[entry->cfa_register] + (uint64_t)(int64_t)entry->cfa;
    enum step step = cfa_judge(u, cfa);
    if (step != STEP_DONE)
        return step;
    if (!word_read_noted(u, cfa - 8, &pc))
        return STEP_UNKNOWN;
    uint32_t known = 1u << RSP | 1u << RIP;
    for (unsigned i = 0; i < UNWIND_SAVED; i++) {
        unsigned number = saved_registers[i];
        uint64_t at = cfa - (uint64_t)entry->saved[i] * 8;
        bool good = entry->saved[i] ? word_read(u, at, &u->registers[number]) : (u->known & 1u << number) != 0;
        if (entry->saved[i])
            u->sources[number] = at;
        known |= (good ? 1u : 0) << number;
    }
    u->registers[RSP] = cfa;
    u->sources[RSP] = 0;
    u->registers[RIP] = pc;
    u->known = known;
    return STEP_DONE;
}

/* True if there is a call before this return address: relative, or through a register or memory. */
static bool follows_call(uint64_t pc)
{
    const uint8_t *code = (const uint8_t *)(uintptr_t)pc;
    if (code[-5] == 0xe8)
        return true;
    for (int bytes = 2; bytes <= 7; bytes++)
        if (code[-bytes] == 0xff && (code[1 - bytes] & 0x38) == 0x10)
            return true;
    return false;
}

enum { GUESSED_WORDS = 2 };

/* True if the word at `address` is a return address in a function with a table. */
static bool return_read(struct unwinder *u, uint64_t address, uint64_t *pc)
{
    return word_read(u, address, pc) && unwind_row_find(u, *pc - 1) == UNWIND_FOUND && follows_call(*pc);
}

/* For a function without a table, such as the ones that begin and end a library. It may have a frame pointer. Or it is
 * the innermost one and has done little so far. Then its return address is on top, or below one word. */
static enum step step_guess(struct unwinder *u, bool innermost)
{
    uint64_t pc, frame = u->registers[RBP], sp = u->registers[RSP];
    for (unsigned i = 0; innermost && i < GUESSED_WORDS; i++, sp += sizeof pc) {
        if (!return_read(u, sp, &pc))
            continue;
        u->registers[RIP] = pc;
        u->registers[RSP] = sp + sizeof pc;
        return STEP_DONE;
    }
    if (!(u->known & 1u << RBP) || frame < u->registers[RSP] || !return_read(u, frame + sizeof pc, &pc) ||
        !word_read(u, frame, &u->registers[RBP]))
        return STEP_UNKNOWN;
    u->registers[RIP] = pc;
    u->registers[RSP] = frame + 2 * sizeof pc;
    return STEP_DONE;
}

/* Goes to the caller. *exact: its program counter is the next instruction, and not a return address. */
static enum step step_out(struct unwinder *u, bool innermost, bool *exact)
{
    uint64_t pc = u->registers[RIP] - (*exact ? 0 : 1);
    const struct unwind_cached *entry = &u->cache[pc % UNWIND_CACHED];
    *exact = false;
    if (entry->pc == pc)
        return cached_apply(u, entry);
    u->misses++;
    enum unwind_result found = unwind_row_find(u, pc);
    if (found == UNWIND_NONE)
        return u->words ? STEP_UNKNOWN : step_guess(u, innermost);
    *exact = found == UNWIND_SIGNAL_FRAME;
    if (found == UNWIND_FOUND)
        row_cache(u, pc);
    return row_apply(u);
}

static void cache_check(struct unwinder *u)
{
    uint32_t now = __atomic_load_n(&unwind_generation, __ATOMIC_ACQUIRE);
    if (u->generation == now)
        return;
    memset(u->cache, 0, sizeof u->cache);
    u->generation = now;
}

/* Appends the callers of the current registers. `exact`: as in step_out, of the first one. */
static unsigned callers_find(struct unwinder *u, bool exact, uint64_t *pcs, unsigned most, uint32_t *flags)
{
    cache_check(u);
    unsigned count = 1;
    for (;; count++) {
        enum step step = step_out(u, count == 1, &exact);
        if (step == STEP_END || (step == STEP_DONE && u->registers[RIP] == 0))
            return count;
        if (step != STEP_DONE) {
            *flags |= step == STEP_ELSEWHERE ? SAMPLE_ELSEWHERE : SAMPLE_UNKNOWN;
            return count;
        }
        if (count == most) {
            *flags |= SAMPLE_CUT;
            return count;
        }
        pcs[count] = u->registers[RIP];
        if (u->words)
            u->words->until[count] = (uint8_t)u->words->count;
    }
}

unsigned unwind_stack(struct unwinder *u, const void *context, uint64_t *pcs, unsigned most, uint32_t *flags)
{
    const ucontext_t *interrupted = context;
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        u->registers[i] = (uint64_t)interrupted->uc_mcontext.gregs[context_places[i]];
    u->known = (1u << UNWIND_REGISTERS) - 1;
    *flags = 0;
    pcs[0] = u->registers[RIP];
    if (!u->high || u->registers[RSP] < u->low || u->registers[RSP] >= u->high) {
        *flags = SAMPLE_ELSEWHERE;
        return 1;
    }
    u->floor = u->registers[RSP] - RED_ZONE;
    if (u->floor < u->low)
        u->floor = u->low;
    u->words = NULL;
    return callers_find(u, true, pcs, most, flags);
}

unsigned unwind_call(struct unwinder *u, const uint64_t *frame, uint64_t *pcs, unsigned most, uint32_t *flags,
                     struct unwind_words *words)
{
    *flags = 0;
    words->count = 0;
    words->overflow = false;
    words->until[0] = 0;
    pcs[0] = frame[1];
    if (!u->high || (uintptr_t)frame < u->low || (uintptr_t)frame >= u->high - 2 * sizeof *frame) {
        *flags = SAMPLE_ELSEWHERE;
        return 1;
    }
    memset(u->sources, 0, sizeof u->sources);
    u->registers[RIP] = frame[1];
    u->registers[RSP] = (uintptr_t)(frame + 2);
    u->registers[RBP] = frame[0];
    u->sources[RBP] = (uintptr_t)frame;
    u->known = 1u << RIP | 1u << RSP | 1u << RBP;
    u->floor = (uintptr_t)(frame + 2);
    u->words = words;
    return callers_find(u, false, pcs, most, flags);
}

#else

bool unwind_works(void)
{
    return false;
}

bool unwind_open(struct unwinder *unwinder, pthread_t thread)
{
    (void)thread;
    memset(unwinder, 0, sizeof *unwinder);
    return false;
}

unsigned unwind_call(struct unwinder *unwinder, const uint64_t *frame, uint64_t *pcs, unsigned most, uint32_t *flags,
                     struct unwind_words *words)
{
    (void)unwinder, (void)most;
    words->count = 0;
    words->overflow = false;
    pcs[0] = frame[1];
    *flags = SAMPLE_ELSEWHERE;
    return 1;
}

unsigned unwind_stack(struct unwinder *unwinder, const void *context, uint64_t *pcs, unsigned most, uint32_t *flags)
{
    const ucontext_t *interrupted = context;
    (void)unwinder, (void)most;
#if defined(__aarch64__)
    pcs[0] = interrupted->uc_mcontext.pc;
#else
    (void)interrupted;
    pcs[0] = 0;
#endif
    *flags = SAMPLE_ELSEWHERE;
    return 1;
}

#endif
