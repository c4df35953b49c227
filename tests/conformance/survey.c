#include "survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PVARS_MOST = 16384 };

const struct pvar *pvar_next(const struct pvar *before)
{
    static struct pvar *table[PVARS_MOST];
    int count = 0, index = before ? before->index + 1 : 0;
    if (MPI_T_pvar_get_num(&count) != MPI_SUCCESS)
        return NULL;
    for (; index < count && index < PVARS_MOST; index++) {
        if (!table[index])
            table[index] = calloc(1, sizeof *table[index]);
        struct pvar *p = table[index];
        int length = sizeof p->name;
        p->index = index;
        p->name[0] = '\0';
        if (MPI_T_pvar_get_info(index, p->name, &length, &p->verbosity, &p->class, &p->datatype, &p->enumtype, NULL,
                                NULL, &p->bind, &p->readonly, &p->continuous, &p->atomic) != MPI_SUCCESS)
            continue;
        p->own = strncmp(p->name, "mpit_", 5) == 0 || strcmp(p->name, "MPI_T_UMQ_LENGTH") == 0;
        return p;
    }
    return NULL;
}

const struct pvar *pvar_named(const char *name, int class)
{
    EACH_PVAR(p)
        if (strcmp(p->name, name) == 0 && (class == -1 || class == p->class))
            return p;
    return NULL;
}

bool pvar_handle(const struct pvar *pvar, MPI_T_pvar_session session, MPI_T_pvar_handle *handle, int *count)
{
    static MPI_Comm comm;
    int running = 0, over = 0;
    comm = MPI_COMM_WORLD;
    MPI_Initialized(&running);
    MPI_Finalized(&over);
    if (strncmp(pvar->name, "mtl_psm", 7) == 0)
        return false;
    if (pvar->bind != MPI_T_BIND_NO_OBJECT && (pvar->bind != MPI_T_BIND_MPI_COMM || !running || over))
        return false;
    *count = 0;
    return MPI_T_pvar_handle_alloc(session, pvar->index, pvar->bind == MPI_T_BIND_NO_OBJECT ? NULL : (void *)&comm,
                                   handle, count) == MPI_SUCCESS &&
           *count > 0 && *count <= VALUES_MOST;
}

size_t type_bytes(MPI_Datatype type)
{
    if (type == MPI_INT)
        return sizeof(int);
    if (type == MPI_UNSIGNED)
        return sizeof(unsigned);
    if (type == MPI_UNSIGNED_LONG)
        return sizeof(unsigned long);
    if (type == MPI_UNSIGNED_LONG_LONG)
        return sizeof(unsigned long long);
    if (type == MPI_COUNT)
        return sizeof(MPI_Count);
    if (type == MPI_DOUBLE)
        return sizeof(double);
    if (type == MPI_INT32_T || type == MPI_UINT32_T)
        return 4;
    if (type == MPI_INT64_T || type == MPI_UINT64_T)
        return 8;
    return type == MPI_CHAR ? 1 : 0;
}

double type_value(MPI_Datatype type, const void *values, int at)
{
    if (type == MPI_INT || type == MPI_INT32_T)
        return ((const int *)values)[at];
    if (type == MPI_UNSIGNED || type == MPI_UINT32_T)
        return ((const unsigned *)values)[at];
    if (type == MPI_DOUBLE)
        return ((const double *)values)[at];
    if (type == MPI_CHAR)
        return ((const char *)values)[at];
    return (double)((const unsigned long long *)values)[at];
}

int pvar_values(const struct pvar *pvar, MPI_T_pvar_session session, MPI_T_pvar_handle handle, int count,
                double values[VALUES_MOST])
{
    unsigned long long raw[VALUES_MOST] = {0};
    int code = MPI_T_pvar_read(session, handle, raw);
    for (int i = 0; i < count && i < VALUES_MOST; i++)
        values[i] = type_value(pvar->datatype, raw, i);
    return code;
}

