/* Classes of performance variables: first values, what they may do; and the standard's example. */
#include "survey.h"

#include <math.h>
#include <string.h>

static bool is_mark(const struct pvar *p)
{
    return p->class == MPI_T_PVAR_CLASS_HIGHWATERMARK || p->class == MPI_T_PVAR_CLASS_LOWWATERMARK;
}

/* The LEVEL of the resource whose mark this is, which has the same name. */
static const struct pvar *level_of(const struct pvar *mark)
{
    return pvar_named(mark->name, MPI_T_PVAR_CLASS_LEVEL);
}

TEST(counters_begin_at_zero, RUNNING, "15.3.7", "COUNTER, AGGREGATE and TIMER begin at 0, each handle anew.")
{
    int found = 0, count;
    MPI_T_pvar_session session = session_new();
    traffic(3);
    EACH_PVAR(p) {
        MPI_T_pvar_handle handle;
        if ((p->class != MPI_T_PVAR_CLASS_COUNTER && p->class != MPI_T_PVAR_CLASS_AGGREGATE &&
             p->class != MPI_T_PVAR_CLASS_TIMER) ||
            p->continuous || !pvar_handle(p, session, &handle, &count))
            continue;
        double first = pvar_sum(p, session, handle, count);
        expect(first == 0, "%s begins at %g", p->name, first);
        MPI_T_pvar_start(session, handle);
        found++;
    }
    some(found, "such variables that can be started");
}

PVAR_TEST(counters_never_fall, "15.3.7", "COUNTER, AGGREGATE and TIMER only grow.", pvar_counts(p), COUNTING)
{
    MPI_T_pvar_start(session, handle);
    double last[VALUES_MOST] = {0}, values[VALUES_MOST];
    for (int round = 0; round < 10; round++) {
        traffic(1);
        EXPECT_CODE(pvar_values(p, session, handle, count, values), MPI_SUCCESS, "%s", p->name);
        for (int i = 0; i < count; i++)
            expect(values[i] >= last[i], "%s falls from %g to %g", p->name, last[i], values[i]);
        memcpy(last, values, sizeof last);
    }
}

PVAR_TEST(counters_are_exact, "15.3.7", "A COUNTER or AGGREGATE grows twice as much by twice as many events.",
          pvar_counts(p) && p->class != MPI_T_PVAR_CLASS_TIMER, COUNTING)
{
    MPI_T_pvar_start(session, handle);
    double before = pvar_sum(p, session, handle, count);
    traffic(5);
    double once = pvar_sum(p, session, handle, count);
    traffic(10);
    double thrice = pvar_sum(p, session, handle, count);
    expect(thrice - once == 2 * (once - before), "%s grows by %g, then by %g", p->name, once - before, thrice - once);
}

/* A sum over messages counts a pause of the process twice if two messages are on their way: some tries. */
PVAR_TEST(
    timers_fit_the_clock, "15.3.7",
    "A TIMER of type MPI_DOUBLE is in seconds, another in a documented unit: here none runs faster than nanoseconds.",
    pvar_counts(p) && p->class == MPI_T_PVAR_CLASS_TIMER, "timers that count what this program does")
{
    enum { TRIES = 10 };
    double unit = p->datatype == MPI_DOUBLE ? 1 : 1e9, elapsed = 0, spent = 1, sum = 0;
    for (int try = 0; try < TRIES && spent > elapsed * 1.02; try++) {
        double begin = MPI_Wtime(), before = sum;
        MPI_T_pvar_start(session, handle);
        traffic(50);
        MPI_T_pvar_stop(session, handle);
        elapsed = (MPI_Wtime() - begin) * unit;
        sum = pvar_sum(p, session, handle, count);
        spent = sum - before;
    }
    expect(spent <= elapsed * 1.02, "%s is %g of %g", p->name, spent, elapsed);
}

PVAR_TEST(percentages_are_fractions, "15.3.7", "A PERCENTAGE lies between 0.0 and 1.0.",
          p->class == MPI_T_PVAR_CLASS_PERCENTAGE, "variables of class PERCENTAGE")
{
    double values[VALUES_MOST];
    if (!p->continuous)
        MPI_T_pvar_start(session, handle);
    for (int round = 0; round < 3; round++) {
        EXPECT_CODE(pvar_values(p, session, handle, count, values), MPI_SUCCESS, "%s", p->name);
        for (int i = 0; i < count; i++)
            expect(values[i] >= 0.0 && values[i] <= 1.0, "%s is %g", p->name, values[i]);
        traffic(10);
    }
}

/* k receives posted, none of them completed yet. */
enum { PENDING = 7 };
static MPI_Request pending[PENDING];

static void pending_post(void)
{
    static int in[PENDING];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < PENDING; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, rank, 20 + i, MPI_COMM_WORLD, &pending[i]);
}

