#!/usr/bin/env python3
"""Turns calls.table into C.

    generate_calls.py header  TABLE                    the event kinds (calls.h)
    generate_calls.py source  TABLE                    their names, classes, roles (calls.c)
    generate_calls.py wrappers TABLE PREPROCESSED_MPI_H  the wrappers for one MPI
    generate_calls.py next    TABLE PREPROCESSED_MPI_H  the list of functions that are wrapped for one MPI, and
                                                        declarations of those that its mpi.h lacks
    generate_calls.py types   TABLE PREPROCESSED_MPI_H  compares TYPES with mpi.h. Exit status 1 if they differ

Writes to standard output. A line of the table that cannot be read is an error with its number.
"""
import sys

sys.dont_write_bytecode = True  # beside the sources
from calltypes import LOCAL_SHAPES, declaration, has_large_form, parameter_type, prototypes_read, types_compare, types_of_words

CLASSES = ["process", "p2p", "completion", "collective", "communicator", "rma", "io", "other"]
ROLES = ["OTHER", "POINT2POINT", "BARRIER", "COLL_ONE2ALL", "COLL_ALL2ONE", "COLL_ALL2ALL", "COLL_OTHER", "RMA",
         "FILE_IO"]
COLLECTIVES = ["barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall",
               "alltoallv", "alltoallw", "allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "scan",
               "exscan", "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv",
               "neighbor_alltoallw"]


# How the fold applies an event, by the shape of its wrapper.
FOLDS = {"local": "CALL", "datatype": "CALL", "datatype_free": "CALL", "group": "CALL", "group_free": "CALL", "init": "CALL", "init_thread": "CALL", "finalize": "CALL", "abort": "CALL",
         "session_init": "CALL", "session_finalize": "CALL",
         "send": "SEND", "recv": "RECV", "sendrecv": "SENDRECV", "sendrecv_replace": "SENDRECV",
         "isend": "POST_SEND", "irecv": "POST_RECV", "probe": "P2P", "iprobe": "P2P",
         "send_init": "P2P", "recv_init": "P2P", "mprobe": "P2P", "improbe": "P2P", "mrecv": "RECV",
         "imrecv": "POST_RECV", "isendrecv": "START", "isendrecv_replace": "START", "psend_init": "P2P",
         "precv_init": "P2P", "partition": "P2P", "start": "START", "startall": "START",
         "wait": "COMPLETION", "waitall": "COMPLETION", "waitany": "COMPLETION", "waitsome": "COMPLETION",
         "test": "COMPLETION", "testall": "COMPLETION", "testany": "COMPLETION", "testsome": "COMPLETION",
         "request_free": "COMPLETION", "cancel": "COMPLETION", "grequest_start": "COMPLETION",
         "grequest_complete": "COMPLETION", "request_get_status": "COMPLETION", "request_get_status_all": "COMPLETION",
         "request_get_status_any": "COMPLETION", "request_get_status_some": "COMPLETION", "iflush": "CALL", "coll": "COLL", "icoll": "POST_COLL",
         "neighbor": "COLL", "ineighbor": "POST_COLL", "coll_init": "COLL_INIT", "neighbor_init": "COLL_INIT",
         "comm_create": "COMM", "comm_idup": "COMM", "comm_free": "COMM", "comm_name": "CALL",
         "comm_found": "COMM", "comm_parent": "CALL", "comm_call": "COMM_CALL", "call": "CALL",
         "win_create": "RMA", "win_free": "RMA", "win_call": "RMA", "win_lock": "RMA", "win_test": "RMA",
         "win_group": "RMA", "win_post": "RMA", "win_name": "CALL",
         "file_open": "IO", "file_close": "IO", "file_call": "IO", "file_transfer": "IO", "file_post": "IO",
         "file_view": "IO", "file_seek": "IO", "file_delete": "CALL"}

# Shapes of calls that no later call depends on. If such a call is not recorded (filtered, or recording is off), it
# passes the wrapper. All other calls go through their wrapper, which keeps requests, communicators, windows and files.
PASSING_SHAPES = ["local", "send", "recv", "sendrecv", "sendrecv_replace", "probe", "iprobe", "cancel", "coll",
                  "neighbor", "comm_call", "win_call", "win_lock", "win_test", "win_group", "file_call", "file_seek",
                  "file_transfer", "file_delete"]

