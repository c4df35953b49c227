#define _GNU_SOURCE
#include "top/toppage.h"

#include "base/units.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- the job's communicators ------------------------------------------------------------------------------------- */

static const struct top_comm *comm_of(const void *item)
{
    return item;
}

/* The figure of struct top_comm, or of another item, at `at`. */
static double item_figure(const void *item, size_t at)
{
    return *(const double *)(const void *)((const char *)item + at);
}

static void comm_rate_text(const void *item, size_t at, char *text, size_t bytes)
{
    char number[TOP_NUMBER_BYTES];
    snprintf(text, bytes, "%s", top_number(number, item_figure(item, at)));
}

static void comm_bytes_text(const void *item, size_t at, char *text, size_t bytes)
{
    char number[TOP_NUMBER_BYTES];
    snprintf(text, bytes, "%s", top_bytes(number, item_figure(item, at)));
}

static void comm_share_text(const void *item, size_t at, char *text, size_t bytes)
{
    snprintf(text, bytes, "%.1f", 100 * item_figure(item, at));
}

static double size_key(const void *item)
{
    return -(double)comm_of(item)->size;
}

static void size_text(const void *item, char *text, size_t bytes)
{
    snprintf(text, bytes, "%" PRId32, comm_of(item)->size);
}

static double ranks_key(const void *item)
{
    return -(double)comm_of(item)->ranks;
}

static void comm_ranks_text(const void *item, char *text, size_t bytes)
{
    snprintf(text, bytes, "%" PRIu32, comm_of(item)->ranks);
}

static double time_key(const void *item)
{
    return -(double)comm_of(item)->time_ns;
}

static void comm_time_text(const void *item, char *text, size_t bytes)
{
    char time[UNIT_TEXT_BYTES];
    snprintf(text, bytes, "%s", text_of_ns(time, comm_of(item)->time_ns));
}

static void comm_bar_text(const void *item, char *text, size_t bytes)
{
    const struct top_comm *comm = item;
    top_bar(text, bytes, 12, comm->share - comm->stall, comm->stall);
}

static void comm_name_text(const void *item, char *text, size_t bytes)
{
    char title[COMM_TITLE_BYTES];
    const struct top_comm *comm = item;
    snprintf(text, bytes, "%s%s", comm_title(title, comm->name, comm->label), comm->is_sum ? " (freed ones)" : "");
}

#define COMM_FIGURE(show, field) .value_text = (show), .value = item_figure, .at = offsetof(struct top_comm, field)

static const struct top_column comm_columns[] = {
    {"time %", 6, 1, false, COMM_FIGURE(comm_share_text, share)},
    {"stalled %", 9, 3, false, COMM_FIGURE(comm_share_text, stall)},
    {"#work|stall.", 12, 7, true, .text = comm_bar_text, .value = item_figure, .at = offsetof(struct top_comm, share)},
    {"sent/s", 6, 2, false, COMM_FIGURE(comm_rate_text, sent_rate)},
    {"coll/s", 6, 2, false, COMM_FIGURE(comm_rate_text, coll_rate)},
    {"sent B/s", 8, 4, false, COMM_FIGURE(comm_bytes_text, sent_byte_rate)},
    {"time", 8, 6, false, .text = comm_time_text, .key = time_key},
    {"size", 6, 5, false, .text = size_text, .key = size_key},
    {"seen", 6, 9, false, .text = comm_ranks_text, .key = ranks_key},
    {"communicator", 20, 1, true, .text = comm_name_text},
};
enum { COMM_COLUMNS = sizeof comm_columns / sizeof *comm_columns };

void top_comms_add(struct top_page *page, const struct top_view *view, const struct top_job *job)
{
    const void **items = calloc(job->comm_count + 1, sizeof *items);
    size_t count = 0;
    for (size_t i = 0; items && i < job->comm_count; i++) {
        char title[COMM_TITLE_BYTES + 20];
        comm_name_text(job->comms[i], title, sizeof title);
        if (!view->filter[0] || strcasestr(title, view->filter))
            items[count++] = job->comms[i];
    }
    if (items)
        top_table_add(page, view, comm_columns, COMM_COLUMNS, items, count);
    free(items);
}

/* ---- one of them, by rank ---------------------------------------------------------------------------------------- */

/* A row for a communicator and a rank. */
struct member {
    struct keyed keyed;
    const struct top_rank *rank;
    const struct top_slot *slot;
    const struct comm_record *record;
};

static const struct member *member_item(const void *item)
{
    return item;
}

static double member_key(const void *item)
{
    return member_item(item)->rank->rank;
}

static void member_text(const void *item, char *text, size_t bytes)
{
    snprintf(text, bytes, "%" PRId32, member_item(item)->rank->rank);
}

