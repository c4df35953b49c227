"""splits.py CASE ANALYSIS.json SUMMARY.json DIRECTORY: serialization and transfer are what the program counted itself.

Each factor is within 2 % of the program's. The program's own factors are those of its design, if the machine is not busy:
a chain of N ranks has a serialization of 1 / N.
"""
import json
import os
import sys

case, analysis, summary, notes = sys.argv[1:5]
own = [list(map(float, open(os.path.join(notes, name)).read().split())) for name in os.listdir(notes)]
run, useful, ideal = (max(column) for column in zip(*own))
expected = {"communication": useful / run, "serialization": useful / ideal, "transfer": ideal / run}
problems = []
for title, document in (("analysis", analysis), ("summary", summary)):
    found = json.load(open(document))["jobs"][0]["efficiency"]
    for factor, value in expected.items():
        if found[factor] is None or abs(found[factor] - value) > 0.02 * value:
            problems.append("%s: %s is %s, the program counted %.4f" % (title, factor, found[factor], value))
    if found["serialization"] and abs(found["serialization"] * found["transfer"] - found["communication"]) > 1e-6:
        problems.append("%s: the factors do not make the whole: %s" % (title, found))
built = {"imbalance": (1, None), "chain": (1 / len(own), 1), "delay": (1, 100 / 160), "both": (1 / len(own), None),
         "requests": (None, None), "synchronous": (None, None)}[case]
for factor, value in zip(("serialization", "transfer"), built):
    if value and not 0.8 * value < expected[factor] < 1.2 * value:
        problems.append("this run's %s is %.3f, and not %.3f: the machine is busy" % (factor, expected[factor], value))
for problem in problems:
    print(problem)
print(", ".join("%s %.1f %%" % (factor, 100 * value) for factor, value in expected.items()))
sys.exit(bool(problems))
