/* Return codes by name, for messages. */
#ifndef MPIT_TESTS_CODENAME_H
#define MPIT_TESTS_CODENAME_H

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

static inline const char *code_name(int code)
{
#define NAME(name)                                                                                                     \
    {                                                                                                                  \
        name, #name                                                                                                    \
    }
    static const struct {
        int code;
        const char *name;
    } names[] = {
        NAME(MPI_SUCCESS),
        NAME(MPI_T_ERR_INVALID),
        NAME(MPI_T_ERR_MEMORY),
        NAME(MPI_T_ERR_NOT_INITIALIZED),
        NAME(MPI_T_ERR_CANNOT_INIT),
        NAME(MPI_T_ERR_INVALID_INDEX),
        NAME(MPI_T_ERR_INVALID_ITEM),
        NAME(MPI_T_ERR_INVALID_HANDLE),
        NAME(MPI_T_ERR_INVALID_NAME),
        NAME(MPI_T_ERR_INVALID_SESSION),
        NAME(MPI_T_ERR_OUT_OF_HANDLES),
        NAME(MPI_T_ERR_OUT_OF_SESSIONS),
        NAME(MPI_T_ERR_CVAR_SET_NOT_NOW),
        NAME(MPI_T_ERR_CVAR_SET_NEVER),
        NAME(MPI_T_ERR_PVAR_NO_STARTSTOP),
        NAME(MPI_T_ERR_PVAR_NO_WRITE),
        NAME(MPI_T_ERR_PVAR_NO_ATOMIC),
    };
#undef NAME
    static char numbers[2][32]; /* two may stand in one message */
    static int turn;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].code == code)
            return names[i].name;
    turn ^= 1;
    snprintf(numbers[turn], sizeof numbers[turn], "code %d", code);
    return numbers[turn];
}

#endif
