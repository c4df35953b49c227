/* Every kind of call that raises events, and what each must raise. */
#include "listener.h"

#include <stddef.h>
#include <string.h>

#define N(x) ((long long)(x))
enum { SEND = 0, RECV = 1 };

static void posted(int comm, int direction, int peer, int tag, int call, long long bytes)
{
    expect(POSTED, comm, N(direction), N(peer), N(tag), N(call), bytes);
}

static void completed(int comm, int direction, int peer, int tag, int call, long long bytes)
{
    expect(COMPLETED, comm, N(direction), N(peer), N(tag), N(call), bytes, ANY_VALUE);
}

static void request(int comm, int call, int by, int peer, int tag, int outcome, long long bytes)
{
    expect(REQUEST, comm, N(call), N(by), N(peer), N(tag), N(outcome), bytes, ANY_VALUE);
}

static void blocking(int comm)
{
    int me, n, number = 7, got[4];
    MPI_Comm_rank(comms[comm], &me);
    MPI_Comm_size(comms[comm], &n);
    int right = (me + 1) % n, left = (me + n - 1) % n;
    MPI_Sendrecv(&number, 1, MPI_INT, right, 3, got, 4, MPI_INT, left, MPI_ANY_TAG, comms[comm], MPI_STATUS_IGNORE);
    posted(comm, SEND, right, 3, CALL(MPI_Sendrecv), 4);
    completed(comm, SEND, right, 3, CALL(MPI_Sendrecv), 4);
    completed(comm, RECV, left, 3, CALL(MPI_Sendrecv), 4);
    compare("sendrecv");
    if (me == 0 && n > 1) {
        MPI_Send(&number, 1, MPI_INT, 1, 11, comms[comm]);
        posted(comm, SEND, 1, 11, CALL(MPI_Send), 4);
        completed(comm, SEND, 1, 11, CALL(MPI_Send), 4);
    } else if (me == 1) {
        MPI_Recv(got, 4, MPI_INT, MPI_ANY_SOURCE, 11, comms[comm], MPI_STATUS_IGNORE);
        completed(comm, RECV, 0, 11, CALL(MPI_Recv), 4);
    }
    compare("send and receive");
    MPI_Send(&number, 1, MPI_INT, MPI_PROC_NULL, 1, comms[comm]);
    MPI_Recv(got, 1, MPI_INT, MPI_PROC_NULL, 1, comms[comm], MPI_STATUS_IGNORE);
    compare("MPI_PROC_NULL is no message");
}

static void nonblocking(int comm, int bytes)
{
    static char out[2][70000], in[2][70000];
    int me, n, flag = 0, index, count, indices[2];
    MPI_Request r[4];
    MPI_Comm_rank(comms[comm], &me);
    MPI_Comm_size(comms[comm], &n);
    int right = (me + 1) % n, left = (me + n - 1) % n, by;
    MPI_Irecv(in[0], sizeof in[0], MPI_BYTE, MPI_ANY_SOURCE, 5, comms[comm], &r[0]);
    posted(comm, RECV, MPI_ANY_SOURCE, 5, CALL(MPI_Irecv), sizeof in[0]);
    MPI_Irecv(in[1], sizeof in[1], MPI_BYTE, left, 6, comms[comm], &r[1]);
    posted(comm, RECV, left, 6, CALL(MPI_Irecv), sizeof in[1]);
    MPI_Isend(out[0], bytes, MPI_BYTE, right, 5, comms[comm], &r[2]);
    posted(comm, SEND, right, 5, CALL(MPI_Isend), bytes);
    MPI_Issend(out[1], bytes, MPI_BYTE, right, 6, comms[comm], &r[3]);
    posted(comm, SEND, right, 6, CALL(MPI_Issend), bytes);
    compare("posting");
    by = CALL(MPI_Wait);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    completed(comm, RECV, left, 5, CALL(MPI_Irecv), bytes);
    request(comm, CALL(MPI_Irecv), by, left, 5, 0, bytes);
    compare("wait");
    while (!flag)
        MPI_Test(&r[2], &flag, MPI_STATUS_IGNORE);
    completed(comm, SEND, right, 5, CALL(MPI_Isend), bytes);
    request(comm, CALL(MPI_Isend), CALL(MPI_Test), right, 5, 0, bytes);
    compare("test");
    MPI_Waitany(1, &r[1], &index, MPI_STATUS_IGNORE);
    completed(comm, RECV, left, 6, CALL(MPI_Irecv), bytes);
    request(comm, CALL(MPI_Irecv), CALL(MPI_Waitany), left, 6, 0, bytes);
    compare("waitany");
    MPI_Waitsome(1, &r[3], &count, indices, MPI_STATUSES_IGNORE);
    completed(comm, SEND, right, 6, CALL(MPI_Issend), bytes);
    request(comm, CALL(MPI_Issend), CALL(MPI_Waitsome), right, 6, 0, bytes);
    compare("waitsome");
    MPI_Irecv(in[0], bytes, MPI_BYTE, left, 5, comms[comm], &r[0]);
    MPI_Irecv(in[1], bytes, MPI_BYTE, MPI_PROC_NULL, 6, comms[comm], &r[1]);
    MPI_Isend(out[0], bytes, MPI_BYTE, right, 5, comms[comm], &r[2]);
    r[3] = MPI_REQUEST_NULL;
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    posted(comm, RECV, left, 5, CALL(MPI_Irecv), bytes);
    posted(comm, SEND, right, 5, CALL(MPI_Isend), bytes);
    by = CALL(MPI_Waitall);
    completed(comm, RECV, left, 5, CALL(MPI_Irecv), bytes);
    request(comm, CALL(MPI_Irecv), by, left, 5, 0, bytes);
    request(comm, CALL(MPI_Irecv), by, MPI_PROC_NULL, 6, 0, 0);
    completed(comm, SEND, right, 5, CALL(MPI_Isend), bytes);
    request(comm, CALL(MPI_Isend), by, right, 5, 0, bytes);
    compare("waitall");
}

