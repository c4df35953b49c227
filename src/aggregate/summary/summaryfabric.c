#include "summary/summaryfabric.h"

#include "registry/book.h"
#include "format/label.h"
#include "summaryreading.h"

#include <stdio.h>
#include <string.h>

static void provider_sum(struct summary_provider *to, const struct summary_provider *from)
{
    summary_provider_sum(to, from);
    for (unsigned i = 0; i < FABRIC_FUNCTION_COUNT; i++)
        summary_function_sum(&to->functions[i], &from->functions[i]);
}

/* The place for that name: its own, or the last one, which the others share. */
static struct summary_provider *provider_place(struct summary *summary, const char *name)
{
    unsigned at = 0;
    while (at < SUMMARY_PROVIDERS_MAX && summary->providers[at].name[0] &&
           strcmp(summary->providers[at].name, name) < 0)
        at++;
    if (at < SUMMARY_PROVIDERS_MAX && strcmp(summary->providers[at].name, name) == 0)
        return &summary->providers[at];
    struct summary_provider *last = &summary->providers[SUMMARY_PROVIDERS_MAX - 1];
    if (last->name[0]) {
        strcpy(last->name, "others");
        return last;
    }
    memmove(&summary->providers[at + 1], &summary->providers[at],
            (SUMMARY_PROVIDERS_MAX - 1 - at) * sizeof *summary->providers);
    summary->providers[at] = (struct summary_provider){.ranks = 0};
    memcpy(summary->providers[at].name, name, strlen(name));
    return &summary->providers[at];
}

static void cells_take(struct summary_provider *provider, const struct fabric_cells *cells, struct clock_scale scale)
{
    summary_provider_read(provider, cells, scale);
    for (unsigned i = 0; i < FABRIC_FUNCTION_COUNT; i++)
        summary_function_read(&provider->functions[i], &cells->function[i], scale);
}

/* Adds a process's figures of one provider to the place of that provider. */
static void provider_add(struct summary *summary, const char *name, struct summary_provider *own)
{
    char clean[PROVIDER_NAME_BYTES];
    snprintf(clean, sizeof clean, "%s", name);
    text_tidy(clean, sizeof clean); /* a file may contain anything */
    own->ranks = 1;
    provider_sum(provider_place(summary, clean[0] ? clean : "?"), own);
}

static void book_fill(struct summary *summary)
{
    for (uint32_t number = 1; number <= FABRIC_PROVIDERS_MOST; number++) {
        struct summary_provider own = {.ranks = 0};
        if (!book_provider_name(number))
            continue;
        for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next) {
            const struct fabric_cells *cells = __atomic_load_n(&l->fabric[number], __ATOMIC_ACQUIRE);
            if (cells)
                cells_take(&own, cells, book.scale);
        }
        own.pending_high = cell_load(&book.pending[number]->high);
        provider_add(summary, book_provider_name(number), &own);
    }
}

static void run_fill(struct summary *summary, const struct run_reader *run)
{
    for (uint32_t number = 1; number <= FABRIC_PROVIDERS_MOST; number++) {
        struct summary_provider own = {.ranks = 0};
        if (!run_reader_provider(run, number))
            continue;
        for (size_t i = 0; i < run->block_count; i++) {
            const struct run_block *block = &run->blocks[i];
            if (block->page != number)
                continue;
            if (block->kind == BLOCK_FABRIC && block->cells >= sizeof(struct fabric_cells) / sizeof(uint64_t))
                cells_take(&own, (const struct fabric_cells *)tally_cells(block), run_reader_scale(run));
            if (block->kind == BLOCK_FABRIC_LEVEL && block->cells >= sizeof(struct level_cells) / sizeof(uint64_t))
                own.pending_high = cell_load(&((const struct level_cells *)tally_cells(block))->high);
        }
        provider_add(summary, run_reader_provider(run, number), &own);
    }
}

void summary_fabric_fill(struct summary *summary, const struct figures *from)
{
    summary->fabric_watched = (from->run ? &from->run->header : book.run.header)->fabric_watched == 1;
    summary->fabric_other = figures_one(from, "mpit_fabric_other", VARIABLE_COUNTER, NULL);
    if (from->run)
        run_fill(summary, from->run);
    else
        book_fill(summary);
}

void summary_fabric_merge(struct summary *summary, const struct summary *other)
{
    summary->fabric_watched += other->fabric_watched;
    summary->fabric_other += other->fabric_other;
    for (unsigned i = 0; i < SUMMARY_PROVIDERS_MAX && other->providers[i].name[0]; i++)
        provider_sum(provider_place(summary, other->providers[i].name), &other->providers[i]);
}
