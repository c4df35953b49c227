/* Errors, completions that are chosen, buffers for several messages, contexts that are shared, threads. */
#include "fabricuser.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Both sides, some time: so that connections are there. */
static void one_message(struct fid_ep *from, fi_addr_t to, struct end *end, struct fid_ep *receiver)
{
    uint64_t received = end->received;
    void *context = context_next();
    POST("fi_recv", 32, true, fi_recv(receiver, user.in, 32, user.in_desc, FI_ADDR_UNSPEC, context));
    POST("fi_inject", 16, false, fi_inject(from, user.out, 16, to));
    wait_received(end, received + 1);
}

void cancelled(void)
{
    uint64_t failed = user.b.failed;
    void *context = context_next();
    POST("fi_trecv", 10, true, fi_trecv(user.b.ep, user.in, 10, user.in_desc, FI_ADDR_UNSPEC, 99, 0, context));
    fi_cancel(&user.b.ep->fid, context);
    while (user.b.failed == failed)
        poll_all();
}

/* The message is longer than the buffer for it. */
void truncated(void)
{
    uint64_t failed = user.b.failed, sent = user.a.sent;
    void *context = context_next();
    POST("fi_trecv", 10, true, fi_trecv(user.b.ep, user.in, 10, user.in_desc, FI_ADDR_UNSPEC, 98, 0, context));
    context = context_next();
    POST("fi_tsend", 60, true, fi_tsend(user.a.ep, user.out, 60, user.out_desc, user.a.peer, 98, context));
    wait_sent(&user.a, sent + 1);
    while (user.b.failed == failed)
        poll_all();
}

/* More than can be injected. */
void refused(void)
{
    for (int i = 0; i < 3; i++) {
        ssize_t result = fi_inject(user.a.ep, user.out, BUFFER, user.a.peer);
        book_check("too much to inject", result < 0 && result != -FI_EAGAIN);
        book_error();
    }
}

/* A look for a message that is not there ends with an error, which is the answer. */
void looked_for(void)
{
    uint64_t failed = user.b.failed;
    void *context = context_next();
    struct fi_msg_tagged msg = {NULL, NULL, 0, FI_ADDR_UNSPEC, 55, 0, context, 0};
    POST("fi_trecvmsg(FI_PEEK)", 0, true, fi_trecvmsg(user.b.ep, &msg, FI_PEEK | FI_COMPLETION));
    while (user.b.failed == failed)
        poll_all();
}

/* Such buffers end without a message, too. */
static void several_cancelled(int times)
{
    enum { EACH = 1000 };
    for (int i = 0; i < times; i++) {
        uint64_t failed = user.b.failed;
        struct iovec iov = {user.target, EACH};
        void *desc = fi_mr_desc(user.target_mr), *context = context_next();
        struct fi_msg msg = {&iov, &desc, 1, FI_ADDR_UNSPEC, context, 0};
        POST("fi_recvmsg", EACH, true, fi_recvmsg(user.b.ep, &msg, FI_MULTI_RECV | FI_COMPLETION));
        fi_cancel(&user.b.ep->fid, context);
        while (user.b.failed == failed)
            poll_all();
    }
}

/* The buffer is posted once, and used up by the last message. */
void several_in_one(void)
{
    enum { EACH = 1000, BYTES = 2500, MORE_THAN_ARE_KEPT = 70 };
    several_cancelled(MORE_THAN_ARE_KEPT);
    struct iovec iov = {user.target, BYTES};
    void *desc = user.in_desc, *context = context_next();
    size_t least = EACH;
    uint64_t received = user.b.received;
    struct fi_msg msg = {&iov, &desc, 1, FI_ADDR_UNSPEC, context, 0};
    desc = fi_mr_desc(user.target_mr);
    must("min", fi_setopt(&user.b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least));
    POST("fi_recvmsg", BYTES, true, fi_recvmsg(user.b.ep, &msg, FI_MULTI_RECV | FI_COMPLETION));
    for (int i = 0; i < 2; i++) {
        uint64_t sent = user.a.sent;
        context = context_next();
        POST("fi_send", EACH, true, fi_send(user.a.ep, user.out, EACH, user.out_desc, user.a.peer, context));
        wait_sent(&user.a, sent + 1);
        wait_received(&user.b, received + 1 + (uint64_t)i);
    }
    for (int i = 0; i < 10; i++) /* that it is used up may be told apart from the last message */
        poll_all();
}

