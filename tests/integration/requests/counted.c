/*
 * Page faults that the program makes itself, in known numbers and places, against what mpit says that was counted
 * there.
 *
 *     mpit-run --papi perf::PAGE-FAULTS,perf::TASK-CLOCK mpirun -n 2 counted     prints a line for each check
 *     mpirun -n 1 counted os                                        handles of mpit_os_faults
 *
 * With `os` it prints as well how many faults the kernel has counted for its thread, from MPI_Init to MPI_Finalize.
 *
 * Pages that nobody has touched are touched outside of MPI, in a reduction's function (collective), in a generalized
 * request's (completion), in an attribute's (other), by a receive from itself (p2p), and by threads that end. What MPI
 * does by itself in between is bounded by SLACK. The program asks the kernel for the same count: the sums have to
 * agree. Status 1: a check failed; 77: the variable is not there.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 3000, SLACK = 300, PLACES = 6, THREADS = 3 };
enum { OUTSIDE, P2P, COMPLETION, COLLECTIVE, RMA_IO, OTHER };

static int failures;
static unsigned long long times_called;
static MPI_T_pvar_session session;

static void check(int good, const char *what, unsigned long long got, unsigned long long wanted)
{
    printf("%s %s (%llu, made %llu)\n", good ? "ok" : "not ok", what, got, wanted);
    fflush(stdout);
    failures += !good;
}

/* One fault a page: nothing larger than a page is put there at once. */
static void pages_touch(void)
{
    char *memory = mmap(NULL, (size_t)PAGE * PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, (size_t)PAGE * PAGES, MADV_NOHUGEPAGE);
    for (int i = 0; i < PAGES; i++)
        ((volatile char *)memory)[(size_t)i * PAGE] = 1;
    munmap(memory, (size_t)PAGE * PAGES);
}

static MPI_T_pvar_handle handle_of(const char *name, int class, int *count)
{
    int index;
    MPI_T_pvar_handle handle;
    if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS) {
        printf("there is no %s\n", name);
        exit(77);
    }
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, count);
    MPI_T_pvar_start(session, handle);
    return handle;
}

static void reduce(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)in, (void)out, (void)count, (void)type;
    pages_touch();
    times_called++;
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    pages_touch();
    times_called++;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    pages_touch();
    times_called++;
    *flag = 0;
    return MPI_SUCCESS;
}

/* ---- where the pages are touched ---- */

static void outside(void)
{
    pages_touch();
    times_called++;
}

static void collective(void)
{
    int in = 1, out = 0;
    MPI_Op op;
    MPI_Op_create(reduce, 1, &op);
    MPI_Scan(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Allreduce(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
}

static void completion(void)
{
    MPI_Request request;
    MPI_Grequest_start(query, nothing, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void other(void)
{
    int key;
    MPI_Comm duplicate;
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &duplicate);
    MPI_Comm_free(&duplicate);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    MPI_Comm_free_keyval(&key);
}

/* The kernel or MPI writes into the pages; the sender's are there. */
static void point_to_point(void)
{
    size_t bytes = (size_t)PAGE * PAGES;
    static char *from;
    if (!from)
        memset(from = malloc(bytes), 1, bytes);
    char *to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(to, bytes, MADV_NOHUGEPAGE);
    MPI_Sendrecv(from, (int)bytes, MPI_BYTE, 0, 1, to, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    times_called++;
    munmap(to, bytes);
}

static void *thread(void *unused)
{
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    pages_touch(); /* behind its last call */
    return unused;
}

static void threads(void)
{
    pthread_t ids[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, thread, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    times_called += THREADS;
}

/* ---- the checks ---- */

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_SELF); /* what was counted is told where a call ends */
}

/* The second time, when MPI has its memory. */
static void place_check(MPI_T_pvar_handle handle, const char *name, void (*touch)(void), int place)
{
    unsigned long long before[PLACES], after[PLACES];
    touch();
    barrier();
    MPI_T_pvar_read(session, handle, before);
    times_called = 0;
    touch();
    barrier();
    MPI_T_pvar_read(session, handle, after);
    unsigned long long made = times_called * PAGES, others = 0, got = after[place] - before[place];
    for (int i = 0; i < PLACES; i++)
        if (i != place)
            others += after[i] - before[i];
    if (!made) /* MPI chooses which process reduces */
        printf("ok %s: not here\n", name);
    else
        check(got >= made && got <= made + SLACK, name, got, made);
    char text[64];
    snprintf(text, sizeof text, "%s: elsewhere", name);
    check(others <= SLACK, text, others, 0);
}

static unsigned long long sum(MPI_T_pvar_handle handle)
{
    unsigned long long values[PLACES], total = 0;
    MPI_T_pvar_read(session, handle, values);
    for (int i = 0; i < PLACES; i++)
        total += values[i];
    return total;
}

/* The sum over the places is what the kernel counts for the thread. */
static void sum_check(MPI_T_pvar_handle handle)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof attributes, .config = PERF_COUNT_SW_PAGE_FAULTS};
    int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
    unsigned long long own[2], told[2];
    barrier();
    if (read(fd, &own[0], sizeof own[0]) != sizeof own[0])
        return;
    told[0] = sum(handle);
    outside();
    collective();
    completion();
    other();
    barrier();
    told[1] = sum(handle);
    if (read(fd, &own[1], sizeof own[1]) != sizeof own[1])
        return;
    close(fd);
    unsigned long long a = told[1] - told[0], b = own[1] - own[0];
    check(a <= b + 8 && b <= a + 8, "the sum over the places is the counter", a, b);
}

static unsigned long long usage_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return ((unsigned long long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
            (unsigned long long)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)) *
           1000;
}

