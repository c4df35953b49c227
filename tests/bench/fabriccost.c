/*
 * fabriccost LOOP N: nanoseconds of an operation of UCX, by a program without MPI that does nothing else.
 *
 * LOOP "probe": one operation that is complete at once; "pair": a receive and a send to itself, which end with a poll
 * and with the request given back; "poll": one in vain; "clock": two reads of the time stamp counter. Prints the median
 * of 101 stretches, and how many operations (of "poll": polls) a turn has.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucp/api/ucp.h>

#ifdef __x86_64__
#include <x86intrin.h>
#define TICKS() __rdtsc()
#else
static uint64_t TICKS(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#endif

enum { STRETCHES = 101 };
static ucp_worker_h worker;
static ucp_ep_h self;
static const ucp_request_param_t plain = {.op_attr_mask = 0};
static volatile uint64_t sink;

static void must(ucs_status_t status)
{
    if (status == UCS_OK)
        return;
    fprintf(stderr, "%s\n", ucs_status_string(status));
    exit(1);
}

static void open_all(void)
{
    ucp_context_h context;
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    ucp_worker_params_t single = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_address_t *address;
    size_t bytes;
    must(ucp_init(&params, NULL, &context));
    must(ucp_worker_create(context, &single, &worker));
    must(ucp_worker_get_address(worker, &address, &bytes));
    ucp_ep_params_t to = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
    must(ucp_ep_create(worker, &to, &self));
}

static void loop_clock(long n)
{
    for (long i = 0; i < n; i++) {
        uint64_t begin = TICKS();
        sink = TICKS() - begin;
    }
}

static void loop_poll(long n)
{
    for (long i = 0; i < n; i++)
        ucp_worker_progress(worker);
}

static void loop_probe(long n)
{
    ucp_tag_recv_info_t info;
    for (long i = 0; i < n; i++)
        if (ucp_tag_probe_nb(worker, 9, ~0ull, 0, &info))
            abort();
}

static void loop_pair(long n)
{
    char out[8] = "", in[8];
    for (long i = 0; i < n; i++) {
        void *receive = ucp_tag_recv_nbx(worker, in, sizeof in, 1, ~0ull, &plain);
        void *send = ucp_tag_send_nbx(self, out, sizeof out, 1, &plain);
        if (UCS_PTR_IS_ERR(receive) || UCS_PTR_IS_ERR(send))
            abort();
        ucp_worker_progress(worker);
        if (send)
            ucp_request_free(send);
        if (receive)
            ucp_request_free(receive);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(long n);
        int operations;
    } loops[] = {{"clock", loop_clock, 1}, {"poll", loop_poll, 1}, {"probe", loop_probe, 1}, {"pair", loop_pair, 2}};
    double ns[STRETCHES];
    size_t at = 0;
    if (argc != 3)
        return 2;
    while (at < 3 && strcmp(loops[at].name, argv[1]) != 0)
        at++;
    long each = atol(argv[2]) / STRETCHES + 1;
    if (at > 0)
        open_all();
    loops[at].run(each);
    for (int i = 0; i < STRETCHES; i++) {
        double begin = now();
        loops[at].run(each);
        ns[i] = (now() - begin) / (double)each;
    }
    qsort(ns, STRETCHES, sizeof *ns, by_size);
    printf("%.2f %d\n", ns[STRETCHES / 2] / loops[at].operations, loops[at].operations);
    return 0;
}
