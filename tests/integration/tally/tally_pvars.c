#include "tally_pvars.h"

#include "tally_verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum slots { SLOT_ONE, SLOT_BUCKET, SLOT_PEER, SLOT_OP };

struct figure {
    const char *name;
    int class;
    enum slots slots;
    size_t at; /* in struct book; UNBOOKED: the book has no such figure */
};

#define UNBOOKED ((size_t)-1)
#define FIGURE(name, class, slots, field)                                                                              \
    {                                                                                                                  \
        "mpit_" name, MPI_T_PVAR_CLASS_##class, SLOT_##slots, offsetof(struct book, field)                             \
    }
#define CLOCK(name, slots)                                                                                             \
    {                                                                                                                  \
        "mpit_" name, MPI_T_PVAR_CLASS_TIMER, SLOT_##slots, UNBOOKED                                                   \
    }
#define LEVELS(name, field)                                                                                            \
    FIGURE(name, LEVEL, ONE, field.now), FIGURE(name, HIGHWATERMARK, ONE, field.high),                                 \
        FIGURE(name, LOWWATERMARK, ONE, field.low)

static const struct figure figures[] = {
    FIGURE("comm_size", SIZE, ONE, processes),
    FIGURE("p2p_count", COUNTER, ONE, done_count),
    FIGURE("send_count", COUNTER, ONE, send_count),
    FIGURE("recv_count", COUNTER, ONE, recv_count),
    FIGURE("coll_count", COUNTER, ONE, coll_count),
    FIGURE("coll_op_count", COUNTER, OP, coll_op_count),
    FIGURE("p2p_timeouts", COUNTER, ONE, timeouts),
    FIGURE("send_bytes", AGGREGATE, ONE, send_bytes),
    FIGURE("recv_bytes", AGGREGATE, ONE, recv_bytes),
    FIGURE("coll_bytes", AGGREGATE, ONE, coll_bytes),
    FIGURE("send_size_count", COUNTER, BUCKET, send_size_count),
    FIGURE("recv_size_count", COUNTER, BUCKET, recv_size_count),
    FIGURE("coll_size_count", COUNTER, BUCKET, coll_size_count),
    FIGURE("send_size_bytes", AGGREGATE, BUCKET, send_size_bytes),
    FIGURE("recv_size_bytes", AGGREGATE, BUCKET, recv_size_bytes),
    FIGURE("small_count", COUNTER, ONE, small_count),
    FIGURE("large_count", COUNTER, ONE, large_count),
    FIGURE("peer_send_count", COUNTER, PEER, peer_send_count),
    FIGURE("peer_recv_count", COUNTER, PEER, peer_recv_count),
    FIGURE("peer_send_bytes", AGGREGATE, PEER, peer_send_bytes),
    FIGURE("peer_recv_bytes", AGGREGATE, PEER, peer_recv_bytes),
    FIGURE("message_bytes", HIGHWATERMARK, ONE, message_high),
    FIGURE("message_bytes", LOWWATERMARK, ONE, message_low),
    LEVELS("pending_sends", pending_sends),
    LEVELS("pending_recvs", pending_recvs),
    LEVELS("pending_bytes", pending_bytes),
    CLOCK("comm_time", ONE),
    CLOCK("comm_span", ONE),
    CLOCK("p2p_time", ONE),
    CLOCK("wait_time", ONE),
    CLOCK("p2p_transfer_time", ONE),
    CLOCK("coll_time", ONE),
    CLOCK("coll_op_time", OP),
};

enum { FIGURES = sizeof figures / sizeof figures[0] };

struct pvar_set {
    struct pvar pvars[FIGURES];
};

static MPI_T_pvar_session session;
static struct pvar calls;
static char call_names[PVAR_SLOTS][64], op_names[PVAR_SLOTS][64];
static int call_name_count, op_name_count;

void tool_check(int code, const char *what, const char *name)
{
    if (code != MPI_SUCCESS)
        tally_abort("%s of %s returned %d", what, name, code);
}

struct description {
    int class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum enumeration;
};

static bool describe(const char *name, int class, int *index, struct description *is)
{
    char got[128];
    int length = sizeof got, verbosity;
    if (MPI_T_pvar_get_index(name, class, index) != MPI_SUCCESS)
        return false;
    int code = MPI_T_pvar_get_info(*index, got, &length, &verbosity, &is->class, &is->type, &is->enumeration, NULL,
                                   NULL, &is->bind, &is->readonly, &is->continuous, &is->atomic);
    tool_check(code, "MPI_T_pvar_get_info", name);
    verdict_check(strcmp(got, name) == 0, "%s: get_info says its name is %s", name, got);
    verdict_check(is->class == class, "%s: get_info says its class is %d, not %d", name, is->class, class);
    return true;
}

static bool class_is_continuous(int class)
{
    return class == MPI_T_PVAR_CLASS_LEVEL || class == MPI_T_PVAR_CLASS_SIZE || class == MPI_T_PVAR_CLASS_STATE ||
           class == MPI_T_PVAR_CLASS_PERCENTAGE;
}

