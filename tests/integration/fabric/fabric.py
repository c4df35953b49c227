"""fabric.py JSON SAID: the summary of a run of fabriccolls says what its variables said."""
import json
import sys

job = json.load(open(sys.argv[1]))["jobs"][0]
said = {}
for line in open(sys.argv[2]):
    words = line.split()
    if len(words) == 2 and words[1].isdigit():
        said[words[0]] = int(words[1])
fabric = job["fabric"]
if fabric is None:
    sys.exit("the summary has nothing of the layer below")
functions = [f for p in fabric["providers"] for f in p["functions"].values()]
sent = [f for f in functions if f["kind"] in ("send", "inject")]
watched = [c for c in job["communicators"] if c["name"].endswith("dup#2")]
got = {"sends": sum(f["count"] for f in sent), "bytes": sum(f["bytes"] for f in sent),
       "receives": sum(f["count"] for f in functions if f["kind"] == "recv"),
       "operations": sum(f["count"] for f in functions),
       "polls": sum(p["polls"] for p in fabric["providers"]),
       "empty_polls": sum(p["empty_polls"] for p in fabric["providers"]),
       "again": sum(p["again"] for p in fabric["providers"]), "others": fabric["others"],
       "transfers": sum(c["coll_transfers"] for c in watched)}
wrong = [f"{name}: {got[name]} in the summary, {said.get(name)} by the variables" for name in got
         if got[name] != said.get(name)]
if len(watched) != 1:
    wrong.append(f"{len(watched)} communicators are the one that was watched")
for p in fabric["providers"]:
    if p["completed"] > p["started"] or p["most_outstanding"] > p["started"]:
        wrong.append(f"{p['provider']}: {p['started']} started, {p['completed']} completed, {p['most_outstanding']} "
                     "outstanding at once")
    # what was begun is complete but for what was under way when nobody asked any more
    if p["started"] - p["completed"] > p["started"] / 4 + 8:
        wrong.append(f"{p['provider']}: of {p['started']} operations only {p['completed']} complete")
    if p["empty_polls"] > p["polls"] or p["poll_ns"] > p["time_ns"]:
        wrong.append(f"{p['provider']}: polls {p['polls']}, empty {p['empty_polls']}; {p['poll_ns']} of {p['time_ns']} ns")
if wrong:
    sys.exit("\n".join(wrong))
