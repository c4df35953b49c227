/* Several worlds: spawned ones, two jobs that meet, and none, with sessions. */
#define _GNU_SOURCE
#include "creators.h"
#include "../common/mpi4.h"

#include <unistd.h>

/* Two parents spawn two children, these together one, and the parents then three of two programs at once. */
static MPI_Comm children_make(char **argv, int count, const char *level, const char *label)
{
    MPI_Comm inter = MPI_COMM_NULL;
    char mode[16];
    char *arguments[] = {mode, (char *)(size_t)scratch_directory, NULL};
    snprintf(mode, sizeof mode, "spawn%s", level);
    int result =
        MPI_Comm_spawn(argv[0], arguments, count, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    if (result != MPI_SUCCESS) {
        say("cannot spawn\n");
        return MPI_COMM_NULL;
    }
    use_inter(inter, 1, label);
    return inter;
}

static void merge_use(MPI_Comm inter, int high, const char *label)
{
    MPI_Comm merged, half;
    char name[64];
    int rank;
    MPI_Intercomm_merge(inter, high, &merged);
    use_intra(merged, label);
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_split(merged, rank % 2, 0, &half); /* of processes of both worlds, or of one */
    snprintf(name, sizeof name, "%s/split#1:%d", label, rank % 2);
    use_intra(half, name);
    MPI_Comm_free(&half);
    MPI_Comm_free(&merged);
}

static void programs_spawn(char **argv)
{
    char *commands[] = {argv[0], argv[0]}, *one[] = {"spawn-last", NULL}, *two[] = {"spawn-last", NULL};
    char **arguments[] = {one, two};
    int counts[] = {1, 2}, codes[3];
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter;
    EXPECT(MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &inter, codes) ==
           MPI_SUCCESS);
    use_inter(inter, 1, "spawn:2+3#1");
    MPI_Comm_disconnect(&inter);
}

int creators_spawn(char **argv)
{
    const char *level = argv[1] + strlen("spawn");
    MPI_Comm parent, inter = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_get_parent(&parent);
    EXPECT((parent == MPI_COMM_NULL) == (level[0] == '\0'));
    if (parent == MPI_COMM_NULL) {
        inter = children_make(argv, 2, "-middle", "spawn:2+2#1");
        if (inter == MPI_COMM_NULL)
            return 0;
        merge_use(inter, 0, "spawn:2+2#1/merge#1");
        if (!getenv("CREATORS_ONE_WORLD"))
            programs_spawn(argv);
    } else if (strcmp(level, "-middle") == 0) {
        use_inter(parent, 0, "spawn:2+2#1");
        merge_use(parent, 1, "spawn:2+2#1/merge#1");
        if (getenv("CREATORS_ONE_WORLD"))
            return 0;
        inter = children_make(argv, 1, "-last", "spawn:2+1#1"); /* connected up to the end */
    } else {
        int parents;
        char label[64];
        MPI_Comm_remote_size(parent, &parents);
        snprintf(label, sizeof label, "spawn:%d+%d#1", parents, world_size);
        use_inter(parent, 0, label);
        if (world_size == 3)
            MPI_Comm_disconnect(&parent);
    }
    return 0;
}

static void port_pass(int server, char port[MPI_MAX_PORT_NAME])
{
    char path[4096], made[4096 + 8];
    snprintf(path, sizeof path, "%s/port", scratch_directory);
    snprintf(made, sizeof made, "%s.made", path);
    if (server) {
        FILE *file = fopen(made, "w");
        EXPECT(file && fputs(port, file) >= 0 && fclose(file) == 0 && rename(made, path) == 0);
        return;
    }
    FILE *file;
    while (!(file = fopen(path, "r")))
        usleep(20000);
    EXPECT(fgets(port, MPI_MAX_PORT_NAME, file));
    fclose(file);
}

int creators_meet(const char *role)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    int server = strcmp(role, "server") == 0;
    EXPECT(server || strcmp(role, "client") == 0);
    if (server && world_rank == 0)
        EXPECT(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    if (world_rank == 0)
        port_pass(server, port);
    if (server)
        EXPECT(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter) == MPI_SUCCESS);
    else
        EXPECT(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter) == MPI_SUCCESS);
    use_inter(inter, server, "connect:n1+2#1");
    MPI_Comm_disconnect(&inter);
    return 0;
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

#if HAS_MPI4

static MPI_Group part_of(MPI_Group all, int parity)
{
    int range[1][3] = {{parity, world_size - 1, 2}};
    MPI_Group part;
    MPI_Group_range_incl(all, 1, range, &part);
    return part;
}

static void session_use(MPI_Session session)
{
    MPI_Group all;
    MPI_Comm comm, copy, inter;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_rank(all, &world_rank);
    MPI_Group_size(all, &world_size);
    EXPECT(MPI_Comm_create_from_group(all, "all of us", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
    use_intra(comm, "from_group:{0,1,2,3}:all of us#1");
    MPI_Comm_dup(comm, &copy);
    use_intra(copy, "from_group:{0,1,2,3}:all of us#1/dup#1");
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
    EXPECT(MPI_Comm_create_from_group(all, "all of us", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
    use_not(comm, "from_group:{0,1,2,3}:all of us#2");
    MPI_Comm_free(&comm);
    MPI_Group mine = part_of(all, world_rank % 2), theirs = part_of(all, 1 - world_rank % 2);
    EXPECT(MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "pair", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter) ==
           MPI_SUCCESS);
    use_inter(inter, world_rank % 2, "from_groups:{0,2}+{1,3}:pair#1");
    MPI_Comm_free(&inter);
    MPI_Group_free(&mine);
    MPI_Group_free(&theirs);
    MPI_Group_free(&all);
}

int creators_sessions(int with_world)
{
    MPI_Session session, other;
    EXPECT(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    EXPECT(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other) == MPI_SUCCESS);
    if (with_world) {
        MPI_Init(NULL, NULL);
        MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
        use_intra(MPI_COMM_WORLD, "MPI_COMM_WORLD");
        EXPECT(MPI_Session_finalize(&session) == MPI_SUCCESS);
        MPI_Finalize();
    } else {
        EXPECT(MPI_Session_finalize(&session) == MPI_SUCCESS);
    }
    session_use(other);
    EXPECT(MPI_Session_finalize(&other) == MPI_SUCCESS);
    return 0;
}

#else

int creators_sessions(int with_world)
{
    (void)with_world;
    return 1;
}

#endif