static void figure_check(const struct figure *figure)
{
    struct description is;
    int index;
    if (!describe(figure->name, figure->class, &index, &is)) {
        verdict_check(false, "%s: there is no such variable of class %d", figure->name, figure->class);
        return;
    }
    verdict_check(is.type == MPI_UNSIGNED_LONG_LONG, "%s: is not of MPI_UNSIGNED_LONG_LONG", figure->name);
    verdict_check(is.bind == MPI_T_BIND_MPI_COMM, "%s: is not bound to communicators", figure->name);
    if (class_is_continuous(figure->class))
        verdict_check(is.continuous && is.readonly, "%s: is not continuous and read-only", figure->name);
    else
        verdict_check(!is.continuous && !is.readonly, "%s: is continuous or read-only", figure->name);
}

/* The names of an enumeration's items; item i names slot i. */
static int names_read(const char *variable, int class, char names[PVAR_SLOTS][64])
{
    struct description is;
    int index, count, length = 0, value;
    if (!describe(variable, class, &index, &is) || is.enumeration == MPI_T_ENUM_NULL) {
        verdict_check(false, "%s: has no enumeration", variable);
        return 0;
    }
    tool_check(MPI_T_enum_get_info(is.enumeration, &count, NULL, &length), "MPI_T_enum_get_info", variable);
    if (count > PVAR_SLOTS)
        tally_abort("%s: the enumeration has %d items", variable, count);
    for (int i = 0; i < count; i++) {
        length = 64;
        tool_check(MPI_T_enum_get_item(is.enumeration, i, &value, names[i], &length), "MPI_T_enum_get_item", variable);
        verdict_check(value == i, "%s: item %d of the enumeration has value %d", variable, i, value);
    }
    verdict_check(count > 0 && strcmp(names[0], "none") == 0, "%s: item 0 is not none", variable);
    return count;
}

