/* Stacks as they are shown, shares and what they are worth, beside timers: of samples made by hand. */
#define _GNU_SOURCE
#include "unittest.h"

#include "profile/profile.h"
#include "runfixture.h"
#include "samplefixture.h"
#include "base/units.h"

#include <inttypes.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MS = 1000000, RECORDER = 0x10000, MPI = 0x20000, LIBC = 0x30000, OTHER = 0x40000, SIZE = 0x10000, TID = 100 };
enum { OWN = 0x10000000 };

int main(void);

static struct fixture fixture;
static struct sample_writer writer;
static struct run_dir dir;
static uint64_t now;
static char text[1 << 16];

/* Frames of this program; what is asked for is the byte before. */
__attribute__((noinline)) static void solve(void)
{
    __asm__ volatile("nop; nop");
}

__attribute__((noinline)) static void compute(void)
{
    __asm__ volatile("nop; nop; nop");
}

/* As one of mpit's is called. */
__attribute__((noinline)) static void MPI_T_init_thread(void)
{
    __asm__ volatile("nop; nop; nop; nop");
}

/* std::sort(), double std::apply<int>(), and a function of the program that takes a vector. */
__asm__(".text\n"
        ".type _ZSt4sortv, @function\n_ZSt4sortv: nop; nop; nop; ret\n.size _ZSt4sortv, . - _ZSt4sortv\n"
        ".type _ZSt5applyIiEdv, @function\n_ZSt5applyIiEdv: nop; nop; nop; ret\n.size _ZSt5applyIiEdv, . - "
        "_ZSt5applyIiEdv\n"
        ".type _Z6smoothRSo, @function\n_Z6smoothRSo: nop; nop; nop; ret\n.size _Z6smoothRSo, . - _Z6smoothRSo\n");
void std_sort(void) __asm__("_ZSt4sortv");
void std_apply(void) __asm__("_ZSt5applyIiEdv");
void smooth(void) __asm__("_Z6smoothRSo");

static uint64_t in(void (*function)(void))
{
    return (uint64_t)(uintptr_t)function + 2;
}

static uint64_t in_main(void)
{
    return (uint64_t)(uintptr_t)&main + 2;
}

static int program_find(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(uint64_t *)data = info->dlpi_addr;
    return 1;
}

/* This program is built without a build id. */
static void modules_map(void)
{
    uint64_t bias;
    dl_iterate_phdr(program_find, &bias);
    sampler_map(&writer, bias & ~UINT64_C(0xfff), bias + (64 << 20), bias, "", 0);
    sampler_map(&writer, RECORDER, RECORDER + SIZE, RECORDER, "/gone/libmpit-test.so", 0);
    sampler_map(&writer, MPI, MPI + SIZE, MPI, "/gone/libmpi.so.40", 0);
    sampler_map(&writer, LIBC, LIBC + SIZE, LIBC, "/gone/libc.so.6", 0);
    sampler_map(&writer, OTHER, OTHER + SIZE, OTHER, "/gone/libother.so", 0);
}

FIXTURE(recording_setup)
{
    fixture_open(&fixture);
    fixture_comm_add(&fixture, 1, 2, "MPI_COMM_WORLD");
    fixture_thread_add(&fixture, 0, 64);
    fixture.threads[0].record->tid = TID;
    fixture.run.header->timed = 1;
    sampler_open(&writer, &fixture.run, 0, 0);
    modules_map();
    now = FIXTURE_BEGIN_TICKS;
}

static void reading_begin(void)
{
    char error[512];
    fixture.run.header->finalize_ticks = now + 1;
    fixture_close(&fixture, RUN_FINALIZED);
    fixture.run.header->end_ticks = now + 2;
    if (run_dir_open(&dir, fixture.directory, error) != 0)
        fail_msg("%s", error);
}

FIXTURE(recording_teardown)
{
    run_dir_close(&dir);
    fixture_remove(&fixture);
}

