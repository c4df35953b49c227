/*
 * The run file: the recording of one process. It is mapped while the program runs.
 *
 *   offset 0                 4096
 *          +----------------+---------------+---------------+---------------+--
 *          | run_header     | chunk         | chunk         | chunk         |  ...  up to header.file_bytes
 *          +----------------+---------------+---------------+---------------+--
 *                            each: chunk_header (64 bytes) | payload, a whole number of pages together
 *
 *   CHUNK_ARENA   small objects, each aligned to 64 bytes. They refer to each other by file offset (0 = none). So a
 *                 reader maps the file and adds its base:
 *
 *      header.first_thread -> thread_record -> thread_record -> ...      one a thread that called MPI
 *      header.first_comm   -> comm_record   -> comm_record   -> ...      one a slot: the communicator that has it now
 *      header.past         -> comm_past                                  the latest of those that had a slot before
 *      header.first_block  -> tally_block   -> tally_block   -> ...      counters (which: kind, thread, comm, page)
 *      header.variables    -> variable_record[]                          the meaning of the counters
 *      header.calls        -> call_record[]                              the names of event kinds
 *      header.first_object -> object_record -> ...                       names of files and windows, the latest first
 *      header.first_instrument -> instrument_record -> ...               other libraries' instruments: name, values
 *                                  └ items -> item_record[]              the names of its values
 *      header.first_provider -> provider_record -> ...                   libraries below MPI: names
 *      header.clock_syncs -> clock_syncs                                 measurements against other kernels' clocks
 *      header.first_path  -> path_record -> ...          call paths, the latest first
 *      header.first_module -> module_record -> ...       the program and its libraries, which paths refer to
 *      header.openmp      -> run_openmp                                  what the threads of OpenMP did
 *      header.left        -> run_left                                    what the process made and did not free
 *      header.gaps        -> gap_table                                   events that the trace could not keep, and why
 *
 *   CHUNK_RING    the ring of one thread: its last `capacity` events. Event number n is in place n % capacity. A
 *                 killed process may have been overwriting the oldest RING_SPARE of them.
 *
 *   CHUNK_TRACE   a part of a ring, kept: `capacity` events of one thread, from its event first_event on. The events
 *                 after the last such chunk are in the ring.
 *
 *   CHUNK_PACKED  the same, packed (pack.h) into `packed_bytes`. A part that packing would not make smaller is kept
 *                 as CHUNK_TRACE.
 *
 *   CHUNK_COMMS   communicators that had a slot before: `capacity` records of comm_past, each cut after its texts
 *
 *   CHUNK_SAMPLES samples of the threads (samples.h)
 *
 *   CHUNK_FREE    a place that a chunk is being written into. It has the chunk's header except for the kind, which is
 *                 written last. Or the place of chunks that gave way to newer ones (run_trace_moves).
 *
 * If run_trace_moves, the trace's chunks use the places of older ones again, in the order of the file. So the order in the
 * file is not the order of the events. A chunk becomes CHUNK_FREE before any part of it changes.
 *
 * Slots of freed communicators are used again, and so are their counters. The counts of the freed communicator are then
 * added to a communicator for all of its kind (COMM_SUM). Its record goes to header.past, and with a trace on into a
 * CHUNK_COMMS. An event belongs to the communicator in whose time it began: comm_record.since_ticks .. end_ticks. The
 * times of one slot do not overlap.
 *
 * The counter events_recorded of a thread (thread_record.events_cell) is the number of its events. A new record is
 * complete before it is linked at the front of its list with a release store. So a reader of a live file sees whole
 * records. These change while the program runs: list heads, counters, live states, and the record of a slot (its serial
 * is odd meanwhile). Everything else is written once.
 *
 * Who may touch it: the process that made it writes. One thread writes a counter. Lists and chunks are written under
 * the run's lock. Any process may read at any time. Integers are in the byte order of the machine that wrote them.
 */
#ifndef MPIT_EVENTS_RUNFILE_H
#define MPIT_EVENTS_RUNFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_MAGIC "mpit-run"
#define RUN_FILE_SUFFIX ".mpit"
#define RUN_MEMORY_NAME "mpit-run" /* the name of the memory that replaces the file without an output directory */
enum { RUN_VERSION = 18, RUN_BYTE_ORDER = 0x01020304, RUN_PAGE_BYTES = 4096, RUN_ALIGN = 64 };

