#!/usr/bin/env python3
"""A prediction and the run that it is about: within 5 % of each other. With another bandwidth within 15 %: TCP is not twice as
fast on a network that is.

    whatif.py ANSWER_JSON RUN_JSON
"""
import json
import sys

answer = json.load(open(sys.argv[1]))["jobs"][0]
told = answer["what_if"][0]["run_ns"] * 1e-9
run = json.load(open(sys.argv[2]))["jobs"][0]["run_seconds"]["max"]
question = answer["what_if"][0]["question"]
within = 0.15 if question.startswith("bandwidth") else 0.05
print(f"recorded {answer['run_ns'] * 1e-9:.3f} s, {question}: told {told:.3f} s, it takes {run:.3f} s")
recorded = answer["run_ns"] * 1e-9
change, told_change = run - recorded, told - recorded
# a small change is within 5 % of no change: a larger one has to be told in its size
sized = abs(change) < 0.08 * recorded or 0.6 < told_change / change < 1.6
sys.exit(not sized or abs(told - run) > within * run)