static void member_place_text(const void *item, char *text, size_t bytes)
{
    snprintf(text, bytes, "%" PRId32, member_item(item)->record->rank);
}

static double place_key(const void *item)
{
    return member_item(item)->record->rank;
}

static double member_figure(const void *item, size_t at)
{
    return item_figure(member_item(item)->slot, at);
}

static void member_rate_text(const void *item, size_t at, char *text, size_t bytes)
{
    comm_rate_text(member_item(item)->slot, at, text, bytes);
}

static void member_bytes_text(const void *item, size_t at, char *text, size_t bytes)
{
    comm_bytes_text(member_item(item)->slot, at, text, bytes);
}

static void member_share_text(const void *item, size_t at, char *text, size_t bytes)
{
    comm_share_text(member_item(item)->slot, at, text, bytes);
}

static double member_total_key(const void *item)
{
    return -(double)member_item(item)->slot->now.sent;
}

static void member_total_text(const void *item, char *text, size_t bytes)
{
    char count[UNIT_TEXT_BYTES];
    snprintf(text, bytes, "%s", text_of_count(count, member_item(item)->slot->now.sent));
}

static void member_call_text(const void *item, char *text, size_t bytes)
{
    const struct top_rank *rank = member_item(item)->rank;
    if (rank->busy)
        top_call_text(text, bytes, &rank->busy->call);
}

#define SLOT_FIGURE(show, field) .value_text = (show), .value = member_figure, .at = offsetof(struct top_slot, field)

static const struct top_column member_columns[] = {
    {"rank", 5, 1, false, .text = member_text, .key = member_key},
    {"in it", 5, 4, false, .text = member_place_text, .key = place_key},
    {"time %", 6, 1, false, SLOT_FIGURE(member_share_text, time)},
    {"stalled %", 9, 2, false, SLOT_FIGURE(member_share_text, stall)},
    {"sent/s", 6, 2, false, SLOT_FIGURE(member_rate_text, sent_rate)},
    {"coll/s", 6, 2, false, SLOT_FIGURE(member_rate_text, coll_rate)},
    {"sent B/s", 8, 3, false, SLOT_FIGURE(member_bytes_text, sent_byte_rate)},
    {"sent", 8, 6, false, .text = member_total_text, .key = member_total_key},
    {"call", 14, 1, true, .text = member_call_text},
};
enum { MEMBER_COLUMNS = sizeof member_columns / sizeof *member_columns };

static const struct top_comm *comm_chosen(const struct top_view *view, const struct top_job *job)
{
    for (size_t i = 0; i < job->comm_count; i++)
        if (memcmp(job->comms[i]->keyed.key, view->comm, sizeof view->comm) == 0)
            return job->comms[i];
    return NULL;
}

/* Returns the rank's place in it, or 0. */
static uint32_t slot_named(const struct top_rank *rank, const char *name)
{
    const struct run_reader *run = &rank->process->run;
    for (uint32_t slot = 1; rank->state != TOP_UNREADABLE && slot < run->slot_count && slot < rank->slot_count;
         slot++) {
        char clean[COMM_NAME_BYTES];
        if (run->comms[slot] &&
            (label_clean(clean, sizeof clean, run->comms[slot]->name, COMM_NAME_BYTES), strcmp(clean, name) == 0))
            return slot;
    }
    return 0;
}

void top_comm_add(struct top_page *page, const struct top_view *view, const struct top_job *job)
{
    const struct top_comm *comm = comm_chosen(view, job);
    char title[COMM_TITLE_BYTES], time[UNIT_TEXT_BYTES], count[UNIT_TEXT_BYTES];
    if (!comm) {
        top_page_add(page, 0, 0, "the communicator no longer exists");
        return;
    }
    struct member *members = calloc(job->rank_count + 1, sizeof *members);
    const void **items = calloc(job->rank_count + 1, sizeof *items);
    size_t found = 0;
    top_page_add(page, 0, 0, "%ccommunicator %s%c  of %" PRId32 " processes; %s in it, %s messages sent or received",
                 STYLE_TITLE, comm_title(title, comm->name, comm->label), STYLE_PLAIN, comm->size,
                 text_of_ns(time, comm->time_ns), text_of_count(count, comm->messages));
    for (size_t i = 0; members && items && i < job->rank_count; i++) {
        const struct top_rank *rank = job->ranks[i];
        uint32_t slot = slot_named(rank, comm->name);
        if (!slot || !top_view_wants(view, rank->rank, rank->host))
            continue;
        members[found] = (struct member){rank->keyed, rank, &rank->slots[slot], rank->process->run.comms[slot]};
        items[found] = &members[found];
        found++;
    }
    if (members && items)
        top_table_add(page, view, member_columns, MEMBER_COLUMNS, items, found);
    free(members);
    free(items);
}