static struct end choosing_end(uint64_t op_flags)
{
    struct end end = {.sends = queue_open(), .receives = queue_open()};
    struct fi_info *info = fi_dupinfo(user.info);
    info->tx_attr->op_flags = op_flags;
    must("fi_endpoint", fi_endpoint(user.domain, info, &end.ep, NULL));
    must("bind", fi_ep_bind(end.ep, &user.av->fid, 0));
    must("bind", fi_ep_bind(end.ep, &end.sends->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION));
    must("bind", fi_ep_bind(end.ep, &end.receives->fid, FI_RECV));
    must("enable", fi_enable(end.ep));
    end.peer = user.a.peer;
    fi_freeinfo(info);
    return end;
}

void chosen(const char *provider)
{
    (void)provider;
    for (int always = 0; always < 2; always++) {
        struct end end = choosing_end(always ? FI_COMPLETION : 0);
        struct iovec iov = {user.out, 21};
        address_of(end.ep);
        one_message(end.ep, end.peer, &user.b, user.b.ep);
        uint64_t received = user.b.received, told = 0;
        for (int i = 0; i < 6; i++) {
            void *context = context_next();
            bool with = i % 2;
            struct fi_msg msg = {&iov, &user.out_desc, 1, end.peer, context, 0};
            POST("fi_recv", 50, true, fi_recv(user.b.ep, user.in, 50, user.in_desc, FI_ADDR_UNSPEC, context_next()));
            POST("fi_sendmsg", 21, with, fi_sendmsg(end.ep, &msg, with ? FI_COMPLETION : 0));
            POST("fi_recv", 50, true, fi_recv(user.b.ep, user.in, 50, user.in_desc, FI_ADDR_UNSPEC, context_next()));
            POST("fi_send", 22, always, fi_send(end.ep, user.out, 22, user.out_desc, end.peer, context_next()));
            told += with + always;
            received += 2;
            while (user.b.received < received || end.sent < told) {
                poll_all();
                poll_queue(end.sends, &end.sent, &end.failed);
            }
        }
        for (int i = 0; i < 50; i++)
            poll_queue(end.sends, &end.sent, &end.failed);
        book_check("so many are told", end.sent == told && end.failed == 0);
        end_close(&end);
    }
}

static void contexts_shared(struct fi_info *hints)
{
    hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
}

/* Two endpoints that take what comes from one context. */
void shared_context(const char *provider)
{
    enum { ENDS = 2 };
    struct fi_info *info = info_find(provider, FI_MSG, contexts_shared);
    struct fid_ep *shared;
    struct end ends[ENDS] = {{.sent = 0}};
    must("fi_srx_context", fi_srx_context(user.domain, info->rx_attr, &shared, NULL));
    for (int i = 0; i < ENDS; i++) {
        ends[i] = (struct end){.sends = queue_open(), .receives = queue_open()};
        must("fi_endpoint", fi_endpoint(user.domain, info, &ends[i].ep, NULL));
        must("bind", fi_ep_bind(ends[i].ep, &user.av->fid, 0));
        must("bind", fi_ep_bind(ends[i].ep, &ends[i].sends->fid, FI_TRANSMIT));
        must("bind", fi_ep_bind(ends[i].ep, &ends[i].receives->fid, FI_RECV));
        must("bind", fi_ep_bind(ends[i].ep, &shared->fid, 0));
        must("enable", fi_enable(ends[i].ep));
    }
    for (int i = 0; i < 6; i++) {
        struct end *end = &ends[i % ENDS];
        fi_addr_t to = address_of(end->ep);
        uint64_t received = end->received, sent = user.a.sent;
        POST("fi_recv", 77, true, fi_recv(shared, user.in, 77, NULL, FI_ADDR_UNSPEC, context_next()));
        POST("fi_send", 44, true, fi_send(user.a.ep, user.out, 44, user.out_desc, to, context_next()));
        while (end->received == received || user.a.sent == sent) {
            poll_all();
            poll_queue(end->receives, &end->received, &end->failed);
        }
    }
    for (int i = 0; i < ENDS; i++)
        end_close(&ends[i]);
    must("close", fi_close(&shared->fid));
    fi_freeinfo(info);
}

