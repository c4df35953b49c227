/* One operation of each kind; bytes of each differ. */
#include "fabricuser.h"

#include <string.h>

static uint64_t sent, received;

static void both(void)
{
    wait_sent(&user.a, sent);
    wait_received(&user.b, received);
}

static void begin(void)
{
    sent = user.a.sent;
    received = user.b.received;
}

#define IN(bytes) ((struct iovec[]){{user.in, (bytes)-3}, {user.in + (bytes), 3}})
#define OUT(bytes) ((struct iovec[]){{user.out, (bytes)-3}, {user.out + (bytes), 3}})
#define IN_DESC ((void *[]){user.in_desc, user.in_desc})
#define OUT_DESC ((void *[]){user.out_desc, user.out_desc})

/* Contexts are made once for an operation, however often it is tried. */
#define RECEIVE(function, bytes, call)                                                                                 \
    do {                                                                                                               \
        void *context = context_next();                                                                                \
        POST(function, bytes, true, call);                                                                             \
        received++;                                                                                                    \
    } while (0)
#define SEND(function, bytes, told, call)                                                                              \
    do {                                                                                                               \
        void *context = context_next();                                                                                \
        (void)context;                                                                                                 \
        POST(function, bytes, told, call);                                                                             \
        sent += told;                                                                                                  \
    } while (0)

void messages(void)
{
    struct fid_ep *a = user.a.ep, *b = user.b.ep;
    fi_addr_t to = user.a.peer;
    begin();
    RECEIVE("fi_recv", 100, fi_recv(b, user.in, 100, user.in_desc, FI_ADDR_UNSPEC, context));
    SEND("fi_send", 64, true, fi_send(a, user.out, 64, user.out_desc, to, context));
    both();
    RECEIVE("fi_recvv", 90, fi_recvv(b, IN(90), IN_DESC, 2, FI_ADDR_UNSPEC, context));
    SEND("fi_sendv", 80, true, fi_sendv(a, OUT(80), OUT_DESC, 2, to, context));
    both();
    RECEIVE("fi_recvmsg", 70,
            fi_recvmsg(b, &(struct fi_msg){IN(70), IN_DESC, 2, FI_ADDR_UNSPEC, context, 0}, FI_COMPLETION));
    SEND("fi_sendmsg", 60, true, fi_sendmsg(a, &(struct fi_msg){OUT(60), OUT_DESC, 2, to, context, 0}, FI_COMPLETION));
    both();
    RECEIVE("fi_recv", 50, fi_recv(b, user.in, 50, user.in_desc, FI_ADDR_UNSPEC, context));
    SEND("fi_senddata", 40, true, fi_senddata(a, user.out, 40, user.out_desc, 7, to, context));
    both();
    RECEIVE("fi_recv", 50, fi_recv(b, user.in, 50, user.in_desc, FI_ADDR_UNSPEC, context));
    SEND("fi_inject", 30, false, fi_inject(a, user.out, 30, to));
    both();
    RECEIVE("fi_recv", 50, fi_recv(b, user.in, 50, user.in_desc, FI_ADDR_UNSPEC, context));
    SEND("fi_injectdata", 20, false, fi_injectdata(a, user.out, 20, 8, to));
    both();
    RECEIVE("fi_recv", BUFFER, fi_recv(b, user.in, BUFFER, user.in_desc, FI_ADDR_UNSPEC, context));
    SEND("fi_send", BUFFER, true, fi_send(a, user.out, BUFFER, user.out_desc, to, context));
    both();
    for (int i = 0; i < 8; i++) /* several at once */
        RECEIVE("fi_recv", 9, fi_recv(b, user.in, 9, user.in_desc, FI_ADDR_UNSPEC, context));
    for (int i = 0; i < 8; i++)
        SEND("fi_send", 9, true, fi_send(a, user.out, 9, user.out_desc, to, context));
    both();
}

void tagged(void)
{
    struct fid_ep *a = user.a.ep, *b = user.b.ep;
    fi_addr_t to = user.a.peer;
    begin();
    RECEIVE("fi_trecv", 100, fi_trecv(b, user.in, 100, user.in_desc, FI_ADDR_UNSPEC, 1, 0, context));
    SEND("fi_tsend", 64, true, fi_tsend(a, user.out, 64, user.out_desc, to, 1, context));
    both();
    RECEIVE("fi_trecvv", 90, fi_trecvv(b, IN(90), IN_DESC, 2, FI_ADDR_UNSPEC, 2, 0, context));
    SEND("fi_tsendv", 80, true, fi_tsendv(a, OUT(80), OUT_DESC, 2, to, 2, context));
    both();
    RECEIVE(
        "fi_trecvmsg", 70,
        fi_trecvmsg(b, &(struct fi_msg_tagged){IN(70), IN_DESC, 2, FI_ADDR_UNSPEC, 3, 0, context, 0}, FI_COMPLETION));
    SEND("fi_tsendmsg", 60, true,
         fi_tsendmsg(a, &(struct fi_msg_tagged){OUT(60), OUT_DESC, 2, to, 3, 0, context, 0}, FI_COMPLETION));
    both();
    RECEIVE("fi_trecv", 50, fi_trecv(b, user.in, 50, user.in_desc, FI_ADDR_UNSPEC, 4, 0, context));
    SEND("fi_tsenddata", 40, true, fi_tsenddata(a, user.out, 40, user.out_desc, 7, to, 4, context));
    both();
    RECEIVE("fi_trecv", 50, fi_trecv(b, user.in, 50, user.in_desc, FI_ADDR_UNSPEC, 5, 0, context));
    SEND("fi_tinject", 30, false, fi_tinject(a, user.out, 30, to, 5));
    both();
    RECEIVE("fi_trecv", 50, fi_trecv(b, user.in, 50, user.in_desc, FI_ADDR_UNSPEC, 6, 0, context));
    SEND("fi_tinjectdata", 20, false, fi_tinjectdata(a, user.out, 20, 8, to, 6));
    both();
}