# Collectives that have one size for all ranks: their bytes are known before the call.
ONE_SIZE = ["bcast", "reduce", "allreduce", "reduce_scatter_block", "scan", "exscan"]

# The functions with a hot case, which is enough for nearly all of their calls (src/probes/wrappers/hot.h).
HOT_CALLS = ["MPI_Send", "MPI_Recv", "MPI_Sendrecv", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Waitall"]

# Shapes of functions that are new in MPI-4.0. Open MPI 4 has them as an extension, under the names MPIX_*.
EXTENSION_SHAPES = ["coll_init", "neighbor_init"]


class Call:
    def __init__(self, number, words):
        if len(words) < 5:
            sys.exit(f"calls.table:{number}: needs name, class, shape, detail and role")
        self.name, self.klass, self.shape, self.detail, self.role = words[:5]
        self.arguments = words[5:]
        if self.klass not in CLASSES:
            sys.exit(f"calls.table:{number}: class '{self.klass}' is none of {', '.join(CLASSES)}")
        if self.role not in ROLES:
            sys.exit(f"calls.table:{number}: role '{self.role}' is none of {', '.join(ROLES)}")
        if self.shape not in FOLDS:
            sys.exit(f"calls.table:{number}: shape '{self.shape}' is none of {', '.join(FOLDS)}")
        if self.klass == "collective" and self.detail not in COLLECTIVES:
            sys.exit(f"calls.table:{number}: collective '{self.detail}' is none of {', '.join(COLLECTIVES)}")


def table_read(path):
    calls = []
    for number, line in enumerate(open(path), 1):
        words = line.split("#")[0].split()
        if words:
            calls.append(Call(number, words))
    names = [c.name for c in calls]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"calls.table: {name} stands twice")
    return calls


def generate_header(calls):
    print("/* Generated from calls.table. */\n#ifndef MPIT_EVENTS_CALLS_H\n#define MPIT_EVENTS_CALLS_H\n")
    print("#include <stdbool.h>\n#include <stdint.h>\n")
    print("enum call_class {")
    for c in CLASSES:
        print(f"    CLASS_{c.upper()},")
    print("    CLASS_COUNT\n};\n\nenum call_role {")
    for r in ROLES:
        print(f"    ROLE_{r},")
    print("    ROLE_COUNT\n};\n\n/* How the fold applies the event of a call (src/aggregate/figures/fold.h). */\nenum fold_shape {")
    for f in dict.fromkeys(FOLDS.values()):
        print(f"    FOLD_{f},")
    print("    FOLD_COUNT\n};\n\n/* Slot 0 is \"none\". */\nenum collective {\n    COLLECTIVE_NONE,")
    for c in COLLECTIVES:
        print(f"    COLLECTIVE_{c.upper()},")
    print("    COLLECTIVE_COUNT\n};\n\n/* The kinds of events that are calls. */\nenum call {\n    CALL_NONE,")
    for c in calls:
        print(f"    CALL_{c.name},")
    print("    CALL_COUNT\n};\n\nstruct call_description {\n    const char *name;\n    uint8_t class, role, op, fold;\n    bool local; /* counted only while mpit_record_local_calls is on */\n    bool reads; /* its bytes come in: it gets from a window, or reads from a file */\n    bool tests; /* it looks whether requests are complete, and does not wait */\n};\n")
    print("/* The collective of a constant kind, without a look into the table. */\n#define COLLECTIVE_OF(kind) COLLECTIVE_OF_##kind\nenum {")
    for c in calls:
        if c.klass == "collective":
            print(f"    COLLECTIVE_OF_CALL_{c.name} = COLLECTIVE_{c.detail.upper()},")
    print("};\n")
    print("extern const struct call_description call_table[CALL_COUNT];")
    print("extern const char *const collective_names[COLLECTIVE_COUNT];\n\n#endif")


