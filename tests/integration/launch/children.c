/*
 * Programs that start others between their MPI calls: one case for each
 * argument. Prints the number of messages that
 * the ranks sent; test_children.sh compares that with what mpit counted, in the parent's run alone.
 *
 *     mpirun -n 1|2|... children CASE...
 *
 * Status 1: something was wrong; 77: the MPI has no MPI_THREAD_MULTIPLE, which the case needs.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1 << 20, THREADS = 4, FORKS = 30, PART = 50 };

extern char **environ;
static const char *self;
static int rank, faults;
static unsigned long long messages;
static char *block;

static void expect(bool right, const char *text)
{
    if (!right) {
        fprintf(stderr, "rank %d: wrong: %s\n", rank, text);
        faults++;
    }
}

static void to_itself(int tag)
{
    int out = tag, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, rank, tag, &in, 1, MPI_INT, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    __atomic_fetch_add(&messages, 1, __ATOMIC_RELAXED);
    if (in != tag)
        expect(false, "a message to itself");
}

static void part(void)
{
    for (int i = 0; i < PART; i++)
        to_itself(i);
}

static void ended(pid_t child, int wanted)
{
    int status = -1;
    expect(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == wanted,
           "the child ends as it should");
}

/* The parent's memory, written and read; and what an allocator, a thread and a file want of a process. */
static void *child_works(void *argument)
{
    (void)argument;
    for (int i = 0; i < BLOCK_BYTES; i++)
        block[i]++;
    free(malloc(100000));
    return NULL;
}

static void child_lives(void)
{
    pthread_t thread;
    child_works(NULL);
    if (pthread_create(&thread, NULL, child_works, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(9);
}

static int handlers_run;

static void at_exit(void)
{
    handlers_run++;
}

/* ---- the cases --------------------------------------------------------------------------------------------------- */

static void child_at_once(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(3);
    ended(child, 3);
}

static void child_exits(void)
{
    pid_t child = fork();
    if (child == 0) {
        child_lives();
        exit(4);
    }
    ended(child, 4);
}

static void child_leaves(void)
{
    pid_t child = fork();
    if (child == 0) {
        child_lives();
        _exit(5);
    }
    ended(child, 5);
    expect(block[0] == 0, "the parent's memory is its own");
}

/* The child ends its only thread. */
static void child_thread_exits(void)
{
    pid_t child = fork();
    if (child == 0)
        pthread_exit(NULL);
    ended(child, 0);
}

/* It lives on while the parent does, and behind its MPI_Finalize. */
static void child_stays(void)
{
    if (fork() == 0) {
        child_lives();
        sleep(1);
        child_lives();
        _exit(0);
    }
}

static void exec_plain(void)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(9);
    }
    ended(child, 0);
}

/* Nothing of the launcher's: the other program is no rank of this job. */
static bool is_launchers(const char *variable)
{
    static const char *const begins[] = {"PMI",       "OMPI_MCA_ess",  "OMPI_MCA_orte", "OMPI_MCA_pmix",
                                         "OMPI_COMM", "OMPI_UNIVERSE", "OMPI_NUM",      "OMPI_FIRST",
                                         "OMPI_FILE", "OMPI_ARGV",     "OMPI_COMMAND",  "OMPI_APP",
                                         "HYDI",      "HYDRA",         "MPI_LOCAL",     "MPIR_"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(variable, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static char **environment_of_others(void)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **others = calloc(count + 1, sizeof *others);
    for (size_t i = 0; i < count; i++)
        if (!is_launchers(environ[i]))
            others[kept++] = environ[i];
    return others;
}

static void exec_mpi(void)
{
    char *const words[] = {(char *)self, "alone", NULL};
    char **others = environment_of_others();
    pid_t child = fork();
    if (child == 0) {
        for (int fd = 3; fd < 100; fd++)
            close(fd); /* the launcher's */
        execve("/proc/self/exe", words, others);
        _exit(9);
    }
    ended(child, 0);
    free(others);
}

static void vforked(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(9);
    }
    ended(child, 0);
}

static void spawned(void)
{
    char *const words[] = {"true", NULL};
    pid_t child = -1;
    expect(posix_spawnp(&child, "true", NULL, NULL, words, environ) == 0, "posix_spawn");
    ended(child, 0);
}

static void shelled(void)
{
    char line[64] = "";
    expect(system("exit 7") == 7 << 8, "system");
    FILE *pipe = popen("echo through", "r");
    expect(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "through\n") == 0, "popen");
    expect(pipe && pclose(pipe) == 0, "pclose");
}

