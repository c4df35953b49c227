#include "run/abi.h"

#include <stdio.h>
#include <string.h>

static const struct backend {
    const char *name, *title;
} backends[ABI_COUNT] = {
#define BACKEND(id, name, title, ...) [ABI_##id] = {name, title},
    BACKENDS(BACKEND)
#undef BACKEND
};

const char *mpi_abi_name(enum mpi_abi abi)
{
    return backends[abi].name;
}

const char *mpi_abi_title(enum mpi_abi abi)
{
    return backends[abi].title;
}

enum mpi_abi mpi_abi_named(const char *name)
{
    for (int abi = ABI_FIRST; abi <= ABI_LAST; abi++)
        if (strcmp(name, backends[abi].name) == 0)
            return (enum mpi_abi)abi;
    return ABI_NONE;
}

const char *mpi_abi_choices(void)
{
    static char text[256];
    text[0] = '\0';
    for (int abi = ABI_FIRST; abi <= ABI_LAST; abi++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", abi == ABI_FIRST ? "" : " or ", backends[abi].name);
    }
    return text;
}
