/* Reading, writing and resetting. */
#include "survey.h"

#include <string.h>

PVAR_TEST(read_fills_its_bytes, "15.3.7", "A read fills count elements of the type, and not a byte more.", true,
          "variable that can be read")
{
    static unsigned char buffer[VALUES_MOST * 8 + 16];
    size_t bytes = (size_t)count * type_bytes(p->datatype);
    for (int fill = 0x5a; fill <= 0xa5; fill += 0x4b) {
        memset(buffer, fill, sizeof buffer);
        EXPECT_CODE(MPI_T_pvar_read(session, handle, buffer), MPI_SUCCESS, "%s", p->name);
        for (size_t i = bytes; i < bytes + 16; i++)
            expect(buffer[i] == fill, "%s writes beyond its %zu bytes", p->name, bytes);
    }
}

/* The standard names no code; these two say what is wrong. */
#define NO_ALL_TEST(call, use)                                                                                         \
    TEST(call##_has_no_all, RUNNING, "15.3.7", "MPI_T_PVAR_ALL_HANDLES cannot be used with MPI_T_pvar_" #call ".")     \
    {                                                                                                                  \
        int code = handle_use(use, session_new(), MPI_T_PVAR_ALL_HANDLES);                                             \
        expect(code == MPI_T_ERR_INVALID_HANDLE || code == MPI_T_ERR_INVALID,                                          \
               "%s, not MPI_T_ERR_INVALID_HANDLE or MPI_T_ERR_INVALID", code_name(code));                              \
    }

NO_ALL_TEST(read, USE_READ)
NO_ALL_TEST(write, USE_WRITE)
NO_ALL_TEST(readreset, USE_READRESET)

USE_TEST(write_readonly, "Writing a variable that cannot be changed: MPI_T_ERR_PVAR_NO_WRITE.", p->readonly,
         "read-only variables", USE_WRITE, own, MPI_T_ERR_PVAR_NO_WRITE)
USE_TEST(reset_readonly, "Resetting a variable that cannot be changed: MPI_T_ERR_PVAR_NO_WRITE.", p->readonly,
         "read-only variables", USE_RESET, own, MPI_T_ERR_PVAR_NO_WRITE)
USE_TEST(readreset_not_atomic, "Readreset where it is not atomic: MPI_T_ERR_PVAR_NO_ATOMIC.", !p->atomic,
         "variables without an atomic readreset", USE_READRESET, own, MPI_T_ERR_PVAR_NO_ATOMIC)

PVAR_TEST(write_is_read, "15.3.7", "What was written to a stopped variable is read from it.",
          !p->readonly && !p->continuous && pvar_sums(p) && p->datatype == MPI_UNSIGNED_LONG_LONG,
          "variables that can be written")
{
    unsigned long long in[VALUES_MOST] = {0}, out[VALUES_MOST] = {0};
    for (int i = 0; i < count; i++)
        in[i] = 1000 + (unsigned)i;
    EXPECT_CODE(MPI_T_pvar_write(session, handle, in), MPI_SUCCESS, "%s", p->name);
    traffic(1);
    EXPECT_CODE(MPI_T_pvar_read(session, handle, out), MPI_SUCCESS, "%s", p->name);
    for (int i = 0; i < count; i++)
        /* clocks count in ticks of their own */
        expect(out[i] + 1 >= in[i] && out[i] <= in[i] + (p->class == MPI_T_PVAR_CLASS_TIMER),
               "%s: %llu was written, %llu is read", p->name, in[i], out[i]);
}

PVAR_TEST(write_then_counts, "15.3.7", "Written while it is started, a variable goes on from there.",
          pvar_counts(p) && !p->readonly && p->datatype == MPI_UNSIGNED_LONG_LONG && p->class != MPI_T_PVAR_CLASS_TIMER,
          "counters that can be written")
{
    unsigned long long in[VALUES_MOST];
    MPI_T_pvar_start(session, handle);
    traffic(2);
    double plain = pvar_sum(p, session, handle, count);
    for (int i = 0; i < count; i++)
        in[i] = 500;
    EXPECT_CODE(MPI_T_pvar_write(session, handle, in), MPI_SUCCESS, "%s", p->name);
    traffic(2);
    double after = pvar_sum(p, session, handle, count);
    expect(after == 500.0 * count + plain, "%s: %g, after %d times 500 was written and %g were counted", p->name, after,
           count, plain);
}

PVAR_TEST(reset_to_zero, "15.3.7", "Reset sets COUNTER, AGGREGATE and TIMER to 0, started or stopped.",
          pvar_counts(p) && !p->readonly, "counters that can be reset")
{
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
}

PVAR_TEST(reset_keeps_started, "15.3.7", "A reset does not stop a variable.", pvar_counts(p) && !p->readonly,
          "counters that can be reset")
{
    MPI_T_pvar_start(session, handle);
    MPI_T_pvar_reset(session, handle);
    double before = pvar_sum(p, session, handle, count);
    traffic(2);
    expect(pvar_sum(p, session, handle, count) > before, "%s stands still after a reset", p->name);
}

PVAR_TEST(reset_all, "15.3.7", "Reset of all resets what can be reset in the session, and succeeds.",
          pvar_counts(p) && !p->readonly, "counters that can be reset")
{
    MPI_T_pvar_handle other;
    need(pvar_handle(p, session, &other, &count), "no second handle of %s", p->name);
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    traffic(2);
    MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES);
    EXPECT_CODE(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "%s", p->name);
    expect(pvar_sum(p, session, handle, count) == 0 && pvar_sum(p, session, other, count) == 0, "%s is not 0", p->name);
}

