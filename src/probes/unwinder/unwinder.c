#include "unwinder/unwindtable.h"

#include "format/samples.h"
#include "unwinder/loaded.h"
#include "unwinder/signalframe.h"

#include <pthread.h>
#include <string.h>

uint32_t unwind_generation = 1;

void unwind_forget_all(void)
{
    __atomic_add_fetch(&unwind_generation, 1, __ATOMIC_RELEASE);
}

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

/* The stack pointer is not known, after a function without a table. The frame pointer most likely leads to the place
 * where the function saved it, with the return address above it. */
static bool cfa_guess(const struct unwinder *u, uint64_t *cfa)
{
    const struct unwind_row *row = &u->row;
    int64_t distance = row->values[REGISTER_FRAME];
    *cfa = u->registers[REGISTER_FRAME] - (uint64_t)distance;
    return !u->words && u->known & 1u << REGISTER_FRAME && row->rules[REGISTER_FRAME] == RULE_AT &&
           row->rules[REGISTER_RETURN] == RULE_AT && row->values[REGISTER_RETURN] == distance + 8;
}

static bool cfa_find(const struct unwinder *u, uint64_t *cfa)
{
    const struct unwind_row *row = &u->row;
    if (row->cfa_is_expression)
        return evaluate(u, row->cfa, NULL, cfa);
    if (row->cfa_register == REGISTER_STACK && !(u->known & 1u << REGISTER_STACK))
        return cfa_guess(u, cfa);
    if (row->cfa_register >= UNWIND_REGISTERS || !(u->known & 1u << row->cfa_register))
        return false;
    word_note(u, u->sources[row->cfa_register]);
    *cfa = u->registers[row->cfa_register] + (uint64_t)row->cfa;
    return true;
}

/* Each frame is above the one that it called. If calls put nothing on the stack, a function that calls none may have no
 * frame. */
static enum step cfa_judge(const struct unwinder *u, uint64_t cfa)
{
    bool may_be_empty = RETURN_IS_REGISTER && u->known & 1u << REGISTER_RETURN;
    if (cfa > u->high || cfa < u->floor)
        return STEP_ELSEWHERE;
    return cfa > u->registers[REGISTER_STACK] - may_be_empty ? STEP_DONE : STEP_UNKNOWN;
}

/* The return address is found: it is the caller's program counter. A register that had it does not have it there. */
static void pc_set(struct unwinder *u)
{
    word_note(u, u->sources[REGISTER_RETURN]);
    u->pc = return_address(u->registers[REGISTER_RETURN]);
    if (RETURN_IS_REGISTER)
        u->known &= ~(1u << REGISTER_RETURN);
}

/* Goes to the caller, by unwinder->row. */
static enum step row_apply(struct unwinder *u)
{
    uint64_t cfa, old[UNWIND_REGISTERS], fresh[UNWIND_REGISTERS], sources[UNWIND_REGISTERS];
    uint32_t known = 0;
    if (u->row.rules[REGISTER_RETURN] == RULE_UNDEFINED)
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
    if (!(known & 1u << REGISTER_RETURN))
        return STEP_UNKNOWN;
    if (!(known & 1u << REGISTER_STACK) || u->row.rules[REGISTER_STACK] == RULE_SAME) {
        fresh[REGISTER_STACK] = cfa;
        sources[REGISTER_STACK] = 0; /* it follows from what is noted */
    }
    memcpy(u->registers, fresh, sizeof fresh);
    memcpy(u->sources, sources, sizeof sources);
    u->known = known | 1u << REGISTER_STACK;
    pc_set(u);
    return STEP_DONE;
}

/* Remembers the row, if it is of the usual kind. */
static void row_cache(struct unwinder *u, uint64_t pc)
{
    const struct unwind_row *row = &u->row;
    struct unwind_cached entry = {.pc = pc, .cfa = (int32_t)row->cfa, .cfa_register = row->cfa_register};
    if (row->cfa_is_expression || row->cfa != entry.cfa)
        return;
    if (row->cfa_register != REGISTER_STACK && row->cfa_register != REGISTER_FRAME)
        return;
    for (unsigned i = 0; i < UNWIND_SAVED; i++) {
        uint8_t rule = row->rules[saved_registers[i]];
        int64_t value = row->values[saved_registers[i]];
        if (rule == RULE_SAME)
            continue;
        if (rule != RULE_AT || value % 8 || value >= 0 || value / -8 > UNWIND_DISTANCE_MOST)
            return;
        entry.saved[i] = (unwind_distance)(value / -8);
    }
    u->cache[pc % UNWIND_CACHED] = entry;
}