enum run_phase {
    RUN_STARTING = 1,
    RUN_RUNNING,
    RUN_ABORTED, /* by MPI_Abort */
    RUN_FINALIZED,
    RUN_CLOSED, /* the last session is closed. The process may open another. Its exit changes this to RUN_FINALIZED */
    RUN_EXITED, /* by exit() or the end of main, without MPI_Finalize */
};

enum { EXIT_KNOWN = 0x100 };

/* True if everything was closed, so the figures are final. */
static inline bool run_phase_is_end(uint32_t phase)
{
    return phase == RUN_FINALIZED || phase == RUN_CLOSED;
}

/* Why something was not recorded. The same as enum mpit_loss, and the slots of mpit_events_lost. */
#define LOSS_CAUSES(X)                                                                                                 \
    X(NO_MEMORY, "no_memory")                 /* the memory limit, or the system had no more */                        \
    X(NO_FILE, "no_file")                     /* the output directory could not be written */                          \
    X(DISK_FULL, "disk_full")                 /* no space for the next piece of the trace */                           \
    X(TRACE_LIMIT, "trace_limit")             /* mpit_trace_limit_bytes or mpit_trace_limit_seconds reached */         \
    X(UNKNOWN_REQUEST, "unknown_request")     /* completed a request that was not seen posted */                       \
    X(UNKNOWN_COMM, "unknown_comm")           /* no slot left for the communicator */                                  \
    X(UNSEEN_COMPLETION, "unseen_completion") /* a request ended where it could not be seen */                         \
    X(REGION_DEPTH, "region_depth")           /* a region was entered inside of too many others */                     \
    X(SPOOL_FULL, "spool_full")               /* mpit_spool_limit_bytes reached */                                     \
    X(REENTERED, "reentered")                 /* a signal handler called MPI while it had interrupted the recorder */  \
    X(CALL_PATHS, "call_paths")               /* no place for another call path: its calls are among the others */

enum loss_cause {
#define LOSS_ENUM(id, name) LOSS_##id,
    LOSS_CAUSES(LOSS_ENUM)
#undef LOSS_ENUM
        LOSS_COUNT,
    LOSS_PLACES = 16 /* room for causes in files */
};

enum { FILTER_BYTES = 2048 };

/* What a process used of its node from init_ticks to finalize_ticks. A process without that end does not know it. */
enum usage_known { USAGE_TIMES = 1 /* all but the delay and helpers */, USAGE_DELAY = 2 /* and helpers */ };
struct run_usage {
    uint64_t user_ns, system_ns; /* processor time */
    uint64_t run_delay_ns;       /* its threads could have run, but had no processor */
    uint64_t major_faults;       /* pages that came from the disk */
    uint64_t helper_ns;          /* processor time of its threads but the one that ended the run: */
    uint64_t helpers;            /* of so many that had a processor for a twentieth of the run or longer */
    uint64_t known;              /* enum usage_known */
};

/* The memory of a process from the end of MPI_Init on, and what it has read and written until MPI_Finalize. */
enum { MEMORY_SAMPLES = 16 };
struct memory_sample {
    uint64_t ticks, bytes;
};
struct run_memory {
    uint64_t begin_bytes, peak_bytes;   /* the most so far, resident. 0: not known */
    uint64_t shared_bytes;              /* of it with other processes, at MPI_Finalize */
    uint64_t node_bytes;                /* of the node, or the limit of its control group. 0: not known */
    uint64_t read_bytes, written_bytes; /* by system calls, */
    uint64_t reads, writes;             /* and how many. Without the recorder's */
    uint64_t files_known;               /* 1: these four are. Not before MPI_Finalize */
    uint64_t distance_ticks;            /* of samples, at least */
    uint32_t samples, peak_path;        /* peak_path: of the call before which the peak was seen. 0: not known */
    struct memory_sample sample[MEMORY_SAMPLES]; /* the most so far */
};

