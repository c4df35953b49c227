#include "progress/openmp.h"

#include "base/number.h"
#include "callpaths/callpath.h"
#include "instruments/regionrecord.h"

#include <errno.h>

/* A team with more threads is only counted. Waits and tasks may be nested so deep; deeper ones are taken for those outside. */
enum { TEAM_MOST = 1024, DEPTH_MOST = 512, INDEX_BITS = 16 };

/* A thread of the team, in cache lines of its own. */
struct member {
    uint64_t region;      /* generation */
    uint64_t since, mpi;  /* since when it is busy, and what it had been in MPI then. since = 0: it waits */
    uint64_t busy, inmpi; /* ticks so far, and of these in MPI */
    uint32_t inner;       /* regions of its own */
    uint32_t depth;
    uint64_t waits[DEPTH_MOST / 64]; /* by depth */
} __attribute__((aligned(128)));

static struct member team[TEAM_MOST];
static struct run_openmp *record; /* in the live file. NULL: nothing is counted */
static bool reports;
static uint32_t busy; /* a region is open */
static uint64_t open; /* its generation. 0: there is none */

/* Of the open region, and of the time after the last one. Who has set `busy` uses it. */
static struct {
    uint64_t generation, begin, place;
    uint32_t threads;
    struct log *log; /* of the thread that has ended the last region, */
    uint64_t mpi;    /* and what it had been in MPI then */
    uint64_t ended;
    uint32_t after;                  /* the place of the last region */
    uint64_t places[OPENMP_REGIONS]; /* addresses in memory */
} region;

static uint64_t mpi_now(struct log *log)
{
    return log ? call_sums(log).mpi : 0;
}

/* One thread at a time adds. */
static void add(uint64_t *to, uint64_t more)
{
    RELAXED_STORE(to, RELAXED_LOAD(to) + more);
}

/* ---- begin and end of the run ------------------------------------------------------------------------------------ */

static void openmp_record_make(void)
{
    static uint32_t making;
    uint64_t offset;
    int error = errno;
    if (__atomic_exchange_n(&making, 1, __ATOMIC_ACQUIRE))
        return;
    struct run_openmp *made = book.run.header->openmp ? NULL : run_alloc(&book.run, sizeof *made, &offset);
    if (made) {
        region.ended = book.run.header->init_ticks;
        region.log = NULL;
        region.after = 0;
        memset(region.places, 0, sizeof region.places);
        RELAXED_STORE(&made->begin_ticks, clock_now());
        __atomic_store_n(&book.run.header->openmp, offset, __ATOMIC_RELEASE);
        __atomic_store_n(&record, made, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&making, 0, __ATOMIC_RELEASE);
    errno = error;
}

static bool running;

void openmp_begin(void)
{
    __atomic_store_n(&running, true, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&reports, __ATOMIC_SEQ_CST))
        openmp_record_make();
}

void openmp_reports(void)
{
    __atomic_store_n(&reports, true, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&running, __ATOMIC_SEQ_CST) && __atomic_load_n(&recorder_on, __ATOMIC_ACQUIRE))
        openmp_record_make();
}

/* ---- a region ---------------------------------------------------------------------------------------------------- */

/* The number of its entry. 0: of those that have no place. */
static uint32_t region_number(struct run_openmp *to, uint64_t place)
{
    for (uint32_t i = 0; place && i < OPENMP_REGIONS - 1; i++) {
        uint32_t at = 1 + (uint32_t)((place / 4 + i) % (OPENMP_REGIONS - 1));
        if (region.places[at] == place)
            return at;
        if (region.places[at])
            continue;
        region.places[at] = place;
        RELAXED_STORE(&to->region[at].frame, callpath_frame(place));
        return at;
    }
    return 0;
}

/* What the thread has been in MPI since the end of MPI_Init. */
static uint64_t mpi_of_run(struct log *log)
{
    const struct thread_cells *cells = log ? log->own.tally.cells : NULL;
    return cells ? less(mpi_now(log), cells->call_time[CALL_MPI_Init] + cells->call_time[CALL_MPI_Init_thread] +
                                          cells->call_time[CALL_MPI_Session_init])
                 : 0;
}

/* The computation of one thread since the last region belongs to that region's place. */
static void serial_count(struct run_openmp *to, struct log *log, uint64_t now)
{
    uint64_t passed = less(now, region.ended);
    uint64_t in_mpi = log == region.log ? less(mpi_now(log), region.mpi) : to->regions ? 0 : mpi_of_run(log);
    add(&to->region[region.after].serial_ticks, less(passed, in_mpi));
}

/* Adds up what its threads did. The slowest of them tells imbalance from the time in which none of them computes. */
static void region_count(struct run_openmp *to, struct openmp_region *at, uint64_t now)
{
    uint64_t wall = less(now, region.begin), least = wall, all = 0, in_mpi = 0;
    uint32_t threads = region.threads ? region.threads : 1;
    for (uint32_t i = 0; i < threads; i++) {
        const struct member *is = &team[i];
        bool was = RELAXED_LOAD(&is->region) == region.generation;
        uint64_t since = RELAXED_LOAD(&is->since);
        uint64_t computed = was ? RELAXED_LOAD(&is->busy) + (since ? less(now, since) : 0) : 0;
        computed = computed < wall ? computed : wall;
        uint64_t mpi = was ? RELAXED_LOAD(&is->inmpi) : 0;
        least = wall - computed < least ? wall - computed : least;
        all += computed;
        in_mpi += mpi < computed ? mpi : computed;
    }
    uint64_t overhead = threads * least, imbalance = threads * wall - all - overhead;
    add(&to->regions, 1);
    add(&to->parallel_ticks, wall);
    add(&to->team_ticks, threads * wall);
    add(&to->useful_ticks, all - in_mpi);
    add(&to->mpi_ticks, in_mpi);
    add(&to->imbalance_ticks, imbalance);
    add(&to->overhead_ticks, overhead);
    if (threads > RELAXED_LOAD(&to->threads))
        RELAXED_STORE(&to->threads, threads);
    add(&at->count, 1);
    add(&at->ticks, wall);
    add(&at->imbalance_ticks, imbalance);
    add(&at->overhead_ticks, overhead);
}