def generate_source(calls):
    print("/* Generated from calls.table. */\n#include \"calls.h\"\n")
    print("const struct call_description call_table[CALL_COUNT] = {\n    {\"none\", CLASS_OTHER, ROLE_OTHER, 0, FOLD_CALL, false, false, false},")
    for c in calls:
        local = "true" if c.klass == "other" and c.shape != "call" else "false"
        op = f"COLLECTIVE_{c.detail.upper()}" if c.klass == "collective" else "0"
        reads = "true" if "File_read" in c.name or "File_iread" in c.name or c.name in ("MPI_Get", "MPI_Rget") else "false"
        tests = "true" if c.name.startswith(("MPI_Test", "MPI_Request_get_status")) and c.klass == "completion" else "false"
        print(f"    {{\"{c.name}\", CLASS_{c.klass.upper()}, ROLE_{c.role}, {op}, FOLD_{FOLDS[c.shape]}, {local}, {reads}, {tests}}},")
    print("};\n\nconst char *const collective_names[COLLECTIVE_COUNT] = {\n    \"none\",")
    for c in COLLECTIVES:
        print(f"    \"MPI_{c.capitalize()}\",")
    print("};")


def wrapped(calls, prototypes):
    """Yields (call, C name, parameter types, large) for each function of the table, and each extension of this mpi.h."""
    for call in calls:
        extension = call.name.replace("MPI_", "MPIX_", 1)
        names = [(call.name, False)] + [(call.name + "_c", True)] * has_large_form(call)
        if extension in prototypes and call.shape in EXTENSION_SHAPES and call.name not in prototypes:
            names.append((extension, False))
        for name, large in names:
            known = name in prototypes
            types = [parameter_type(p) for p in prototypes[name]] if known else types_of_words(call, large)
            if call.shape in LOCAL_SHAPES:
                call.arguments = [f"argument{i}" for i in range(len(types))]
            if len(types) != len(call.arguments):
                sys.exit(f"{name}: mpi.h has {len(types)} parameters, calls.table {len(call.arguments)}")
            yield call, name, types, large


def generate_next(calls, prototypes):
    print("/* Generated from calls.table and mpi.h. */\n\n/* Functions that this mpi.h does not declare. */")
    functions = [(name, declaration(types, call.arguments)) for call, name, types, _ in wrapped(calls, prototypes)]
    for name, parameters in functions:
        if name not in prototypes:
            print(f"#undef {name}\nint {name}({parameters});")
    print("\n/* X(name) for each function that is wrapped. */\n#define NEXT_CALLS(X) \\")
    print(" \\\n".join(f"    X({name})" for name, _ in functions))


# ---- wrappers --------------------------------------------------------------------------------------------------------

class Shape:
    """The code of a wrapper around the call. Words in braces are filled in for each function (words_of).

    declare  variables of the wrapper
    first    the first code
    enter    enters the recorder. False: the call is not recorded
    before   after enter, before the call
    leave    after the call
    probe    the struct probe of the call
    """

    def __init__(self, enter, leave, declare="struct probe probe;", first="", before="", probe="probe"):
        self.enter, self.leave, self.declare, self.first = enter, leave, declare, first
        self.before, self.probe = before, probe


OWN_STATUS = "if (status == MPI_STATUS_IGNORE)\n        status = &own;"


def on_comm(leave, peer="PEER_NONE", **more):
    return Shape(f"enter_comm(&probe, {{kind}}, comm, {peer})", leave, **more)


def alone(leave, **more):
    return Shape("enter_call(&probe, {kind})", leave, **more)


def told(complete, indices):
    return alone(f"leave_get_statuses(&probe, {{kind}}, result, requests, result == MPI_SUCCESS ? {complete} : 0, {indices});")


def single(leave, **more):
    return Shape("enter_single(&probe, &single, {kind}, request)", leave,
                 declare=more.pop("declare", "struct probe probe;\n    struct single single;"), **more)


def several(leave, wanted, count="count", declare="", **more):
    own = "statuses == MPI_STATUSES_IGNORE" if wanted else "false"
    before = "statuses = statuses_wanted(&c, statuses);" if wanted else more.pop("before", "")
    return Shape(f"enter_many(&c, {{kind}}, {count}, requests, {own})", leave,
                 declare="struct completion c;" + declare, before=before, probe="c.probe", **more)


def window(leave, peer="PEER_NONE"):
    return Shape(f"enter_window(&access, {{kind}}, OBJECT_HANDLE(win), {peer})", leave,
                 declare="struct access access;", probe="access.probe")


def file(leave, **more):
    return Shape("enter_file(&access, {kind}, OBJECT_HANDLE(fh))", leave,
                 declare=more.pop("declare", "struct access access;"), probe="access.probe", **more)


