/* Events of one location, as they are read: what can be judged without the others is, the rest becomes happenings. */
#ifndef MPIT_TOOLS_CHECK_EVENTS_H
#define MPIT_TOOLS_CHECK_EVENTS_H

#include "check/check_model.h"

/* The same for all locations; their user data is the location. */
OTF2_EvtReaderCallbacks *check_event_callbacks(void);

/* The callbacks of check_records.c: messages, collectives, windows, files. */
void check_records_register(OTF2_EvtReaderCallbacks *callbacks);

/* All of the location's events have been read, or as many as can be. */
void check_location_end(struct location *location);

/* What holds for every event. */
void event_at(struct location *location, OTF2_TimeStamp time, const char *record, OTF2_AttributeList *attributes);

/* What holds for every event of MPI. */
void mpi_event_at(struct location *location, OTF2_TimeStamp time, const char *record, OTF2_AttributeList *attributes);

/* False: it is not defined, which has been told. */
bool event_refers(const struct location *location, OTF2_TimeStamp time, const char *record, unsigned kind, uint64_t id);

#define EVENT(name, ...)                                                                                               \
    static OTF2_CallbackCode on_##name(UNUSED OTF2_LocationRef id, OTF2_TimeStamp time, UNUSED uint64_t position,      \
                                       void *data, OTF2_AttributeList *attributes, ##__VA_ARGS__)

#endif
