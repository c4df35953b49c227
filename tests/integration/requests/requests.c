/*
 * requests [threads] [BOOK]
 * requests cut
 *
 * Requests of all kinds: matched, paired, generalized, persistent, partitioned; inactive and null ones between others,
 * freed and cancelled ones, handles that the library uses again at once; with `threads`, posted by one thread and
 * completed by another; with `cut` receives alone whose messages are too long for them (Open MPI 4.1.4 itself hangs
 * there with several threads). The program counts every call and message itself, and holds that against the variables
 * of two communicators. Exit status 0: all agree; 1: they do not; 77: mpit is not there, the calls were made all the
 * same. The counts of each process are written into BOOK.RANK.
 */
#include "requests.h"
#include "../common/mpi4.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 96 };

static struct {
    const char *name;
    unsigned long long count;
} calls[CALLS];
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;

struct book books[COMMS];
unsigned long long unseen, cancelled;
int rank, size, failures;
int out[4096], in[8][4096];
int threaded;
static int absent;

void counted(int code, const char *name)
{
    int i = 0;
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "%d: %s returned %d\n", rank, name, code);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    pthread_mutex_lock(&calls_lock);
    while (calls[i].name && strcmp(calls[i].name, name) != 0)
        i++;
    calls[i].name = name;
    calls[i].count++;
    pthread_mutex_unlock(&calls_lock);
}

#define ADD(place, value) __atomic_fetch_add(&(place), (unsigned long long)(value), __ATOMIC_RELAXED)

void sent(struct book *book, size_t bytes, int completed)
{
    ADD(book->sends, 1);
    ADD(book->send_bytes, bytes);
    ADD(book->done, completed);
}

void received(struct book *book, size_t bytes)
{
    ADD(book->receives, 1);
    ADD(book->receive_bytes, bytes);
    ADD(book->done, 1);
}

void check(unsigned long long is, unsigned long long expected, const char *part, const char *what)
{
    if (is == expected)
        return;
    failures++;
    printf("process %d, %s: %s is %llu, the program counted %llu\n", rank, part, what, is, expected);
}

/* ---- the variables ----------------------------------------------------------------------------------------------- */

struct watch {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int count;
};

static struct watch watch_open(const char *name, int class, MPI_Comm *comm)
{
    struct watch w = {.count = 0};
    int index;
    if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS) {
        absent = 1;
        return w;
    }
    MPI_T_pvar_session_create(&w.session);
    if (MPI_T_pvar_handle_alloc(w.session, index, comm, &w.handle, &w.count) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 4);
    if (class != MPI_T_PVAR_CLASS_LEVEL)
        MPI_T_pvar_start(w.session, w.handle);
    return w;
}

static void watch_read(const struct watch *w, unsigned long long *values)
{
    if (MPI_T_pvar_read(w->session, w->handle, values) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 5);
}

enum { FIGURES = 8 };
static const struct {
    const char *name;
    int aggregate; /* 0: a counter, 1: an aggregate, 2: a level */
} figures[FIGURES] = {
    {"mpit_send_count", 0}, {"mpit_send_bytes", 1},    {"mpit_recv_count", 0},    {"mpit_recv_bytes", 1},
    {"mpit_p2p_count", 0},  {"mpit_pending_sends", 2}, {"mpit_pending_recvs", 2}, {"mpit_pending_bytes", 2},
};
static struct watch of_comm[COMMS][FIGURES], of_calls, of_losses;