#define TAKE(state, call, ...)                                                                                         \
    do {                                                                                                               \
        const uint64_t pcs_[] = {__VA_ARGS__};                                                                         \
        assert_true(sampler_take(&writer, now += MS, state, call, pcs_, sizeof pcs_ / sizeof *pcs_));                  \
    } while (0)

struct lines {
    char texts[8][1024];
    size_t count;
};

static int sample_line_add(void *data, const struct stack_sample *sample)
{
    struct lines *lines = data;
    char *line = lines->texts[lines->count++];
    size_t bytes = sizeof *lines->texts;
    int used = 0;
    assert_true(lines->count <= sizeof lines->texts / sizeof *lines->texts);
    assert_int_equal(sample->rank, 0);
    assert_string_equal(sample->sample->name, "fixture");
    assert_int_equal(sample->sample->tid, TID);
    for (unsigned i = 0; i < sample->count; i++)
        used += snprintf(line + used, bytes - (size_t)used, "%s%s", i ? ";" : "", sample->frames[i].frame->name);
    if (sample->sample->call)
        used += snprintf(line + used, bytes - (size_t)used, ";[%s]", state_texts[sample->sample->state]);
    snprintf(line + used, bytes - (size_t)used, " %" PRIu64 "\n", sample->weight_ns / 1000);
    return 0;
}

static int line_order(const void *one, const void *other)
{
    return strcmp(one, other);
}

/* The stacks of all samples, a line each with its microseconds, sorted. */
static const char *stack_lines(bool internal, const struct selection *selection)
{
    struct stacks stacks;
    struct lines lines = {.count = 0};
    assert_int_equal(stacks_open(&stacks, &dir.jobs[0], selection, internal), 0);
    assert_int_equal(stacks_walk(&stacks, sample_line_add, &lines), 0);
    stacks_release(&stacks);
    qsort(lines.texts, lines.count, sizeof *lines.texts, line_order);
    text[0] = '\0';
    for (size_t i = 0; i < lines.count; i++)
        strcat(text, lines.texts[i]);
    return text;
}

TEST_WITH(the_way_to_main_is_left_out, recording_setup, recording_teardown)
{
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, in(compute), in(solve), in_main(), LIBC + 1, LIBC + 2, OTHER + 3);
    reading_begin();
    assert_string_equal(stack_lines(false, NULL), "main;solve;compute 1000\n");
}

TEST_WITH(of_a_thread_only_the_c_library_is_left_out, recording_setup, recording_teardown)
{
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, LIBC + 9, in(compute), OTHER + 5, LIBC + 1, LIBC + 2);
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, LIBC + 9, LIBC + 2); /* nothing else */
    TAKE(MPIT_STATE_WORK, CALL_MPI_Send, MPI + 1, RECORDER + 9, in(solve), RECORDER + 8, LIBC + 1, LIBC + 2);
    reading_begin();
    assert_string_equal(stack_lines(false, NULL), "[libc.so.6+0x1];[libc.so.6+0x9] 1000\n"
                                                  "[libother.so+0x4];compute;[libc.so.6+0x9] 1000\n"
                                                  "solve;MPI_Send;[work] 1000\n");
}

TEST_WITH(the_standard_library_of_cxx_belongs_to_its_caller, recording_setup, recording_teardown)
{
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, in(std_sort), in(smooth), in(std_apply), in_main(), LIBC + 1);
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, in(std_sort), LIBC + 1); /* of a thread */
    reading_begin();
    assert_string_equal(stack_lines(false, NULL), "main;smooth(std::ostream&) 1000\nstd::sort() 1000\n");
    assert_non_null(
        strstr(stack_lines(true, NULL), "main;double std::apply<int>();smooth(std::ostream&);std::sort() 1000\n"));
}

