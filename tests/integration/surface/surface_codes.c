#include "surface.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A text by the convention: NULL or no room asks for the length; too little room cuts and ends it. */
static void text_convention(int index)
{
    char full[256], part[256];
    int length = sizeof full, needed = 0, none;
    RETURNS(MPI_SUCCESS,
            MPI_T_pvar_get_info(index, full, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(length == (int)strlen(full) + 1, "the length of %s is %d", full, length);
    RETURNS(MPI_SUCCESS,
            MPI_T_pvar_get_info(index, NULL, &needed, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(needed == length, "a NULL buffer asks for the length: %d, not %d", needed, length);
    none = 0;
    memset(part, 'x', sizeof part);
    RETURNS(MPI_SUCCESS,
            MPI_T_pvar_get_info(index, part, &none, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(none == length && part[0] == 'x', "length 0 asks for the length: %d, not %d", none, length);
    needed = 3;
    RETURNS(MPI_SUCCESS,
            MPI_T_pvar_get_info(index, part, &needed, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(needed == length && strlen(part) == 2 && memcmp(part, full, 2) == 0, "cut to %s, length %d", part, needed);
    RETURNS(MPI_SUCCESS,
            MPI_T_pvar_get_info(index, full, NULL, NULL, NULL, NULL, NULL, part, NULL, NULL, NULL, NULL, NULL));
}

void codes_of_queries(void)
{
    int pvars, cvars, categories, index = -7, items[4];
    RETURNS(MPI_SUCCESS, MPI_T_pvar_get_num(&pvars));
    RETURNS(MPI_SUCCESS, MPI_T_cvar_get_num(&cvars));
    RETURNS(MPI_SUCCESS, MPI_T_category_get_num(&categories));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_pvar_get_num(NULL));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_cvar_get_num(NULL));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_category_get_num(NULL));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_category_changed(NULL));
    const int bad_pvars[] = {-1, pvars, INT32_MAX}, bad_cvars[] = {-1, cvars, INT32_MAX},
              bad_categories[] = {-1, categories, INT32_MIN};
    for (int i = 0; i < 3; i++) {
        RETURNS(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_get_info(bad_pvars[i], NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                                             NULL, NULL, NULL, NULL, NULL));
        RETURNS(MPI_T_ERR_INVALID_INDEX,
                MPI_T_cvar_get_info(bad_cvars[i], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        RETURNS(MPI_T_ERR_INVALID_INDEX,
                MPI_T_category_get_info(bad_categories[i], NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        RETURNS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_cvars(bad_categories[i], 4, items));
        RETURNS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_pvars(bad_categories[i], 4, items));
        RETURNS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_categories(bad_categories[i], 4, items));
    }
    if (pvars > 0)
        text_convention(pvars - 1);
    if (cvars > 0)
        RETURNS(MPI_SUCCESS, MPI_T_cvar_get_info(cvars - 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    RETURNS(MPI_SUCCESS, MPI_T_category_get_info(categories - 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    RETURNS(MPI_SUCCESS, MPI_T_category_get_cvars(0, 0, NULL));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_category_get_cvars(0, 1, NULL));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_category_get_pvars(0, -1, items));
    RETURNS(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("no such name", MPI_T_PVAR_CLASS_COUNTER, &index));
    RETURNS(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("mpit_call_count", MPI_T_PVAR_CLASS_TIMER, &index));
    RETURNS(MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index("no such name", &index));
    RETURNS(MPI_T_ERR_INVALID_NAME, MPI_T_category_get_index("no such name", &index));
    CHECK(index == -7, "an index was returned with an error");
    RETURNS(MPI_T_ERR_INVALID, MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_COUNTER, &index));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_pvar_get_index("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, NULL));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_cvar_get_index(NULL, &index));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_cvar_get_index("mpit_trace", NULL));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_category_get_index(NULL, &index));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_category_get_index("mpit", NULL));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_enum_get_info(MPI_T_ENUM_NULL, &index, NULL, NULL));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_enum_get_info((MPI_T_enum)(void *)items, &index, NULL, NULL));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_enum_get_item((MPI_T_enum)(void *)items, 0, &index, NULL, NULL));
    RETURNS(MPI_SUCCESS, PMPI_T_pvar_get_num(&pvars));
}

/* What a cvar of that name is; false: there is none. */
static bool cvar_open(const char *name, MPI_T_cvar_handle *handle, int *count)
{
    int index;
    return MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
           MPI_T_cvar_handle_alloc(index, NULL, handle, count) == MPI_SUCCESS;
}

void codes_of_cvars(void)
{
    int number, index, count = 0;
    unsigned long long value = 1;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL, stale;
    RETURNS(MPI_SUCCESS, MPI_T_cvar_get_num(&number));
    RETURNS(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_handle_alloc(-1, NULL, &handle, &count));
    RETURNS(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_handle_alloc(number, NULL, &handle, &count));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, &value));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_write(MPI_T_CVAR_HANDLE_NULL, &value));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&handle));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(NULL));
    handle = (MPI_T_cvar_handle)(void *)&value; /* an address that was never given out */
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(handle, &value));

    CHECK(cvar_open("mpit_flight_events", &handle, &count) && count == 1, "mpit_flight_events opens");
    RETURNS(MPI_T_ERR_INVALID, MPI_T_cvar_read(handle, NULL));
    RETURNS(MPI_T_ERR_CVAR_SET_NEVER, MPI_T_cvar_write(handle, &value));
    stale = handle;
    RETURNS(MPI_SUCCESS, MPI_T_cvar_handle_free(&handle));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(stale, &value));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&stale));
    CHECK(cvar_open("mpit_large_message_bytes", &handle, &count), "mpit_large_message_bytes opens");
    value = 12345;
    RETURNS(MPI_SUCCESS, MPI_T_cvar_write(handle, &value));
    value = 0;
    RETURNS(MPI_SUCCESS, MPI_T_cvar_read(handle, &value));
    CHECK(value == 12345, "what was written is read: %llu", value);
    value = 8192;
    RETURNS(MPI_SUCCESS, MPI_T_cvar_write(handle, &value));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_cvar_write(handle, NULL));
    RETURNS(MPI_SUCCESS, MPI_T_cvar_handle_free(&handle));

    /* the library's: a stale handle */
    index = number - 1;
    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
        stale = handle;
        RETURNS(MPI_SUCCESS, MPI_T_cvar_handle_free(&handle));
        RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(stale, &value));
        RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_write(stale, &value));
        RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&stale));
    }
    /* a truth value, which Open MPI holds in a byte, is an int */
    if (cvar_open("mpi_param_check", &handle, &count)) {
        int truth = 0x7f7f7f7f;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        RETURNS(MPI_SUCCESS, MPI_T_cvar_get_index("mpi_param_check", &index));
        RETURNS(MPI_SUCCESS, MPI_T_cvar_get_info(index, NULL, NULL, NULL, &type, NULL, NULL, NULL, NULL, NULL));
        RETURNS(MPI_SUCCESS, MPI_T_cvar_read(handle, &truth));
        CHECK(type == MPI_INT && (truth == 0 || truth == 1), "mpi_param_check is %#x", (unsigned)truth);
        RETURNS(MPI_SUCCESS, MPI_T_cvar_handle_free(&handle));
    }
}

