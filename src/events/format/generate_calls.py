#!/usr/bin/env python3
"""Turns calls.table into C.

    generate_calls.py header  TABLE                    the event kinds (calls.h)
    generate_calls.py source  TABLE                    their names, classes, roles (calls.c)
    generate_calls.py wrappers TABLE PREPROCESSED_MPI_H  the wrappers for one MPI
    generate_calls.py next    TABLE PREPROCESSED_MPI_H  the list of functions that are wrapped for one MPI

Writes to standard output. A line of the table that cannot be read is an error with its number.
"""
import re
import sys

CLASSES = ["process", "p2p", "completion", "collective", "communicator", "rma", "io", "other"]
ROLES = ["OTHER", "POINT2POINT", "BARRIER", "COLL_ONE2ALL", "COLL_ALL2ONE", "COLL_ALL2ALL", "COLL_OTHER", "RMA",
         "FILE_IO"]
COLLECTIVES = ["barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall",
               "alltoallv", "alltoallw", "allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "scan",
               "exscan", "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv",
               "neighbor_alltoallw"]


# What the fold makes of an event, by the shape of its wrapper.
FOLDS = {"local": "CALL", "init": "CALL", "init_thread": "CALL", "finalize": "CALL", "abort": "CALL",
         "session_init": "CALL", "session_finalize": "CALL",
         "send": "SEND", "recv": "RECV", "sendrecv": "SENDRECV", "sendrecv_replace": "SENDRECV",
         "isend": "POST_SEND", "irecv": "POST_RECV", "probe": "P2P", "iprobe": "P2P",
         "send_init": "P2P", "recv_init": "P2P", "mprobe": "P2P", "improbe": "P2P", "mrecv": "RECV",
         "imrecv": "POST_RECV", "isendrecv": "START", "isendrecv_replace": "START", "psend_init": "P2P",
         "precv_init": "P2P", "partition": "P2P", "start": "START", "startall": "START",
         "wait": "COMPLETION", "waitall": "COMPLETION", "waitany": "COMPLETION", "waitsome": "COMPLETION",
         "test": "COMPLETION", "testall": "COMPLETION", "testany": "COMPLETION", "testsome": "COMPLETION",
         "request_free": "COMPLETION", "cancel": "COMPLETION", "grequest_start": "COMPLETION",
         "grequest_complete": "COMPLETION", "request_get_status": "COMPLETION", "coll": "COLL", "icoll": "POST_COLL",
         "neighbor": "COLL", "ineighbor": "POST_COLL", "coll_init": "COLL_INIT", "neighbor_init": "COLL_INIT",
         "comm_create": "COMM", "comm_idup": "COMM", "comm_free": "COMM", "comm_name": "CALL",
         "comm_found": "COMM", "comm_parent": "CALL", "comm_call": "COMM_CALL", "call": "CALL",
         "win_create": "RMA", "win_free": "RMA", "win_call": "RMA", "win_lock": "RMA", "win_test": "RMA",
         "win_group": "RMA", "win_post": "RMA", "win_name": "CALL",
         "file_open": "IO", "file_close": "IO", "file_call": "IO", "file_transfer": "IO", "file_post": "IO",
         "file_view": "IO", "file_seek": "IO", "file_delete": "CALL"}

# Shapes of calls of which nothing is needed later: one that is not recorded (filtered, or recording is off) passes by.
# All others go through their wrapper, which keeps requests, communicators, windows and files.
PASSING_SHAPES = ["local", "send", "recv", "sendrecv", "sendrecv_replace", "probe", "iprobe", "cancel", "coll",
                  "neighbor", "comm_call", "win_call", "win_lock", "win_test", "win_group", "file_call", "file_seek",
                  "file_transfer", "file_delete"]

# Shapes whose wrappers have a plain body in front of the general one (src/probes/wrappers/plain.h).
PLAIN_SHAPES = ["send", "recv", "sendrecv", "sendrecv_replace", "isend", "irecv", "wait", "test", "coll"]

# The same, but that the plain body is for calls that are timed: one that is only counted takes the general one.
TIMED_SHAPES = ["win_call", "win_lock", "win_group", "win_post", "file_call", "file_seek", "file_transfer", "file_post",
                "probe",
                "iprobe", "mprobe", "improbe", "mrecv", "neighbor", "icoll", "ineighbor", "start", "isendrecv",
                "isendrecv_replace", "partition", "waitall", "testall", "waitany", "testany", "startall"]

# Shapes of what MPI-4.0 brought, and Open MPI 4 has as an extension under the names MPIX_*.
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