TEST_WITH(a_call_of_mpi_is_where_a_stack_ends, recording_setup, recording_teardown)
{
    TAKE(MPIT_STATE_STALL_RECV, CALL_MPI_Recv, OTHER + 7, MPI + 1, RECORDER + 1, MPI + 2, RECORDER + 2, in(solve),
         in_main());
    TAKE(MPIT_STATE_WORK, CALL_MPI_Recv, MPI + 1, RECORDER + 2, in(solve), in_main());
    reading_begin();
    assert_string_equal(stack_lines(false, NULL),
                        "main;solve;MPI_Recv;[stall recv] 1000\nmain;solve;MPI_Recv;[work] 1000\n");
    assert_string_equal(
        stack_lines(true, NULL),
        "main;solve;MPI_Recv;[libmpi.so.40+0x1];[libmpi.so.40+0x0];[libother.so+0x7];[stall recv] 1000\n"
        "main;solve;MPI_Recv;[libmpi.so.40+0x1];[work] 1000\n");
}

TEST_WITH(the_binding_for_fortran_belongs_to_the_call, recording_setup, recording_teardown)
{
    TAKE(MPIT_STATE_WORK, CALL_MPI_Recv, OTHER + 7, MPI + 1, RECORDER + 2, MPI + 9, in(solve), in_main());
    reading_begin();
    assert_string_equal(stack_lines(false, NULL), "main;solve;MPI_Recv;[work] 1000\n");
}

TEST_WITH(time_in_mpit_belongs_to_its_caller_unless_internal, recording_setup, recording_teardown)
{
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, RECORDER + 2, in(solve), in_main());
    TAKE(MPIT_STATE_WORK, CALL_MPI_Send, RECORDER + 1, RECORDER + 2, in(solve), in_main());
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, LIBC + 2, RECORDER + 2, in(solve), in_main()); /* what it stands before */
    /* what it makes of its own at the end, with MPI */
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, OTHER + 2, MPI + 2, RECORDER + 3, RECORDER + 4, MPI + 1, in(compute), in_main());
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, RECORDER + 4, RECORDER + 5); /* a thread of mpit */
    reading_begin();
    assert_string_equal(stack_lines(false, NULL), "[mpit] 1000\n"
                                                  "main;compute 1000\n"
                                                  "main;solve 1000\n"
                                                  "main;solve;MPI_Send;[work] 1000\n"
                                                  "main;solve;[libc.so.6+0x2] 1000\n");
    assert_non_null(strstr(stack_lines(true, NULL), "main;solve;MPI_Send;[mpit];[libmpit-test.so+0x1];[work] 1000\n"));
    assert_non_null(strstr(stack_lines(true, NULL), "main;solve;[mpit];[libmpit-test.so+0x2] 1000\n"));
}

/* This program once more, as a library of mpit's. */
static uint64_t in_own(void (*function)(void))
{
    uint64_t bias;
    dl_iterate_phdr(program_find, &bias);
    return in(function)-bias + OWN;
}

static const char *module_of(const char *function)
{
    struct profile profile = {0};
    static char module[256];
    assert_int_equal(profile_open(&profile, &dir.jobs[0], NULL, false), 0);
    module[0] = '\0';
    for (size_t i = 0; i < profile.functions.capacity; i++)
        for (struct keyed *keyed = profile.functions.buckets[i]; keyed; keyed = keyed->next) {
            const struct frame *frame = ((const struct profile_function *)keyed)->frame;
            if (strcmp(frame->name, function) == 0)
                snprintf(module, sizeof module, "%s", frame->module);
        }
    profile_release(&profile);
    return module;
}

TEST_WITH(a_function_that_mpit_defines_is_in_no_other_library, recording_setup, recording_teardown)
{
    char path[4096], program[4096];
    ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(bytes > 0);
    program[bytes] = '\0';
    snprintf(path, sizeof path, "%s/libmpit-own.so", fixture.directory);
    assert_int_equal(symlink(program, path), 0);
    sampler_map(&writer, OWN, OWN + (64 << 20), OWN, path, 0);
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, LIBC + 2, in_own(compute), in_own(MPI_T_init_thread), in(solve), in_main());
    reading_begin();
    assert_string_equal(stack_lines(false, NULL), "main;solve;MPI_T_init_thread 1000\n");
    assert_string_equal(module_of("MPI_T_init_thread"), "libmpit-own.so");
    unlink(path);
}

