#include "top/toppage.h"

#include "base/array.h"
#include "calls.h"
#include "figures/figures.h"
#include "base/units.h"
#include "job/valuelist.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALL_TEXT_BYTES = 1024,
    THREAD_CALL_COLUMN = 36,
    VALUE_INDENT = 4,
    CALLS_SHOWN = 16,
    COMMS_SHOWN = 12,
    PEERS_SHOWN = 16
};

static void heading(struct top_page *page, const char *text)
{
    top_page_add(page, 0, 0, "%s", "");
    int missing = page->width - top_text_columns(text);
    top_page_add(page, 0, 0, "%c%s%*s", STYLE_HEAD, text, missing > 0 ? missing : 0, "");
}

/* ---- what it calls ----------------------------------------------------------------------------------------------- */

/* A call under way is not in the counters yet. */
static void focus_add_calls(struct top_focus *focus, struct live_process *process)
{
    const struct run_reader *run = &process->run;
    for (size_t i = 0; i < run->thread_count && !run_phase_is_end(run->header.phase); i++) {
        struct live_thread thread;
        live_thread_read(process, i, &thread);
        uint32_t kind = thread.state.call;
        if (kind && kind < TOP_CALLS_MOST) {
            focus->count[kind] += focus->count[kind] == 0; /* shows it */
            focus->time_ns[kind] += thread.since_ns;
        }
    }
}

void top_focus_update(struct top_view *view, const struct top_model *model)
{
    struct top_focus *focus = &view->focus;
    const struct top_job *job = top_view_job(view, model);
    const struct top_rank *rank = job ? top_view_rank(view, job) : NULL;
    if (!rank || rank->state == TOP_UNREADABLE)
        return;
    const struct figures figures = {&rank->process->run};
    memcpy(focus->count_before, focus->count, sizeof focus->count);
    memcpy(focus->time_before, focus->time_ns, sizeof focus->time_ns);
    focus->ns_before = focus->ns;
    live_now(rank->process);
    focus->ns = rank->process->now_ns;
    figures_read(&figures, "mpit_call_count", VARIABLE_COUNTER, NULL, focus->count, TOP_CALLS_MOST);
    figures_read(&figures, "mpit_call_time", VARIABLE_TIMER, NULL, focus->time_ns, TOP_CALLS_MOST);
    focus_add_calls(focus, rank->process);
    if (!focus->known) { /* the first look shows no interval */
        memcpy(focus->count_before, focus->count, sizeof focus->count);
        memcpy(focus->time_before, focus->time_ns, sizeof focus->time_ns);
        focus->ns_before = focus->ns;
    }
    focus->known = true;
}

static const struct top_focus *sort_focus;

static uint64_t count_growth(const uint64_t *now, const uint64_t *before, unsigned kind)
{
    return now[kind] > before[kind] ? now[kind] - before[kind] : 0;
}

/* Sorts by the time in the interval, then by the total. */
static int kind_order(const void *one, const void *other)
{
    unsigned a = *(const unsigned *)one, b = *(const unsigned *)other;
    uint64_t x = count_growth(sort_focus->time_ns, sort_focus->time_before, a);
    uint64_t y = count_growth(sort_focus->time_ns, sort_focus->time_before, b);
    return ORDER(y, x) ?: ORDER(sort_focus->time_ns[b], sort_focus->time_ns[a]) ?: ORDER(a, b);
}

static void detail_calls_add(struct top_page *page, const struct top_view *view, const struct top_rank *rank)
{
    const struct top_focus *focus = &view->focus;
    unsigned kinds[TOP_CALLS_MOST], count = 0;
    double seconds = focus->ns > focus->ns_before ? (double)(focus->ns - focus->ns_before) * 1e-9 : 0;
    for (unsigned kind = 1; kind < TOP_CALLS_MOST; kind++)
        if (focus->count[kind])
            kinds[count++] = kind;
    sort_focus = focus;
    qsort(kinds, count, sizeof *kinds, kind_order);
    heading(page, "function                      time %   calls/s       time          calls");
    for (unsigned i = 0; i < count && i < CALLS_SHOWN; i++) {
        char name[CALL_NAME_BYTES], rate[TOP_NUMBER_BYTES], time[UNIT_TEXT_BYTES], calls[UNIT_TEXT_BYTES];
        unsigned kind = kinds[i];
        double spent = (double)count_growth(focus->time_ns, focus->time_before, kind) * 1e-9;
        double made = (double)count_growth(focus->count, focus->count_before, kind);
        label_clean(name, sizeof name, run_reader_call_name(&rank->process->run, kind), CALL_NAME_BYTES);
        top_page_add(page, 0, 0, "%-28.28s %7.1f %9s %10s %14s", name,
                     seconds <= 0       ? 0
                     : spent >= seconds ? 100
                                        : 100 * spent / seconds,
                     top_number(rate, seconds > 0 ? made / seconds : 0), text_of_ns(time, focus->time_ns[kind]),
                     text_of_count(calls, focus->count[kind]));
    }
}

