/* Windows on extremes with a writer and other windows at the same time. */
#include "windowfixture.h"

/* ---- at the same time -------------------------------------------------------------------------------------------- */

enum { MESSAGES = EFFORT(1000000, 4000), OTHERS = 2 };

static bool ended;

/* Larger and larger: a message that is larger than another came later. */
static void *write_messages(void *argument)
{
    (void)argument;
    for (uint64_t i = 1; i <= MESSAGES; i++)
        message(i);
    __atomic_store_n(&ended, true, __ATOMIC_RELEASE);
    return NULL;
}

static void *open_and_reset(void *argument)
{
    struct window *own = argument;
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
        window_opens(own);
        window_resets(own);
        value_read(own);
        window_closes(own);
    }
    return NULL;
}

/* Runs the writer beside OTHERS threads that open, reset and close windows; meanwhile `watch` is called. */
static void stir(void (*watch)(struct window *), struct window *window)
{
    pthread_t writer, others[OTHERS];
    ended = false;
    for (int i = 0; i < OTHERS; i++)
        pthread_create(&others[i], NULL, open_and_reset, window_new(EXTREME_MESSAGE_HIGH));
    pthread_create(&writer, NULL, write_messages, NULL);
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
        watch(window);
    pthread_join(writer, NULL);
    for (int i = 0; i < OTHERS; i++)
        pthread_join(others[i], NULL);
}

static void watch_nothing(struct window *window)
{
    (void)window;
}

TESTS_EACH(comm_setup, NULL)
TESTS_ALL(book_setup, NULL)

TEST(no_maximum_is_lost_while_others_reset)
{
    struct window *first = window_new(EXTREME_MESSAGE_HIGH), *second = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(first);
    window_opens(second);
    stir(watch_nothing, NULL);
    assert_int_equal(value_read(first), MESSAGES);
    window_closes(second);
    assert_int_equal(value_read(second), MESSAGES);
    assert_int_equal(value_of("mpit_message_bytes", VARIABLE_HIGHWATERMARK), MESSAGES);
}

static uint64_t falls, highest;

static void watch_value(struct window *window)
{
    uint64_t now = value_read(window);
    falls += now < highest;
    highest = now > highest ? now : highest;
}

TEST(open_window_never_falls_while_others_reset)
{
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(window);
    falls = highest = 0;
    stir(watch_value, window);
    assert_int_equal(falls, 0);
}

static uint64_t recorded(void)
{
    return value_of("mpit_message_bytes", VARIABLE_HIGHWATERMARK);
}

static uint64_t wrong;

