/* MPIX_Start_monitor and MPIX_End_monitor behind the header (include/mpit/monitor.h): reads the order, and checks
 * whether it is possible. */
#include "gate.h"
#include "monitor/monitorwindow.h"
#include "native.h"
#include "site/setting.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALLOWED "MPIX_Start_monitor: "

struct named_option {
    const char *name;
    int32_t value;
    unsigned option;
};

/* Returns the options as bits. Returns false, with a message, if one is neither 1 nor 0. */
static bool options_read(const struct mpit_monitorhandle *handle, unsigned *options)
{
    const struct named_option all[] = {
        {"profile", handle->profile, MPIX_MONITOR_PROFILE}, {"other", handle->other, MPIX_MONITOR_OTHER},
        {"pttopt", handle->pttopt, MPIX_MONITOR_PTTOPT},    {"coll", handle->coll, MPIX_MONITOR_COLL},
        {"comm", handle->comm, MPIX_MONITOR_COMM},          {"msgsize", handle->msgsize, MPIX_MONITOR_MSGSIZE},
        {"traffic", handle->traffic, MPIX_MONITOR_TRAFFIC},
    };
    *options = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].value != 0 && all[i].value != 1) {
            native_say("mpit: " ALLOWED "monitorhandle.%s is %d; allowed are 0 and 1", all[i].name, all[i].value);
            return false;
        }
        *options |= all[i].value ? all[i].option : 0;
    }
    return true;
}

static int handle_read(const struct mpit_monitorhandle *handle, struct monitor_order *order)
{
    if (handle->bytes && handle->bytes < sizeof *handle) {
        native_say(
            "mpit: " ALLOWED
            "monitorhandle.bytes is %u, which is too short; initialize the structure with MPIX_MONITORHANDLE_INIT",
            handle->bytes);
        return MPIX_MONITOR_ERR_ARGUMENT;
    }
    if (!options_read(handle, &order->options))
        return MPIX_MONITOR_ERR_OPTION;
    if (handle->period_ns &&
        (handle->period_ns < MPIX_MONITOR_PERIOD_LEAST || handle->period_ns > MPIX_MONITOR_PERIOD_MOST)) {
        native_say("mpit: " ALLOWED "monitorhandle.period_ns is %lld; allowed are 0 (no periods) and %d to %llu",
                   (long long)handle->period_ns /* Fortran's may be negative */, MPIX_MONITOR_PERIOD_LEAST,
                   (unsigned long long)MPIX_MONITOR_PERIOD_MOST);
        return MPIX_MONITOR_ERR_PERIOD;
    }
    if (handle->bytes && (handle->callsites < 0 || handle->callsites > MPIX_MONITOR_CALLSITES_MOST)) {
        native_say("mpit: " ALLOWED "monitorhandle.callsites is %d; allowed are 0 to %d", handle->callsites,
                   MPIX_MONITOR_CALLSITES_MOST);
        return MPIX_MONITOR_ERR_OPTION;
    }
    order->callsites = handle->bytes ? (unsigned)handle->callsites : 0;
    order->period_ns = handle->period_ns;
    order->name = handle->name;
    order->own = handle->own;
    order->descriptor = handle->bytes ? handle->descriptor : STDERR_FILENO;
    return MPIX_MONITOR_OK;
}

static bool is_all(uint64_t communicator)
{
    return communicator == 0 || communicator == abi_handle_of_comm(native.comm_null);
}

/* Reads only the handle in the word. The program may have written no more. */
static int comm_read(uint64_t word, struct monitor_order *order)
{
    MPI_Comm handle;
    memcpy(&handle, &word, sizeof handle);
    uint64_t communicator = abi_handle_of_comm(handle);
    if (is_all(communicator))
        return MPIX_MONITOR_OK;
    order->only = book_comm_find(communicator);
    if (order->only)
        return MPIX_MONITOR_OK;
    native_say("mpit: " ALLOWED
               "monitorhandle.communicator is not a valid communicator; MPI_COMM_NULL selects all communicators");
    return MPIX_MONITOR_ERR_COMM;
}

static int order_file_open(const char *path, struct monitor_order *order)
{
    order->file = -1;
    if (!path || !path[0])
        return MPIX_MONITOR_OK;
    /* O_NONBLOCK: a FIFO is opened at once or not at all, and writing to it does not block forever. */
    order->file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (order->file >= 0)
        return MPIX_MONITOR_OK;
    native_say("mpit: " ALLOWED "monitorhandle.file \"%.512s\" cannot be opened for appending: %s", path,
               errno == ENXIO ? "no process reads it" : strerror(errno));
    return MPIX_MONITOR_ERR_FILE;
}

static const struct mpit_monitorhandle defaults = {.bytes = sizeof defaults,
                                                   .profile = 1,
                                                   .pttopt = 1,
                                                   .coll = 1,
                                                   .comm = 1,
                                                   .msgsize = 1,
                                                   .traffic = 1,
                                                   .descriptor = STDERR_FILENO};