/* The time of OpenMP's threads between MPI_Init and MPI_Finalize, as a runtime reports it (OMPT). In ticks. Only of outermost regions. */
enum { OPENMP_REGIONS = 32 };
struct openmp_region {
    uint64_t frame; /* where it begins, as in path_record */
    uint64_t count, ticks;
    uint64_t imbalance_ticks, overhead_ticks; /* of its threads */
    uint64_t serial_ticks;                    /* outside of regions and MPI after it, until the next one */
};
struct run_openmp {
    uint64_t begin_ticks, end_ticks; /* of the reports. end_ticks = 0: it has none yet */
    uint64_t threads, regions;       /* the most threads of a region, and how many regions there were */
    uint64_t left_out;               /* regions with too many threads to be counted */
    uint64_t open_ticks;             /* when the region began that is open, which is not counted yet. 0: none */
    uint64_t parallel_ticks;         /* in regions. Of threads in regions: */
    uint64_t team_ticks;             /* all, which is the sum of: */
    uint64_t useful_ticks, mpi_ticks, imbalance_ticks, overhead_ticks;
    struct openmp_region region
        [OPENMP_REGIONS]; /* the first one: of all that have no place here. What is serial there comes before the first region, too */
};

/* What a process had made and not freed when its last MPI_Finalize or MPI_Session_finalize began. Requests: what was
 * not complete then. */
enum left_kind {
    LEFT_NONE,
    LEFT_COMM,
    LEFT_WINDOW,
    LEFT_FILE,
    LEFT_DATATYPE,
    LEFT_GROUP,
    LEFT_REQUEST,    /* of one operation */
    LEFT_PERSISTENT, /* a request that can be started many times */
    LEFT_KINDS
};
enum { LEFT_PLACES_MOST = 1024 };
struct left_place {
    uint32_t path; /* number of the call path that made them */
    uint32_t reserved;
    uint64_t quarter[4]; /* how many were made in each quarter of the run time */
};
struct run_left {
    uint64_t count[LEFT_KINDS];
    uint64_t places;
    struct left_place place[LEFT_PLACES_MOST]; /* the file has the first `places` */
};

static inline uint64_t run_left_bytes(const struct run_left *left)
{
    return offsetof(struct run_left, place) + left->places * sizeof *left->place;
}

