#include "trace/jointcalls.h"

#include "calls.h"

bool call_makes_comm(unsigned call)
{
    switch (call) {
    case CALL_MPI_Comm_dup:
    case CALL_MPI_Comm_dup_with_info:
    case CALL_MPI_Comm_split:
    case CALL_MPI_Comm_split_type:
    case CALL_MPI_Comm_create:
    case CALL_MPI_Cart_create:
    case CALL_MPI_Cart_sub:
    case CALL_MPI_Graph_create:
    case CALL_MPI_Dist_graph_create:
    case CALL_MPI_Dist_graph_create_adjacent:
        return true;
    default:
        return false;
    }
}

bool call_is_of_window(unsigned call)
{
    switch (call) {
    case CALL_MPI_Win_create:
    case CALL_MPI_Win_allocate:
    case CALL_MPI_Win_allocate_shared:
    case CALL_MPI_Win_create_dynamic:
    case CALL_MPI_Win_free:
    case CALL_MPI_Win_fence:
        return true;
    default:
        return false;
    }
}

bool call_gathers(unsigned call)
{
    switch (call) {
    case CALL_MPI_Finalize:
    case CALL_MPI_Intercomm_merge:
    case CALL_MPI_Comm_free:
    case CALL_MPI_Comm_disconnect:
    case CALL_MPI_File_open:
    case CALL_MPI_File_close:
    case CALL_MPI_File_set_size:
    case CALL_MPI_File_preallocate:
    case CALL_MPI_File_set_view:
    case CALL_MPI_File_sync:
        return true;
    default:
        return call_makes_comm(call) || call_is_of_window(call);
    }
}
