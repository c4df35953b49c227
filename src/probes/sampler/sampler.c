#include "sampler/sampler.h"

#include "registry/book.h"
#include "clock/clock.h"
#include "settings/knobs.h"
#include "thread/log.h"
#include "handles/moment.h"
#include "native.h"
#include "preload.h"
#include "base/ranklist.h"
#include "format/samples.h"
#include "sampler/shield.h"
#include "sampler/signalstack.h"
#include "unwinder/loaded.h"
#include "unwinder/unwinder.h"
#include "site/hide.h"
#include "site/setting.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND UINT64_C(1000000000)
enum { MODULES_KNOWN = 1024, STREAMS_MOST = 4096, RECENT = 64 };

/* The sampler of one thread. */
struct sampler {
    struct sampler *next; /* in the list of idle samplers */
    const struct sampler *made_before;
    timer_t timer;
    bool has_timer;
    uint64_t period_ns;
    uint64_t cpu_ns; /* of the thread, at its last sample */
    uint64_t misses; /* of the unwinder, when modules were last searched */
    uint64_t lost;   /* in the file, as this thread last saw it */
    uint32_t stream;
    uint32_t thread;     /* as in its last SAMPLE_THREAD */
    bool changed;        /* that must be written again */
    uint32_t generation; /* of the mappings, for these modules: */
    uint32_t module_count;
    struct {
        uint64_t begin, end;
    } modules[MODULES_KNOWN];
    struct {
        uint64_t ticks;
        uint64_t at; /* in the buffer */
    } recent[RECENT];
    uint32_t recent_count; /* since the buffer began */
    struct loaded loaded;
    struct sample_writer writer;
    struct unwinder unwinder;
    uint64_t pcs[SAMPLE_FRAMES_MOST];
};

int sampler_signal;
bool shield_always;
int32_t sampler_internal;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sampled *threads;
static struct sampler *idle; /* of threads that have ended */
static struct sampler *made; /* all */
static uint32_t streams;
static uint64_t rate;        /* per second. 0: not now */
static bool running, chosen; /* a run is active, this rank is to be sampled */
static bool refused;         /* was reported */

/* A thread that is canceled must not end in here while it holds a lock. (In glibc the state is a word of the
 * thread.) */
