/*
 * Rules for registrations of other libraries, from the standard and <mpit/instrument.h>. Each function returns an enum
 * mpit_result, with the reason in `error` if that is not MPIT_OK.
 */
#ifndef MPIT_AGGREGATE_INSTRUMENTRULES_H
#define MPIT_AGGREGATE_INSTRUMENTRULES_H

#include "instruments/instrument.h"

#include <stdio.h>

#define REFUSE(code, ...)                                                                                              \
    do {                                                                                                               \
        snprintf(error, INSTRUMENT_ERROR_BYTES, __VA_ARGS__);                                                          \
        return (code);                                                                                                 \
    } while (0)

int instrument_name_check(const char *name, char *error);
int instrument_bind_check(uint32_t bind, uint32_t verbosity, char *error);
int instrument_variable_check(const struct mpit_variable *variable, char *error);
int instrument_control_check(const struct mpit_control *control, char *error);
int instrument_event_check(const struct mpit_event_type *event, char *error);
int instrument_enumeration_check(const struct mpit_enumeration *enumeration, char *error);

#endif