void codes_of_pvars(void)
{
    int number, count, state, counter;
    unsigned long long values[1024];
    MPI_T_pvar_session session, other;
    MPI_T_pvar_handle handle, stale, continuous;
    RETURNS(MPI_T_ERR_INVALID, MPI_T_pvar_session_create(NULL));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&session));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&other));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_get_num(&number));
    RETURNS(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_handle_alloc(session, -1, NULL, &handle, &count));
    RETURNS(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_handle_alloc(session, number, NULL, &handle, &count));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_get_index("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, &counter));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_get_index("mpit_buffer_bytes", MPI_T_PVAR_CLASS_SIZE, &state));
    RETURNS(MPI_T_ERR_INVALID_SESSION,
            MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, counter, NULL, &handle, &count));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_pvar_handle_alloc(session, counter, NULL, NULL, &count));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_alloc(session, counter, NULL, &handle, &count));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_alloc(session, state, NULL, &continuous, &count));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_start(other, handle));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_stop(other, handle));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(other, handle, values));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_reset(other, handle));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(other, &handle));
    RETURNS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, handle, values));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_pvar_read(session, handle, NULL));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, values));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_readreset(session, MPI_T_PVAR_ALL_HANDLES, values));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_write(session, MPI_T_PVAR_ALL_HANDLES, values));
    stale = MPI_T_PVAR_ALL_HANDLES;
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(session, &stale));
    RETURNS(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_start(session, continuous));
    RETURNS(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_stop(session, continuous));
    RETURNS(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_write(session, continuous, values));
    RETURNS(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_reset(session, continuous));
    RETURNS(MPI_T_ERR_PVAR_NO_ATOMIC, MPI_T_pvar_readreset(session, continuous, values));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    stale = handle;
    RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_free(session, &handle));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, stale, values));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(session, &stale));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&session));
    RETURNS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&session));
    RETURNS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(NULL));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&other));
}
