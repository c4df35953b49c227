/*
 * UCX: operations, polls and completions of ucp, while they are recorded (fabric.h). stall_ucx.c has the empty polls.
 *
 * Each function is defined here, in front of UCX's. If the whole process sees the library's function, its gate leads
 * there while recording is off. Sometimes only some libraries see it (Open MPI loads UCX for its components alone).
 * Then the caller decides which one is meant, and the gate always leads here.
 *
 * UCX calls some of its functions itself. These calls belong to the operation in progress.
 *
 * An operation that has returned a request is complete when the request is given back (ucp_request_free, _release). An
 * operation with a request in the caller's memory is complete when a check of that request says so.
 */
#include "fabric/fabric.h"
#include "fabric/fabric_keys.h"
#include "gate.h"
#include "progress/polling.h"
#include "recorder/recorder.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <ucp/api/ucp.h>

static inline struct fabric_provider *ucx(void)
{
    static struct fabric_provider *provider;
    struct fabric_provider *known = __atomic_load_n(&provider, __ATOMIC_ACQUIRE);
    if (!known)
        __atomic_store_n(&provider, known = fabric_provider("ucx"), __ATOMIC_RELEASE);
    return known;
}

/* ---- who calls --------------------------------------------------------------------------------------------------- */

/* Where the code of a libucp is. */
enum { LIBRARIES = 4 };
static struct {
    uintptr_t begin, end;
} code[LIBRARIES];
static unsigned code_count;
static uintptr_t code_first, code_bytes; /* of the first one, which usually is the only one */

static int code_find(struct dl_phdr_info *info, size_t size, void *address)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = begin + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD || (uintptr_t)address < begin || (uintptr_t)address >= end)
            continue;
        if (code_count < LIBRARIES) {
            code[code_count].begin = begin;
            code[code_count].end = end;
            if (code_count == 0) {
                RELAXED_STORE(&code_first, begin);
                __atomic_store_n(&code_bytes, end - begin, __ATOMIC_RELEASE);
            }
            __atomic_store_n(&code_count, code_count + 1, __ATOMIC_RELEASE);
        }
        return 1;
    }
    return 0;
}

static __attribute__((noinline)) bool in_another_ucx(uintptr_t address)
{
    unsigned count = __atomic_load_n(&code_count, __ATOMIC_ACQUIRE);
    for (unsigned i = 1; i < count; i++)
        if (address - code[i].begin < code[i].end - code[i].begin)
            return true;
    return false;
}

static inline bool in_ucx(uintptr_t address)
{
    uintptr_t bytes = __atomic_load_n(&code_bytes, __ATOMIC_ACQUIRE);
    return address - RELAXED_LOAD(&code_first) < bytes ||
           (__builtin_expect(__atomic_load_n(&code_count, __ATOMIC_RELAXED) > 1, 0) && in_another_ucx(address));
}

static __attribute__((noinline)) void code_learn_slow(void *function)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!in_ucx((uintptr_t)function))
        dl_iterate_phdr(code_find, function);
    pthread_mutex_unlock(&lock);
}

/* `function` is one of libucp's. */
static inline void code_learn(void *function)
{
    if (__builtin_expect(!in_ucx((uintptr_t)function), 0))
        code_learn_slow(function);
}

/* True if UCX itself made the call that returns to `caller`. If the last act of a callback is a call, the compiler
 * makes it a jump. The called function then returns to UCX, as if UCX had called it. But UCX calls callbacks through
 * pointers, and its own functions by their addresses. */
static __attribute__((noinline)) bool called_directly(const void *caller)
{
#if defined(__x86_64__)
    const uint8_t *call = (const uint8_t *)caller - 5;
    int32_t distance;
    memcpy(&distance, call + 1, sizeof distance);
    return in_ucx((uintptr_t)call) && *call == 0xe8 && in_ucx((uintptr_t)caller + (uintptr_t)(intptr_t)distance);
#elif defined(__aarch64__)
    uint32_t call;
    memcpy(&call, (const char *)caller - sizeof call, sizeof call);
    return call >> 26 == 0x25; /* bl */
#else
    return true;
#endif
}

