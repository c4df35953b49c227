/* What the tests of events share: a book with two communicators, handles, and instances to deliver. */
#ifndef MPIT_TESTS_EVENTFIXTURE_H
#define MPIT_TESTS_EVENTFIXTURE_H

#include "book.h"
#include "knobs.h"
#include "registration.h"

static struct comm *comms[2];
static MPI_Comm handles_of_comms[2];

static inline int setup(void **state)
{
    (void)state;
    struct run_problem problem;
    clock_open();
    if (run_open(&book.run, NULL, UINT64_C(1) << 28, 0, &problem) != 0 || book_open() != 0)
        return -1;
    book.scale = clock_calibrate();
    for (int i = 0; i < 2; i++) {
        handles_of_comms[i] = (MPI_Comm)(uintptr_t)(0x100 * (i + 1));
        struct comm_facts facts = {
            .handle = abi_handle_of_comm(handles_of_comms[i]), .size = 2, .name = i ? "second" : "first"};
        comms[i] = book_comm_add(&facts);
    }
    door_users = 1;
    return comms[0] && comms[1] ? 0 : -1;
}

static inline void raise(struct instance instance, enum delivery_context context)
{
    instances_deliver(&instance, 1, context);
}

static inline struct instance message(int comm, int tag)
{
    return (struct instance){.type = &event_types[MESSAGE_POSTED],
                             .comm = comms[comm],
                             .ticks = clock_now(),
                             .message = {.direction = 1, .peer = 2, .tag = tag, .call = 4, .bytes = 5}};
}

static inline MPI_T_event_registration handle_on(enum event_type_id type, int comm)
{
    MPI_T_event_registration handle = NULL;
    assert_int_equal(MPI_T_event_handle_alloc(type, &handles_of_comms[comm], NULL, &handle), MPI_SUCCESS);
    assert_non_null(handle);
    return handle;
}

static inline void free_now(MPI_T_event_registration handle)
{
    assert_int_equal(MPI_T_event_handle_free(handle, NULL, NULL), MPI_SUCCESS);
}

static inline void hear(MPI_T_event_registration handle, MPI_T_cb_safety safety, MPI_T_event_cb_function function,
                        void *data)
{
    assert_int_equal(MPI_T_event_register_callback(handle, safety, NULL, data, function), MPI_SUCCESS);
}

static inline void count(MPI_T_event_instance instance, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                         void *data)
{
    (void)instance;
    (void)handle;
    (void)safety;
    __atomic_add_fetch((int *)data, 1, __ATOMIC_RELAXED);
}

static int freed;

static inline void note_free(MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    (void)handle;
    assert_int_equal(safety, MPI_T_CB_REQUIRE_NONE);
    assert_ptr_equal(data, &freed);
    freed++;
}

#endif