TEST_WITH(unknown_parts_are_told, recording_setup, recording_teardown)
{
    const uint64_t inner[] = {in(compute), OTHER + 1}, mpi[] = {MPI + 5};
    struct sample_taken taken = {.ticks = ++now, .weight = 1, .flags = SAMPLE_CUT};
    assert_true(sample_put(&writer, &taken, inner, 2));
    taken.flags = SAMPLE_UNKNOWN;
    assert_true(sample_put(&writer, &taken, inner, 2));
    taken.flags = SAMPLE_ELSEWHERE;
    taken.head.call = CALL_MPI_Recv;
    taken.head.state = MPIT_STATE_WORK;
    assert_true(sample_put(&writer, &taken, mpi, 1));
    taken.flags = 0;
    taken.head.call = taken.head.state = 0;
    assert_true(sample_put(&writer, &taken, mpi, 0));
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, 0x123, in_main());
    reading_begin();
    assert_string_equal(stack_lines(false, NULL), "[cut];[libother.so+0x0];compute 1000\n"
                                                  "[unknown] 1000\n"
                                                  "[unknown];MPI_Recv;[work] 1000\n"
                                                  "[unknown];[libother.so+0x0];compute 1000\n"
                                                  "main;[[unknown]+0x123] 1000\n");
}

/* How often the profile as text says what [mpit] is. */
static unsigned explained(bool internal)
{
    struct profile profile = {0};
    char line[4096];
    unsigned count = 0;
    FILE *file = tmpfile();
    assert_int_equal(profile_open(&profile, &dir.jobs[0], NULL, internal), 0);
    assert_int_equal(profile_print(&profile, file), 0);
    profile_release(&profile);
    rewind(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "  [mpit] is time in mpit itself", 31) == 0) {
            count++;
            assert_true((strstr(line, "--internal") == NULL) == internal);
        }
    fclose(file);
    return count;
}

TEST_WITH(what_stands_for_mpit_is_explained_once, recording_setup, recording_teardown)
{
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, in(compute), in(solve), in_main());
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, RECORDER + 2, in(solve), in_main());
    TAKE(MPIT_STATE_WORK, CALL_MPI_Send, RECORDER + 1, RECORDER + 2, in(solve), in_main());
    reading_begin();
    assert_int_equal(explained(false), 0);
    assert_int_equal(explained(true), 1);
}

TEST_WITH(where_nothing_stands_for_mpit_it_is_not_explained, recording_setup, recording_teardown)
{
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, in(compute), in(solve), in_main());
    reading_begin();
    assert_int_equal(explained(false), 0);
}

TEST_WITH(filters_choose_samples, recording_setup, recording_teardown)
{
    struct selection selection = {0};
    char problem[SELECT_PROBLEM_BYTES];
    TAKE(MPIT_STATE_NOT_IN_MPI, 0, in(solve), in_main());
    TAKE(MPIT_STATE_WORK, CALL_MPI_Send, RECORDER, in(solve), in_main());
    TAKE(MPIT_STATE_WORK, CALL_MPI_Recv, RECORDER, in(solve), in_main());
    reading_begin();
    assert_int_equal(selection_functions(&selection, "MPI_Send", problem), 0);
    assert_string_equal(stack_lines(false, &selection), "main;solve;MPI_Send;[work] 1000\n");
    selection = (struct selection){0};
    assert_int_equal(selection_window(&selection, "2100us:", problem), 0); /* the third stands for 2 ms .. 3 ms */
    assert_string_equal(stack_lines(false, &selection), "main;solve;MPI_Recv;[work] 900\n");
    selection = (struct selection){0};
    assert_int_equal(selection_comm(&selection, "MPI_COMM_W*", problem), 0);
    assert_string_equal(stack_lines(false, &selection), "main;solve;MPI_Recv;[work] 1000\n"
                                                        "main;solve;MPI_Send;[work] 1000\n");
    selection = (struct selection){0};
    assert_int_equal(selection_ranks(&selection, "1-", problem), 0);
    assert_string_equal(stack_lines(false, &selection), "");
    selection_release(&selection);
}

