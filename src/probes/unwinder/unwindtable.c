#include "unwinder/unwindtable.h"

#include "unwinder/loaded.h"

#include <string.h>

uint64_t bytes_number(struct bytes *bytes, size_t size)
{
    uint64_t value = 0;
    if (!bytes->at || (size_t)(bytes->end - bytes->at) < size) {
        bytes->at = NULL;
        return 0;
    }
    memcpy(&value, bytes->at, size);
    bytes->at += size;
    return value;
}

int64_t bytes_signed(struct bytes *bytes, size_t size)
{
    unsigned rest = (unsigned)(8 - size) * 8;
    return (int64_t)(bytes_number(bytes, size) << rest) >> rest;
}

uint64_t bytes_uleb(struct bytes *bytes)
{
    uint64_t value = 0, byte = 0x80;
    for (unsigned shift = 0; byte & 0x80 && bytes->at; shift += 7) {
        byte = bytes_number(bytes, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
    }
    return value;
}

int64_t bytes_sleb(struct bytes *bytes)
{
    uint64_t value = 0, byte = 0x80;
    unsigned shift = 0;
    for (; byte & 0x80 && bytes->at; shift += 7) {
        byte = bytes_number(bytes, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
    }
    return (int64_t)(byte & 0x40 && shift < 64 ? value | UINT64_MAX << shift : value);
}

/* Encodings of pointers (LSB, 10.5.1). */
enum {
    ENCODED_OMITTED = 0xff,
    ENCODED_FORM = 0x0f,
    ENCODED_BASE = 0x70,
    ENCODED_PCREL = 0x10,
    ENCODED_INDIRECT = 0x80
};

static uint64_t bytes_pointer(struct bytes *bytes, uint8_t encoding)
{
    uint64_t base = (encoding & ENCODED_BASE) == ENCODED_PCREL ? (uintptr_t)bytes->at : 0;
    switch (encoding & ENCODED_FORM) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return base + bytes_number(bytes, 8);
    case 0x01:
        return base + bytes_uleb(bytes);
    case 0x02:
        return base + bytes_number(bytes, 2);
    case 0x03:
        return base + bytes_number(bytes, 4);
    case 0x09:
        return base + (uint64_t)bytes_sleb(bytes);
    case 0x0a:
        return base + (uint64_t)bytes_signed(bytes, 2);
    case 0x0b:
        return base + (uint64_t)bytes_signed(bytes, 4);
    default:
        bytes->at = NULL;
        return 0;
    }
}

/* The contents of the common entry of some functions. */
struct common {
    struct bytes program;
    uint64_t code_unit;
    int64_t data_unit;
    uint8_t encoding;
    bool sized;  /* the augmentation of each function's entry has its length */
    bool signal; /* these are frames that the system makes for signal handlers */
};

/* Returns an entry without its length. The whole entry is between the bounds. If there is none, `at` is NULL. */
static struct bytes entry_at(const uint8_t *at, struct bytes bounds)
{
    uint32_t length;
    if (at < bounds.at || at >= bounds.end || (size_t)(bounds.end - at) < sizeof length)
        return (struct bytes){NULL, NULL};
    memcpy(&length, at, sizeof length);
    at += sizeof length;
    bool good = length != 0 && length <= (size_t)(bounds.end - at); /* 0: the end. The form of 64 bits is not in use */
    return (struct bytes){good ? at : NULL, at + (good ? length : 0)};
}

static bool augmentation_read(struct bytes *entry, const char *letters, struct common *common)
{
    uint64_t length = bytes_uleb(entry);
    if (!entry->at || length > (size_t)(entry->end - entry->at))
        return false;
    struct bytes data = {entry->at, entry->at + length};
    common->sized = true;
    for (const char *letter = letters + 1; *letter; letter++) {
        uint8_t encoding = *letter == 'R' || *letter == 'L' || *letter == 'P' ? (uint8_t)bytes_number(&data, 1) : 0;
        if (*letter == 'R')
            common->encoding = encoding;
        else if (*letter == 'P' && encoding != ENCODED_OMITTED)
            bytes_pointer(&data, encoding & (uint8_t)~ENCODED_INDIRECT);
        else if (*letter == 'S')
            common->signal = true;
        else if (*letter != 'L' && *letter != 'B') /* B: how return addresses are signed */
            break;                                 /* the rest after an unknown one cannot be read */
    }
    entry->at += length;
    return data.at != NULL;
}

static bool common_read(const uint8_t *at, struct bytes bounds, struct common *common)
{
    struct bytes entry = entry_at(at, bounds);
    *common = (struct common){.code_unit = 0};
    uint64_t id = bytes_number(&entry, 4), version = bytes_number(&entry, 1);
    if (!entry.at || id != 0 || (version != 1 && version != 3))
        return false;
    const char *letters = (const char *)entry.at;
    size_t length = strnlen(letters, (size_t)(entry.end - entry.at));
    if (length == (size_t)(entry.end - entry.at))
        return false;
    entry.at += length + 1;
    common->code_unit = bytes_uleb(&entry);
    common->data_unit = bytes_sleb(&entry);
    uint64_t returns = version == 1 ? bytes_number(&entry, 1) : bytes_uleb(&entry);
    if (!entry.at || returns != REGISTER_RETURN)
        return false;
    if (letters[0] == 'z' ? !augmentation_read(&entry, letters, common) : letters[0] != '\0')
        return false;
    common->program = entry;
    return true;
}

/* Returns the loaded bytes of the segment that contains an address, or no bytes. */
static struct bytes segment_of(const struct image *image, uintptr_t address)
{
    const ElfW(Phdr) *segment = image_segment(image, address);
    const uint8_t *begin = segment ? (const uint8_t *)(image->bias + segment->p_vaddr) : NULL;
    return (struct bytes){begin, segment ? begin + segment->p_filesz : NULL};
}

struct bytes unwind_code_at(uint64_t pc)
{
    struct image image;
    struct bytes code = image_find(pc, &image) ? segment_of(&image, pc) : (struct bytes){NULL, NULL};
    if (code.at)
        code.at = (const uint8_t *)(uintptr_t)pc;
    return code;
}

/* Returns the mapped range around the tables of an image: the segment that contains the header's table. */
static struct bytes bounds_of(const struct image *image)
{
    struct bytes bounds = segment_of(image, (uintptr_t)image->frames);
    return bounds.at ? bounds : (struct bytes){(const uint8_t *)image->begin, (const uint8_t *)image->end};
}

/* Returns the entry of the function that contains `pc`, by binary search, or NULL: there is none. */
static const uint8_t *entry_find(const uint8_t *table, struct bytes bounds, uint64_t pc)
{
    struct pair {
        int32_t begin, entry; /* relative to the table */
    } pair;
    uint32_t count;
    /* the only form that linkers write: a sorted table of 4-byte offsets from its own begin */
    if (table < bounds.at || table + 12 > bounds.end)
        return NULL;
    if (table[0] != 1 || table[2] != 0x03 || table[3] != 0x3b || (table[1] & ENCODED_FORM) != 0x0b)
        return NULL;
    memcpy(&count, table + 8, sizeof count);
    const uint8_t *pairs = table + 12, *end = bounds.end;
    if (count == 0 || count > (size_t)(end - pairs) / sizeof pair)
        return NULL;
    int64_t wanted = (int64_t)(pc - (uintptr_t)table);
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        memcpy(&pair, pairs + middle * sizeof pair, sizeof pair);
        if (pair.begin <= wanted)
            low = middle;
        else
            high = middle;
    }
    memcpy(&pair, pairs + low * sizeof pair, sizeof pair);
    const uint8_t *entry = table + pair.entry;
    bool inside = entry >= bounds.at && entry < end - 8;
    return pair.begin <= wanted && inside ? entry : NULL;
}

