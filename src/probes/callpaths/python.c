#include "callpaths/python.h"

#include "site/hide.h"
#include "unwinder/loaded.h"

#include <dlfcn.h>
#include <pthread.h>
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
uint64_t python_generation;
static const char *code_type;
static void (*code_free)(void *code);

/* Code objects that paths went through, by hash. It may say so of others, too. */
enum { SEEN_PLACES = 1 << 16 };
static uint8_t seen[SEEN_PLACES];

static uint8_t *seen_place(const void *code)
{
    return &seen[((uintptr_t)code >> 4 ^ (uintptr_t)code >> 20) % SEEN_PLACES];
}

/* Another code object may get its address. */
static void code_freed(void *code)
{
    if (__atomic_load_n(seen_place(code), __ATOMIC_RELAXED))
        __atomic_add_fetch(&python_generation, UINT64_C(1) << 32, __ATOMIC_RELEASE);
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

/* True if the address is in the same object as the interpreter. Builds with other structures have something else there. */
static bool is_of_interpreter(const void *address, const void *of)
{
    struct loaded loaded;
    uintptr_t at = (uintptr_t)address;
    return loaded_find((uintptr_t)of, &loaded) && at >= loaded.begin && at < loaded.end;
}

static bool python_open(void)
{
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version");
    void *state = version ? dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState") : NULL;
    code_type = state ? dlsym(RTLD_DEFAULT, "PyCode_Type") : NULL;
    if (!code_type || !layout_find(&python_layout, *version))
        return false;
    void (**destructor)(void *) = (void (**)(void *))(uintptr_t)(code_type + TYPE_DESTRUCTOR);
    code_free = *destructor;
    if (!is_of_interpreter((const void *)(uintptr_t)code_free, state))
        return false;
    __atomic_store_n(destructor, code_freed, __ATOMIC_RELEASE);
    __atomic_store_n(&python_state, (const char *(*)(void))state, __ATOMIC_RELEASE);
    return true;
}

bool python_find(void)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    if (python_is_known() || hides(HIDE_FUNCTIONS | HIDE_PROGRAM))
        return false;
    pthread_mutex_lock(&once);
    bool found = !python_is_known() && python_open();
    pthread_mutex_unlock(&once);
    return found;
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

static void frame_read(struct python_stack *stack, const char *frame)
{
    const char *code = python_pointer(frame, python_layout.code);
    uintptr_t instruction = python_instruction(frame);
    stack->chain[stack->links++] = instruction;
    if (!is_function(frame, code, instruction))
        return;
    stack->frames[stack->count++] = (struct python_frame){.code = code, .instruction = instruction};
    __atomic_store_n(seen_place(code), 1, __ATOMIC_RELAXED);
}

bool python_stack_read(struct python_stack *stack)
{
    bool marks = !python_layout.outer; /* a frame marks each loop. Else the loops are in a list of their own */
    const char *frame = python_is_known() ? python_frame_current() : NULL;
    const char *loop = frame && !marks ? python_pointer(python_state(), python_layout.holder) : NULL;
    unsigned first = 0;
    *stack = (struct python_stack){0};
    for (; frame && (!stack->cut || first < stack->count); frame = python_pointer(frame, python_layout.previous)) {
        stack->cut = stack->links == PYTHON_FRAMES_MOST;
        if (!stack->cut)
            frame_read(stack, frame);
        if (*(const uint8_t *)(frame + (marks ? python_layout.owner : python_layout.entry)) !=
            (marks ? OWNER_STACK : true))
            continue;
        loop_end(stack, first, marks ? frame : loop);
        loop = marks || !loop ? NULL : python_pointer(loop, python_layout.outer);
        first = stack->count;
    }
    if (stack->links)
        stack->chain[stack->links++] = stack->cut ? PYTHON_CHAIN_CUT : PYTHON_CHAIN_END;
    stack->cut |= first < stack->count;
    stack->count = first; /* the others have no loop that was found */
    return stack->count > 0;
}
