"""findings.py JSON SCREEN RULE [FUNCTION]: the rule is the first finding of the job, and in this function.

RULE -NAME: this finding does not come. RULE none: there is no finding. Start-up of so short a run may take longer than the run, which is a finding, too.
"""
import json
import sys

document, screen, rule = sys.argv[1:4]
function = sys.argv[4] if len(sys.argv) > 4 else None
job = json.load(open(document))["jobs"][0]
shown = open(screen).read().splitlines()
if job["not_judged"] and not rule.startswith("-") and rule not in ("none", "oversubscribed"):
    print(job["not_judged"])
    sys.exit(77)
# three ranks, and maybe two processors
aside = ("long_init", "oversubscribed") if rule == "hot_spot" else ("long_init",)
found = [finding for finding in job["findings"] if finding["rule"] == rule or finding["rule"] not in aside]
first = found[0] if found else {"rule": "none"}
problems = []


def expect(what, is_so):
    if not is_so:
        problems.append(what)


if rule.startswith("-"):
    expect("it comes: %s" % json.dumps(found), rule[1:] not in [finding["rule"] for finding in found])
else:
    expect("first is %s: %s" % (first["rule"], json.dumps(found)), first["rule"] == rule)
expect("%d lines" % len(shown), len(shown) <= 24)
expect("more than 80 columns", all(len(line) <= 80 for line in shown))
for finding in job["findings"]:
    expect("share of %s" % finding["rule"],
           abs(finding["share_of_run"] * job["run_seconds"]["max"] - finding["seconds"]) < 0.02 * finding["seconds"]
           and finding["share_of_run"] >= 0.02)
    expect("words of %s" % finding["rule"], finding["text"].endswith(".") and finding["advice"].endswith("."))
if rule == "none" and not job["findings"]:
    expect("nothing stands out", "  Nothing stands out." in shown)
if rule == "oversubscribed":
    expect("line of the processors", any(line.startswith("  !          ") and "share" in line for line in shown))
elif first["rule"] == rule and rule != "none":
    text = " ".join(line.strip() for line in shown)
    expect("it is not on the screen", first["text"] in text)
if function and first["rule"] == rule and rule != "long_init":
    place = first["place"]
    expect("place %s" % place, place["function"] == function and place["file"].endswith("diseases.c"))
if rule in ("load_imbalance", "late_rank", "hot_spot") and first["rule"] == rule:
    expect("ranks %s" % first["ranks"], first["ranks"] == [1 if rule == "load_imbalance" else 0])
for problem in problems:
    print(problem)
print("%s, %s of the run" % (first["rule"], first.get("share_of_run")))
sys.exit(bool(problems))