static enum step cached_apply(struct unwinder *u, const struct unwind_cached *entry)
{
    if (!(u->known & 1u << entry->cfa_register))
        return STEP_UNKNOWN;
    word_note(u, u->sources[entry->cfa_register]);
    uint64_t cfa = u->registers[entry->cfa_register] + (uint64_t)(int64_t)entry->cfa;
    enum step step = cfa_judge(u, cfa);
    if (step != STEP_DONE)
        return step;
    uint32_t known = 1u << REGISTER_STACK;
    for (unsigned i = 0; i < UNWIND_SAVED; i++) {
        unsigned number = saved_registers[i];
        uint64_t at = cfa - (uint64_t)entry->saved[i] * 8;
        bool good = entry->saved[i] ? word_read(u, at, &u->registers[number]) : (u->known & 1u << number) != 0;
        if (entry->saved[i])
            u->sources[number] = at;
        known |= (good ? 1u : 0) << number;
    }
    if (!(known & 1u << REGISTER_RETURN))
        return STEP_UNKNOWN;
    u->registers[REGISTER_STACK] = cfa;
    u->sources[REGISTER_STACK] = 0;
    u->known = known;
    pc_set(u);
    return STEP_DONE;
}

/* True if `stored` is a return address in a function with a table. */
static bool is_return(struct unwinder *u, uint64_t stored)
{
    uint64_t pc = return_address(stored);
    return unwind_row_find(u, pc - 1) == UNWIND_FOUND && follows_call(pc);
}

enum { GUESSED_WORDS = 2 };

/* The caller of a function that has done little so far. Its return address is in its register, or on top of the stack,
 * or below one word. */
static bool begun_leave(struct unwinder *u, bool innermost)
{
    uint64_t stored, sp = u->registers[REGISTER_STACK];
    if (RETURN_IS_REGISTER)
        return u->known & 1u << REGISTER_RETURN && is_return(u, u->registers[REGISTER_RETURN]);
    for (unsigned i = 0; innermost && i < GUESSED_WORDS; i++, sp += sizeof stored) {
        if (!word_read(u, sp, &stored) || !is_return(u, stored))
            continue;
        u->registers[REGISTER_RETURN] = stored;
        u->registers[REGISTER_STACK] = sp + sizeof stored;
        return true;
    }
    return false;
}

/* The caller of a function that has a frame pointer. */
static bool framed_leave(struct unwinder *u)
{
    uint64_t stored, frame = u->registers[REGISTER_FRAME];
    if (!(u->known & 1u << REGISTER_FRAME) || frame < u->registers[REGISTER_STACK] ||
        !word_read(u, frame + sizeof stored, &stored) || !is_return(u, stored) ||
        !word_read(u, frame, &u->registers[REGISTER_FRAME]))
        return false;
    u->registers[REGISTER_RETURN] = stored;
    u->registers[REGISTER_STACK] = frame + 2 * sizeof stored;
    return true;
}

enum { STUB_INSTRUCTIONS = 5 };

/* True in a stub, such as those of linkers, which leave the stack as it is. */
static bool is_stub(uint64_t pc)
{
    struct bytes code = unwind_code_at(pc);
    for (int i = 0; i < STUB_INSTRUCTIONS && code.at; i++)
        if (is_stub_jump(bytes_number(&code, 4)))
            return true;
    return false;
}

/* For a function without a table, such as the ones that begin and end a library. If calls put nothing on the stack,
 * nothing tells how large its frame is. */
static enum step step_guess(struct unwinder *u, bool innermost)
{
    if (!begun_leave(u, innermost) && !framed_leave(u))
        return STEP_UNKNOWN;
    if (RETURN_IS_REGISTER && !is_stub(u->pc))
        u->known &= ~(1u << REGISTER_STACK);
    pc_set(u);
    return STEP_DONE;
}

/* True at the return of a signal handler, if no table tells the way from there. */
static bool is_handler_return(const struct unwinder *u)
{
    uint64_t mark;
    return SIGNAL_MARK && u->known & 1u << REGISTER_STACK &&
           word_read_noted(u, u->registers[REGISTER_STACK] + SIGNAL_MARK_AT, &mark) && mark == SIGNAL_MARK;
}