struct run_header {
    char magic[8]; /* RUN_MAGIC, without the NUL */
    uint32_t version;
    uint32_t byte_order;
    uint32_t header_bytes;
    uint32_t page_bytes;
    uint64_t file_bytes; /* allocated so far */
    uint32_t phase;      /* enum run_phase */
    uint32_t pid;
    uint64_t job; /* the same in all processes of one MPI_COMM_WORLD */
    int32_t world_rank;
    int32_t world_size; /* 0 until MPI_Init has returned */
    uint32_t clock_kind;
    uint32_t traced; /* enum run_traced */
    uint64_t clock_mult;
    uint64_t begin_ticks, begin_realtime_ns;
    uint64_t end_ticks; /* 0 while it runs */
    uint64_t
        end_realtime_ns; /* likewise. If a process did not write its end: when mpit-run noticed that it had ended */
    uint64_t init_ticks; /* when MPI_Init, or the first MPI_Session_init, had returned */
    uint64_t first_thread, first_comm, first_block;
    uint64_t variables, variable_count;
    uint64_t calls, call_count;
    uint64_t first_instrument;
    uint64_t lost[LOSS_PLACES]; /* by enum loss_cause */
    char mpi[64];               /* the version text of the MPI library */
    char host[64];
    char boot[40];             /* identifies the running kernel. Processes with the same one share the counter */
    char program[256];         /* its path. Texts that begin with # are hashes (site/hide.h) */
    uint64_t first_stretch;    /* of the trace, the latest first. Only with TRACED_IN_PART */
    uint64_t timed;            /* 1: calls are timed. 0: they are only counted (mpit_timing) */
    uint32_t timed_changed;    /* 1: the value was another one before */
    uint32_t off_count;        /* how often recording was switched off (mpit_recording, MPI_Pcontrol) */
    uint64_t off_ticks;        /* for how long since init_ticks, without the last time if recording is still off: */
    uint64_t off_since;        /* then the ticks when that began, else 0 */
    char filter[FILTER_BYTES]; /* mpit_filter */
    uint64_t
        session_ticks;   /* in the calls that opened the first and closed the last session, where these were the ends */
    uint64_t parent_job; /* of the job whose processes spawned this one's. 0 = not known */
    uint32_t spawned;    /* 1: by another job */
    uint32_t trace_policy; /* enum trace_policy */
    /* When the last MPI_Finalize began. 0: not yet. mpit works between this time and the library's own MPI_Finalize.
     * Tools show that time as a state, and no figure counts it. The same holds for mpit's work after the library's
     * MPI_Init. */
    uint64_t finalize_ticks;
    uint64_t past;           /* struct comm_past. 0 = no slot was used again */
    uint64_t comm_changes;   /* grows before and after the record of a slot goes to another communicator */
    uint64_t clock_syncs;    /* struct clock_syncs. 0: this kernel's clock was not measured */
    uint64_t first_object;   /* struct object_record. 0: none */
    uint64_t gaps;           /* struct gap_table. 0: none */
    uint64_t stall_known;    /* 1: the progress of MPI was watched, so stalls and work are known apart */
    uint64_t samples_hz;     /* how often its threads were sampled, the last time that they were. 0: never */
    uint64_t samples_lost;   /* samples that did not fit */
    uint64_t first_provider; /* struct provider_record: the libraries below MPI, if they were watched */
    uint64_t fabric_watched; /* 1: the user asked for the calls of these libraries */
    uint64_t counters;       /* struct counter_table. 0: none was asked for by name */
    uint64_t pid_namespace;  /* the namespace of pid: the inode of /proc/self/ns/pid. 0: not known */
    /* What the launcher reports before world_size is set: the rank + 1, and the number of processes. 0: not known. */
    uint32_t launched_as, launched_size;
    uint64_t origin;        /* struct origin_record. 0: not known */
    uint32_t uid;           /* of the user, if origin is known, or ORIGIN_UID_HIDDEN */
    uint32_t apart;         /* 1: the file is kept as it is when the process has ended (MPIT_REDUCE=0) */
    uint64_t drained;       /* bytes of its chunks that were moved to the output directory already (drain.h) */
    uint64_t spool_limit;   /* limit of this file in the spool. 0: none */
    uint32_t clock_way;     /* enum clock_way: how this kernel's clock was measured, if it was */
    uint32_t clock_trouble; /* enum clock_trouble: why a measurement failed */
    uint32_t collected;  /* 1: its result can be seen in the output directory, so nobody need wait for it (collect.h) */
    uint32_t processors; /* that the process might run on when it began (its affinity). 0: not known */
    uint64_t first_path, first_module; /* path_record and module_record. 0: none */
    uint64_t processor_set;            /* a hash of these processors: equal if two processes share them. 0: not known */
    uint64_t recorder;         /* the version of mpit that recorded: 1002003 is 1.2.3. 0: not known, or below 0.1.0 */
    uint64_t trace_limit_ns;   /* mpit_trace_limit_seconds. 0: none */
    uint64_t trace_bytes_over; /* 1: events were lost for want of bytes, to the limit or the disk */
    uint64_t process_start;    /* when the process began (process_start of base/processes.h). 0: not known */
    struct run_usage usage;
    uint64_t end_signal; /* that mpit-run had before the process was gone without an end. 0: none */
    struct run_memory memory;
    uint64_t openmp;      /* struct run_openmp. 0: no runtime reported */
    uint64_t left;        /* struct run_left. 0: not known */
    uint64_t exit_status; /* of a process that is RUN_EXITED: its status, and EXIT_KNOWN. 0: not known */
};

/* Where a process comes from. Texts that do not fit are cut. */
#define ORIGIN_UID_HIDDEN UINT32_MAX
enum {
    ORIGIN_USER_BYTES = 64,
    ORIGIN_JOB_BYTES = 80,
    ORIGIN_LABEL_BYTES = 48,
    ORIGIN_COMMAND_BYTES = 1024,
    ORIGIN_DIRECTORY_BYTES = 512
};
struct origin_record {
    char user[ORIGIN_USER_BYTES];
    char scheduler_job[ORIGIN_JOB_BYTES];   /* "slurm 4711"; "" = none */
    char label[ORIGIN_LABEL_BYTES];         /* MPIT_LABEL, such as a commit; "" = none */
    char command[ORIGIN_COMMAND_BYTES];     /* the program and its arguments */
    char directory[ORIGIN_DIRECTORY_BYTES]; /* the working directory */
};

/* How the clocks of several nodes were measured. */
enum clock_way {
    CLOCK_WAY_NONE, /* they were not, or another process measured */
    CLOCK_WAY_TCP,
};

