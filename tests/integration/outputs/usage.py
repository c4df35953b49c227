"""usage.py JSON SCREEN LOG WANTED: the processor time of each rank is what diseases.c has said of itself, within some ms.

WANTED lack: the screen says that other programs took the processors, and there is no finding on times. WANTED any: the
line is there if, and only if, the figures say so.
"""
import json
import sys

document, screen, log, wanted = sys.argv[1:]
job = json.load(open(document))["jobs"][0]
ranks = {rank["rank"]: rank for rank in job["by_rank"]}
text = " ".join(line.strip() for line in open(screen))
told = [line.split()[1:] for line in open(log) if line.startswith("usage ")]
problems = [] if len(told) == len(ranks) > 0 else ["%d of %d ranks tell" % (len(told), len(ranks))]


def share(rank):
    """Of the time that the rank wanted a processor."""
    had = rank["user_seconds"] + rank["system_seconds"]
    return had / (had + rank["run_delay_seconds"])


for number, user, system, faults in told:
    rank = ranks[int(number)]
    both = rank["user_seconds"] + rank["system_seconds"]
    if abs(rank["user_seconds"] - float(user)) > 0.02 or abs(both - float(user) - float(system)) > 0.02:
        problems.append("rank %s: %s s, not %s and %s" % (number, rank, user, system))
    if not 0 <= rank["major_faults"] - int(faults) <= 20:
        problems.append("rank %s: %d major faults, not %s" % (number, rank["major_faults"], faults))
lacks = "had a processor for" in text and "Run it again where nothing else runs." in text
shares = [share(rank) for rank in ranks.values()]
others = [finding["rule"] for finding in job["findings"] or [] if finding["rule"] != "oversubscribed"]
if wanted == "lack" and not lacks:
    problems.append("the screen does not say so: %s" % text)
if lacks and (others or "What stands out" in text):
    problems.append("findings: %s" % others)
if lacks and min(shares) > 0.8 or not lacks and not [rank for rank in ranks.values() if rank["processors"] < len(ranks)] and min(shares) < 0.75:
    problems.append("said: %s, shares: %s" % (lacks, shares))
for problem in problems:
    print(problem)
print("shares", shares, "said:", lacks)
sys.exit(bool(problems))
