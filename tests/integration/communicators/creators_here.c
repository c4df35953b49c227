/* All ways that need no other job. */
#define _GNU_SOURCE
#include "creators.h"
#include "../common/mpi4.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The communicator of some ranks of `comm`; MPI_COMM_NULL elsewhere. */
static MPI_Comm group_make(MPI_Comm comm, int count, const int *ranks, int tag)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group all, some;
    int mine;
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, count, ranks, &some);
    MPI_Group_rank(some, &mine);
    if (mine != MPI_UNDEFINED)
        EXPECT(MPI_Comm_create_group(comm, some, tag, &made) == MPI_SUCCESS);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return made;
}

static void group_use(int count, const int *ranks, int tag, const char *label)
{
    MPI_Comm made = group_make(MPI_COMM_WORLD, count, ranks, tag);
    if (made == MPI_COMM_NULL)
        return;
    use_intra(made, label);
    MPI_Comm_free(&made);
}

static void groups(void)
{
    static const int low[] = {0, 1}, high[] = {3, 2}, odd[] = {0, 2, 3};
    MPI_Comm copy, later;
    MPI_Request request;
    group_use(2, low, 7, "MPI_COMM_WORLD/create_group:{0,1}:7#1");
    group_use(2, high, 7, "MPI_COMM_WORLD/create_group:{3,2}:7#1");
    group_use(2, low, 7, "MPI_COMM_WORLD/create_group:{0,1}:7#2");
    group_use(3, odd, 8, "MPI_COMM_WORLD/create_group:{0,2,3}:8#1");
    MPI_Comm_dup(MPI_COMM_WORLD, &copy); /* no rank has counted more than this one */
    use_intra(copy, "MPI_COMM_WORLD/dup#1");
#if HAS_MPI4
    MPI_Comm_idup_with_info(copy, MPI_INFO_NULL, &later, &request);
#else
    MPI_Comm_idup(copy, &later, &request);
#endif
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use_intra(later, "MPI_COMM_WORLD/dup#1/idup#1");
    MPI_Comm_free(&later);
    MPI_Comm_free(&copy);
}

/* Sides whose communicators have come to be in different ways, and several communicators out of one. */
static void inters(void)
{
    static const int high[] = {2, 3};
    int first = world_rank < 2, leader = first ? 2 : 0;
    MPI_Comm half = MPI_COMM_NULL, inter, again, copy, merged, twice;
    if (first)
        MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank, &half);
    else
        MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &half);
    if (!first)
        half = group_make(MPI_COMM_WORLD, 2, high, 1);
    use_intra(half, first ? "MPI_COMM_WORLD/split#2:0" : "MPI_COMM_WORLD/create_group:{2,3}:1#1");
    EXPECT(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leader, 99, &inter) == MPI_SUCCESS);
    use_inter(inter, first, "intercomm:{0,1}+{2,3}:99#1");
    EXPECT(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leader, 99, &again) == MPI_SUCCESS);
    use_inter(again, !first, "intercomm:{0,1}+{2,3}:99#2");
    EXPECT(MPI_Intercomm_merge(inter, !first, &merged) == MPI_SUCCESS);
    use_intra(merged, "intercomm:{0,1}+{2,3}:99#1/merge#1");
    MPI_Comm_dup(inter, &copy);
    use_inter(copy, first, "intercomm:{0,1}+{2,3}:99#1/dup#2");
    EXPECT(MPI_Intercomm_merge(inter, first, &twice) == MPI_SUCCESS);
    use_intra(twice, "intercomm:{0,1}+{2,3}:99#1/merge#3");
    MPI_Comm_free(&twice);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&again);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* A call that fails says so as ever, and makes nothing. */
static void failures(void)
{
    MPI_Comm made = MPI_COMM_NULL;
    int one, other, a, b;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    one = MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, 1, &made);
    other = PMPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, 1, &made);
    MPI_Error_class(one, &a);
    MPI_Error_class(other, &b);
    EXPECT(a == b && (a != MPI_SUCCESS || made == MPI_COMM_NULL)); /* Open MPI takes it for a group without this one */
    one = MPI_Intercomm_create(MPI_COMM_WORLD, world_size, MPI_COMM_WORLD, 0, 1, &made);
    other = PMPI_Intercomm_create(MPI_COMM_WORLD, world_size, MPI_COMM_WORLD, 0, 1, &made);
    MPI_Error_class(one, &a);
    MPI_Error_class(other, &b);
    EXPECT(a == b && a != MPI_SUCCESS);
}

