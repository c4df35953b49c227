/*
 * Which MPI functions are recorded (mpit_filter).
 *
 * The filter is a list of words, separated by commas. Blanks around them do not matter. A word is the name of a
 * function or a class. Names may lack the leading MPI_, in upper or lower case, and * matches any characters. A word
 * that begins with - leaves functions out. If all words have -, all other functions are recorded. Otherwise only the
 * words without - are recorded.
 *
 *     -io,-MPI_Iprobe      all but these
 *     p2p,coll             only these
 *     p2p,-iprobe          p2p, but without MPI_Iprobe
 *
 *     start                only MPI_Start. start* also matches MPI_Startall
 *
 * A name means only the function with that name, also if it looks like a class. Local functions are recorded only while
 * mpit_record_local_calls is on, even if the filter names them. MPI_Init, MPI_Init_thread, MPI_Finalize and the
 * functions of sessions are always recorded, because a run begins and ends with them.
 */
#ifndef MPIT_AGGREGATE_FILTER_H
#define MPIT_AGGREGATE_FILTER_H

#include "calls.h"

#include <stdbool.h>
#include <stddef.h>

/* Sets in `left_out` the kinds of calls that the filter leaves out. Returns 0, or -1 with the reason in `problem`.
 * Then nothing is left out. */
int filter_read(const char *text, bool left_out[CALL_COUNT], char *problem, size_t size);
/* The same for functions selected from a trace. Here no function is always kept. */
int filter_select(const char *text, bool left_out[CALL_COUNT], char *problem, size_t size);
/* The same, only to check whether the filter is valid. */
int filter_check(const char *text, char *problem, size_t size);

enum { FILTER_WORD_BYTES = 64 };

/*
 * Likely misunderstandings of a valid filter. Returns false if there is none.
 *
 * A word that matches only local functions. None of these are recorded unless mpit_record_local_calls is on.
 */
bool filter_wants_local(const char *text, char name[FILTER_WORD_BYTES]);
/* A word without MPI_ that is the name of one function, `meant`, while other names begin with it, too. `other` is
 * one of these. */
bool filter_is_narrow(const char *text, char name[FILTER_WORD_BYTES], const char **meant, const char **other);

#endif