static void rule_set(struct unwind_row *row, uint64_t number, enum unwind_rule rule, int64_t value)
{
    if (number >= UNWIND_REGISTERS) /* vector registers, which unwinding does not need */
        return;
    row->rules[number] = (uint8_t)rule;
    row->values[number] = value;
}

/* Skips an expression, and returns its address. Its length is in front. */
static int64_t expression_skip(struct bytes *program)
{
    const uint8_t *at = program->at;
    uint64_t length = bytes_uleb(program);
    if (program->at && length <= (size_t)(program->end - program->at))
        program->at += length;
    else
        program->at = NULL;
    return (int64_t)(uintptr_t)at;
}

/* A program that is being run, up to `pc`. */
struct run_of_program {
    struct unwinder *unwinder;
    const struct common *common;
    struct bytes program;
    uint64_t location, pc;
    unsigned states;
};

/* DW_CFA_... (DWARF 5, 7.24): operations without an operand in the same byte. */
enum operation {
    NOP = 0x00,
    SET_LOC,
    ADVANCE_LOC1,
    ADVANCE_LOC2,
    ADVANCE_LOC4,
    OFFSET_EXTENDED,
    RESTORE_EXTENDED,
    UNDEFINED,
    SAME_VALUE,
    REGISTER,
    REMEMBER_STATE,
    RESTORE_STATE,
    DEF_CFA,
    DEF_CFA_REGISTER,
    DEF_CFA_OFFSET,
    DEF_CFA_EXPRESSION,
    EXPRESSION,
    OFFSET_EXTENDED_SF,
    DEF_CFA_SF,
    DEF_CFA_OFFSET_SF,
    VAL_OFFSET,
    VAL_OFFSET_SF,
    VAL_EXPRESSION,
    AARCH64_SIGNED_FROM = 0x2c, /* return addresses are signed, or not any more: they tell themselves */
    AARCH64_SIGNED,
    GNU_ARGS_SIZE,
    ADVANCE_LOC = 0x40, /* these have an operand in their lower bits */
    OFFSET = 0x80,
    RESTORE = 0xc0,
    WITH_OPERAND = 0xc0,
};

