/* Starting and stopping. */
#include "survey.h"

#include <string.h>

static MPI_T_pvar_session session_new(void)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    NEED(MPI_T_pvar_session_create(&session));
    return session;
}

TEST(stopped_at_first, RUNNING, "15.3.7",
     "A variable that is not continuous is stopped after its handle was allocated: its value is not updated.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            need(pvar_handle(p, session, &handle, &count), "no handle of %s", p->name);
            double before = pvar_sum(p, session, handle, count);
            traffic(2);
            double after = pvar_sum(p, session, handle, count);
            expect(before == after, "%s rose from %g to %g without being started", p->name, before, after);
            found++;
        }
    some(found, "variable that counts what this program does");
}

TEST(start_counts, RUNNING, "15.3.7", "Started, the variable is updated.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            need(pvar_handle(p, session, &handle, &count), "no handle of %s", p->name);
            EXPECT_CODE(MPI_T_pvar_start(session, handle), MPI_SUCCESS, "%s", p->name);
            double before = pvar_sum(p, session, handle, count);
            traffic(2);
            expect(pvar_sum(p, session, handle, count) > before, "%s stays at %g", p->name, before);
            found++;
        }
    some(found, "variable that counts what this program does");
}

TEST(stop_freezes, RUNNING, "15.3.7", "Stopped, it keeps its value and is not updated.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            need(pvar_handle(p, session, &handle, &count), "no handle of %s", p->name);
            MPI_T_pvar_start(session, handle);
            traffic(2);
            EXPECT_CODE(MPI_T_pvar_stop(session, handle), MPI_SUCCESS, "%s", p->name);
            double before = pvar_sum(p, session, handle, count);
            traffic(2);
            double after = pvar_sum(p, session, handle, count);
            expect(before == after && before > 0, "%s was stopped at %g and is %g", p->name, before, after);
            found++;
        }
    some(found, "variable that counts what this program does");
}

TEST(start_again_goes_on, RUNNING, "15.3.7", "Started again, it goes on from there: only a reset begins anew.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            need(pvar_handle(p, session, &handle, &count), "no handle of %s", p->name);
            MPI_T_pvar_start(session, handle);
            traffic(3);
            MPI_T_pvar_stop(session, handle);
            double before = pvar_sum(p, session, handle, count);
            traffic(3);
            MPI_T_pvar_start(session, handle);
            double restarted = pvar_sum(p, session, handle, count);
            traffic(3);
            double after = pvar_sum(p, session, handle, count);
            expect(restarted >= before, "%s was stopped at %g and began again at %g", p->name, before, restarted);
            expect(after > restarted, "%s does not grow after a second start", p->name);
            if (p->class != MPI_T_PVAR_CLASS_TIMER)
                expect(after == 2 * before, "%s: %g the first time, %g after two such times", p->name, before, after);
            found++;
        }
    some(found, "variable that counts what this program does");
}

/* Handles of all variables that are continuous, or not. */
static int handles_of(MPI_T_pvar_session session, int continuous)
{
    int found = 0, count;
    for
        EACH_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            if (!p->continuous == !continuous && pvar_handle(p, session, &handle, &count))
                found++;
        }
    return found;
}

TEST(continuous_no_start, RUNNING, "15.3.7", "Starting a continuous variable: MPI_T_ERR_PVAR_NO_STARTSTOP.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            if (!p->continuous || !pvar_handle(p, session, &handle, &count))
                continue;
            EXPECT_CODE(MPI_T_pvar_start(session, handle), MPI_T_ERR_PVAR_NO_STARTSTOP, "%s", p->name);
            found++;
        }
    some(found, "continuous variables");
}

TEST(continuous_no_stop, RUNNING, "15.3.7", "Stopping a continuous variable: MPI_T_ERR_PVAR_NO_STARTSTOP.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            if (!p->continuous || !pvar_handle(p, session, &handle, &count))
                continue;
            EXPECT_CODE(MPI_T_pvar_stop(session, handle), MPI_T_ERR_PVAR_NO_STARTSTOP, "%s", p->name);
            found++;
        }
    some(found, "continuous variables");
}

TEST(continuous_is_read_at_once, RUNNING, "15.3.7", "A continuous variable can be read at any time.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            double values[VALUES_MOST];
            if (!p->continuous || !pvar_handle(p, session, &handle, &count))
                continue;
            EXPECT_CODE(pvar_values(p, session, handle, count, values), MPI_SUCCESS, "%s", p->name);
            found++;
        }
    some(found, "continuous variables");
}

