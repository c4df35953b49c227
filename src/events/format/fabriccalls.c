#include "format/fabriccalls.h"

const struct fabric_description fabric_table[FABRIC_FUNCTION_COUNT] = {
#define DESCRIPTION(id, called, of) {.name = (called), .kind = FABRIC_##of},
    FABRIC_FUNCTIONS(DESCRIPTION)
#undef DESCRIPTION
};

const char *const fabric_kind_names[FABRIC_KIND_COUNT] = {
#define KIND_NAME(id, name) name,
    FABRIC_KINDS(KIND_NAME)
#undef KIND_NAME
};
