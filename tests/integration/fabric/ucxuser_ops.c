/* Operations of each kind; bytes of each differ. */
#include "ucxuser.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const ucp_datatype_t byte = ucp_dt_make_contig(1);
static const ucp_request_param_t plain = {.op_attr_mask = 0};

#define AT ((uint64_t)(uintptr_t)user.target)
#define BEGUN(function, bytes, ...) begun(#function, bytes, function(__VA_ARGS__))
#define AT_ONCE(function, bytes, ...) at_once(#function, bytes, function(__VA_ARGS__))

static void pair(void *receive, void *send)
{
    finish(send);
    finish(receive);
}

/* With memory of ours for the request, which lies before what is given. */
static void own_request(void)
{
    char *memory = calloc(1, user.request_bytes + 64);
    void *request = memory + user.request_bytes;
    void *receive = BEGUN(ucp_tag_recv_nbx, 31, user.b, user.in, 31, 7, ~0ull, &plain);
    ucs_status_t status = ucp_tag_send_nbr(user.to_b, user.out, 30, byte, 7, request);
    book_operation("ucp_tag_send_nbr", 30, status == UCS_INPROGRESS);
    finish(receive);
    if (status == UCS_INPROGRESS) {
        while (ucp_request_check_status(request) == UCS_INPROGRESS)
            progress_both();
        book_completed(1, 0);
    }
    free(memory);
    receive = BEGUN(ucp_tag_recv_nbx, LARGE, user.b, user.in, LARGE, 7, ~0ull, &plain);
    memory = calloc(1, user.request_bytes + 64);
    request = memory + user.request_bytes;
    status = ucp_tag_send_nbr(user.to_b, user.out, LARGE, byte, 7, request);
    book_operation("ucp_tag_send_nbr", LARGE, status == UCS_INPROGRESS);
    book_check("a long one takes its time", status == UCS_INPROGRESS);
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        progress_both();
    book_completed(1, 0);
    finish(receive);
    free(memory);
}

static ucp_tag_message_h probed(ucp_tag_recv_info_t *info)
{
    ucp_tag_message_h message;
    for (;;) {
        message = ucp_tag_probe_nb(user.b, 9, ~0ull, 1, info);
        book_operation("ucp_tag_probe_nb", 0, false);
        if (message)
            return message;
        progress_both();
    }
}

void tags(void)
{
    ucp_dt_iov_t iov[2] = {{user.out, 12}, {user.out + 100, 15}};
    ucp_request_param_t vector = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = UCP_DATATYPE_IOV};
    ucp_tag_recv_info_t info;
    void *r;
    r = BEGUN(ucp_tag_recv_nb, 64, user.b, user.in, 64, byte, 1, ~0ull, received_nb);
    pair(r, BEGUN(ucp_tag_send_nb, 40, user.to_b, user.out, 40, byte, 1, sent_nb));
    r = BEGUN(ucp_tag_recv_nbx, 60, user.b, user.in, 60, 2, ~0ull, &plain);
    pair(r, BEGUN(ucp_tag_send_nbx, 50, user.to_b, user.out, 50, 2, &plain));
    r = BEGUN(ucp_tag_recv_nbx, 60, user.b, user.in, 60, 3, ~0ull, &plain);
    pair(r, BEGUN(ucp_tag_send_nbx, 27, user.to_b, iov, 2, 3, &vector));
    r = BEGUN(ucp_tag_recv_nbx, 60, user.b, user.in, 60, 4, ~0ull, &plain);
    pair(r, BEGUN(ucp_tag_send_sync_nb, 14, user.to_b, user.out, 14, byte, 4, sent_nb));
    r = BEGUN(ucp_tag_recv_nbx, 60, user.b, user.in, 60, 5, ~0ull, &plain);
    pair(r, BEGUN(ucp_tag_send_sync_nbx, 15, user.to_b, user.out, 15, 5, &plain));
    r = BEGUN(ucp_tag_recv_nbx, LARGE, user.b, user.in, LARGE, 6, ~0ull, &plain);
    pair(r, BEGUN(ucp_tag_send_nbx, LARGE, user.to_b, user.out, LARGE, 6, &plain));
    own_request();
    r = BEGUN(ucp_tag_send_nbx, 21, user.to_b, user.out, 21, 9, &plain);
    pair(BEGUN(ucp_tag_msg_recv_nb, 22, user.b, user.in, 22, byte, probed(&info), received_nb), r);
    r = BEGUN(ucp_tag_send_nbx, 23, user.to_b, user.out, 23, 9, &plain);
    pair(BEGUN(ucp_tag_msg_recv_nbx, 24, user.b, user.in, 24, probed(&info), &plain), r);
}