/* ---- the profile ------------------------------------------------------------------------------------------------- */

static struct profile profile;

/* So many samples of each: outside, at work in MPI_Recv, stalled in it; and calls whose timers have these times. */
static void phases_make(int outside, int work, int stall, uint64_t work_ns, uint64_t stall_ns)
{
    fixture_emit(&fixture, 0,
                 (struct event){.begin = now,
                                .duration = (uint32_t)(work_ns + stall_ns),
                                .kind = CALL_MPI_Recv,
                                .comm = 1,
                                .peer = 1,
                                .bytes = 8},
                 NULL);
    fixture_emit(&fixture, 0,
                 (struct event){.begin = now,
                                .duration = CALL_MPI_Recv,
                                .kind = RECORD_STALL,
                                .comm = 1,
                                .peer = 1,
                                .tag = 1,
                                .bytes = stall_ns},
                 NULL);
    for (int i = 0; i < outside; i++)
        TAKE(MPIT_STATE_NOT_IN_MPI, 0, in(compute), in_main());
    for (int i = 0; i < work; i++)
        TAKE(MPIT_STATE_WORK, CALL_MPI_Recv, MPI + 1, RECORDER + 1, in(solve), in_main());
    for (int i = 0; i < stall; i++)
        TAKE(MPIT_STATE_STALL_RECV, CALL_MPI_Recv, MPI + 1, RECORDER + 1, in(solve), in_main());
}

static void profile_make(const struct selection *selection)
{
    reading_begin();
    assert_int_equal(profile_open(&profile, &dir.jobs[0], selection, false), 0);
}

TEST_WITH(sums_are_those_of_the_samples, recording_setup, recording_teardown)
{
    phases_make(50, 20, 30, 20 * MS, 30 * MS);
    profile_make(NULL);
    EQUALS({profile.sum.samples, 100}, {profile.sum.ns, 100 * MS}, {profile.sum.on_cpu_ns, 100 * MS},
           {profile.sum.state_ns[MPIT_STATE_NOT_IN_MPI], 50 * MS},
           {profile.sum.state_ns[MPIT_STATE_STALL_RECV], 30 * MS}, {profile.calls.count, 1}, {profile.sites.count, 1},
           {profile.functions.count, 3});
    for (size_t i = 0; i < profile.functions.capacity; i++)
        for (struct keyed *keyed = profile.functions.buckets[i]; keyed; keyed = keyed->next) {
            const struct profile_function *function = (const struct profile_function *)keyed;
            const char *name = function->frame->name;
            assert_int_equal(function->self_ns, strcmp(name, "compute") ? 0 : 50 * MS);
            assert_int_equal(function->mpi_ns, strcmp(name, "solve") ? 0 : 50 * MS);
            assert_int_equal(function->total_ns, strcmp(name, "main") ? 50 * MS : 100 * MS);
        }
    profile_release(&profile);
}

TEST_WITH(timers_and_samples_agree_where_they_do, recording_setup, recording_teardown)
{
    phases_make(50, 20, 30, 19 * MS, 32 * MS);
    profile_make(NULL);
    assert_null(profile.exact.none);
    assert_true(profile.exact.agrees);
    EQUALS({profile.exact.ns[MPIT_STATE_STALL_RECV], 32 * MS}, {profile.exact.ns[MPIT_STATE_WORK], 19 * MS},
           {profile.exact.ns[MPIT_STATE_NOT_IN_MPI], 49 * MS}, {profile.exact.span_ns, 100 * MS});
    profile_release(&profile);
}

TEST_WITH(timers_and_samples_differ_where_they_do, recording_setup, recording_teardown)
{
    phases_make(50, 20, 30, 40 * MS, 10 * MS);
    profile_make(NULL);
    assert_null(profile.exact.none);
    assert_false(profile.exact.agrees);
    profile_release(&profile);
}