/* daemon() in a child: the one in between ends by _exit, the daemon goes on. */
static void demon(void)
{
    pid_t child = fork();
    if (child == 0) {
        if (daemon(1, 1) != 0)
            _exit(9);
        child_lives();
        _exit(0);
    }
    ended(child, 0);
}

static void *send_on(void *stop)
{
    for (int i = 0; !__atomic_load_n((bool *)stop, __ATOMIC_ACQUIRE); i++)
        to_itself(1000 + i % 1000);
    return NULL;
}

/* Threads are in MPI, and come and go, when the others fork. */
static void among_threads(void)
{
    pthread_t threads[THREADS];
    for (int round = 0; round < FORKS; round++) {
        bool stop = false;
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, send_on, &stop);
        pid_t child = fork();
        if (child == 0) {
            if (round % 2)
                child_works(NULL);
            if (round % 3)
                _exit(6);
            exit(6);
        }
        ended(child, 6);
        __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
}

static unsigned long long mark_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long mark = 0;
    expect(MPI_T_pvar_read(session, handle, &mark) == MPI_SUCCESS, "a watermark is read");
    return mark;
}

/* The child gives back, one by one and all at once, what the parent measures with. */
static void child_frees_windows(void)
{
    enum { HANDLES = 3 };
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handles[HANDLES];
    int provided, index = -1, count;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    expect(MPI_T_pvar_get_index("mpit_message_bytes", MPI_T_PVAR_CLASS_HIGHWATERMARK, &index) == MPI_SUCCESS,
           "the watermark is there");
    for (int i = 0; i < HANDLES; i++) {
        MPI_T_pvar_handle_alloc(session, index, &world, &handles[i], &count);
        MPI_T_pvar_start(session, handles[i]);
    }
    part();
    pid_t child = fork();
    if (child == 0) {
        MPI_T_pvar_handle_free(session, &handles[0]);
        MPI_T_pvar_session_free(&session);
        MPI_T_finalize();
        _exit(7);
    }
    ended(child, 7);
    for (int i = 0; i < HANDLES; i++)
        expect(mark_read(session, handles[i]) == sizeof(int), "the parent's watermark stays");
    MPI_T_pvar_reset(session, handles[0]);
    expect(mark_read(session, handles[0]) == 0, "a window opened later has nothing of before");
    to_itself(1);
    expect(mark_read(session, handles[0]) == sizeof(int), "and what comes in it");
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
}

/* What another process starts: a world of its own. */
static int alone(void)
{
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 7; i++)
        to_itself(i);
    MPI_Finalize();
    return faults ? 1 : 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        bool threads;
    } cases[] = {{"at-once", child_at_once, false},
                 {"exits", child_exits, false},
                 {"leaves", child_leaves, false},
                 {"thread-exits", child_thread_exits, false},
                 {"stays", child_stays, false},
                 {"exec-plain", exec_plain, false},
                 {"exec-mpi", exec_mpi, false},
                 {"vfork", vforked, false},
                 {"spawn", spawned, false},
                 {"shell", shelled, false},
                 {"daemon", demon, false},
                 {"windows", child_frees_windows, false},
                 {"among-threads", among_threads, true}};
    int provided, ran = 0;
    unsigned long long all;
    self = argv[0];
    if (argc == 2 && strcmp(argv[1], "alone") == 0)
        return alone();
    atexit(at_exit);
    block = calloc(1, BLOCK_BYTES);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    part();
    for (int word = 1; word < argc; word++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            if (strcmp(argv[word], cases[i].name) == 0) {
                if (cases[i].threads && provided != MPI_THREAD_MULTIPLE)
                    return 77;
                cases[i].run();
                part();
                ran++;
            }
    part();
    MPI_Reduce(&messages, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("messages %llu\n", all);
    MPI_Finalize();
    expect(handlers_run == 0, "the parent is not at its end yet");
    free(block);
    return ran == argc - 1 && !faults ? 0 : 1;
}
