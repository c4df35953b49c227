/* Steps in C. Compiled in many ways into one program. */
#include "pathwalk.h"

#include <alloca.h>
#include <string.h>

#define APART __attribute__((noinline))

static unsigned long plain(struct walk *walk, unsigned level)
{
    call_here(walk);
    return descend(walk, level) + 1;
}

/* Registers have to be saved. */
static unsigned long many_values(struct walk *walk, unsigned level)
{
    unsigned long a = walk_draw(walk, 100), b = walk_draw(walk, 100), c = walk_draw(walk, 100),
                  d = walk_draw(walk, 100), e = walk_draw(walk, 100), f = walk_draw(walk, 100);
    if (a & 1)
        call_here(walk);
    unsigned long sum = descend(walk, level);
    if (b & 1)
        call_here(walk);
    return sum + a * b + c * d + e * f;
}

/* The frame has another size each time. */
static unsigned long changing_frame(struct walk *walk, unsigned level)
{
    unsigned long bytes = 16 + walk_draw(walk, 8) * 48;
    volatile char *room = alloca(bytes);
    memset((void *)room, 1, bytes);
    call_here(walk);
    return descend(walk, level) + (unsigned long)room[bytes - 1];
}

static unsigned long large_frame(struct walk *walk, unsigned level)
{
    volatile char room[3000];
    room[level] = (char)level;
    unsigned long sum = descend(walk, level);
    call_here(walk);
    return sum + (unsigned long)room[level];
}

static APART unsigned long recursion(struct walk *walk, unsigned times, unsigned level)
{
    if (times == 0) {
        call_here(walk);
        return descend(walk, level);
    }
    return recursion(walk, times - 1, level) + times;
}

static unsigned long recursive(struct walk *walk, unsigned level)
{
    return recursion(walk, (unsigned)walk_draw(walk, 4), level) + 1;
}

/* With optimization, both are jumps. */
static unsigned long tail_step(struct walk *walk, unsigned level)
{
    if (!level || walk->calls <= 0)
        return 0;
    return walk_choose(walk)(walk, level - 1);
}

static APART int tail_call(struct walk *walk)
{
    walk->busy = 1;
    int tag = walk_note(walk, backtrace(walk->frames, WALK_FRAMES), NOTE_TAIL);
    return MPI_Iprobe(0, tag, MPI_COMM_SELF, &walk->flag, MPI_STATUS_IGNORE);
}

static unsigned long tail(struct walk *walk, unsigned level)
{
    tail_call(walk);
    walk->busy = 0;
    return descend(walk, level);
}

static unsigned long jump_target(struct walk *walk, unsigned level)
{
    jmp_buf here, *outer = walk->jump;
    int catchers = walk->catchers;
    if (setjmp(here) == 0) {
        walk->jump = &here;
        descend(walk, level);
    }
    walk->jump = outer;
    walk->catchers = catchers;
    walk->busy = 0;
    call_here(walk);
    return level;
}

static unsigned long jumping(struct walk *walk, unsigned level)
{
    call_here(walk);
    unsigned long sum = descend(walk, level);
    if (walk->jump && walk_draw(walk, 2))
        longjmp(*walk->jump, 1);
    return sum;
}

/* Several calls on one line and in loops: paths that differ only in the innermost address. */
static unsigned long several(struct walk *walk, unsigned level)
{
    for (unsigned i = 0; i < 2; i++) {
        call_here(walk);
        if (level & 1)
            call_here(walk);
    }
    switch (walk_draw(walk, 3)) {
    case 0:
        call_here(walk);
        break;
    case 1:
        call_here(walk);
        return descend(walk, level);
    default:
        break;
    }
    return level;
}

/* The other coroutine goes on. */
static unsigned long waiting(struct walk *walk, unsigned level)
{
    if (walk->made)
        swapcontext(&walk->made->inside, &walk->made->outside);
    call_here(walk);
    return descend(walk, level);
}

/* The stack is aligned, so the CFA is saved in it. In its first and last instructions gcc's table is wrong, and libgcc's
 * unwinder reads at wild addresses. So no signal may ask for a backtrace there. */
static __attribute__((section("unsteppable"))) unsigned long aligned(struct walk *walk, unsigned level)
{
    volatile char room[256] __attribute__((aligned(64)));
    volatile char *more = alloca(16 + walk_draw(walk, 4) * 16);
    room[0] = more[0] = (char)level;
    call_here(walk);
    return descend(walk, level) + (unsigned long)room[0] + (unsigned long)more[0];
}

static unsigned long special(struct walk *walk, unsigned level)
{
    static const walk_step ways[] = {walk_from_unknown_code, walk_from_callback, walk_from_handler,
                                     walk_from_handler_apart};
    return level ? ways[walk_draw(walk, 4)](walk, level - 1) + 1 : 0;
}

static const walk_step steps[] = {plain,   many_values, changing_frame, large_frame, recursive, tail_step, tail,
                                  jumping, jump_target, several,        waiting,     aligned,   special};

__attribute__((constructor)) static void steps_register(void)
{
    walk_register(steps, sizeof steps / sizeof steps[0]);
}
