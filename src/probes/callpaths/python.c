#include "callpaths/python.h"

#include "callpaths/callpath.h"
#include "site/hide.h"

#include <dlfcn.h>
#include <string.h>

/* Sources: CPython, Include/internal/pycore_frame.h, Include/cpython/pystate.h, code.h and unicodeobject.h. */
static const struct python_layout layout_3_11 = {.holder = 56,
                                                 .current = 8,
                                                 .outer = 16,
                                                 .previous = 48,
                                                 .instruction = 56,
                                                 .code = 32,
                                                 .owner = 69,
                                                 .entry = 68,
                                                 .file = 112,
                                                 .function = 128,
                                                 .lines = 136,
                                                 .first_line = 72,
                                                 .bytecode = 184,
                                                 .text = 48,
                                                 .wide_text = 72};
static const struct python_layout layout_3_12 = {.holder = 56,
                                                 .previous = 8,
                                                 .instruction = 56,
                                                 .owner = 70,
                                                 .file = 112,
                                                 .function = 128,
                                                 .lines = 136,
                                                 .first_line = 68,
                                                 .bytecode = 192,
                                                 .text = 40,
                                                 .wide_text = 56};

/* The begin of _Py_DebugOffsets of 3.13 (pycore_runtime.h), in words. */
enum { OFFSETS_VERSION = 1, OFFSETS_FREE_THREADED = 2, OFFSETS_THREAD = 19, OFFSETS_FRAME = 28, OFFSETS_CODE = 34 };

enum { OBJECT_TYPE = 8, TYPE_DESTRUCTOR = 48, FIRST_TRACEABLE_BEFORE = 16 };
enum owner { OWNER_GENERATOR = 1, OWNER_STACK = 3 };

struct python_layout python_layout;
const char *(*python_state)(void);
static const char *code_type;
static void (*code_free)(void *code);

/* Code objects that ways go through, by hash. It may say so of others, too. */
enum { SEEN_BITS = 1 << 16 };
static uint8_t seen[SEEN_BITS];

static uint8_t *seen_place(const void *code)
{
    return &seen[((uintptr_t)code >> 4 ^ (uintptr_t)code >> 20) % SEEN_BITS];
}

/* Another code object may get its address. */
static void code_freed(void *code)
{
    if (__atomic_load_n(seen_place(code), __ATOMIC_RELAXED))
        callpaths_void();
    code_free(code);
}

static bool layout_tell(struct python_layout *layout, const uint64_t *offsets, unsigned long version)
{
    if (!offsets || memcmp(offsets, "xdebugpy", 8) != 0 || offsets[OFFSETS_VERSION] >> 16 != version >> 16 ||
        offsets[OFFSETS_FREE_THREADED])
        return false;
    const uint64_t *thread = offsets + OFFSETS_THREAD, *frame = offsets + OFFSETS_FRAME, *code = offsets + OFFSETS_CODE;
    *layout = layout_3_12;
    layout->holder = 0;
    layout->current = thread[4];
    layout->previous = frame[1];
    layout->code = frame[2];
    layout->instruction = frame[3];
    layout->owner = frame[5];
    layout->file = code[1];
    layout->function = code[3];
    layout->lines = code[4];
    layout->first_line = code[5];
    layout->bytecode = code[9];
    return true;
}

static bool layout_find(struct python_layout *layout, unsigned long version)
{
    switch (version >> 16) {
    case 0x30b:
        *layout = layout_3_11;
        return true;
    case 0x30c:
        *layout = layout_3_12;
        return true;
    case 0x30d:
        return layout_tell(layout, dlsym(RTLD_DEFAULT, "_PyRuntime"), version);
    default:
        return false;
    }
}

void python_find(void)
{
    bool wanted = !python_state && !hides(HIDE_FUNCTIONS | HIDE_PROGRAM);
    const unsigned long *version = wanted ? dlsym(RTLD_DEFAULT, "Py_Version") : NULL;
    if (!version || !layout_find(&python_layout, *version))
        return;
    code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
    void *state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    if (!code_type || !state)
        return;
    void (**destructor)(void *) = (void (**)(void *))(uintptr_t)(code_type + TYPE_DESTRUCTOR);
    code_free = *destructor;
    __atomic_store_n(destructor, code_freed, __ATOMIC_RELEASE);
    python_state = (const char *(*)(void))state;
}

/* Frames that are just being made, and those that stand for a loop, are no functions (_PyFrame_IsIncomplete). */
static bool is_function(const char *frame, const char *code, uintptr_t instruction)
{
    uint8_t owner = *(const uint8_t *)(frame + python_layout.owner);
    if (owner == OWNER_STACK || !code || python_pointer(code, OBJECT_TYPE) != code_type)
        return false;
    int32_t traceable;
    memcpy(&traceable, code + python_layout.bytecode - FIRST_TRACEABLE_BEFORE, sizeof traceable);
    return owner == OWNER_GENERATOR ||
           instruction >= (uintptr_t)code + python_layout.bytecode + 2 * (uint32_t)traceable;
}

/* The frames of one loop of the interpreter get its address. */
static void loop_end(struct python_stack *stack, unsigned first, const char *loop)
{
    for (unsigned i = first; i < stack->count; i++)
        stack->frames[i].loop = (uintptr_t)loop;
}

bool python_stack_read(struct python_stack *stack)
{
    const char *frame = python_state ? python_frame_current() : NULL;
    const char *loop = frame && python_layout.outer ? python_pointer(python_state(), python_layout.holder) : NULL;
    unsigned first = 0;
    stack->count = stack->links = 0;
    for (; frame && stack->links < PYTHON_FRAMES_MOST; frame = python_pointer(frame, python_layout.previous)) {
        const char *code = python_pointer(frame, python_layout.code);
        uintptr_t instruction = python_instruction(frame);
        stack->chain[stack->links++] = instruction;
        if (is_function(frame, code, instruction))
            stack->frames[stack->count++] = (struct python_frame){.code = code, .instruction = instruction};
        bool marked = !python_layout.outer && *(const uint8_t *)(frame + python_layout.owner) == OWNER_STACK;
        if (!marked && !(python_layout.outer && *(const bool *)(frame + python_layout.entry)))
            continue;
        loop_end(stack, first, marked ? frame : loop);
        loop = marked ? NULL : python_pointer(loop, python_layout.outer);
        first = stack->count;
    }
    stack->count = first; /* the others have no loop that was found */
    if (stack->links)
        stack->chain[stack->links++] = frame ? PYTHON_CHAIN_CUT : PYTHON_CHAIN_END;
    for (unsigned i = 0; i < stack->count; i++)
        __atomic_store_n(seen_place(stack->frames[i].code), 1, __ATOMIC_RELAXED);
    return stack->count > 0;
}
