/* Sessions and handles: whatever is done in one session changes nothing in another. */
#include "survey.h"

#include <stdlib.h>
#include <string.h>

TEST(session_create, RUNNING, "15.3.7", "A session is created with a handle of its own, that is not NULL.")
{
    MPI_T_pvar_session a = session_new(), b = session_new();
    expect(a != MPI_T_PVAR_SESSION_NULL && b != MPI_T_PVAR_SESSION_NULL, "a session is MPI_T_PVAR_SESSION_NULL");
    expect(a != b, "two sessions have one handle");
}

TEST(session_free, RUNNING, "15.3.7", "Freeing a session sets it to MPI_T_PVAR_SESSION_NULL.")
{
    MPI_T_pvar_session session = session_new();
    EXPECT_CODE(MPI_T_pvar_session_free(&session), MPI_SUCCESS, "a session");
    expect(session == MPI_T_PVAR_SESSION_NULL, "the freed session is not NULL");
}

TEST(session_null, RUNNING, "15.3.10", "MPI_T_PVAR_SESSION_NULL: MPI_T_ERR_INVALID_SESSION.")
{
    MPI_T_pvar_session none = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle;
    int count;
    EXPECT_CODE(MPI_T_pvar_session_free(&none), MPI_T_ERR_INVALID_SESSION, "NULL");
    EACH_PVAR(p)
        if (p->bind == MPI_T_BIND_NO_OBJECT && strncmp(p->name, "mtl_psm", 7) != 0)
            EXPECT_CODE(MPI_T_pvar_handle_alloc(none, p->index, NULL, &handle, &count), MPI_T_ERR_INVALID_SESSION,
                        "%s in no session", p->name);
}

PVAR_TEST(session_freed_is_refused, "15.3.7", "After a session is freed, no call can be made within it.", true,
          "variable that can be read")
{
    MPI_T_pvar_session freed = session_new(), stale = freed;
    unsigned long long values[VALUES_MOST];
    need(pvar_handle(p, freed, &handle, &count), "no second handle of %s", p->name);
    NEED(MPI_T_pvar_session_free(&freed));
    int code = MPI_T_pvar_read(stale, handle, values);
    expect(code == MPI_T_ERR_INVALID_SESSION || code == MPI_T_ERR_INVALID_HANDLE, "a read of %s in a freed session: %s",
           p->name, code_name(code));
    EXPECT_REFUSED(MPI_T_pvar_start(stale, handle), "%s in a freed session", p->name);
    EXPECT_REFUSED(MPI_T_pvar_handle_free(stale, &handle), "%s in a freed session", p->name);
    EXPECT_REFUSED(MPI_T_pvar_session_free(&stale), "a freed session");
}

TEST(sessions_by_the_hundred, RUNNING, "15.3.7", "Several components use the interface at once, each in its session.")
{
    enum { MANY = 500 };
    static MPI_T_pvar_session sessions[MANY];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            sessions[i] = session_new();
        for (int i = 0; i < MANY; i++)
            EXPECT_CODE(MPI_T_pvar_session_free(&sessions[i]), MPI_SUCCESS, "session %d", i);
    }
}

/* ---- isolation --------------------------------------------------------------------------------------------------- */

/* What is done to a handle in the other session. */
typedef void disturbance(const struct pvar *, MPI_T_pvar_session, MPI_T_pvar_handle);

static void by_stop(const struct pvar *p, MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    EXPECT_CODE(MPI_T_pvar_stop(session, handle), MPI_SUCCESS, "%s", p->name);
}

static void by_stop_all(const struct pvar *p, MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    (void)handle;
    EXPECT_CODE(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "%s", p->name);
}

static void by_start(const struct pvar *p, MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    (void)p;
    MPI_T_pvar_stop(session, handle);
    MPI_T_pvar_start(session, handle);
}

static void by_reset(const struct pvar *p, MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    EXPECT_CODE(MPI_T_pvar_reset(session, handle), p->readonly ? MPI_T_ERR_PVAR_NO_WRITE : MPI_SUCCESS, "%s", p->name);
}

