/* Frames of call sites -> which of them is the place. Names of C++ -> their short forms. */
#include "unittest.h"

#include "base/cxxname.h"
#include "calls.h"
#include "symbols/siteplaces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 8, PROGRAM = 1, LIBRARY, BINDING, PYTHON };

static struct summary_sites sites;

static int setup(void **state)
{
    static const char *const modules[] = {"/home/user/app", "/usr/lib/libsolver.so.3", "/usr/lib/libmpi_mpifh.so.40",
                                          "/usr/bin/python3.11"};
    (void)state;
    sites = (struct summary_sites){.modules = calloc(4, sizeof *sites.modules),
                                   .list = calloc(8, sizeof *sites.list),
                                   .frames = calloc((size_t)8 * FRAMES, sizeof *sites.frames),
                                   .module_count = 4};
    for (uint32_t i = 0; i < 4; i++)
        sites.modules[i].path = summary_text_add(&sites, modules[i]);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(sites.modules);
    free(sites.list);
    free(sites.frames);
    free(sites.texts);
    return 0;
}

/* "MPI function, innermost frame, ..., outermost": a frame of the program is its name. "+name" is of the library, "^name" of
 * the binding, "&name" of Python. */
static void site_make(uint32_t kind, const char *path)
{
    char words[256], *rest = words;
    struct summary_site *site = &sites.list[sites.count++];
    snprintf(words, sizeof words, "%s", path);
    *site = (struct summary_site){.kind = kind, .first_frame = (uint32_t)sites.frame_count};
    for (char *word; (word = strsep(&rest, " "));) {
        const char *marks = "+^&", *mark = strchr(marks, word[0]);
        sites.frames[sites.frame_count++] = (struct summary_frame){
            .module = mark ? LIBRARY + (uint32_t)(mark - marks) : PROGRAM,
            .function = strcmp(word, "?") == 0 ? 0 : summary_text_add(&sites, mark ? word + 1 : word)};
        site->frame_count++;
    }
}

static void place_check(size_t number, const char *place)
{
    const struct summary_frame *frame = site_place_frame(&sites, &sites.list[number]);
    assert_string_equal(summary_text(&sites, frame->function), place);
}

TEST(function_that_several_call_for_one_function_of_mpi_is_a_wrapper)
{
    site_make(CALL_MPI_Allreduce, "sum pressure main");
    site_make(CALL_MPI_Allreduce, "sum diagnostics main");
    site_make(CALL_MPI_Waitall, "exchange pressure main");
    assert_int_equal(site_places_mark(&sites), 0);
    place_check(0, "pressure");
    place_check(1, "diagnostics");
    place_check(2, "exchange"); /* one function calls it */
    assert_string_equal(summary_text(&sites, site_call_frame(&sites, &sites.list[0])->function), "sum");
}

TEST(wrappers_of_wrappers_are_wrappers)
{
    site_make(CALL_MPI_Allreduce, "sum dot cg main");
    site_make(CALL_MPI_Allreduce, "sum dot gmres main");
    site_make(CALL_MPI_Allreduce, "sum norm main");
    assert_int_equal(site_places_mark(&sites), 0);
    place_check(0, "cg");
    place_check(1, "gmres");
    place_check(2, "norm");
}

TEST(function_with_several_functions_of_mpi_is_a_place)
{
    site_make(CALL_MPI_Isend, "exchange pressure main");
    site_make(CALL_MPI_Waitall, "exchange diagnostics main");
    assert_int_equal(site_places_mark(&sites), 0);
    place_check(0, "exchange");
    place_check(1, "exchange");
}

TEST(function_with_the_name_of_mpi_is_a_wrapper)
{
    site_make(CALL_MPI_Bcast, "rmpi_mpi_bcast_ share main");
    assert_int_equal(site_places_mark(&sites), 0);
    place_check(0, "share");
}

