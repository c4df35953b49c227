#define _GNU_SOURCE
#include "run/launched.h"

#include "base/hash.h"
#include "base/processes.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    ANCESTORS_MOST = 32,
    CLAIM_TRIES = 100,
    CLAIM_PAUSE_MS = 20,
    CLAIM_MINUTES = 5, /* more than a launcher needs to start a job on all hosts, and their clocks may differ */
    CLAIM_BYTES = LAUNCHED_ID_BYTES + LAUNCHED_KEY_BYTES + 1
};

static const char claim_name[] = ".mpit-launch";

/* Returns -1 if it is not set, or not a number. */
static int environment_number(const char *name)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !isdigit((unsigned char)*text))
        return -1;
    errno = 0;
    long number = strtol(text, &end, 10);
    return errno || *end || number > INT_MAX ? -1 : (int)number;
}

static void letters_clean(char *text)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("._-", *text))
            *text = '-';
}

static void id_set(struct launched *launched, const char *prefix, const char *first, const char *second)
{
    int length =
        snprintf(launched->id, sizeof launched->id, "%s%s%s%s", prefix, first, second ? "." : "", second ? second : "");
    if (length >= (int)sizeof launched->id)
        launched->id[0] = '\0';
    letters_clean(launched->id);
}

/* Reads a variable that all processes of the job have, or none. */
static void launch_key_set(struct launched *launched, const char *name)
{
    const char *text = getenv(name);
    snprintf(launched->key, sizeof launched->key, "%s", text ? text : "");
    letters_clean(launched->key);
}

/* PRRTE: "HOST/NUMBER", of the host and of the address that its daemon has got for this job. */
static void node_key_set(struct launched *launched)
{
    const char *host = getenv("PMIX_HOSTNAME"), *daemon = getenv("PMIX_SERVER_URI4");
    if (!host || !daemon)
        return;
    snprintf(launched->key, sizeof launched->key, "%.40s", host);
    letters_clean(launched->key);
    launched->host = strlen(launched->key);
    snprintf(launched->key + launched->host, sizeof launched->key - launched->host, "/%016" PRIx64,
             hash_text(HASH_BEGIN, daemon));
}

/* Returns seconds since the epoch, or 0 if unknown. */
static time_t boot_time(void)
{
    char line[256];
    long long seconds = 0;
    FILE *stat = fopen("/proc/stat", "re");
    while (stat && fgets(line, sizeof line, stat) && sscanf(line, "btime %lld", &seconds) != 1)
        ;
    if (stat)
        fclose(stat);
    return (time_t)seconds;
}

/* Hydra does not name the job. On a node, all its processes have the same proxy above them, which identifies the
 * job. */
static void hydra_id(struct launched *launched)
{
    if (environment_number("MPI_LOCALNRANKS") != launched->size)
        return; /* there are other proxies on other nodes */
    char name[PROCESS_NAME_BYTES], number[32], stamp[32];
    uint32_t pid = (uint32_t)getppid();
    for (int i = 0; i < ANCESTORS_MOST && pid; i++) {
        uint32_t parent = process_parent(pid, name);
        if (strcmp(name, "hydra_pmi_proxy") == 0) {
            time_t begin = boot_time() + (time_t)(process_start(pid) / (uint64_t)sysconf(_SC_CLK_TCK));
            struct tm local;
            strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S-", localtime_r(&begin, &local));
            snprintf(number, sizeof number, "%" PRIu32, pid);
            id_set(launched, stamp, number, NULL);
            return;
        }
        pid = parent;
    }
}

/* Makes the ID from the number of the job and of its step. */
static void slurm_id(struct launched *launched)
{
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    if (job && step)
        id_set(launched, "slurm-", job, step);
    launch_key_set(launched, "SLURM_RESTART_COUNT");
}

bool launched_find(struct launched *launched)
{
    const char *text;
    *launched = (struct launched){.rank = environment_number("OMPI_COMM_WORLD_RANK"),
                                  .size = environment_number("OMPI_COMM_WORLD_SIZE")};
    if (launched->rank >= 0 && launched->size > 0) { /* even if a step of Slurm above started it */
        if ((text = getenv("PMIX_NAMESPACE")))
            id_set(launched, "", text, NULL);
        launch_key_set(launched, "OMPI_MCA_orte_precondition_transports");
        if (!launched->key[0])
            node_key_set(launched);
        return launched->size > 1;
    }
    launched->rank = environment_number("PMI_RANK");
    launched->size = environment_number("PMI_SIZE");
    if (launched->rank >= 0 && launched->size > 0) {
        if (getenv("MPI_LOCALNRANKS"))
            hydra_id(launched);
        else
            slurm_id(launched);
        return launched->size > 1;
    }
    launched->rank = environment_number("SLURM_PROCID");
    launched->size = getenv("SLURM_STEP_ID") ? environment_number("SLURM_STEP_NUM_TASKS") : 0;
    if (launched->rank < 0 || launched->size <= 1)
        return false;
    slurm_id(launched);
    return true;
}

/* Reads the file. Its owner may be just writing it. */
static bool claim_read(const char *path, char text[CLAIM_BYTES + 1])
{
    for (int try = 0; try < CLAIM_TRIES; try++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
        ssize_t bytes = fd >= 0 ? read(fd, text, CLAIM_BYTES) : -1;
        if (fd >= 0)
            close(fd);
        if (bytes > 0 && text[bytes - 1] == '\n') {
            text[bytes - 1] = '\0';
            return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = CLAIM_PAUSE_MS * 1000000L}, NULL);
    }
    return false;
}

/* Returns 0 if the claim is written with all of its text. A partial claim would make the other ranks wait for the
 * rest. */
static int claim_write(const char *path, const char *claim)
{
    char text[CLAIM_BYTES + 1];
    int bytes = snprintf(text, sizeof text, "%s\n", claim);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    ssize_t written = write(fd, text, (size_t)bytes);
    int problem = written == bytes ? 0 : written < 0 ? errno : ENOSPC;
    if (close(fd) != 0 && !problem)
        problem = errno;
    if (problem)
        unlink(path);
    return problem;
}

/* A claim of another host: it has the same ID, and is fresh. */
static bool claim_is_of_other_host(const struct launched *launched, const char *path, const char *there)
{
    struct stat status;
    size_t id = strlen(launched->id);
    return launched->host && strncmp(there, launched->id, id) == 0 && there[id] == ' ' &&
           strncmp(there + id + 1, launched->key, launched->host + 1) != 0 && stat(path, &status) == 0 &&
           status.st_mtime >= time(NULL) - CLAIM_MINUTES * 60;
}

int launched_claim(const struct launched *launched, const char *directory, bool free)
{
    char path[PATH_MAX], claim[CLAIM_BYTES], there[CLAIM_BYTES + 1];
    if (snprintf(path, sizeof path, "%s/%s", directory, claim_name) >= (int)sizeof path)
        return ENAMETOOLONG;
    if (!free && access(path, F_OK) != 0)
        return EEXIST;
    snprintf(claim, sizeof claim, "%s%s%s", launched->id, launched->key[0] ? " " : "", launched->key);
    int problem = free ? claim_write(path, claim) : EEXIST;
    if (problem != EEXIST)
        return problem;
    if (!claim_read(path, there))
        return EEXIST;
    return strcmp(claim, there) == 0 || claim_is_of_other_host(launched, path, there) ? 0 : EEXIST;
}
