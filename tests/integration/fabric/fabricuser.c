/*
 * fabricuser PROVIDER CASE...: see fabricuser.h. Prints what it has done as JSON.
 *
 * CASE: messages tagged rma atomics cancelled truncated refused peek multi chosen shared scalable threads
 */
#include "fabricuser.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fabric_user user;

void must(const char *what, int result)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, fi_strerror(abs(result)));
    exit(3);
}

struct fi_info *info_find(const char *provider, uint64_t caps, void (*more)(struct fi_info *hints))
{
    struct fi_info *hints = fi_allocinfo(), *info;
    hints->caps = caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->fabric_attr->prov_name = strdup(provider);
    if (more)
        more(hints);
    int result = fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &info);
    fi_freeinfo(hints);
    if (result != 0) {
        fprintf(stderr, "no %s here: %s\n", provider, fi_strerror(-result));
        exit(77);
    }
    return info;
}

struct fid_cq *queue_open(void)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED, .size = CONTEXTS};
    struct fid_cq *queue;
    must("fi_cq_open", fi_cq_open(user.domain, &attr, &queue, NULL));
    return queue;
}

/* libfabric wants room where the context of an operation is, until that is complete. */
void *context_next(void)
{
    static struct fi_context2 contexts[CONTEXTS];
    static unsigned next;
    return &contexts[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % CONTEXTS];
}

fi_addr_t address_of(struct fid_ep *ep)
{
    char name[256];
    size_t bytes = sizeof name;
    fi_addr_t address;
    must("fi_getname", fi_getname(&ep->fid, name, &bytes));
    must("fi_av_insert", fi_av_insert(user.av, name, 1, &address, 0, NULL) == 1 ? 0 : -FI_EINVAL);
    return address;
}

static void end_open(struct end *end)
{
    end->sends = queue_open();
    end->receives = queue_open();
    must("fi_endpoint", fi_endpoint(user.domain, user.info, &end->ep, NULL));
    must("bind", fi_ep_bind(end->ep, &user.av->fid, 0));
    must("bind", fi_ep_bind(end->ep, &end->sends->fid, FI_TRANSMIT));
    must("bind", fi_ep_bind(end->ep, &end->receives->fid, FI_RECV));
    must("enable", fi_enable(end->ep));
}

void end_close(struct end *end)
{
    must("close", fi_close(&end->ep->fid));
    must("close", fi_close(&end->sends->fid));
    must("close", fi_close(&end->receives->fid));
}

static struct fid_mr *memory(void *bytes, uint64_t key, uint64_t access)
{
    struct fid_mr *mr;
    must("fi_mr_reg", fi_mr_reg(user.domain, bytes, BUFFER, access, 0, key, 0, &mr, NULL));
    return mr;
}

static void open_all(const char *provider, uint64_t caps)
{
    struct fi_av_attr av = {.type = FI_AV_MAP, .rx_ctx_bits = 4};
    user.info = info_find(provider, caps, NULL);
    must("fi_fabric", fi_fabric(user.info->fabric_attr, &user.fabric, NULL));
    must("fi_domain", fi_domain(user.fabric, user.info, &user.domain, NULL));
    must("fi_av_open", fi_av_open(user.domain, &av, &user.av, NULL));
    end_open(&user.a);
    end_open(&user.b);
    user.a.peer = address_of(user.b.ep);
    user.b.peer = address_of(user.a.ep);
    user.out = calloc(3, BUFFER);
    user.in = user.out + BUFFER;
    user.target = user.in + BUFFER;
    uint64_t access = FI_SEND | FI_RECV | (caps & FI_RMA ? FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE : 0);
    user.out_mr = memory(user.out, 1, access);
    user.in_mr = memory(user.in, 2, access);
    user.target_mr = memory(user.target, 3, access);
    user.out_desc = fi_mr_desc(user.out_mr);
    user.in_desc = fi_mr_desc(user.in_mr);
    user.target_key = fi_mr_key(user.target_mr);
    user.target_address = user.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)user.target : 0;
}

