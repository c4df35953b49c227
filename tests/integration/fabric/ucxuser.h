/*
 * A program that uses UCX without MPI: worker a sends to worker b, both of one process and thread.
 *
 *   ucxuser.c   opens them, posts and waits      ucxuser_ops.c  operations of each kind
 */
#ifndef MPIT_TESTS_UCXUSER_H
#define MPIT_TESTS_UCXUSER_H

#include "userbook.h"

#include <ucp/api/ucp.h>

enum { TARGET = 1 << 16, LARGE = 1 << 20 };

struct ucx_user {
    ucp_context_h context;
    ucp_worker_h a, b;
    ucp_ep_h to_b, to_a;
    ucp_ep_h to_self; /* blocking ones are to be answered */
    ucp_mem_h memory;
    ucp_rkey_h rkey;
    size_t request_bytes;
    uint64_t slept; /* in callbacks */
    char target[TARGET], out[LARGE], in[LARGE];
};
extern struct ucx_user user;

/* Ends the program if it did not go well. */
void must(const char *what, ucs_status_t status);
void progress(ucp_worker_h worker);
void progress_both(void);

/* What a function returned that gives a request, or a status. */
void *begun(const char *function, uint64_t bytes, void *request);
void at_once(const char *function, uint64_t bytes, ucs_status_t status);
/* Waits for the request, and gives it back. NULL: it is complete. */
void finish(void *request);

void sent_nb(void *request, ucs_status_t status);
void received_nb(void *request, ucs_status_t status, ucp_tag_recv_info_t *info);
void streamed_nb(void *request, ucs_status_t status, size_t length);

void tags(void);
void odd(void);
void actives(void);
void one_sided(void);
void atomics(void);
void streams(void);
void flushes(void);
void callbacks(void);
void sleepy(void);

#endif
