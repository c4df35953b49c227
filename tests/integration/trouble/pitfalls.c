/*
 * What programs do that a recorder must survive, one case for each argument; prints "right" or what went wrong.
 *
 *     pitfalls null-status | closed-descriptor | many-communicators | forked-reader | jump | finalized-listener |
 *              kept-session |
 *              left-collectives | left-receives | no-context-left | numbers | replaced-stderr | full-stderr
 */
#include <mpi.h>
#include <mpit/instrument.h>
#include <mpit/mpi_t.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

MPIT_REGION(pitfalls_region, "left by who is not in it, which is told on stderr");

static int failures;

static void expect(int right, const char *text)
{
    if (!right) {
        printf("wrong: %s\n", text);
        failures++;
    }
}

static void message_to_self(MPI_Comm comm)
{
    int in = 0, out = 1;
    MPI_Request request;
    MPI_Isend(&out, 1, MPI_INT, 0, 1, comm, &request);
    MPI_Recv(&in, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(in == 1, "the message arrives");
}

static MPI_T_pvar_handle handle_make(MPI_T_pvar_session session, const char *name, int class, MPI_Comm comm)
{
    int index = -1, count;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    expect(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS, name);
    expect(MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count) == MPI_SUCCESS, name);
    return handle;
}

/* An address that is none, which MPICH answers with an error (MPI_STATUS_IGNORE is another one there). */
static void null_status(void)
{
#if !defined(OPEN_MPI)
    int in, code;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Recv(&in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, NULL);
    expect(code != MPI_SUCCESS, "a receive without a status is refused");
#endif
    message_to_self(MPI_COMM_WORLD);
}

/* The program closes what it does not know, and gets the recorder's number for a file of its own. */
static void closed_descriptor(void)
{
    struct stat st;
    int found = 0, own = open("pitfalls.own", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int fd = 3; fd < 4096; fd++) {
        char path[64], target[256];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        if (strstr(target, "mpit-run") || strstr(target, ".mpit")) {
            dup2(own, fd);
            found++;
        }
    }
    expect(found > 0, "the recorder holds a descriptor");
    expect(write(own, "hello", 5) == 5, "the program writes");
    for (int i = 0; i < 300; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        message_to_self(copy);
        MPI_Comm_free(&copy);
    }
    for (int i = 0; i < 20000; i++)
        message_to_self(MPI_COMM_WORLD);
    expect(stat("pitfalls.own", &st) == 0 && st.st_size == 5, "the program's file has what the program wrote");
    unlink("pitfalls.own");
}

/* More than there is memory for (the test bounds it): figures are lost and counted, and nothing else. */
static void many_communicators(void)
{
    for (int i = 0; i < 4000; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        message_to_self(copy);
        MPI_Comm_free(&copy);
    }
}

/* A child may ask; it must not move the parent's windows. */
static void forked_reader(void)
{
    MPI_T_pvar_session session;
    unsigned long long high = 0;
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle handle =
        handle_make(session, "mpit_message_bytes", MPI_T_PVAR_CLASS_HIGHWATERMARK, MPI_COMM_WORLD);
    MPI_T_pvar_start(session, handle);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 5; i++) {
            MPI_T_pvar_reset(session, handle);
            MPI_T_pvar_stop(session, handle);
            MPI_T_pvar_start(session, handle);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    MPI_T_pvar_reset(session, handle);
    message_to_self(MPI_COMM_WORLD);
    MPI_T_pvar_read(session, handle, &high);
    expect(high == sizeof(int), "the watermark is the message that the parent sent");
}

static jmp_buf before;

static void jump_out(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    longjmp(before, 1);
}

/* An error handler leaves MPI by a jump: what follows is in no other call. */
static void jump(void)
{
    MPI_T_pvar_session session;
    MPI_Errhandler handler;
    unsigned long long begin, end, times[2] = {0, 0};
    int out = 1, flag;
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle handle = handle_make(session, "mpit_mpi_time", MPI_T_PVAR_CLASS_TIMER, MPI_COMM_WORLD);
    MPI_T_pvar_start(session, handle);
    MPI_Comm_create_errhandler(jump_out, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    message_to_self(MPI_COMM_WORLD);
    for (volatile int round = 0; round < 2; round++) {
        if (round && !setjmp(before))
            MPI_Send(&out, 1, MPI_INT, 9, 1, MPI_COMM_WORLD);
        MPI_T_pvar_read(session, handle, &begin);
        for (int i = 0; i < 100000; i++)
            MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
        MPI_T_pvar_read(session, handle, &end);
        times[round] = end - begin;
    }
    expect(times[0] > 0 && times[1] > times[0] / 20, "time is counted after a jump as before");
}

static int heard;

static void hear(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                 void *data)
{
    (void)instance, (void)registration, (void)safety, (void)data;
    heard++;
}

/* What the interface gave out ends with it. */
static void finalized_listener(void)
{
    int index = -1, provided;
    MPI_T_event_registration registration;
    MPI_Comm comm = MPI_COMM_WORLD;
    expect(MPI_T_event_get_index("mpit_message_completed", &index) == MPI_SUCCESS, "the event is there");
    expect(MPI_T_event_handle_alloc(index, &comm, MPI_INFO_NULL, &registration) == MPI_SUCCESS,
           "it can be listened to");
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, hear);
    message_to_self(MPI_COMM_WORLD);
    expect(heard > 0, "it is heard");
    MPI_T_finalize();
    heard = 0;
    message_to_self(MPI_COMM_WORLD);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    message_to_self(MPI_COMM_WORLD);
    expect(heard == 0, "and no more after MPI_T_finalize");
}

