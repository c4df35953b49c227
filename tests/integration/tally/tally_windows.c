#include "tally_windows.h"

#include "tally_comms.h"
#include "tally_messages.h"
#include "tally_pvars.h"
#include "tally_verdict.h"

static void messages(struct book *book, int count)
{
    char put[100] = {0}, got[100];
    for (int i = 0; i < count; i++) {
        CALL(MPI_Sendrecv, put, 100, MPI_BYTE, 0, 1, got, 100, MPI_BYTE, 0, 1, book->comm, MPI_STATUS_IGNORE);
        book_sent(book, 0, 100);
        book_received(book, 0, 100);
    }
}

static void expect(const struct pvar *pvar, uint64_t program, const char *what)
{
    verdict_figure("window", what, "", pvar_value(pvar, 0), program);
}

static void sessions_check(struct book *book)
{
    MPI_T_pvar_session one, two;
    tool_check(MPI_T_pvar_session_create(&one), "MPI_T_pvar_session_create", "a session");
    tool_check(MPI_T_pvar_session_create(&two), "MPI_T_pvar_session_create", "a session");
    struct pvar a = pvar_open(one, "mpit_send_count", MPI_T_PVAR_CLASS_COUNTER, &book->comm);
    struct pvar b = pvar_open(two, "mpit_send_count", MPI_T_PVAR_CLASS_COUNTER, &book->comm);
    uint64_t value = 77;

    messages(book, 2);
    expect(&a, 0, "before its start");
    pvar_start(&a);
    messages(book, 3);
    pvar_start(&b);
    messages(book, 2);
    expect(&a, 5, "started first");
    expect(&b, 2, "started later");

    tool_check(MPI_T_pvar_stop(one, a.handle), "MPI_T_pvar_stop", "a handle");
    messages(book, 4);
    expect(&a, 5, "stopped");
    expect(&b, 6, "not stopped with the other session's");

    tool_check(MPI_T_pvar_reset(two, b.handle), "MPI_T_pvar_reset", "a handle");
    expect(&b, 0, "reset");
    expect(&a, 5, "not reset with the other session's");
    messages(book, 1);
    expect(&b, 1, "after its reset");

    pvar_start(&a);
    messages(book, 2);
    expect(&a, 7, "started again");
    tool_check(MPI_T_pvar_readreset(one, a.handle, &value), "MPI_T_pvar_readreset", "a handle");
    verdict_figure("window", "what readreset reads", "", value, 7);
    expect(&a, 0, "after readreset");
    messages(book, 1);
    expect(&a, 1, "counting on after readreset");
    expect(&b, 4, "not reset by the other session's readreset");

    pvar_close(&a);
    messages(book, 1);
    expect(&b, 5, "not ended with the other session's");
    tool_check(MPI_T_pvar_session_free(&one), "MPI_T_pvar_session_free", "a session");
    expect(&b, 5, "its session lives on");
    pvar_close(&b);
    tool_check(MPI_T_pvar_session_free(&two), "MPI_T_pvar_session_free", "a session");
}

static void receives_begin(struct book *book, MPI_Request *requests, int count)
{
    for (int i = 0; i < count; i++) {
        CALL(MPI_Irecv, NULL, 0, MPI_BYTE, 0, TAG_NEVER_SENT, book->comm, &requests[i]);
        book_recv_pending(book, 0);
    }
}

static void receives_cancel(struct book *book, MPI_Request *requests, int count)
{
    for (int i = 0; i < count; i++)
        CALL(MPI_Cancel, &requests[i]);
    CALL(MPI_Waitall, count, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++)
        book_recv_ended(book, 0);
}