/* Why a measurement failed, with a text that describes a node. */
#define CLOCK_TROUBLES(X)                                                                                              \
    X(NONE, "")                                                                                                        \
    X(OFF, "MPIT_CLOCK_SYNC=none")                                                                                     \
    X(NO_ADDRESS, "rank 0 left no address in the output directory")                                                    \
    X(NO_ANSWER, "the file system of the output directory did not answer in time")                                     \
    X(NO_SOCKET, "no TCP socket, address or thread was available")                                                     \
    X(UNREACHABLE, "rank 0 could not be reached over TCP")                                                             \
    X(LEFT_OUT, "rank 0 did not answer in time")                                                                       \
    X(NO_ECHO, "the connection over TCP failed")                                                                       \
    X(INCOMPLETE, "some nodes did not connect in time")

enum clock_trouble {
#define CLOCK_TROUBLE_ENUM(id, text) CLOCK_TROUBLE_##id,
    CLOCK_TROUBLES(CLOCK_TROUBLE_ENUM)
#undef CLOCK_TROUBLE_ENUM
        CLOCK_TROUBLE_COUNT
};

/*
 * True if the process ended with exit or MPI_Finalize. That includes a process that was killed or called _exit after
 * MPI_Finalize.
 */
static inline bool run_ended_well(const struct run_header *header)
{
    return header->phase == RUN_FINALIZED || (header->phase == RUN_CLOSED && header->finalize_ticks);
}

/* The rank of the process, also before MPI_Init has returned if it is known. -1: not known. */
static inline int32_t run_rank(const struct run_header *header)
{
    return header->world_size > 0 ? header->world_rank : (int32_t)header->launched_as - 1;
}

/* How long recording was off between init_ticks and this time. The header may be of a running process. */
static inline uint64_t run_off_ticks(const struct run_header *header, uint64_t until)
{
    uint64_t since = __atomic_load_n(&header->off_since, __ATOMIC_ACQUIRE), init = header->init_ticks;
    uint64_t ticks = __atomic_load_n(&header->off_ticks, __ATOMIC_RELAXED), from = since > init ? since : init;
    return since && init && until > from ? ticks + (until - from) : ticks;
}

/* Likewise the number of processes. 0: not known. */
static inline int32_t run_size(const struct run_header *header)
{
    return header->world_size > 0 ? header->world_size : (int32_t)header->launched_size;
}

/* Which events are kept. */
enum run_traced {
    TRACED_NOT,     /* only the events in the rings at the end */
    TRACED_WHOLE,   /* from the first to the last */
    TRACED_IN_PART, /* only calls that began in a stretch */
};

/* Which events are dropped when a trace has reached its limit. */
enum trace_policy {
    TRACE_STOP,  /* the newest. The trace ends there */
    TRACE_RING,  /* the oldest */
    TRACE_BRIEF, /* those between: the first stay, and the last. Findings are made of it, and then it goes (collect.h) */
};

/* Chunks of the trace use the places of older ones again. */
static inline bool run_trace_moves(const struct run_header *header)
{
    return header->trace_policy == TRACE_RING || header->trace_policy == TRACE_BRIEF;
}

/* A time during which the trace was switched on. A chunk may also have events outside of it. */
struct trace_stretch {
    uint64_t next;
    uint64_t begin_ticks, end_ticks; /* UINT64_MAX while it is on */
};

/*
 * Events of one thread that a trace could not keep, or dropped, for one cause. The thread's ring may still have the
 * last.
 */
struct gap_record {
    uint64_t first, count; /* UINT64_MAX: all events that its chunks do not have */
    uint32_t thread;
    uint32_t cause; /* enum loss_cause */
};

/*
 * The number of records only grows, and so does the count of each. Events that find no place here are counted only for
 * the process.
 */
enum { GAP_RECORDS_MOST = 127 };
struct gap_table {
    uint64_t count;
    uint64_t left_out; /* events that found no record here */
    struct gap_record list[GAP_RECORDS_MOST];
};

/* At `ticks` of this kernel's clock the reference clock of the job showed reference_ns (since the epoch), at most
 * error_ns off. The reference clock is the clock of rank 0's kernel. */
struct clock_sync {
    uint64_t ticks, reference_ns, error_ns;
};

/* At the begin and at the end of the run. */
enum { CLOCK_SYNCS_MOST = 2 };
struct clock_syncs {
    uint64_t reserved[3];
    uint64_t count;
    struct clock_sync list[CLOCK_SYNCS_MOST];
};