static void close_all(void)
{
    fi_close(&user.out_mr->fid);
    fi_close(&user.in_mr->fid);
    fi_close(&user.target_mr->fid);
    end_close(&user.a);
    end_close(&user.b);
    fi_close(&user.av->fid);
    fi_close(&user.domain->fid);
    fi_close(&user.fabric->fid);
    fi_freeinfo(user.info);
    free(user.out);
}

void poll_queue(struct fid_cq *queue, uint64_t *done, uint64_t *failed)
{
    struct fi_cq_tagged_entry entries[4];
    ssize_t got = fi_cq_read(queue, entries, 4);
    uint64_t own = 0;
    book_poll(got > 0 || got == -FI_EAVAIL);
    if (got == -FI_EAVAIL) {
        struct fi_cq_err_entry error = {.err_data_size = 0};
        must("fi_cq_readerr", fi_cq_readerr(queue, &error, 0) == 1 ? 0 : -FI_EINVAL);
        book_completed(1, error.err != FI_ECANCELED && error.err != FI_ENOMSG);
        __atomic_add_fetch(failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (ssize_t i = 0; i < got; i++) {
        bool goes_on = (entries[i].flags & FI_RECV) && entries[i].buf && !(entries[i].flags & FI_MULTI_RECV) &&
                       (char *)entries[i].buf >= user.target && (char *)entries[i].buf < user.target + BUFFER;
        own += !(entries[i].flags & (FI_REMOTE_WRITE | FI_REMOTE_READ)) && !goes_on;
    }
    if (got > 0) {
        book_completed(own, 0);
        __atomic_add_fetch(done, (uint64_t)got, __ATOMIC_RELAXED);
    }
}

void poll_all(void)
{
    poll_queue(user.a.sends, &user.a.sent, &user.a.failed);
    poll_queue(user.a.receives, &user.a.received, &user.a.failed);
    poll_queue(user.b.sends, &user.b.sent, &user.b.failed);
    poll_queue(user.b.receives, &user.b.received, &user.b.failed);
}

void wait_sent(struct end *end, uint64_t sent)
{
    while (__atomic_load_n(&end->sent, __ATOMIC_RELAXED) < sent)
        poll_all();
}

void wait_received(struct end *end, uint64_t received)
{
    while (__atomic_load_n(&end->received, __ATOMIC_RELAXED) < received)
        poll_all();
}

bool posted(const char *function, uint64_t bytes, bool told, ssize_t result)
{
    if (result == -FI_EAGAIN) {
        book_again();
        poll_all();
        return true;
    }
    must(function, (int)result);
    book_operation(function, bytes, told);
    return false;
}

static uint64_t caps_of(int cases, char **which)
{
    uint64_t caps = FI_MSG | FI_TAGGED;
    for (int i = 0; i < cases; i++) {
        if (strcmp(which[i], "rma") == 0)
            caps |= FI_RMA;
        if (strcmp(which[i], "atomics") == 0)
            caps |= FI_RMA | FI_ATOMIC;
        if (strcmp(which[i], "multi") == 0)
            caps |= FI_MULTI_RECV;
    }
    return caps;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        void (*open)(const char *provider);
    } cases[] = {{"messages", messages, NULL}, {"tagged", tagged, NULL},         {"rma", one_sided, NULL},
                 {"atomics", atomics, NULL},   {"cancelled", cancelled, NULL},   {"truncated", truncated, NULL},
                 {"refused", refused, NULL},   {"peek", looked_for, NULL},       {"multi", several_in_one, NULL},
                 {"chosen", NULL, chosen},     {"shared", NULL, shared_context}, {"scalable", NULL, scalable},
                 {"threads", threads, NULL}};
    if (argc < 3)
        return 2;
    open_all(argv[1], caps_of(argc - 2, argv + 2));
    for (int i = 2; i < argc; i++) {
        size_t at = 0;
        while (at < sizeof cases / sizeof *cases && strcmp(cases[at].name, argv[i]) != 0)
            at++;
        if (at == sizeof cases / sizeof *cases)
            return 2;
        if (cases[at].run)
            cases[at].run();
        else
            cases[at].open(argv[1]);
    }
    close_all();
    return book_close(argv[1]);
}
