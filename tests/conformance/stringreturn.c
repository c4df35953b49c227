/* How strings are returned, for each call that returns one: five tests for each sort of thing that has a name. */
#include "survey.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MOST = 8192, GUARD = 0x5a };

/* Gets string `which` (0 name, 1 description) of thing `index`. */
typedef int getter(int index, int which, char *text, int *length);

static int get_pvar(int index, int which, char *text, int *length)
{
    return which ? MPI_T_pvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, text, length, NULL, NULL, NULL, NULL)
                 : MPI_T_pvar_get_info(index, text, length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

static int get_cvar(int index, int which, char *text, int *length)
{
    return which ? MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, NULL, text, length, NULL, NULL)
                 : MPI_T_cvar_get_info(index, text, length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

static int get_category(int index, int which, char *text, int *length)
{
    return which ? MPI_T_category_get_info(index, NULL, NULL, text, length, NULL, NULL, NULL)
                 : MPI_T_category_get_info(index, text, length, NULL, NULL, NULL, NULL, NULL);
}

/* Enumerations have no index: those of pvars and cvars, in their order. Its name, or an item's. */
static MPI_T_enum enum_at(int index)
{
    int cvars = 0;
    EACH_PVAR(p)
        if (p->datatype == MPI_INT && p->enumtype != MPI_T_ENUM_NULL && index-- == 0)
            return p->enumtype;
    MPI_T_cvar_get_num(&cvars);
    for (int i = 0; i < cvars; i++) {
        MPI_T_enum type = MPI_T_ENUM_NULL;
        MPI_Datatype datatype = MPI_DATATYPE_NULL;
        if (MPI_T_cvar_get_info(i, NULL, NULL, NULL, &datatype, &type, NULL, NULL, NULL, NULL) == MPI_SUCCESS &&
            datatype == MPI_INT && type != MPI_T_ENUM_NULL && index-- == 0)
            return type;
    }
    return MPI_T_ENUM_NULL;
}

static int get_enum(int index, int which, char *text, int *length)
{
    static int known = -1;
    static MPI_T_enum type;
    if (index != known)
        type = enum_at(known = index);
    if (type == MPI_T_ENUM_NULL)
        return MPI_T_ERR_INVALID_INDEX;
    return which ? MPI_T_enum_get_item(type, 0, NULL, text, length) : MPI_T_enum_get_info(type, NULL, text, length);
}

/* Calls judge for each string that there is, with its whole text as it comes with a buffer that is long enough. */
static void each_string(getter *get, void (*judge)(getter *, int, int, const char *))
{
    static char text[TEXT_MOST];
    int found = 0, misses = 0;
    for (int index = 0; misses < 400 && found < 4000; index++) {
        for (int which = 0; which < 2; which++) {
            int length = sizeof text;
            memset(text, GUARD, sizeof text);
            if (get(index, which, text, &length) != MPI_SUCCESS) {
                misses++;
                continue;
            }
            found++;
            if (!memchr(text, '\0', sizeof text))
                expect(false, "string %d of %d is not terminated", which, index);
            else
                judge(get, index, which, text);
        }
    }
    some(found, "strings of that sort");
}

static void judge_cut(getter *get, int index, int which, const char *text)
{
    char buffer[16];
    for (int size = 1; size <= 9; size += 4) {
        int length = size;
        memset(buffer, GUARD, sizeof buffer);
        EXPECT_CODE(get(index, which, buffer, &length), MPI_SUCCESS, "%.40s", text);
        int keeps = (int)strlen(text) < size ? (int)strlen(text) : size - 1;
        expect(strncmp(buffer, text, (size_t)keeps) == 0 && buffer[keeps] == '\0',
               "\"%.40s\" into %d bytes is \"%.*s\"", text, size, size, buffer);
        expect(buffer[size] == GUARD, "\"%.40s\" into %d bytes writes beyond them", text, size);
    }
}

static void judge_length(getter *get, int index, int which, const char *text)
{
    char buffer[TEXT_MOST];
    int length = sizeof buffer, cut = 4;
    EXPECT_CODE(get(index, which, buffer, &length), MPI_SUCCESS, "%.40s", text);
    expect(length == (int)strlen(text) + 1, "\"%.40s\": length %d, not %zu", text, length, strlen(text) + 1);
    EXPECT_CODE(get(index, which, buffer, &cut), MPI_SUCCESS, "%.40s", text);
    expect(cut == (int)strlen(text) + 1, "\"%.40s\" cut: length %d, not %zu", text, cut, strlen(text) + 1);
}

static void judge_null(getter *get, int index, int which, const char *text)
{
    int length = 77;
    EXPECT_CODE(get(index, which, NULL, &length), MPI_SUCCESS, "%.40s", text);
    expect(length == (int)strlen(text) + 1, "\"%.40s\", NULL: length %d, not %zu", text, length, strlen(text) + 1);
}

static void judge_zero(getter *get, int index, int which, const char *text)
{
    char buffer[4] = {GUARD, GUARD, GUARD, GUARD};
    int length = 0;
    EXPECT_CODE(get(index, which, buffer, &length), MPI_SUCCESS, "%.40s", text);
    expect(length == (int)strlen(text) + 1, "\"%.40s\", 0: length %d, not %zu", text, length, strlen(text) + 1);
    expect(buffer[0] == GUARD, "\"%.40s\" with length 0 is written", text);
}

static void judge_no_length(getter *get, int index, int which, const char *text)
{
    char buffer[4] = {GUARD, GUARD, GUARD, GUARD};
    EXPECT_CODE(get(index, which, buffer, NULL), MPI_SUCCESS, "%.40s", text);
    expect(buffer[0] == GUARD, "\"%.40s\" without a length is written", text);
}

#define STRING_TESTS(sort, what)                                                                                       \
    TEST(sort##_string_cut, RUNNING, "15.3.3",                                                                         \
         "A buffer of n bytes gets at most n-1 characters and a NUL, and nothing behind it is touched: " what ".")     \
    {                                                                                                                  \
        each_string(get_##sort, judge_cut);                                                                            \
    }                                                                                                                  \
    TEST(sort##_string_length, RUNNING, "15.3.3",                                                                      \
         "The length that comes back is the string's with its NUL, also when it was cut: " what ".")                   \
    {                                                                                                                  \
        each_string(get_##sort, judge_length);                                                                         \
    }                                                                                                                  \
    TEST(sort##_string_null, RUNNING, "15.3.3", "A NULL buffer asks for the length alone: " what ".")                  \
    {                                                                                                                  \
        each_string(get_##sort, judge_null);                                                                           \
    }                                                                                                                  \
    TEST(sort##_string_zero, RUNNING, "15.3.3", "A length of 0 asks for the length alone: " what ".")                  \
    {                                                                                                                  \
        each_string(get_##sort, judge_zero);                                                                           \
    }                                                                                                                  \
    TEST(sort##_string_no_length, RUNNING, "15.3.3",                                                                   \
         "A NULL length: the buffer is ignored and nothing is returned: " what ".")                                    \
    {                                                                                                                  \
        each_string(get_##sort, judge_no_length);                                                                      \
    }

STRING_TESTS(pvar, "names and descriptions of pvars")
STRING_TESTS(cvar, "names and descriptions of cvars")
STRING_TESTS(category, "names and descriptions of categories")
STRING_TESTS(enum, "enumerations and their items")
