"""userbook.py JSON OWN [CASE]: the summary of a run of a program that uses libfabric or UCX by itself, beside its own book.

With the case "threads" what several threads see at once is held to its bounds, all else to the same number.
"""
import json
import sys

job = json.load(open(sys.argv[1]))["jobs"][0]
own = json.loads(open(sys.argv[2]).read().strip().splitlines()[-1])
providers = job["fabric"]["providers"]
wrong = []
if own["failures"]:
    wrong.append(f"{own['failures']} checks of the program's own failed")
if len(providers) != 1 or providers[0]["provider"] != own["provider"]:
    sys.exit(f"providers {[p['provider'] for p in providers]}, {own['provider']} was used")
got = providers[0]
functions = {name: {"count": f["count"], "bytes": f["bytes"]} for name, f in got["functions"].items() if f["count"]}
for name in sorted(set(functions) | set(own["functions"])):
    if functions.get(name) != own["functions"].get(name):
        wrong.append(f"{name}: {functions.get(name)}, {own['functions'].get(name)} by the program's own book")
for name in ("polls", "empty_polls", "again", "errors", "started", "completed"):
    if got[name] != own[name]:
        wrong.append(f"{name}: {got[name]}, {own[name]} by the program's own book")
if "threads" in sys.argv[3:]:
    # each knows of the others' at another time
    if not 0 < got["most_outstanding"] <= own["started"]:
        wrong.append(f"most outstanding: {got['most_outstanding']}, of {own['started']}")
elif got["most_outstanding"] != own["most_outstanding"]:
    wrong.append(f"most outstanding: {got['most_outstanding']}, {own['most_outstanding']} by the program's own book")
if got["poll_ns"] > got["time_ns"]:
    wrong.append(f"{got['polls']} polls, {got['poll_ns']} of {got['time_ns']} ns")
if own["time_ns"] and not own["slept_ns"] <= got["time_ns"] <= own["time_ns"]:
    wrong.append(f"time {got['time_ns']} ns, of {own['time_ns']} ns, of which {own['slept_ns']} slept in callbacks")
if any(f["time_ns"] > job["run_seconds"]["max"] * 1e9 * job["threads"] for f in got["functions"].values()):
    wrong.append("a function took longer than the run")
if wrong:
    sys.exit("\n".join(wrong))
