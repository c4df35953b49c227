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
