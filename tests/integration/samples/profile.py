#!/usr/bin/env python3
"""profile.py enough PROFILE | judge PROFILE SAID SOURCE | rank RANK PROFILE SAID | pprof FILE PROFILE |
files FILE FUNCTION SOURCE... | parts PROFILE | stripped PROFILE

What mpit-dump made of the samples of phases.c (PROFILE: --profile --json), beside what the program measured by itself
(SAID), and the other outputs beside the profile."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import pprof

# A share may be off by three times what it says (1.96 standard errors), and by what the machine does to a program's own
# clock while it is not running.
TIMES, SLACK = 3, 0.02


def require(holds, *what):
    """A reason, and the end."""
    if not holds:
        print(*what)
        sys.exit(1)


def job_of(path):
    """The one job of a profile."""
    with open(path, encoding="utf-8") as file:
        (job,) = json.load(file)["jobs"]
    return job


def said(path):
    """What each rank says of itself: seconds by function."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return {int(rank): {name: float(value) for name, value in re.findall(r"([a-z_]+) ([\d.]+)", rest)}
            for rank, rest in re.findall(r"rank (\d+) (all [\d.]+(?: [a-z_]+ [\d.]+)*)", text)}


def error_of(share, samples):
    """How far off a share may be, as the profile says it."""
    share = (share * samples + 2) / (samples + 4)
    return 1.96 * (share * (1 - share) / (samples + 4)) ** 0.5


def node_find(nodes, *path):
    """A function on a path of calls, by name; None."""
    for node in nodes:
        if node["name"] == path[0]:
            return node if len(path) == 1 else node_find(node["calls"], *path[1:])
    return None


def enough(profile):
    """So many samples that shares can be wrong. On a busy machine threads are interrupted seldom."""
    job = job_of(profile)
    require(job["effective_samples"] > 400, "few samples:", job["effective_samples"])


def rank_judge(rank, profile, spent):
    """Of one rank: functions take the share of their time that the program says."""
    job, spent = job_of(profile), said(spent)[rank]
    rounds = node_find(job["paths"], "main", "rounds")
    require(rounds, "no main > rounds")
    whole = rounds["time"]["ns"]
    samples = job["effective_samples"] * whole / job["time"]["ns"]
    for name, path in (("compute_short", []), ("receive_late", []), ("exchange_large", []), ("compute_outer", ["compute_long"]),
                       ("compute_inner", ["compute_long"])):
        node = node_find(rounds["calls"], *path, name)
        share, truth = (node["time"]["ns"] if node else 0) / whole, spent[name] / spent["all"]
        error = TIMES * error_of(share, samples) + SLACK
        print("rank %d %s: %.3f, and %.3f by the program's clock; +- %.3f" % (rank, name, share, truth, error))
        require(abs(share - truth) <= error, "that is too far")


def judge(profile, spent, source):
    """Of all: states, names, lines, and the timers."""
    job, spent = job_of(profile), said(spent)
    require(sorted(spent) == [0, 1], "what the program said", spent)
    require(job["lost"] == 0 and not job["notes"] and not job["damaged_threads"], "losses", job["lost"], job["notes"])
    with open(source, encoding="utf-8") as file:
        lines = file.read().splitlines()
    late = next(i + 1 for i, line in enumerate(lines) if "the late sender" in line)
    sites = [site for site in job["places"] if site["call"] == "MPI_Recv" and site["function"] == "receive_late"]
    require(len(sites) == 1 and sites[0]["line"] == late and sites[0]["file"].endswith("/phases.c"), "MPI_Recv is called at", sites, late)
    states = sites[0]["time"]["states_ns"]
    require(states.get("stall_recv", 0) > 0.8 * sites[0]["time"]["ns"], "a late sender is a stall", states)
    for name in ("compute_short", "compute_outer", "compute_inner"):
        (function,) = [function for function in job["functions"] if function["name"] == name]
        require(function["mpi_ns"] == 0 and function["self_ns"] > 0.8 * function["total_ns"], "computing is not in MPI", function)
    require("none" not in job["timers"], "samples and timers are not compared:", job["timers"].get("none"))
    for name, state in job["timers"]["states"].items():
        print(name, ": %(sampled_share).3f sampled, %(timer_share).3f by the timers, +- %(error).3f" % state)
        require(abs(state["sampled_share"] - state["timer_share"]) <= TIMES * state["error"] + SLACK, "they do not agree")
    total = sum(state["timer_share"] for state in job["timers"]["states"].values())
    require(abs(total - 1) < 0.01, "the timers' shares are", total, "in all")