static void clock_check(void)
{
    int count;
    MPI_T_pvar_handle handle = handle_of("mpit_papi_perf::TASK-CLOCK", MPI_T_PVAR_CLASS_AGGREGATE, &count);
    barrier();
    unsigned long long begin = usage_ns(), before = sum(handle), used;
    do {
        for (volatile int i = 0; i < 1000000; i++)
            ;
        completion();
        barrier();
    } while (usage_ns() - begin < 300000000);
    unsigned long long told = sum(handle) - before;
    used = usage_ns() - begin;
    check(told <= used + used / 10 + 10000000 && used <= told + told / 10 + 10000000, "task clock against getrusage",
          told, used);
}

static void enumeration_check(void)
{
    static const char *const wanted[PLACES] = {"outside_mpi", "p2p", "completion", "collective", "rma_io", "other"};
    int index, verbosity, class, bind, readonly, continuous, atomic, count = 0, length, value, good = 1;
    MPI_Datatype type;
    MPI_T_enum items = MPI_T_ENUM_NULL;
    char name[64];
    MPI_T_pvar_get_index("mpit_papi_perf::PAGE-FAULTS", MPI_T_PVAR_CLASS_AGGREGATE, &index);
    MPI_T_pvar_get_info(index, NULL, NULL, &verbosity, &class, &type, &items, NULL, NULL, &bind, &readonly, &continuous,
                        &atomic);
    length = sizeof name;
    MPI_T_enum_get_info(items, &count, name, &length);
    for (int i = 0; i < PLACES && i < count; i++) {
        length = sizeof name;
        MPI_T_enum_get_item(items, i, &value, name, &length);
        good = good && value == i && strcmp(name, wanted[i]) == 0;
    }
    check(count == PLACES && good && bind == MPI_T_BIND_NO_OBJECT, "the places have names", (unsigned long long)count,
          PLACES);
}

static long faults_now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

/* Calls that are too short to be read one by one, and pages between them. */
static void short_calls(void)
{
    enum { CALLS = 100000 };
    int flag;
    char *memory = mmap(NULL, (size_t)PAGE * PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < CALLS; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        if (i < PAGES)
            ((volatile char *)memory)[(size_t)i * PAGE] = 1;
    }
    munmap(memory, (size_t)PAGE * PAGES);
}

/* Measured while a handle is started, and then not any more. */
static void os_check(void)
{
    unsigned long long faults[2], more[2];
    int count;
    MPI_T_pvar_handle handle = handle_of("mpit_os_faults", MPI_T_PVAR_CLASS_COUNTER, &count);
    completion();
    MPI_T_pvar_read(session, handle, faults);
    check(count == 2 && faults[0] >= PAGES && faults[0] <= PAGES + SLACK, "mpit_os_faults of a started handle",
          faults[0], PAGES);
    outside();
    barrier();
    MPI_T_pvar_read(session, handle, more);
    check(more[0] - faults[0] <= SLACK, "mpit_os_faults knows nothing of outside", more[0] - faults[0], 0);
    MPI_T_pvar_stop(session, handle);
    completion();
    MPI_T_pvar_read(session, handle, faults);
    check(faults[0] == more[0], "nor of what comes when it is stopped", faults[0], more[0]);
}

int main(int argc, char *argv[])
{
    int provided, count = 0;
    bool os = argc > 1 && strcmp(argv[1], "os") == 0;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    long first = faults_now();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_T_pvar_session_create(&session);
    if (os) {
        os_check();
        short_calls();
    } else {
        MPI_T_pvar_handle handle = handle_of("mpit_papi_perf::PAGE-FAULTS", MPI_T_PVAR_CLASS_AGGREGATE, &count);
        check(count == PLACES, "a value for each place", (unsigned long long)count, PLACES);
        enumeration_check();
        place_check(handle, "outside", outside, OUTSIDE);
        place_check(handle, "collective", collective, COLLECTIVE);
        place_check(handle, "completion", completion, COMPLETION);
        place_check(handle, "other", other, OTHER);
        place_check(handle, "p2p", point_to_point, P2P);
        if (provided == MPI_THREAD_MULTIPLE)
            place_check(handle, "threads that end", threads, OUTSIDE);
        sum_check(handle);
        clock_check();
    }
    MPI_T_pvar_session_free(&session);
    long before = faults_now();
    MPI_Finalize();
    if (os)
        printf("faults %ld %ld\n", before - first, faults_now() - first);
    MPI_T_finalize();
    return failures != 0;
}