def freed(enter, objects, handle, leave):
    return Shape(enter, leave, probe="access.probe",
                 declare=f"struct access access;\n    struct freeing freeing;\n"
                         f"    uint64_t handle = {handle} ? OBJECT_HANDLE(*{handle}) : 0;",
                 before=f"object_free_begin(&access, &freeing, {objects}, handle);")


ENTER_MADE = 'enter_made(&probe, {kind}, "{name}", caller)'


def made(kind):
    return Shape(ENTER_MADE, f"leave_made(&probe, {{kind}}, result, {kind}, result == MPI_SUCCESS ? OBJECT_HANDLE(*{{last}}) : 0);")


def made_freed(kind):
    return Shape(ENTER_MADE, "leave_freed(&probe, {kind}, result, object);",
                 before=f"struct unfreed object = {{last}} && !probe.outer_here ? unfreed_remove({kind}, OBJECT_HANDLE(*{{last}})) : (struct unfreed){{{{0}}}};")


def collective(leave, place, begins=True):
    return on_comm("""struct coll_bytes bytes = {{0, 0}};
    if (view_settle(&probe, result, comm))
        bytes = coll_{detail}(""" + place + """{operation});
    """ + leave, "{root}", before="{agree}", first="collective_begins({kind}, comm);" if begins else "")


ALL, NEIGHBORS = "coll_place(probe.view->comm)", "topology_of(probe.view->comm, comm)"
STATUS = "struct probe probe;\n    MPI_Status own;"
SINGLE_STATUS = "struct probe probe;\n    struct single single;\n    MPI_Status own;"
MATCHED = "struct probe probe;\n    struct matched matched;"
SENDRECV = ("leave_sendrecv(&probe, {kind}, comm, result, dest, sendtag, {sends}, source, {receives}, status);")
ISENDRECV = ("struct halves halves =\n        halves_of(probe.log, result, dest, sendtag, {sends}, source, recvtag,"
             " {receives});\n    leave_isendrecv(&probe, {kind}, comm, result, halves, request);")
INIT = "(&probe, {kind}, {type}, comm, result, {peer}, tag, {bytes}, request);"