static void by_reset_all(const struct pvar *p, MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    (void)handle;
    EXPECT_CODE(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "%s", p->name);
}

static void by_readreset(const struct pvar *p, MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long values[VALUES_MOST];
    EXPECT_CODE(MPI_T_pvar_readreset(session, handle, values), p->atomic ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_ATOMIC, "%s",
                p->name);
}

static void by_write(const struct pvar *p, MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long values[VALUES_MOST] = {0};
    EXPECT_CODE(MPI_T_pvar_write(session, handle, values), p->readonly ? MPI_T_ERR_PVAR_NO_WRITE : MPI_SUCCESS, "%s",
                p->name);
}

static void by_free(const struct pvar *p, MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    EXPECT_CODE(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS, "%s", p->name);
}

static void by_session_free(const struct pvar *p, MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    (void)handle;
    EXPECT_CODE(MPI_T_pvar_session_free(&session), MPI_SUCCESS, "%s", p->name);
}

/*
 * Two sessions with a started handle each of one variable, that counts what traffic() does. After the disturbance in
 * one, the other goes on from where it was.
 */
static void isolation_judge(const struct pvar *p, MPI_T_pvar_session session, MPI_T_pvar_handle handle, int count,
                            disturbance *disturb)
{
    MPI_T_pvar_session theirs = session_new();
    MPI_T_pvar_handle other;
    need(pvar_handle(p, theirs, &other, &count), "no second handle of %s", p->name);
    MPI_T_pvar_start(session, handle);
    MPI_T_pvar_start(theirs, other);
    traffic(2);
    double before = pvar_sum(p, session, handle, count);
    disturb(p, theirs, other);
    double after = pvar_sum(p, session, handle, count);
    traffic(2);
    double grown = pvar_sum(p, session, handle, count);
    expect(after >= before, "%s fell from %g to %g", p->name, before, after);
    expect(after - before <= (p->class == MPI_T_PVAR_CLASS_TIMER ? 1e9 : before), "%s rose from %g to %g", p->name,
           before, after);
    expect(grown > after, "%s stays at %g", p->name, after);
    if (disturb != by_session_free)
        MPI_T_pvar_session_free(&theirs);
}

#define ISOLATION_TEST(test, disturb, what)                                                                            \
    PVAR_TEST(test, "15.3.7", "A call in one session does not influence another: " what ".", pvar_counts(p), COUNTING) \
    {                                                                                                                  \
        isolation_judge(p, session, handle, count, disturb);                                                           \
    }

ISOLATION_TEST(isolated_from_stop, by_stop, "stop")
ISOLATION_TEST(isolated_from_stop_all, by_stop_all, "stop of all handles")
ISOLATION_TEST(isolated_from_start, by_start, "start again")
ISOLATION_TEST(isolated_from_reset, by_reset, "reset")
ISOLATION_TEST(isolated_from_reset_all, by_reset_all, "reset of all handles")
ISOLATION_TEST(isolated_from_readreset, by_readreset, "readreset")
ISOLATION_TEST(isolated_from_write, by_write, "write")
ISOLATION_TEST(isolated_from_handle_free, by_free, "freeing the handle")
ISOLATION_TEST(isolated_from_session_free, by_session_free, "freeing the session")

/* ---- handles ----------------------------------------------------------------------------------------------------- */

PVAR_TEST(handle_alloc, "15.3.7", "A handle of each pvar can be had; count says how many elements it has.", true,
          "variable that can be bound here")
{
    expect(handle != MPI_T_PVAR_HANDLE_NULL, "%s: the handle is NULL", p->name);
    expect(count > 0, "%s: count %d", p->name, count);
}

PVAR_TEST(handle_free, "15.3.7", "Freeing a handle sets it to MPI_T_PVAR_HANDLE_NULL.", true,
          "variable that can be bound here")
{
    EXPECT_CODE(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS, "%s", p->name);
    expect(handle == MPI_T_PVAR_HANDLE_NULL, "%s: the freed handle is not NULL", p->name);
}