static void cfa_set(struct unwind_row *row, uint64_t number, int64_t offset)
{
    row->cfa_is_expression = false;
    row->cfa_register = number < UNWIND_REGISTERS ? (uint8_t)number : UNWIND_REGISTERS;
    row->cfa = offset;
}

/* False: the operation is not known. */
static bool cfa_do(struct run_of_program *run, uint8_t operation)
{
    struct bytes *program = &run->program;
    struct unwind_row *row = &run->unwinder->row;
    const int64_t unit = run->common->data_unit;
    uint64_t number;
    switch (operation) {
    case DEF_CFA:
        number = bytes_uleb(program);
        cfa_set(row, number, (int64_t)bytes_uleb(program));
        return true;
    case DEF_CFA_SF:
        number = bytes_uleb(program);
        cfa_set(row, number, bytes_sleb(program) * unit);
        return true;
    case DEF_CFA_REGISTER:
        cfa_set(row, bytes_uleb(program), row->cfa);
        return true;
    case DEF_CFA_OFFSET:
        row->cfa = (int64_t)bytes_uleb(program);
        return true;
    case DEF_CFA_OFFSET_SF:
        row->cfa = bytes_sleb(program) * unit;
        return true;
    case DEF_CFA_EXPRESSION:
        row->cfa_is_expression = true;
        row->cfa = expression_skip(program);
        return true;
    case AARCH64_SIGNED_FROM:
    case AARCH64_SIGNED:
        return RETURN_IS_REGISTER;
    case GNU_ARGS_SIZE:
        bytes_uleb(program);
        return true;
    default:
        return false;
    }
}

static bool state_do(struct run_of_program *run, bool restore)
{
    struct unwinder *u = run->unwinder;
    if (restore ? run->states == 0 : run->states == UNWIND_STATES)
        return false;
    if (restore)
        u->row = u->states[--run->states];
    else
        u->states[run->states++] = u->row;
    return true;
}

static bool rule_do(struct run_of_program *run, uint8_t operation)
{
    struct bytes *program = &run->program;
    struct unwind_row *row = &run->unwinder->row;
    const int64_t unit = run->common->data_unit;
    if (operation == REMEMBER_STATE || operation == RESTORE_STATE)
        return state_do(run, operation == RESTORE_STATE);
    uint64_t number = bytes_uleb(program);
    switch (operation) {
    case OFFSET_EXTENDED:
        rule_set(row, number, RULE_AT, (int64_t)bytes_uleb(program) * unit);
        return true;
    case OFFSET_EXTENDED_SF:
        rule_set(row, number, RULE_AT, bytes_sleb(program) * unit);
        return true;
    case VAL_OFFSET:
        rule_set(row, number, RULE_IS, (int64_t)bytes_uleb(program) * unit);
        return true;
    case VAL_OFFSET_SF:
        rule_set(row, number, RULE_IS, bytes_sleb(program) * unit);
        return true;
    case RESTORE_EXTENDED:
        if (number < UNWIND_REGISTERS)
            rule_set(row, number, run->unwinder->initial.rules[number], run->unwinder->initial.values[number]);
        return true;
    case UNDEFINED:
        rule_set(row, number, RULE_UNDEFINED, 0);
        return true;
    case SAME_VALUE:
        rule_set(row, number, RULE_SAME, 0);
        return true;
    case REGISTER:
        rule_set(row, number, RULE_IN, (int64_t)bytes_uleb(program));
        return true;
    case EXPRESSION:
        rule_set(row, number, RULE_AT_EXPRESSION, expression_skip(program));
        return true;
    case VAL_EXPRESSION:
        rule_set(row, number, RULE_IS_EXPRESSION, expression_skip(program));
        return true;
    default:
        return false;
    }
}

