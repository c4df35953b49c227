/*
 * A program that uses libfabric without MPI: two endpoints of one process, over 127.0.0.1.
 *
 *   fabricuser.c      opens them, and posts and waits      fabricuser_ops.c  one operation of each kind
 *                                                          fabricuser_odd.c  errors, contexts that are shared, threads
 */
#ifndef MPIT_TESTS_FABRICUSER_H
#define MPIT_TESTS_FABRICUSER_H

#include "userbook.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sys/uio.h>

enum { BUFFER = 1 << 16, CONTEXTS = 4096 };

/* An endpoint, and what it needs. */
struct end {
    struct fid_ep *ep;
    struct fid_cq *sends, *receives;
    fi_addr_t peer;                  /* the other one's address */
    uint64_t sent, received, failed; /* completions that were read */
};

struct fabric_user {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_mr *out_mr, *in_mr, *target_mr;
    void *out_desc, *in_desc;
    struct end a, b;
    char *out, *in, *target;
    uint64_t target_address, target_key;
};
extern struct fabric_user user;

/* Ends the program if it is not 0. */
void must(const char *what, int result);
struct fi_info *info_find(const char *provider, uint64_t caps, void (*more)(struct fi_info *hints));
struct fid_cq *queue_open(void);
void end_close(struct end *end);
fi_addr_t address_of(struct fid_ep *ep);
void context_new(void **context);
void *context_next(void);

/* One read of each queue of each end. */
void poll_queue(struct fid_cq *queue, uint64_t *done, uint64_t *failed);
void poll_all(void);
/* Until so many are complete. */
void wait_sent(struct end *end, uint64_t sent);
void wait_received(struct end *end, uint64_t received);

/* What came of a post: true to try it again. */
bool posted(const char *function, uint64_t bytes, bool told, ssize_t result);
#define POST(function, bytes, told, call)                                                                              \
    do {                                                                                                               \
    } while (posted(function, bytes, told, call))

void messages(void);
void tagged(void);
void one_sided(void);
void atomics(void);

void cancelled(void);
void truncated(void);
void refused(void);
void looked_for(void);
void several_in_one(void);
void chosen(const char *provider);
void shared_context(const char *provider);
void scalable(const char *provider);
void threads(void);

#endif
