/*
 * Samples of threads in a run file. A sample is taken when a thread's timer expires. It has the state of MPI, the call,
 * and the stack of calls.
 *
 *   CHUNK_SAMPLES   One stream (chunk.thread) of one thread. It has chunk.packed_bytes of records. Each is a whole
 *                   number of 8 bytes, and as long as its head says. chunk.first_event is the number of its first
 *                   sample, counted by stream.
 *
 *      SAMPLE_THREAD  the thread of the stream, and how often samples are taken, from here on
 *      SAMPLE_MODULE  the library that is mapped from begin to end, from here on
 *      SAMPLE_TAKEN   a sample: program counters, the innermost first. Outer frames that the last sample in this chunk
 *                     also has are not written again.
 *
 * Each stream has a buffer (chunk.reserved[0] is 1), whose packed_bytes grow while the program runs. A full buffer is
 * appended as a chunk that stays, and begins again. A process that died in between left both, with the same
 * first_event. Each chunk begins with SAMPLE_THREAD. It can be read alone, except for its modules.
 *
 * Who may run with whom: a buffer's writer is a signal handler of its thread, or the thread itself with that signal
 * blocked. Any process may read at any time.
 */
#ifndef MPIT_EVENTS_SAMPLES_H
#define MPIT_EVENTS_SAMPLES_H

#include "format/runfile.h"

enum sample_kind { SAMPLE_THREAD = 1, SAMPLE_MODULE, SAMPLE_TAKEN };

enum sample_flags {
    SAMPLE_CUT = 1, /* there are more frames than SAMPLE_FRAMES_MOST. The outermost are left out */
    SAMPLE_ELSEWHERE =
        2, /* the thread is on another stack than its own, or unwinding is not possible: innermost frame only */
    SAMPLE_UNKNOWN = 4, /* the last frame is not the outermost: no unwind table leads out of it */
};

enum { SAMPLE_FRAMES_MOST = 128, SAMPLE_BUFFER_BYTES = 64 << 10, SAMPLE_PATH_MOST = 1024, SAMPLE_BUILD_ID_MOST = 32 };
enum { SAMPLE_NO_THREAD = 0xffffffff };

struct sample_head {
    uint8_t kind;   /* enum sample_kind */
    uint8_t state;  /* in SAMPLE_TAKEN: enum mpit_state */
    uint16_t words; /* of 8 bytes, of the whole record */
    uint16_t call;  /* in SAMPLE_TAKEN: kind of the MPI call. 0 = not in MPI */
    uint16_t comm;  /* its communicator's slot. 0 = none */
};

struct sample_taken {
    struct sample_head head;
    uint64_t ticks;
    uint32_t weight; /* how often the timer expired: more than 1 if the thread could not be interrupted */
    uint32_t cpu_ns; /* processor time of the thread since its last sample. UINT32_MAX: that or more */
    uint16_t frames; /* in all */
    uint16_t fresh;  /* frames after this header. The other frames are the outermost of the last sample */
    uint32_t flags;  /* enum sample_flags */
    uint64_t pcs[];  /* of the first frame the next instruction, of the others the return address */
};

struct sample_module {
    struct sample_head head;
    uint64_t begin, end; /* addresses */
    uint64_t bias;       /* subtract it from an address to get the address in the file */
    uint32_t build_id_bytes;
    uint32_t path_bytes; /* with its NUL */
    uint8_t build_id[SAMPLE_BUILD_ID_MOST];
    char path[]; /* "" = the program */
};

struct sample_thread {
    struct sample_head head;
    uint32_t thread; /* index of its thread_record. SAMPLE_NO_THREAD: it has not called MPI */
    int32_t tid;
    uint64_t period_ns;
    char name[16]; /* as the system has it */
};

/* ---- the writer: async-signal-safe */

struct sample_writer {
    struct chunk_header *chunk;        /* the buffer. NULL: none */
    uint64_t number;                   /* of the next sample */
    uint16_t last_frames;              /* of the last sample in the buffer, */
    uint64_t last[SAMPLE_FRAMES_MOST]; /* the outermost first */
};

struct run;
/* Makes a buffer for a stream. NULL: no memory, which is counted. Takes the run's lock. */
struct chunk_header *run_samples_open(struct run *run, uint32_t stream);
/* Appends the content of the buffer, and empties it. Returns false if another thread has the run's lock, with or
 * without a file. If the file has no room, the samples are lost, and counted in header.samples_lost. */
bool run_samples_flush(struct run *run, struct sample_writer *writer);

bool sample_put_thread(struct sample_writer *writer, uint32_t thread, int32_t tid, uint64_t period_ns,
                       const char name[16]);
bool sample_put_module(struct sample_writer *writer, const struct sample_module *module, const char *path);
/* Writes `taken`, without its fields about frames. Returns false if there is no room. */
bool sample_put(struct sample_writer *writer, const struct sample_taken *taken, const uint64_t *pcs, unsigned frames);

/* ---- the reader */

struct run_reader;

struct module {
    uint64_t begin, end, bias;
    const char *path; /* "": the program (header.program) */
    const uint8_t *build_id;
    uint32_t build_id_bytes;
};

struct sample {
    uint64_t ticks;
    uint32_t weight, cpu_ns, flags;
    unsigned state, call; /* enum mpit_state, and kind of call, whose name the file may not have */
    uint32_t comm;        /* the communicator's number, as in run_reader_comm_at. 0 = none */
    uint32_t thread;      /* SAMPLE_NO_THREAD: it has not called MPI */
    int32_t tid;
    uint64_t period_ns;
    char name[17];
    unsigned frames;
    const uint64_t *pcs; /* the innermost first */
};

/* The samples of one stream in order. */
struct sample_cursor {
    const struct run_reader *reader;
    uint32_t stream;
    const struct chunk_header **chunks; /* of the stream, in order */
    size_t chunk_count, chunk;
    uint64_t number;  /* of the next sample */
    uint64_t missing; /* samples that lie in no chunk */
    bool damaged;     /* an invalid record was found. The rest of its chunk was skipped */
    char *memory;     /* the payload of the chunk that is being read */
    size_t used, at;
    struct module *modules; /* the latest last */
    size_t module_count;
    char **texts; /* theirs */
    unsigned last_frames;
    uint64_t last[SAMPLE_FRAMES_MOST],
        pcs[SAMPLE_FRAMES_MOST]; /* of the last sample, the outermost first, and reversed */
    struct sample sample;
};

/* How many streams the file has (their numbers are below). */
uint32_t run_reader_sample_streams(const struct run_reader *reader);
/* Returns 0, or -1 without memory. Must be closed in both cases. */
int sample_cursor_open(struct sample_cursor *cursor, const struct run_reader *reader, uint32_t stream);
/* The next sample, or NULL at the end. Valid until the next call. */
const struct sample *sample_cursor_next(struct sample_cursor *cursor);
/* The module mapped at an address when the last sample was taken. NULL: not known. Valid until the cursor moves on. */
const struct module *sample_cursor_module(const struct sample_cursor *cursor, uint64_t pc);
void sample_cursor_close(struct sample_cursor *cursor);

#endif
