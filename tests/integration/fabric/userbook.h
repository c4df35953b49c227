/*
 * What a program that uses libfabric or UCX by itself has called, as it has counted it: what mpit must say of it.
 *
 * Any thread may call any of it.
 */
#ifndef MPIT_TESTS_USERBOOK_H
#define MPIT_TESTS_USERBOOK_H

#include <stdbool.h>
#include <stdint.h>

/* An operation was begun; `told`: somebody will be told of its completion. */
void book_operation(const char *function, uint64_t bytes, bool told);
void book_again(void);
void book_error(void);
void book_poll(bool found);
void book_completed(uint64_t operations, uint64_t failed);

/* How long the program has used the library, and how long of that it has slept in callbacks. */
void book_time(uint64_t ns, uint64_t slept);

/* Of checks of the program's own: says what is wrong. */
void book_check(const char *what, bool good);

/* As JSON; the status for main: 0 if all checks held. */
int book_close(const char *provider);

#endif
