"""Holds what tells users of options against the tools: --help, manual pages, completions; and headers against their pages.

usage: manual.py BUILD SOURCE
"""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
TOOLS = ["mpit-run", "mpit-collect", "mpit-dump", "mpit-list", "mpit-top", "mpit-exporter", "mpit-jobs", "mpit-clean"]
ROWS, COLUMNS = 24, 80
COMMAND_LINES = {"mpit-dump": "dumprequest"}  # files of their own
MANUAL = os.path.join(SOURCE, "share", "man")
judge = trial.Judge()
check = judge.holds


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def run(*words, **more):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **more)


def long_options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


def options_of_source(tool):
    """What the tool takes, as its table of options has it."""
    table = re.search(r"struct tool_option options\[\] = \{(.*?)^\};",
                      read(*glob.glob(f"{SOURCE}/tools/*/{COMMAND_LINES.get(tool, tool)}.c")), re.M | re.S).group(1)
    return {"--" + name for name in re.findall(r'\{"([a-z0-9-]+)",', table)} | {"--help", "--version"}


def options_in_items(tool):
    """Those that have an entry of their own."""
    items = [line for line in read(MANUAL, "man1", tool + ".1").splitlines() if line.startswith(".It ")]
    return {"--" + name for line in items for name in re.findall(r"Fl -([a-z0-9-]+)", line)}


def options_of_zsh(tool):
    part = re.search(r"^%s\*?\)\n(.*?)^    ;;" % re.escape(tool), read(SOURCE, "share", "completion", "_mpit"), re.M | re.S)
    return set(re.findall(r"'[*]?(?:\([^)]*\))?(--[a-z0-9-]+)\[", part.group(1))) | {"--help", "--version"}


def completed(*words, cwd=None):
    """What bash offers for the last of the words."""
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mpit "$1" 2>/dev/null; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    result = run("bash", "-c", script, "bash", os.path.join(SOURCE, "share", "completion", "mpit.bash"), *words, cwd=cwd)
    return [line for line in result.stdout.split("\n") if line]


def tool_judge(tool):
    result = run(os.path.join(BUILD, "bin", tool), "--help")
    lines = result.stdout.splitlines()
    taken = options_of_source(tool)
    check(result.returncode == 0 and 0 < len(lines) <= ROWS, f"{tool} --help fits a screen of {ROWS} lines", len(lines))
    wide = [line for line in lines if len(line) > COLUMNS]
    check(not wide, f"{tool} --help fits {COLUMNS} columns", wide)
    check(any(line.startswith("Example:") for line in lines), f"{tool} --help has an example")
    check(f"man {tool}" in result.stdout, f"{tool} --help names its manual page")
    own = long_options("\n".join(line for line in lines if not re.match(r"Example:|    +mpit-", line)))
    check(taken and own == taken, f"{tool} --help has the tool's options, and no others", own ^ taken)
    items = options_in_items(tool)
    check(items == taken, f"{tool}(1) has an entry for each option, and no others", items ^ taken)
    bash = {word for word in completed(tool, "--") if word.startswith("--")}
    check(bash == taken, f"bash completes the options of {tool}, and no others", bash ^ taken)
    zsh = options_of_zsh(tool)
    check(zsh == taken, f"zsh completes the options of {tool}, and no others", zsh ^ taken)


def pages():
    for section in sorted(os.listdir(MANUAL)):
        for name in sorted(os.listdir(os.path.join(MANUAL, section))):
            yield os.path.join(MANUAL, section, name)


def pages_judge():
    if not shutil.which("mandoc"):
        check(False, "mandoc is there to judge the pages", "install mandoc")
        return
    for page in pages():
        if read(page).startswith(".so "):
            target = read(page).split()[1]
            check(os.path.exists(os.path.join(MANUAL, target)), f"{os.path.basename(page)} leads to a page", target)
            continue
        result = run("mandoc", "-T", "lint", "-W", "warning", page)
        findings = [line for line in result.stdout.splitlines() if "outdated mandoc.db" not in line]
        check(not findings, f"{os.path.basename(page)} is sound", findings)