static void levels_check(struct book *book)
{
    MPI_T_pvar_session session;
    MPI_Request requests[5];
    tool_check(MPI_T_pvar_session_create(&session), "MPI_T_pvar_session_create", "a session");
    struct pvar level = pvar_open(session, "mpit_pending_recvs", MPI_T_PVAR_CLASS_LEVEL, &book->comm);
    struct pvar high = pvar_open(session, "mpit_pending_recvs", MPI_T_PVAR_CLASS_HIGHWATERMARK, &book->comm);
    struct pvar low = pvar_open(session, "mpit_pending_recvs", MPI_T_PVAR_CLASS_LOWWATERMARK, &book->comm);
    verdict_check(MPI_T_pvar_start(session, level.handle) == MPI_T_ERR_PVAR_NO_STARTSTOP,
                  "a level can be started, though it is continuous");
    verdict_check(MPI_T_pvar_reset(session, level.handle) == MPI_T_ERR_PVAR_NO_WRITE,
                  "a level can be reset, though it is read-only");

    receives_begin(book, requests, 3);
    expect(&level, 3, "level");
    pvar_start(&high);
    pvar_start(&low);
    expect(&high, 3, "high watermark when started");
    expect(&low, 3, "low watermark when started");
    receives_begin(book, requests + 3, 2);
    expect(&high, 5, "high watermark after two more");
    expect(&low, 3, "low watermark after two more");
    receives_cancel(book, requests + 1, 4);
    expect(&level, 1, "level after four ended");
    expect(&high, 5, "high watermark after four ended");
    expect(&low, 1, "low watermark after four ended");
    tool_check(MPI_T_pvar_reset(session, high.handle), "MPI_T_pvar_reset", "a watermark");
    expect(&high, 1, "high watermark after its reset");
    expect(&low, 1, "low watermark after the other's reset");
    tool_check(MPI_T_pvar_stop(session, low.handle), "MPI_T_pvar_stop", "a watermark");
    receives_cancel(book, requests, 1);
    expect(&level, 0, "level at the end");
    expect(&high, 1, "high watermark at the end");
    expect(&low, 1, "low watermark, stopped");
    pvar_close(&level);
    pvar_close(&high);
    pvar_close(&low);
    tool_check(MPI_T_pvar_session_free(&session), "MPI_T_pvar_session_free", "a session");
}

/* A handle outlives its communicator; reading it is an error and no crash. */
static void freed_check(struct book *self, struct book *book)
{
    MPI_T_pvar_session session;
    uint64_t value = 0;
    tool_check(MPI_T_pvar_session_create(&session), "MPI_T_pvar_session_create", "a session");
    struct pvar late = pvar_open(session, "mpit_send_count", MPI_T_PVAR_CLASS_COUNTER, &book->comm);
    struct pvar level = pvar_open(session, "mpit_pending_recvs", MPI_T_PVAR_CLASS_LEVEL, &book->comm);
    pvar_start(&late);
    messages(book, 1);
    comm_drop(book, self);
    for (int i = 0; i < 2; i++) { /* the level is continuous and read-only */
        MPI_T_pvar_handle handle = i ? level.handle : late.handle;
        const int codes[] = {MPI_T_pvar_read(session, handle, &value),  MPI_T_pvar_start(session, handle),
                             MPI_T_pvar_stop(session, handle),          MPI_T_pvar_reset(session, handle),
                             MPI_T_pvar_write(session, handle, &value), MPI_T_pvar_readreset(session, handle, &value)};
        for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
            verdict_check(codes[k] == MPI_T_ERR_INVALID_HANDLE,
                          "call %zu on handle %d of a freed communicator returns %d, not %d", k, i, codes[k],
                          MPI_T_ERR_INVALID_HANDLE);
    }
    MPI_T_pvar_handle_free(session, &late.handle);
    MPI_T_pvar_handle_free(session, &level.handle);
    tool_check(MPI_T_pvar_session_free(&session), "MPI_T_pvar_session_free", "a session");
}

void windows_check(struct book *self, struct draw *own)
{
    struct book *book = comm_make(self, COMM_DUP, "window", own, own);
    sessions_check(book);
    levels_check(book);
    pvars_compare(book);
    freed_check(self, book);
}