PVAR_TEST(handle_object_is_ignored, "15.3.7", "Without a binding, the object argument is ignored.",
          p->bind == MPI_T_BIND_NO_OBJECT, "variable without a binding")
{
    EXPECT_CODE(MPI_T_pvar_handle_alloc(session, p->index, (void *)(uintptr_t)16, &handle, &count), MPI_SUCCESS,
                "%s with an address that is none", p->name);
}

TEST(handles_by_the_thousand, RUNNING, "15.3.7", "Handles are given as long as there are resources, and given back.")
{
    enum { MANY = 3000 };
    static MPI_T_pvar_handle handles[MANY];
    MPI_T_pvar_session session = session_new();
    int count, found = 0;
    EACH_PVAR(p) {
        if (!pvar_handle(p, session, &handles[0], &count))
            continue;
        for (int i = 1; i < MANY; i++)
            need(pvar_handle(p, session, &handles[i], &count), "handle %d of %s is refused", i, p->name);
        for (int i = 0; i < MANY; i++)
            EXPECT_CODE(MPI_T_pvar_handle_free(session, &handles[i]), MPI_SUCCESS, "handle %d of %s", i, p->name);
        if (++found == 5)
            break;
    }
    some(found, "variable that can be bound here");
}

/* Each handle with a session that is not its own. */
#define WRONG_SESSION_TEST(name, use, what)                                                                            \
    USE_TEST(name, "A handle that is not of the session: MPI_T_ERR_INVALID_HANDLE from MPI_T_pvar_" what ".", true,    \
             "variable that can be bound here", use, session_new(), MPI_T_ERR_INVALID_HANDLE)

WRONG_SESSION_TEST(wrong_session_free, USE_FREE, "handle_free")
WRONG_SESSION_TEST(wrong_session_start, USE_START, "start")
WRONG_SESSION_TEST(wrong_session_stop, USE_STOP, "stop")
WRONG_SESSION_TEST(wrong_session_read, USE_READ, "read")
WRONG_SESSION_TEST(wrong_session_write, USE_WRITE, "write")
WRONG_SESSION_TEST(wrong_session_reset, USE_RESET, "reset")
WRONG_SESSION_TEST(wrong_session_readreset, USE_READRESET, "readreset")

TEST(handle_null, RUNNING, "15.3.10", "MPI_T_PVAR_HANDLE_NULL: MPI_T_ERR_INVALID_HANDLE.")
{
    MPI_T_pvar_session session = session_new();
    for (enum use use = USE_FREE; use < USES; use++)
        EXPECT_CODE(handle_use(use, session, MPI_T_PVAR_HANDLE_NULL), MPI_T_ERR_INVALID_HANDLE, "NULL by MPI_T_pvar_%s",
                    use_names[use]);
}

PVAR_TEST(handle_freed_is_refused, "15.3.10", "A handle that was freed: MPI_T_ERR_INVALID_HANDLE.", true,
          "variable that can be bound here")
{
    MPI_T_pvar_handle stale = handle;
    NEED(MPI_T_pvar_handle_free(session, &handle));
    for (enum use use = USE_FREE; use < USES; use++)
        EXPECT_CODE(handle_use(use, session, stale), MPI_T_ERR_INVALID_HANDLE, "MPI_T_pvar_%s of a freed handle of %s",
                    use_names[use], p->name);
}

TEST(session_free_frees_handles, RUNNING, "15.3.7",
     "What a session held is given back with it: thousands of sessions with handles come and go.")
{
    int count, found = 0;
    EACH_PVAR(p) {
        for (int i = 0; i < 2000; i++) {
            MPI_T_pvar_session session = session_new();
            MPI_T_pvar_handle handle;
            if (!pvar_handle(p, session, &handle, &count)) {
                need(i == 0, "%s: a handle is refused in session %d", p->name, i);
                MPI_T_pvar_session_free(&session);
                break;
            }
            EXPECT_CODE(MPI_T_pvar_session_free(&session), MPI_SUCCESS, "session %d", i);
            found++;
        }
        if (found > 6000)
            break;
    }
    some(found, "variable that can be bound here");
}