_Static_assert(sizeof(struct run_header) <= RUN_PAGE_BYTES, "the header is one page");
_Static_assert(LOSS_COUNT <= LOSS_PLACES, "header.lost has a place for each cause");

enum chunk_kind {
    CHUNK_ARENA = 1,
    CHUNK_TRACE,
    CHUNK_RING,
    CHUNK_PACKED,
    CHUNK_COMMS,
    CHUNK_FREE,  /* place of older chunks of the trace */
    CHUNK_GONE,  /* only in the image of a packed run: place of chunks of events */
    CHUNK_IMAGE, /* these kinds are only in packed runs (packedrun.h) */
    CHUNK_COLUMNS,
    CHUNK_SAMPLES, /* in every file */
};
enum { CHUNK_MAGIC = 0x6b6e6863 };

struct chunk_header {
    uint32_t magic;
    uint32_t kind;  /* enum chunk_kind */
    uint64_t bytes; /* including this header. A multiple of the page size */
    uint32_t thread;
    uint32_t capacity;     /* events. In CHUNK_COMMS: records */
    uint64_t first_event;  /* in CHUNK_TRACE and CHUNK_PACKED. In CHUNK_COMMS: number of the first record */
    uint64_t packed_bytes; /* in CHUNK_PACKED and CHUNK_COMMS */
    uint64_t reserved[2];  /* in packed runs: place and bytes in the image. [1] in a CHUNK_FREE of a live file: 1
                            * if the chunk is already in the output directory (drain.h) */
    /* in CHUNK_RING: the number of events when the ring last began again. In packed runs: see packed_seal */
    uint64_t turned;
};

/* This many records may be written before they are counted. They are the records of a completion call with its
 * requests. */
enum { RING_SPARE = 33 };

_Static_assert(sizeof(struct chunk_header) == RUN_ALIGN, "chunk payloads are aligned");

/* The live state of a thread. Only the thread writes it. `call` is 0 outside of MPI. */
struct thread_state {
    uint64_t since; /* ticks */
    uint32_t call;  /* kind. 0 = not in MPI */
    uint32_t comm;  /* slot. 0 = none or not yet known */
    int32_t peer;
    int32_t partner; /* of a sendrecv: its destination rank + 1, else 0. `peer` is the rank that it receives from */
    uint32_t path;   /* number of the call path. 0 = none or not known */
    uint32_t reserved;
    uint64_t
        agreed; /* of a collective: what must be the same on all ranks. The bytes, if the function has one size for all
                      * (AGREED_BYTES: not known). Above them the operation, at its place in an event */
};

struct thread_record {
    uint64_t next;
    uint32_t index; /* 0, 1, ... in order of their first MPI call */
    int32_t tid;
    uint64_t begin_ticks;
    uint64_t end_ticks;   /* 0 while it lives */
    uint64_t events_cell; /* offset of the cell that counts its events */
    uint64_t stalled;     /* 0: the current call is not known to stall. Else since when, as if it were one stall */
    struct thread_state state;
};

enum { COMM_NAME_BYTES = 128, COMM_LABEL_BYTES = 128 };
enum comm_flags {
    COMM_INTER = 1,
    COMM_FREED = 2,
    COMM_FOREIGN = 4, /* some members are not in this process's MPI_COMM_WORLD */
    COMM_APART = 8,   /* its name does not begin with its parent's name, as other ranks may have another parent */
    COMM_SUM = 16,    /* not a communicator. It has the counts of all of a kind that have lost their slots */
};

struct comm_record {
    uint64_t next;
    uint32_t slot;
    uint32_t parent; /* slot, at the time of the creation. 0 = none */
    int32_t size;    /* processes in the (local) group. COMM_SUM: in the largest */
    int32_t rank;    /* this process's */
    int32_t remote_size;
    uint32_t flags;
    uint64_t created_ticks, freed_ticks;
    uint64_t group;       /* of an inter-communicator: the same in all processes of the (local) group. 0 = not known */
    uint64_t since_ticks; /* only events that began at this time or later belong to it, */
    uint64_t end_ticks;   /* and only until this time. UINT64_MAX while it has the slot */
    uint32_t serial;      /* odd while the record changes. Each communicator that gets the slot changes it */
    uint32_t sum;         /* if it has lost its slot: the slot of the COMM_SUM that has its figures */
    uint64_t merged;      /* COMM_SUM: how many communicators it has */
    char name[COMM_NAME_BYTES];   /* the same on all ranks of the communicator */
    char label[COMM_LABEL_BYTES]; /* the last name from MPI_Comm_set_name. "" = none */
};

