/* A run that is written and read back: for the tests of run files. */
#ifndef MPIT_TESTS_WRITERFIXTURE_H
#define MPIT_TESTS_WRITERFIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "reader.h"
#include "runfixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEGABYTE = 1 << 20 };

static char directory[64];
static struct run run;
static struct run_problem problem;
static struct run_reader reader;

static inline int directory_setup(void **state)
{
    (void)state;
    clock_open();
    fixture_directory_make(directory);
    return 0;
}

static inline int directory_teardown(void **state)
{
    (void)state;
    if (reader.base)
        run_reader_close(&reader);
    fixture_directory_remove(directory);
    return 0;
}

static inline void open_with(uint64_t memory_limit, uint64_t trace_limit)
{
    assert_int_equal(run_open(&run, directory, memory_limit, trace_limit, &problem), 0);
    assert_string_equal(problem.text, "");
    assert_true(run.fd >= 0);
}

static inline void read_back(void)
{
    if (run_reader_open(&reader, run.path) != 0)
        fail_msg("%s %s", run.path, reader.error);
}

static inline uint64_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

#endif