static void names(void)
{
    char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME], service[64];
    if (world_rank != 0)
        return;
    snprintf(service, sizeof service, "mpit-creators-%d", (int)getpid());
    int opened = MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS; /* not on MPICH's ch4:ucx */
    if (!opened)
        strcpy(port, "no-port");
    EXPECT(MPI_Publish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
    EXPECT(MPI_Lookup_name(service, MPI_INFO_NULL, found) == MPI_SUCCESS && strcmp(port, found) == 0);
    EXPECT(MPI_Unpublish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
    EXPECT((MPI_Close_port(port) == MPI_SUCCESS) == opened);
}

/* Two halves of the world meet. MPICH's ch4:ucx cannot: that is no communicator. */
static void meeting(const char *label)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, inter = MPI_COMM_NULL;
    int first = world_rank % 2 == 0, result;
    MPI_Comm_split(MPI_COMM_WORLD, !first, world_rank, &half);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    if (world_rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (first)
        result = MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
    else
        result = MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
    if (result == MPI_SUCCESS) {
        use_inter(inter, first, label);
        MPI_Comm_disconnect(&inter);
    } else if (world_rank == 0) {
        say("cannot meet\n");
    }
    if (world_rank == 0)
        MPI_Close_port(port);
    MPI_Comm_free(&half);
}

static void joining(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    MPI_Comm inter = MPI_COMM_NULL;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/join", scratch_directory);
    int listening = socket(AF_UNIX, SOCK_STREAM, 0), connected = listening;
    if (world_rank == 0)
        EXPECT(bind(listening, (struct sockaddr *)&address, sizeof address) == 0 && listen(listening, 1) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0)
        connected = accept(listening, NULL, NULL);
    else if (world_rank == 3)
        EXPECT(connect(connected, (struct sockaddr *)&address, sizeof address) == 0);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (world_rank == 0 || world_rank == 3) {
        int result = MPI_Comm_join(connected, &inter);
        if (result == MPI_SUCCESS && inter != MPI_COMM_NULL) {
            use_inter(inter, world_rank == 0, "join:{0}+{3}#1");
            MPI_Comm_disconnect(&inter);
        }
    }
    close(listening);
    if (connected != listening)
        close(connected);
    MPI_Barrier(MPI_COMM_WORLD);
}

int creators_here(void)
{
    EXPECT(world_size == 4);
    groups();
    inters();
    failures();
    names();
    if (getenv("CREATORS_UNCONNECTED"))
        return 0;
    meeting("connect:{0,2}+{1,3}#1");
    meeting("connect:{0,2}+{1,3}#2");
    joining();
    return 0;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 20 };

/* Both threads of a process make communicators out of the world at once, each with a tag of its own. */
static void *thread_run(void *data)
{
    int tag = *(int *)data, all[4] = {0, 1, 2, 3};
    for (int i = 0; i < ROUNDS; i++) {
        char label[64];
        MPI_Comm made = group_make(MPI_COMM_WORLD, 4, all, tag);
        snprintf(label, sizeof label, "MPI_COMM_WORLD/create_group:{0,1,2,3}:%d#%d", tag, i + 1);
        MPI_Barrier(made);
        say("comm %s world=%d rank=%d size=4 remote=0 sent=0 bytes=0 received=0 bytes=0 colls=1 bytes=0\n", label,
            world_rank, world_rank);
        MPI_Comm_free(&made);
    }
    return NULL;
}

int creators_threads(void)
{
    pthread_t other;
    int level, tags[2] = {1, 2};
    MPI_Query_thread(&level);
    EXPECT(level == MPI_THREAD_MULTIPLE && world_size == 4);
    EXPECT(pthread_create(&other, NULL, thread_run, &tags[1]) == 0);
    thread_run(&tags[0]);
    pthread_join(other, NULL);
    return 0;
}
