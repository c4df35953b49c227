/* What only the standard ABI needs at the begin of a run: sizes of types, and where a status has its bytes. */
#include "native.h"

#include <stddef.h>

enum { STATUS_WORDS = sizeof(((MPI_Status *)NULL)->MPI_internal) / sizeof(int) };

uint32_t abi_type_sizes[ABI_TYPES];
struct abi_status_layout abi_status_layout;

static struct {
    __typeof__(&MPI_Get_elements_x) get_elements;
    __typeof__(&MPI_Status_set_elements_x) set_elements;
    __typeof__(&MPI_Test_cancelled) test_cancelled;
    __typeof__(&MPI_Status_set_cancelled) set_cancelled;
} calls;

uint64_t abi_status_bytes_slow(const MPI_Status *status)
{
    MPI_Count bytes = 0;
    bool known = calls.get_elements && calls.get_elements(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes > 0;
    return known ? (uint64_t)bytes : 0;
}

void abi_status_bytes_set_slow(MPI_Status *status, uint64_t bytes)
{
    if (calls.set_elements)
        (void)calls.set_elements(status, MPI_BYTE, (MPI_Count)bytes);
}

bool abi_status_cancelled_slow(const MPI_Status *status)
{
    int flag = 0;
    return calls.test_cancelled && calls.test_cancelled(status, &flag) == MPI_SUCCESS && flag;
}

/* Returns the index of the only word that differs, or -1. */
static int word_changed(const MPI_Status *a, const MPI_Status *b)
{
    int found = -1;
    for (int i = 0; i < STATUS_WORDS; i++)
        if (a->MPI_internal[i] != b->MPI_internal[i]) {
            if (found >= 0)
                return -1;
            found = i;
        }
    return found;
}

static bool layout_learn(struct abi_status_layout *layout)
{
    MPI_Status none = {0}, one, high, cancelled;
    if (calls.set_elements(&none, MPI_BYTE, 0) != MPI_SUCCESS || calls.set_cancelled(&none, 0) != MPI_SUCCESS)
        return false;
    one = high = cancelled = none;
    if (calls.set_elements(&one, MPI_BYTE, 1) != MPI_SUCCESS ||
        calls.set_elements(&high, MPI_BYTE, (MPI_Count)1 << 32) != MPI_SUCCESS ||
        calls.set_cancelled(&cancelled, 1) != MPI_SUCCESS)
        return false;
    int at_one = word_changed(&none, &one), at_high = word_changed(&none, &high),
        at_flag = word_changed(&none, &cancelled);
    if (at_one < 0 || at_high < 0 || at_flag < 0 || none.MPI_internal[at_one] != 0 || one.MPI_internal[at_one] != 1)
        return false;
    uint32_t bit = (uint32_t)(high.MPI_internal[at_high] ^ none.MPI_internal[at_high]);
    *layout =
        (struct abi_status_layout){.known = true,
                                   .low = (uint8_t)at_one,
                                   .high = (uint8_t)at_high,
                                   .shift = (uint8_t)__builtin_ctz(bit),
                                   .cancelled = (uint8_t)at_flag,
                                   .flag = (uint32_t)(cancelled.MPI_internal[at_flag] ^ none.MPI_internal[at_flag])};
    return (bit & (bit - 1)) == 0;
}

/* What was learned has to say the same as the library, of values that set many bits. */
static bool layout_holds(void)
{
    static const uint64_t values[] = {0, 1, UINT64_C(0xfedcba98), UINT64_C(0x123456789abcd)};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        for (int flag = 0; flag <= 1; flag++) {
            MPI_Status by_library = {0}, by_us = {0};
            if (calls.set_elements(&by_library, MPI_BYTE, (MPI_Count)values[i]) != MPI_SUCCESS ||
                calls.set_cancelled(&by_library, flag) != MPI_SUCCESS || abi_status_bytes(&by_library) != values[i] ||
                abi_status_cancelled(&by_library) != flag)
                return false;
            abi_status_bytes_set(&by_us, values[i]);
            if (abi_status_bytes_slow(&by_us) != values[i])
                return false;
        }
    return true;
}

static void types_measure(void)
{
    static const MPI_Datatype types[] = {MPI_AINT,           MPI_COUNT,
                                         MPI_OFFSET,         MPI_PACKED,
                                         MPI_SHORT,          MPI_INT,
                                         MPI_LONG,           MPI_LONG_LONG_INT,
                                         MPI_UNSIGNED_SHORT, MPI_UNSIGNED,
                                         MPI_UNSIGNED_LONG,  MPI_UNSIGNED_LONG_LONG,
                                         MPI_FLOAT,          MPI_C_FLOAT_COMPLEX,
                                         MPI_DOUBLE,         MPI_C_DOUBLE_COMPLEX,
                                         MPI_LONG_DOUBLE,    MPI_C_LONG_DOUBLE_COMPLEX,
                                         MPI_C_BOOL,         MPI_WCHAR,
                                         MPI_INT8_T,         MPI_UINT8_T,
                                         MPI_CHAR,           MPI_SIGNED_CHAR,
                                         MPI_UNSIGNED_CHAR,  MPI_BYTE,
                                         MPI_INT16_T,        MPI_UINT16_T,
                                         MPI_INT32_T,        MPI_UINT32_T,
                                         MPI_INT64_T,        MPI_UINT64_T,
                                         MPI_FLOAT_INT,      MPI_DOUBLE_INT,
                                         MPI_LONG_INT,       MPI_2INT,
                                         MPI_SHORT_INT,      MPI_LONG_DOUBLE_INT};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        MPI_Count size = 0;
        if (native.Type_size_x(types[i], &size) == MPI_SUCCESS && size > 0)
            abi_type_sizes[(uintptr_t)types[i] - ABI_TYPE_FIRST] = (uint32_t)size;
    }
}

void abi_types_find(void)
{
    calls.get_elements = (__typeof__(calls.get_elements))native_symbol("PMPI_Get_elements_x");
    calls.set_elements = (__typeof__(calls.set_elements))native_symbol("PMPI_Status_set_elements_x");
    calls.test_cancelled = (__typeof__(calls.test_cancelled))native_symbol("PMPI_Test_cancelled");
    calls.set_cancelled = (__typeof__(calls.set_cancelled))native_symbol("PMPI_Status_set_cancelled");
    types_measure();
    if (calls.set_elements && calls.set_cancelled && layout_learn(&abi_status_layout))
        abi_status_layout.known = layout_holds();
}