/* What came behind the open and before the close belongs to the window. */
static void watch_close(struct window *window)
{
    window_resets(window);
    window_opens(window);
    uint64_t before = recorded(), most = before;
    while (most == before && !__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
        most = recorded();
    window_closes(window);
    wrong += most > before && value_read(window) < most;
}

TEST(closed_window_has_all_that_came_before_its_close)
{
    wrong = 0;
    stir(watch_close, window_new(EXTREME_MESSAGE_HIGH));
    assert_int_equal(wrong, 0);
}

/* What came before the reset does not belong to it. */
static void watch_reset(struct window *window)
{
    uint64_t before = recorded();
    window_resets(window);
    for (int i = 0; i < 3; i++) {
        uint64_t now = value_read(window);
        wrong += now != 0 && now <= before;
    }
}

TEST(reset_window_has_nothing_from_before)
{
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(window);
    wrong = 0;
    stir(watch_reset, window);
    assert_int_equal(wrong, 0);
}

/* Of a growing sequence, each window has what came behind the one before it, and no two have the same. */
static uint64_t chained;

static void watch_chain(struct window *window)
{
    uint64_t before = recorded(), value = 0;
    assert_int_equal(window_readreset(window, OWNER, &value), WINDOW_DONE);
    wrong += (value != 0 && value <= chained) || (value < before && chained < before);
    chained = value ? value : chained;
}

TEST(readresets_take_every_maximum_once)
{
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(window);
    wrong = chained = 0;
    stir(watch_chain, window);
    watch_chain(window);
    EQUALS({wrong, 0}, {chained, MESSAGES});
}

/* A thread that comes while others reset: what it recorded before a read is in it. */
static void *come_late(void *argument)
{
    struct window *window = argument;
    for (int i = 0; i < EFFORT(200, 40); i++) {
        struct ledger *own = ledger_make(1);
        struct view *fresh = view_of(own, comm);
        uint64_t value = 0;
        view_page_select(fresh, 1);
        struct event event = {.begin = 10, .duration = 1, .kind = CALL_MPI_Send, .peer = 1};
        event.bytes = MESSAGES * 2 + (uint64_t)i;
        fold(&own->tally, &fresh->tally, &event, NULL);
        window_read(window, OWNER, &value);
        __atomic_add_fetch(&wrong, value < event.bytes, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&ended, true, __ATOMIC_RELEASE);
    return NULL;
}

TEST(maximum_of_a_new_thread_is_not_lost)
{
    pthread_t late, others[OTHERS];
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(window);
    wrong = 0;
    ended = false;
    for (int i = 0; i < OTHERS; i++)
        pthread_create(&others[i], NULL, open_and_reset, window_new(EXTREME_MESSAGE_HIGH));
    pthread_create(&late, NULL, come_late, window);
    pthread_join(late, NULL);
    for (int i = 0; i < OTHERS; i++)
        pthread_join(others[i], NULL);
    assert_int_equal(wrong, 0);
}

/* Several threads on the same window: each maximum is in one thread's chain. */
enum { CHAINS = 3 };
static uint64_t taken[CHAINS][4096];

static void *chain(void *argument)
{
    uint64_t *mine = argument, value;
    struct window *window = (struct window *)(uintptr_t)mine[0];
    for (int i = 1; i < 4096;) {
        window_readreset(window, OWNER, &value);
        mine[i] = value;
        if (value)
            i++;
        if (__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
            break;
    }
    return NULL;
}

TEST(two_never_take_the_same_maximum)
{
    pthread_t writer, chains[CHAINS];
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    static uint8_t seen[MESSAGES + 1];
    memset(taken, 0, sizeof taken);
    memset(seen, 0, sizeof seen);
    window_opens(window);
    ended = false;
    for (int i = 0; i < CHAINS; i++) {
        taken[i][0] = (uint64_t)(uintptr_t)window;
        pthread_create(&chains[i], NULL, chain, taken[i]);
    }
    pthread_create(&writer, NULL, write_messages, NULL);
    pthread_join(writer, NULL);
    for (int i = 0; i < CHAINS; i++)
        pthread_join(chains[i], NULL);
    for (int i = 0; i < CHAINS; i++)
        for (int j = 1; j < 4096 && taken[i][j]; j++) {
            assert_in_range(taken[i][j], 1, MESSAGES);
            assert_int_equal(seen[taken[i][j]]++, 0);
            assert_true(j == 1 || taken[i][j] > taken[i][j - 1]);
        }
}

static bool level_up;

static void *change_level(void *argument)
{
    (void)argument;
    for (int i = 0; i < MESSAGES / 4; i++) {
        level_add(true, &comm->shared->bytes, 100);
        level_subtract(true, &comm->shared->bytes, 100);
    }
    __atomic_store_n(&level_up, false, __ATOMIC_RELEASE);
    return NULL;
}

TEST(level_windows_stay_between_the_bounds)
{
    pthread_t writers[2];
    struct window *high = window_new(EXTREME_BYTES_HIGH), *low = window_new(EXTREME_BYTES_LOW);
    level_add(true, &comm->shared->bytes, 50);
    level_up = true;
    for (int i = 0; i < 2; i++)
        pthread_create(&writers[i], NULL, change_level, NULL);
    wrong = 0;
    while (__atomic_load_n(&level_up, __ATOMIC_ACQUIRE)) {
        window_opens(high);
        window_opens(low);
        window_resets(high);
        window_resets(low);
        uint64_t most = value_read(high), least = value_read(low);
        wrong += most < 50 || most > 250 || least < 50 || least > 250;
        window_closes(high);
        window_closes(low);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(writers[i], NULL);
    assert_int_equal(wrong, 0);
    window_resets(high);
    window_resets(low);
    assert_int_equal(value_read(high), 50);
    assert_int_equal(value_read(low), 50);
}
