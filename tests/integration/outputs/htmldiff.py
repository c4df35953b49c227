#!/usr/bin/python3
"""Holds a page of mpit-dump --diff --html, as Chromium has drawn it, against --diff --json and the text of --diff.

    htmldiff.py PAGE JSON TEXT RUN...    RUN: all of them, in their order
"""
import json
import pathlib
import sys
import tempfile

from htmldrawn import descending, drawn, same, table_of
from htmluse import Browser


def change_of(value):
    return float("inf") if value["change"] is None and value["new"]["median"] > 0 else value["change"]


def judge_value(row, shown, name):
    for key in ("old", "new"):
        same(f"{row['name']} {name} {key}", shown[f"{name}_{key}"], row[name][key]["median"])
    same(f"{row['name']} {name} change", shown[name + "_change"], change_of(row[name]))


def judge_changes(root, document):
    rows = table_of(root, "changes")
    assert len(rows) == len(document["rows"]), (len(rows), len(document["rows"]))
    several = document["old_runs"] + document["new_runs"] > 2
    for row, shown in zip(document["rows"], rows):
        time = row["seconds"]
        apart = time["old"]["max"] < time["new"]["min"] or time["new"]["max"] < time["old"]["min"]
        assert shown["texts"][0].lower().replace(" ", "") == row["kind"], (shown, row)
        assert shown["texts"][1:] == [row["name"]] + (["apart" if apart else "overlap"] if several else []), (shown, row)
        judge_value(row, shown, "seconds")


def judge_counts(root, document):
    rows = [row for row in document["rows"] if row["kind"] in ("run", "callsite") and row["counts_differ"]]
    if not rows:
        assert "Calls, messages and bytes are the same everywhere" in root.having("data-figure", "counts")[0].text()
        return
    shown = table_of(root, "counts")
    assert len(shown) == len(rows), (shown, rows)
    for row, line in zip(rows, shown):
        assert line["texts"] == ["messages of all" if row["kind"] == "run" else row["name"]], (line, row)
        judge_value(row, line, "count")
        judge_value(row, line, "bytes")


def judge_sorting(page):
    """A click on a head of a column sorts, and as many rows as before are shown."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            browser.open(pathlib.Path(page).resolve().as_uri())
            shown = "document.querySelectorAll('[data-table=changes] tbody tr:not([hidden])').length"
            before = browser.value(shown)
            for order in (1, -1):
                browser.value("[...document.querySelectorAll('[data-table=changes] .sort')].find((one) => one.textContent === 'Time after').click()")
                values = browser.value("[...document.querySelectorAll('[data-table=changes] [data-key=seconds_new]')].map((one) => Number(one.dataset.value))")
                descending("sorted times", values[::order])
            assert browser.value(shown) == before, before
            browser.value("document.querySelector('[data-choice=rank]').click()")
            kinds = browser.value("[...document.querySelectorAll('[data-table=changes] tbody td:first-child')].map((one) => one.textContent)")
            assert set(kinds) == {"Rank"}, kinds
            assert not browser.errors, browser.errors
        finally:
            browser.close()


def main():
    page, document, text = (open(path, encoding="utf-8").read() for path in sys.argv[1:4])
    document = json.loads(document)
    root, console = drawn(sys.argv[1])
    html = root.tagged("html")[0].attributes
    assert html["data-errors"] == "[]" and html["data-loaded"] == "0" and not console, (html, console)
    embedded = json.loads(page.split('id="document">')[1].split("</script>")[0])
    assert embedded["difference"] == document, "the page's comparison is not that of --json"
    assert embedded["old"] + embedded["new"] == sys.argv[4:], embedded
    head = text.split("\n\n")[0]
    overview = root.having("data-figure", "overview")[0].text()
    assert all(line.strip() in overview for line in head.splitlines()), (head, overview)
    assert all(run in overview for run in sys.argv[4:]), overview
    judge_counts(root, document)
    judge_changes(root, document)
    judge_sorting(sys.argv[1])


main()
