/* Codes that mpit promises and the standard leaves open. tests/conformance has those of the standard. */
#include "surface.h"

#include <stddef.h>

void codes_of_queries(void)
{
    int index = -7, items[4];
    RETURNS(MPI_T_ERR_INVALID, MPI_T_pvar_get_num(NULL));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_cvar_get_num(NULL));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_category_get_num(NULL));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_category_changed(NULL));
    RETURNS(MPI_T_ERR_INVALID_INDEX,
            MPI_T_pvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    RETURNS(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    RETURNS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    RETURNS(MPI_SUCCESS, MPI_T_category_get_cvars(0, 0, NULL));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_category_get_cvars(0, 1, NULL));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_category_get_pvars(0, -1, items));
    RETURNS(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("no such name", MPI_T_PVAR_CLASS_COUNTER, &index));
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
    int index, count = 0;
    unsigned long long value = 1;
    MPI_T_cvar_handle handle = (MPI_T_cvar_handle)(void *)&value, stale; /* an address that was never given out */
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(handle, &value));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(NULL));
    CHECK(cvar_open("mpit_flight_events", &handle, &count) && count == 1, "mpit_flight_events opens");
    RETURNS(MPI_T_ERR_INVALID, MPI_T_cvar_read(handle, NULL));
    RETURNS(MPI_T_ERR_CVAR_SET_NEVER, MPI_T_cvar_write(handle, &value));
    stale = handle;
    RETURNS(MPI_SUCCESS, MPI_T_cvar_handle_free(&handle));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_write(stale, &value));
    CHECK(cvar_open("mpit_large_message_bytes", &handle, &count), "mpit_large_message_bytes opens");
    RETURNS(MPI_T_ERR_INVALID, MPI_T_cvar_write(handle, NULL));
    RETURNS(MPI_SUCCESS, MPI_T_cvar_handle_free(&handle));
    /* the library's: a stale handle */
    RETURNS(MPI_SUCCESS, MPI_T_cvar_get_num(&index));
    if (MPI_T_cvar_handle_alloc(index - 1, NULL, &handle, &count) == MPI_SUCCESS) {
        stale = handle;
        RETURNS(MPI_SUCCESS, MPI_T_cvar_handle_free(&handle));
        RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_write(stale, &value));
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
    int count, counter;
    unsigned long long values[1024];
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle, all = MPI_T_PVAR_ALL_HANDLES;
    RETURNS(MPI_T_ERR_INVALID, MPI_T_pvar_session_create(NULL));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_create(&session));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_get_index("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, &counter));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_pvar_handle_alloc(session, counter, NULL, NULL, &count));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_handle_alloc(session, counter, NULL, &handle, &count));
    RETURNS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, handle, values));
    RETURNS(MPI_T_ERR_INVALID, MPI_T_pvar_read(session, handle, NULL));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, all, values));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_readreset(session, all, values));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_write(session, all, values));
    RETURNS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(session, &all));
    RETURNS(MPI_SUCCESS, MPI_T_pvar_session_free(&session));
    RETURNS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(NULL));
}