SHAPES = {
    "call": alone("leave_call(&probe, {kind}, result);"),
    "local": Shape('enter_local(&probe, {kind}, "{name}", caller)', "leave_call(&probe, {kind}, result);"),
    "datatype": made("LEFT_DATATYPE"),
    "datatype_free": made_freed("LEFT_DATATYPE"),
    "group": made("LEFT_GROUP"),
    "group_free": made_freed("LEFT_GROUP"),
    "send": on_comm("leave_send(&probe, {kind}, comm, result, dest, tag, count, type);", "peer_rank(dest)"),
    "recv": on_comm("leave_recv(&probe, {kind}, comm, result, source, count, type, status);", "peer_rank(source)",
                    declare=STATUS, before=OWN_STATUS),
    "sendrecv": on_comm(SENDRECV, "peer_rank(source)", declare=STATUS,
                        before="partner_set(&probe, dest);\n    " + OWN_STATUS),
    "probe": on_comm("leave_probe(&probe, {kind}, comm, result, source, tag);", "peer_rank(source)"),
    "mprobe": on_comm("leave_mprobe(&probe, {kind}, comm, result, source, tag, true, message, status);",
                      "peer_rank(source)", declare=STATUS, before=OWN_STATUS),
    "improbe": on_comm("bool found = result == MPI_SUCCESS && *flag;\n"
                       "    leave_mprobe(&probe, {kind}, comm, result, source, tag, found, message, status);",
                       "peer_rank(source)", declare=STATUS, before=OWN_STATUS),
    "mrecv": Shape("enter_matched(&probe, &matched, {kind}, message)",
                   "leave_mrecv(&probe, &matched, {kind}, result, count, type, message, status);",
                   declare=MATCHED + "\n    MPI_Status own;", before=OWN_STATUS),
    "imrecv": Shape("enter_matched(&probe, &matched, {kind}, message)",
                    "leave_imrecv(&probe, &matched, {kind}, result, count, type, message, request);", declare=MATCHED),
    "isend": on_comm("leave_isend(&probe, {kind}, comm, result, dest, tag, count, type, request);", "peer_rank(dest)"),
    "irecv": on_comm("leave_irecv(&probe, {kind}, comm, result, source, tag, count, type, request);",
                     "peer_rank(source)"),
    "send_init": on_comm("leave_init" + INIT, "peer_rank({peer})"),
    "psend_init": on_comm("leave_partitioned_init" + INIT, "peer_rank({peer})"),
    "partition": Shape("enter_partition(&probe, {kind}, request)", "leave_partition(&probe, {kind}, result);"),
    "isendrecv": on_comm(ISENDRECV, "peer_rank(source)"),
    "start": single("leave_start(&probe, &single, {kind}, request, result);",
                    first="starting_begins({kind}, 1, request);"),
    "startall": several("completion_started(&c, result);", False, first="starting_begins({kind}, count, requests);"),
    "wait": single("leave_single(&probe, &single, {kind}, request, result, true, status);",
                   declare=SINGLE_STATUS, before=OWN_STATUS),
    "test": single("bool ended = result != MPI_SUCCESS || *flag;\n"
                   "    leave_single(&probe, &single, {kind}, request, result, ended, status);",
                   declare=SINGLE_STATUS, before=OWN_STATUS),
    "waitall": several("leave_all(&c, result, true, statuses);", True),
    "testall": several("leave_all(&c, result, result != MPI_SUCCESS || *flag, statuses);", True),
    "waitany": several("leave_any(&c, result, true, index, status);", False, declare="\n    MPI_Status own;",
                       before=OWN_STATUS),
    "testany": several("leave_any(&c, result, result != MPI_SUCCESS || *flag, index, status);", False,
                       declare="\n    MPI_Status own;", before=OWN_STATUS),
    "waitsome": several("leave_some(&c, result, outcount, indices, statuses);", True, count="incount"),
    "request_free": Shape("enter_free(&c, {kind}, request)", "completion_freed(&c, result, ended ? &end : NULL);",
                          declare="struct completion c;", probe="c.probe",
                          before="MPI_Status end;\n    bool ended = completion_ended_unseen(&c, &end);"),
    "cancel": alone("leave_cancel(&probe, {kind}, result, request);"),
    "grequest_start": alone("leave_grequest(&probe, {kind}, result, request);"),
    "grequest_complete": alone("leave_named(&probe, {kind}, result, 0);"),
    "request_get_status": alone("leave_get_status(&probe, {kind}, result, request, flag);"),
    "request_get_status_all": told("*flag ? count : 0", "NULL"),
    "request_get_status_any": told("*flag && *index >= 0", "index"),
    "request_get_status_some": told("*outcount", "indices"),
    "iflush": alone("leave_iflush(&probe, {kind}, result, request);"),
    "coll": collective("leave_coll(&probe, {kind}, result, {root}, bytes);", ALL),
    "neighbor": collective("leave_coll(&probe, {kind}, result, {root}, bytes);", NEIGHBORS),
    "icoll": collective("leave_icoll(&probe, {kind}, result, {root}, bytes, request);", ALL),
    "ineighbor": collective("leave_icoll(&probe, {kind}, result, {root}, bytes, request);", NEIGHBORS),
    "coll_init": collective("leave_coll_init(&probe, {kind}, result, {root}, bytes, request);", ALL, False),
    "neighbor_init": collective("leave_coll_init(&probe, {kind}, result, {root}, bytes, request);", NEIGHBORS,
                                False),
    "comm_create": on_comm("view_settle(&probe, result, comm);\n"
                           "    leave_comm_create(&probe, {kind}, result, ORIGIN({detail}, comm), newcomm);"),
    "comm_found": alone("leave_comm_create(&probe, {kind}, result, ORIGIN({detail}, native.comm_null), newcomm);"),
    "comm_parent": alone("leave_comm_parent(&probe, {kind}, result);"),
    "comm_idup": on_comm("leave_comm_idup(&probe, {kind}, comm, result, newcomm, request);"),
    "comm_call": on_comm("leave_comm_call(&probe, {kind}, comm, result);"),
    "comm_free": alone("leave_comm_free(&probe, {kind}, result, outer);",
                       before="struct view *outer = comm_free_begin(&probe, comm_pointer);"),
    "comm_name": alone("leave_comm_name(&probe, {kind}, comm, text, result);"),
    "win_create": Shape("enter_comm(&access.probe, {kind}, comm, PEER_NONE)",
                        "leave_win_create(&access, {kind}, comm, result, win);", declare="struct access access;",
                        probe="access.probe"),
    "win_free": freed("enter_window(&access, {kind}, handle, PEER_NONE)", "&book.windows", "win_pointer",
                      "leave_win_free(&access, &freeing, {kind}, result);"),
    "win_call": window("leave_win_call(&access, {kind}{flags}, result, {target}, {bytes});", "{target}"),
    "win_post": window("leave_win_post(&access, {kind}{flags}, result, {target}, {bytes}, request);", "{target}"),
    "win_lock": window("leave_win_lock(&access, {kind}, result, {target}, lock_type);", "{target}"),
    "win_test": window("leave_win_test(&access, {kind}, result, flag);"),
    "win_group": window("leave_win_group(&access, {kind}, result, win, group);"),
    "win_name": alone("leave_win_name(&probe, {kind}, win, text, result);"),
    "file_open": Shape("enter_comm(&access.probe, {kind}, comm, PEER_NONE)",
                       "leave_file_open(&access, {kind}, comm, result, filename, amode, fh);",
                       declare="struct access access;", probe="access.probe"),
    "file_close": freed("enter_file(&access, {kind}, handle)", "&book.files", "fh_pointer",
                        "leave_file_close(&access, &freeing, {kind}, result);"),
    "file_call": file("leave_file_call(&access, {kind}, fh, result, {asked});"),
    "file_view": file("leave_file_view(&access, {kind}, result, fh, etype);"),
    "file_seek": file("leave_file_seek(&access, {kind}, result, fh, offset, whence);"),
    "file_post": file("leave_file_post(&access, {kind}, result, {asked}, request);"),
    "file_transfer": file("leave_file_transfer(&access, {kind}, fh, result, {asked}, {at}, status);",
                          declare="struct access access;\n    MPI_Status own = {{0}};", before=OWN_STATUS),
    "file_delete": alone("leave_file_delete(&probe, {kind}, result, filename);"),
}
for alias, shape in (("sendrecv_replace", "sendrecv"), ("isendrecv_replace", "isendrecv"), ("iprobe", "probe"),
                     ("recv_init", "send_init"), ("precv_init", "psend_init"), ("testsome", "waitsome")):
    SHAPES[alias] = SHAPES[shape]

