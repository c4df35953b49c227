#define _GNU_SOURCE
#include "report/summary_left.h"

#include "base/units.h"
#include "calls.h"
#include "format/label.h"
#include "report/summary_sites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT_PLACES_SHOWN = 3 };

bool left_is_known(const struct summary *summary)
{
    bool lost = false;
    for (size_t i = 0; i < LOSS_COUNT; i++)
        lost |= summary->lost[i] && i != LOSS_TRACE_LIMIT && i != LOSS_CALL_PATHS;
    return !lost && !summary->ended_badly && summary->ranks == summary->world_size && !summary->filter[0] &&
           !summary->filter_mixed && summary->off_seconds.max <= 0 && !summary->spawned;
}

/* A cancelled message stays a message sent, a receive that is freed is never counted, and processes of other jobs receive
 * without being in the summary. */
static bool calls_are_simple(const struct summary *summary)
{
    static const enum call others[] = {
        CALL_MPI_Cancel,      CALL_MPI_Request_free, CALL_MPI_Comm_spawn, CALL_MPI_Comm_spawn_multiple,
        CALL_MPI_Comm_accept, CALL_MPI_Comm_connect, CALL_MPI_Comm_join};
    uint64_t calls = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        calls += summary->calls[others[i]].count;
    return calls == 0;
}

struct unreceived unreceived_find(const struct summary *summary)
{
    struct unreceived left = {0, 0, NULL};
    uint64_t received = 0, most = 0;
    for (size_t i = 0; i < summary->comm_count; i++) {
        const struct summary_comm *comm = &summary->comms[i];
        uint64_t taken = comm->recv_count + comm->left_recvs,
                 here = comm->send_count > taken ? comm->send_count - taken : 0;
        left.sent += comm->send_count;
        received += taken;
        if (here > most) {
            most = here;
            left.comm = comm;
        }
    }
    if (left_is_known(summary) && calls_are_simple(summary) && left.sent > received)
        left.count = left.sent - received;
    return left;
}

static void unreceived_print(const struct summary *summary, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], title[COMM_TITLE_BYTES];
    struct unreceived left = unreceived_find(summary);
    if (left.count)
        fprintf(out, "  messages   %s of %s were sent and not received, most on %s\n", text_of_count(a, left.count),
                text_of_count(b, left.sent), comm_title(title, left.comm->name, left.comm->label));
}

static void requests_print(const struct summary *summary, FILE *out)
{
    char count[UNIT_TEXT_BYTES], title[COMM_TITLE_BYTES];
    for (size_t i = 0; i < summary->comm_count; i++) {
        const struct summary_comm *comm = &summary->comms[i];
        comm_title(title, comm->name, comm->label);
        if (comm->left_sends)
            fprintf(out, "  requests   %s to send on %s not complete\n", text_of_count(count, comm->left_sends), title);
        if (comm->left_recvs)
            fprintf(out, "  requests   %s to receive on %s not complete\n", text_of_count(count, comm->left_recvs),
                    title);
    }
}

const char *left_kind_text(enum left_kind kind, uint64_t count, char text[LEFT_TEXT_BYTES])
{
    static const char *const names[LEFT_KINDS] = {
        [LEFT_NONE] = "objects",       [LEFT_COMM] = "communicators",
        [LEFT_WINDOW] = "windows",     [LEFT_FILE] = "files",
        [LEFT_DATATYPE] = "datatypes", [LEFT_GROUP] = "groups",
        [LEFT_REQUEST] = "requests",   [LEFT_PERSISTENT] = "persistent requests"};
    char number[UNIT_TEXT_BYTES];
    snprintf(text, LEFT_TEXT_BYTES, "%s %.*s", text_of_count(number, count), (int)strlen(names[kind]) - (count == 1),
             names[kind]);
    return text;
}

const char *left_verb_text(enum left_kind kind)
{
    return kind == LEFT_REQUEST ? "completed" : kind == LEFT_FILE ? "closed" : "freed";
}

/* The places where objects of this kind were made, the most first. */
static void places_print(const struct summary_sites *sites, struct summary_site *places, size_t count,
                         enum left_kind kind, FILE *out)
{
    for (unsigned shown = 0; shown < LEFT_PLACES_SHOWN; shown++) {
        struct summary_site *most = NULL;
        char text[SITE_PLACE_BYTES], number[UNIT_TEXT_BYTES];
        for (size_t i = 0; i < count; i++)
            if (places[i].not_freed && left_kind_of((enum call)places[i].kind) == kind &&
                (!most || places[i].not_freed > most->not_freed))
                most = &places[i];
        if (!most)
            return;
        fprintf(out, "             %s made by %s at %s%s\n", text_of_count(number, most->not_freed),
                call_table[most->kind].name, site_place_text(sites, summary_site_of(sites, most->hash), text),
                most->not_freed_growing ? ", all through the run" : "");
        most->not_freed = 0;
    }
}

static void objects_print(const struct summary *summary, FILE *out)
{
    char text[LEFT_TEXT_BYTES];
    size_t count = 0;
    struct summary_site *places = places_by_time(&summary->sites, &count);
    for (enum left_kind kind = LEFT_COMM; kind < LEFT_KINDS; kind++) {
        const struct summary_row *most = NULL;
        for (size_t i = 0; i < summary->row_count; i++)
            if (summary->rows[i].left[kind] && (!most || summary->rows[i].left[kind] > most->left[kind]))
                most = &summary->rows[i];
        if (!most)
            continue;
        fprintf(out, "  objects    %s not %s by rank %" PRId32 "; no rank has more\n",
                left_kind_text(kind, most->left[kind], text), left_verb_text(kind), most->rank);
        places_print(&summary->sites, places, places ? count : 0, kind, out);
    }
    free(places);
}

void summary_left_print(const struct summary *summary, FILE *out)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *lines = !left_is_known(summary) ? NULL : open_memstream(&text, &bytes);
    if (!lines)
        return;
    unreceived_print(summary, lines);
    requests_print(summary, lines);
    objects_print(summary, lines);
    if (fclose(lines) == 0 && bytes)
        fprintf(out, "\nLeft at the end\n%s", text);
    free(text);
}
