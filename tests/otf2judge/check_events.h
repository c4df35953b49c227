/* Events of one location, as they are read. Checks that need no other location are made here. The other events become
 * happenings. */
#ifndef MPIT_TESTS_CHECK_EVENTS_H
#define MPIT_TESTS_CHECK_EVENTS_H

#include "check_model.h"

/* Returns the same callbacks for all locations. Their user data is the location. */
OTF2_EvtReaderCallbacks *check_event_callbacks(void);

/* The callbacks of check_records.c: messages, collectives, windows, files. */
void check_records_register(OTF2_EvtReaderCallbacks *callbacks);

/* Called when all readable events of the location have been read. */
void check_location_end(struct location *location);

/* Checks that apply to every event. */
void event_at(struct location *location, OTF2_TimeStamp time, const char *record, OTF2_AttributeList *attributes);

/* Checks that apply to every MPI event. */
void mpi_event_at(struct location *location, OTF2_TimeStamp time, const char *record, OTF2_AttributeList *attributes);

/* Returns false if the definition is missing, which is then already reported. */
bool event_refers(const struct location *location, OTF2_TimeStamp time, const char *record, unsigned kind, uint64_t id);

#define EVENT(name, ...)                                                                                               \
    static OTF2_CallbackCode on_##name(UNUSED OTF2_LocationRef id, OTF2_TimeStamp time, UNUSED uint64_t position,      \
                                       void *data, OTF2_AttributeList *attributes, ##__VA_ARGS__)

#endif