/* ---- its threads and communicators ------------------------------------------------------------------------------- */

static void threads_add(struct top_page *page, const struct top_rank *rank)
{
    heading(page, "thread       tid  MPI %  stalled %  call");
    for (size_t i = 0; i < rank->thread_count; i++) {
        const struct top_thread *thread = &rank->threads[i];
        char call[CALL_TEXT_BYTES] = "ended", stalled[UNIT_TEXT_BYTES + 16] = "", time[UNIT_TEXT_BYTES],
             line[CALL_TEXT_BYTES + 128];
        if (!thread->ended)
            top_call_text(call, sizeof call, &thread->call);
        if (thread->call.stall_ns && !thread->ended)
            snprintf(stalled, sizeof stalled, ", stalled for %s", text_of_ns(time, thread->call.stall_ns));
        snprintf(line, sizeof line, "%6" PRIu32 " %9" PRId32 "  %5.1f  %9.1f  %s%s", thread->index, thread->tid,
                 100 * thread->mpi, 100 * thread->stall, call, stalled);
        top_page_wrap(page, STYLE_PLAIN, THREAD_CALL_COLUMN, line);
    }
}

/* A slot by its number. */
struct place {
    uint32_t slot;
    const struct top_slot *figures;
};

static int detail_place_order(const void *one, const void *other)
{
    const struct place *a = one, *b = other;
    return ORDER(b->figures->rates.time, a->figures->rates.time)
               ?: ORDER(b->figures->now.time_ns, a->figures->now.time_ns);
}

static void detail_slots_add(struct top_page *page, const struct top_rank *rank)
{
    const struct run_reader *run = &rank->process->run;
    struct place *places = calloc(rank->slot_count + 1, sizeof *places);
    size_t count = 0;
    for (uint32_t slot = 1; places && slot < run->slot_count && slot < rank->slot_count; slot++)
        if (run->comms[slot])
            places[count++] = (struct place){slot, &rank->slots[slot]};
    if (count)
        qsort(places, count, sizeof *places, detail_place_order);
    heading(page, "time %  stalled %   sent/s   coll/s   sent B/s  communicator");
    for (size_t i = 0; i < count && i < COMMS_SHOWN; i++) {
        const struct comm_record *record = run->comms[places[i].slot];
        const struct top_comm_rates *rates = &places[i].figures->rates;
        char title[COMM_TITLE_BYTES], a[TOP_NUMBER_BYTES], b[TOP_NUMBER_BYTES], c[TOP_NUMBER_BYTES];
        top_page_add(page, 0, 0, "%6.1f %10.1f %8s %8s %10s  %s", 100 * rates->time, 100 * rates->stall,
                     top_number(a, rates->sent), top_number(b, rates->colls), top_bytes(c, rates->sent_bytes),
                     comm_title(title, record->name, record->label));
    }
    if (count > COMMS_SHOWN)
        top_page_add(page, 0, 0, "%6s and %zu more", "", count - COMMS_SHOWN);
    free(places);
}

/* ---- its peers --------------------------------------------------------------------------------------------------- */

struct peer {
    uint32_t slot;
    int32_t rank;
    uint64_t sent, sent_bytes, received, received_bytes;
};

struct peers {
    struct peer *list;
    size_t count;
};

static int peer_order(const void *one, const void *other)
{
    const struct peer *a = one, *b = other;
    uint64_t x = a->sent_bytes + a->received_bytes, y = b->sent_bytes + b->received_bytes;
    return ORDER(y, x) ?: ORDER(b->sent + b->received, a->sent + a->received);
}

static bool comm_peers(const struct run_reader *run, const struct figures_comm *comm, struct peers *peers)
{
    static const struct {
        const char *name;
        enum variable_class class;
    } wanted[4] = {{"mpit_peer_send_count", VARIABLE_COUNTER},
                   {"mpit_peer_send_bytes", VARIABLE_AGGREGATE},
                   {"mpit_peer_recv_count", VARIABLE_COUNTER},
                   {"mpit_peer_recv_bytes", VARIABLE_AGGREGATE}};
    const struct figures figures = {run};
    size_t count = comm->peers > 0 && comm->peers <= 1 << 20 ? (size_t)comm->peers : 0;
    uint64_t *values = calloc(4 * count + 1, sizeof *values);
    struct peer *list = reallocarray(peers->list, peers->count + count + 1, sizeof *list);
    peers->list = list ? list : peers->list;
    for (size_t k = 0; values && list && count && k < 4; k++)
        figures_read(&figures, wanted[k].name, wanted[k].class, comm, values + k * count, count);
    for (size_t i = 0; values && list && i < count; i++)
        if (values[i] || values[2 * count + i])
            list[peers->count++] = (struct peer){
                comm->slot, (int32_t)i, values[i], values[count + i], values[2 * count + i], values[3 * count + i]};
    bool good = values && list;
    free(values);
    return good;
}

