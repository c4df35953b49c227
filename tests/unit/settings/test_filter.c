/* mpit_filter: which calls a list leaves out. */
#include "unittest.h"

#include "settings/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool out[CALL_COUNT];
static char problem[512];

static bool always(unsigned kind)
{
    return kind == CALL_MPI_Init || kind == CALL_MPI_Init_thread || kind == CALL_MPI_Finalize ||
           kind == CALL_MPI_Session_init || kind == CALL_MPI_Session_finalize;
}

static void read_good(const char *text)
{
    memset(out, 1, sizeof out);
    if (filter_read(text, out, problem, sizeof problem) != 0)
        fail_msg("'%s': %s", text, problem);
    for (unsigned kind = 1; kind < CALL_COUNT; kind++)
        assert_false(out[kind] && always(kind));
}

/* How many of a class are left out, and how many there are. */
static void class_counts(enum call_class class, unsigned *left, unsigned *all)
{
    *left = *all = 0;
    for (unsigned kind = 1; kind < CALL_COUNT; kind++)
        if (call_table[kind].class == class) {
            ++*all;
            *left += out[kind];
        }
}

static void class_is(enum call_class class, bool left_out)
{
    unsigned left, all;
    class_counts(class, &left, &all);
    assert_true(all > 0);
    assert_int_equal(left, left_out ? all : 0);
}

TEST(nothing_leaves_nothing_out)
{
    const char *const texts[] = {"", ",", " , ,,", "\t"};
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        read_good(texts[i]);
        for (unsigned kind = 1; kind < CALL_COUNT; kind++)
            assert_false(out[kind]);
    }
}

TEST(minus_leaves_out)
{
    read_good("-io,-MPI_Iprobe");
    class_is(CLASS_IO, true);
    class_is(CLASS_RMA, false);
    class_is(CLASS_COLLECTIVE, false);
    assert_true(out[CALL_MPI_Iprobe]);
    assert_false(out[CALL_MPI_Probe] || out[CALL_MPI_Send]);
}

TEST(without_minus_only_these_are_recorded)
{
    read_good("p2p, coll");
    class_is(CLASS_P2P, false);
    class_is(CLASS_COLLECTIVE, false);
    class_is(CLASS_COMPLETION, true);
    class_is(CLASS_COMMUNICATOR, true);
    class_is(CLASS_RMA, true);
    class_is(CLASS_IO, true);
    class_is(CLASS_OTHER, true);
    read_good("p2p,-iprobe");
    assert_true(out[CALL_MPI_Iprobe]);
    assert_false(out[CALL_MPI_Send]);
    class_is(CLASS_COLLECTIVE, true);
    read_good("-iprobe,p2p"); /* the order does not matter */
    assert_true(out[CALL_MPI_Iprobe]);
}

TEST(classes_have_their_names)
{
    const struct {
        const char *text;
        enum call_class class;
    } names[] = {{"-p2p", CLASS_P2P},           {"-completion", CLASS_COMPLETION},
                 {"-coll", CLASS_COLLECTIVE},   {"-collective", CLASS_COLLECTIVE},
                 {"-comm", CLASS_COMMUNICATOR}, {"-COMMUNICATOR", CLASS_COMMUNICATOR},
                 {"-rma", CLASS_RMA},           {"-io", CLASS_IO},
                 {"-other", CLASS_OTHER}};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        read_good(names[i].text);
        for (enum call_class class = 0; class < CLASS_COUNT; class ++)
            if (class != CLASS_PROCESS)
                class_is(class, class == names[i].class);
    }
    read_good("-process");
    assert_true(out[CALL_MPI_Abort]);
    read_good("-Local");
    assert_true(out[CALL_MPI_Comm_rank] && out[CALL_MPI_Comm_set_name]);
    assert_false(out[CALL_MPI_Pack] || out[CALL_MPI_Reduce_local] || out[CALL_MPI_Buffer_detach] || out[CALL_MPI_Send]);
}

TEST(names_are_taken_in_any_spelling)
{
    const char *const texts[] = {"-MPI_Send", "-send", "-mpi_SEND", " -Send ,", "-Se*d", "-MPI_S*nd"};
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        read_good(texts[i]);
        assert_true(out[CALL_MPI_Send]);
        assert_false(out[CALL_MPI_Bsend] || out[CALL_MPI_Sendrecv] || out[CALL_MPI_Isend] || out[CALL_MPI_Recv]);
    }
}

TEST(stars_stand_for_anything)
{
    read_good("-I*");
    assert_true(out[CALL_MPI_Isend] && out[CALL_MPI_Ibcast] && out[CALL_MPI_Iprobe]);
    assert_false(out[CALL_MPI_Send] || out[CALL_MPI_Bcast]);
    read_good("-*send");
    assert_true(out[CALL_MPI_Send] && out[CALL_MPI_Isend] && out[CALL_MPI_Ssend]);
    assert_false(out[CALL_MPI_Send_init] || out[CALL_MPI_Sendrecv]);
    read_good("-*");
    for (unsigned kind = 1; kind < CALL_COUNT; kind++)
        assert_int_equal(out[kind], !always(kind));
    read_good("*,-Win_*");
    assert_true(out[CALL_MPI_Win_fence]);
    assert_false(out[CALL_MPI_Put]);
}

