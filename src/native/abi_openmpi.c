/* What only Open MPI's ABI needs at the begin of a run: handles that are symbols of the library. */
#include "native.h"

#include <stddef.h>

struct abi_type abi_types[ABI_TYPE_PLACES];

/* The frequent ones last: if two need one place, the later one gets it. */
static const char *const type_names[] = {
    "ompi_mpi_2cplex",
    "ompi_mpi_2dblcplex",
    "ompi_mpi_2dblprec",
    "ompi_mpi_2int",
    "ompi_mpi_2integer",
    "ompi_mpi_2real",
    "ompi_mpi_cxx_bool",
    "ompi_mpi_logical",
    "ompi_mpi_character",
    "ompi_mpi_cplex",
    "ompi_mpi_dblcplex",
    "ompi_mpi_c_bool",
    "ompi_mpi_c_float_complex",
    "ompi_mpi_c_double_complex",
    "ompi_mpi_c_long_double_complex",
    "ompi_mpi_float_int",
    "ompi_mpi_double_int",
    "ompi_mpi_long_int",
    "ompi_mpi_short_int",
    "ompi_mpi_longdbl_int",
    "ompi_mpi_wchar",
    "ompi_mpi_aint",
    "ompi_mpi_offset",
    "ompi_mpi_count",
    "ompi_mpi_packed",
    "ompi_mpi_long_double",
    "ompi_mpi_int8_t",
    "ompi_mpi_int16_t",
    "ompi_mpi_int32_t",
    "ompi_mpi_int64_t",
    "ompi_mpi_uint8_t",
    "ompi_mpi_uint16_t",
    "ompi_mpi_uint32_t",
    "ompi_mpi_uint64_t",
    "ompi_mpi_signed_char",
    "ompi_mpi_unsigned_char",
    "ompi_mpi_short",
    "ompi_mpi_unsigned_short",
    "ompi_mpi_unsigned",
    "ompi_mpi_unsigned_long",
    "ompi_mpi_unsigned_long_long",
    "ompi_mpi_long_long_int",
    "ompi_mpi_integer",
    "ompi_mpi_real",
    "ompi_mpi_dblprec",
    "ompi_mpi_long",
    "ompi_mpi_char",
    "ompi_mpi_float",
    "ompi_mpi_byte",
    "ompi_mpi_int",
    "ompi_mpi_double",
};

void abi_types_find(void)
{
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        MPI_Datatype type = native_object(type_names[i]);
        MPI_Count size = 0;
        if (type && native.Type_size_x(type, &size) == MPI_SUCCESS && size > 0)
            abi_types[abi_type_place(type)] = (struct abi_type){type, (uint32_t)size};
    }
}

void abi_constants_find(void)
{
    native.comm_world = native_object("ompi_mpi_comm_world");
    native.comm_self = native_object("ompi_mpi_comm_self");
    native.comm_null = native_object("ompi_mpi_comm_null");
    native.request_null = native_object("ompi_request_null");
    native.message_null = native_object("ompi_message_null");
    native.message_no_proc = native_object("ompi_message_no_proc");
    native.group_null = native_object("ompi_mpi_group_null");
    native.group_empty = native_object("ompi_mpi_group_empty");
    native.errors_return = native_object("ompi_mpi_errors_return");
    native.max = native_object("ompi_mpi_op_max");
    native.sum = native_object("ompi_mpi_op_sum");
    native.replace = native_object("ompi_mpi_op_replace");
    native.no_op = native_object("ompi_mpi_op_no_op");
    native.info_null = native_object("ompi_mpi_info_null");
    native.byte = native_object("ompi_mpi_byte");
    native.char_ = native_object("ompi_mpi_char");
    native.int_ = native_object("ompi_mpi_int");
    native.unsigned_ = native_object("ompi_mpi_unsigned");
    native.unsigned_long = native_object("ompi_mpi_unsigned_long");
    native.unsigned_long_long = native_object("ompi_mpi_unsigned_long_long");
    native.count = native_object("ompi_mpi_count");
    native.double_ = native_object("ompi_mpi_double");
    native.c_bool = native_object("ompi_mpi_c_bool");
    native.long_ = native_object("ompi_mpi_long");
    native.int32 = native_object("ompi_mpi_int32_t");
    native.uint32 = native_object("ompi_mpi_uint32_t");
    native.int64 = native_object("ompi_mpi_int64_t");
    native.uint64 = native_object("ompi_mpi_uint64_t");
}