/* Objects that are made on a communicator. The number of an object counts the objects made on the communicator so
 * far, including this one. So all members of the communicator know the object by the same number. */
enum object_kind { OBJECT_WINDOW = 1, OBJECT_FILE, OBJECT_DELETED };
enum { OBJECT_NAME_BYTES = 216, OBJECT_NAMES_MOST = 1024 };

/* The name of an object: of a file by MPI_File_open, of a window by MPI_Win_set_name. Only the first
 * OBJECT_NAMES_MOST names of a process are kept. */
struct object_record {
    uint64_t next;
    uint32_t kind; /* enum object_kind. OBJECT_DELETED: a name given to MPI_File_delete, on no communicator */
    uint32_t slot; /* of the communicator */
    uint32_t number;
    uint32_t reserved;
    uint64_t ticks; /* when it got the name. This tells which communicator had the slot */
    uint64_t reserved2;
    char name[OBJECT_NAME_BYTES];
};

/* Records of communicators that have lost their slots. Number n is in place n % capacity. */
struct comm_past {
    uint64_t count; /* how many have been written */
    uint64_t kept;  /* how many of them are in CHUNK_COMMS, or were dropped */
    uint64_t capacity;
    uint64_t reserved[5];
    struct comm_record records[];
};

enum { VARIABLE_NAME_BYTES = 40, VARIABLE_UNIT_BYTES = 8, VARIABLE_TERMS = 6 };

/* Counters that the user named. Number i is counter COUNTER_ASKED + i (counter.h). */
enum { COUNTER_NAME_BYTES = 120, COUNTERS_NAMED_MOST = 16 };

struct counter_record {
    char name[COUNTER_NAME_BYTES]; /* as the user gave it. The name of a variable may be shorter */
    char unit[VARIABLE_UNIT_BYTES];
};

struct counter_table {
    uint64_t count;
    uint64_t read_ns; /* how long it took to read all of them once, at the start */
    uint64_t reserved[6];
    struct counter_record list[COUNTERS_NAMED_MOST];
};

/* Number 5 is used for the losses in the header, see variables.h. */
enum block_kind {
    BLOCK_THREAD = 1,
    BLOCK_COMM,
    BLOCK_PEERS,
    BLOCK_SHARED,
    BLOCK_REGION = 6,
    BLOCK_FABRIC = 8,   /* of a thread and a provider */
    BLOCK_FABRIC_CALLS, /* of a thread */
    BLOCK_FABRIC_LEVEL, /* of a provider, changed by all threads */
    BLOCK_COUNTERS,     /* of a thread */
    BLOCK_PATH,         /* of a thread and a call path */
};

struct tally_block {
    uint64_t next;
    uint32_t kind; /* enum block_kind */
    uint32_t thread;
    uint32_t comm;  /* slot. 0 in BLOCK_THREAD */
    uint32_t page;  /* in BLOCK_PEERS: the page of peers. In BLOCK_REGION: id of the instrument. In BLOCK_FABRIC and
                     * _LEVEL: number of the provider. In BLOCK_PATH: number of the path */
    uint32_t cells; /* counters after this header, 8 bytes each */
    uint32_t reserved[9];
};

_Static_assert(sizeof(struct tally_block) == RUN_ALIGN, "cells are aligned");

/*
 * How to compute a variable from the counters. value[i] = combination over the terms of cell[first + i * stride + j *
 * step], j = 0 .. run-1, of each block of that kind. If the variable is bound to a communicator, only its blocks count.
 */
struct variable_term {
    uint16_t block; /* enum block_kind. 0 = no term */
    int16_t weight; /* the value is multiplied by this. In extremes: 1 */
    uint32_t first;
    uint16_t run;    /* how many counters are combined into one value */
    uint16_t step;   /* from one of them to the next */
    uint32_t stride; /* from one value to the next */
};

struct variable_record {
    char name[VARIABLE_NAME_BYTES];
    char unit[VARIABLE_UNIT_BYTES]; /* "ticks" (nanoseconds at the edge), "bytes", "" */
    uint32_t class;                 /* enum variable_class */
    uint32_t bound;                 /* 1: to a communicator */
    uint32_t count;                 /* 0: one value for each process of the (remote) group */
    uint32_t combine;               /* enum variable_combine */
    struct variable_term terms[VARIABLE_TERMS];
};

