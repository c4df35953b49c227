#include "top/toppage.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the job's communicators ------------------------------------------------------------------------------------- */

static void comm_bar_text(const void *item, char *text, size_t bytes)
{
    const struct top_comm *comm = item;
    top_bar(text, bytes, 12, comm->rates.time - comm->rates.stall, comm->rates.stall);
}

static void comm_name_text(const void *item, char *text, size_t bytes)
{
    char title[COMM_TITLE_BYTES];
    const struct top_comm *comm = item;
    snprintf(text, bytes, "%s%s", comm_title(title, comm->name, comm->label), comm->is_sum ? " (freed ones)" : "");
}

#define COMM_RATE(how, field) FIGURE(how, struct top_comm, rates.field)

static const struct top_column comm_columns[] = {
    {"time %", 6, 1, false, COMM_RATE(FORM_SHARE, time)},
    {"stalled %", 9, 3, false, COMM_RATE(FORM_SHARE, stall)},
    {"#work|stall.", 12, 7, true, .text = comm_bar_text, COMM_RATE(FORM_SHARE, time)},
    {"sent/s", 6, 2, false, COMM_RATE(FORM_NUMBER, sent)},
    {"coll/s", 6, 2, false, COMM_RATE(FORM_NUMBER, colls)},
    {"sent B/s", 8, 4, false, COMM_RATE(FORM_BYTES, sent_bytes)},
    {"time", 8, 6, false, FIGURE(FORM_NS, struct top_comm, time_ns)},
    {"size", 6, 5, false, FIGURE(FORM_INTEGER, struct top_comm, size)},
    {"seen", 6, 9, false, FIGURE(FORM_INTEGER, struct top_comm, ranks)},
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

static void member_call_text(const void *item, char *text, size_t bytes)
{
    const struct top_rank *rank = ((const struct member *)item)->rank;
    if (rank->busy)
        top_call_text(text, bytes, &rank->busy->call);
}

#define SLOT_RATE(how, field) FIGURE(how, struct top_slot, rates.field), .through = offsetof(struct member, slot)

static const struct top_column member_columns[] = {
    {"rank", 5, 1, false, FIGURE(FORM_INTEGER, struct top_rank, rank), .through = offsetof(struct member, rank),
     .rising = true},
    {"in it", 5, 4, false, FIGURE(FORM_INTEGER, struct comm_record, rank), .through = offsetof(struct member, record),
     .rising = true},
    {"time %", 6, 1, false, SLOT_RATE(FORM_SHARE, time)},
    {"stalled %", 9, 2, false, SLOT_RATE(FORM_SHARE, stall)},
    {"sent/s", 6, 2, false, SLOT_RATE(FORM_NUMBER, sent)},
    {"coll/s", 6, 2, false, SLOT_RATE(FORM_NUMBER, colls)},
    {"sent B/s", 8, 3, false, SLOT_RATE(FORM_BYTES, sent_bytes)},
    {"sent", 8, 6, false, FIGURE(FORM_COUNT, struct top_slot, now.sent), .through = offsetof(struct member, slot)},
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
