/*
 * What the parts of the program listener share: it listens to all of mpit's events and keeps its own account of what it
 * does; the two must agree, element by element.
 */
#ifndef MPIT_TESTS_LISTENER_H
#define MPIT_TESTS_LISTENER_H

#include <mpi.h>
#include <mpit/mpi_t.h>

enum { TYPES = 9, COMMS = 3, ELEMENTS_MOST = 10, SEEN_MOST = 4096 };
enum { POSTED, COMPLETED, COLL_BEGIN, COLL_END, REQUEST, SENDS_OVER, RECVS_OVER, BYTES_OVER, LOST };

#define ANY_VALUE (-999999LL) /* not compared: durations */

struct seen {
    int type, comm; /* comm: -1 = none */
    long long value[ELEMENTS_MOST];
    long long when; /* timestamp, ns */
};

struct account {
    int count;
    struct seen list[SEEN_MOST];
};

extern struct account expected, observed;
extern MPI_Comm comms[COMMS];
extern int rank, size, failures;
extern int type_index[TYPES], type_elements[TYPES]; /* without the element comm, the last one */
extern unsigned long long sends_posted[COMMS], messages_completed[COMMS];

#define CHECK(condition, ...) check((condition), #condition, __FILE__, __LINE__, "" __VA_ARGS__)
void check(int good, const char *condition, const char *file, int line, const char *format, ...);

/* The item of an enumeration (of the pvar's) with that name. */
int item_of(const char *pvar, const char *name);
#define CALL(name) item_of("mpit_call_count", #name)

/* Says what is to be observed; as many values as the type has elements. */
void expect(int type, int comm, ...);
/* Compares, and begins again. */
void compare(const char *what);

MPI_T_event_registration listen_to(int type, int comm, MPI_T_cb_safety safety, MPI_Info info);
void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
              void *user_data);

void traffic_check(void); /* listener_traffic.c */
void corners_check(void); /* listener_corners.c */
void threads_check(void); /* listener_corners.c */
void outside_check(int before);

#endif
