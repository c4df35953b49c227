/*
 * The program surface: uses the MPI_T interface as a tool would, and says for each promise whether it was kept.
 */
#ifndef SURFACE_H
#define SURFACE_H

#include "../common/codename.h"

#include <mpi.h>
#include <stdbool.h>

/* One line on standard output where a promise was not kept; counted. */
void check_that(bool kept, const char *file, int line, const char *format, ...) __attribute__((format(printf, 4, 5)));
#define CHECK(kept, ...) check_that(kept, __FILE__, __LINE__, __VA_ARGS__)

/* The call returns this code. */
#define RETURNS(expected, call)                                                                                        \
    do {                                                                                                               \
        int got_ = (call);                                                                                             \
        CHECK(got_ == (expected), "%s returns %s, not %s", #call, code_name(got_), code_name(expected));               \
    } while (0)

/* Whether mpit is there: else nothing is said of its own variables. */
bool own_there(void);

/* Walks everything that can be listed, and holds it against what was listed before: indices keep their meaning. */
void walk(const char *when);

void codes_of_queries(void);
void codes_of_cvars(void);
void codes_of_pvars(void);

/* What is mended in the library's own variables. */
void natives_before_init(void);
void natives_after_init(void);
void natives_of_communicators(void);
void natives_in_sessions(void);
void natives_in_handlers(void);

#endif
