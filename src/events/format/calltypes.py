"""The C types of the arguments in calls.table, and the declarations of an mpi.h (generate_calls.py)."""
import re

# The types of the arguments, without const, for functions that the local mpi.h does not declare.
TYPES = {
    "int": "amode assert atomicity color dest errorcode fd high indegree key length local_leader maxprocs n ndims nnodes "
           "outdegree partition partition_high partition_low partitions recvtag remote_leader reorder required root sendtag "
           "source split_type tag target lock_type whence",
    "int *": "argc degrees destinations destweights dims edges errcodes flag index indices maxprocs_list outcount "
             "partition_list periods provided remain_dims sources sourceweights weights",
    "void *": "base buf buffer compare extra_state fetched inbuf inoutbuf origin outbuf recvbuf sendbuf",
    "char *": "command datarep filename port service stringtag text",
    "char **": "commands spawn_argv",
    "char ***": "argv spawn_argvs",
    "MPI_Aint": "disp size",
    "MPI_Offset": "file_size offset view_disp",
    "MPI_Offset *": "file_size_pointer offset_pointer",
    "MPI_Comm": "comm peer_comm",
    "MPI_Comm *": "comm_pointer newcomm parent",
    "MPI_Datatype": "etype fetched_type filetype origin_type recvtype sendtype target_type type",
    "MPI_Datatype *": "recvtypes sendtypes",
    "MPI_Errhandler": "errhandler",
    "MPI_File": "fh",
    "MPI_File *": "fh_pointer",
    "MPI_Group": "group local_group remote_group",
    "MPI_Info": "info",
    "MPI_Info *": "infos",
    "MPI_Message *": "message",
    "MPI_Op": "op",
    "MPI_Request *": "request requests",
    "MPI_Session": "session_value",
    "MPI_Session *": "session",
    "MPI_Status *": "status statuses",
    "MPI_Win": "win",
    "MPI_Win *": "win_pointer",
    "MPI_Grequest_query_function *": "query_fn",
    "MPI_Grequest_free_function *": "free_fn",
    "MPI_Grequest_cancel_function *": "cancel_fn",
}
# Those that have another type in the form _c: the type, and that of _c.
LARGE_TYPES = {
    ("int", "MPI_Count"): "count fetched_count incount insize origin_count outbuf_count outsize recvcount sendcount "
                          "target_count",
    ("int *", "MPI_Count *"): "buffer_size position recvcounts sendcounts",
    ("int *", "MPI_Aint *"): "displs rdispls sdispls",
    ("int", "MPI_Aint"): "disp_unit",
    ("MPI_Aint", "MPI_Count"): "external_size",
    ("MPI_Aint *", "MPI_Count *"): "external_position",
}
# Exceptions, by the shape or the detail of the call.
SPECIAL_TYPES = {
    ("win_create", "win"): "MPI_Win *",
    ("file_open", "fh"): "MPI_File *",
    ("partition", "request"): "MPI_Request",
    ("grequest_complete", "request"): "MPI_Request",
    ("request_get_status", "request"): "MPI_Request",
    ("psend_init", "count"): "MPI_Count",
    ("precv_init", "count"): "MPI_Count",
    ("neighbor_alltoallw", "sdispls"): "MPI_Aint *",
    ("neighbor_alltoallw", "rdispls"): "MPI_Aint *",
}
TYPE_OF = {word: (kind, kind) for kind, words in TYPES.items() for word in words.split()}
TYPE_OF.update({word: kinds for kinds, words in LARGE_TYPES.items() for word in words.split()})
# Shapes without a form _c, though they have a count.
SMALL_SHAPES = ["startall", "psend_init", "precv_init"]
# A local function that mpi.h does not declare: its wrapper passes as many arguments as any has, in registers and on
# the stack. All are integers or pointers. A function with fewer arguments ignores the others.
LOCAL_ARGUMENTS = 10


def prototypes_read(path):
    """name -> list of C parameter declarations, from a preprocessed mpi.h"""
    text = " ".join(line for line in open(path) if not line.startswith("#"))
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", text)
    found = {}
    for match in re.finditer(r"\bint\s+(MPIX?_\w+)\s*\(([^;{}]*?)\)\s*;", text):
        name, parameters = match.groups()
        if parameters.strip() in ("void", ""):
            found[name] = []
        elif "(" not in parameters:
            found[name] = [" ".join(p.split()) for p in parameters.split(",")]
    return found


def parameter_type(parameter):
    """'const int displs[]' -> ('const int ', '[]')"""
    if re.fullmatch(r".*\*|\w+", parameter):  # it has no name
        parameter += " unnamed"
    match = re.match(r"^(.*?)(\b\w+) ?((?:\[[^\]]*\])*)$", parameter)
    kind, _, suffix = match.groups()
    return " ".join(kind.split()).replace(" *", " *"), suffix.replace(" ", "")


def declaration(types, names):
    out = []
    for (kind, suffix), name in zip(types, names):
        space = "" if kind.endswith("*") else " "
        out.append(f"{kind}{space}{name}{suffix}")
    return ", ".join(out) if out else "void"


# Shapes of functions that are counted only while mpit_record_local_calls is on. Their arguments are not recorded.
LOCAL_SHAPES = ["local", "datatype", "datatype_free", "group", "group_free"]


def has_large_form(call):
    if call.shape in LOCAL_SHAPES:
        return call.detail == "large"
    counts = any(TYPE_OF[word][0] != TYPE_OF[word][1] for word in call.arguments)
    return counts and call.klass not in ("completion", "communicator") and call.shape not in SMALL_SHAPES


def types_of_words(call, large):
    """The types of a function's parameters, as the table's words say."""
    if call.shape in LOCAL_SHAPES:
        return [("intptr_t", "")] * LOCAL_ARGUMENTS
    kinds = [TYPE_OF[word][large] for word in call.arguments]
    if not large:
        kinds = [SPECIAL_TYPES.get((call.detail, word), kind) for word, kind in zip(call.arguments, kinds)]
    return [(SPECIAL_TYPES.get((call.shape, word), kind), "") for word, kind in zip(call.arguments, kinds)]


def types_compare(calls, prototypes):
    """Returns the number of functions whose declaration in mpi.h differs from the words of the table."""
    faults = []
    for call in (c for c in calls if c.shape not in LOCAL_SHAPES):
        large = has_large_form(call)
        if call.name + "_c" in prototypes and not large:
            faults.append(f"{call.name}_c is declared, and the table's words say that there is none")
        for name, large in [(call.name, False)] + [(call.name + "_c", True)] * large:
            for word, (wanted, _), has in zip(call.arguments, types_of_words(call, large), prototypes.get(name, [])):
                kind, suffix = parameter_type(has)
                kind = re.sub(r"\bconst\b", "", kind + "*" * suffix.count("[")).replace(" ", "")
                if kind != wanted.replace(" ", "") and not (wanted == "void *" and kind == "void**"):
                    faults.append(f"{name}: {word} is {kind}, and TYPES has {wanted}")
    for fault in faults:
        print(f"not ok {fault}")
    print(f"{len(prototypes)} functions declared, {len(faults)} differ")
    return len(faults)