uint64_t openmp_region_begin(uint64_t place)
{
    struct run_openmp *to = __atomic_load_n(&record, __ATOMIC_ACQUIRE);
    if (!to || !__atomic_load_n(&recorder_on, __ATOMIC_ACQUIRE) || __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        return 0;
    uint64_t now = clock_now();
    serial_count(to, thread_log, now);
    region.begin = now;
    region.place = place;
    region.threads = 0;
    region.generation++;
    RELAXED_STORE(&to->open_ticks, now);
    __atomic_store_n(&open, region.generation, __ATOMIC_RELEASE);
    return region.generation;
}

/* `to` is NULL: it is counted already, or never. */
static void region_close(struct run_openmp *to)
{
    uint64_t now = clock_now();
    if (to && region.threads <= TEAM_MOST) {
        uint32_t at = region_number(to, region.place);
        region_count(to, &to->region[at], now);
        region.after = at;
    } else if (to) {
        add(&to->left_out, 1);
    }
    if (to)
        RELAXED_STORE(&to->open_ticks, 0);
    region.ended = now;
    region.log = thread_log;
    region.mpi = mpi_now(region.log);
    __atomic_store_n(&open, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

void openmp_region_end(uint64_t generation)
{
    bool counts = __atomic_load_n(&recorder_on, __ATOMIC_ACQUIRE);
    if (generation && generation == __atomic_load_n(&open, __ATOMIC_ACQUIRE))
        region_close(counts ? __atomic_load_n(&record, __ATOMIC_ACQUIRE) : NULL);
}

/* A region that MPI_Finalize is called in is counted until then. */
void openmp_end(void)
{
    struct run_openmp *to = __atomic_exchange_n(&record, NULL, __ATOMIC_ACQ_REL);
    __atomic_store_n(&running, false, __ATOMIC_SEQ_CST);
    if (!to)
        return;
    uint64_t now = clock_now();
    RELAXED_STORE(&to->end_ticks, now);
    if (!__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
        serial_count(to, thread_log, now);
        __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    } else if (__atomic_load_n(&open, __ATOMIC_ACQUIRE) && region.threads <= TEAM_MOST) {
        region_count(to, &to->region[0], now);
        RELAXED_STORE(&to->open_ticks, 0);
    }
}

/* ---- a thread ---------------------------------------------------------------------------------------------------- */

/* NULL: the thread is in no region that is counted. */
static struct member *team_member_of(uint64_t thread)
{
    uint64_t generation = thread >> INDEX_BITS;
    bool is = generation && generation == __atomic_load_n(&open, __ATOMIC_ACQUIRE);
    return is ? &team[thread & (TEAM_MOST - 1)] : NULL;
}

static void member_go(struct member *member)
{
    member->mpi = mpi_now(thread_log);
    RELAXED_STORE(&member->since, clock_now());
}

static void member_wait(struct member *member)
{
    uint64_t now = clock_now(), in_mpi = less(mpi_now(thread_log), member->mpi);
    RELAXED_STORE(&member->busy, member->busy + less(now, member->since));
    RELAXED_STORE(&member->inmpi, member->inmpi + in_mpi);
    RELAXED_STORE(&member->since, 0);
}

uint64_t openmp_thread_enter(uint64_t thread, uint64_t generation, unsigned index, unsigned threads)
{
    struct member *member = team_member_of(thread);
    if (member) {
        member->inner++;
        return thread;
    }
    if (!generation || generation != __atomic_load_n(&open, __ATOMIC_ACQUIRE))
        return 0;
    if (index == 0)
        region.threads = threads;
    if (index >= TEAM_MOST)
        return 0;
    member = &team[index];
    *member = (struct member){.region = generation};
    member_go(member);
    return generation << INDEX_BITS | index;
}

uint64_t openmp_thread_leave(uint64_t thread)
{
    struct member *member = team_member_of(thread);
    if (member && member->inner) {
        member->inner--;
        return thread;
    }
    if (member && member->since)
        member_wait(member);
    return 0;
}

static bool member_waits(const struct member *member)
{
    uint32_t at = member->depth < DEPTH_MOST ? member->depth : DEPTH_MOST - 1;
    return member->waits[at / 64] >> at % 64 & 1;
}

static void member_turn(struct member *member, bool waited)
{
    if (waited && !member_waits(member))
        member_go(member);
    else if (!waited && member_waits(member))
        member_wait(member);
}

void openmp_state_push(uint64_t thread, bool waits)
{
    struct member *member = team_member_of(thread);
    if (!member || member->inner)
        return;
    bool waited = member_waits(member);
    if (++member->depth < DEPTH_MOST) {
        uint64_t bit = UINT64_C(1) << member->depth % 64, *word = &member->waits[member->depth / 64];
        *word = waits ? *word | bit : *word & ~bit;
    }
    member_turn(member, waited);
}

void openmp_state_pop(uint64_t thread)
{
    struct member *member = team_member_of(thread);
    if (!member || member->inner || !member->depth)
        return;
    bool waited = member_waits(member);
    member->depth--;
    member_turn(member, waited);
}