def hot_case(enter, leave, declare="", **more):
    return Shape(enter, leave, declare="struct hot hot = {{.timed = timed}};\n    " + declare, probe="hot", **more)


HOT_SHAPES = {
    "send": hot_case("hot_enter_to(&hot, {kind}, comm, dest)",
                  "hot_leave_send(&hot, {kind}, comm, result, dest, tag, count, type);"),
    "recv": hot_case("hot_enter_from(&hot, {kind}, comm, source)",
                  "hot_leave_recv(&hot, {kind}, comm, result, source, count, type, status);",
                  declare="MPI_Status own;", before=OWN_STATUS),
    "isend": hot_case("hot_enter_to(&hot, {kind}, comm, dest)",
                   "hot_leave_isend(&hot, {kind}, comm, result, dest, tag, count, type, request);"),
    "irecv": hot_case("hot_enter_from(&hot, {kind}, comm, source)",
                   "hot_leave_irecv(&hot, {kind}, comm, result, source, tag, count, type, request);"),
    "wait": hot_case("hot_enter_wait(&hot, {kind}, request)", "hot_leave_wait(&hot, {kind}, request, result, status);",
                  declare="MPI_Status own;", before=OWN_STATUS),
    "waitall": hot_case("hot_enter_waitall(&hot, &many, {kind}, count, requests)",
                        "hot_leave_waitall(&hot, &many, {kind}, count, requests, result, statuses);",
                        declare="struct hot_many many;",
                        before="if (statuses == MPI_STATUSES_IGNORE)\n        statuses = many.statuses;"),
    "sendrecv": hot_case("hot_enter_sendrecv(&hot, {kind}, comm, dest, source)",
                         "hot_leave_sendrecv(&hot, {kind}, comm, result, dest, sendtag, {sends}, source, {receives},"
                         " status);", declare="MPI_Status own;", before=OWN_STATUS),
}