TEST(stopped_is_read, RUNNING, "15.3.7", "A variable that was never started can be read.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            double values[VALUES_MOST];
            if (p->continuous || !pvar_handle(p, session, &handle, &count))
                continue;
            EXPECT_CODE(pvar_values(p, session, handle, count, values), MPI_SUCCESS, "%s", p->name);
            found++;
        }
    some(found, "variables that can be started");
}

/* ---- all handles ------------------------------------------------------------------------------------------------- */

TEST(start_all, RUNNING, "15.3.7", "MPI_T_PVAR_ALL_HANDLES starts each variable of the session that is stopped.")
{
    int found = 0, count;
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_session session = session_new();
            MPI_T_pvar_handle a, b = MPI_T_PVAR_HANDLE_NULL;
            need(pvar_handle(p, session, &a, &count) && pvar_handle(p, session, &b, &count), "no handle of %s",
                 p->name);
            EXPECT_CODE(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "%s", p->name);
            double before_a = pvar_sum(p, session, a, count), before_b = pvar_sum(p, session, b, count);
            traffic(2);
            expect(pvar_sum(p, session, a, count) > before_a, "the first handle of %s is not started", p->name);
            expect(pvar_sum(p, session, b, count) > before_b, "the second handle of %s is not started", p->name);
            MPI_T_pvar_session_free(&session);
            found++;
        }
    some(found, "variable that counts what this program does");
}

TEST(stop_all, RUNNING, "15.3.7", "MPI_T_PVAR_ALL_HANDLES stops each variable of the session that is started.")
{
    int found = 0, count;
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_session session = session_new();
            MPI_T_pvar_handle a, b = MPI_T_PVAR_HANDLE_NULL;
            need(pvar_handle(p, session, &a, &count) && pvar_handle(p, session, &b, &count), "no handle of %s",
                 p->name);
            MPI_T_pvar_start(session, a);
            traffic(2);
            EXPECT_CODE(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "%s", p->name);
            double before = pvar_sum(p, session, a, count);
            traffic(2);
            expect(pvar_sum(p, session, a, count) == before, "%s goes on after all were stopped", p->name);
            MPI_T_pvar_session_free(&session);
            found++;
        }
    some(found, "variable that counts what this program does");
}

TEST(all_of_none, RUNNING, "15.3.7", "In a session without handles, start and stop of all succeed.")
{
    MPI_T_pvar_session session = session_new();
    EXPECT_CODE(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "none");
    EXPECT_CODE(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "none");
}

TEST(all_of_continuous, RUNNING, "15.3.7", "Continuous variables are ignored: start and stop of all succeed.")
{
    MPI_T_pvar_session session = session_new();
    some(handles_of(session, 1), "continuous variables");
    EXPECT_CODE(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "continuous ones");
    EXPECT_CODE(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "continuous ones");
}

TEST(all_of_mixed, RUNNING, "15.3.7",
     "With continuous and other variables in one session, start and stop of all succeed.")
{
    MPI_T_pvar_session session = session_new();
    some(handles_of(session, 0) + handles_of(session, 1), "variable that can be bound here");
    EXPECT_CODE(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "all sorts");
    EXPECT_CODE(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "all sorts");
}

TEST(all_twice, RUNNING, "15.3.7",
     "What is started already is ignored by start of all, what is stopped by stop of all.")
{
    MPI_T_pvar_session session = session_new();
    some(handles_of(session, 0), "variables that can be started");
    for (int i = 0; i < 2; i++)
        EXPECT_CODE(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "time %d", i);
    for (int i = 0; i < 2; i++)
        EXPECT_CODE(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "time %d", i);
}

TEST(start_all_keeps_values, RUNNING, "15.3.7", "Start of all does not begin anew what was started already.")
{
    int found = 0, count;
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_session session = session_new();
            MPI_T_pvar_handle handle;
            need(pvar_handle(p, session, &handle, &count), "no handle of %s", p->name);
            MPI_T_pvar_start(session, handle);
            traffic(2);
            double before = pvar_sum(p, session, handle, count);
            MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
            expect(pvar_sum(p, session, handle, count) >= before, "%s begins anew", p->name);
            MPI_T_pvar_session_free(&session);
            found++;
        }
    some(found, "variable that counts what this program does");
}
