/*
 * The functions of libfabric and UCX that move data, and their numbers.
 *
 * A function has one entry: its kind (the slot of mpit_fabric_ops), and whether it begins a transfer of data itself or
 * waits for somebody else's. Some functions of one kind differ only in the description of the program's buffers. They
 * have one name here, the name of the simplest.
 */
#ifndef MPIT_EVENTS_FABRICCALLS_H
#define MPIT_EVENTS_FABRICCALLS_H

#include <stdbool.h>
#include <stdint.h>

/* Slots of mpit_fabric_ops and mpit_fabric_bytes. The enumeration mpit_fabric_op has these names. */
#define FABRIC_KINDS(X)                                                                                                \
    X(SEND, "send")           /* two-sided, tagged or not, streams */                                                  \
    X(INJECT, "inject")       /* the same. The buffer is free when the call returns, and nothing is reported */        \
    X(RECV, "recv")           /* a buffer for one */                                                                   \
    X(RMA_READ, "rma_read")   /* one-sided */                                                                          \
    X(RMA_WRITE, "rma_write") /* likewise, injected or not */                                                          \
    X(ATOMIC, "atomic")                                                                                                \
    X(AM, "am")           /* active messages of UCX */                                                                 \
    X(AM_RECV, "am_recv") /* a buffer for the data of one */                                                           \
    X(FLUSH, "flush")     /* waits until others are complete at their targets */                                       \
    X(PROBE, "probe")     /* looks for a message */

enum fabric_kind {
#define FABRIC_KIND(id, name) FABRIC_##id,
    FABRIC_KINDS(FABRIC_KIND)
#undef FABRIC_KIND
        FABRIC_KIND_COUNT
};