# The functions that begin and end a run, where the recorder decides.
EDGES = {
    "init": """    struct probe probe;
    bool on = recorder_start(&probe, {kind});
    int result = NEXT(next, {name})({arguments});
    if (on)
        recorder_started(&probe, {kind}, result);
    return result;""",
    "finalize": """    struct probe probe;
    bool on = recorder_finish(&probe);
    int result = NEXT(next, {name})({arguments});
    if (on)
        recorder_finished(&probe, result);
    return result;""",
    "session_init": """    struct session_probe probe;
    bool on = recorder_session_start(&probe, {kind});
    int result = NEXT(next, {name})({arguments});
    if (on)
        recorder_session_started(&probe, {kind}, result, SESSION_HANDLE(session));
    return result;""",
    "session_finalize": """    struct session_probe probe;
    uint64_t handle = SESSION_HANDLE(session);
    bool on = recorder_session_finish(&probe, handle);
    int result = NEXT(next, {name})({arguments});
    if (on)
        recorder_session_finished(&probe, result, handle);
    return result;""",
    "abort": """    struct probe probe;
    enter_call(&probe, {kind});
    recorder_aborting(&probe);
    return NEXT(next, {name})({arguments});""",
}
EDGES["init_thread"] = EDGES["init"]


def words_of(call, name, large):
    """Returns the words in braces of a shape, by name."""
    names = call.arguments
    arguments = ", ".join(names)
    words = {"kind": f"CALL_{call.name}", "name": name, "large": int(large), "detail": call.detail,
             "arguments": arguments}
    words["last"] = names[-1] if names else ""
    if call.klass == "collective":
        own = [n for n in names if n not in ("comm", "request", "info")]
        words["operation"] = f", {int(large)}" + "".join(f", {n}" for n in own)
        bits = "operation_bits(probe.log, op)" if "op" in names else "0"
        words["agree"] = f"RELAXED_STORE(&probe.log->state->agreed, {bits});"
        if call.detail in ONE_SIZE:
            sized = f"{'recvcount' if 'recvcount' in names else 'count'}, type"
            words["agree"] = f"uint64_t agreed = coll_agree(&probe, {sized}, {bits});"
            bytes_ = f"coll_agreed(agreed, {sized})"  # in the root's own group of an inter-communicator they have no meaning
            words["operation"] = f", root == MPI_PROC_NULL ? 0 : {bytes_}, root" if "root" in names else f", {bytes_}"
        words["root"] = "peer_rank(root)" if "root" in names else "PEER_NONE"
    replaces = call.shape.endswith("sendrecv_replace")
    words["sends"] = "count, type" if replaces else "sendcount, sendtype"
    words["receives"] = "count, type" if replaces else "recvcount, recvtype"
    words["peer"] = "dest" if "dest" in names else "source"
    words["type"] = "REQUEST_SEND" if "dest" in names else "REQUEST_RECV"
    words["target"] = "peer_rank(target)" if "target" in names else "PEER_NONE"
    words["flags"] = " | op_flags(op)" if "op" in names else ""
    words["asked"] = ("accepted_bytes(result, count, type)" if "count" in names
                      else "UINT64_MAX" if call.shape == "file_call" else "result == MPI_SUCCESS ? UINT64_MAX : 0")
    words["at"] = "offset" if "offset" in names else "FILE_AT_POINTER"
    if "target_count" in names:
        bytes_ = "accepted_bytes(result, target_count, target_type)"
    elif call.detail == "element":
        bytes_ = "accepted_bytes(result, 1, type)"
    elif "count" in names:
        bytes_ = "accepted_bytes(result, count, type)"
        bytes_ = f"(uint64_t)partitions * {bytes_}" if "partitions" in names else bytes_
    else:
        bytes_ = "0"
    if call.klass == "rma" and bytes_ != "0":
        bytes_ = f"target == MPI_PROC_NULL ? 0 : {bytes_}"
    words["bytes"] = bytes_
    return words