def references_judge():
    """What a page of ours refers to in our name is there."""
    known = {os.path.basename(page) for page in pages()}
    for page in pages():
        missing = [f"{name}.{section}" for name, section in re.findall(r"^\.Xr (mpit\S*) (\d)", read(page), re.M)
                   if f"{name}.{section}" not in known]
        check(not missing, f"what {os.path.basename(page)} refers to is there", missing)
        documents = set(re.findall(r"\b([a-z0-9-]+\.md)\b", read(page)))
        absent = [name for name in documents if not os.path.exists(os.path.join(SOURCE, "share", "doc", name))]
        check(not absent, f"the documents that {os.path.basename(page)} names are there", absent)


def headers_judge():
    own = {"instrument_declare.h": "instrument", "instrument_interface.h": "instrument", # parts of instrument.h,
           "monitor_interface.h": "monitor", "monitor_report.h": "monitor"} # and of monitor.h
    for name in sorted(os.listdir(os.path.join(SOURCE, "include", "mpit"))):
        stem = own.get(name, re.sub(r"\.h(\.in)?$", "", name))
        page = os.path.join(MANUAL, "man3", f"mpit-{stem}.3")
        if not name.endswith((".h", ".h.in")):
            continue
        check(os.path.exists(page), f"{name} has a manual page", page)
    text = read(MANUAL, "man3", "mpit-monitor.3")
    declared = set(re.findall(r"\b(MPIX_[A-Z][a-z]\w*)\s*\(", read(SOURCE, "include", "mpit", "monitor.h")))
    missing = [name for name in declared if name not in text]
    check(declared and not missing, "mpit-monitor(3) names each function of the header", missing)


def environment_judge():
    """mpit(7) has the table of settings: the control variables, and the others that environment.md lists."""
    controls = {name.upper() for name in re.findall(r"^\| `(mpit_[a-z0-9_]+)` \| `MPI_[A-Z_]+` \| (?:fixed|may be written) \|",
                                                    read(SOURCE, "share", "doc", "variables.md"), re.M)}
    explained = read(SOURCE, "share", "doc", "environment.md")
    others = set(re.findall(r"^- `(MPIT_[A-Z0-9_]+)`", explained, re.M))
    table = set(re.findall(r"^\.It Ev (MPIT_[A-Z0-9_]+)", read(MANUAL, "man7", "mpit.7"), re.M))
    check(controls and others and controls | others == table,
          "mpit(7) has each control variable, and what environment.md lists beside them", (controls | others) ^ table)
    unknown = set(re.findall(r"\bMPIT_[A-Z0-9_]*[A-Z0-9]\b", explained)) - table
    check(not unknown, "environment.md names no other variables than mpit(7)", unknown)
    listed = set(re.findall(r"\]\(([a-z0-9-]+\.md)\)", read(SOURCE, "share", "doc", "index.md")))
    pages_there = {os.path.basename(page) for page in glob.glob(f"{SOURCE}/share/doc/*.md")} - {"index.md"}
    check(listed == pages_there, "index.md lists each page of share/doc, and no others", listed ^ pages_there)


def completion_judge():
    check(completed("mpit-run", "--mpi", "m") == ["mpich"], "bash completes values")
    check(completed("mpit-run", "--filter", "p2p,-co") == ["p2p,-completion", "p2p,-coll", "p2p,-comm"],
          "bash completes the last word of a list", completed("mpit-run", "--filter", "p2p,-co"))
    for name in ("mpit-dump-mpich", "mpit-dump-openmpi", "mpit-dump-abi"):
        check(completed(name, "--ver") == ["--verify", "--version"], "bash knows " + name)
    check("share" in completed("mpit-dump", "sha", cwd=SOURCE), "bash completes runs", completed("mpit-dump", "sha", cwd=SOURCE))
    if shutil.which("zsh"):
        result = run("zsh", "-n", os.path.join(SOURCE, "share", "completion", "_mpit"))
        check(result.returncode == 0, "zsh reads its completion", result.stderr)
    else:
        judge.skip("zsh reads its completion", "there is no zsh")


for tool in TOOLS:
    tool_judge(tool)
pages_judge()
references_judge()
headers_judge()
environment_judge()
completion_judge()
sys.exit(judge.verdict())