TEST_WITH(what_cannot_be_compared_is_not, recording_setup, recording_teardown)
{
    struct selection selection = {0};
    char problem[SELECT_PROBLEM_BYTES];
    phases_make(50, 20, 30, 20 * MS, 30 * MS);
    now += 50 * MS; /* for so long nobody took samples */
    profile_make(NULL);
    assert_non_null(strstr(profile.exact.none, "do not cover"));
    profile_release(&profile);
    assert_int_equal(selection_functions(&selection, "MPI_Recv", problem), 0);
    assert_int_equal(profile_open(&profile, &dir.jobs[0], &selection, false), 0);
    assert_non_null(strstr(profile.exact.none, "only a part"));
    profile_release(&profile);
}

TEST_WITH(heavy_samples_count_as_many, recording_setup, recording_teardown)
{
    const uint64_t pcs[] = {in(compute), in_main()};
    struct sample_taken heavy = {.ticks = now += 90 * MS, .weight = 90, .cpu_ns = 44 * MS};
    for (int i = 0; i < 10; i++)
        TAKE(MPIT_STATE_NOT_IN_MPI, 0, in(compute), in_main());
    assert_true(sample_put(&writer, &heavy, pcs, 2));
    profile_make(NULL);
    assert_int_equal(profile.sum.ns, 100 * MS);
    assert_int_equal(profile.sum.on_cpu_ns, 54 * MS);          /* 44 of them of the heavy one */
    assert_true(fabs(profile_samples(&profile) - 100) < 1e-9); /* the thread was there in 90 periods */
    profile_release(&profile);
}

TEST(errors_are_those_of_the_number_of_samples)
{
    assert_true(fabs(profile_error(50, 100, 10000, 1.96) - 0.0098) < 1e-4);
    assert_true(fabs(profile_error(10, 100, 2500, 1.96) - 0.01176) < 2e-4);
    double none = profile_error(0, 100, 100, 1.96); /* of 100 samples that all say no, up to 3 % may say yes */
    assert_true(none > 0.02 && none < 0.04);
    assert_true(profile_error(0, 0, 0, 1.96) == 1);
}

TEST_WITH(text_and_json_have_the_names, recording_setup, recording_teardown)
{
    char *text;
    size_t bytes;
    phases_make(50, 20, 30, 20 * MS, 30 * MS);
    profile_make(NULL);
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(profile_print(&profile, out), 0);
    fclose(out);
    assert_non_null(strstr(text, "samples and timers agree"));
    assert_non_null(strstr(text, "50.0 %"));
    assert_non_null(strstr(text, "test_profile.c:"));
    free(text);
    json_t *json = profile_json(&profile);
    assert_non_null(json);
    assert_int_equal(json_array_size(json_object_get(json, "functions")), 3);
    assert_true(json_is_true(json_object_get(json_object_get(json, "timers"), "agrees")));
    json_decref(json);
    profile_release(&profile);
}

TEST(long_names_are_cut_in_tables)
{
    char cut[UNIT_NAME_BYTES], name[400];
    assert_string_equal(text_of_name(cut, "solve"), "solve");
    memset(name, 'a', sizeof name);
    name[UNIT_NAME_BYTES - 1] = '\0';
    assert_ptr_equal(text_of_name(cut, name), name); /* it has room */
    memset(name, 'b', sizeof name);
    strcpy(name + sizeof name - 10, "::solve()");
    assert_int_equal(strlen(text_of_name(cut, name)), UNIT_NAME_BYTES - 1);
    assert_memory_equal(cut + UNIT_NAME_BEGIN - 2, "bb...bb", 7);
    assert_string_equal(cut + UNIT_NAME_BYTES - 10, "::solve()");
    for (size_t i = 0; i < 3; i++) { /* no half of a character is left */
        for (size_t at = i; at + 2 < 199; at += 2)
            memcpy(name + at, "\xc3\xa9", 2);
        memset(name, 'c', i);
        name[199] = '\0';
        name[198] = 'd';
        const char *shown = text_of_name(cut, name), *dots = strstr(shown, "...");
        assert_non_null(dots);
        assert_true((dots - shown) % 2 == (ptrdiff_t)i % 2);
        assert_int_not_equal((unsigned char)dots[3] & 0xc0, 0x80);
    }
}