static void pending_complete(void)
{
    int rank, value = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < PENDING; i++)
        MPI_Send(&value, 1, MPI_INT, rank, 20 + i, MPI_COMM_WORLD);
    MPI_Waitall(PENDING, pending, MPI_STATUSES_IGNORE);
}

PVAR_TEST(levels_go_both_ways, "15.3.7", "A LEVEL (SIZE, natively) is what is in use now: posted receives.",
          (strcmp(p->name, "mpit_pending_recvs") == 0 && p->class == MPI_T_PVAR_CLASS_LEVEL) || /* natively: */
              strstr(p->name, "posted_recvq_length"),
          "levels of posted receives")
{
    if (!p->continuous)
        MPI_T_pvar_start(session, handle);
    double before = pvar_sum(p, session, handle, count);
    pending_post();
    double most = pvar_sum(p, session, handle, count);
    pending_complete();
    double after = pvar_sum(p, session, handle, count);
    expect(most - before == PENDING, "%s: %g, then %g with %d receives more", p->name, before, most, PENDING);
    expect(after == before, "%s: %g, then %g when all were done", p->name, before, after);
}

PVAR_TEST(marks_begin_at_the_level, "15.3.7",
          "A watermark begins at the level at that moment, and a reset sets it there again: not to 0.",
          is_mark(p) && level_of(p), "watermarks with a level")
{
    static bool posted;
    const struct pvar *level = level_of(p);
    MPI_T_pvar_handle mark = MPI_T_PVAR_HANDLE_NULL, now;
    int level_count;
    if (!posted)
        pending_post();
    posted = true;
    need(pvar_handle(p, session, &mark, &count) && pvar_handle(level, session, &now, &level_count), "no handles of %s",
         p->name);
    double current = pvar_sum(level, session, now, level_count);
    if (!p->continuous)
        MPI_T_pvar_start(session, mark);
    double first = pvar_sum(p, session, mark, count);
    expect(first == current, "%s (class %d) begins at %g, the level is %g", p->name, p->class, first, current);
    if (p->readonly)
        return;
    MPI_T_pvar_reset(session, mark);
    first = pvar_sum(p, session, mark, count);
    expect(first == current, "%s (class %d) is reset to %g, the level is %g", p->name, p->class, first, current);
}

PVAR_TEST(marks_keep_the_extreme, "15.3.7",
          "A HIGHWATERMARK is the highest level since start or reset, a LOWWATERMARK the lowest.",
          is_mark(p) && level_of(p) && strcmp(p->name, "mpit_pending_recvs") == 0, "watermarks of posted receives")
{
    const struct pvar *level = level_of(p);
    MPI_T_pvar_handle now;
    int level_count, height = p->class == MPI_T_PVAR_CLASS_HIGHWATERMARK ? PENDING : 0;
    need(pvar_handle(level, session, &now, &level_count), "no handle of the level");
    MPI_T_pvar_start(session, handle);
    double rest = pvar_sum(level, session, now, level_count);
    pending_post();
    pending_complete();
    double extreme = pvar_sum(p, session, handle, count);
    expect(extreme == rest + height, "the mark of class %d is %g, after the level went from %g by %d up and down",
           p->class, extreme, rest, PENDING);
    pending_post();
    MPI_T_pvar_reset(session, handle);
    pending_complete();
    extreme = pvar_sum(p, session, handle, count);
    expect(extreme == rest + height, "the mark of class %d is %g, reset at %g and down to %g", p->class, extreme,
           rest + PENDING, rest);
}