TEST(library_is_no_place_where_the_program_has_one)
{
    site_make(CALL_MPI_Bcast, "^mpi_bcast_ +spread +solve step main");
    site_make(CALL_MPI_Bcast, "+spread +solve &eval &main");
    site_make(CALL_MPI_Bcast, "+spread +thread");
    site_make(CALL_MPI_Gather, "+collect +run main");
    assert_int_equal(site_places_mark(&sites), 0);
    place_check(0, "step");
    place_check(1, "solve"); /* Python is no program of the user */
    place_check(2, "thread");
    place_check(3, "collect"); /* the program is a library */
    assert_true(frame_is_of_interpreter(&sites, &sites.frames[sites.list[1].first_frame + 2]));
    assert_false(frame_is_of_interpreter(&sites, &sites.frames[sites.list[0].first_frame]));
}

TEST(names_of_programs_are_no_interpreters)
{
    static const char *const programs[] = {"/opt/REEF3D", "/opt/julia_set", "/home/user/heat.solver", "/opt/perlin"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        sites.modules[0].path = summary_text_add(&sites, programs[i]);
        sites.count = sites.frame_count = 0;
        site_make(CALL_MPI_Bcast, "+spread step main");
        assert_int_equal(site_places_mark(&sites), 0);
        place_check(0, "step");
    }
}

TEST(something_is_the_place_in_any_case)
{
    site_make(CALL_MPI_Bcast, "my_MPI_Bcast");
    site_make(CALL_MPI_Bcast, "? ?");
    sites.list[sites.count++] =
        (struct summary_site){.kind = CALL_MPI_Bcast, .first_frame = (uint32_t)sites.frame_count};
    assert_int_equal(site_places_mark(&sites), 0);
    place_check(0, "my_MPI_Bcast");
    assert_ptr_equal(site_place_frame(&sites, &sites.list[1]), &sites.frames[sites.list[1].first_frame]);
    assert_null(site_place_frame(&sites, &sites.list[2]));
}

TEST(function_that_calls_itself_has_no_more_callers)
{
    site_make(CALL_MPI_Send, "walk walk walk main");
    site_make(CALL_MPI_Send, "walk main");
    assert_int_equal(site_places_mark(&sites), 0);
    place_check(0, "walk");
}

TEST(names_of_cxx_are_short)
{
    static const char *const names[][2] = {
        {"exchange", "exchange"},
        {"foo.isra.0", "foo.isra.0"},
        {"__halo_mod_MOD_exchange", "__halo_mod_MOD_exchange"},
        {"double LAMMPS_NS::ComputeTemp::compute_scalar<2>(int) const", "ComputeTemp::compute_scalar"},
        {"remap_3d(double*, int)", "remap_3d"},
        {"f(int) [clone .cold]", "f"},
        {"std::vector<int, std::allocator<int> >::operator[](unsigned long)", "vector::operator[]"},
        {"ns::(anonymous namespace)::f(int)", "ns::f"},
        {"bool ns::operator< (A const&, B const&)", "ns::operator< "},
        {"A::operator()(int)", "A::operator()"},
        {"operator new(unsigned long)", "operator new"},
        {"std::enable_if<(N>2), int>::type foo<3>(int)", "foo"},
        {"decltype(auto) f<int>(int)", "f"},
        {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda}"},
        {"{lambda steps.cc:81:20}", "{lambda steps.cc:81:20}"},
        {"a<b", "a"},
        {"", ""},
    };
    char text[CXX_NAME_BYTES], large[1000];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(cxx_name_short(names[i][0], text), names[i][1]);
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    assert_int_equal(strlen(cxx_name_short(large, text)), CXX_NAME_BYTES - 1);
}

TEST(names_of_cxx_begin_after_the_type_that_they_return)
{
    static const char *const names[][2] = {
        {"std::sort<int*>(int*, int*)", "std::sort<int*>(int*, int*)"},
        {"void std::__introsort_loop<int*, long>(int*, int*, long)",
         "std::__introsort_loop<int*, long>(int*, int*, long)"},
        {"std::vector<double, std::allocator<double> > Solver::solve<int>(int)", "Solver::solve<int>(int)"},
        {"ns::(anonymous namespace)::f(int)", "ns::(anonymous namespace)::f(int)"},
        {"bool std::operator< <char>(A const&)", "std::operator< <char>(A const&)"},
        {"operator new(unsigned long)", "operator new(unsigned long)"},
        {"exchange", "exchange"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(cxx_name_begin(names[i][0]), names[i][1]);
}

TESTS_EACH(setup, teardown)
