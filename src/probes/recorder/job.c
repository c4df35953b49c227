#define _GNU_SOURCE
#include "recorder/job.h"

#include "base/hash.h"
#include "recorder/clocks_own.h"
#include "registry/book.h"
#include "native.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ANCESTORS_MAX = 16, TEXT_BYTES = 4096 };

/* Reads /proc/PID/NAME, with two NULs after it: as a list of words it ends with an empty one. Returns its length. */
static size_t process_read(int pid, const char *name, char text[TEXT_BYTES])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : read(fd, text, TEXT_BYTES - 2);
    if (fd >= 0)
        close(fd);
    size_t used = bytes > 0 ? (size_t)bytes : 0;
    text[used] = text[used + 1] = '\0';
    return used;
}

static int parent_of(int pid)
{
    char text[TEXT_BYTES];
    int parent = 0;
    process_read(pid, "stat", text);
    const char *name_end = strrchr(text, ')'); /* the name may contain any character */
    return name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Adds mpiexec's address and the number of the process group: hydra_pmi_proxy --control-port HOST:PORT ... --pgid N. */
static bool proxy_hash(int pid, uint64_t *hash)
{
    char text[TEXT_BYTES];
    const char *end = text + process_read(pid, "cmdline", text), *slash = strrchr(text, '/');
    if (strcmp(slash ? slash + 1 : text, "hydra_pmi_proxy") != 0)
        return false;
    bool port = false;
    for (const char *word = text; word < end; word += strlen(word) + 1) {
        bool is_port = strcmp(word, "--control-port") == 0, is_group = strcmp(word, "--pgid") == 0;
        const char *value = word + strlen(word) + 1;
        if (value < end && (is_port || is_group)) {
            *hash = hash_text(hash_text(*hash, word), value);
            port = port || is_port;
        }
    }
    return port;
}

/* Returns the time of the first call in this process. A program that is executed later in the process is a job of its
 * own. So are processes with the same number in other places and at other times. */
static uint64_t born(void)
{
    static uint64_t ns;
    struct timespec now;
    if (!ns && clock_gettime(CLOCK_REALTIME, &now) == 0)
        ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    return ns;
}

/* Returns the job of a process that is recorded on this node into the same spool. 0: no such process. */
static uint64_t live_job(const char *spool, int bytes, const char *host, int pid)
{
    char path[PATH_MAX];
    struct run_header header;
    if (snprintf(path, sizeof path, "%.*s/%s.%d%s", bytes, spool, host, pid, RUN_FILE_SUFFIX) >= (int)sizeof path)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool read_ = fd >= 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header;
    if (fd >= 0)
        close(fd);
    return read_ && header.pid == (uint32_t)pid ? header.job : 0;
}

/* True if the launcher's variables are inherited from a process of the job that started this program. Then the program
 * is not a process of that job. */
static bool is_inherited(uint64_t number)
{
    const char *slash = strrchr(book.run.path, '/');
    char host[64] = "localhost";
    gethostname(host, sizeof host - 1);
    int pid = slash ? getppid() : 0;
    for (int i = 0; pid > 1 && i < ANCESTORS_MAX; i++, pid = parent_of(pid))
        if (live_job(book.run.path, (int)(slash - book.run.path), host, pid) == number)
            return true;
    return false;
}

static uint64_t own_number(uint64_t hash)
{
    char own[128], host[64] = "";
    gethostname(host, sizeof host - 1);
    snprintf(own, sizeof own, "%s.%d.%" PRIu64, host, (int)getpid(), born());
    return hash_text(hash, own);
}

static bool is_on_one_node(void)
{
    struct launch launch = job_launch();
    return launch.local_size > 0 && !job_launch_is_wide(&launch);
}

/*
 * The name may come again: PRRTE and Open MPI 4 make it of the host and their own process number, which is the same in
 * many containers. Open MPI 4 has a random key, too, which spawned jobs have from their parents. Without one, on one node
 * the address of the daemon tells such jobs apart. MPI_Init may set the key, so the first answer stays.
 */
static uint64_t launch_salt(void)
{
    static uint64_t salt;
    const char *key = getenv("OMPI_MCA_orte_precondition_transports");
    if (!salt)
        salt = hash_text(HASH_BEGIN, key || !is_on_one_node() ? key : getenv("PMIX_SERVER_URI4"));
    return salt;
}

/*
 * Hydra's processes on a node share a socket to their proxy, which is another one in each launch. They need not see the
 * proxy, which may be in another PID namespace, or hidden. Returns 0 if there is none, or the job has other nodes.
 */
static uint64_t hydra_socket(void)
{
    static uint64_t found; /* the program may close it */
    const char *number = getenv("HYDI_CONTROL_FD");
    struct stat st;
    if (!found && number && is_on_one_node() && fstat(atoi(number), &st) == 0 && S_ISSOCK(st.st_mode))
        found = hash_add(clock_own_kernel(), st.st_ino);
    return found;
}

static uint64_t number_told(const char *directory)
{
    uint64_t hash = batch_hash(directory);
    const char *name = launch_name();
    if (name)
        return hash_add(hash_text(hash, name), launch_salt());
    if (hydra_socket())
        return hash_add(hash, hydra_socket());
    for (int pid = getppid(), i = 0; pid > 1 && i < ANCESTORS_MAX; pid = parent_of(pid), i++) {
        uint64_t by_proxy = hash; /* other processes, such as a shell, may be between */
        if (proxy_hash(pid, &by_proxy))
            return by_proxy;
    }
    char parent[24];
    snprintf(parent, sizeof parent, "%d", (int)getppid());
    return hash_text(hash, parent);
}

uint64_t job_number(const char *directory, int size)
{
    static uint64_t asked, answer;
    if (size == 1) /* it may have inherited the name from a process that started it, and that process's job */
        return own_number(batch_hash(directory));
    uint64_t number = number_told(directory);
    if (!strchr(book.run.path, '/')) /* without a live file it cannot tell */
        return number;
    if (number != asked || !answer) {
        answer = is_inherited(number) ? own_number(batch_hash(directory)) : number;
        asked = number;
    }
    return answer;
}

struct launch job_launch(void)
{
    return launch_told(native_family());
}

bool job_launch_is_wide(const struct launch *launch)
{
    if (launch->local_size > 0)
        return launch->local_size < launch->size;
    return launch->nodes > 1 && launch->size > 1;
}

/* The port that the parents opened for their children: NAMESPACE.RANK:TAG. With Open MPI 5, whose namespaces have an
 * "@", the port has a number of its own, and the parents are not known. */
uint64_t job_parent_number(const char *directory)
{
    const char *port = getenv("OMPI_PARENT_PORT"), *namespace = getenv("PMIX_NAMESPACE");
    char space[64];
    size_t bytes = port ? strcspn(port, ".") : 0;
    int parents = 0; /* a single one is named after itself (job_number) */
    MPI_Comm parent = native.comm_null;
    if (!world_is_spawned() || native.Comm_get_parent(&parent) != MPI_SUCCESS ||
        native.Comm_remote_size(parent, &parents) != MPI_SUCCESS || parents < 2)
        return 0;
    if (!bytes || bytes >= sizeof space || !port[bytes] || !namespace || strchr(namespace, '@'))
        return 0;
    memcpy(space, port, bytes);
    space[bytes] = '\0';
    return hash_add(hash_text(batch_hash(directory), space), launch_salt());
}

bool world_is_spawned(void)
{
    static int answer = -1;
    MPI_Comm parent = native.comm_null;
    if (answer < 0 && native.world)
        answer = native.Comm_get_parent(&parent) == MPI_SUCCESS && parent != native.comm_null;
    return answer > 0;
}