/* Returns by how many units of code the operation advances. 0: it is another operation. */
static uint64_t advance_of(struct bytes *program, uint8_t operation)
{
    return operation == ADVANCE_LOC1   ? bytes_number(program, 1)
           : operation == ADVANCE_LOC2 ? bytes_number(program, 2)
           : operation == ADVANCE_LOC4 ? bytes_number(program, 4)
                                       : 0;
}

/* False: it cannot be understood. Rows after `pc` are left out. */
static bool program_run(struct run_of_program *run)
{
    struct unwind_row *row = &run->unwinder->row;
    while (run->program.at && run->program.at < run->program.end) {
        uint8_t operation = (uint8_t)bytes_number(&run->program, 1), operand = operation & (uint8_t)~WITH_OPERAND;
        bool known = true;
        switch (operation & WITH_OPERAND) {
        case ADVANCE_LOC:
            run->location += operand * run->common->code_unit;
            break;
        case OFFSET:
            rule_set(row, operand, RULE_AT, (int64_t)bytes_uleb(&run->program) * run->common->data_unit);
            break;
        case RESTORE:
            if (operand < UNWIND_REGISTERS)
                rule_set(row, operand, run->unwinder->initial.rules[operand], run->unwinder->initial.values[operand]);
            break;
        default:
            if (operation == SET_LOC)
                run->location = bytes_pointer(&run->program, run->common->encoding);
            else if (operation >= ADVANCE_LOC1 && operation <= ADVANCE_LOC4)
                run->location += advance_of(&run->program, operation) * run->common->code_unit;
            else if (operation != NOP)
                known = cfa_do(run, operation) || rule_do(run, operation);
        }
        if (!known)
            return false;
        if (run->location > run->pc)
            return true;
    }
    return run->program.at != NULL;
}

enum unwind_result unwind_row_find(struct unwinder *unwinder, uint64_t pc)
{
    struct image image;
    struct common common;
    if (!image_find(pc, &image) || !image.frames)
        return UNWIND_NONE;
    struct bytes bounds = bounds_of(&image);
    const uint8_t *at = entry_find(image.frames, bounds, pc);
    struct bytes entry = at ? entry_at(at, bounds) : (struct bytes){NULL, NULL};
    const uint8_t *here = entry.at;
    uint64_t back = bytes_number(&entry, 4);
    if (!entry.at || back == 0 || back > (size_t)(here - bounds.at) || !common_read(here - back, bounds, &common))
        return UNWIND_NONE;
    uint64_t begin = bytes_pointer(&entry, common.encoding);
    uint64_t length = bytes_pointer(&entry, common.encoding & ENCODED_FORM);
    uint64_t more = common.sized ? bytes_uleb(&entry) : 0;
    if (!entry.at || pc < begin || pc - begin >= length || more > (size_t)(entry.end - entry.at))
        return UNWIND_NONE;
    entry.at += more;
    unwinder->row = (struct unwind_row){.cfa_register = UNWIND_REGISTERS};
    for (size_t i = 0; i < UNWIND_SAME; i++)
        unwinder->row.rules[saved_registers[i]] = RULE_SAME;
    struct run_of_program run = {unwinder, &common, common.program, 0, UINT64_MAX, 0};
    if (!program_run(&run))
        return UNWIND_NONE;
    unwinder->initial = unwinder->row;
    run = (struct run_of_program){unwinder, &common, entry, begin, pc, 0};
    if (!program_run(&run))
        return UNWIND_NONE;
    return common.signal ? UNWIND_SIGNAL_FRAME : UNWIND_FOUND;
}