/* Goes from there to what the signal interrupted. */
static enum step signal_leave(struct unwinder *u)
{
    uint64_t sp, context = u->registers[REGISTER_STACK] + SIGNAL_CONTEXT_AT;
    if (!word_read(u, context + context_offset(REGISTER_STACK), &sp) ||
        !word_read_noted(u, context + CONTEXT_PC, &u->pc))
        return STEP_UNKNOWN;
    enum step step = cfa_judge(u, sp);
    u->known = 0;
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
        u->sources[i] = context + context_offset(i);
        u->known |= (word_read(u, u->sources[i], &u->registers[i]) ? 1u : 0) << i;
    }
    return step;
}

/* Goes to the caller. *exact: its program counter is the next instruction, and not a return address. */
static enum step step_out(struct unwinder *u, bool innermost, bool *exact)
{
    uint64_t pc = u->pc - (*exact ? 0 : 1);
    const struct unwind_cached *entry = &u->cache[pc % UNWIND_CACHED];
    *exact = false;
    if (entry->pc == pc && u->known & 1u << REGISTER_STACK)
        return cached_apply(u, entry);
    u->misses++;
    enum unwind_result found = unwind_row_find(u, pc);
    *exact = found == UNWIND_SIGNAL_FRAME || (found == UNWIND_NONE && is_handler_return(u));
    if (found == UNWIND_NONE)
        return *exact ? signal_leave(u) : u->words ? STEP_UNKNOWN : step_guess(u, innermost);
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
        if (step == STEP_END || (step == STEP_DONE && u->pc == 0))
            return count;
        if (step != STEP_DONE) {
            *flags |= step == STEP_ELSEWHERE ? SAMPLE_ELSEWHERE : SAMPLE_UNKNOWN;
            return count;
        }
        if (count == most) {
            *flags |= SAMPLE_CUT;
            return count;
        }
        pcs[count] = u->pc;
        if (!u->words)
            continue;
        u->words->until[count] = (uint8_t)u->words->count;
        u->words->stack[count] = u->registers[REGISTER_STACK];
    }
}

static uint64_t context_word(const void *context, size_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)context + offset);
}

unsigned unwind_stack(struct unwinder *u, const void *context, uint64_t *pcs, unsigned most, uint32_t *flags)
{
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        u->registers[i] = context_word(context, context_offset(i));
    u->known = UINT32_MAX >> (32 - UNWIND_REGISTERS);
    *flags = 0;
    pcs[0] = u->pc = context_word(context, CONTEXT_PC);
    if (!u->high || u->registers[REGISTER_STACK] < u->low || u->registers[REGISTER_STACK] >= u->high) {
        *flags = SAMPLE_ELSEWHERE;
        return 1;
    }
    u->floor = u->registers[REGISTER_STACK] - RED_ZONE;
    if (u->floor < u->low)
        u->floor = u->low;
    u->words = NULL;
    return callers_find(u, true, pcs, most, flags);
}

unsigned unwind_call(struct unwinder *u, const uint64_t *frame, uintptr_t cfa, uint64_t *pcs, unsigned most,
                     uint32_t *flags, struct unwind_words *words)
{
    *flags = 0;
    words->count = 0;
    words->overflow = false;
    words->until[0] = 0;
    words->stack[0] = cfa;
    pcs[0] = u->pc = return_address(frame[1]);
    if (!u->high || (uintptr_t)frame < u->low || (uintptr_t)frame >= u->high - 2 * sizeof *frame) {
        *flags = SAMPLE_ELSEWHERE;
        return 1;
    }
    memset(u->sources, 0, sizeof u->sources);
    u->registers[REGISTER_RETURN] = frame[1];
    u->registers[REGISTER_STACK] = cfa;
    u->registers[REGISTER_FRAME] = frame[0];
    u->sources[REGISTER_FRAME] = (uintptr_t)frame;
    u->known = (RETURN_IS_REGISTER ? 0 : 1u << REGISTER_RETURN) | 1u << REGISTER_FRAME;
    if (cfa > (uintptr_t)frame) /* else the compiler could not tell it: clang on aarch64 */
        u->known |= 1u << REGISTER_STACK;
    u->floor = cfa;
    u->words = words;
    return callers_find(u, false, pcs, most, flags);
}