/* A receive that is cancelled, and one that is too short. */
void odd(void)
{
    void *r = BEGUN(ucp_tag_recv_nbx, 60, user.b, user.in, 60, 77, ~0ull, &plain);
    ucp_request_cancel(user.b, r);
    finish(r);
    r = BEGUN(ucp_tag_recv_nbx, 5, user.b, user.in, 5, 78, ~0ull, &plain);
    void *s = BEGUN(ucp_tag_send_nbx, 50, user.to_b, user.out, 50, 78, &plain);
    finish(s);
    while (ucp_request_check_status(r) == UCS_INPROGRESS)
        progress_both();
    book_check("it is too short", ucp_request_check_status(r) == UCS_ERR_MESSAGE_TRUNCATED);
    book_completed(1, 1);
    ucp_request_free(r);
}

static int arrived;
static void *fetching;

/* The data of a long one are asked for in here: while the worker makes progress. */
static ucs_status_t active(void *arg, const void *header, size_t header_bytes, void *data, size_t bytes,
                           const ucp_am_recv_param_t *param)
{
    (void)arg;
    (void)header;
    (void)header_bytes;
    arrived++;
    if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV))
        return UCS_OK;
    fetching = BEGUN(ucp_am_recv_data_nbx, bytes, user.b, data, user.in, bytes, &plain);
    return UCS_INPROGRESS;
}

void actives(void)
{
    ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB, .id = 3, .cb = active};
    ucp_request_param_t distant = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_AM_SEND_FLAG_RNDV};
    must("handler", ucp_worker_set_am_recv_handler(user.b, &handler));
    arrived = 0;
    finish(BEGUN(ucp_am_send_nbx, 8 + 33, user.to_b, 3, user.out, 8, user.out, 33, &plain));
    while (arrived < 1)
        progress_both();
    void *s = BEGUN(ucp_am_send_nbx, LARGE, user.to_b, 3, NULL, 0, user.out, LARGE, &distant);
    while (arrived < 2)
        progress_both();
    pair(fetching, s);
}

void one_sided(void)
{
    memset(user.out, 'x', 500);
    AT_ONCE(ucp_put, 10, user.to_self, user.out, 10, AT, user.rkey);
    AT_ONCE(ucp_put_nbi, 20, user.to_self, user.out, 20, AT + 10, user.rkey);
    finish(BEGUN(ucp_put_nb, 30, user.to_self, user.out, 30, AT + 30, user.rkey, sent_nb));
    finish(BEGUN(ucp_put_nbx, 40, user.to_self, user.out, 40, AT + 60, user.rkey, &plain));
    finish(BEGUN(ucp_ep_flush_nbx, 0, user.to_self, &plain));
    book_check("it is there", memcmp(user.target, user.out, 100) == 0);
    AT_ONCE(ucp_get_nbi, 60, user.to_self, user.in, 60, AT, user.rkey);
    finish(BEGUN(ucp_worker_flush_nbx, 0, user.a, &plain));
    finish(BEGUN(ucp_get_nb, 70, user.to_self, user.in, 70, AT, user.rkey, sent_nb));
    finish(BEGUN(ucp_get_nbx, 80, user.to_self, user.in, 80, AT, user.rkey, &plain));
    book_check("it is got", memcmp(user.in, user.out, 80) == 0);
}

void atomics(void)
{
    uint64_t *got = (uint64_t *)(void *)user.in;
    ucp_request_param_t eight = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = ucp_dt_make_contig(8)};
    memset(user.target, 0, 64);
    AT_ONCE(ucp_atomic_post, 4, user.to_self, UCP_ATOMIC_POST_OP_ADD, 5, 4, AT, user.rkey);
    AT_ONCE(ucp_atomic_post, 8, user.to_self, UCP_ATOMIC_POST_OP_ADD, 5, 8, AT + 8, user.rkey);
    finish(
        BEGUN(ucp_atomic_fetch_nb, 8, user.to_self, UCP_ATOMIC_FETCH_OP_FADD, 1, got, 8, AT + 8, user.rkey, sent_nb));
    finish(BEGUN(ucp_atomic_op_nbx, 8, user.to_self, UCP_ATOMIC_OP_ADD, user.out, 1, AT + 16, user.rkey, &eight));
    finish(BEGUN(ucp_ep_flush_nbx, 0, user.to_self, &plain));
}

