/*
 * The registry of a process, called book in the code: its threads, its communicators, and where their counters lie.
 *
 *   book ── threads ──> ledger ──> ledger ──> ...              one a thread, never freed
 *     │                   │ views[slot]
 *     │                   v
 *     └── comms[slot] ──> comm ── views ──> view ──> view      one a (thread, communicator), never freed
 *                                            │ root[peer >> 13][peer >> 6 & 127]
 *                                            v
 *                                           peer_cells         one a (thread, communicator, 64 peers)
 *
 *   ledger   the thread state: a thread's entry in the registry
 *   view     the counters of one thread for one communicator
 *
 * Who may run with whom: threads in MPI add entries under book.lock. Lists are pushed at the front with a release
 * store. Readers (any thread, any signal handler) walk them with acquire loads and no lock. Only its thread writes a
 * ledger and its views. No entry is removed while the process lives. A freed communicator loses its handle, and its
 * entry can become another communicator (commreuse.h).
 */
#ifndef MPIT_AGGREGATE_BOOK_H
#define MPIT_AGGREGATE_BOOK_H

#include "clock/clock.h"
#include "figures/fold.h"
#include "base/linkage.h"
#include "base/threadown.h"
#include "writer/run.h"
#include "figures/variables.h"

enum { COMM_SLOTS = 1 << 16, LEAF_PAGES = 128, LEAF_PEERS = LEAF_PAGES * PEERS_PER_PAGE };

struct peer_leaf {
    struct peer_cells *pages[LEAF_PAGES];
};

struct topology;

/* The counters of one thread for one communicator. */
struct view {
    struct comm_tally tally;
    struct comm *comm;
    struct view *next; /* of the same communicator */
    uint32_t thread, slot;
    struct peer_leaf **root; /* leaf number peer >> 13 */
};

/* Intervals for one extreme of a communicator (windows.h). */
struct extreme_control {
    uint64_t turn[2] PAIR_ALIGNED;
    struct interval *intervals;
    struct window *windows;
};

struct comm {
    struct extreme_control extremes[EXTREME_COUNT];
    uint64_t handle;
    bool freed, foreign;   /* foreign: with processes of other worlds */
    bool queued;           /* it is freed, and waits for reuse */
    uint32_t holds, bound; /* number of references to it (commreuse.h) */
    uint64_t quiet_ticks;  /* it has no event that began later: when the last of `holds` was dropped */
    uint64_t quiet_look;   /* how often the requests had been scanned then, */
    uint64_t pending_look; /* and at which scan one was found that refers to it (commreuse.h) */
    struct comm *behind;   /* the next freed one that waits for reuse */
    struct comm *up;       /* the parent, which this one holds. NULL = none */
    uint64_t span_drained; /* ~ of the first begin that windows have taken out since snapshot.c last looked. 0 = none */
    uint32_t lives;        /* how many had this slot before it */
    bool is_sum;           /* not a communicator: has the counts of the ones that lost their slots */
    uint32_t slot, parent;
    int32_t size, rank, remote_size;
    uint32_t creations;                /* number of its children. Names them the same way on all ranks */
    uint32_t windows_made, files_made; /* likewise */
    struct shared_cells *shared;
    struct comm_record *record;
    struct view *views;
    uint64_t difference;       /* largest value seen of mpit_small_count, which subtracts a term (sample.c) */
    struct topology *topology; /* number of its neighbors, once a caller asked (probes/wrappers/topology.h) */
    struct instrument_instance **instances; /* by the instrument's number. Replaced by a longer one, never freed */
    uint32_t instance_room;
    char name[COMM_NAME_BYTES];
};

enum { COMM_CACHE_PLACES = 16 };

struct comm_cache_entry {
    uint64_t handle; /* 0 = empty */
    struct view *view;
};

/* A handle that is never a communicator's. */
#define HANDLE_NEVER UINT64_MAX

