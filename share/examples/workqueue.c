/*
 * What is declared here is all that it takes: with mpit loaded, MPI_T, mpit's summary and its traces show it; without,
 * the library runs as it is.
 */
#define MPIT_CATEGORY_NAME "workqueue"
#include <mpit/instrument.h>

#include "workqueue.h"

enum { ROOM = 1024 };

MPIT_CATEGORY(workqueue_category, "workqueue", "", "The queue of numbers.");
MPIT_ENUMERATION(workqueue_states, "What a queue is doing.", {WORKQUEUE_IDLE, "idle"}, {WORKQUEUE_FILLING, "filling"},
                 {WORKQUEUE_DRAINING, "draining"});

MPIT_COUNTER(workqueue_puts, "Numbers put into the queue.");
MPIT_COUNTER(workqueue_refused, "Numbers that found the queue full.");
MPIT_LEVEL(workqueue_length, "Numbers in the queue.");
MPIT_PERCENTAGE(workqueue_fill, "How much of the queue's capacity is in use.");
MPIT_STATE(workqueue_state, &workqueue_states, "What the queue is doing.");
MPIT_AGGREGATE_ON_COMM(workqueue_sent_bytes, "Bytes of the queue that were sent.");
MPIT_REGION(workqueue_transfer, "Sending or receiving a queue.");
MPIT_CONTROL_INT(workqueue_capacity, 100, 1, ROOM, "Numbers that the queue takes at the most.");

static int numbers[ROOM];
static int first, length;

int workqueue_put(int number)
{
    int capacity = mpit_control_int(&workqueue_capacity);
    if (length >= capacity) {
        mpit_add(&workqueue_refused, 1);
        return -1;
    }
    mpit_set_int(&workqueue_state, WORKQUEUE_FILLING);
    numbers[(first + length++) % ROOM] = number;
    mpit_add(&workqueue_puts, 1);
    mpit_level_add(&workqueue_length, 1);
    mpit_set_double(&workqueue_fill, (double)length / capacity);
    return 0;
}

int workqueue_take(int *number)
{
    mpit_set_int(&workqueue_state, length ? WORKQUEUE_DRAINING : WORKQUEUE_IDLE);
    if (!length)
        return -1;
    *number = numbers[first];
    first = (first + 1) % ROOM;
    length--;
    mpit_level_subtract(&workqueue_length, 1);
    mpit_set_double(&workqueue_fill, (double)length / mpit_control_int(&workqueue_capacity));
    return 0;
}

void workqueue_send(int rank, MPI_Comm comm)
{
    int number, count = length;
    mpit_region_enter(&workqueue_transfer);
    MPI_Send(&count, 1, MPI_INT, rank, 0, comm);
    while (workqueue_take(&number) == 0)
        MPI_Send(&number, 1, MPI_INT, rank, 0, comm);
    /* A library that sends often asks for the cell once and keeps it with what it knows of the communicator. */
    mpit_cell_add(mpit_bind(&workqueue_sent_bytes, &comm), (unsigned long long)count * sizeof number);
    mpit_region_leave(&workqueue_transfer);
}

void workqueue_receive(int rank, MPI_Comm comm)
{
    int number, count = 0;
    mpit_region_enter(&workqueue_transfer);
    MPI_Recv(&count, 1, MPI_INT, rank, 0, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++) {
        MPI_Recv(&number, 1, MPI_INT, rank, 0, comm, MPI_STATUS_IGNORE);
        workqueue_put(number);
    }
    mpit_region_leave(&workqueue_transfer);
}