static void watches_open(void)
{
    static const int classes[] = {MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_AGGREGATE, MPI_T_PVAR_CLASS_LEVEL};
    of_calls = watch_open("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, NULL);
    of_losses = watch_open("mpit_events_lost", MPI_T_PVAR_CLASS_COUNTER, NULL);
    for (int c = 0; c < COMMS; c++)
        for (int f = 0; f < FIGURES; f++)
            of_comm[c][f] = watch_open(figures[f].name, classes[figures[f].aggregate], &books[c].comm);
}

/* Nothing is pending when a part is over. */
static void part_check(const char *part)
{
    for (int c = 0; c < COMMS && !absent; c++) {
        const struct book *b = &books[c];
        unsigned long long expected[FIGURES] = {b->sends, b->send_bytes, b->receives, b->receive_bytes, b->done, 0, 0,
                                                0};
        for (int f = 0; f < FIGURES; f++) {
            unsigned long long value = 0;
            watch_read(&of_comm[c][f], &value);
            check(value, expected[f], part, figures[f].name);
        }
    }
    if (absent)
        return;
    unsigned long long lost[64] = {0}, all = 0;
    watch_read(&of_losses, lost);
    for (int i = 0; i < of_losses.count && i < 64; i++)
        all += lost[i];
    check(all, unseen, part, "mpit_events_lost");
}

static void calls_check(void)
{
    unsigned long long *seen = calloc((size_t)of_calls.count, sizeof *seen);
    MPI_T_enum list;
    int index, verbosity, class, bind, readonly, continuous, atomic, items;
    MPI_Datatype type;
    char name[128];
    int name_length = 0, text_length = 0;
    watch_read(&of_calls, seen);
    MPI_T_pvar_get_index("mpit_current_call", MPI_T_PVAR_CLASS_STATE, &index);
    MPI_T_pvar_get_info(index, NULL, &name_length, &verbosity, &class, &type, &list, NULL, &text_length, &bind,
                        &readonly, &continuous, &atomic);
    MPI_T_enum_get_info(list, &items, NULL, &name_length);
    for (int c = 0; calls[c].name; c++) {
        int found = 0;
        for (int i = 0; i < items && i < of_calls.count; i++) {
            int value, length = sizeof name;
            MPI_T_enum_get_item(list, i, &value, name, &length);
            if (strcmp(name, calls[c].name) == 0) {
                found = 1;
                check(seen[value], calls[c].count, "at the end", name);
            }
        }
        check((unsigned long long)found, 1, "the recorded functions", calls[c].name);
    }
    free(seen);
}

void post_send(struct book *book, int count, int tag, MPI_Request *request)
{
    CALL(MPI_Isend, out, count, MPI_INT, right(), tag, book->comm, request);
    sent(book, (size_t)count * sizeof(int), 1);
}

/* What requestsbook.py reads. */
static void books_write(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", name, rank);
    FILE *file = fopen(path, "w");
    if (!file)
        MPI_Abort(MPI_COMM_WORLD, 6);
    for (int c = 0; c < COMMS; c++) {
        const struct book *b = &books[c];
        fprintf(file, "comm %d %llu %llu %llu %llu %llu\n", c + 1, b->sends, b->send_bytes, b->receives,
                b->receive_bytes, b->done);
    }
    fprintf(file, "freed %llu\ncancelled %llu\n", unseen, cancelled);
    for (int i = 0; calls[i].name; i++)
        fprintf(file, "call %s %llu\n", calls[i].name, calls[i].count);
    fclose(file);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        int threads;
    } all_parts[] = {
        {"matched", matched, 0},
        {"general", general, 0},
        {"persistent", persistent, 0},
        {"asked", asked, 0},
        {"freed", freed, 0},
        {"equal handles", equal_handles, 0},
        {"crowded", crowded, 0},
#if HAS_MPI4
        {"paired", paired, 0},
        {"partitioned", partitioned, 0},
#endif
        {"across threads", across_threads, 1},
#if HAS_MPI4
        {"partitions of threads", partitions_of_threads, 1},
#endif
    };
    int provided, all = 0, cutting = argc > 1 && strcmp(argv[1], "cut") == 0;
    threaded = argc > 1 && strcmp(argv[1], "threads") == 0;
    MPI_Init_thread(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (threaded && provided != MPI_THREAD_MULTIPLE)
        threaded = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_dup(MPI_COMM_WORLD, &books[c].comm);
    watches_open();
    if (cutting) {
        cut_off();
        MPI_Barrier(MPI_COMM_WORLD);
        part_check("cut off");
    }
    for (size_t p = 0; p < sizeof all_parts / sizeof *all_parts && !cutting; p++) {
        if (all_parts[p].threads > threaded)
            continue;
        all_parts[p].run();
        MPI_Barrier(MPI_COMM_WORLD);
        part_check(all_parts[p].name);
    }
    if (!absent)
        calls_check();
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d processes%s: %llu messages sent, %d mismatches\n", size, threaded ? ", several threads" : "",
               books[0].sends + books[1].sends, all);
    if (argc > 1 && strcmp(argv[argc - 1], "threads") != 0 && !cutting)
        books_write(argv[argc - 1]);
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_free(&books[c].comm);
    MPI_T_finalize();
    MPI_Finalize();
    return absent ? 77 : all != 0;
}
