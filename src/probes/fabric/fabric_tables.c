#include "fabric/fabric_tables.h"

#include <stdlib.h>

/* More than all providers together need. Objects without a place stay as they are. */
enum { TABLES = 256, KINDS = 128 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const struct fabric_kind_of *fabric_kind_known(const struct fabric_kind_of *kind)
{
    static struct fabric_kind_of *kinds[KINDS];
    struct fabric_kind_of *known = NULL, wanted;
    memset(&wanted, 0, sizeof wanted); /* the bytes between the fields are compared, too */
    wanted.provider = kind->provider;
    wanted.caps = kind->caps & (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC);
    wanted.format = kind->format;
    wanted.sends_queued = kind->sends_queued;
    wanted.receives_queued = kind->receives_queued;
    wanted.sends_chosen = kind->sends_chosen;
    wanted.receives_chosen = kind->receives_chosen;
    wanted.sends_told = kind->sends_told;
    wanted.receives_told = kind->receives_told;
    wanted.receives_multi = kind->receives_multi;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < KINDS && !known; i++) {
        if (kinds[i] && memcmp(kinds[i], &wanted, sizeof wanted) == 0) {
            known = kinds[i];
        } else if (!kinds[i]) {
            known = kinds[i] = malloc(sizeof *known);
            if (!known)
                break;
            memcpy(known, &wanted, sizeof wanted);
        }
    }
    pthread_mutex_unlock(&lock);
    return known;
}

/* `behind` may be a table made by mpit: then the table after that one counts. */
#define TABLE_OF(name, operations)                                                                                     \
    static struct name##_table *name##_tables[TABLES];                                                                 \
    struct name##_table *name##_table_of(operations *behind, const struct fabric_kind_of *kind)                        \
    {                                                                                                                  \
        struct name##_table *table = NULL;                                                                             \
        pthread_mutex_lock(&lock);                                                                                     \
        for (size_t i = 0; i < TABLES && name##_tables[i]; i++)                                                        \
            if (&name##_tables[i]->ops == behind)                                                                      \
                behind = name##_tables[i]->behind;                                                                     \
        size_t more = behind->size > sizeof(operations) ? behind->size - sizeof(operations) : 0;                       \
        for (size_t i = 0; i < TABLES && !table; i++) {                                                                \
            struct name##_table *here = name##_tables[i];                                                              \
            if (here && here->behind == behind && here->kind == kind) {                                                \
                table = here;                                                                                          \
            } else if (!here) {                                                                                        \
                table = calloc(1, sizeof *table + more);                                                               \
                if (!table)                                                                                            \
                    break;                                                                                             \
                native_library_keep(behind);                                                                           \
                table->behind = behind;                                                                                \
                table->kind = kind;                                                                                    \
                memcpy(&table->ops, behind, behind->size);                                                             \
                __atomic_store_n(&name##_tables[i], table, __ATOMIC_SEQ_CST);                                          \
                fabric_##name##_replace(table, __atomic_load_n(&fabric_on, __ATOMIC_SEQ_CST));                         \
            }                                                                                                          \
        }                                                                                                              \
        pthread_mutex_unlock(&lock);                                                                                   \
        return table;                                                                                                  \
    }                                                                                                                  \
    static void name##_switch(bool on)                                                                                 \
    {                                                                                                                  \
        for (size_t i = 0; i < TABLES; i++) {                                                                          \
            struct name##_table *table = __atomic_load_n(&name##_tables[i], __ATOMIC_SEQ_CST);                         \
            if (!table)                                                                                                \
                break;                                                                                                 \
            fabric_##name##_replace(table, on);                                                                        \
        }                                                                                                              \
    }

FABRIC_TABLES(TABLE_OF)

void fabric_ofi_switch(bool on)
{
#define SWITCH(name, operations) name##_switch(on);
    FABRIC_TABLES(SWITCH)
#undef SWITCH
}