struct ledger {
    struct tally tally;
    struct comm_cache_entry last;                     /* the communicator of the thread's last call, or HANDLE_NEVER, */
    struct comm_cache_entry cache[COMM_CACHE_PLACES]; /* and of some before. Emptied when a communicator is freed */
    struct ledger *next;
    uint32_t index;
    struct thread_record *record;
    struct view **views; /* by slot. view_count entries */
    uint32_t view_count;
    struct region_cells **regions; /* by the instrument's id. Replaced by a longer one, never freed */
    uint32_t region_count;
    struct fabric_cells
        *fabric[FABRIC_PROVIDERS_MOST + 1]; /* by the provider's number. NULL: it has not used that one */
    struct fabric_call_cells *fabric_calls;
    struct path_cells **paths; /* by the path's number. path_count entries */
    uint32_t path_count;
    uint64_t outermost, inner_ends[2];    /* begin of the outermost call, ends of the last calls inside of it */
    uint64_t absent[2] PAIR_ALIGNED;      /* {ticks between threads that had the ledger, end of the last one or 0} */
    uint64_t buffer_events, buffer_first; /* capacity of the event buffer, and its first event */
    const struct chunk_header *buffer;    /* the event buffer. NULL: none */
};

/* The one place of the cache that can have the handle. */
static inline struct comm_cache_entry *ledger_cache(struct ledger *ledger, uint64_t handle)
{
    _Static_assert(COMM_CACHE_PLACES == 1 << 4, "as many places as the upper bits tell apart");
    return &ledger->cache[(handle * UINT64_C(0x9e3779b97f4a7c15)) >> 60];
}

struct comm_map; /* handle -> comm, lock-free to read */

/* Freed communicators that wait for reuse, by the number of leaves in their views. */
enum { COMM_QUEUES = 20 };

struct comm_queue {
    struct comm *first, *last;
    uint32_t count;
};

/* Windows or files by their handles (objectnumbers.h). */
struct objects {
    struct comm_map *comms, *numbers;
    uint64_t changes; /* of either of them */
};

struct book {
    struct run run;
    struct clock_scale scale;
    pthread_mutex_t lock;
    struct ledger *threads;
    uint32_t thread_count;
    struct comm **comms; /* by slot */
    uint32_t comm_count; /* slots given out + 1 */
    struct comm_map *map;
    struct objects windows, files;
    const struct counter_table *counters; /* counters that the user named. NULL: none */
    struct comm_map *partitioned; /* by handles of partitioned requests: the communicator that each was made on */
    bool concurrent;              /* book_is_shared */
    uint64_t difference[DIFFERENCE_TOTAL + 1]; /* as in comm, for unbound variables */
    bool totals_wanted;  /* totals are read, maybe in a signal handler (livevariables.h). Under the lock */
    uint64_t full_limit; /* memory_limit when there was no memory for a communicator. 0 = there is */
    struct comm_queue freed[COMM_QUEUES];
    uint32_t freed_count;  /* in all of them */
    struct comm_sum *sums; /* the counts of communicators that were reused */
    uint32_t sum_count;
    struct comm_sum *sum_latest;                            /* the one found last */
    struct level_cells *pending[FABRIC_PROVIDERS_MOST + 1]; /* operations below MPI, by the provider's number */
    struct comm *own; /* not a communicator: for levels of the process, whose windows work the same way */
};

extern LIBRARY_LOCAL struct book book;
/* The live state of the calling thread. NULL before its first call. */
THREAD_OWN(struct thread_state *, book_thread_state);

/* True if there was no memory for counters. It never becomes false again. */
static inline bool book_is_short(void)
{
    uint64_t limit = __atomic_load_n(&book.full_limit, __ATOMIC_RELAXED);
    return limit && limit == book.run.memory_limit;
}

/* True if there is no room for another communicator. Callers then need not try at each call. */
static inline bool book_is_full(void)
{
    return (__atomic_load_n(&book.comm_count, __ATOMIC_RELAXED) >= COMM_SLOTS || book_is_short()) &&
           !__atomic_load_n(&book.freed_count, __ATOMIC_RELAXED);
}

