#!/usr/bin/env python3
"""Holds what an mpi.h declares against what mpit records.

    coverage.py CALLS_TABLE UNRECORDED_TABLE PREPROCESSED_MPI_H WRAPPERS_C

Every function MPI_* that the header declares is either in calls.table, and then has a wrapper, or in unrecorded.table,
under a reason. NAME stands for NAME_c, too. MPIX_NAME_init, as Open MPI 4 calls its persistent collectives, stands for
MPI_NAME_init. Exit status 1 if one is in neither or in both, or has no wrapper.
"""
import re
import sys


def table_names(path):
    return {line.split()[0] for line in open(path) if line.split("#")[0].split()}


def groups_read(path):
    """group -> (reason, names)"""
    groups, names = {}, None
    for number, line in enumerate(open(path), 1):
        line = line.split("#")[0].strip()
        heading = re.match(r"\[([\w-]+)\]\s+(\S.*)$", line)
        if heading:
            names = groups.setdefault(heading.group(1), (heading.group(2), []))[1]
        elif line and names is None:
            sys.exit(f"{path}:{number}: a name stands before the first '[group] reason'")
        elif line:
            for name in line.split():
                if not re.fullmatch(r"MPI_\w+", name):
                    sys.exit(f"{path}:{number}: '{name}' is no name of an MPI function")
                names.append(name)
    return groups


def declared_read(path, table):
    """The functions of MPI, and extensions MPIX_NAME_init for a MPI_NAME_init of the table."""
    text = " ".join(line for line in open(path) if not line.startswith("#"))
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", text)
    # a return type, the name, and parameters up to the end of the declaration; typedefs of callbacks have "(*" or
    # "typedef" before the name
    found = set()
    for statement in re.split(r"[;{}]", text):
        match = re.match(r"\s*(?:extern\s+)?\w+\s+\**(MPI_[A-Z]\w*|MPIX_\w+_init)\s*\(", statement)
        if match and not statement.lstrip().startswith("typedef"):
            found.add(match.group(1))
    return {name for name in found if name.startswith("MPI_") or name.replace("MPIX_", "MPI_") in table}


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    table, groups = table_names(sys.argv[1]), groups_read(sys.argv[2])
    declared, wrapped = declared_read(sys.argv[3], table), set(re.findall(r"^GATE\((MPIX?_\w+)\);", open(sys.argv[4]).read(), re.M))
    listed = [name for _, names in groups.values() for name in names]
    faults = [f"{name} stands in calls.table and in unrecorded.table" for name in sorted(table & set(listed))]
    faults += [f"{name} stands twice in unrecorded.table" for name in sorted({n for n in listed if listed.count(n) > 1})]
    if len(declared) < 300:
        faults.append(f"{sys.argv[3]} declares {len(declared)} functions: it was not read right")
    count = {}
    for name in sorted(declared):
        plain = name[:-2] if name.endswith("_c") and name[:-2] in declared else name.replace("MPIX_", "MPI_")
        if plain in table:
            count["recorded"] = count.get("recorded", 0) + 1
            if name not in wrapped:
                faults.append(f"{name} is in calls.table and has no wrapper")
            continue
        group = next((g for g, (_, names) in groups.items() if plain in names), None)
        if group is None:
            faults.append(f"{name} is neither in calls.table nor in unrecorded.table")
        else:
            count[group] = count.get(group, 0) + 1
    print(f"{len(declared)} functions declared: " + ", ".join(f"{n} {group}" for group, n in count.items()))
    for fault in faults:
        print(f"not ok {fault}")
    sys.exit(1 if faults else 0)


main()