TEST(marks_are_per_handle, RUNNING, "15.3.7", "Each handle of a watermark has its own extreme.")
{
    const struct pvar *p = pvar_named("mpit_pending_recvs", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    MPI_T_pvar_session session = session_new();
    MPI_T_pvar_handle early, late = MPI_T_PVAR_HANDLE_NULL;
    int count;
    some(p != NULL, "watermarks of posted receives");
    need(pvar_handle(p, session, &early, &count) && pvar_handle(p, session, &late, &count), "no handles");
    MPI_T_pvar_start(session, early);
    pending_post();
    pending_complete();
    MPI_T_pvar_start(session, late);
    double first = pvar_sum(p, session, early, count), second = pvar_sum(p, session, late, count);
    expect(first == PENDING && second == 0, "the handle from before has %g, that from after has %g", first, second);
    MPI_T_pvar_reset(session, late);
    expect(pvar_sum(p, session, early, count) == first, "a reset of one handle changes the other");
}

PVAR_TEST(sizes_are_sizes, "15.3.7", "A SIZE is the size of a resource: the communicator's, the buffers'.",
          p->class == MPI_T_PVAR_CLASS_SIZE, "variables of class SIZE")
{
    double values[VALUES_MOST];
    EXPECT_CODE(pvar_values(p, session, handle, count, values), MPI_SUCCESS, "%s", p->name);
    if (strcmp(p->name, "mpit_comm_size") == 0)
        expect(values[0] == 1, "%s of one process is %g", p->name, values[0]);
    for (int i = 0; i < count; i++)
        expect(values[i] >= 0, "%s is %g", p->name, values[i]);
}

#define CLASS_TEST(name, class_)                                                                                       \
    TEST(has_##name, RUNNING, "15.3.7", "There are variables of class " #class_ " that can be read.")                  \
    {                                                                                                                  \
        int found = 0, count, all = 0;                                                                                 \
        MPI_T_pvar_session session = session_new();                                                                    \
        NEED(MPI_T_pvar_get_num(&all));                                                                                \
        some(all, "performance variables");                                                                            \
        EACH_PVAR(p) {                                                                                                 \
            MPI_T_pvar_handle handle;                                                                                  \
            double values[VALUES_MOST];                                                                                \
            if (p->class == MPI_T_PVAR_CLASS_##class_ && pvar_handle(p, session, &handle, &count) &&                   \
                pvar_values(p, session, handle, count, values) == MPI_SUCCESS)                                         \
                found++;                                                                                               \
        }                                                                                                              \
        expect(found || !pvar_named("mpit_send_count", -1), "mpit has no variable of class " #class_);                 \
        some(found, "variables of class " #class_);                                                                    \
    }

CLASS_TEST(state, STATE)
CLASS_TEST(level, LEVEL)
CLASS_TEST(size, SIZE)
CLASS_TEST(percentage, PERCENTAGE)
CLASS_TEST(highwatermark, HIGHWATERMARK)
CLASS_TEST(lowwatermark, LOWWATERMARK)
CLASS_TEST(counter, COUNTER)
CLASS_TEST(aggregate, AGGREGATE)
CLASS_TEST(timer, TIMER)
CLASS_TEST(generic, GENERIC)

/* ---- the example: receives while the queue of unexpected messages is long ---------------------------------------- */

/* Finds the variable as the example does: by a walk that ends at an error, with a buffer of 18 bytes for the name. */
static int umq_walk(void)
{
    int num = 0, index = -1, err = MPI_SUCCESS, class = -1, bind = -1;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    NEED(MPI_T_pvar_get_num(&num));
    for (int i = 0; i < num && index < 0 && err == MPI_SUCCESS; i++) {
        char name[18] = "";
        int length = 18, verbosity, readonly, continuous, atomic;
        MPI_T_enum enumtype;
        err = PMPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &datatype, &enumtype, NULL, NULL, &bind,
                                   &readonly, &continuous, &atomic);
        if (strcmp(name, "MPI_T_UMQ_LENGTH") == 0)
            index = i;
    }
    if (index < 0 && !pvar_named("MPI_T_UMQ_LENGTH", -1))
        skip("no variable MPI_T_UMQ_LENGTH here");
    need(index >= 0, "the walk ends at an error before MPI_T_UMQ_LENGTH");
    expect(class == MPI_T_PVAR_CLASS_LEVEL, "its class is %d", class);
    expect(datatype == MPI_INT, "its type is not MPI_INT");
    expect(bind == MPI_T_BIND_MPI_COMM, "its binding is %d", bind);
    return index;
}

TEST(example_finds_its_variable, RUNNING, "15.3.7",
     "The standard's example finds MPI_T_UMQ_LENGTH: a LEVEL of type MPI_INT, bound to a communicator, startable.")
{
    MPI_T_pvar_session session = session_new();
    MPI_T_pvar_handle handle;
    MPI_Comm comm = MPI_COMM_WORLD;
    int count = -1, value = -1, index = umq_walk();
    EXPECT_CODE(MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count), MPI_SUCCESS, "MPI_T_UMQ_LENGTH");
    expect(count == 1, "its count is %d", count);
    EXPECT_CODE(MPI_T_pvar_start(session, handle), MPI_SUCCESS, "MPI_T_UMQ_LENGTH");
    EXPECT_CODE(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS, "MPI_T_UMQ_LENGTH");
    expect(value == 0, "its value is %d", value);
}

TEST(example_sees_the_queue, PAIR, "15.3.7", "With k unexpected messages, the example's variable is k.")
{
    enum { K = 9 };
    MPI_T_pvar_session session = session_new();
    MPI_T_pvar_handle handle;
    MPI_Comm comm = MPI_COMM_WORLD;
    int rank, count = -1, value = -1, index = umq_walk();
    MPI_Comm_rank(comm, &rank);
    NEED(MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count));
    NEED(MPI_T_pvar_start(session, handle));
    for (int i = 0; rank == 1 && i < K; i++)
        MPI_Send(&i, 1, MPI_INT, 0, i, comm);
    MPI_Barrier(comm);
    for (int i = 0; rank == 0 && i < K; i++) {
        EXPECT_CODE(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS, "MPI_T_UMQ_LENGTH");
        expect(value == K - i, "%d are unexpected, and it is %d", K - i, value);
        MPI_Recv(&count, 1, MPI_INT, 1, i, comm, MPI_STATUS_IGNORE);
    }
}