static int uncancelled(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static int lock_take(void)
{
    int cancel = uncancelled();
    pthread_mutex_lock(&lock);
    return cancel;
}

static void lock_give(int cancel)
{
    pthread_mutex_unlock(&lock);
    pthread_setcancelstate(cancel, NULL);
}

/* ---- in the handler */

static bool module_is_known(const struct sampler *s, uint64_t pc)
{
    for (uint32_t i = s->module_count; i-- > 0;)
        if (pc >= s->modules[i].begin && pc < s->modules[i].end)
            return true;
    return false;
}

/* False: there is no room for its record. */
static bool module_note(struct sampler *s, uint64_t pc)
{
    struct loaded *loaded = &s->loaded;
    char room[HIDE_MODULE_BYTES];
    if (module_is_known(s, pc) || !loaded_find(pc, loaded))
        return true;
    struct sample_module module = {
        .begin = loaded->begin, .end = loaded->end, .bias = loaded->bias, .build_id_bytes = loaded->build_id_bytes};
    memcpy(module.build_id, loaded->build_id, loaded->build_id_bytes);
    if (!sample_put_module(&s->writer, &module, hide_module(loaded->path, book.run.header->program, room)))
        return false;
    if (s->module_count == MODULES_KNOWN)
        s->module_count = 0;
    s->modules[s->module_count].begin = module.begin;
    s->modules[s->module_count++].end = module.end;
    return true;
}

static bool thread_note(struct sampler *s)
{
    char name[16] = "";
    const char *state = (const char *)book_thread_state - offsetof(struct thread_record, state);
    uint32_t thread = book_thread_state ? ((const struct thread_record *)(const void *)state)->index : SAMPLE_NO_THREAD;
    if (s->writer.chunk->packed_bytes && thread == s->thread && !s->changed)
        return true;
    prctl(PR_GET_NAME, name);
    if (hides(HIDE_PROGRAM)) /* the first thread has the name of the program */
        hide_text(name, sizeof name, name);
    if (!sample_put_thread(&s->writer, thread, sampled_self.tid, s->period_ns, name))
        return false;
    s->thread = thread;
    s->changed = false;
    return true;
}

/* Writes the records that must come before a sample, and the sample. */
static bool sample_write(struct sampler *s, const struct sample_taken *taken, unsigned frames)
{
    if (!thread_note(s))
        return false;
    if (s->generation != s->unwinder.generation) { /* objects may have gone, and others have come there */
        s->module_count = 0;
        s->misses = UINT64_MAX;
        s->generation = s->unwinder.generation;
    }
    if (unwind_works() && (s->misses != s->unwinder.misses || taken->flags & SAMPLE_ELSEWHERE)) {
        for (unsigned i = 0; i < frames; i++)
            if (!module_note(s, s->pcs[i]))
                return false;
        s->misses = s->unwinder.misses;
    }
    uint64_t at = s->writer.chunk->packed_bytes;
    if (!sample_put(&s->writer, taken, s->pcs, frames))
        return false;
    s->recent[s->recent_count % RECENT].ticks = taken->ticks;
    s->recent[s->recent_count++ % RECENT].at = at;
    return true;
}

/* A stall ends with the begin of the poll that finds something. This is known only when the poll has ended. Samples
 * taken in between show a stall, and are corrected now. */
static void samples_correct(struct sampler *s)
{
    struct log *log = thread_log;
    uint64_t work = log ? log->stall.work : 0;
    if (!work)
        return;
    log->stall.work = 0;
    for (uint32_t i = s->recent_count; i-- > 0 && s->recent_count - i <= RECENT;) {
        if (s->recent[i % RECENT].ticks < work)
            return;
        char *record = (char *)(s->writer.chunk + 1) + s->recent[i % RECENT].at;
        struct sample_head *head = (void *)record;
        if (head->state > MPIT_STATE_WORK)
            __atomic_store_n(&head->state, MPIT_STATE_WORK, __ATOMIC_RELAXED);
    }
}

/* Writes the buffer to the file, if that is possible now. */
static void buffer_flush(struct sampler *s)
{
    if (!run_samples_flush(&book.run, &s->writer))
        return;
    s->recent_count = 0;
    uint64_t lost = __atomic_load_n(&book.run.header->samples_lost, __ATOMIC_RELAXED);
    if (lost != s->lost) { /* modules may have gone with them */
        s->module_count = 0;
        s->misses = UINT64_MAX;
        s->lost = lost;
    }
}

static uint64_t cpu_now(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0
               ? (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec
               : 0;
}

enum { FLUSHED_FROM = SAMPLE_BUFFER_BYTES / 2 };

static void sample_take(struct sampler *s, uint32_t weight, const void *context)
{
    const struct thread_state *state = book_thread_state;
    struct sample_taken taken = {.ticks = clock_now(), .weight = weight};
    uint32_t call = state ? RELAXED_LOAD(&state->call) : 0;
    uint64_t cpu = cpu_now(), spent = cpu > s->cpu_ns ? cpu - s->cpu_ns : 0, most = weight * s->period_ns;
    samples_correct(s);
    taken.head.state = (uint8_t)moment_state();
    taken.head.call = (uint16_t)call;
    taken.head.comm = call ? (uint16_t)RELAXED_LOAD(&state->comm) : 0;
    spent = spent < most ? spent : most; /* the rest was before it was sampled */
    taken.cpu_ns = spent < UINT32_MAX ? (uint32_t)spent : UINT32_MAX;
    s->cpu_ns = cpu;
    unsigned frames = unwind_stack(&s->unwinder, context, s->pcs, SAMPLE_FRAMES_MOST, &taken.flags);
    if (s->writer.chunk->packed_bytes >= FLUSHED_FROM)
        buffer_flush(s);
    if (sample_write(s, &taken, frames))
        return;
    buffer_flush(s);
    if (!sample_write(s, &taken, frames))
        __atomic_fetch_add(&book.run.header->samples_lost, 1, __ATOMIC_RELAXED);
}

/* Stops new expiries. If a sample is due for a thread that cannot be interrupted just now, it is still taken. */
static void timer_pause(const struct sampler *s)
{
    static const struct itimerspec never = {.it_value = {.tv_sec = 0}};
    timer_settime(s->timer, 0, &never, NULL);
}

/* True for a timer of the sampler that was deleted while its signal was under way. Samplers are never unmapped. */
static bool is_samplers(const void *value)
{
    for (const struct sampler *s = __atomic_load_n(&made, __ATOMIC_ACQUIRE); s; s = s->made_before)
        if (s == value)
            return true;
    return false;
}

/* On the stack that is for it. */
static void expiry_take(siginfo_t *info, void *context)
{
    struct sampler *s = info->si_value.sival_ptr;
    if (book.run.trace_ticks && run_time_over(&book.run, clock_now())) /* for the rest of the run */
        timer_pause(s);
    else
        sample_take(s, info->si_overrun > 0 ? (uint32_t)info->si_overrun + 1 : 1, context);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int error = errno, cancel = uncancelled();
    struct sampler *s = __atomic_load_n(&sampled_self.sampler, __ATOMIC_ACQUIRE);
    if (info->si_code == SI_TIMER && s && info->si_value.sival_ptr == s && !book.run.detached) {
        signal_stack_call(expiry_take, info, context);
    } else if (info->si_code != SI_TIMER || !is_samplers(info->si_value.sival_ptr)) {
        pthread_setcancelstate(cancel, NULL);
        errno = error;
        shield_pass_on(number, info, context);
        return;
    }
    pthread_setcancelstate(cancel, NULL);
    errno = error;
}

/* ---- threads; the caller holds the lock */

static struct sampler *sampler_make(void)
{
    struct sampler *s = idle;
    if (s) {
        idle = s->next;
        return s;
    }
    if (streams == STREAMS_MOST)
        return NULL;
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        return NULL;
    s->stream = streams;
    s->writer.chunk = run_samples_open(&book.run, streams);
    if (!s->writer.chunk) {
        munmap(s, sizeof *s);
        return NULL;
    }
    streams++;
    s->made_before = made;
    __atomic_store_n(&made, s, __ATOMIC_RELEASE);
    return s;
}

/* Returns a random part of the period, so that threads are not sampled all at once, nor in step with the program. */
static uint64_t phase_draw(uint64_t period_ns, int32_t tid)
{
    uint64_t x = clock_now() ^ ((uint64_t)tid << 32 | (uint32_t)tid);
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (x >> 11) % period_ns + 1;
}

static void refusal_tell(const char *what)
{
    if (!refused)
        native_say("mpit: a thread is not sampled: %s", what);
    refused = true;
}

static uint64_t cpu_of(const struct sampled *thread)
{
    clockid_t clock;
    struct timespec spent = {0};
    if (pthread_getcpuclockid(thread->self, &clock) == 0)
        clock_gettime(clock, &spent);
    return (uint64_t)spent.tv_sec * NS_PER_SECOND + (uint64_t)spent.tv_nsec;
}

/* Gives a sampler to a thread that has none, and so is in no handler that uses it. */
static struct sampler *sampler_give(struct sampled *thread)
{
    struct sampler *s = thread->stack ? sampler_make() : NULL;
    if (!s) {
        refusal_tell("its samples do not fit into MPIT_BUFFER_LIMIT_BYTES of memory");
        return NULL;
    }
    unwind_open(&s->unwinder, thread->self);
    s->misses = UINT64_MAX;
    thread->spare = s;
    s->cpu_ns = cpu_of(thread);
    return s;
}

static bool timer_make(struct sampled *thread, struct sampler *s)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sampler_signal};
    event.sigev_value.sival_ptr = s;
    event._sigev_un._tid = thread->tid;
    if (!s->has_timer && timer_create(CLOCK_MONOTONIC, &event, &s->timer) != 0) {
        refusal_tell(strerror(errno));
        return false;
    }
    s->has_timer = true;
    return true;
}