static inline bool from_ucx(const void *caller)
{
    return __builtin_expect(in_ucx((uintptr_t)caller), 0) && called_directly(caller);
}

static inline void ucx_begin(struct fabric_op *op, void *behind, const void *caller)
{
    op->log = NULL;
    code_learn(behind);
    if (!from_ucx(caller))
        fabric_begin_watched(op, ucx());
}

/* ---- requests in the caller's memory ----------------------------------------------------------------------------- */

enum { OWN_REQUESTS = 64 };
static void *own_requests[OWN_REQUESTS];
static unsigned own_count;

static bool own_remove(void *request);

/* A caller that learns the end only from a callback uses the memory again. */
static bool own_add(void *request)
{
    if (own_remove(request))
        fabric_completed(ucx(), false);
    for (unsigned i = 0; i < OWN_REQUESTS; i++) {
        void *none = NULL;
        if (__atomic_compare_exchange_n(&own_requests[i], &none, request, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            __atomic_add_fetch(&own_count, 1, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}

static bool own_remove(void *request)
{
    for (unsigned i = 0; __atomic_load_n(&own_count, __ATOMIC_ACQUIRE) && i < OWN_REQUESTS; i++) {
        void *found = request;
        if (__atomic_load_n(&own_requests[i], __ATOMIC_RELAXED) == request &&
            __atomic_compare_exchange_n(&own_requests[i], &found, NULL, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            __atomic_sub_fetch(&own_count, 1, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}

/* ---- how operations end ------------------------------------------------------------------------------------------ */

static enum fabric_outcome outcome_of(ucs_status_t status)
{
    return status == UCS_ERR_NO_RESOURCE ? FABRIC_AGAIN : status < 0 ? FABRIC_FAILED : FABRIC_DONE;
}

/* Without a request: a flush ends the operations that go on. */
static void status_end(struct fabric_op *op, enum fabric_function function, uint64_t bytes, ucs_status_t status)
{
    fabric_end(op, function, bytes, outcome_of(status));
}

/* With a request in the caller's memory. */
static void own_end(struct fabric_op *op, enum fabric_function function, uint64_t bytes, ucs_status_t status,
                    void *request)
{
    bool pending = status == UCS_INPROGRESS && own_add(request);
    fabric_end(op, function, bytes, pending ? FABRIC_PENDING : outcome_of(status));
}

static void request_end(struct fabric_op *op, enum fabric_function function, uint64_t bytes, ucs_status_ptr_t request)
{
    if (request && !UCS_PTR_IS_ERR(request))
        fabric_end(op, function, bytes, FABRIC_PENDING);
    else
        fabric_end(op, function, bytes, outcome_of(UCS_PTR_RAW_STATUS(request)));
}

static void extended_end(struct fabric_op *op, enum fabric_function function, uint64_t bytes, ucs_status_ptr_t request,
                         const ucp_request_param_t *param)
{
    bool own = param && param->op_attr_mask & UCP_OP_ATTR_FIELD_REQUEST;
    if (own && request && !UCS_PTR_IS_ERR(request))
        own_end(op, function, bytes, UCS_INPROGRESS, request);
    else
        request_end(op, function, bytes, request);
}

/* UCX does not report the length of a datatype that packs itself. Its bytes are not known, and count as 0. */
static uint64_t data_bytes(const void *buffer, size_t count, ucp_datatype_t type)
{
    switch (type & UCP_DATATYPE_CLASS_MASK) {
    case UCP_DATATYPE_CONTIG:
        return count * (type >> UCP_DATATYPE_SHIFT);
    case UCP_DATATYPE_IOV: {
        uint64_t bytes = 0;
        for (size_t i = 0; i < count; i++)
            bytes += ((const ucp_dt_iov_t *)buffer)[i].length;
        return bytes;
    }
    default:
        return 0;
    }
}

static uint64_t extended_bytes(const void *buffer, size_t count, const ucp_request_param_t *param)
{
    bool typed = param && param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE;
    return data_bytes(buffer, count, typed ? param->datatype : ucp_dt_make_contig(1));
}

/* Open MPI's own progress shows whose operation it is. */
static inline void key_set(struct fabric_op *op, ucp_tag_t tag)
{
    op->key = native.open_mpi ? 0 : fabric_key(tag);
}

/* ---- the functions ----------------------------------------------------------------------------------------------- */

/* Type, name in the table and in UCX, parameters, arguments, bytes, how it ends: ENDS op, function, bytes, result. */
#define UCX_REQUEST(bytes) request_end(&op, function, bytes, result)
#define UCX_EXTENDED(bytes) extended_end(&op, function, bytes, result, param)
#define UCX_STATUS(bytes) status_end(&op, function, bytes, result)
#define UCX_OWN(bytes) own_end(&op, function, bytes, result, req)
/* The same for a message with a tag. */
#define UCX_TAGGED_REQUEST(bytes) (key_set(&op, tag), UCX_REQUEST(bytes))
#define UCX_TAGGED_EXTENDED(bytes) (key_set(&op, tag), UCX_EXTENDED(bytes))
#define UCX_TAGGED_OWN(bytes) (key_set(&op, tag), UCX_OWN(bytes))

#define UCX_FUNCTIONS(X)                                                                                               \
    X(ucs_status_ptr_t, UCP_TAG_SEND_NB, ucp_tag_send_nb,                                                              \
      (ucp_ep_h ep, const void *buffer, size_t count, ucp_datatype_t type, ucp_tag_t tag, ucp_send_callback_t cb),     \
      (ep, buffer, count, type, tag, cb), UCX_TAGGED_REQUEST(data_bytes(buffer, count, type)))                         \
    X(ucs_status_t, UCP_TAG_SEND_NBR, ucp_tag_send_nbr,                                                                \
      (ucp_ep_h ep, const void *buffer, size_t count, ucp_datatype_t type, ucp_tag_t tag, void *req),                  \
      (ep, buffer, count, type, tag, req), UCX_TAGGED_OWN(data_bytes(buffer, count, type)))                            \
    X(ucs_status_ptr_t, UCP_TAG_SEND_NBX, ucp_tag_send_nbx,                                                            \
      (ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag, const ucp_request_param_t *param),                \
      (ep, buffer, count, tag, param), UCX_TAGGED_EXTENDED(extended_bytes(buffer, count, param)))                      \
    X(ucs_status_ptr_t, UCP_TAG_SEND_SYNC_NB, ucp_tag_send_sync_nb,                                                    \
      (ucp_ep_h ep, const void *buffer, size_t count, ucp_datatype_t type, ucp_tag_t tag, ucp_send_callback_t cb),     \
      (ep, buffer, count, type, tag, cb), UCX_TAGGED_REQUEST(data_bytes(buffer, count, type)))                         \
    X(ucs_status_ptr_t, UCP_TAG_SEND_SYNC_NBX, ucp_tag_send_sync_nbx,                                                  \
      (ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag, const ucp_request_param_t *param),                \
      (ep, buffer, count, tag, param), UCX_TAGGED_EXTENDED(extended_bytes(buffer, count, param)))                      \
    X(ucs_status_ptr_t, UCP_TAG_RECV_NB, ucp_tag_recv_nb,                                                              \
      (ucp_worker_h worker, void *buffer, size_t count, ucp_datatype_t type, ucp_tag_t tag, ucp_tag_t mask,            \
       ucp_tag_recv_callback_t cb),                                                                                    \
      (worker, buffer, count, type, tag, mask, cb), UCX_TAGGED_REQUEST(data_bytes(buffer, count, type)))               \
    X(ucs_status_t, UCP_TAG_RECV_NBR, ucp_tag_recv_nbr,                                                                \
      (ucp_worker_h worker, void *buffer, size_t count, ucp_datatype_t type, ucp_tag_t tag, ucp_tag_t mask,            \
       void *req),                                                                                                     \
      (worker, buffer, count, type, tag, mask, req), UCX_TAGGED_OWN(data_bytes(buffer, count, type)))                  \
    X(ucs_status_ptr_t, UCP_TAG_RECV_NBX, ucp_tag_recv_nbx,                                                            \
      (ucp_worker_h worker, void *buffer, size_t count, ucp_tag_t tag, ucp_tag_t mask,                                 \
       const ucp_request_param_t *param),                                                                              \
      (worker, buffer, count, tag, mask, param), UCX_TAGGED_EXTENDED(extended_bytes(buffer, count, param)))            \
    X(ucs_status_ptr_t, UCP_TAG_MSG_RECV_NB, ucp_tag_msg_recv_nb,                                                      \
      (ucp_worker_h worker, void *buffer, size_t count, ucp_datatype_t type, ucp_tag_message_h message,                \
       ucp_tag_recv_callback_t cb),                                                                                    \
      (worker, buffer, count, type, message, cb), UCX_REQUEST(data_bytes(buffer, count, type)))                        \
    X(ucs_status_ptr_t, UCP_TAG_MSG_RECV_NBX, ucp_tag_msg_recv_nbx,                                                    \
      (ucp_worker_h worker, void *buffer, size_t count, ucp_tag_message_h message, const ucp_request_param_t *param),  \
      (worker, buffer, count, message, param), UCX_EXTENDED(extended_bytes(buffer, count, param)))                     \
    X(ucs_status_ptr_t, UCP_STREAM_SEND_NB, ucp_stream_send_nb,                                                        \
      (ucp_ep_h ep, const void *buffer, size_t count, ucp_datatype_t type, ucp_send_callback_t cb, unsigned flags),    \
      (ep, buffer, count, type, cb, flags), UCX_REQUEST(data_bytes(buffer, count, type)))                              \
    X(ucs_status_ptr_t, UCP_STREAM_SEND_NBX, ucp_stream_send_nbx,                                                      \
      (ucp_ep_h ep, const void *buffer, size_t count, const ucp_request_param_t *param), (ep, buffer, count, param),   \
      UCX_EXTENDED(extended_bytes(buffer, count, param)))                                                              \
    X(ucs_status_ptr_t, UCP_STREAM_RECV_NB, ucp_stream_recv_nb,                                                        \
      (ucp_ep_h ep, void *buffer, size_t count, ucp_datatype_t type, ucp_stream_recv_callback_t cb, size_t *length,    \
       unsigned flags),                                                                                                \
      (ep, buffer, count, type, cb, length, flags), UCX_REQUEST(data_bytes(buffer, count, type)))                      \
    X(ucs_status_ptr_t, UCP_STREAM_RECV_NBX, ucp_stream_recv_nbx,                                                      \
      (ucp_ep_h ep, void *buffer, size_t count, size_t *length, const ucp_request_param_t *param),                     \
      (ep, buffer, count, length, param), UCX_EXTENDED(extended_bytes(buffer, count, param)))                          \
    X(ucs_status_ptr_t, UCP_STREAM_RECV_DATA_NB, ucp_stream_recv_data_nb, (ucp_ep_h ep, size_t * length),              \
      (ep, length),                                                                                                    \
      fabric_end(&op, function, UCS_PTR_IS_ERR(result) || !result ? 0 : *length,                                       \
                 UCS_PTR_IS_ERR(result) ? FABRIC_FAILED : FABRIC_DONE))                                                \
    X(ucs_status_ptr_t, UCP_AM_SEND_NB, ucp_am_send_nb,                                                                \
      (ucp_ep_h ep, uint16_t id, const void *buffer, size_t count, ucp_datatype_t type, ucp_send_callback_t cb,        \
       unsigned flags),                                                                                                \
      (ep, id, buffer, count, type, cb, flags), UCX_REQUEST(data_bytes(buffer, count, type)))                          \
    X(ucs_status_ptr_t, UCP_AM_SEND_NBX, ucp_am_send_nbx,                                                              \
      (ucp_ep_h ep, unsigned id, const void *header, size_t length, const void *buffer, size_t count,                  \
       const ucp_request_param_t *param),                                                                              \
      (ep, id, header, length, buffer, count, param), UCX_EXTENDED(length + extended_bytes(buffer, count, param)))     \
    X(ucs_status_ptr_t, UCP_AM_RECV_DATA_NBX, ucp_am_recv_data_nbx,                                                    \
      (ucp_worker_h worker, void *data, void *buffer, size_t count, const ucp_request_param_t *param),                 \
      (worker, data, buffer, count, param), UCX_EXTENDED(extended_bytes(buffer, count, param)))                        \
    X(ucs_status_t, UCP_PUT, ucp_put,                                                                                  \
      (ucp_ep_h ep, const void *buffer, size_t length, uint64_t remote, ucp_rkey_h rkey),                              \
      (ep, buffer, length, remote, rkey), UCX_STATUS(length))                                                          \
    X(ucs_status_t, UCP_PUT_NBI, ucp_put_nbi,                                                                          \
      (ucp_ep_h ep, const void *buffer, size_t length, uint64_t remote, ucp_rkey_h rkey),                              \
      (ep, buffer, length, remote, rkey), UCX_STATUS(length))                                                          \
    X(ucs_status_ptr_t, UCP_PUT_NB, ucp_put_nb,                                                                        \
      (ucp_ep_h ep, const void *buffer, size_t length, uint64_t remote, ucp_rkey_h rkey, ucp_send_callback_t cb),      \
      (ep, buffer, length, remote, rkey, cb), UCX_REQUEST(length))                                                     \
    X(ucs_status_ptr_t, UCP_PUT_NBX, ucp_put_nbx,                                                                      \
      (ucp_ep_h ep, const void *buffer, size_t count, uint64_t remote, ucp_rkey_h rkey,                                \
       const ucp_request_param_t *param),                                                                              \
      (ep, buffer, count, remote, rkey, param), UCX_EXTENDED(extended_bytes(buffer, count, param)))                    \
    X(ucs_status_t, UCP_GET, ucp_get, (ucp_ep_h ep, void *buffer, size_t length, uint64_t remote, ucp_rkey_h rkey),    \
      (ep, buffer, length, remote, rkey), UCX_STATUS(length))                                                          \
    X(ucs_status_t, UCP_GET_NBI, ucp_get_nbi,                                                                          \
      (ucp_ep_h ep, void *buffer, size_t length, uint64_t remote, ucp_rkey_h rkey),                                    \
      (ep, buffer, length, remote, rkey), UCX_STATUS(length))                                                          \
    X(ucs_status_ptr_t, UCP_GET_NB, ucp_get_nb,                                                                        \
      (ucp_ep_h ep, void *buffer, size_t length, uint64_t remote, ucp_rkey_h rkey, ucp_send_callback_t cb),            \
      (ep, buffer, length, remote, rkey, cb), UCX_REQUEST(length))                                                     \
    X(ucs_status_ptr_t, UCP_GET_NBX, ucp_get_nbx,                                                                      \
      (ucp_ep_h ep, void *buffer, size_t count, uint64_t remote, ucp_rkey_h rkey, const ucp_request_param_t *param),   \
      (ep, buffer, count, remote, rkey, param), UCX_EXTENDED(extended_bytes(buffer, count, param)))                    \
    X(ucs_status_t, UCP_ATOMIC_POST, ucp_atomic_post,                                                                  \
      (ucp_ep_h ep, ucp_atomic_post_op_t what, uint64_t value, size_t size, uint64_t remote, ucp_rkey_h rkey),         \
      (ep, what, value, size, remote, rkey), UCX_STATUS(size))                                                         \
    X(ucs_status_ptr_t, UCP_ATOMIC_FETCH_NB, ucp_atomic_fetch_nb,                                                      \
      (ucp_ep_h ep, ucp_atomic_fetch_op_t what, uint64_t value, void *got, size_t size, uint64_t remote,               \
       ucp_rkey_h rkey, ucp_send_callback_t cb),                                                                       \
      (ep, what, value, got, size, remote, rkey, cb), UCX_REQUEST(size))                                               \
    X(ucs_status_ptr_t, UCP_ATOMIC_OP_NBX, ucp_atomic_op_nbx,                                                          \
      (ucp_ep_h ep, ucp_atomic_op_t what, const void *buffer, size_t count, uint64_t remote, ucp_rkey_h rkey,          \
       const ucp_request_param_t *param),                                                                              \
      (ep, what, buffer, count, remote, rkey, param), UCX_EXTENDED(extended_bytes(buffer, count, param)))              \
    X(ucs_status_t, UCP_ATOMIC_ADD32, ucp_atomic_add32, (ucp_ep_h ep, uint32_t add, uint64_t remote, ucp_rkey_h rkey), \
      (ep, add, remote, rkey), UCX_STATUS(4))                                                                          \
    X(ucs_status_t, UCP_ATOMIC_ADD64, ucp_atomic_add64, (ucp_ep_h ep, uint64_t add, uint64_t remote, ucp_rkey_h rkey), \
      (ep, add, remote, rkey), UCX_STATUS(8))                                                                          \
    X(ucs_status_t, UCP_ATOMIC_FADD32, ucp_atomic_fadd32,                                                              \
      (ucp_ep_h ep, uint32_t add, uint64_t remote, ucp_rkey_h rkey, uint32_t * got), (ep, add, remote, rkey, got),     \
      UCX_STATUS(4))                                                                                                   \
    X(ucs_status_t, UCP_ATOMIC_FADD64, ucp_atomic_fadd64,                                                              \
      (ucp_ep_h ep, uint64_t add, uint64_t remote, ucp_rkey_h rkey, uint64_t * got), (ep, add, remote, rkey, got),     \
      UCX_STATUS(8))                                                                                                   \
    X(ucs_status_t, UCP_ATOMIC_SWAP32, ucp_atomic_swap32,                                                              \
      (ucp_ep_h ep, uint32_t swap, uint64_t remote, ucp_rkey_h rkey, uint32_t * got), (ep, swap, remote, rkey, got),   \
      UCX_STATUS(4))                                                                                                   \
    X(ucs_status_t, UCP_ATOMIC_SWAP64, ucp_atomic_swap64,                                                              \
      (ucp_ep_h ep, uint64_t swap, uint64_t remote, ucp_rkey_h rkey, uint64_t * got), (ep, swap, remote, rkey, got),   \
      UCX_STATUS(8))                                                                                                   \
    X(ucs_status_t, UCP_ATOMIC_CSWAP32, ucp_atomic_cswap32,                                                            \
      (ucp_ep_h ep, uint32_t compare, uint32_t swap, uint64_t remote, ucp_rkey_h rkey, uint32_t * got),                \
      (ep, compare, swap, remote, rkey, got), UCX_STATUS(4))                                                           \
    X(ucs_status_t, UCP_ATOMIC_CSWAP64, ucp_atomic_cswap64,                                                            \
      (ucp_ep_h ep, uint64_t compare, uint64_t swap, uint64_t remote, ucp_rkey_h rkey, uint64_t * got),                \
      (ep, compare, swap, remote, rkey, got), UCX_STATUS(8))                                                           \
    X(ucs_status_t, UCP_EP_FLUSH, ucp_ep_flush, (ucp_ep_h ep), (ep), UCX_STATUS(0))                                    \
    X(ucs_status_ptr_t, UCP_EP_FLUSH_NB, ucp_ep_flush_nb, (ucp_ep_h ep, unsigned flags, ucp_send_callback_t cb),       \
      (ep, flags, cb), UCX_REQUEST(0))                                                                                 \
    X(ucs_status_ptr_t, UCP_EP_FLUSH_NBX, ucp_ep_flush_nbx, (ucp_ep_h ep, const ucp_request_param_t *param),           \
      (ep, param), UCX_EXTENDED(0))                                                                                    \
    X(ucs_status_t, UCP_WORKER_FLUSH, ucp_worker_flush, (ucp_worker_h worker), (worker), UCX_STATUS(0))                \
    X(ucs_status_ptr_t, UCP_WORKER_FLUSH_NB, ucp_worker_flush_nb,                                                      \
      (ucp_worker_h worker, unsigned flags, ucp_send_callback_t cb), (worker, flags, cb), UCX_REQUEST(0))              \
    X(ucs_status_ptr_t, UCP_WORKER_FLUSH_NBX, ucp_worker_flush_nbx,                                                    \
      (ucp_worker_h worker, const ucp_request_param_t *param), (worker, param), UCX_EXTENDED(0))                       \
    X(ucp_tag_message_h, UCP_TAG_PROBE_NB, ucp_tag_probe_nb,                                                           \
      (ucp_worker_h worker, ucp_tag_t tag, ucp_tag_t mask, int take, ucp_tag_recv_info_t *info),                       \
      (worker, tag, mask, take, info), fabric_end(&op, function, 0, FABRIC_DONE))

#define UCX_MISSING(type) ((type)0)

/* Not defined: a weak reference, which finds this one. */
#define UCX_FUNCTION(type, id, called, parameters, arguments, ends)                                                    \
    static struct native_behind called##_behind = {.name = #called};                                                   \
    GATE(called);                                                                                                      \
    type called parameters                                                                                             \
    {                                                                                                                  \
        const void *caller = __builtin_return_address(0);                                                              \
        enum fabric_function function = CALLED_##id;                                                                   \
        void *symbol = native_symbol_behind(&called##_behind, caller);                                                 \
        __typeof__(&called) behind = (__typeof__(&called))symbol;                                                      \
        struct fabric_op op;                                                                                           \
        if (__builtin_expect(!behind, 0))                                                                              \
            return UCX_MISSING(type);                                                                                  \
        if (__builtin_expect(!RELAXED_LOAD(&fabric_on), 1))                                                            \
            return behind arguments;                                                                                   \
        ucx_begin(&op, symbol, caller);                                                                                \
        type result = behind arguments;                                                                                \
        if (op.log)                                                                                                    \
            ends;                                                                                                      \
        return result;                                                                                                 \
    }
UCX_FUNCTIONS(UCX_FUNCTION)

/* ---- the ends of requests ---------------------------------------------------------------------------------------- */

static struct native_behind request_free_behind = {.name = "ucp_request_free"};
static struct native_behind request_release_behind = {.name = "ucp_request_release"};
static struct native_behind check_status_behind = {.name = "ucp_request_check_status"};
static struct native_behind request_test_behind = {.name = "ucp_request_test"};

/* True if it failed, as far as UCX says. In its callback it is still in progress. */
static bool ucx_request_failed(void *request)
{
    __typeof__(&ucp_request_check_status) check =
        (__typeof__(&ucp_request_check_status))native_symbol_behind(&check_status_behind, __builtin_return_address(0));
    ucs_status_t status = check ? check(request) : UCS_OK;
    return status < 0 && status != UCS_ERR_CANCELED;
}

static void request_gone(void *request, struct native_behind *next, const void *caller)
{
    __typeof__(&ucp_request_free) behind = (__typeof__(&ucp_request_free))native_symbol_behind(next, caller);
    if (!behind)
        return;
    if (__builtin_expect(RELAXED_LOAD(&fabric_on), 0) && !from_ucx(caller))
        fabric_completed(ucx(), ucx_request_failed(request));
    behind(request);
}

GATE(ucp_request_free);
void ucp_request_free(void *request)
{
    request_gone(request, &request_free_behind, __builtin_return_address(0));
}

GATE(ucp_request_release);
void ucp_request_release(void *request)
{
    request_gone(request, &request_release_behind, __builtin_return_address(0));
}

static ucs_status_t ucx_request_seen(void *request, ucs_status_t status)
{
    if (__builtin_expect(RELAXED_LOAD(&fabric_on), 0) && status != UCS_INPROGRESS && own_remove(request))
        fabric_completed(ucx(), status < 0 && status != UCS_ERR_CANCELED);
    return status;
}

GATE(ucp_request_check_status);
ucs_status_t ucp_request_check_status(void *request)
{
    __typeof__(&ucp_request_check_status) behind =
        (__typeof__(&ucp_request_check_status))native_symbol_behind(&check_status_behind, __builtin_return_address(0));
    return behind ? ucx_request_seen(request, behind(request)) : UCS_OK;
}

GATE(ucp_request_test);
ucs_status_t ucp_request_test(void *request, ucp_tag_recv_info_t *info)
{
    __typeof__(&ucp_request_test) behind =
        (__typeof__(&ucp_request_test))native_symbol_behind(&request_test_behind, __builtin_return_address(0));
    return behind ? ucx_request_seen(request, behind(request, info)) : UCS_OK;
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static struct native_behind progress_behind = {.name = "ucp_worker_progress"};

/* Replaces the function in stall_ucx.c while recording is on. */
static unsigned ucx_progress_watched(ucp_worker_h worker)
{
    const void *caller = __builtin_return_address(0);
    __typeof__(&ucp_worker_progress) behind =
        (__typeof__(&ucp_worker_progress))native_symbol_behind(&progress_behind, caller);
    if (!behind)
        return 0;
    struct log *log = poll_begin();
    struct fabric_op op = {.log = NULL};
    struct fabric_op within = {.log = NULL};
    code_learn((void *)(uintptr_t)behind);
    if (!from_ucx(caller))
        fabric_poll_begin(&op, ucx());
    else
        fabric_within_begin(&within);
    unsigned moved = behind(worker);
    if (within.log)
        fabric_within_end(&within);
    if (op.log)
        fabric_poll_end(&op, moved != 0, 0);
    if (log)
        poll_end(log, moved != 0);
    return moved;
}

/* ---- the switch -------------------------------------------------------------------------------------------------- */

/* If the whole process sees the function, it is known after the first call. Until then, and where each caller sees its
 * own, the gate leads to mpit's definition. */
#define GATE_TURN(name, behind, on)                                                                                    \
    do {                                                                                                               \
        extern void *gate_##name __asm__("mpit_gate_" #name);                                                          \
        void *global = __atomic_load_n(&(behind).global, __ATOMIC_ACQUIRE);                                            \
        __atomic_store_n(&gate_##name, (on) || !global ? (void *)(name) : global, __ATOMIC_RELEASE);                   \
    } while (0)

void fabric_ucx_switch(bool on)
{
    extern void *gate_ucp_worker_progress __asm__("mpit_gate_ucp_worker_progress");
    extern unsigned progress_usual(ucp_worker_h worker) __asm__("mpit_impl_ucp_worker_progress");
    __atomic_store_n(&gate_ucp_worker_progress, on ? (void *)ucx_progress_watched : (void *)progress_usual,
                     __ATOMIC_RELEASE);
#define UCX_TURN(type, id, name, parameters, arguments, ends) GATE_TURN(name, name##_behind, on);
    UCX_FUNCTIONS(UCX_TURN)
#undef UCX_TURN
    GATE_TURN(ucp_request_free, request_free_behind, on);
    GATE_TURN(ucp_request_release, request_release_behind, on);
    GATE_TURN(ucp_request_check_status, check_status_behind, on);
    GATE_TURN(ucp_request_test, request_test_behind, on);
}

/* The library is there. */
static void ucx_find(void)
{
    struct native_behind *const behind[] = {
#define UCX_BEHIND(type, id, name, parameters, arguments, ends) &name##_behind,
        UCX_FUNCTIONS(UCX_BEHIND)
#undef UCX_BEHIND
            & request_free_behind,
        &request_release_behind,
        &check_status_behind,
        &request_test_behind,
    };
    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++)
        if (!__atomic_load_n(&behind[i]->global, __ATOMIC_ACQUIRE))
            __atomic_store_n(&behind[i]->global, native_symbol(behind[i]->name), __ATOMIC_RELEASE);
    if (behind[0]->global)
        native_library_keep(behind[0]->global);
    bool on;
    do {
        on = __atomic_load_n(&fabric_on, __ATOMIC_SEQ_CST);
        fabric_ucx_switch(on);
    } while (on != __atomic_load_n(&fabric_on, __ATOMIC_SEQ_CST));
}

/* ucp.h has an inline function that calls it, so it cannot have GATE's name here. */
static ucs_status_t init_watched(unsigned major, unsigned minor, const ucp_params_t *params, const ucp_config_t *config,
                                 ucp_context_h *context)
{
    static struct native_behind init = {.name = "ucp_init_version"};
    __typeof__(&ucp_init_version) behind =
        (__typeof__(&ucp_init_version))native_symbol_behind(&init, __builtin_return_address(0));
    if (!behind)
        return UCS_ERR_UNSUPPORTED;
    recorder_start_below();
    ucx_find();
    return behind(major, minor, params, config, context);
}

GATE_BODY(ucp_init_version, init_watched);
