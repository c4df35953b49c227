/*
 * Communicators that are made without waiting, whose variables go away while the requests are under way.
 *
 *     idups grow | unmapped | value | overwritten | told
 *
 * Each makes four duplicates of MPI_COMM_WORLD and calls two collectives on each. Prints "right".
 */
#define _GNU_SOURCE
#include "../common/mpi4.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { COPIES = 4 };

/* Both ways that the standard has, where there are two. */
static void idup(int number, MPI_Comm *copy, MPI_Request *request)
{
#if HAS_MPI4
    if (number % 2) {
        MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, copy, request);
        return;
    }
#endif
    (void)number;
    MPI_Comm_idup(MPI_COMM_WORLD, copy, request);
}

static int comm_use(MPI_Comm comm)
{
    int one = 1, sum = 0, size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(comm);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum == size;
}

static int all_use(MPI_Comm *copies)
{
    int right = 1;
    for (int i = 0; i < COPIES; i++) {
        right &= comm_use(copies[i]);
        MPI_Comm_free(&copies[i]);
    }
    return right;
}

/* An array that moves when it grows, as a std::vector does. */
static int grow(void)
{
    MPI_Request requests[COPIES];
    MPI_Comm *copies = NULL;
    for (int i = 0; i < COPIES; i++) {
        MPI_Comm *larger = malloc((size_t)(i + 1) * sizeof *larger);
        if (copies) {
            memcpy(larger, copies, (size_t)i * sizeof *larger);
            memset(copies, 0x5a, (size_t)i * sizeof *larger);
            free(copies);
        }
        copies = larger;
        idup(i, &copies[i], &requests[i]);
    }
    MPI_Waitall(COPIES, requests, MPI_STATUSES_IGNORE);
    int right = all_use(copies);
    free(copies);
    return right;
}

static int unmapped(void)
{
    MPI_Comm copies[COPIES];
    for (int i = 0; i < COPIES; i++) {
        MPI_Request request;
        MPI_Comm *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        idup(i, page, &request);
        copies[i] = *page;
        munmap(page, 4096);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return all_use(copies);
}

struct duplicate {
    MPI_Comm comm;
    MPI_Request request;
};

static __attribute__((noinline)) struct duplicate duplicate_make(int number)
{
    struct duplicate made;
    idup(number, &made.comm, &made.request);
    return made;
}

static int value(void)
{
    struct duplicate made[COPIES];
    MPI_Comm copies[COPIES];
    MPI_Request requests[COPIES];
    for (int i = 0; i < COPIES; i++)
        made[i] = duplicate_make(i);
    for (int i = 0; i < COPIES; i++) {
        copies[i] = made[i].comm;
        requests[i] = made[i].request;
    }
    MPI_Waitall(COPIES, requests, MPI_STATUSES_IGNORE);
    return all_use(copies);
}

static int overwritten(void)
{
    MPI_Comm copies[COPIES], variable;
    MPI_Request requests[COPIES];
    for (int i = 0; i < COPIES; i++) {
        idup(i, &variable, &requests[i]);
        copies[i] = variable;
        variable = MPI_COMM_SELF;
    }
    MPI_Waitall(COPIES, requests, MPI_STATUSES_IGNORE);
    return all_use(copies);
}

/* MPI_Request_get_status says that it is there: it may be used, and freed, before its request is completed. */
static int told(void)
{
    int right = 1;
    for (int i = 0; i < COPIES; i++) {
        MPI_Comm copy, other;
        MPI_Request request;
        int flag = 0;
        idup(i, &copy, &request);
        while (!flag)
            MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        right &= comm_use(copy);
        MPI_Comm_free(&copy);
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &other); /* it may get the same handle */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        right &= comm_use(other);
        MPI_Comm_free(&other);
    }
    return right;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } cases[] = {
        {"grow", grow}, {"unmapped", unmapped}, {"value", value}, {"overwritten", overwritten}, {"told", told}};
    int right = 0;
    MPI_Init(&argc, &argv);
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            right = cases[i].run();
    MPI_Finalize();
    puts(right ? "right" : "wrong");
    return !right;
}