TEST(reset_all_of_none, RUNNING, "15.3.7", "In a session without handles, reset of all succeeds.")
{
    EXPECT_CODE(MPI_T_pvar_reset(session_new(), MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "none");
}

TEST(reset_all_of_readonly, RUNNING, "15.3.7", "Read-only variables are ignored: reset of all succeeds.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    EACH_PVAR(p) {
        MPI_T_pvar_handle handle;
        found += p->readonly && pvar_handle(p, session, &handle, &count);
    }
    some(found, "read-only variables");
    EXPECT_CODE(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "read-only ones");
}

PVAR_TEST(readreset_reads_and_resets, "15.3.7", "Readreset returns what a read returns, and resets.",
          pvar_counts(p) && p->atomic && !p->readonly, "counters with an atomic readreset")
{
    unsigned long long raw[VALUES_MOST] = {0};
    double sum = 0;
    MPI_T_pvar_start(session, handle);
    traffic(2);
    MPI_T_pvar_stop(session, handle);
    double before = pvar_sum(p, session, handle, count);
    EXPECT_CODE(MPI_T_pvar_readreset(session, handle, raw), MPI_SUCCESS, "%s", p->name);
    for (int i = 0; i < count; i++)
        sum += type_value(p->datatype, raw, i);
    expect(sum == before && sum > 0, "%s: %g by read, %g by readreset", p->name, before, sum);
    expect(pvar_sum(p, session, handle, count) == 0, "%s is not reset", p->name);
}

PVAR_TEST(readreset_adds_up, "15.3.7", "The values of many readresets add up to what was counted.",
          pvar_counts(p) && p->atomic && !p->readonly && p->class != MPI_T_PVAR_CLASS_TIMER,
          "counters with an atomic readreset")
{
    MPI_T_pvar_handle whole;
    unsigned long long raw[VALUES_MOST];
    double sum = 0;
    need(pvar_handle(p, session, &whole, &count), "no second handle of %s", p->name);
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    for (int round = 0; round < 20; round++) {
        traffic(1);
        EXPECT_CODE(MPI_T_pvar_readreset(session, handle, raw), MPI_SUCCESS, "%s", p->name);
        for (int i = 0; i < count; i++)
            sum += type_value(p->datatype, raw, i);
    }
    double all = pvar_sum(p, session, whole, count);
    expect(sum == all && sum > 0, "%s: the parts are %g, the whole is %g", p->name, sum, all);
}
