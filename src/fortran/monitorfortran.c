/*
 * Monitor windows for Fortran (libmpit-monitor): finds mpit in the process and passes on to it, whatever the MPI.
 *
 *   mpix_monitor.f90   mpit_monitor_start, mpit_monitor_end              structures of C
 *   mpitf.inc            mpix_start_monitor_, mpix_end_monitor_, ...       arrays of integers
 *
 * It links neither MPI nor mpit, so that one library serves all of them. A report goes to a subroutine as an array of
 * integers of 8 bytes; what is not known (MPIX_MONITOR_UNKNOWN) is -1 there.
 *
 * Threads and signals: as <mpit/monitor.h>.
 */
#include <mpit/monitor_interface.h>

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

/* Places in the array that is the handle; mpitf.inc has the same numbers, counted from 1. */
enum { PROFILE, OTHER, PTTOPT, COLL, COMM, MSGSIZE, TRAFFIC, COMMUNICATOR, PERIOD_US };
enum { VALUES = 48 };

typedef void told_function(const int64_t *values);

static const struct mpit_monitor_interface *interface_find(void)
{
    static const struct mpit_monitor_interface *found;
    const struct mpit_monitor_interface *known = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
    mpit_monitor_interface_function *function = NULL;
    if (known)
        return known;
    void *symbol = dlsym(RTLD_DEFAULT, "mpit_monitor_interface");
    memcpy(&function, &symbol, sizeof function);
    known = symbol ? function(MPIT_MONITOR_VERSION) : NULL;
    __atomic_store_n(&found, known, __ATOMIC_RELEASE);
    return known;
}

/* ---- mpix_monitor.f90 -------------------------------------------------------------------------------------------- */

SHOWN int mpit_monitor_start(MPIX_Monitor_request *request, const struct mpit_monitorhandle *handle,
                             MPIX_Monitor_function *function, int32_t communicator);
SHOWN int mpit_monitor_end(MPIX_Monitor_request *request);

int mpit_monitor_start(MPIX_Monitor_request *request, const struct mpit_monitorhandle *handle,
                       MPIX_Monitor_function *function, int32_t communicator)
{
    const struct mpit_monitor_interface *known = interface_find();
    *request = 0;
    return known ? known->start_fortran(request, handle, function, communicator) : MPIX_MONITOR_ABSENT;
}

int mpit_monitor_end(MPIX_Monitor_request *request)
{
    const struct mpit_monitor_interface *known = interface_find();
    if (known)
        return known->end(request, NULL);
    *request = 0;
    return MPIX_MONITOR_ABSENT;
}

/* ---- mpitf.inc --------------------------------------------------------------------------------------------------- */

SHOWN void mpix_monitor_default_(int32_t *handle);
SHOWN void mpix_monitor_print_(const int64_t *values);
SHOWN void mpix_start_monitor_(int64_t *request, const int32_t *handle, told_function *told, int32_t *result);
SHOWN void mpix_start_monitor_file_(int64_t *request, const int32_t *handle, told_function *told, const char *file,
                                    int32_t *result, size_t file_bytes);
SHOWN void mpix_end_monitor_(int64_t *request, int32_t *handle, int32_t *result);

static void options_default(int32_t *handle)
{
    for (int option = PROFILE; option <= TRAFFIC; option++)
        handle[option] = option != OTHER;
}

void mpix_monitor_default_(int32_t *handle)
{
    options_default(handle);
    handle[COMMUNICATOR] = -1;
    handle[PERIOD_US] = 0;
}

/* Stands for no subroutine. */
void mpix_monitor_print_(const int64_t *values)
{
    (void)values;
}

static void interval_values(int64_t *values, const MPIX_Monitor_interval *interval)
{
    const MPIX_Monitor_figures *sum = &interval->sum;
    const uint64_t list[] = {
        interval->begin_ns,
        interval->end_ns,
        interval->duration_ns,
        interval->mpi_time_ns,
        interval->inside_ns,
        interval->stall_time_ns,
        sum->p2p_time_ns,
        sum->wait_time_ns,
        sum->transfer_time_ns,
        sum->coll_time_ns,
        sum->coll_transfer_time_ns,
        sum->fabric_time_ns,
        sum->completed,
        sum->sent,
        sum->received,
        sum->timeouts,
        sum->collectives,
        sum->coll_transfers,
        sum->sent_bytes,
        sum->received_bytes,
        sum->coll_bytes,
        sum->small,
        sum->large,
        interval->before.sends,
        interval->before.recvs,
        interval->before.calls,
        interval->after.sends,
        interval->after.recvs,
        interval->after.calls,
    };
    memcpy(values, list, sizeof list);
}

static void report_told(const MPIX_Monitor_report *report, void *own)
{
    int64_t values[VALUES] = {(int64_t)report->sequence, (int64_t)report->reason, (int64_t)report->last,
                              (int64_t)report->number,   (int64_t)report->missed, (int64_t)report->late_ns};
    told_function *told;
    memcpy(&told, &own, sizeof told);
    interval_values(values + 6, report->period);
    told(values);
}

static struct mpit_monitorhandle handle_translate(const int32_t *handle, told_function *told)
{
    struct mpit_monitorhandle translated = {.bytes = sizeof translated,
                                            .profile = handle[PROFILE],
                                            .other = handle[OTHER],
                                            .pttopt = handle[PTTOPT],
                                            .coll = handle[COLL],
                                            .comm = handle[COMM],
                                            .msgsize = handle[MSGSIZE],
                                            .traffic = handle[TRAFFIC],
                                            .period_ns = (uint64_t)(int64_t)handle[PERIOD_US] * 1000,
                                            .descriptor = 2};
    memcpy(&translated.own, &told, sizeof told);
    return translated;
}

void mpix_start_monitor_(int64_t *request, const int32_t *handle, told_function *told, int32_t *result)
{
    mpix_start_monitor_file_(request, handle, told, "", result, 0);
}

/* A text of Fortran's has blanks behind it. */
void mpix_start_monitor_file_(int64_t *request, const int32_t *handle, told_function *told, const char *file,
                              int32_t *result, size_t file_bytes)
{
    struct mpit_monitorhandle translated = handle_translate(handle, told);
    while (file_bytes && file[file_bytes - 1] == ' ')
        file_bytes--;
    char *path = file_bytes ? strndup(file, file_bytes) : NULL;
    translated.file = path;
    *result = file_bytes && !path
                  ? (int32_t)MPIX_MONITOR_ERR_MEMORY
                  : mpit_monitor_start((MPIX_Monitor_request *)request, &translated,
                                       told == mpix_monitor_print_ ? NULL : report_told, handle[COMMUNICATOR]);
    free(path);
}

void mpix_end_monitor_(int64_t *request, int32_t *handle, int32_t *result)
{
    options_default(handle);
    *result = mpit_monitor_end((MPIX_Monitor_request *)request);
}