static void refused(const char *text, const char *word)
{
    memset(out, 1, sizeof out);
    problem[0] = '\0';
    assert_int_equal(filter_read(text, out, problem, sizeof problem), -1);
    assert_int_equal(filter_check(text, problem, sizeof problem), -1);
    for (unsigned kind = 0; kind < CALL_COUNT; kind++)
        assert_false(out[kind]);
    if (!strstr(problem, word) || !strstr(problem, "p2p, completion, coll"))
        fail_msg("'%s': %s", text, problem);
}

TEST(what_is_not_known_is_named)
{
    refused("MPI_Sned", "'MPI_Sned'");
    refused("p2p,MPI_Foo,io", "'MPI_Foo'");
    refused("-", "'-'");
    refused("--io", "'--io'");
    refused("p2p coll", "'p2p coll'");
    refused("p2p;coll", "'p2p;coll'");
    refused("MPI_", "'MPI_'");
    refused("none", "'none'"); /* the name of no call */
    refused("*x*y*z*", "'*x*y*z*'");
    refused("\xff\xfe%s%n", "%s%n");
}

TEST(local_functions_alone_are_told)
{
    const struct {
        const char *text, *word;
    } told[] = {{"local", "local"},
                {"MPI_Comm_rank", "MPI_Comm_rank"},
                {"p2p, comm_RANK", "comm_RANK"},
                {"-io,*rank", "*rank"},
                {"Type_*,coll", "Type_*"}};
    const char *const quiet[] = {"", "*", "p2p,coll", "other", "-other", "-MPI_Comm_rank", "Comm_*", "send,-comm_rank"};
    char word[FILTER_WORD_BYTES];
    for (unsigned i = 0; i < sizeof told / sizeof told[0]; i++) {
        read_good(told[i].text);
        assert_true(filter_wants_local(told[i].text, word));
        assert_string_equal(word, told[i].word);
    }
    for (unsigned i = 0; i < sizeof quiet / sizeof quiet[0]; i++) {
        read_good(quiet[i]);
        if (filter_wants_local(quiet[i], word))
            fail_msg("'%s': %s", quiet[i], word);
    }
}

TEST(names_that_others_begin_with_are_told)
{
    char word[FILTER_WORD_BYTES];
    const char *meant, *other;
    assert_true(filter_is_narrow("p2p,-start", word, &meant, &other));
    assert_string_equal(word, "start");
    assert_string_equal(meant, "MPI_Start");
    assert_string_equal(other, "MPI_Startall");
    read_good("start");
    assert_true(out[CALL_MPI_Startall] && !out[CALL_MPI_Start]);
    read_good("start*");
    assert_false(out[CALL_MPI_Startall] || out[CALL_MPI_Start]);
    const char *const plain[] = {"MPI_Start", "start*", "coll", "io,rma", "-iprobe", ""};
    for (unsigned i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (filter_is_narrow(plain[i], word, &meant, &other))
            fail_msg("'%s': %s", plain[i], word);
}

/* Many words, long words, and words that would take for ever where each star was tried anew. */
TEST(lists_may_be_long)
{
    size_t size = 1 << 20;
    char *text = malloc(size);
    size_t used = 0;
    while (used + 32 < size)
        used += (size_t)snprintf(text + used, 32, "-%s,", call_table[1 + used % (CALL_COUNT - 1)].name);
    read_good(text);
    memset(text, 'x', size - 1);
    text[size - 1] = '\0';
    refused(text, "'xxxxx");
    assert_true(strlen(problem) < sizeof problem - 1);
    memset(text, '*', 2000);
    strcpy(text + 2000, "q*q*q*q*q*q*q*q*q*q*q");
    refused(text, "'****");
    char small[8];
    assert_int_equal(filter_read("nonsense", out, small, sizeof small), -1);
    free(text);
}

TEST(any_bytes_are_read_or_refused)
{
    static const char bytes[] = "-*,MPISendprobeio2 \t_\x80\xff%";
    uint32_t random = 12345;
    for (int round = 0; round < 20000; round++) {
        char text[40];
        size_t length = 0;
        while (length < sizeof text - 1 && (random = random * 1664525 + 1013904223) >> 27)
            text[length++] = bytes[(random >> 8) % (sizeof bytes - 1)];
        text[length] = '\0';
        char word[FILTER_WORD_BYTES];
        const char *meant, *other;
        if (filter_read(text, out, problem, sizeof problem) != 0)
            assert_true(problem[0]);
        (void)filter_wants_local(text, word);
        (void)filter_is_narrow(text, word, &meant, &other);
        assert_false(out[CALL_MPI_Init]);
    }
}