static void peers_add(struct top_page *page, const struct top_rank *rank)
{
    const struct run_reader *run = &rank->process->run;
    struct peers peers = {0};
    struct figures_comm comm;
    for (uint32_t at = 0; figures_comm_next(&(struct figures){run}, &at, &comm);)
        if (!comm.is_sum && !comm_peers(run, &comm, &peers))
            break;
    if (peers.count)
        qsort(peers.list, peers.count, sizeof *peers.list, peer_order);
    heading(page, "  peer      sent       bytes  received       bytes  communicator");
    for (size_t i = 0; i < peers.count && i < PEERS_SHOWN; i++) {
        const struct peer *peer = &peers.list[i];
        const struct comm_record *record = run->comms[peer->slot];
        char title[COMM_TITLE_BYTES], a[TOP_NUMBER_BYTES], b[UNIT_TEXT_BYTES], c[TOP_NUMBER_BYTES], d[UNIT_TEXT_BYTES];
        top_page_add(page, 0, 0, "%6" PRId32 " %9s %11s %9s %11s  %s", peer->rank, top_number(a, (double)peer->sent),
                     text_of_bytes(b, peer->sent_bytes), top_number(c, (double)peer->received),
                     text_of_bytes(d, peer->received_bytes), comm_title(title, record->name, record->label));
    }
    if (peers.count > PEERS_SHOWN)
        top_page_add(page, 0, 0, "%6s and %zu more", "", peers.count - PEERS_SHOWN);
    free(peers.list);
}

/* ---- its counters, and all of it --------------------------------------------------------------------------------- */

static void counters_add(struct top_page *page, const struct top_job *job, const struct top_rank *rank)
{
    bool some = false;
    for (unsigned i = 0; i < COUNTER_COUNT; i++) {
        char name[COUNTER_NAME_BYTES], rate[TOP_NUMBER_BYTES], count[UNIT_TEXT_BYTES];
        if (!job->counters[i])
            continue;
        if (!some)
            heading(page, "      by s               total  counter");
        some = true;
        label_clean(name, sizeof name, job->counters[i], COUNTER_NAME_BYTES);
        top_page_add(page, 0, 0, "%10s %19s  %s%s", top_number(rate, rank->rates.counters[i]),
                     text_of_count(count, rank->now.counters[i]), name, i == COUNTER_OS_TIME ? " (ns)" : "");
    }
}

static void rank_title(struct top_page *page, const struct top_rank *rank)
{
    char time[UNIT_TEXT_BYTES], problem[256];
    char share[32] = "";
    if (top_rank_has_shares(rank))
        snprintf(share, sizeof share, "; MPI %.1f %%", 100 * rank->rates.mpi);
    top_page_add(page, 0, 0, "%crank %" PRId32 "%c  process %" PRIu32 " on %s, %s, for %s%s", STYLE_TITLE, rank->rank,
                 STYLE_PLAIN, rank->pid, rank->host, top_state_name(rank->state), text_of_ns(time, rank->run_ns),
                 share);
    if (rank->waits[0])
        top_page_add(page, 0, 0, "%cin %s, waits %s%c", STYLE_STALL, rank->busy ? rank->busy->call.name : "",
                     rank->waits, STYLE_PLAIN);
    label_clean(problem, sizeof problem, rank->problem, sizeof problem);
    if (problem[0])
        top_page_add(page, 0, 0, "%cits file %s%c", STYLE_BAD, problem, STYLE_PLAIN);
    page->head = page->count;
}

void top_rank_add(struct top_page *page, const struct top_view *view, const struct top_job *job)
{
    const struct top_rank *rank = top_view_rank(view, job);
    if (!rank) {
        top_page_add(page, 0, 0, "the process no longer exists");
        return;
    }
    rank_title(page, rank);
    if (rank->state == TOP_UNREADABLE)
        return;
    threads_add(page, rank);
    detail_calls_add(page, view, rank);
    detail_slots_add(page, rank);
    peers_add(page, rank);
    counters_add(page, job, rank);
}

/* Adds every variable of the file, with the names from the file. */
void top_values_add(struct top_page *page, const struct top_view *view, const struct top_job *job)
{
    const struct top_rank *rank = top_view_rank(view, job);
    if (!rank && job->rank_count)
        rank = job->ranks[0];
    if (!rank || rank->state == TOP_UNREADABLE) {
        top_page_add(page, 0, 0, "its run file does not exist");
        return;
    }
    rank_title(page, rank);
    json_t *list = json_array();
    value_list_add(list, &rank->process->run, NULL);
    for (size_t i = 0; i < json_array_size(list); i++) {
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        if (!out)
            break;
        value_entry_print(json_array_get(list, i), out);
        if (fclose(out) == 0 && bytes && (!view->filter[0] || strcasestr(text, view->filter))) {
            char *clean = malloc(bytes + 1); /* names and units may have any bytes */
            if (clean) {
                label_clean(clean, bytes + 1, text, strcspn(text, "\n"));
                top_page_wrap(page, STYLE_PLAIN, VALUE_INDENT, clean);
            }
            free(clean);
        }
        free(text);
    }
    json_decref(list);
}
