#!/usr/bin/python3
"""Holds a page of mpit-dump --scaling --html, as Chromium has drawn it, against --scaling --json.

    htmlscaling.py PAGE JSON
"""
import json
import sys

from htmldrawn import drawn, same, table_of

FACTORS = {"global": lambda row: row["global_efficiency"], "computation": lambda row: row["computation_scaling"],
           "balance": lambda row: row["efficiency"]["load_balance"],
           "communication": lambda row: row["efficiency"]["communication"],
           "serialization": lambda row: row["efficiency"]["serialization"],
           "transfer": lambda row: row["efficiency"]["transfer"]}

page, wanted = sys.argv[1:]
document = json.load(open(wanted, encoding="utf-8"))
root, console = drawn(page)
assert not console, console
rows = table_of(root, "scaling")
assert len(rows) == len(document["rows"]), (rows, document)
known = [key for key, value in FACTORS.items() if any(value(row) is not None for row in document["rows"])]
for shown, row in zip(rows, document["rows"]):
    for key in ("ranks", "runs", "seconds", "speedup"):
        same(key, shown[key], row[key])
    for key in known:
        same(key, shown[key], FACTORS[key](row))
lines = [line.attributes["data-factor"] for line in root.having("data-factor")]
assert lines == known, (lines, known)
print(f"{len(rows)} rows, {len(lines)} lines")
