/* The libraries below MPI in the registry: their numbers and names, a level for each of them, and each thread's
 * counters. */
#include "registry/book.h"

#include <stdio.h>
#include <string.h>

static char provider_names[FABRIC_PROVIDERS_MOST][PROVIDER_NAME_BYTES];

const char *book_provider_name(uint32_t number)
{
    bool known = number >= 1 && number <= FABRIC_PROVIDERS_MOST &&
                 __atomic_load_n(&book.pending[number], __ATOMIC_ACQUIRE) != NULL;
    return known ? provider_names[number - 1] : NULL;
}

uint32_t book_provider(const char *name)
{
    char cut[PROVIDER_NAME_BYTES];
    uint32_t number = 0, known = 0;
    uint64_t offset, level_offset = 0;
    snprintf(cut, sizeof cut, "%s", name);
    pthread_mutex_lock(&book.lock);
    for (; known < FABRIC_PROVIDERS_MOST && provider_names[known][0] && !number; known++)
        if (strcmp(provider_names[known], cut) == 0)
            number = known + 1;
    struct provider_record *record = NULL;
    struct tally_block *level = NULL;
    if (!number && known < FABRIC_PROVIDERS_MOST) {
        record = run_alloc(&book.run, sizeof *record, &offset);
        level = record ? book_block_make(BLOCK_FABRIC_LEVEL, 0, 0, known + 1,
                                         sizeof(struct level_cells) / sizeof(uint64_t), &level_offset)
                       : NULL;
    }
    if (level) {
        number = known + 1;
        memcpy(provider_names[known], cut, sizeof cut);
        record->number = number;
        memcpy(record->name, cut, sizeof cut);
        if (offset && level_offset) {
            run_link(&book.run, &book.run.header->first_provider, &record->next, offset);
            book_block_link(level, level_offset);
        }
        __atomic_store_n(&book.pending[number], (struct level_cells *)(level + 1), __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&book.lock);
    if (!number)
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
    return number;
}

bool book_fabric(struct ledger *ledger, uint32_t provider)
{
    uint64_t offset;
    struct fabric_cells *cells = ledger->fabric[provider];
    if (!cells) {
        struct tally_block *block = book_block_make(BLOCK_FABRIC, ledger->index, 0, provider,
                                                    sizeof(struct fabric_cells) / sizeof(uint64_t), &offset);
        if (!block)
            return false;
        cells = (struct fabric_cells *)(block + 1);
        book_block_link(block, offset);
        __atomic_store_n(&ledger->fabric[provider], cells, __ATOMIC_RELEASE);
    }
    ledger->tally.fabric = (struct fabric_tally){
        .cells = cells, .pending = book.pending[provider], .pending_all = &book.own->shared->sends};
    return true;
}

bool book_fabric_calls(struct ledger *ledger)
{
    uint64_t offset;
    if (ledger->fabric_calls)
        return true;
    struct tally_block *block = book_block_make(BLOCK_FABRIC_CALLS, ledger->index, 0, 0,
                                                sizeof(struct fabric_call_cells) / sizeof(uint64_t), &offset);
    if (!block)
        return false;
    book_block_link(block, offset);
    ledger->tally.fabric_calls = (struct fabric_call_cells *)(block + 1);
    __atomic_store_n(&ledger->fabric_calls, ledger->tally.fabric_calls, __ATOMIC_RELEASE);
    return true;
}
