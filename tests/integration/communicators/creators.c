#define _GNU_SOURCE
#include "creators.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int world_rank, world_size;
const char *scratch_directory;

/* A file of this process's own in CREATORS_SAID, or what the launcher reads. */
static int said_open(void)
{
    static int said = -1;
    const char *directory = getenv("CREATORS_SAID");
    char path[512];
    if (said >= 0)
        return said;
    if (!directory)
        return said = STDOUT_FILENO;
    snprintf(path, sizeof path, "%s/%d", directory, (int)getpid());
    said = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (said < 0)
        abort();
    return said;
}

void say(const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line || write(said_open(), line, (size_t)n) != n)
        abort();
}

/* What mpit's variable for this communicator holds; false without mpit. */
static int value_read(const char *name, int class, MPI_Comm *comm, unsigned long long *values, int most)
{
    int number, count = 0, provided;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    int known = MPI_T_pvar_get_index(name, class, &number) == MPI_SUCCESS;
    if (known) {
        EXPECT(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
        EXPECT(MPI_T_pvar_handle_alloc(session, number, comm, &handle, &count) == MPI_SUCCESS);
        EXPECT(count <= most);
        EXPECT(MPI_T_pvar_read(session, handle, values) == MPI_SUCCESS);
        MPI_T_pvar_handle_free(session, &handle);
        MPI_T_pvar_session_free(&session);
    }
    MPI_T_finalize();
    return known ? count : 0;
}

/* A handle begins at 0 and has one value for each process of the (remote) group. */
static void peers_check(MPI_Comm comm, int peers)
{
    unsigned long long values[64];
    int count = value_read("mpit_peer_send_count", MPI_T_PVAR_CLASS_COUNTER, &comm, values, 64);
    EXPECT(count == 0 || count == peers);
}

static void account_say(const struct account *a)
{
    say("comm %s world=%d rank=%d size=%d remote=%d sent=%llu bytes=%llu received=%llu bytes=%llu colls=%llu "
        "bytes=%llu\n",
        a->label, world_rank, a->rank, a->size, a->remote, a->sent, a->sent_bytes, a->received, a->received_bytes,
        a->colls, a->coll_bytes);
}

static struct account account_open(MPI_Comm comm, const char *label)
{
    struct account a = {.label = ""};
    int inter;
    snprintf(a.label, sizeof a.label, "%s", label);
    MPI_Comm_rank(comm, &a.rank);
    MPI_Comm_size(comm, &a.size);
    MPI_Comm_test_inter(comm, &inter);
    if (inter)
        MPI_Comm_remote_size(comm, &a.remote);
    peers_check(comm, inter ? a.remote : a.size);
    return a;
}

void use_not(MPI_Comm comm, const char *label)
{
    struct account a = account_open(comm, label);
    account_say(&a);
}

static void sent(struct account *a, int count)
{
    a->sent++;
    a->sent_bytes += (unsigned long long)count * sizeof(int);
}

static void received(struct account *a, int count)
{
    a->received++;
    a->received_bytes += (unsigned long long)count * sizeof(int);
}

static void collective(struct account *a, size_t in, size_t out)
{
    a->colls++;
    a->coll_bytes += in + out;
}

void use_intra(MPI_Comm comm, const char *label)
{
    struct account a = account_open(comm, label);
    int right = (a.rank + 1) % a.size, left = (a.rank + a.size - 1) % a.size, out[64] = {a.rank}, in[64], sum;
    MPI_Sendrecv(out, a.rank + 1, MPI_INT, right, 3, in, 64, MPI_INT, left, 3, comm, MPI_STATUS_IGNORE);
    sent(&a, a.rank + 1);
    received(&a, left + 1);
    EXPECT(in[0] == left);
    MPI_Bcast(in, 5, MPI_INT, a.size - 1, comm);
    collective(&a, a.rank == a.size - 1 ? 5 * sizeof(int) : 0, a.rank == a.size - 1 ? 0 : 5 * sizeof(int));
    MPI_Allreduce(&a.rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    collective(&a, sizeof(int), sizeof(int));
    EXPECT(sum == a.size * (a.size - 1) / 2);
    account_say(&a);
}

/* Rooted collectives: the root is process 0 of the first group. */
static void use_roots(struct account *a, MPI_Comm comm, int first)
{
    int is_root = first && a->rank == 0, leaf = !first, root = is_root ? MPI_ROOT : first ? MPI_PROC_NULL : 0;
    int data[64] = {4711}, all[64];
    double value = 1, total = 0;
    MPI_Bcast(data, 3, MPI_INT, root, comm);
    collective(a, is_root ? 3 * sizeof(int) : 0, leaf ? 3 * sizeof(int) : 0);
    EXPECT(data[0] == 4711);
    MPI_Gather(&a->rank, 1, MPI_INT, all, 1, MPI_INT, root, comm);
    collective(a, leaf ? sizeof(int) : 0, is_root ? (size_t)a->remote * sizeof(int) : 0);
    EXPECT(!is_root || all[a->remote - 1] == a->remote - 1);
    MPI_Scatter(all, 1, MPI_INT, data, 1, MPI_INT, root, comm);
    collective(a, is_root ? (size_t)a->remote * sizeof(int) : 0, leaf ? sizeof(int) : 0);
    MPI_Reduce(&value, &total, 1, MPI_DOUBLE, MPI_SUM, root, comm);
    collective(a, leaf ? sizeof(double) : 0, is_root ? sizeof(double) : 0);
    EXPECT(!is_root || total == a->remote);
}

void use_inter(MPI_Comm comm, int first, const char *label)
{
    struct account a = account_open(comm, label);
    int peer = a.rank < a.remote ? a.rank : MPI_PROC_NULL, value = a.rank, all[64], sum;
    MPI_Sendrecv(&value, 1, MPI_INT, peer, 3, all, 1, MPI_INT, peer, 3, comm, MPI_STATUS_IGNORE);
    if (peer >= 0) {
        sent(&a, 1);
        received(&a, 1);
        EXPECT(all[0] == peer);
    }
    /* process 0 of the second group to all of the first, which do not say from whom */
    for (int i = 0; !first && a.rank == 0 && i < a.remote; i++) {
        MPI_Request request;
        MPI_Isend(all, 2, MPI_INT, i, 4, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sent(&a, 2);
    }
    if (first) {
        MPI_Request request;
        MPI_Irecv(all, 64, MPI_INT, MPI_ANY_SOURCE, 4, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        received(&a, 2);
    }
    use_roots(&a, comm, first);
    MPI_Allreduce(&a.rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    collective(&a, sizeof(int), sizeof(int));
    EXPECT(sum == a.remote * (a.remote - 1) / 2);
    MPI_Allgather(&a.rank, 1, MPI_INT, all, 1, MPI_INT, comm);
    collective(&a, sizeof(int), (size_t)a.remote * sizeof(int));
    MPI_Barrier(comm);
    collective(&a, 0, 0);
    account_say(&a);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int provided, threads = strcmp(mode, "threads") == 0;
    scratch_directory = argc > 2 ? argv[2] : ".";
    if (strcmp(mode, "sessions") == 0)
        return creators_sessions(0);
    if (strcmp(mode, "around") == 0)
        return creators_sessions(1);
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    int status = threads                          ? creators_threads()
                 : strcmp(mode, "here") == 0      ? creators_here()
                 : strncmp(mode, "spawn", 5) == 0 ? creators_spawn(argv)
                                                  : creators_meet(mode);
    MPI_Finalize();
    return status;
}