/* Identifier, name, kind. Numbers are part of the run file's format: new ones go to the end. */
#define FABRIC_FUNCTIONS(X)                                                                                            \
    X(FI_SEND, "fi_send", SEND)                                                                                        \
    X(FI_SENDV, "fi_sendv", SEND)                                                                                      \
    X(FI_SENDMSG, "fi_sendmsg", SEND)                                                                                  \
    X(FI_SENDDATA, "fi_senddata", SEND)                                                                                \
    X(FI_INJECT, "fi_inject", INJECT)                                                                                  \
    X(FI_INJECTDATA, "fi_injectdata", INJECT)                                                                          \
    X(FI_RECV, "fi_recv", RECV)                                                                                        \
    X(FI_RECVV, "fi_recvv", RECV)                                                                                      \
    X(FI_RECVMSG, "fi_recvmsg", RECV)                                                                                  \
    X(FI_TSEND, "fi_tsend", SEND)                                                                                      \
    X(FI_TSENDV, "fi_tsendv", SEND)                                                                                    \
    X(FI_TSENDMSG, "fi_tsendmsg", SEND)                                                                                \
    X(FI_TSENDDATA, "fi_tsenddata", SEND)                                                                              \
    X(FI_TINJECT, "fi_tinject", INJECT)                                                                                \
    X(FI_TINJECTDATA, "fi_tinjectdata", INJECT)                                                                        \
    X(FI_TRECV, "fi_trecv", RECV)                                                                                      \
    X(FI_TRECVV, "fi_trecvv", RECV)                                                                                    \
    X(FI_TRECVMSG, "fi_trecvmsg", RECV)                                                                                \
    X(FI_READ, "fi_read", RMA_READ)                                                                                    \
    X(FI_READV, "fi_readv", RMA_READ)                                                                                  \
    X(FI_READMSG, "fi_readmsg", RMA_READ)                                                                              \
    X(FI_WRITE, "fi_write", RMA_WRITE)                                                                                 \
    X(FI_WRITEV, "fi_writev", RMA_WRITE)                                                                               \
    X(FI_WRITEMSG, "fi_writemsg", RMA_WRITE)                                                                           \
    X(FI_WRITEDATA, "fi_writedata", RMA_WRITE)                                                                         \
    X(FI_INJECT_WRITE, "fi_inject_write", RMA_WRITE)                                                                   \
    X(FI_INJECT_WRITEDATA, "fi_inject_writedata", RMA_WRITE)                                                           \
    X(FI_ATOMIC, "fi_atomic", ATOMIC)                                                                                  \
    X(FI_ATOMICV, "fi_atomicv", ATOMIC)                                                                                \
    X(FI_ATOMICMSG, "fi_atomicmsg", ATOMIC)                                                                            \
    X(FI_INJECT_ATOMIC, "fi_inject_atomic", ATOMIC)                                                                    \
    X(FI_FETCH_ATOMIC, "fi_fetch_atomic", ATOMIC)                                                                      \
    X(FI_FETCH_ATOMICV, "fi_fetch_atomicv", ATOMIC)                                                                    \
    X(FI_FETCH_ATOMICMSG, "fi_fetch_atomicmsg", ATOMIC)                                                                \
    X(FI_COMPARE_ATOMIC, "fi_compare_atomic", ATOMIC)                                                                  \
    X(FI_COMPARE_ATOMICV, "fi_compare_atomicv", ATOMIC)                                                                \
    X(FI_COMPARE_ATOMICMSG, "fi_compare_atomicmsg", ATOMIC)                                                            \
    X(UCP_TAG_SEND_NB, "ucp_tag_send_nb", SEND)                                                                        \
    X(UCP_TAG_SEND_NBR, "ucp_tag_send_nbr", SEND)                                                                      \
    X(UCP_TAG_SEND_NBX, "ucp_tag_send_nbx", SEND)                                                                      \
    X(UCP_TAG_SEND_SYNC_NB, "ucp_tag_send_sync_nb", SEND)                                                              \
    X(UCP_TAG_SEND_SYNC_NBX, "ucp_tag_send_sync_nbx", SEND)                                                            \
    X(UCP_TAG_RECV_NB, "ucp_tag_recv_nb", RECV)                                                                        \
    X(UCP_TAG_RECV_NBR, "ucp_tag_recv_nbr", RECV)                                                                      \
    X(UCP_TAG_RECV_NBX, "ucp_tag_recv_nbx", RECV)                                                                      \
    X(UCP_TAG_MSG_RECV_NB, "ucp_tag_msg_recv_nb", RECV)                                                                \
    X(UCP_TAG_MSG_RECV_NBX, "ucp_tag_msg_recv_nbx", RECV)                                                              \
    X(UCP_STREAM_SEND_NB, "ucp_stream_send_nb", SEND)                                                                  \
    X(UCP_STREAM_SEND_NBX, "ucp_stream_send_nbx", SEND)                                                                \
    X(UCP_STREAM_RECV_NB, "ucp_stream_recv_nb", RECV)                                                                  \
    X(UCP_STREAM_RECV_NBX, "ucp_stream_recv_nbx", RECV)                                                                \
    X(UCP_STREAM_RECV_DATA_NB, "ucp_stream_recv_data_nb", RECV)                                                        \
    X(UCP_AM_SEND_NB, "ucp_am_send_nb", AM)                                                                            \
    X(UCP_AM_SEND_NBX, "ucp_am_send_nbx", AM)                                                                          \
    X(UCP_AM_RECV_DATA_NBX, "ucp_am_recv_data_nbx", AM_RECV)                                                           \
    X(UCP_PUT, "ucp_put", RMA_WRITE)                                                                                   \
    X(UCP_PUT_NBI, "ucp_put_nbi", RMA_WRITE)                                                                           \
    X(UCP_PUT_NB, "ucp_put_nb", RMA_WRITE)                                                                             \
    X(UCP_PUT_NBX, "ucp_put_nbx", RMA_WRITE)                                                                           \
    X(UCP_GET, "ucp_get", RMA_READ)                                                                                    \
    X(UCP_GET_NBI, "ucp_get_nbi", RMA_READ)                                                                            \
    X(UCP_GET_NB, "ucp_get_nb", RMA_READ)                                                                              \
    X(UCP_GET_NBX, "ucp_get_nbx", RMA_READ)                                                                            \
    X(UCP_ATOMIC_POST, "ucp_atomic_post", ATOMIC)                                                                      \
    X(UCP_ATOMIC_FETCH_NB, "ucp_atomic_fetch_nb", ATOMIC)                                                              \
    X(UCP_ATOMIC_OP_NBX, "ucp_atomic_op_nbx", ATOMIC)                                                                  \
    X(UCP_ATOMIC_ADD32, "ucp_atomic_add32", ATOMIC)                                                                    \
    X(UCP_ATOMIC_ADD64, "ucp_atomic_add64", ATOMIC)                                                                    \
    X(UCP_ATOMIC_FADD32, "ucp_atomic_fadd32", ATOMIC)                                                                  \
    X(UCP_ATOMIC_FADD64, "ucp_atomic_fadd64", ATOMIC)                                                                  \
    X(UCP_ATOMIC_SWAP32, "ucp_atomic_swap32", ATOMIC)                                                                  \
    X(UCP_ATOMIC_SWAP64, "ucp_atomic_swap64", ATOMIC)                                                                  \
    X(UCP_ATOMIC_CSWAP32, "ucp_atomic_cswap32", ATOMIC)                                                                \
    X(UCP_ATOMIC_CSWAP64, "ucp_atomic_cswap64", ATOMIC)                                                                \
    X(UCP_EP_FLUSH, "ucp_ep_flush", FLUSH)                                                                             \
    X(UCP_EP_FLUSH_NB, "ucp_ep_flush_nb", FLUSH)                                                                       \
    X(UCP_EP_FLUSH_NBX, "ucp_ep_flush_nbx", FLUSH)                                                                     \
    X(UCP_WORKER_FLUSH, "ucp_worker_flush", FLUSH)                                                                     \
    X(UCP_WORKER_FLUSH_NB, "ucp_worker_flush_nb", FLUSH)                                                               \
    X(UCP_WORKER_FLUSH_NBX, "ucp_worker_flush_nbx", FLUSH)                                                             \
    X(FI_PEEK, "fi_trecvmsg(FI_PEEK)", PROBE)                                                                          \
    X(UCP_TAG_PROBE_NB, "ucp_tag_probe_nb", PROBE)

enum fabric_function {
#define FABRIC_FUNCTION(id, name, kind) CALLED_##id,
    FABRIC_FUNCTIONS(FABRIC_FUNCTION)
#undef FABRIC_FUNCTION
        FABRIC_FUNCTION_COUNT
};

struct fabric_description {
    const char *name;
    enum fabric_kind kind;
};

extern const struct fabric_description fabric_table[FABRIC_FUNCTION_COUNT];
extern const char *const fabric_kind_names[FABRIC_KIND_COUNT];

/* True if it moves data itself. False if it waits for other transfers, or for the end of earlier ones. */
static inline bool fabric_is_transfer(enum fabric_kind kind)
{
    return kind != FABRIC_RECV && kind != FABRIC_AM_RECV && kind != FABRIC_FLUSH && kind != FABRIC_PROBE;
}

/* Providers of a process are numbered from 1, in the order of opening. */
enum { FABRIC_PROVIDERS_MOST = 15 };

#endif