/* Starts the registry of an open run, and writes the tables into the run. Returns 0, or -1 without memory. */
int book_open(void);

/* From here on several threads may be in MPI at once. Call it before that can happen. */
void book_share(void);
/* True since then. Another thread may call book_share at any time: ask once if two answers must not differ. */
static inline bool book_is_shared(void)
{
    return COMPARED_LOAD(&book.concurrent);
}

/*
 * Opens the thread state of a new thread, in zeroed memory that is never freed. Returns false without memory (counted).
 */
bool book_ledger_open(struct ledger *ledger, int tid);

/* The communicator with this handle, or NULL. Lock-free, async-signal-safe. */
struct comm *book_comm_find(uint64_t handle);

/* The communicator that a partitioned request (`objects`: book.partitioned) was made on, or NULL. Lock-free,
 * async-signal-safe. */
struct comm *book_object_find(struct comm_map *const *objects, uint64_t handle);
/* Stores that communicator, or (NULL) forgets the handle. Call the latter before MPI can reuse the handle. */
void book_object_set(struct comm_map **objects, uint64_t handle, struct comm *comm);

struct comm_facts {
    uint64_t handle;
    uint32_t parent;
    int32_t size, rank, remote_size; /* remote_size: 0 in an intra-communicator */
    uint32_t flags;                  /* COMM_FOREIGN, COMM_APART */
    uint64_t group;                  /* as in comm_record */
    const char *name;
    uint64_t since; /* it has no event that begins earlier. 0: not known, and it gets a new slot */
};

/* Adds a communicator. Returns it, or NULL (counted). For a known handle it returns the known communicator. */
struct comm *book_comm_add(const struct comm_facts *facts);
/* Forgets the handle. The communicator's figures stay. Call it before MPI can reuse the handle. */
void book_comm_retire(struct comm *comm);
/* Undoes book_comm_retire: MPI refused to free the communicator. */
void book_comm_restore(struct comm *comm);
/* Drops the caller's reference to a freed communicator. Its slot may be reused when the last reference is gone. */
void book_comm_release(struct comm *comm);
/* Stores the program's name for the communicator, at most `most` bytes. */
void book_comm_label(struct comm *comm, const char *label, size_t most);

/* Returns a slot with counters and without a communicator, or a reused one, for facts->name. NULL: no memory. For
 * commreuse.c, under the registry's lock. */
struct comm *book_comm_make(const struct comm_facts *facts);
/* Room for this many leaves, in powers of two. */
static inline unsigned comm_room(int32_t size, int32_t remote_size)
{
    uint32_t leaves = (uint32_t)(remote_size ? remote_size : size) / LEAF_PEERS;
    return leaves ? 32u - (unsigned)__builtin_clz(leaves) : 0;
}
/* Returns a thread's counters for a communicator, or for a page of its peers. Makes missing ones. NULL: counted.
 * Only for book.c and commreuse.c, under the registry's lock. */
struct view *book_view_make(struct ledger *ledger, struct comm *comm);
struct peer_cells *book_view_page(struct view *view, uint32_t page);

/* Makes counters of the run, with a header before them, and returns their offset in the file. NULL: no memory
 * (counted). The caller links the block once its counters have their first values. For the registry's own files. */
struct tally_block *book_block_make(enum block_kind kind, uint32_t thread, uint32_t comm, uint32_t page, size_t cells,
                                    uint64_t *offset);
/* The number of events of threads whose counters are only in memory, as the run file has no room for them. */
uint64_t book_events_unfiled(void);
void book_block_link(struct tally_block *block, uint64_t offset);

/* The thread's counters for the communicator. Makes them at first use. NULL: counted as lost. */
struct view *book_view(struct ledger *ledger, struct comm *comm);

static inline struct view *view_of(struct ledger *ledger, struct comm *comm)
{
    struct view *view = comm->slot < ledger->view_count ? ledger->views[comm->slot] : NULL;
    return __builtin_expect(view != NULL, 1) ? view : book_view(ledger, comm);
}