def generate_header(calls):
    print("/* Generated from calls.table. */\n#ifndef MPIT_EVENTS_CALLS_H\n#define MPIT_EVENTS_CALLS_H\n")
    print("#include <stdbool.h>\n#include <stdint.h>\n")
    print("enum call_class {")
    for c in CLASSES:
        print(f"    CLASS_{c.upper()},")
    print("    CLASS_COUNT\n};\n\nenum call_role {")
    for r in ROLES:
        print(f"    ROLE_{r},")
    print("    ROLE_COUNT\n};\n\n/* What the fold makes of a call's event (src/aggregate/figures/fold.h). */\nenum fold_shape {")
    for f in dict.fromkeys(FOLDS.values()):
        print(f"    FOLD_{f},")
    print("    FOLD_COUNT\n};\n\n/* Slot 0 is \"none\". */\nenum collective {\n    COLLECTIVE_NONE,")
    for c in COLLECTIVES:
        print(f"    COLLECTIVE_{c.upper()},")
    print("    COLLECTIVE_COUNT\n};\n\n/* The kinds of events that are calls. */\nenum call {\n    CALL_NONE,")
    for c in calls:
        print(f"    CALL_{c.name},")
    print("    CALL_COUNT\n};\n\nstruct call_description {\n    const char *name;\n    uint8_t class, role, op, fold;\n    bool local; /* counted only while mpit_record_local_calls is on */\n};\n")
    print("/* Of a kind that is a constant, without a look into the table. */\n#define COLLECTIVE_OF(kind) COLLECTIVE_OF_##kind\nenum {")
    for c in calls:
        if c.klass == "collective":
            print(f"    COLLECTIVE_OF_CALL_{c.name} = COLLECTIVE_{c.detail.upper()},")
    print("};\n")
    print("extern const struct call_description call_table[CALL_COUNT];")
    print("extern const char *const collective_names[COLLECTIVE_COUNT];\n\n#endif")


def generate_source(calls):
    print("/* Generated from calls.table. */\n#include \"calls.h\"\n")
    print("const struct call_description call_table[CALL_COUNT] = {\n    {\"none\", CLASS_OTHER, ROLE_OTHER, 0, FOLD_CALL, false},")
    for c in calls:
        local = "true" if c.klass == "other" and c.shape != "call" else "false"
        op = f"COLLECTIVE_{c.detail.upper()}" if c.klass == "collective" else "0"
        print(f"    {{\"{c.name}\", CLASS_{c.klass.upper()}, ROLE_{c.role}, {op}, FOLD_{FOLDS[c.shape]}, {local}}},")
    print("};\n\nconst char *const collective_names[COLLECTIVE_COUNT] = {\n    \"none\",")
    for c in COLLECTIVES:
        print(f"    \"MPI_{c.capitalize()}\",")
    print("};")


def declared(calls, prototypes):
    """(call, C name, parameter types, large) for each function of the table that this mpi.h declares"""
    for call in calls:
        extension = call.name.replace("MPI_", "MPIX_", 1)
        for name, large in ((call.name, False), (call.name + "_c", True), (extension, False)):
            if name not in prototypes:
                continue
            if name == extension and (call.shape not in EXTENSION_SHAPES or call.name in prototypes):
                continue
            types = [parameter_type(p) for p in prototypes[name]]
            if call.shape == "local":  # what they are about is of no concern
                call.arguments = [f"argument{i}" for i in range(len(types))]
            if len(types) != len(call.arguments):
                sys.exit(f"{name}: mpi.h has {len(types)} parameters, calls.table {len(call.arguments)}")
            yield call, name, types, large


def generate_next(calls, prototypes):
    print("/* Generated from calls.table and mpi.h: X(name) for each function that is wrapped. */\n#define NEXT_CALLS(X) \\")
    print(" \\\n".join(f"    X({name})" for _, name, _, _ in declared(calls, prototypes)))


def op_flags(call):
    """How an access to a window combines, as flags of its event."""
    return "op_flags(op)" if "op" in call.arguments else "0"


def object_arguments(call):
    """What the shapes of windows and files need: the object, whom it goes to, the bytes that are accessed there."""
    names = call.arguments
    words = [n for n in ("comm", "win", "fh", "win_pointer", "fh_pointer") if n in names]
    if call.klass == "other":
        return names
    if call.shape == "win_lock":
        return ["win", "peer_rank(target)", "lock_type"]
    if call.shape == "win_test":
        return ["win", "flag"]
    if call.shape == "win_group":
        return ["win", "group"]
    if call.shape == "file_open":
        return ["comm", "filename", "amode", "fh"]
    if call.shape == "file_delete":
        return ["filename"]
    if call.shape == "file_view":
        return ["fh", "etype"]
    if call.shape == "file_seek":
        return ["fh", "offset", "whence"]
    if call.shape in ("file_call", "file_post", "file_transfer"):
        words.append("native_bytes(count, type)" if "count" in names else "UINT64_MAX")
    if call.shape == "file_transfer":
        words.append("offset" if "offset" in names else "FILE_AT_POINTER")
    if call.shape in ("win_call", "win_post"):
        peer = "peer_rank(target)" if "target" in names else "PEER_NONE"
        bytes_ = ("native_bytes(target_count, target_type)" if "target_count" in names
                  else "native_bytes(1, type)" if call.detail == "element" else "0")
        words += [peer, f"target == MPI_PROC_NULL ? 0 : {bytes_}" if bytes_ != "0" else "0", op_flags(call)]
    return words + [n for n in ("request", "status") if n in names]


