#include "catalogue/hint.h"

#include "registry/book.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool infos_exist(void)
{
    if (!native.present)
        return false;
    if (native.Group_from_session_pset) /* with sessions came infos before MPI_Init */
        return true;
    int initialized = 0, finalized = 1;
    return native.Initialized(&initialized) == MPI_SUCCESS && initialized &&
           native.Finalized(&finalized) == MPI_SUCCESS && !finalized;
}

MPI_Info hint_none_info(void)
{
    MPI_Info info = native.info_null;
    if (infos_exist() && native.Info_create(&info) != MPI_SUCCESS)
        info = native.info_null;
    return info;
}

MPI_Info hint_number_info(const char *key, uint64_t value)
{
    char text[24];
    MPI_Info info = hint_none_info();
    snprintf(text, sizeof text, "%" PRIu64, value);
    if (info != native.info_null)
        native.Info_set(info, key, text);
    return info;
}

/*
 * An invalid info object (freed, never made) is an error of MPI, which ends the job by default. Errors of objects other
 * than communicators go to the handler of MPI_COMM_WORLD. It is replaced only if no other thread could be setting it
 * meanwhile.
 */
static bool errors_return(MPI_Errhandler *before)
{
    return native.world && !book_is_shared() && native.Comm_get_errhandler(native.comm_world, before) == MPI_SUCCESS &&
           native.Comm_set_errhandler(native.comm_world, native.errors_return) == MPI_SUCCESS;
}

static void errors_restore(MPI_Errhandler before)
{
    native.Comm_set_errhandler(native.comm_world, before);
    native.Errhandler_free(&before);
}

/* MPICH ends the job when a value is longer than the buffer, so the length is asked first. */
static bool hint_text_read(MPI_Info info, const char *key, char text[MPI_MAX_INFO_VAL + 1])
{
    int length = 0, found = 0;
    return native.Info_get_valuelen(info, key, &length, &found) == MPI_SUCCESS && found && length >= 0 &&
           length <= MPI_MAX_INFO_VAL && native.Info_get(info, key, length, text, &found) == MPI_SUCCESS && found;
}

bool hint_number(MPI_Info info, const char *key, uint64_t *value)
{
    char text[MPI_MAX_INFO_VAL + 1] = "", *end;
    if (info == native.info_null || !infos_exist())
        return false;
    MPI_Errhandler before;
    bool returned = errors_return(&before), found = hint_text_read(info, key, text);
    if (returned)
        errors_restore(before);
    if (!found || !isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || *end)
        return false;
    *value = number;
    return true;
}
