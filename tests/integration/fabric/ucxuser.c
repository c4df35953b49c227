/*
 * ucxuser CASE...: a program that uses UCX without MPI: two workers of one process. Prints what it has done as JSON.
 *
 * CASE: tags odd actives rma atomics streams flushes callbacks sleepy
 */
#include "../common/seconds.h"
#include "ucxuser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ucx_user user;

void must(const char *what, ucs_status_t status)
{
    if (status == UCS_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
    exit(3);
}

void progress(ucp_worker_h worker)
{
    book_poll(ucp_worker_progress(worker) != 0);
}

void progress_both(void)
{
    progress(user.a);
    progress(user.b);
}

void *begun(const char *function, uint64_t bytes, void *request)
{
    if (UCS_PTR_IS_ERR(request))
        must(function, UCS_PTR_STATUS(request));
    book_operation(function, bytes, request != NULL);
    return request;
}

void finish(void *request)
{
    if (!request)
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        progress_both();
    book_completed(1, 0);
    ucp_request_free(request);
}

void at_once(const char *function, uint64_t bytes, ucs_status_t status)
{
    if (status != UCS_INPROGRESS)
        must(function, status);
    book_operation(function, bytes, false);
}

/* ---- callbacks: of the first kind of request and of the second --------------------------------------------------- */

void sent_nb(void *request, ucs_status_t status)
{
    (void)request;
    (void)status;
}

void received_nb(void *request, ucs_status_t status, ucp_tag_recv_info_t *info)
{
    (void)request;
    (void)status;
    (void)info;
}

void streamed_nb(void *request, ucs_status_t status, size_t length)
{
    (void)request;
    (void)status;
    (void)length;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static ucp_ep_h endpoint(ucp_worker_h from, ucp_worker_h to)
{
    ucp_address_t *address;
    size_t bytes;
    ucp_ep_h ep;
    must("address", ucp_worker_get_address(to, &address, &bytes));
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
    must("ucp_ep_create", ucp_ep_create(from, &params, &ep));
    ucp_worker_release_address(to, address);
    return ep;
}

static void open_all(void)
{
    ucp_config_t *config;
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_STREAM |
                                       UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64};
    ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE};
    ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                .address = user.target,
                                .length = sizeof user.target};
    void *packed;
    size_t bytes;
    must("config", ucp_config_read(NULL, NULL, &config));
    must("ucp_init", ucp_init(&params, config, &user.context));
    ucp_config_release(config);
    must("query", ucp_context_query(user.context, &attr));
    user.request_bytes = attr.request_size;
    must("worker", ucp_worker_create(user.context, &worker, &user.a));
    must("worker", ucp_worker_create(user.context, &worker, &user.b));
    user.to_b = endpoint(user.a, user.b);
    user.to_a = endpoint(user.b, user.a);
    user.to_self = endpoint(user.a, user.a);
    must("map", ucp_mem_map(user.context, &map, &user.memory));
    must("pack", ucp_rkey_pack(user.context, user.memory, &packed, &bytes));
    must("unpack", ucp_ep_rkey_unpack(user.to_self, packed, &user.rkey));
    ucp_rkey_buffer_release(packed);
}

static void close_all(void)
{
    ucp_rkey_destroy(user.rkey);
    ucp_mem_unmap(user.context, user.memory);
    ucp_worker_destroy(user.a);
    ucp_worker_destroy(user.b);
    ucp_cleanup(user.context);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"tags", tags},       {"odd", odd},         {"actives", actives}, {"rma", one_sided},
                 {"atomics", atomics}, {"streams", streams}, {"flushes", flushes}, {"callbacks", callbacks},
                 {"sleepy", sleepy}};
    uint64_t begin = now_ns();
    open_all();
    for (int i = 1; i < argc; i++) {
        size_t at = 0;
        while (at < sizeof cases / sizeof *cases && strcmp(cases[at].name, argv[i]) != 0)
            at++;
        if (at == sizeof cases / sizeof *cases)
            return 2;
        cases[at].run();
    }
    close_all();
    book_time(now_ns() - begin, user.slept);
    return book_close("ucx");
}
