/* Global definitions: reads them into the model, and checks them. */
#ifndef MPIT_TESTS_CHECK_DEFINITIONS_H
#define MPIT_TESTS_CHECK_DEFINITIONS_H

#include "check_model.h"

void check_definitions_read(OTF2_Reader *reader);

/* The callbacks of check_resources.c: metrics, windows, files, contexts, properties. */
void check_resources_register(OTF2_GlobalDefReaderCallbacks *callbacks);

/* Returns the element of a new definition. Reports a definition that exists already. */
void *define(unsigned kind, uint64_t id);

/* The definition `user_kind`, `user_id` refers to `kind`, `id`. */
void refer(unsigned kind, uint64_t id, unsigned user_kind, uint64_t user_id);
/* The same, but an undefined reference means none. */
void refer_or_none(unsigned kind, uint64_t id, uint64_t none, unsigned user_kind, uint64_t user_id);

/* A string that is shown as a name. */
void refer_name(OTF2_StringRef name, unsigned user_kind, uint64_t user_id);

struct check_place definition_place(unsigned kind);

/* Sets the callback for one kind of record. `callbacks` belong to a set, such as EvtReader. */
#define ON(set, name, callback)                                                                                        \
    do {                                                                                                               \
        if (OTF2_##set##Callbacks_Set##name##Callback(callbacks, callback) != OTF2_SUCCESS)                            \
            check_give_up("the OTF2 library refuses the callback for " #name);                                         \
    } while (0)

#endif