def parts_judge(profile):
    """Ranks and threads are the whole, and rank 0 waits for its late sender more than rank 1."""
    job = job_of(profile)
    for name, count in (("by_rank", job["processes"]), ("by_thread", job["threads"])):
        parts = job[name]
        require(len(parts) == count, name, "has", len(parts), "of", count)
        for key in ("samples", "ns", "on_cpu_ns"):
            require(sum(part["time"][key] for part in parts) == job["time"][key], name, key, "do not add up")
        for state in job["states"]:
            require(sum(part["time"]["states_ns"].get(state, 0) for part in parts) ==
                    job["time"]["states_ns"].get(state, 0), name, state, "do not add up")
    require(sorted(part["rank"] for part in job["by_rank"]) == [0, 1], "ranks", job["by_rank"])
    waits = {part["rank"]: part["time"]["states_ns"].get("stall_recv", 0) / part["time"]["ns"] for part in job["by_rank"]}
    require(waits[0] > waits[1] + 0.05, "stalled in receives, by rank:", waits)
    require(all(part["thread"] > 0 and part["process"] > 0 for part in job["by_thread"]), "threads", job["by_thread"])


def stripped_judge(profile):
    """Functions of a stripped program stand under their addresses, which nm has of the one with symbols (standard input)."""
    starts = {int(words[0], 16): words[2] for words in map(str.split, sys.stdin) if len(words) == 3 and words[1] in "tTwW"}
    job = job_of(profile)
    own = [function for function in job["functions"] if function["module"] == "program" and
           function["total_ns"] > 0.01 * job["time"]["ns"]]  # stubs of the linker have no symbol
    require(all(re.fullmatch(r"program\+0x[0-9a-f]+", function["name"]) for function in own), "names", own)
    found = {starts.get(int(function["name"].split("+")[1], 16)) for function in own}
    print("functions of the program:", found)
    require(None not in found, "these begin nowhere:", own)
    require({"main", "rounds", "compute_long", "receive_late"} <= {re.sub(r"\..*", "", name) for name in found},
            "functions are missing, of", found)
    ways = [function["name"] for function in job["functions"] if function["name"].startswith("__libc_start")]
    require("_start" not in found and not ways, "what the C library does before main:", ways, found)


def pprof_judge(path, profile):
    """Read by the documented numbers of fields, it is the same samples."""
    job, read = job_of(profile), pprof.Profile(path)
    require(read.texts[0] == "" and read.kinds == ["samples", "time"], "what is counted", read.texts[:8])
    samples, late, in_mpi, ranks = [0, 0], 0, 0, set()
    for stack, values, labels in read.samples:
        samples = [a + b for a, b in zip(samples, values)]
        require(sorted(labels) == ["rank", "state", "thread"] and re.fullmatch(r"\S.* \d+", labels["thread"]), labels)
        ranks.add(labels["rank"])
        tip = re.fullmatch(r"\[(work|stall \w+)\]", stack[-1])
        require(bool(tip) == any(re.fullmatch(r"MPI_\w+", name) for name in stack), "a state, and no MPI, or the reverse:", stack)
        require(labels["state"] == (tip.group(1) if tip else "not in MPI"), stack, labels)
        late += values[1] if stack[:4] == ["main", "rounds", "receive_late", "MPI_Recv"] else 0
        in_mpi += values[1] if tip else 0
    require(ranks == {"0", "1"}, ranks)
    require(samples == [job["time"]["samples"], job["time"]["ns"]], "in all", samples, job["time"])
    require(in_mpi == job["time"]["ns"] - job["time"]["states_ns"]["not_in_mpi"], "in MPI", in_mpi)
    require(late == node_find(job["paths"], "main", "rounds", "receive_late", "MPI_Recv")["time"]["ns"], "late", late)


def files_judge(path, function, *files):
    """In pprof's form: functions of this name are in just these files."""
    found = sorted(file.rsplit("/", 1)[-1] for name, file in pprof.Profile(path).functions if name == function)
    require(found == sorted(files), function, "is in", found)


def main():
    """One of them."""
    what, *words = sys.argv[1:]
    if what == "rank":
        rank_judge(int(words[0]), *words[1:])
    elif what == "files":
        files_judge(*words)
    else:
        {"enough": enough, "judge": judge, "pprof": pprof_judge,
         "parts": parts_judge, "stripped": stripped_judge}[what](*words)


main()
