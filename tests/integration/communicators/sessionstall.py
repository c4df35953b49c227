"""sessionstall.py TEXT <JSON: the summary's line about stalls, beside what --json says of the same run."""
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as text:
    said = float(re.search(r"^  stalled +([\d.]+) % of that", text.read(), re.MULTILINE)[1])
(job,) = json.load(sys.stdin)["jobs"]
inside = {name: call for name, call in job["calls"].items() if not re.search("nit$|init$|inalize$", name)}
stalled = sum(call["stall_ns"] or 0 for call in inside.values()) / 1e9
share = 100 * stalled / (job["mpi_seconds"]["mean"] * job["ranks"])
print("%.2f %% in the text, %.2f %% of %.3f s" % (said, share, stalled / share * 100))
assert share > 20 and abs(said - share) < 0.051
# the sessions' own begin and end are no part of it, and would be seen
ends = sum(call["time_ns"] for name, call in job["calls"].items() if name not in inside) / 1e9
assert abs(said - 100 * stalled / (stalled / share * 100 + ends)) > 0.2
