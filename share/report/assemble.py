#!/usr/bin/python3
"""Puts the report's page together: assemble.py LIBRARY LICENCE STYLE PAGE HEAD TAIL SCRIPT...

HEAD is what stands before the run's document in the page, TAIL what stands behind it. The page may run no script but
these two, which it names by their hashes, and load nothing: a name out of a run that came to stand where it should not
could do nothing there.
"""
import base64
import hashlib
import pathlib
import sys

DOCUMENT = "@DOCUMENT@"


def text_of(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def script_checked(path, text):
    if "</script" in text.lower() or "<!--" in text:
        sys.exit(f"{path} cannot be put into a page: it has the end of a script in it")
    return text


def source_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def main():
    library_path, licence_path, style_path, page_path, head_path, tail_path, *script_paths = sys.argv[1:]
    library = script_checked(library_path, text_of(library_path))
    own = "\n".join(['"use strict";'] + [script_checked(path, text_of(path)) for path in script_paths])
    page = text_of(page_path)
    parts = {"@POLICY@": f"default-src 'none'; style-src 'unsafe-inline'; script-src {source_hash(library)} {source_hash(own)}",
             "@STYLE@": text_of(style_path), "@LICENCE@": text_of(licence_path).strip(), "@LIBRARY@": library,
             "@SCRIPTS@": own}
    before, behind = page.split(DOCUMENT)
    for name, text in parts.items():
        places = before.count(name) + behind.count(name)
        if places != 1:
            sys.exit(f"{page_path} has {places} places for {name}")
        before, behind = before.replace(name, text), behind.replace(name, text)
    pathlib.Path(head_path).write_text(before, encoding="utf-8")
    pathlib.Path(tail_path).write_text(behind, encoding="utf-8")


main()