double pvar_sum(const struct pvar *pvar, MPI_T_pvar_session session, MPI_T_pvar_handle handle, int count)
{
    double values[VALUES_MOST], sum = 0;
    if (pvar_values(pvar, session, handle, count, values) != MPI_SUCCESS)
        return NAN;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

void traffic(int rounds)
{
    char out[64] = "", in[64];
    int rank, value = 1, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < rounds; i++) {
        MPI_Request request;
        MPI_Isend(out, sizeof out, MPI_CHAR, rank, 7, MPI_COMM_WORLD, &request);
        MPI_Recv(in, sizeof in, MPI_CHAR, rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

bool pvar_sums(const struct pvar *p)
{
    return p->class == MPI_T_PVAR_CLASS_COUNTER || p->class == MPI_T_PVAR_CLASS_AGGREGATE ||
           p->class == MPI_T_PVAR_CLASS_TIMER;
}

/* Tried once for each variable, in a session of its own. */
bool pvar_counts(const struct pvar *pvar)
{
    static signed char known[PVARS_MOST]; /* by index: 0 not tried, 1 it does, -1 it does not */
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int count;
    if (pvar->continuous || !pvar_sums(pvar))
        return false;
    if (known[pvar->index])
        return known[pvar->index] > 0;
    known[pvar->index] = -1;
    if (MPI_T_pvar_session_create(&session) != MPI_SUCCESS)
        return false;
    if (pvar_handle(pvar, session, &handle, &count)) {
        MPI_T_pvar_start(session, handle);
        double before = pvar_sum(pvar, session, handle, count), after = before;
        bool grows = true;
        /* each time: what the system counts in ticks may have grown once */
        for (int i = 0; grows && i < 5; i++, before = after) {
            traffic(3);
            after = pvar_sum(pvar, session, handle, count);
            grows = after > before;
        }
        if (grows)
            known[pvar->index] = 1;
        MPI_T_pvar_handle_free(session, &handle);
    }
    MPI_T_pvar_session_free(&session);
    return known[pvar->index] > 0;
}

MPI_T_pvar_session session_new(void)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    NEED(MPI_T_pvar_session_create(&session));
    return session;
}

void each_handle(pvar_choice *is_such, const char *what, handle_judge *judge)
{
    int found = 0, count;
    EACH_PVAR(p) {
        MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
        if (!is_such(p))
            continue;
        MPI_T_pvar_session session = session_new();
        if (pvar_handle(p, session, &handle, &count)) {
            judge(p, session, handle, count);
            found++;
        } else {
            expect(!pvar_counts(p), "no handle of %s", p->name);
        }
        MPI_T_pvar_session_free(&session);
    }
    some(found, what);
}

const char *const use_names[USES] = {"handle_free", "start", "stop", "read", "write", "reset", "readreset"};

int handle_use(enum use use, MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    static unsigned long long values[VALUES_MOST];
    switch (use) {
    case USE_FREE:
        return MPI_T_pvar_handle_free(session, &handle);
    case USE_START:
        return MPI_T_pvar_start(session, handle);
    case USE_STOP:
        return MPI_T_pvar_stop(session, handle);
    case USE_READ:
        return MPI_T_pvar_read(session, handle, values);
    case USE_WRITE:
        return MPI_T_pvar_write(session, handle, values);
    case USE_RESET:
        return MPI_T_pvar_reset(session, handle);
    default:
        return MPI_T_pvar_readreset(session, handle, values);
    }
}

void some(int found, const char *what)
{
    if (!found)
        skip("no %s here", what);
}

bool is_verbosity(int v)
{
    return v == MPI_T_VERBOSITY_USER_BASIC || v == MPI_T_VERBOSITY_USER_DETAIL || v == MPI_T_VERBOSITY_USER_ALL ||
           v == MPI_T_VERBOSITY_TUNER_BASIC || v == MPI_T_VERBOSITY_TUNER_DETAIL || v == MPI_T_VERBOSITY_TUNER_ALL ||
           v == MPI_T_VERBOSITY_MPIDEV_BASIC || v == MPI_T_VERBOSITY_MPIDEV_DETAIL || v == MPI_T_VERBOSITY_MPIDEV_ALL;
}

bool is_bind(int b)
{
    return b == MPI_T_BIND_NO_OBJECT || b == MPI_T_BIND_MPI_COMM || b == MPI_T_BIND_MPI_DATATYPE ||
           b == MPI_T_BIND_MPI_ERRHANDLER || b == MPI_T_BIND_MPI_FILE || b == MPI_T_BIND_MPI_GROUP ||
           b == MPI_T_BIND_MPI_OP || b == MPI_T_BIND_MPI_REQUEST || b == MPI_T_BIND_MPI_WIN ||
           b == MPI_T_BIND_MPI_MESSAGE || b == MPI_T_BIND_MPI_INFO || b == MPI_T_BIND_MPI_INFO + 1; /* of a session */
}