def body_print(head, shape, words, fallback, hot=False):
    """Prints the function `head`: the shape around the call. `fallback`: its result if the shape is not entered."""
    probe = shape.probe
    print(f"{head}\n{{")
    lines = [shape.declare.format(**words).rstrip(), shape.first.format(**words)]
    lines.append(f"if (!{shape.enter.format(**words)})\n        return {fallback};")
    lines += [shape.before.format(**words), f"log_below({probe}.log);",
              f"int result = next->{words['name']}({words['arguments']});", f"log_back({probe}.log);",
              shape.leave.format(**words),
              "log_out(hot.log, 0);" if hot else f"probe_close(&{probe});", "return result;"]
    for line in lines:
        if line:
            print(f"    {line}")
    print("}\n")


def wrapper_print(call, name, types, large):
    """Prints the wrapper of a function, and the way to it from Fortran. Returns its line in the list."""
    names, words = call.arguments, words_of(call, name, large)
    arguments = words["arguments"]
    given = arguments + ", " if arguments else ""
    parameters = declaration(types, names)
    more = "" if parameters == "void" else parameters + ", "
    edge, local, hot = call.shape in EDGES, call.shape in LOCAL_SHAPES, call.name in HOT_CALLS
    caller = "const void *caller, " if local else ""
    by_c = "__builtin_return_address(0), " if local else ""
    by_fortran = "NULL, " if local else ""
    head = f"BODY int body_{name}({more}{caller}const struct next *next)"
    if edge:
        print(f"{head}\n{{\n{EDGES[call.shape].format(**words)}\n}}\n")
    else:
        shape = call.shape if not local or (types and "*" in types[-1][0]) else "local"  # else mpi.h does not declare it
        body_print(head, SHAPES[shape], words, f"NEXT(next, {name})({arguments})")
    usual = f"body_{name}({given}{by_c}&next_of_c)"
    fortran = f"body_{name}({given}{by_fortran}&next_of_fortran)"
    if hot:
        body_print(f"HOT int hot_{name}({more}const struct next *next, bool timed)", HOT_SHAPES[call.shape], words,
                   f"body_{name}({given}next)", hot=True)
        untimed = "" if call.shape in ("sendrecv", "waitall") else (
            f"    if (COMPARED_LOAD(&call_modes[{words['kind']}]) == MODE_UNTIMED && !book_is_shared())\n        return hot_{name}({given}&next_of_c, false);\n")
        print(f"static int general_{name}({parameters})\n{{\n{untimed}    return {usual};\n}}\n")
        usual = f"hot_{name}({given}&next_of_c, true)"
        fortran = f"COMPARED_LOAD(&call_modes[{words['kind']}]) || book_is_shared() ? {fortran} : hot_{name}({given}&next_of_fortran, true)"
    print(f"GATE({name});\nint {name}({parameters})\n{{\n    return {usual};\n}}\n")
    if call.shape in ("init", "init_thread", "finalize"):
        return None
    asks = f' && caller_asks_for(caller, "{name}")' if local else ""
    print(f"GATE_PROFILED({name});\nROUTE int route_{name}({parameters})\n{{\n"
          f"    const void *caller = __builtin_return_address(0);\n"
          f"    if (caller_is_fortran(caller){asks})\n        return {fortran};\n"
          f"    return next_of_fortran.{name}({arguments});\n}}\n")
    keeps = int(call.shape not in PASSING_SHAPES)
    general = f"general_{name}" if hot else name
    return f"    WRAPPED({words['kind']}, {name}, {general}, {keeps}, {int(local)}),"


def generate_wrappers(calls, prototypes):
    print("/* Generated from calls.table and mpi.h. */\n#include \"wrappers/bodies.h\"\n#include \"wrappers/switchboard.h\"\n")
    listed = [wrapper_print(*one) for one in wrapped(calls, prototypes)]
    print("struct wrapped wrapped[] = {\n" + "\n".join(filter(None, listed)) + "\n};")
    print("const size_t wrapped_count = sizeof wrapped / sizeof wrapped[0];")


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("header", "source", "wrappers", "next", "types"):
        sys.exit(__doc__)
    calls = table_read(sys.argv[2])
    if sys.argv[1] == "header":
        generate_header(calls)
    elif sys.argv[1] == "source":
        generate_source(calls)
    else:
        prototypes = prototypes_read(sys.argv[3])
        if sys.argv[1] == "types":
            sys.exit(types_compare(calls, prototypes) != 0)
        (generate_wrappers if sys.argv[1] == "wrappers" else generate_next)(calls, prototypes)


main()
