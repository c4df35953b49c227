#include "tally_verdict.h"

#include <stdarg.h>
#include <stdio.h>

enum { SAID_LIMIT = 40 }; /* one mistake often shows in many figures */

static int verdict_rank;
static uint64_t compared, failures;

void verdict_open(int rank)
{
    verdict_rank = rank;
}

static bool worth_saying(void)
{
    failures++;
    if (failures == SAID_LIMIT + 1)
        printf("rank %d: more mismatches are counted and not shown\n", verdict_rank);
    return failures <= SAID_LIMIT;
}

void verdict_figure(const char *comm, const char *variable, const char *slot, uint64_t mpit, uint64_t program)
{
    compared++;
    if (mpit == program || !worth_saying())
        return;
    printf("rank %d comm %s %s%s%s%s: mpit %llu, program %llu\n", verdict_rank, comm, variable, *slot ? "[" : "", slot,
           *slot ? "]" : "", (unsigned long long)mpit, (unsigned long long)program);
}

void verdict_check(bool kept, const char *format, ...)
{
    compared++;
    if (kept || !worth_saying())
        return;
    va_list arguments;
    va_start(arguments, format);
    printf("rank %d ", verdict_rank);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

uint64_t verdict_compared(void)
{
    return compared;
}

uint64_t verdict_failures(void)
{
    return failures;
}
