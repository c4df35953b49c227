/*
 * The conformance suite: one named test for each sentence of the standard's chapter on MPI_T that can be tested.
 *
 * A test is a process of its own, since a library may crash or hang in it: `conformance NAME` runs one and prints
 *
 *     NAME: pass
 *     NAME: fail REASON        the first thing that was wrong, and how many more were
 *     NAME: skip REASON        there is nothing here that the sentence speaks of
 *
 * and `conformance --list` prints a line "NAME <tab> PROCESSES <tab> SECTION <tab> SENTENCE" for each. run.py starts
 * them all, with and without mpit, and makes the table. The programs know nothing of mpit, but that the names of its
 * variables begin with "mpit_": what a test says of variables holds for those and for the library's own.
 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include "../integration/common/codename.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is initialized before the test. */
enum setup {
    BARE = 0,
    TOOL = 1,               /* MPI_T */
    RUNNING = 2 | TOOL,     /* MPI, then MPI_T */
    THREADED = 4 | RUNNING, /* the same with MPI_THREAD_MULTIPLE */
    PAIR = 8 | RUNNING,     /* in two processes */
};

struct test {
    const char *name, *section, *sentence;
    int setup;
    void (*run)(void);
    struct test *next;
};

void test_add(struct test *test);

/* Defines a test; the sentence is the standard's, shortened, in words of ours. */
#define TEST(name_, setup_, section_, sentence_)                                                                       \
    static void name_(void);                                                                                           \
    __attribute__((constructor)) static void name_##_add(void)                                                         \
    {                                                                                                                  \
        static struct test test = {#name_, section_, sentence_, setup_, name_, NULL};                                  \
        test_add(&test);                                                                                               \
    }                                                                                                                  \
    static void name_(void)

/* Notes a failure unless ok, and goes on. */
void expect(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, and ends the test. */
void need(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends the test as one that does not apply; a failure noted before stays one. */
void skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Notes a failure unless the call returned the code. */
#define EXPECT_CODE(call, code, format, ...)                                                                           \
    do {                                                                                                               \
        int code_got = (call);                                                                                         \
        expect(code_got == (code), "%s of " format ": %s, not %s", call_name(#call), ##__VA_ARGS__,                    \
               code_name(code_got), code_name(code));                                                                  \
    } while (0)

/* Notes a failure if the call succeeded: the standard names no code for it. */
#define EXPECT_REFUSED(call, format, ...)                                                                              \
    expect((call) != MPI_SUCCESS, "%s of " format ": MPI_SUCCESS", call_name(#call), ##__VA_ARGS__)

/* Ends the test unless the call succeeds. */
#define NEED(call)                                                                                                     \
    do {                                                                                                               \
        int code_got = (call);                                                                                         \
        need(code_got == MPI_SUCCESS, "%s: %s", call_name(#call), code_name(code_got));                                \
    } while (0)

/* "MPI_T_pvar_read" of "MPI_T_pvar_read(session, ...)" */
const char *call_name(const char *call);

/* MPI_Init and MPI_Finalize, for tests that do it themselves. */
void mpi_begin(void);
void mpi_end(void);

#endif