void one_sided(void)
{
    struct fid_ep *a = user.a.ep;
    fi_addr_t to = user.a.peer;
    uint64_t at = user.target_address, key = user.target_key;
    begin();
    memset(user.out, 'x', 200);
    SEND("fi_write", 10, true, fi_write(a, user.out, 10, user.out_desc, to, at, key, context));
    both();
    SEND("fi_writev", 20, true, fi_writev(a, OUT(20), OUT_DESC, 2, to, at + 10, key, context));
    both();
    SEND("fi_writemsg", 30, true,
         fi_writemsg(
             a, &(struct fi_msg_rma){OUT(30), OUT_DESC, 2, to, &(struct fi_rma_iov){at + 30, 30, key}, 1, context, 0},
             FI_COMPLETION));
    both();
    SEND("fi_inject_write", 15, false, fi_inject_write(a, user.out, 15, to, at + 60, key));
    SEND("fi_writedata", 25, true, fi_writedata(a, user.out, 25, user.out_desc, 3, to, at + 75, key, context));
    both();
    wait_received(&user.b, ++received); /* the target is told of the data */
    SEND("fi_inject_writedata", 35, false, fi_inject_writedata(a, user.out, 35, 4, to, at + 100, key));
    wait_received(&user.b, ++received);
    SEND("fi_read", 135, true, fi_read(a, user.in, 135, user.in_desc, to, at, key, context));
    both();
    book_check("what was written is read", memcmp(user.in, user.out, 135) == 0);
    SEND("fi_readv", 45, true, fi_readv(a, IN(45), IN_DESC, 2, to, at, key, context));
    both();
    SEND("fi_readmsg", 55, true,
         fi_readmsg(a, &(struct fi_msg_rma){IN(55), IN_DESC, 2, to, &(struct fi_rma_iov){at, 55, key}, 1, context, 0},
                    FI_COMPLETION));
    both();
}

static void atomics_plain(uint64_t at, uint64_t key)
{
    struct fid_ep *a = user.a.ep;
    fi_addr_t to = user.a.peer;
    struct fi_ioc out = {user.out, 3};
    struct fi_rma_ioc target = {at, 3, key};
    SEND("fi_atomic", 16, true, fi_atomic(a, user.out, 2, user.out_desc, to, at, key, FI_UINT64, FI_SUM, context));
    both();
    SEND("fi_atomicv", 12, true, fi_atomicv(a, &out, OUT_DESC, 1, to, at, key, FI_UINT32, FI_SUM, context));
    both();
    struct fi_msg_atomic msg = {&out, OUT_DESC, 1, to, &target, 1, FI_UINT64, FI_SUM, NULL, 0};
    SEND("fi_atomicmsg", 24, true, (msg.context = context, fi_atomicmsg(a, &msg, FI_COMPLETION)));
    both();
    SEND("fi_inject_atomic", 8, false, fi_inject_atomic(a, user.out, 1, to, at, key, FI_UINT64, FI_SUM));
}

void atomics(void)
{
    struct fid_ep *a = user.a.ep;
    fi_addr_t to = user.a.peer;
    uint64_t at = user.target_address, key = user.target_key;
    struct fi_ioc out = {user.out, 3}, in = {user.in, 3}, compare = {user.out + 64, 3};
    struct fi_rma_ioc target = {at, 3, key};
    begin();
    atomics_plain(at, key);
    SEND(
        "fi_fetch_atomic", 8, true,
        fi_fetch_atomic(a, user.out, 1, user.out_desc, user.in, user.in_desc, to, at, key, FI_UINT64, FI_SUM, context));
    both();
    SEND("fi_fetch_atomicv", 24, true,
         fi_fetch_atomicv(a, &out, OUT_DESC, 1, &in, IN_DESC, 1, to, at, key, FI_UINT64, FI_SUM, context));
    both();
    struct fi_msg_atomic msg = {&out, OUT_DESC, 1, to, &target, 1, FI_UINT32, FI_SUM, NULL, 0};
    SEND("fi_fetch_atomicmsg", 12, true,
         (msg.context = context, fi_fetch_atomicmsg(a, &msg, &in, IN_DESC, 1, FI_COMPLETION)));
    both();
    SEND("fi_compare_atomic", 8, true,
         fi_compare_atomic(a, user.out, 1, user.out_desc, user.out + 64, user.out_desc, user.in, user.in_desc, to, at,
                           key, FI_UINT64, FI_CSWAP, context));
    both();
    SEND("fi_compare_atomicv", 24, true,
         fi_compare_atomicv(a, &out, OUT_DESC, 1, &compare, OUT_DESC, 1, &in, IN_DESC, 1, to, at, key, FI_UINT64,
                            FI_CSWAP, context));
    both();
    msg.op = FI_CSWAP;
    SEND("fi_compare_atomicmsg", 12, true,
         (msg.context = context, fi_compare_atomicmsg(a, &msg, &compare, OUT_DESC, 1, &in, IN_DESC, 1, FI_COMPLETION)));
    both();
}