static struct sigaction action_of(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    static const int kept[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        sigdelset(&action.sa_mask, kept[i]);
    return action;
}

/* A runtime that sets all handlers by system calls (Go's does) has replaced ours. Its handler still gets the signals of
 * others. */
static void signal_hold(void)
{
    struct sigaction action = action_of(), now;
    if (shield_sigaction(sampler_signal, NULL, &now) != 0 || now.sa_sigaction == on_signal)
        return;
    shield_wish(&now);
    shield_sigaction(sampler_signal, &action, NULL);
}

static void timer_start(struct sampled *thread)
{
    struct sampler *s = thread->spare ? thread->spare : sampler_give(thread);
    if (!s || !timer_make(thread, s))
        return;
    signal_hold();
    s->period_ns = NS_PER_SECOND / rate;
    s->changed = true;
    uint64_t first = phase_draw(s->period_ns, thread->tid);
    struct itimerspec times = {
        .it_interval = {.tv_sec = (time_t)(s->period_ns / NS_PER_SECOND),
                        .tv_nsec = (long)(s->period_ns % NS_PER_SECOND)},
        .it_value = {.tv_sec = (time_t)(first / NS_PER_SECOND), .tv_nsec = (long)(first % NS_PER_SECOND)}};
    __atomic_store_n(&thread->sampler, s, __ATOMIC_RELEASE);
    timer_settime(s->timer, 0, &times, NULL);
}

/* A signal that is under way then finds nothing to do. */
static void timer_stop(struct sampled *thread)
{
    struct sampler *s = thread->sampler;
    if (!s)
        return;
    timer_delete(s->timer);
    s->has_timer = false;
    __atomic_store_n(&thread->sampler, NULL, __ATOMIC_RELEASE);
}

bool sampler_is_guarded(void)
{
    return mpit_sampler_next != NULL;
}

static bool signal_take(void)
{
    struct sigaction action = action_of(), old;
    if (sampler_signal)
        return true;
    if (!sampler_is_guarded())
        return false;
    for (int number = (SIGRTMIN + SIGRTMAX) / 2 + 4; number >= SIGRTMIN; number--) { /* not one of the ends */
        if (shield_sigaction(number, NULL, &old) != 0 || (old.sa_flags & SA_SIGINFO) || old.sa_handler != SIG_DFL ||
            shield_sigaction(number, &action, NULL) != 0)
            continue;
        __atomic_store_n(&sampler_signal, number, __ATOMIC_RELEASE);
        return true;
    }
    refusal_tell("the program uses all real-time signals");
    return false;
}

static bool sampling(void)
{
    return running && chosen && rate && signal_take();
}

/* Sets all timers for the present state. */
static void timers_set(void)
{
    for (struct sampled *thread = threads; thread; thread = thread->next) {
        if (sampling())
            timer_start(thread);
        else if (running && thread->sampler)
            timer_pause(thread->sampler);
        else
            timer_stop(thread);
    }
    if (sampling())
        __atomic_store_n(&book.run.header->samples_hz, rate, __ATOMIC_RELAXED);
}

/* ---- from outside */

/* If samples will be taken, the signal is kept from the program from the start: threads wait, and fill their masks,
 * before MPI_Init, too. */
__attribute__((constructor)) static void signal_take_early(void)
{
    if (sampler_is_wanted() && signal_take())
        shield_always = true;
}

void sampler_thread_begin(void)
{
    struct sampled *self = &sampled_self;
    if (self->listed)
        return;
    self->listed = true;
    signal_stack_begin();
    self->tid = (int32_t)syscall(SYS_gettid);
    self->self = pthread_self();
    int cancel = lock_take();
    self->next = threads;
    self->link = &threads;
    if (threads)
        threads->link = &self->next;
    threads = self;
    if (sampling())
        timer_start(self);
    lock_give(cancel);
}

void sampler_thread_end(void)
{
    struct sampled *self = &sampled_self;
    if (!self->listed)
        return;
    self->listed = false;
    int cancel = lock_take();
    timer_stop(self);
    *self->link = self->next;
    if (self->next)
        self->next->link = self->link;
    self->link = NULL;
    if (self->spare) {
        self->spare->next = idle;
        idle = self->spare;
        self->spare = NULL;
    }
    lock_give(cancel);
    signal_stack_end();
}

/* True if there is a file for the samples, and the signal is kept from the program. */
static bool is_possible(void)
{
    return run_has_file(&book.run) && sampler_is_guarded();
}

static bool rate_set(uint64_t hz)
{
    int cancel = lock_take();
    bool good = !hz || !running || is_possible();
    if (good) {
        rate = hz;
        timers_set();
    }
    lock_give(cancel);
    return good;
}

static const char *ranks_asked(void)
{
    const char *text = setting("MPIT_SAMPLE_RANKS");
    return text && text[0] && rank_list_is_good(text) ? text : NULL;
}

bool sampler_begin(void)
{
    const char *ranks = ranks_asked();
    bool possible = is_possible();
    int cancel = lock_take();
    running = true;
    chosen = !ranks || rank_list_has(ranks, run_rank(book.run.header));
    uint64_t asked = knob_load(KNOB_SAMPLE_HZ);
    if (!possible)
        knob_store(KNOB_SAMPLE_HZ, 0); /* the setting shows the real state, as for mpit_trace */
    rate = possible ? asked : 0;
    knobs_sampler = rate_set;
    timers_set();
    lock_give(cancel);
    return possible || !asked;
}

void sampler_ranked(int rank)
{
    const char *ranks = ranks_asked(), *text = setting("MPIT_SAMPLE_RANKS");
    char place[SETTING_PLACE_BYTES];
    if (!ranks && text && text[0] && rank == 0)
        native_say("mpit: %sMPIT_SAMPLE_RANKS=%.100s cannot be used: it is not a list of ranks; allowed are lists such "
                   "as 0,4-7,12-. All ranks are sampled.",
                   setting_place("MPIT_SAMPLE_RANKS", place), text);
    bool now = !ranks || rank_list_has(ranks, rank);
    int cancel = lock_take();
    if (now != chosen) {
        chosen = now;
        timers_set();
    }
    lock_give(cancel);
}

static int32_t threads_unknown(void)
{
    int32_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    int cancel = lock_take();
    for (const struct sampled *thread = threads; thread; thread = thread->next)
        count--;
    lock_give(cancel);
    return count - __atomic_load_n(&sampler_internal, __ATOMIC_RELAXED);
}

/* A runtime may start threads by system calls, which no guard sees. */
static void unknown_tell(void)
{
    const struct timespec begins = {.tv_nsec = 10000000}; /* a thread that is not listed yet */
    if (!shield_always || !running || !chosen || !rate || threads_unknown() <= 0)
        return;
    nanosleep(&begins, NULL);
    int32_t count = threads_unknown();
    if (count > 0)
        native_say("mpit: %" PRId32 " thread%s of process %d %s not sampled: mpit did not see the start", count,
                   count > 1 ? "s" : "", (int)getpid(), count > 1 ? "are" : "is");
}

void sampler_end(void)
{
    unknown_tell();
    int cancel = lock_take();
    running = false;
    timers_set();
    lock_give(cancel);
}

void sampler_fork_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = fresh; /* another thread of the parent may have had it */
    running = false;
    rate = 0;
    threads = NULL;
    idle = NULL;
    sampled_self = (struct sampled){.stack = sampled_self.stack};
}
