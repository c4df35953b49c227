#define _GNU_SOURCE
#include "top/toppage.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the job's communicators ------------------------------------------------------------------------------------- */

static const struct top_comm *comm_of(const void *item)
{
    return item;
}

#define COMM_RATE(name, field, write)                                                                                  \
    static double name##_key(const void *item)                                                                         \
    {                                                                                                                  \
        return -comm_of(item)->field;                                                                                  \
    }                                                                                                                  \
    static void name##_text(const void *item, char *text, size_t bytes)                                                \
    {                                                                                                                  \
        char number[TOP_NUMBER_BYTES];                                                                                 \
        snprintf(text, bytes, "%s", write(number, comm_of(item)->field));                                              \
    }
#define COMM_SHARE(name, field)                                                                                        \
    static double name##_key(const void *item)                                                                         \
    {                                                                                                                  \
        return -comm_of(item)->field;                                                                                  \
    }                                                                                                                  \
    static void name##_text(const void *item, char *text, size_t bytes)                                                \
    {                                                                                                                  \
        snprintf(text, bytes, "%.1f", 100 * comm_of(item)->field);                                                     \
    }

COMM_SHARE(share, share)
COMM_SHARE(stalled, stall)
COMM_RATE(sent, sent_rate, top_number)
COMM_RATE(colls, coll_rate, top_number)
COMM_RATE(sent_bytes, sent_byte_rate, top_bytes)

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

static const struct top_column comm_columns[] = {
    {"time %", 6, 1, false, share_text, share_key},          {"stalled %", 9, 3, false, stalled_text, stalled_key},
    {"#work|stall.", 12, 7, true, comm_bar_text, share_key}, {"sent/s", 6, 2, false, sent_text, sent_key},
    {"coll/s", 6, 2, false, colls_text, colls_key},          {"sent B/s", 8, 4, false, sent_bytes_text, sent_bytes_key},
    {"time", 8, 6, false, comm_time_text, time_key},         {"size", 6, 5, false, size_text, size_key},
    {"seen", 6, 9, false, comm_ranks_text, ranks_key},       {"communicator", 20, 1, true, comm_name_text, NULL},
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

#define MEMBER_RATE(name, field, write)                                                                                \
    static double name##_key(const void *item)                                                                         \
    {                                                                                                                  \
        return -(double)(member_item(item)->slot->field);                                                              \
    }                                                                                                                  \
    static void name##_text(const void *item, char *text, size_t bytes)                                                \
    {                                                                                                                  \
        char number[TOP_NUMBER_BYTES];                                                                                 \
        snprintf(text, bytes, "%s", write(number, (double)(member_item(item)->slot->field)));                          \
    }

static const char *share_number(char text[TOP_NUMBER_BYTES], double share)
{
    snprintf(text, TOP_NUMBER_BYTES, "%.1f", 100 * share);
    return text;
}

static const char *whole_number(char text[TOP_NUMBER_BYTES], double count)
{
    return text_of_count(text, (uint64_t)count);
}

MEMBER_RATE(member_share, time, share_number)
MEMBER_RATE(member_stall, stall, share_number)
MEMBER_RATE(member_sent, sent_rate, top_number)
MEMBER_RATE(member_colls, coll_rate, top_number)
MEMBER_RATE(member_sent_bytes, sent_byte_rate, top_bytes)
MEMBER_RATE(member_total, now.sent, whole_number)

static void member_call_text(const void *item, char *text, size_t bytes)
{
    const struct top_rank *rank = member_item(item)->rank;
    if (rank->busy)
        top_call_text(text, bytes, &rank->busy->call);
}

static const struct top_column member_columns[] = {
    {"rank", 5, 1, false, member_text, member_key},
    {"in it", 5, 4, false, member_place_text, place_key},
    {"time %", 6, 1, false, member_share_text, member_share_key},
    {"stalled %", 9, 2, false, member_stall_text, member_stall_key},
    {"sent/s", 6, 2, false, member_sent_text, member_sent_key},
    {"coll/s", 6, 2, false, member_colls_text, member_colls_key},
    {"sent B/s", 8, 3, false, member_sent_bytes_text, member_sent_bytes_key},
    {"sent", 8, 6, false, member_total_text, member_total_key},
    {"call", 14, 1, true, member_call_text, NULL},
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
