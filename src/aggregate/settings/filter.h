/*
 * Which MPI functions are recorded (mpit_filter).
 *
 * The filter is a list of words, separated by commas. Blanks around them do not matter. A word is the name of a
 * function or a class. Names may lack MPI_ in front, in upper or lower case, and * stands for any characters. A word
 * with - in front leaves functions out. If all words have -, all other functions are recorded. Otherwise only the words
 * without - are recorded.
 *
 *     -io,-MPI_Iprobe      all but these
 *     p2p,coll             only these
 *     p2p,-iprobe          p2p, but without MPI_Iprobe
 *
 *     start                MPI_Start alone; start* is MPI_Startall, too
 *
 * A name stands for the function of that name and no other, also where it reads like a class. Local functions are
 * recorded only while mpit_record_local_calls is on, whatever the filter names. MPI_Init, MPI_Init_thread, MPI_Finalize
 * and the functions of sessions are always recorded, because a run begins and ends with them.
 */
#ifndef MPIT_AGGREGATE_FILTER_H
#define MPIT_AGGREGATE_FILTER_H

#include "calls.h"

#include <stdbool.h>
#include <stddef.h>

/* Says in `left_out` which kinds of calls the filter leaves out. Returns 0, or -1 with the reason in `problem`; then
 * nothing is left out. */
int filter_read(const char *text, bool left_out[CALL_COUNT], char *problem, size_t size);
/* The same for who asks for functions of a trace: none is kept always. */
int filter_select(const char *text, bool left_out[CALL_COUNT], char *problem, size_t size);
/* The same for who wants to know only whether it can be read. */
int filter_check(const char *text, char *problem, size_t size);

enum { FILTER_WORD_BYTES = 64 };

/*
 * What a filter that can be read may be mistaken for; false: nothing.
 *
 * A word that stands for local functions alone, of which nothing is recorded unless mpit_record_local_calls is on.
 */
bool filter_wants_local(const char *text, char name[FILTER_WORD_BYTES]);
/* A word without MPI_ in front that is the name of one function, `meant`, where names of others begin with it, too; one
 * of these is `other`. */
bool filter_is_narrow(const char *text, char name[FILTER_WORD_BYTES], const char **meant, const char **other);

#endif