def plain_arguments(call):
    """The same for their plain bodies: the object, whom it goes to, and what makes the call a plain one, with its bytes."""
    names = call.arguments
    if call.shape not in TIMED_SHAPES or call.klass not in ("rma", "io"):
        return []
    ready = ["target >= 0"] if "target" in names else []
    if "target_count" in names:
        ready.append("plain_bytes(log, target_count, target_type, &bytes)")
    elif call.detail == "element":
        ready.append("plain_bytes(log, 1, type, &bytes)")
    elif call.shape == "file_call" and "count" in names:
        ready.append("false")  # a split operation begins: more is recorded than the call
    elif "count" in names:
        collective = call.name in ("MPI_File_read_all", "MPI_File_read_at_all")  # the status may say too much
        ready.append("false" if collective else "plain_bytes(log, count, type, &bytes)")
    elif call.shape == "file_transfer":
        ready.append("false")  # a split operation ends: what was asked for stands behind its begin
    words = ["win" if call.klass == "rma" else "fh"]
    if call.klass == "rma":
        words.append("target" if "target" in names else "PEER_NONE")
    words.append(" && ".join(ready) or "true")
    if call.shape in ("win_call", "win_post"):
        words.append(op_flags(call))
    if call.shape == "file_seek":
        words += ["offset", "whence"]
    if call.shape == "file_transfer":
        words.append("offset" if "offset" in names else "FILE_AT_POINTER")
    return words + [n for n in ("lock_type", "group", "request", "status") if n in names]


def generate_wrappers(calls, prototypes):
    print("/* Generated from calls.table and mpi.h. */\n#include \"wrappers/shapes.h\"\n#include \"wrappers/switchboard.h\"\n")
    listed = []
    for call, name, types, large in declared(calls, prototypes):
        names = call.arguments
        arguments = ", ".join(names)
        # collectives: the communicator and the request first, the operation's own arguments behind them
        first = [n for n in ("comm", "request") if n in names] if call.klass == "collective" else []
        if call.klass == "communicator":
            first = [n for n in names if n == "comm"]
        left_out = first + ["info"] if call.klass == "collective" else first
        shaped = ", ".join(first + [n for n in names if n not in left_out])
        if call.shape == "local":
            shaped = ""
        if call.klass in ("rma", "io") or call.shape == "win_name":
            shaped = ", ".join(object_arguments(call))
        body = (f"(CALL_{call.name}, {name}, {call.detail if call.detail != '-' else 'none'},"
                f" {int(large)}, ({arguments}){', ' + shaped if shaped else ''});\n}}\n")
        shape = f"    SHAPE_{call.shape.upper()}{body}"
        if call.shape in PLAIN_SHAPES:
            print(f"RARE int GENERAL({name})({declaration(types, names)})\n{{\n{shape}")
            plain = f"    PLAIN_{call.shape.upper()}(%s, {body[1:]}"
            print(f"RARE int COUNTED({name})({declaration(types, names)})\n{{\n{plain % 'false'}")
            shape = plain % "true"
        if call.shape in TIMED_SHAPES:
            print(f"RARE int GENERAL({name})({declaration(types, names)})\n{{\n{shape}")
            words = plain_arguments(call) or [shaped]
            shape = (f"    PLAIN_{call.shape.upper()}(CALL_{call.name}, {name}, {call.detail if call.detail != '-' else 'none'},"
                     f" {int(large)}, ({arguments}), {', '.join(words)});\n}}\n")
        print(f"GATE({name});\nint {name}({declaration(types, names)})\n{{\n{shape}")
        if call.shape not in ("init", "init_thread", "finalize"):
            route = "ROUTE_LOCAL" if call.shape == "local" else "ROUTE"
            print(f"GATE_PROFILED({name});\n{route}({name}, ({declaration(types, names)}), ({arguments}));")
            print(f"WRAPPED_DECLARE({name});")
            bodies = (f"{name}, COUNTED({name}), GENERAL({name})" if call.shape in PLAIN_SHAPES
                      else f"{name}, GENERAL({name}), GENERAL({name})" if call.shape in TIMED_SHAPES
                      else f"{name}, {name}, {name}")
            listed.append(f"    WRAPPED(CALL_{call.name}, {name}, {bodies}, {int(call.shape not in PASSING_SHAPES)},"
                          f" {int(call.shape == 'local')}),")
        print()
    print("WRAPPED_LIST = {")
    print("\n".join(listed))
    print("};\nWRAPPED_END;")


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("header", "source", "wrappers", "next"):
        sys.exit(__doc__)
    calls = table_read(sys.argv[2])
    if sys.argv[1] == "header":
        generate_header(calls)
    elif sys.argv[1] == "source":
        generate_source(calls)
    else:
        prototypes = prototypes_read(sys.argv[3])
        (generate_wrappers if sys.argv[1] == "wrappers" else generate_next)(calls, prototypes)


main()
