#!/usr/bin/env python3
"""Turns summary.fields into C and documentation.

    generate_fields.py fields TABLE          the structures (summaryfields.h)
    generate_fields.py reading TABLE         reads the figures of a process, and sums them over ranks (summaryreading.h)
    generate_fields.py json TABLE            puts them into JSON (summaryjson.h)
    generate_fields.py sql TABLE             columns and values of the database (summarysql.h)
    generate_fields.py document TABLE PAGE   looks for the figures in a page. Exit status 1 if it lacks some

Writes to standard output. A line of the table that cannot be read is an error with its number.
"""
import re
import sys

CLASSES = {"ns": "TIMER", "count": "COUNTER", "bytes": "AGGREGATE"}  # of the variables
SUMS = {"sum": "to->{0} += from->{0};", "most": "to->{0} = from->{0} > to->{0} ? from->{0} : to->{0};"}


class Field:
    def __init__(self, line):
        self.member, unit, self.sum, self.known, self.source, json, sql, self.text = re.split(r"\s{2,}", line.strip())
        self.unit, kind, self.array = re.fullmatch(r"(\S+) ?([^[]*?) ?(?:\[(\w+)\])?", unit).groups()
        self.type = kind or ("char" if self.unit == "text" else "uint64_t")
        self.value = f"{self.member[:-2]}(from)" if self.member.endswith("()") else f"from->{self.member}"
        # place and name
        self.json, self.sql = ((int(cell.split()[0]), cell.split()[1]) if cell != "-" else None for cell in (json, sql))


class Group:
    def __init__(self, line):
        self.name, self.source, self.table = line.split()[1:]
        self.struct = f"struct summary_{self.name}"
        self.fields = []

    def shown(self, where):
        """The fields of the JSON or the SQL, in the order of its places."""
        shown = sorted((f for f in self.fields if getattr(f, where)), key=lambda f: getattr(f, where))
        if [getattr(f, where)[0] for f in shown] != [*range(1, len(shown) + 1)]:
            sys.exit(f"summary.fields: a place of {where} is free or stands twice in group {self.name}")
        return shown


def table_read(path):
    groups = []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        try:
            if line.startswith("group "):
                groups.append(Group(line))
            elif line.strip() and line[0] != "#":
                groups[-1].fields.append(Field(line))
        except (AttributeError, IndexError, ValueError):
            sys.exit(f"summary.fields:{number}: cannot be read")
    return groups


def function_print(head, lines):
    if lines:
        print(f"static inline void {head}\n{{", *(f"    {line}" for line in lines), "}\n", sep="\n")


def fields_print(group):
    print(group.struct, "{")
    for f in group.fields:
        if re.fullmatch(r"[a-z]\w*", f.member):
            print(f"    {f.type} {f.member}{f'[{f.array}]' if f.array else ''}; /* {f.text} */")
    print("};\n")


def sum_line(f):
    if f.array:
        return f"for (unsigned i = 0; i < {f.array}; i++)\n        {SUMS[f.sum].format(f.member + '[i]')}"
    return SUMS[f.sum].format(f.member)


def variable_line(f):
    values = f"to->{f.member}, {f.array}" if f.array else f"&to->{f.member}, 1"
    name, *now = f.source.split()
    return f'figures_read(from, "mpit_{name}", VARIABLE_{"LEVEL" if now else CLASSES[f.unit]}, comm, {values});'


def cell_line(f):
    value = f"cell_load(&from->{f.source})"
    return f"to->{f.member} += {f'clock_ns(scale, {value})' if f.unit == 'ns' else value};"


def reading_print(group):
    head = f"summary_{group.name}_%s({group.struct} *to, const %s"
    read = [f for f in group.fields if f.source != "-"]
    function_print(head % ("sum", f"{group.struct} *from)"), [sum_line(f) for f in group.fields if f.sum != "-"])
    if group.source == "variables":
        tail, lines = "struct figures *from, const struct figures_comm *comm)", map(variable_line, read)
    else:
        tail, lines = f"struct {group.source} *from, struct clock_scale scale)", map(cell_line, read)
    function_print(head % ("read", tail), [*lines])


def json_value(f):
    if f.known == "hand":
        return "json_null()"
    if f.type == "int32_t":
        return f"json_integer({f.value})"
    known = "true" if f.known == "always" or f.known.endswith("_sql") else f"known->{f.known}"
    return f"known_{'seconds' if f.json[1].endswith('_seconds') else 'count'}_json({known}, {f.value})"


def known_of(lines):
    """The parameter that they need."""
    return ", const struct summary_known *known" if "known->" in "".join(lines) else ""


def json_print(group):
    lines = [f'json_object_set_new(json, "{f.json[1]}", {json_value(f)});' for f in group.shown("json")]
    function_print(f"summary_{group.name}_json_add(json_t *json, const {group.struct} *from{known_of(lines)})", lines)


def row_line(f):
    if f.type == "int32_t":
        return f"row_signed(to, {f.value});"
    return f"row_known(to, {'true' if f.known == 'always' else 'known->' + f.known.removesuffix('_sql')}, {f.value});"


def sql_print(group):
    if group.table == "-":
        return
    print(f"static const struct database_column {group.table}_columns[] = {{")
    fields = group.shown("sql")
    if fields != sorted(fields, key=lambda f: f.known != "hand"):
        sys.exit(f"summary.fields: a column by hand is not among the first of {group.table}")
    for f in fields:
        kind = "TEXT" if f.unit == "text" else "INTEGER"
        print(f'    {{"{f.sql[1]}", "{kind}", "{f.unit if f.unit in CLASSES else ""}", "{f.text}"}},')
    print("    {.name = NULL}};\n")
    lines = [row_line(f) for f in fields if f.known != "hand"]
    function_print(f"database_{group.name}_add(struct database *to, const {group.struct} *from{known_of(lines)})", lines)


def document_line(f):
    null = "" if f.known == "always" or f.known.endswith("_sql") else " or null"
    return f"| `{f.json[1]}` | {'number' if f.json[1].endswith('_seconds') else 'integer'}{null} | {f.text} |\n"


def document(groups, page):
    """The lines of a group follow each other, but for those by hand."""
    text, status = open(page, encoding="utf-8").read(), 0
    for group in groups:
        fields = sorted(group.shown("json"), key=lambda f: f.sql or (sys.maxsize,))
        lines = "".join(document_line(f) for f in fields if f.known != "hand")
        if lines not in text:
            print(f"{page} lacks these lines, or some of them:\n{lines}")
            status = 1
    return status


PARTS = {"fields": (fields_print, "figures/cells.h"), "reading": (reading_print, "figures/figures.h"),
         "json": (json_print, "job/jsonvalue.h"), "sql": (sql_print, "database/database.h")}


def main():
    groups = table_read(sys.argv[2])
    if sys.argv[1] == "document":
        return document(groups, sys.argv[3])
    part, header = PARTS[sys.argv[1]]
    guard = f"MPIT_SUMMARY_{sys.argv[1].upper()}_H"
    print(f'/* Generated from summary.fields. */\n#ifndef {guard}\n#define {guard}\n\n#include "{header}"')
    print('#include "summary/summary.h"\n' if part != fields_print else '#include "summary/summaryopenmp.h"\n#include "summary/summaryprocess.h"\n')
    for group in groups:
        part(group)
    print("#endif")
    return 0


sys.exit(main())
