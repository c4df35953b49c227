/* Starting and stopping. */
#include "survey.h"

#include <string.h>

PVAR_TEST(stopped_at_first, "15.3.7",
          "A variable that is not continuous is stopped after its handle was allocated: its value is not updated.",
          pvar_counts(p), COUNTING)
{
    double before = pvar_sum(p, session, handle, count);
    traffic(2);
    double after = pvar_sum(p, session, handle, count);
    expect(before == after, "%s rose from %g to %g without being started", p->name, before, after);
}

PVAR_TEST(start_counts, "15.3.7", "Started, the variable is updated.", pvar_counts(p), COUNTING)
{
    EXPECT_CODE(MPI_T_pvar_start(session, handle), MPI_SUCCESS, "%s", p->name);
    double before = pvar_sum(p, session, handle, count);
    traffic(2);
    expect(pvar_sum(p, session, handle, count) > before, "%s stays at %g", p->name, before);
}

PVAR_TEST(stop_freezes, "15.3.7", "Stopped, it keeps its value and is not updated.", pvar_counts(p), COUNTING)
{
    MPI_T_pvar_start(session, handle);
    traffic(2);
    EXPECT_CODE(MPI_T_pvar_stop(session, handle), MPI_SUCCESS, "%s", p->name);
    double before = pvar_sum(p, session, handle, count);
    traffic(2);
    double after = pvar_sum(p, session, handle, count);
    expect(before == after && before > 0, "%s was stopped at %g and is %g", p->name, before, after);
}

PVAR_TEST(start_again_goes_on, "15.3.7", "Started again, it goes on from there: only a reset begins anew.",
          pvar_counts(p), COUNTING)
{
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
}

/* Handles of all variables that are continuous, or not. */
static int handles_of(MPI_T_pvar_session session, int continuous)
{
    int found = 0, count;
    EACH_PVAR(p) {
        MPI_T_pvar_handle handle;
        if (!p->continuous == !continuous && pvar_handle(p, session, &handle, &count))
            found++;
    }
    return found;
}

USE_TEST(continuous_no_start, "Starting a continuous variable: MPI_T_ERR_PVAR_NO_STARTSTOP.", p->continuous,
         "continuous variables", USE_START, own, MPI_T_ERR_PVAR_NO_STARTSTOP)
USE_TEST(continuous_no_stop, "Stopping a continuous variable: MPI_T_ERR_PVAR_NO_STARTSTOP.", p->continuous,
         "continuous variables", USE_STOP, own, MPI_T_ERR_PVAR_NO_STARTSTOP)
USE_TEST(continuous_is_read_at_once, "A continuous variable can be read at any time.", p->continuous,
         "continuous variables", USE_READ, own, MPI_SUCCESS)
USE_TEST(stopped_is_read, "A variable that was never started can be read.", !p->continuous,
         "variables that can be started", USE_READ, own, MPI_SUCCESS)

/* ---- all handles ------------------------------------------------------------------------------------------------- */

PVAR_TEST(start_all, "15.3.7", "MPI_T_PVAR_ALL_HANDLES starts each variable of the session that is stopped.",
          pvar_counts(p), COUNTING)
{
    MPI_T_pvar_handle other;
    need(pvar_handle(p, session, &other, &count), "no second handle of %s", p->name);
    EXPECT_CODE(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "%s", p->name);
    double before = pvar_sum(p, session, handle, count), before_other = pvar_sum(p, session, other, count);
    traffic(2);
    expect(pvar_sum(p, session, handle, count) > before, "the first handle of %s is not started", p->name);
    expect(pvar_sum(p, session, other, count) > before_other, "the second handle of %s is not started", p->name);
}

PVAR_TEST(stop_all, "15.3.7", "MPI_T_PVAR_ALL_HANDLES stops each variable of the session that is started.",
          pvar_counts(p), COUNTING)
{
    MPI_T_pvar_handle stopped;
    need(pvar_handle(p, session, &stopped, &count), "no second handle of %s", p->name);
    MPI_T_pvar_start(session, handle);
    traffic(2);
    EXPECT_CODE(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "%s", p->name);
    double before = pvar_sum(p, session, handle, count);
    traffic(2);
    expect(pvar_sum(p, session, handle, count) == before, "%s goes on after all were stopped", p->name);
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

PVAR_TEST(start_all_keeps_values, "15.3.7", "Start of all does not begin anew what was started already.",
          pvar_counts(p), COUNTING)
{
    MPI_T_pvar_start(session, handle);
    traffic(2);
    double before = pvar_sum(p, session, handle, count);
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    expect(pvar_sum(p, session, handle, count) >= before, "%s begins anew", p->name);
}
