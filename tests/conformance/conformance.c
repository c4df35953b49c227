#include "conformance.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct test *first, **last = &first;
static const struct test *current;
static char reason[512];
static int failures;
static bool running; /* MPI is initialized, by us */

void test_add(struct test *test)
{
    *last = test;
    last = &test->next;
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

/*
 * Says the verdict and ends. Nothing is finalized: that is for the tests that are about it, and a process that is one
 * of a pair would be taken for one that failed.
 */
static void __attribute__((noreturn)) verdict(const char *skipped)
{
    char line[1200];
    int length = snprintf(line, sizeof line - 64, "%s: %s%s%s", current->name,
                          failures  ? "fail "
                          : skipped ? "skip "
                                    : "pass",
                          failures ? reason : "", !failures && skipped ? skipped : "");
    if (failures > 1)
        length += snprintf(line + length, 48, " (and %d more)", failures - 1);
    line[length++] = '\n';
    /* in one piece: launchers mix what processes write */
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(3);
    if (running && (current->setup & PAIR) == PAIR)
        MPI_Finalize();
    _exit(failures ? 1 : 0);
}

static void note(const char *format, va_list list)
{
    if (failures++ == 0)
        vsnprintf(reason, sizeof reason, format, list);
}

void expect(bool ok, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (!ok)
        note(format, list);
    va_end(list);
}

void need(bool ok, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (!ok)
        note(format, list);
    va_end(list);
    if (!ok)
        verdict(NULL);
}

void skip(const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    verdict(text);
}

const char *call_name(const char *call)
{
    static char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(call, "("), call);
    return name;
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

void mpi_begin(void)
{
    int provided;
    need(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS, "MPI_Init_thread failed");
    running = true;
}

void mpi_end(void)
{
    running = false;
    need(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize failed");
}

static void setup(int what)
{
    int provided, size;
    if ((what & RUNNING) == RUNNING) {
        if ((what & THREADED) == THREADED)
            mpi_begin();
        else
            need(MPI_Init(NULL, NULL) == MPI_SUCCESS, "MPI_Init failed");
        running = true;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        need((what & PAIR) != PAIR || size == 2, "is for 2 processes, not %d", size);
    }
    if (what & TOOL)
        NEED(MPI_T_init_thread((what & THREADED) == THREADED ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (const struct test *t = first; t; t = t->next)
            printf("%s\t%d\t%s\t%s\n", t->name, (t->setup & PAIR) == PAIR ? 2 : 1, t->section, t->sentence);
        return 0;
    }
    for (const struct test *t = first; argc == 2 && t; t = t->next)
        if (strcmp(t->name, argv[1]) == 0) {
            current = t;
            setup(t->setup);
            t->run();
            verdict(NULL);
        }
    fprintf(stderr, "usage: conformance --list, or conformance NAME with one of the names that it lists\n");
    return 2;
}