/* A session with handles of the library's own variables, which MPI_T_finalize takes away behind MPI_Finalize. */
static int session_is_kept;

static void kept_session(void)
{
    MPI_T_pvar_session session;
    int variables = 0;
    expect(MPI_T_pvar_session_create(&session) == MPI_SUCCESS, "there is a session");
    MPI_T_pvar_get_num(&variables);
    for (int i = 0; i < variables; i++) {
        MPI_T_pvar_handle handle;
        MPI_Comm comm = MPI_COMM_WORLD;
        int count, bind, none = 0;
        if (MPI_T_pvar_get_info(i, NULL, &none, NULL, NULL, NULL, NULL, NULL, &none, &bind, NULL, NULL, NULL) ==
            MPI_SUCCESS)
            MPI_T_pvar_handle_alloc(session, i, bind == MPI_T_BIND_MPI_COMM ? &comm : NULL, &handle, &count);
    }
    session_is_kept = 1;
}

/* What the library has freed is somebody else's by now. */
static void heap_use(void)
{
    enum { PIECES = 20000, SIZES = 40 };
    static void *pieces[PIECES];
    for (int i = 0; i < PIECES; i++) {
        size_t bytes = (size_t)16 * (1 + i % SIZES);
        if ((pieces[i] = malloc(bytes)))
            memset(pieces[i], 0x5a, bytes);
    }
    for (int i = 0; i < PIECES; i++)
        free(pieces[i]);
}

/* Open MPI counts the tags of collectives: so many fill the range where a recorder might choose one. MPICH looks at all
 * that have not ended at each step, and does not come to an end with so many. */
#ifdef OPEN_MPI
#define LEFT_COLLECTIVES 40000
#else
#define LEFT_COLLECTIVES 3
#endif

/* Rank 0 alone begins collectives that never end: the communicator serves for no other nonblocking one after that. */
static void left_collectives(void)
{
    static int value, sums[LEFT_COLLECTIVES];
    int rank;
    MPI_Request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect(rank != 0 || MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS,
           "a message is left");
    for (int i = 0; rank == 0 && i < LEFT_COLLECTIVES; i++)
        expect(MPI_Iallreduce(&value, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request) == MPI_SUCCESS,
               "and receives");
}

/* Receives of anything from anybody, in which no message of a recorder's may end. */
static int left[2];

static void left_receives(void)
{
    MPI_Request request;
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(&left[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, i ? MPI_COMM_SELF : MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
}

/* What numbers the library gives to communicators: the test compares them with those of a run without mpit. */
static void numbers(void)
{
    MPI_Comm copies[3];
    for (int i = 0; i < 3; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
    for (int i = 0; i < 3; i++) {
#if defined(MPI_ABI_VERSION) && MPI_ABI_VERSION > 0 /* the standard ABI has nothing for Fortran */
        printf("communicator %d\n", MPI_Comm_toint(copies[i]));
#else
        printf("communicator %d\n", (int)MPI_Comm_c2f(copies[i]));
#endif
        MPI_Comm_free(&copies[i]);
    }
}

/* MPICH has so many communicators and no more; to end MPI, the program needs none. */
static void no_context_left(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2500; i++) {
        MPI_Comm copy;
        if (MPI_Comm_dup(MPI_COMM_WORLD, &copy) != MPI_SUCCESS)
            break;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* What is told on stderr does not get into a file that has its number by now. */
static void replaced_stderr(void)
{
    struct stat st;
    close(STDERR_FILENO);
    int own = open("pitfalls.own", O_RDWR | O_CREAT | O_TRUNC, 0600);
    expect(own == STDERR_FILENO, "the lowest number is used");
    mpit_region_leave(&pitfalls_region);
    expect(fstat(own, &st) == 0 && st.st_size == 0, "the program's file is empty");
    unlink("pitfalls.own");
}

/* Nor does the program wait for who does not read it. */
static void full_stderr(void)
{
    char text[512] = "";
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    struct stat st;
    expect(fstat(STDERR_FILENO, &st) == 0 && S_ISFIFO(st.st_mode), "it is a pipe");
    fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
    while (write(STDERR_FILENO, text, sizeof text) > 0)
        continue;
    fcntl(STDERR_FILENO, F_SETFL, flags);
    mpit_region_leave(&pitfalls_region);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"null-status", null_status},
                 {"closed-descriptor", closed_descriptor},
                 {"many-communicators", many_communicators},
                 {"forked-reader", forked_reader},
                 {"jump", jump},
                 {"finalized-listener", finalized_listener},
                 {"kept-session", kept_session},
                 {"left-collectives", left_collectives},
                 {"left-receives", left_receives},
                 {"no-context-left", no_context_left},
                 {"numbers", numbers},
                 {"replaced-stderr", replaced_stderr},
                 {"full-stderr", full_stderr}};
    int provided, ran = 0;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            ran = 1;
        }
    MPI_Finalize();
    if (session_is_kept) {
        heap_use();
        expect(MPI_T_finalize() == MPI_SUCCESS, "MPI_T is finalized behind MPI");
    }
    expect(!left[0] && !left[1], "what is not received is not written");
    if (ran && !failures)
        puts("right");
    return ran && !failures ? 0 : 1;
}