static void process_check(void)
{
    struct description is;
    int index;
    verdict_check(describe("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, &index, &is) &&
                      is.bind == MPI_T_BIND_NO_OBJECT && is.type == MPI_UNSIGNED_LONG_LONG,
                  "mpit_call_count: is not what the catalogue says");
    verdict_check(describe("mpit_current_call", MPI_T_PVAR_CLASS_STATE, &index, &is) &&
                      is.bind == MPI_T_BIND_NO_OBJECT && is.type == MPI_INT && is.readonly && is.continuous,
                  "mpit_current_call: is not what the catalogue says");
    struct pvar limit = pvar_open(session, "mpit_size_bucket_limit", MPI_T_PVAR_CLASS_SIZE, NULL);
    uint64_t limits[PVAR_SLOTS];
    pvar_values(&limit, limits);
    verdict_check(limit.count == BOOK_BUCKETS, "mpit_size_bucket_limit: has %d slots", limit.count);
    for (int i = 0; i + 1 < BOOK_BUCKETS; i++)
        verdict_check(book_bucket(limits[i]) == (unsigned)i && book_bucket(limits[i] + 1) == (unsigned)i + 1,
                      "mpit_size_bucket_limit: slot %d ends at %llu", i, (unsigned long long)limits[i]);
    pvar_close(&limit);
}

bool pvars_open(void)
{
    int index;
    if (MPI_T_pvar_get_index("mpit_send_count", MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS)
        return false;
    tool_check(MPI_T_pvar_session_create(&session), "MPI_T_pvar_session_create", "the main session");
    for (int i = 0; i < FIGURES; i++)
        figure_check(&figures[i]);
    if (verdict_failures())
        return true;
    process_check();
    call_name_count = names_read("mpit_current_call", MPI_T_PVAR_CLASS_STATE, call_names);
    op_name_count = names_read("mpit_coll_op_count", MPI_T_PVAR_CLASS_COUNTER, op_names);
    return true;
}

void pvars_close(void)
{
    pvar_close(&calls);
    tool_check(MPI_T_pvar_session_free(&session), "MPI_T_pvar_session_free", "the main session");
}

struct pvar pvar_open(MPI_T_pvar_session in, const char *name, int class, MPI_Comm *comm)
{
    struct pvar pvar = {.session = in};
    struct description is;
    int index;
    if (!describe(name, class, &index, &is))
        tally_abort("there is no variable %s of class %d", name, class);
    tool_check(MPI_T_pvar_handle_alloc(in, index, comm, &pvar.handle, &pvar.count), "MPI_T_pvar_handle_alloc", name);
    if (pvar.count < 1 || pvar.count > PVAR_SLOTS)
        tally_abort("%s has %d slots", name, pvar.count);
    pvar.continuous = is.continuous;
    return pvar;
}

void pvar_start(const struct pvar *pvar)
{
    if (!pvar->continuous)
        tool_check(MPI_T_pvar_start(pvar->session, pvar->handle), "MPI_T_pvar_start", "a handle");
}

void pvar_values(const struct pvar *pvar, uint64_t *values)
{
    tool_check(MPI_T_pvar_read(pvar->session, pvar->handle, values), "MPI_T_pvar_read", "a handle");
}

uint64_t pvar_value(const struct pvar *pvar, int slot)
{
    uint64_t values[PVAR_SLOTS];
    pvar_values(pvar, values);
    return values[slot];
}

void pvar_close(struct pvar *pvar)
{
    tool_check(MPI_T_pvar_handle_free(pvar->session, &pvar->handle), "MPI_T_pvar_handle_free", "a handle");
    verdict_check(pvar->handle == MPI_T_PVAR_HANDLE_NULL, "handle_free leaves a handle that is not null");
}

static int figure_slots(const struct figure *figure, const struct book *book)
{
    switch (figure->slots) {
    case SLOT_BUCKET:
        return BOOK_BUCKETS;
    case SLOT_PEER:
        return book->size;
    case SLOT_OP:
        return op_name_count;
    default:
        return 1;
    }
}

void pvars_bind(struct book *book)
{
    book->pvars = tally_allocate(sizeof *book->pvars);
    for (int i = 0; i < FIGURES; i++) {
        struct pvar *pvar = &book->pvars->pvars[i];
        *pvar = pvar_open(session, figures[i].name, figures[i].class, &book->comm);
        int slots = figure_slots(&figures[i], book);
        verdict_check(pvar->count == slots, "comm %s %s: has %d slots, not %d", book->name, figures[i].name,
                      pvar->count, slots);
        pvar_start(pvar);
    }
}

void pvars_release(struct book *book)
{
    for (int i = 0; book->pvars && i < FIGURES; i++)
        pvar_close(&book->pvars->pvars[i]);
    free(book->pvars);
    book->pvars = NULL;
}

void pvars_bind_calls(void)
{
    calls = pvar_open(session, "mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, NULL);
    verdict_check(calls.count == call_name_count, "mpit_call_count: has %d slots, its enumeration %d", calls.count,
                  call_name_count);
    pvar_start(&calls);
}

static int name_find(char names[PVAR_SLOTS][64], int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static void figure_values(const struct figure *figure, const struct book *book, uint64_t *values)
{
    const void *field = (const char *)book + figure->at;
    memset(values, 0, PVAR_SLOTS * sizeof *values);
    if (figure->slots == SLOT_PEER)
        memcpy(values, *(uint64_t *const *)field, (size_t)book->size * sizeof *values);
    else if (figure->slots != SLOT_OP)
        memcpy(values, field, (size_t)figure_slots(figure, book) * sizeof *values);
    for (int op = 0; figure->slots == SLOT_OP && op < OP_COUNT; op++) {
        int slot = name_find(op_names, op_name_count, book_op_names[op]);
        verdict_check(slot > 0, "%s: no item is named %s", figure->name, book_op_names[op]);
        values[slot > 0 ? slot : 0] = ((const uint64_t *)field)[op];
    }
}

void pvars_compare(struct book *book)
{
    const char *invalid = book_is_valid(book);
    if (invalid)
        tally_abort("the book of %s does not add up: %s", book->name, invalid);
    for (int i = 0; book->pvars && i < FIGURES; i++) {
        const struct figure *figure = &figures[i];
        uint64_t mpit[PVAR_SLOTS], program[PVAR_SLOTS];
        if (figure->at == UNBOOKED)
            continue;
        pvar_values(&book->pvars->pvars[i], mpit);
        figure_values(figure, book, program);
        for (int slot = 0; slot < figure_slots(figure, book); slot++) {
            char number[16] = "";
            if (figure->slots != SLOT_ONE)
                snprintf(number, sizeof number, "%d", slot);
            const char *class = figure->class == MPI_T_PVAR_CLASS_HIGHWATERMARK  ? "high"
                                : figure->class == MPI_T_PVAR_CLASS_LOWWATERMARK ? "low"
                                                                                 : number;
            verdict_figure(book->name, figure->name, figure->slots == SLOT_OP ? op_names[slot] : class, mpit[slot],
                           program[slot]);
        }
    }
}

void pvars_compare_calls(void)
{
    uint64_t mpit[PVAR_SLOTS], program[PVAR_SLOTS] = {0};
    pvar_values(&calls, mpit);
    for (int i = 0; i < BOOK_CALLS && book_calls[i].name; i++) {
        int slot = name_find(call_names, call_name_count, book_calls[i].name);
        verdict_check(slot > 0, "mpit_call_count: no item is named %s", book_calls[i].name);
        program[slot > 0 ? slot : 0] = slot > 0 ? book_calls[i].count : 0;
    }
    for (int i = 0; i < call_name_count; i++)
        verdict_figure("-", "mpit_call_count", call_names[i], mpit[i], program[i]);
}

uint64_t pvars_read(const struct book *book, const char *name, int slot)
{
    for (int i = 0; i < FIGURES; i++)
        if (strcmp(figures[i].name, name) == 0)
            return pvar_value(&book->pvars->pvars[i], slot);
    tally_abort("no variable %s is bound to %s", name, book->name);
}
