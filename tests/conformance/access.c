/* Reading, writing and resetting. */
#include "survey.h"

#include <string.h>

static MPI_T_pvar_session session_new(void)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    NEED(MPI_T_pvar_session_create(&session));
    return session;
}

TEST(read_fills_its_bytes, RUNNING, "15.3.7", "A read fills count elements of the type, and not a byte more.")
{
    static unsigned char buffer[VALUES_MOST * 8 + 16];
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            if (!pvar_handle(p, session, &handle, &count))
                continue;
            size_t bytes = (size_t)count * type_bytes(p->datatype);
            for (int fill = 0x5a; fill <= 0xa5; fill += 0x4b) {
                memset(buffer, fill, sizeof buffer);
                EXPECT_CODE(MPI_T_pvar_read(session, handle, buffer), MPI_SUCCESS, "%s", p->name);
                for (size_t i = bytes; i < bytes + 16; i++)
                    expect(buffer[i] == fill, "%s writes beyond its %zu bytes", p->name, bytes);
            }
            found++;
        }
    some(found, "variable that can be read");
}

/* The standard names no code; these two say what is wrong. */
static void all_is_refused(int code)
{
    expect(code == MPI_T_ERR_INVALID_HANDLE || code == MPI_T_ERR_INVALID,
           "%s, not MPI_T_ERR_INVALID_HANDLE or MPI_T_ERR_INVALID", code_name(code));
}

TEST(read_has_no_all, RUNNING, "15.3.7", "MPI_T_PVAR_ALL_HANDLES cannot be used with MPI_T_pvar_read.")
{
    unsigned long long values[VALUES_MOST];
    all_is_refused(MPI_T_pvar_read(session_new(), MPI_T_PVAR_ALL_HANDLES, values));
}

TEST(write_has_no_all, RUNNING, "15.3.7", "MPI_T_PVAR_ALL_HANDLES cannot be used with MPI_T_pvar_write.")
{
    unsigned long long values[VALUES_MOST] = {0};
    all_is_refused(MPI_T_pvar_write(session_new(), MPI_T_PVAR_ALL_HANDLES, values));
}

TEST(readreset_has_no_all, RUNNING, "15.3.7", "MPI_T_PVAR_ALL_HANDLES cannot be used with MPI_T_pvar_readreset.")
{
    unsigned long long values[VALUES_MOST];
    all_is_refused(MPI_T_pvar_readreset(session_new(), MPI_T_PVAR_ALL_HANDLES, values));
}

TEST(write_readonly, RUNNING, "15.3.7", "Writing a variable that cannot be changed: MPI_T_ERR_PVAR_NO_WRITE.")
{
    static unsigned long long values[VALUES_MOST];
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            if (!p->readonly || !pvar_handle(p, session, &handle, &count))
                continue;
            EXPECT_CODE(MPI_T_pvar_write(session, handle, values), MPI_T_ERR_PVAR_NO_WRITE, "%s", p->name);
            found++;
        }
    some(found, "read-only variables");
}

TEST(reset_readonly, RUNNING, "15.3.7", "Resetting a variable that cannot be changed: MPI_T_ERR_PVAR_NO_WRITE.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            if (!p->readonly || !pvar_handle(p, session, &handle, &count))
                continue;
            EXPECT_CODE(MPI_T_pvar_reset(session, handle), MPI_T_ERR_PVAR_NO_WRITE, "%s", p->name);
            found++;
        }
    some(found, "read-only variables");
}

TEST(readreset_not_atomic, RUNNING, "15.3.7", "Readreset where it is not atomic: MPI_T_ERR_PVAR_NO_ATOMIC.")
{
    static unsigned long long values[VALUES_MOST];
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            if (p->atomic || !pvar_handle(p, session, &handle, &count))
                continue;
            EXPECT_CODE(MPI_T_pvar_readreset(session, handle, values), MPI_T_ERR_PVAR_NO_ATOMIC, "%s", p->name);
            found++;
        }
    some(found, "variables without an atomic readreset");
}

TEST(write_is_read, RUNNING, "15.3.7", "What was written to a stopped variable is read from it.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            unsigned long long in[VALUES_MOST] = {0}, out[VALUES_MOST] = {0};
            bool sums = p->class == MPI_T_PVAR_CLASS_COUNTER || p->class == MPI_T_PVAR_CLASS_AGGREGATE ||
                        p->class == MPI_T_PVAR_CLASS_TIMER;
            if (p->readonly || p->continuous || !sums || p->datatype != MPI_UNSIGNED_LONG_LONG ||
                !pvar_handle(p, session, &handle, &count))
                continue;
            for (int i = 0; i < count; i++)
                in[i] = 1000 + (unsigned)i;
            EXPECT_CODE(MPI_T_pvar_write(session, handle, in), MPI_SUCCESS, "%s", p->name);
            traffic(1);
            EXPECT_CODE(MPI_T_pvar_read(session, handle, out), MPI_SUCCESS, "%s", p->name);
            for (int i = 0; i < count; i++)
                /* clocks count in ticks of their own */
                expect(out[i] + 1 >= in[i] && out[i] <= in[i] + (p->class == MPI_T_PVAR_CLASS_TIMER),
                       "%s: %llu was written, %llu is read", p->name, in[i], out[i]);
            found++;
        }
    some(found, "variables that can be written");
}