static void persistent(int comm)
{
    int me, n, number = 1, got;
    MPI_Request r[2];
    MPI_Comm_rank(comms[comm], &me);
    MPI_Comm_size(comms[comm], &n);
    int right = (me + 1) % n, left = (me + n - 1) % n, by = CALL(MPI_Waitall);
    MPI_Recv_init(&got, 1, MPI_INT, left, 8, comms[comm], &r[0]);
    MPI_Send_init(&number, 1, MPI_INT, right, 8, comms[comm], &r[1]);
    compare("making a persistent request posts nothing");
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, r);
        posted(comm, RECV, left, 8, CALL(MPI_Recv_init), 4);
        posted(comm, SEND, right, 8, CALL(MPI_Send_init), 4);
        compare("startall");
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        completed(comm, RECV, left, 8, CALL(MPI_Recv_init), 4);
        request(comm, CALL(MPI_Recv_init), by, left, 8, 0, 4);
        completed(comm, SEND, right, 8, CALL(MPI_Send_init), 4);
        request(comm, CALL(MPI_Send_init), by, right, 8, 0, 4);
        compare("persistent ones complete");
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    compare("freeing inactive ones");
}

static void cancelled(int comm)
{
    int got;
    MPI_Request r;
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 9, comms[comm], &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    posted(comm, RECV, MPI_ANY_SOURCE, 9, CALL(MPI_Irecv), 4);
    request(comm, CALL(MPI_Irecv), CALL(MPI_Wait), MPI_ANY_SOURCE, -1, 2, 0);
    compare("a cancelled receive");
}

static void begin(int comm, int call, int coll)
{
    expect(COLL_BEGIN, comm, N(call), N(coll));
}

static void end(int comm, int call, int coll, int root, long long in, long long out)
{
    expect(COLL_END, comm, N(call), N(coll), N(root), 0LL, in, out, ANY_VALUE);
}

static void collectives(int comm)
{
    int me, n, number = 1, sum, all[64], op;
    MPI_Request r;
    MPI_Comm_rank(comms[comm], &me);
    MPI_Comm_size(comms[comm], &n);
    op = item_of("mpit_coll_op_count", "MPI_Barrier");
    MPI_Barrier(comms[comm]);
    begin(comm, CALL(MPI_Barrier), op);
    end(comm, CALL(MPI_Barrier), op, MPI_UNDEFINED, 0, 0);
    op = item_of("mpit_coll_op_count", "MPI_Bcast");
    MPI_Bcast(&number, 1, MPI_INT, n - 1, comms[comm]);
    begin(comm, CALL(MPI_Bcast), op);
    end(comm, CALL(MPI_Bcast), op, n - 1, me == n - 1 ? 4 : 0, me == n - 1 ? 0 : 4);
    op = item_of("mpit_coll_op_count", "MPI_Allreduce");
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comms[comm]);
    begin(comm, CALL(MPI_Allreduce), op);
    end(comm, CALL(MPI_Allreduce), op, MPI_UNDEFINED, 4, 4);
    compare("blocking collectives");
    op = item_of("mpit_coll_op_count", "MPI_Allgather");
    MPI_Iallgather(&number, 1, MPI_INT, all, 1, MPI_INT, comms[comm], &r);
    begin(comm, CALL(MPI_Iallgather), op);
    compare("a nonblocking collective begins");
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    end(comm, CALL(MPI_Iallgather), op, MPI_UNDEFINED, 4, 4 * n);
    request(comm, CALL(MPI_Iallgather), CALL(MPI_Wait), MPI_UNDEFINED, -1, 0, 4);
    compare("and ends");
}

