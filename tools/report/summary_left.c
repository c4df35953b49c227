#define _GNU_SOURCE
#include "report/summary_left.h"

#include "base/units.h"
#include "calls.h"
#include "format/label.h"

#include <inttypes.h>
#include <stdlib.h>

/* All calls of all ranks were recorded, and all ranks came to their end. */
static bool all_is_known(const struct summary *summary)
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
    if (all_is_known(summary) && calls_are_simple(summary) && left.sent > received)
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

static void objects_print(const struct summary *summary, FILE *out)
{
    static const char *const names[LEFT_KINDS] = {[LEFT_COMMS] = "communicator", [LEFT_WINDOWS] = "window"};
    char count[UNIT_TEXT_BYTES];
    for (unsigned kind = 0; kind < LEFT_KINDS; kind++) {
        const struct summary_row *most = NULL;
        for (size_t i = 0; i < summary->row_count; i++)
            if (summary->rows[i].left[kind] && (!most || summary->rows[i].left[kind] > most->left[kind]))
                most = &summary->rows[i];
        if (most)
            fprintf(out, "  objects    %s %s%s not freed by rank %" PRId32 "; no rank has more\n",
                    text_of_count(count, most->left[kind]), names[kind], most->left[kind] == 1 ? "" : "s", most->rank);
    }
}

void summary_left_print(const struct summary *summary, FILE *out)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *lines = !all_is_known(summary) ? NULL : open_memstream(&text, &bytes);
    if (!lines)
        return;
    unreceived_print(summary, lines);
    requests_print(summary, lines);
    objects_print(summary, lines);
    if (fclose(lines) == 0 && bytes)
        fprintf(out, "\nLeft at the end\n%s", text);
    free(text);
}