/* Makes `peer`'s page the view's current one. Makes the page at first use. Without memory (counted as lost) it takes
 * a dummy page, so that the fold need not ask. */
void view_page_turn(struct view *view, uint32_t peer);

static inline void view_page_select(struct view *view, int32_t peer)
{
    if (__builtin_expect(view->tally.page_number != (uint32_t)peer / PEERS_PER_PAGE, 0))
        view_page_turn(view, (uint32_t)peer);
}

/* Values of a variable, in its own unit (ticks for times). `comm` is NULL for variables that are not bound. Lock-free,
 * async-signal-safe. SPAN variables need two values. */
void book_values(const struct variable *variable, const struct comm *comm, uint64_t *values, size_t count);

/* How many blocks of this kind a thread may have. 0: threads have none of that kind. */
static inline unsigned thread_blocks_most(unsigned kind)
{
    bool one = kind == BLOCK_THREAD || kind == BLOCK_FABRIC_CALLS || kind == BLOCK_COUNTERS;
    return kind == BLOCK_FABRIC ? FABRIC_PROVIDERS_MOST : one;
}

/* The counters in one of these blocks, or NULL. `provider`, 1 .. FABRIC_PROVIDERS_MOST, says which in BLOCK_FABRIC. For
 * readers in any thread. */
static inline const uint64_t *thread_block_cells(const struct ledger *ledger, unsigned kind, unsigned provider)
{
    if (kind == BLOCK_THREAD)
        return (const uint64_t *)ledger->tally.cells;
    if (kind == BLOCK_FABRIC)
        return (const uint64_t *)__atomic_load_n(&ledger->fabric[provider], __ATOMIC_ACQUIRE);
    if (kind == BLOCK_FABRIC_CALLS)
        return (const uint64_t *)__atomic_load_n(&ledger->fabric_calls, __ATOMIC_ACQUIRE);
    return (const uint64_t *)__atomic_load_n(&ledger->tally.counters, __ATOMIC_ACQUIRE);
}

/* The counters of a page of peers, or NULL. For readers in any thread. */
static inline const struct peer_cells *view_page_find(const struct view *view, uint32_t page)
{
    const struct peer_leaf *leaf = __atomic_load_n(&view->root[page / LEAF_PAGES], __ATOMIC_ACQUIRE);
    return leaf ? __atomic_load_n(&leaf->pages[page % LEAF_PAGES], __ATOMIC_ACQUIRE) : NULL;
}

/* The thread's counters for a region (instrument.h). Makes them at first use. NULL: counted as lost. */
struct region_cells *book_region(struct ledger *ledger, uint32_t id, uint32_t slot);
/* The same for readers in any thread. NULL: the thread was never in the region. Lock-free, async-signal-safe. */
const struct region_cells *book_region_peek(const struct ledger *ledger, uint32_t id);
/* The number of the library below MPI with this name. 0: no place for it (counted). */
uint32_t book_provider(const char *name);
/* Returns NULL for an unknown number. */
const char *book_provider_name(uint32_t number);
/* Sets `ledger`'s accumulator to the provider's. Returns false without memory (counted). */
bool book_fabric(struct ledger *ledger, uint32_t provider);
/* The same for the accumulator of the calls. */
bool book_fabric_calls(struct ledger *ledger);

/* The thread's counters of the system and of PAPI. Makes them at first use. NULL: counted as lost. */
struct counter_cells *book_counters(struct ledger *ledger);
/* Value `slot` of a variable that is a sum, in its own unit. It never falls for one reader, or for readers one after
 * the other. Lock-free, async-signal-safe. */
uint64_t book_sample(const struct variable *variable, const struct comm *comm, size_t slot);

/* From here on totals are read (livevariables.h). */
void book_totals_want(void);

/* How many values the variable has for this communicator. */
size_t book_value_count(const struct variable *variable, const struct comm *comm);

#endif