/* The request of an access has its target, and the bytes there. */
static void accesses(int comm)
{
    int me, n, to[8] = {0}, from[8] = {0}, *base;
    MPI_Win win;
    MPI_Request r[2];
    MPI_Comm_rank(comms[comm], &me);
    MPI_Comm_size(comms[comm], &n);
    int right = (me + 1) % n, by = CALL(MPI_Waitall);
    MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, comms[comm], &base, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 2; i++) { /* the first one finds its window */
        MPI_Rput(to, 5, MPI_INT, right, 0, 5, MPI_INT, win, &r[0]);
        MPI_Rget(from, 3, MPI_INT, right, 5, 3, MPI_INT, win, &r[1]);
        compare("accesses begin");
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        request(comm, CALL(MPI_Rput), by, right, -1, 0, 20);
        request(comm, CALL(MPI_Rget), by, right, -1, 0, 12);
        compare("and have ended");
    }
    MPI_Rput(to, 2, MPI_INT, right, 0, 2, MPI_INT, win, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    request(comm, CALL(MPI_Rput), CALL(MPI_Wait), right, -1, 0, 8);
    compare("one alone");
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    compare("windows are no messages");
}

/* One that MPI refuses: it begins, and it ends as failed; a message that fails is none. */
static void failed(int comm)
{
    int number = 1, op = item_of("mpit_coll_op_count", "MPI_Bcast");
    MPI_Comm_set_errhandler(comms[comm], MPI_ERRORS_RETURN);
    CHECK(MPI_Bcast(&number, -1, MPI_INT, 0, comms[comm]) != MPI_SUCCESS);
    begin(comm, CALL(MPI_Bcast), op);
    expect(COLL_END, comm, N(CALL(MPI_Bcast)), N(op), 0LL, 1LL, 0LL, 0LL, ANY_VALUE);
    CHECK(MPI_Send(&number, 1, MPI_INT, size + 5, 1, comms[comm]) != MPI_SUCCESS);
    compare("calls that fail");
    MPI_Comm_set_errhandler(comms[comm], MPI_ERRORS_ARE_FATAL);
}

