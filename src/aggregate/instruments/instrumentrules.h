/*
 * Rules for registrations of other libraries, from the standard and <mpit/instrument.h>. Each function returns an enum
 * mpit_result, with the reason in `error` if that is not MPIT_OK.
 */
#ifndef MPIT_AGGREGATE_INSTRUMENTRULES_H
#define MPIT_AGGREGATE_INSTRUMENTRULES_H

#include "instruments/instrument.h"

/* Writes the reason into error[INSTRUMENT_ERROR_BYTES], and returns the code. */
__attribute__((format(printf, 3, 4))) int instrument_refuse(char *error, int code, const char *format, ...);

int instrument_name_check(const char *name, char *error);
int instrument_bind_check(uint32_t bind, uint32_t verbosity, char *error);
int instrument_variable_check(const struct mpit_variable *variable, char *error);
int instrument_control_check(const struct mpit_control *control, char *error);
int instrument_event_check(const struct mpit_event_type *event, char *error);
int instrument_enumeration_check(const struct mpit_enumeration *enumeration, char *error);

#endif