/* If this library does not record this process, that is not an error. */
static int not_now(const char *function)
{
    if (native.mismatch || book.run.detached || (!book.run.header && native.present && native_between()))
        return MPIX_MONITOR_ABSENT;
    native_say(
        "mpit: %s was called before MPI_Init returned or after MPI_Finalize began; allowed is a call between them",
        function);
    return MPIX_MONITOR_ERR_TIME;
}

static int request_window_start(MPIX_Monitor_request *request, const struct mpit_monitorhandle *handle,
                                MPIX_Monitor_function *function)
{
    struct monitor_order order = {.function = function, .file = -1};
    if (!request) {
        native_say("mpit: " ALLOWED
                   "request is a NULL pointer; allowed is the address of a variable for the window's handle");
        return MPIX_MONITOR_ERR_ARGUMENT;
    }
    *request = 0;
    handle = handle ? handle : &defaults;
    if (!monitor_is_time())
        return not_now("MPIX_Start_monitor");
    int result = handle_read(handle, &order);
    if (result == MPIX_MONITOR_OK)
        result = comm_read(handle->communicator, &order);
    if (result != MPIX_MONITOR_OK || !(order.options & MPIX_MONITOR_PROFILE))
        return result;
    result = order_file_open(handle->file, &order);
    if (result == MPIX_MONITOR_OK)
        result = monitor_window_open(&order, request);
    if (result == MPIX_MONITOR_ERR_TIME)
        result = not_now("MPIX_Start_monitor");
    if (result == MPIX_MONITOR_ERR_MEMORY)
        native_say("mpit: " ALLOWED "out of memory for another window");
    if (result == MPIX_MONITOR_ERR_THREAD)
        native_say("mpit: " ALLOWED "the thread that reports periods cannot be started");
    if (result != MPIX_MONITOR_OK && order.file >= 0)
        close(order.file);
    return result;
}

/* A thread that is canceled must not end in here, holding a lock. */
static int request_start(MPIX_Monitor_request *request, const struct mpit_monitorhandle *handle,
                         MPIX_Monitor_function *function)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int result = request_window_start(request, handle, function);
    pthread_setcancelstate(cancel, NULL);
    return result;
}

static int window_end(MPIX_Monitor_request *request, struct mpit_monitorhandle *handle, int cancel)
{
    if (handle) {
        handle->profile = handle->pttopt = handle->coll = handle->comm = handle->msgsize = handle->traffic = 1;
        handle->other = 0;
    }
    if (!request) {
        native_say("mpit: MPIX_End_monitor: request is a NULL pointer; allowed is the address of the handle that "
                   "MPIX_Start_monitor set");
        return MPIX_MONITOR_ERR_ARGUMENT;
    }
    MPIX_Monitor_request ended = *request;
    *request = 0;
    if (!ended)
        return book.run.header && !book.run.detached ? MPIX_MONITOR_OK : not_now("MPIX_End_monitor");
    if (book.run.detached)
        return MPIX_MONITOR_ABSENT;
    int result = monitor_window_close(ended, cancel);
    if (result != MPIX_MONITOR_OK)
        native_say("mpit: MPIX_End_monitor: request %#llx is not an open window; MPIX_End_monitor or MPI_Finalize ends "
                   "a window once",
                   (unsigned long long)ended);
    return result;
}

static int end(MPIX_Monitor_request *request, struct mpit_monitorhandle *handle)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int result = window_end(request, handle, cancel);
    pthread_setcancelstate(cancel, NULL);
    return result;
}

/* MPI_Comm_f2c of the library. Some have it only as a macro: then the integer is the handle. */
static uint64_t communicator_of(int32_t fortran)
{
    typedef MPI_Comm conversion(int);
    conversion *convert = NULL;
    void *symbol = native_symbol("PMPI_Comm_f2c");
    if (!symbol)
        symbol = native_symbol("MPI_Comm_f2c");
    memcpy(&convert, &symbol, sizeof convert);
    return symbol ? abi_handle_of_comm(convert(fortran)) : (uint32_t)fortran;
}

static int start_fortran(MPIX_Monitor_request *request, const struct mpit_monitorhandle *handle,
                         MPIX_Monitor_function *function, int32_t communicator)
{
    struct mpit_monitorhandle translated = handle ? *handle : defaults;
    translated.communicator = communicator == -1 || !monitor_is_time() ? 0 : communicator_of(communicator);
    return request_start(request, &translated, function);
}

static const struct mpit_monitor_interface table = {
    .version = MPIT_MONITOR_VERSION,
    .bytes = sizeof table,
    .start = request_start,
    .end = end,
    .start_fortran = start_fortran,
};

extern mpit_monitor_interface_function mpit_monitor_interface;
GATE(mpit_monitor_interface);
const struct mpit_monitor_interface *mpit_monitor_interface(uint32_t version)
{
    return version > MPIT_MONITOR_VERSION || setting_disabled() ? NULL : &table;
}
