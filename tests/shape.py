#!/usr/bin/env python3
"""The shape of the sources: limits that only fall.

    shape.py BUILD SOURCE

Each limit is what holds today. Whoever makes a number smaller lowers its limit; a change that needs a larger one says why
in its commit. BUILD is not used: all tests are called so.
"""
import collections
import os
import re
import subprocess
import sys

SOURCE = os.path.abspath(sys.argv[2])
LIMITS = {
    "lines of the product": 122_164,
    "rings of headers": 0,
    "folders in one circle": 11,
    "files in one folder": 40,
    "functions over 60 lines": 3,
    "macros with return": 11,
    "function names in two files": 40,
    "lines of README.md": 200,
    "characters of a commit's subject": 72,
}


def git(*words):
    return subprocess.run(["git", "-C", SOURCE, *words], capture_output=True, text=True, check=False).stdout


def product():
    """The files of the product, and their texts."""
    names = git("ls-files", "src/*.[ch]", "tools/*.[ch]", "include/*.h", "src/*.py").split()
    texts = {}
    for name in names:
        with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
            texts[name] = file.read()
    return texts


def reached(edges, start):
    seen, todo = set(), [start]
    while todo:
        for other in edges.get(todo.pop(), ()):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def includes(texts):
    """-> the files that each file includes. A file that calls a function includes a header for it."""
    places = collections.defaultdict(list)
    for name in texts:
        places[os.path.basename(name)].append(name)
    edges = {}
    for name, text in texts.items():
        found = re.findall(r'^#include "([^"]+)"', text, re.M)
        edges[name] = {other for path in found for other in places[os.path.basename(path)] if other.endswith("/" + path)}
    return edges


def header_rings(edges):
    """Headers that include each other, in a ring: strongly connected parts of more than one."""
    headers = {name: others for name, others in edges.items() if name.endswith(".h")}
    return sorted(name for name in headers if name in reached(headers, name))


def largest_circle(edges):
    """How many folders have a way of includes to each other: the largest strongly connected part."""
    folders = collections.defaultdict(set)
    for name, others in edges.items():
        folders[os.path.dirname(name)] |= {os.path.dirname(other) for other in others}
    ways = {folder: reached(folders, folder) for folder in folders}
    return max(sum(folder in ways[other] for other in ways[folder] if other in ways) for folder in ways)


def functions(text):
    """-> (name, lines) of each function. clang-format puts the braces of a function at the begin of a line."""
    lines = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.S).split("\n")
    begin = None
    for number, line in enumerate(lines):
        if line == "{":
            begin = number
        elif line == "}" and begin is not None:
            head = re.sub(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)", "", " ".join(lines[max(0, begin - 4):begin]))
            names = re.findall(r"([A-Za-z_]\w*)\(", head.split(";")[-1].split("}")[-1])
            names = [name for name in names if not name.isupper()]  # no macros
            if names:
                yield names[0], number - begin - 1
            begin = None


def returning_macros(texts):
    count = 0
    for text in texts.values():
        for macro in re.findall(r"^#define (?:.*\\\n)*.*", text, re.M):
            count += bool(re.search(r"\breturn\b", macro))
    return count


def measured():
    texts = product()
    edges = includes(texts)
    sources = {name: text for name, text in texts.items() if name.endswith(".c")}
    places = collections.defaultdict(set)
    long = 0
    for name, text in sources.items():
        for function, lines in functions(text):
            long += lines > 60
            places[function].add(name)
    folders = collections.Counter(os.path.dirname(name) for name in texts)
    with open(SOURCE + "/README.md", encoding="utf-8") as file:
        readme = len(file.read().splitlines())
    subjects = git("log", "-20", "--no-merges", "--format=%s").splitlines()
    return {
        "lines of the product": sum(text.count("\n") for text in texts.values()),
        "rings of headers": len(header_rings(edges)),
        "folders in one circle": largest_circle(edges),
        "files in one folder": max(folders.values()),
        "functions over 60 lines": long,
        "macros with return": returning_macros(texts),
        "function names in two files": sum(len(files) > 1 for files in places.values()),
        "lines of README.md": readme,
        "characters of a commit's subject": max(map(len, subjects), default=0),
    }


def main():
    if not git("rev-parse", "HEAD"):
        print("skipped: this is no checkout")
        return 77
    failed = 0
    for name, value in measured().items():
        good = value <= LIMITS[name]
        failed += not good
        print(f"{'ok' if good else 'not ok'} {name}: {value}, at most {LIMITS[name]}")
    print(f"{len(LIMITS) - failed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
