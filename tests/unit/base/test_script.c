/* The script of a Python command. */
#include "unittest.h"

#include "base/script.h"

static void script_check(const char *command, const char *script)
{
    char text[32] = "";
    assert_int_equal(script_of(text, sizeof text, "/usr/bin/python3.11", command), script != NULL);
    if (script)
        assert_string_equal(text, script);
}

TEST(script_is_the_first_word_without_a_dash)
{
    script_check("python3 readbcast.py 17", "readbcast.py");
    script_check("python3 -u -O lib/solve.py -m 3", "lib/solve.py");
    script_check("python3 -W ignore -X dev solve.py", "solve.py");
    script_check("python3 -Wignore solve.py", "solve.py");
    script_check("python3 'my script.py' 'a b'", "my script.py");
}

TEST(module_is_a_script)
{
    script_check("python3 -m mpi4py.bench helloworld", "mpi4py.bench");
    script_check("python3 -um heat", "heat");
}

TEST(others_have_none)
{
    char text[32] = "";
    script_check("python3", NULL);
    script_check("", NULL);
    script_check("python3 -c 'import this'", NULL);
    script_check("python3 -m", NULL);
    script_check("python3 '", NULL);
    assert_false(script_of(text, sizeof text, "/opt/pythonish/app", "app input"));
    assert_false(script_of(text, sizeof text, "app", ""));
}

TEST(long_names_are_cut)
{
    script_check("python3 a-very-long-name-of-a-script-without-an-end.py", "a-very-long-name-of-a-script-wi");
}
