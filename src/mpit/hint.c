#include "hint.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool infos_exist(void)
{
    if (!native.present)
        return false;
#if MPI_VERSION >= 4
    return true;
#else
    int initialized = 0, finalized = 1;
    return native.Initialized(&initialized) == MPI_SUCCESS && initialized &&
           native.Finalized(&finalized) == MPI_SUCCESS && !finalized;
#endif
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

bool hint_number(MPI_Info info, const char *key, uint64_t *value)
{
    char text[24] = "", *end;
    int found = 0;
    if (info == native.info_null || !infos_exist() ||
        native.Info_get(info, key, sizeof text - 1, text, &found) != MPI_SUCCESS || !found ||
        !isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || *end)
        return false;
    *value = number;
    return true;
}