static void levels(int comm)
{
    int got[4], number = 3, me;
    char value[16] = "";
    int found = 0;
    MPI_Info info, used = MPI_INFO_NULL;
    MPI_Request r[4], s[2];
    MPI_Comm_rank(comms[comm], &me);
    MPI_Info_create(&info);
    char padded[128] = ""; /* a number in more characters than a number needs */
    memset(padded, '0', sizeof padded - 2);
    padded[sizeof padded - 2] = '2';
    MPI_Info_set(info, "mpit_threshold", padded);
    MPI_T_event_registration recvs = listen_to(RECVS_OVER, comm, MPI_T_CB_REQUIRE_NONE, info);
    MPI_Info_set(info, "mpit_threshold", "5");
    MPI_T_event_registration bytes = listen_to(BYTES_OVER, comm, MPI_T_CB_REQUIRE_NONE, info);
    MPI_T_event_registration sends = listen_to(SENDS_OVER, comm, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL);
    CHECK(MPI_T_event_handle_get_info(bytes, &used) == MPI_SUCCESS && used != MPI_INFO_NULL);
    MPI_Info_get(used, "mpit_threshold", sizeof value - 1, value, &found);
    CHECK(found && value[0] == '5' && value[1] == 0);
    MPI_Info_free(&used);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 4; i++) {
            MPI_Irecv(&got[i], 1, MPI_INT, me, 20 + i / 2, comms[comm], &r[i]);
            posted(comm, RECV, me, 20 + i / 2, CALL(MPI_Irecv), 4);
            if (i == 2)
                expect(RECVS_OVER, comm, 3LL, 2LL);
        }
        for (int i = 0; i < 2; i++) {
            MPI_Isend(&number, 1, MPI_INT, me, 20 + i, comms[comm], &s[i]);
            posted(comm, SEND, me, 20 + i, CALL(MPI_Isend), 4);
            if (i == 0)
                expect(SENDS_OVER, comm, 1LL, 0LL);
            else
                expect(BYTES_OVER, comm, 8LL, 5LL);
        }
        compare("levels that go over their thresholds");
        MPI_Waitall(2, s, MPI_STATUSES_IGNORE);
        MPI_Send(&number, 1, MPI_INT, me, 20, comms[comm]);
        MPI_Send(&number, 1, MPI_INT, me, 21, comms[comm]);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        observed.count = 0;
        if (round == 0) {
            MPI_Info_set(info, "mpit_threshold", "no number");
            CHECK(MPI_T_event_handle_set_info(recvs, info) == MPI_SUCCESS);
            memset(padded, '9', sizeof padded - 1); /* no 64-bit number */
            MPI_Info_set(info, "mpit_threshold", padded);
            CHECK(MPI_T_event_handle_set_info(recvs, info) == MPI_SUCCESS);
        }
    }
    MPI_Info_free(&info);
    CHECK(MPI_T_event_handle_free(recvs, NULL, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_free(sends, NULL, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_free(bytes, NULL, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_free(bytes, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
}

/* A receive that is freed while it is active: what it brings is not seen. */
static void losses(void)
{
    int got = 0, number = 5, me, cause = item_of("mpit_events_lost", "unseen_completion");
    MPI_Request r;
    MPI_Comm_rank(comms[1], &me);
    MPI_Irecv(&got, 1, MPI_INT, me, 33, comms[1], &r);
    posted(1, RECV, me, 33, CALL(MPI_Irecv), 4);
    MPI_Request_free(&r);
    expect(LOST, -1, N(cause), 1LL);
    compare("a loss");
    MPI_Send(&number, 1, MPI_INT, me, 33, comms[1]);
    posted(1, SEND, me, 33, CALL(MPI_Send), 4);
    completed(1, SEND, me, 33, CALL(MPI_Send), 4);
    compare("no loss");
}

/* As many as the pvars say. */
static void counts_check(MPI_T_pvar_session session, MPI_T_pvar_handle counts[COMMS][2])
{
    unsigned long long sends, messages;
    for (int comm = 0; comm < COMMS; comm++) {
        MPI_T_pvar_read(session, counts[comm][0], &sends);
        MPI_T_pvar_read(session, counts[comm][1], &messages);
        CHECK(sends > 0 && sends == sends_posted[comm], "%llu, %llu", sends, sends_posted[comm]);
        CHECK(messages > 0 && messages == messages_completed[comm], "%llu, %llu", messages, messages_completed[comm]);
    }
    MPI_T_pvar_session_free(&session);
}

static MPI_T_pvar_session counts_start(MPI_T_pvar_handle counts[COMMS][2])
{
    static const char *const names[] = {"mpit_send_count", "mpit_p2p_count"};
    int index, n;
    MPI_T_pvar_session session;
    MPI_T_pvar_session_create(&session);
    for (int comm = 0; comm < COMMS; comm++)
        for (int i = 0; i < 2; i++) {
            CHECK(MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
            CHECK(MPI_T_pvar_handle_alloc(session, index, &comms[comm], &counts[comm][i], &n) == MPI_SUCCESS);
            MPI_T_pvar_start(session, counts[comm][i]);
        }
    return session;
}

void traffic_check(void)
{
    MPI_T_pvar_handle counts[COMMS][2];
    MPI_T_pvar_session session = counts_start(counts);
    MPI_T_event_registration handles[COMMS][REQUEST + 1], lost;
    for (int comm = 0; comm < COMMS; comm++)
        for (int type = POSTED; type <= REQUEST; type++)
            handles[comm][type] = listen_to(type, comm, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL);
    lost = listen_to(LOST, -1, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL);
    observed.count = 0;
    compare("nothing");
    for (int comm = 0; comm < COMMS; comm++) {
        blocking(comm);
        nonblocking(comm, 0);
        nonblocking(comm, 100);
        nonblocking(comm, 70000);
        persistent(comm);
        cancelled(comm);
        collectives(comm);
        accesses(comm);
        failed(comm);
        levels(comm);
    }
    losses();
    counts_check(session, counts);
    for (int comm = 0; comm < COMMS; comm++)
        for (int type = POSTED; type <= REQUEST; type++)
            CHECK(MPI_T_event_handle_free(handles[comm][type], NULL, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_free(lost, NULL, NULL) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    compare("nobody listens any more");
}