TEST(write_then_counts, RUNNING, "15.3.7", "Written while it is started, a variable goes on from there.")
{
    int found = 0, count;
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_session session = session_new();
            MPI_T_pvar_handle handle;
            unsigned long long in[VALUES_MOST];
            if (p->readonly || p->datatype != MPI_UNSIGNED_LONG_LONG || p->class == MPI_T_PVAR_CLASS_TIMER ||
                !pvar_handle(p, session, &handle, &count))
                continue;
            MPI_T_pvar_start(session, handle);
            traffic(2);
            double plain = pvar_sum(p, session, handle, count);
            for (int i = 0; i < count; i++)
                in[i] = 500;
            EXPECT_CODE(MPI_T_pvar_write(session, handle, in), MPI_SUCCESS, "%s", p->name);
            traffic(2);
            double after = pvar_sum(p, session, handle, count);
            expect(after == 500.0 * count + plain, "%s: %g, after %d times 500 was written and %g were counted",
                   p->name, after, count, plain);
            MPI_T_pvar_session_free(&session);
            found++;
        }
    some(found, "counters that can be written");
}

TEST(reset_to_zero, RUNNING, "15.3.7", "Reset sets COUNTER, AGGREGATE and TIMER to 0, started or stopped.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            if (p->readonly || !pvar_handle(p, session, &handle, &count))
                continue;
            MPI_T_pvar_start(session, handle);
            traffic(2);
            double grown = pvar_sum(p, session, handle, count);
            EXPECT_CODE(MPI_T_pvar_reset(session, handle), MPI_SUCCESS, "%s", p->name);
            double after = pvar_sum(p, session, handle, count);
            expect(after == 0 && grown > 0, "%s, started: %g before a reset, %g after it", p->name, grown, after);
            traffic(2);
            MPI_T_pvar_stop(session, handle);
            grown = pvar_sum(p, session, handle, count);
            EXPECT_CODE(MPI_T_pvar_reset(session, handle), MPI_SUCCESS, "%s", p->name);
            after = pvar_sum(p, session, handle, count);
            expect(after == 0 && grown > 0, "%s, stopped: %g before a reset, %g after it", p->name, grown, after);
            found++;
        }
    some(found, "counters that can be reset");
}

TEST(reset_keeps_started, RUNNING, "15.3.7", "A reset does not stop a variable.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            if (p->readonly || !pvar_handle(p, session, &handle, &count))
                continue;
            MPI_T_pvar_start(session, handle);
            MPI_T_pvar_reset(session, handle);
            double before = pvar_sum(p, session, handle, count);
            traffic(2);
            expect(pvar_sum(p, session, handle, count) > before, "%s stands still after a reset", p->name);
            found++;
        }
    some(found, "counters that can be reset");
}

TEST(reset_all, RUNNING, "15.3.7", "Reset of all resets what can be reset in the session, and succeeds.")
{
    int found = 0, count;
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_session session = session_new();
            MPI_T_pvar_handle a, b;
            if (p->readonly || !pvar_handle(p, session, &a, &count) || !pvar_handle(p, session, &b, &count))
                continue;
            MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
            traffic(2);
            MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES);
            EXPECT_CODE(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "%s", p->name);
            expect(pvar_sum(p, session, a, count) == 0 && pvar_sum(p, session, b, count) == 0, "%s is not 0", p->name);
            MPI_T_pvar_session_free(&session);
            found++;
        }
    some(found, "counters that can be reset");
}

TEST(reset_all_of_none, RUNNING, "15.3.7", "In a session without handles, reset of all succeeds.")
{
    EXPECT_CODE(MPI_T_pvar_reset(session_new(), MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "none");
}

TEST(reset_all_of_readonly, RUNNING, "15.3.7", "Read-only variables are ignored: reset of all succeeds.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            found += p->readonly && pvar_handle(p, session, &handle, &count);
        }
    some(found, "read-only variables");
    EXPECT_CODE(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "read-only ones");
}

TEST(readreset_reads_and_resets, RUNNING, "15.3.7", "Readreset returns what a read returns, and resets.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_handle handle;
            unsigned long long raw[VALUES_MOST] = {0};
            double sum = 0;
            if (!p->atomic || p->readonly || !pvar_handle(p, session, &handle, &count))
                continue;
            MPI_T_pvar_start(session, handle);
            traffic(2);
            MPI_T_pvar_stop(session, handle);
            double before = pvar_sum(p, session, handle, count);
            EXPECT_CODE(MPI_T_pvar_readreset(session, handle, raw), MPI_SUCCESS, "%s", p->name);
            for (int i = 0; i < count; i++)
                sum += type_value(p->datatype, raw, i);
            expect(sum == before && sum > 0, "%s: %g by read, %g by readreset", p->name, before, sum);
            expect(pvar_sum(p, session, handle, count) == 0, "%s is not reset", p->name);
            found++;
        }
    some(found, "counters with an atomic readreset");
}

TEST(readreset_adds_up, RUNNING, "15.3.7", "The values of many readresets add up to what was counted.")
{
    int found = 0, count;
    for
        EACH_COUNTING_PVAR(p)
        {
            MPI_T_pvar_session session = session_new();
            MPI_T_pvar_handle parts, whole;
            unsigned long long raw[VALUES_MOST];
            double sum = 0;
            if (!p->atomic || p->readonly || p->class == MPI_T_PVAR_CLASS_TIMER ||
                !pvar_handle(p, session, &parts, &count) || !pvar_handle(p, session, &whole, &count))
                continue;
            MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
            for (int round = 0; round < 20; round++) {
                traffic(1);
                EXPECT_CODE(MPI_T_pvar_readreset(session, parts, raw), MPI_SUCCESS, "%s", p->name);
                for (int i = 0; i < count; i++)
                    sum += type_value(p->datatype, raw, i);
            }
            double all = pvar_sum(p, session, whole, count);
            expect(sum == all && sum > 0, "%s: the parts are %g, the whole is %g", p->name, sum, all);
            MPI_T_pvar_session_free(&session);
            found++;
        }
    some(found, "counters with an atomic readreset");
}
