#include "writer/runguard.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PIECES_MOST = 512 };

static struct piece {
    uintptr_t begin, end;
} pieces[PIECES_MOST];
static size_t piece_count; /* release in run_guard_add. Acquire in the handler */
static struct run *guarded;
static struct sigaction before;
static char header_copy[RUN_PAGE_BYTES];
static bool header_is_copied;

static bool is_guarded(uintptr_t address)
{
    size_t count = __atomic_load_n(&piece_count, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < count; i++)
        if (address >= pieces[i].begin && address < pieces[i].end)
            return true;
    return false;
}

/* Returns false if there is no memory for it. */
static bool page_replace(uintptr_t address)
{
    uintptr_t page = address & ~(uintptr_t)(RUN_PAGE_BYTES - 1);
    void *memory =
        mmap((void *)page, RUN_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    if (memory == (void *)guarded->header && header_is_copied)
        memcpy(memory, header_copy, sizeof header_copy);
    if (!guarded->broken) {
        guarded->broken = true;
        guarded->broken_by = EFAULT;
    }
    return true;
}

/* Makes the instruction fault once more and end the process. A signal from kill is sent again. */
static void end_by_default(bool sent)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(SIGBUS, &usual, NULL);
    if (sent)
        raise(SIGBUS);
}

/* Does what would have happened without mpit. A handler that has ours as its predecessor comes back here. */
static void fault_pass_on(int number, siginfo_t *info, void *context)
{
    static int passing; /* the thread that does it. 0: none */
    int thread = (int)syscall(SYS_gettid), none = 0;
    bool sent = info->si_code <= 0, own = !(before.sa_flags & SA_SIGINFO);
    if (own && before.sa_handler == SIG_IGN && sent)
        return;
    if (own && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) {
        end_by_default(sent);
        return;
    }
    if (!__atomic_compare_exchange_n(&passing, &none, thread, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) &&
        none == thread) {
        end_by_default(sent);
        return;
    }
    if (own)
        before.sa_handler(number);
    else
        before.sa_sigaction(number, info, context);
    __atomic_store_n(&passing, 0, __ATOMIC_RELEASE);
}

static void fault_take(int number, siginfo_t *info, void *context)
{
    int error = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (info->si_code > 0 && is_guarded(address) && page_replace(address)) {
        run_lost(guarded, LOSS_NO_FILE, 1);
        errno = error;
        return;
    }
    errno = error;
    fault_pass_on(number, info, context);
}

void run_guard(struct run *run)
{
    /* SA_NODEFER, as the counter of losses is in a page that may fault, too */
    struct sigaction now,
        ours = {.sa_sigaction = fault_take, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER};
    if (!run_has_file(run) || sigaction(SIGBUS, NULL, &now) != 0)
        return;
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == fault_take)
        return;
    before = now;
    guarded = run;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGBUS, &ours, NULL);
}

void run_guard_add(const void *memory, size_t bytes)
{
    size_t count = piece_count;
    if (count == PIECES_MOST)
        return;
    pieces[count] = (struct piece){(uintptr_t)memory, (uintptr_t)memory + bytes};
    __atomic_store_n(&piece_count, count + 1, __ATOMIC_RELEASE);
}

void run_guard_remember(const struct run *run)
{
    if (!run->header)
        return;
    memcpy(header_copy, run->header, sizeof header_copy);
    header_is_copied = true;
}