void streams(void)
{
    size_t length;
    void *r, *data = NULL;
    ucp_request_param_t whole = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_STREAM_RECV_FLAG_WAITALL};
    r = BEGUN(ucp_stream_recv_nb, 11, user.to_a, user.in, 11, byte, streamed_nb, &length, UCP_STREAM_RECV_FLAG_WAITALL);
    pair(r, BEGUN(ucp_stream_send_nb, 11, user.to_b, user.out, 11, byte, sent_nb, 0));
    r = BEGUN(ucp_stream_recv_nbx, 12, user.to_a, user.in, 12, &length, &whole);
    pair(r, BEGUN(ucp_stream_send_nbx, 12, user.to_b, user.out, 12, &plain));
    finish(BEGUN(ucp_stream_send_nbx, 13, user.to_b, user.out, 13, &plain));
    while (!data) {
        progress_both();
        data = ucp_stream_recv_data_nb(user.to_a, &length);
        book_operation("ucp_stream_recv_data_nb", data ? length : 0, false);
    }
    book_check("as long as it was sent", length == 13);
    ucp_stream_data_release(user.to_a, data);
}

/* Those that wait poll by themselves: these are no polls of ours. */
void flushes(void)
{
    finish(BEGUN(ucp_ep_flush_nb, 0, user.to_b, 0, sent_nb));
    finish(BEGUN(ucp_ep_flush_nbx, 0, user.to_b, &plain));
    finish(BEGUN(ucp_worker_flush_nb, 0, user.a, 0, sent_nb));
    finish(BEGUN(ucp_worker_flush_nbx, 0, user.a, &plain));
    AT_ONCE(ucp_ep_flush, 0, user.to_b);
    AT_ONCE(ucp_worker_flush, 0, user.a);
}

/* ---- callbacks that begin operations, give requests back, and take their time ------------------------------------ */

static int answered, released;

/* The last thing that it does is to give the request back: the compiler jumps there. */
static void release(void *request, ucs_status_t status, void *data)
{
    (void)status;
    (void)data;
    released++;
    book_completed(1, 0);
    ucp_request_free(request);
}

static const ucp_request_param_t releasing = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK, .cb.send = release};

static void answer(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *data)
{
    (void)status;
    (void)info;
    (void)data;
    answered++;
    released += !BEGUN(ucp_tag_send_nbx, 19, user.to_a, user.out, 19, 12, &releasing);
    book_completed(1, 0);
    ucp_request_free(request);
}

static void answer_late(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *data)
{
    enum { MICROSECONDS = 50000 };
    usleep(MICROSECONDS);
    user.slept += 1000ull * MICROSECONDS;
    answer(request, status, info, data);
}

static void answers(int count, ucp_tag_recv_nbx_callback_t how, bool flushed)
{
    ucp_request_param_t answering = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK, .cb.recv = how};
    for (int i = 0; i < count; i++) {
        int before = answered, released_before = released;
        void *back = BEGUN(ucp_tag_recv_nbx, 20, user.a, user.in, 20, 12, ~0ull, &plain);
        void *r = BEGUN(ucp_tag_recv_nbx, 18, user.b, user.in, 18, 11, ~0ull, &answering);
        book_check("it waits", r != NULL);
        finish(BEGUN(ucp_tag_send_nbx, 17, user.to_b, user.out, 17, 11, &plain));
        if (flushed)
            AT_ONCE(ucp_worker_flush, 0, user.b); /* the callback may come in there */
        finish(back);
        while (answered == before || released == released_before)
            progress_both();
    }
}

void callbacks(void)
{
    answers(20, answer, false);
    answers(20, answer, true);
}

void sleepy(void)
{
    answers(10, answer_late, false);
    answers(5, answer_late, true);
}
