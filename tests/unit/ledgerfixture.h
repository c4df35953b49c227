/* A thread's ledger for a test: the recorder has them in its logs. */
#ifndef MPIT_TESTS_LEDGERFIXTURE_H
#define MPIT_TESTS_LEDGERFIXTURE_H

#include "book.h"

#include <stdlib.h>

/* NULL: without memory. */
static inline struct ledger *ledger_make(int tid)
{
    struct ledger *ledger = calloc(1, sizeof *ledger);
    if (ledger && book_ledger_open(ledger, tid))
        return ledger;
    free(ledger);
    return NULL;
}

#endif