/*
 * Instruments: variables and regions of other libraries. There is one record for each communicator that an instrument
 * is bound to.
 */
enum instrument_kind { INSTRUMENT_VARIABLE = 1, INSTRUMENT_REGION, INSTRUMENT_CONTROL, INSTRUMENT_EVENT };
enum { INSTRUMENT_NAME_BYTES = 64, INSTRUMENT_TEXT_BYTES = 192, INSTRUMENT_IDS_MAX = 1 << 20 };
/* The component of phases. Tables of phases show their names without the prefix. */
#define PHASE_COMPONENT "MPI_Pcontrol"
#define PHASE_PREFIX "phase:"
enum { INSTRUMENT_ELEMENTS_MAX = 65536, INSTRUMENT_ITEMS_MAX = 65536, INSTRUMENT_EXTREMES = 2 };

struct instrument_record {
    uint64_t next;
    uint32_t id;      /* its number in events and blocks: 1, 2, ... */
    uint32_t kind;    /* enum instrument_kind: VARIABLE or REGION */
    uint32_t class;   /* enum variable_class. 0 for a region */
    uint32_t classes; /* bits: the classes that it shows */
    uint32_t type;    /* enum mpit_type */
    uint32_t count;
    uint32_t comm; /* slot. 0 = not bound */
    uint32_t item_count;
    uint64_t items;  /* item_record[item_count]: names of the values of an int, or of the elements */
    uint64_t values; /* count numbers (integers, or bits of doubles), then the highest and the lowest level. 0 = none */
    char name[INSTRUMENT_NAME_BYTES];
    char unit[VARIABLE_UNIT_BYTES]; /* "ns", "s", "" */
    char component[INSTRUMENT_NAME_BYTES];
    char description[INSTRUMENT_TEXT_BYTES]; /* its beginning */
};

enum { ITEM_NAME_BYTES = 60 };

struct item_record {
    int32_t value;
    char name[ITEM_NAME_BYTES];
};

/* A library below MPI, with the name that the library reports ("tcp;ofi_rxm", "ucx"). */
enum { PROVIDER_NAME_BYTES = 48 };

struct provider_record {
    uint64_t next;
    uint32_t number; /* 1, 2, ... */
    uint32_t reserved;
    char name[PROVIDER_NAME_BYTES];
};

/*
 * Call paths: from a call of MPI to main, or to the begin of the thread. A frame is a return address: the number of its
 * module in the upper 16 bits, and the address in the module's file (address in memory - bias) in the others. Module 0
 * is code without a module. Its address is the one in memory. Functions of Python are modules, too (pythonplace.h).
 */
enum path_flags {
    PATH_CUT = 1,       /* there are more frames than mpit_call_depth. The outermost are left out */
    PATH_UNKNOWN = 2,   /* no unwind table leads out of the last frame */
    PATH_ELSEWHERE = 4, /* the call was made on another stack than the thread's: innermost frame only */
};

enum { PATH_OTHERS = 1, PATH_FRAMES_MOST = 64, PATH_MODULE_SHIFT = 48 };
#define PATH_OFFSET_MASK ((UINT64_C(1) << PATH_MODULE_SHIFT) - 1)

struct path_record {
    uint64_t next;
    uint32_t number; /* PATH_OTHERS: all calls that found no place for their path. It has no frames */
    uint16_t kind;   /* of the call. 0 in PATH_OTHERS */
    uint16_t flags;  /* enum path_flags */
    uint32_t frames;
    uint32_t reserved;
    uint64_t frame[]; /* the innermost first */
};

enum { MODULE_PATH_BYTES = 512, MODULE_BUILD_ID_BYTES = 32, PATH_MODULES_MOST = 4096 };

struct module_record {
    uint64_t next;
    uint32_t number; /* 1, 2, ... */
    uint32_t build_id_bytes;
    uint64_t bias;
    uint8_t build_id[MODULE_BUILD_ID_BYTES];
    char path[MODULE_PATH_BYTES]; /* "" = the program */
};

enum { CALL_NAME_BYTES = 40 };

struct call_record {
    char name[CALL_NAME_BYTES];
    uint8_t class, role, op, reserved;
    uint32_t reserved2;
};

#endif