enum { WIDTH = 2 };
static void contexts_several(struct fi_info *hints)
{
    hints->ep_attr->tx_ctx_cnt = hints->ep_attr->rx_ctx_cnt = WIDTH;
    hints->domain_attr->tx_ctx_cnt = hints->domain_attr->rx_ctx_cnt = WIDTH;
}

/* An endpoint of several contexts, each with queues of its own, that sends to itself. */
void scalable(const char *provider)
{
    struct fi_info *info = info_find(provider, FI_MSG | FI_TAGGED | FI_NAMED_RX_CTX, contexts_several);
    struct fid_ep *sep, *tx[WIDTH], *rx[WIDTH];
    struct end ends[WIDTH] = {{.sent = 0}};
    must("fi_scalable_ep", fi_scalable_ep(user.domain, info, &sep, NULL));
    must("bind", fi_scalable_ep_bind(sep, &user.av->fid, 0));
    for (int i = 0; i < WIDTH; i++) {
        ends[i] = (struct end){.sends = queue_open(), .receives = queue_open()};
        must("fi_tx_context", fi_tx_context(sep, i, info->tx_attr, &tx[i], NULL));
        must("bind", fi_ep_bind(tx[i], &ends[i].sends->fid, FI_TRANSMIT));
        must("fi_rx_context", fi_rx_context(sep, i, info->rx_attr, &rx[i], NULL));
        must("bind", fi_ep_bind(rx[i], &ends[i].receives->fid, FI_RECV));
        must("enable", fi_enable(tx[i]));
        must("enable", fi_enable(rx[i]));
    }
    must("enable", fi_enable(sep));
    fi_addr_t self = address_of(sep);
    for (int i = 0; i < 4 * WIDTH; i++) {
        struct end *from = &ends[i % WIDTH], *to = &ends[i / 2 % WIDTH];
        fi_addr_t address = fi_rx_addr(self, i / 2 % WIDTH, 4);
        uint64_t sent = from->sent, received = to->received;
        POST("fi_trecv", 33, true,
             fi_trecv(rx[i / 2 % WIDTH], user.in, 33, NULL, FI_ADDR_UNSPEC, 5, 0, context_next()));
        POST("fi_tsend", 11, true, fi_tsend(tx[i % WIDTH], user.out, 11, NULL, address, 5, context_next()));
        while (from->sent == sent || to->received == received)
            for (int k = 0; k < WIDTH; k++) {
                poll_queue(ends[k].sends, &ends[k].sent, &ends[k].failed);
                poll_queue(ends[k].receives, &ends[k].received, &ends[k].failed);
            }
    }
    for (int i = 0; i < WIDTH; i++) {
        must("close", fi_close(&tx[i]->fid));
        must("close", fi_close(&rx[i]->fid));
    }
    must("close", fi_close(&sep->fid));
    for (int i = 0; i < WIDTH; i++) {
        must("close", fi_close(&ends[i].sends->fid));
        must("close", fi_close(&ends[i].receives->fid));
    }
    fi_freeinfo(info);
}

/* ---- the same endpoints for all threads -------------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 300 };

static void *traffic(void *argument)
{
    uint64_t tag = 1000 + (uintptr_t)argument;
    for (int i = 0; i < EACH; i++) {
        void *receive = context_next(), *send = context_next();
        POST("fi_trecv", 25, true, fi_trecv(user.b.ep, user.in, 25, user.in_desc, FI_ADDR_UNSPEC, tag, 0, receive));
        POST("fi_tsend", 12, true, fi_tsend(user.a.ep, user.out, 12, user.out_desc, user.a.peer, tag, send));
        poll_all();
    }
    return NULL;
}

void threads(void)
{
    pthread_t thread[THREADS];
    uint64_t sent = user.a.sent, received = user.b.received;
    one_message(user.a.ep, user.a.peer, &user.b, user.b.ep);
    for (uintptr_t i = 0; i < THREADS; i++)
        must("thread", pthread_create(&thread[i], NULL, traffic, (void *)i));
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    wait_sent(&user.a, sent + THREADS * EACH);
    wait_received(&user.b, received + 1 + THREADS * EACH);
}
