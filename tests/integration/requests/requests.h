/*
 * What the parts of the program requests share: its own count of calls and messages on two communicators.
 */
#ifndef MPIT_TESTS_REQUESTS_H
#define MPIT_TESTS_REQUESTS_H

#include <mpi.h>
#include <stddef.h>

enum { COMMS = 2, TAG = 7 };

/* What was sent and received, as the catalogue counts it. */
struct book {
    MPI_Comm comm;
    unsigned long long sends, send_bytes, receives, receive_bytes, done;
};

extern struct book books[COMMS];
extern unsigned long long unseen;    /* receives that were freed while active */
extern unsigned long long cancelled; /* that were cancelled */
extern int rank, size, failures;
extern int threaded; /* several threads call MPI */
extern int out[4096], in[8][4096];

void counted(int code, const char *name);
/* Makes the call, which has to succeed, and counts it. */
#define CALL(function, ...) counted(function(__VA_ARGS__), #function)

void sent(struct book *book, size_t bytes, int completed);
void received(struct book *book, size_t bytes);
/* Says it where the two differ. */
void check(unsigned long long is, unsigned long long expected, const char *part, const char *what);
/* Sends to the right, and counts it as complete: it will be. */
void post_send(struct book *book, int count, int tag, MPI_Request *request);

static inline int right(void)
{
    return (rank + 1) % size;
}

static inline int left(void)
{
    return (rank + size - 1) % size;
}

/* The parts: nothing is pending when one is over. */
void matched(void);
void cut_off(void);
void general(void);
void persistent(void);
void asked(void);
void freed(void);
void equal_handles(void);
void crowded(void);
void paired(void);      /* of MPI 4 */
void partitioned(void); /* of MPI 4 */
void across_threads(void);
void partitions_of_threads(void); /* of MPI 4 */

#endif
