#!/usr/bin/python3
"""Each system call of a tool that brings or joins results fails, or the tool is killed there.

    everycall.py BUILD [STEP [SEED]]

A spool has a job whose processes have ended (they become a summary), a job with a killed process (its files are kept),
and a trace of which a part was drained. The tool runs, and its Nth call is hit, for N = START, START + STEP, ... until
none is. Without STEP there are about TRIALS hits for each tool and fault, from a start that SEED chooses. Right after,
mpit-dump shows the figures of a run that was not disturbed. The next mpit-collect completes the work: the same figures,
no live file, and no file without its name. A state of the files that was judged before is not judged again.
"""
import errno
import glob
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

RANKS, ROUNDS, LIMIT, TRIALS = 3, "8000", 1 << 20, 8
KILL, ERRORS = 0, (errno.ENOSPC, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.EACCES)


def without_names(value):
    """Names of functions are looked up in the program's file. Where a call for that fails there are none."""
    if isinstance(value, dict):
        return {key: without_names(one) for key, one in value.items() if key not in ("function", "file", "line", "text", "stack", "path")}
    return [without_names(one) for one in value] if isinstance(value, list) else value


class Scene:
    """A directory with `spool` and `out`, which can be put back."""

    def __init__(self, build, directory):
        self.build, self.directory, self.out, self.index = build, directory, directory + "/place/out", directory + "/index"
        self.environment, self.kept = trial.environment(MPIT_SPOOL=directory + "/spool"), {}

    def tool(self, name, *words):
        return trial.run([f"{self.build}/bin/{name}", *words], 60, self.environment)

    def keep(self, name):
        """Both as they are now, without an index."""
        self.forget()
        self.kept[name] = self.state()
        os.mkdir(f"{self.directory}/{name}")
        subprocess.run(["cp", "-a", "--sparse=always", self.directory + "/spool", self.directory + "/place", f"{self.directory}/{name}/"], check=True)

    def state(self):
        """What is in all files. Names of temporary ones are chosen by chance."""
        total = hashlib.sha1()
        for path in sorted(glob.glob(self.directory + "/spool/*/*/*") + glob.glob(self.out + "/*") + glob.glob(self.index + "*")):
            if not os.path.isfile(path):
                continue
            total.update(re.sub(r"part-.*", "part-", path).encode())
            with open(path, "rb") as file:
                total.update(hashlib.sha1(file.read()).digest())
        return total.digest()

    def forget(self):
        for path in glob.glob(self.index + "*"):
            os.remove(path)

    def restore(self, name):
        for part in ("spool", "place"):
            shutil.rmtree(f"{self.directory}/{part}")
        subprocess.run(["cp", "-a", "--sparse=always", f"{self.directory}/{name}/spool", f"{self.directory}/{name}/place", self.directory], check=True)
        self.forget()

    def figures(self):
        """Of all jobs, or what mpit-dump says."""
        ended = self.tool("mpit-dump", "--json", self.out)
        try:
            return sorted(json.dumps(without_names(job), sort_keys=True) for job in json.loads(ended.out)["jobs"])
        except ValueError:
            return str(ended)

    def listed(self):
        """The jobs of the index."""
        ended = self.tool("mpit-jobs", "--index", self.index, "--json", self.out)
        try:
            return sorted((job["job"], job["ranks"], job["messages"]) for job in json.loads(ended.out)["jobs"])
        except ValueError:
            return str(ended)

    def left(self):
        """Live files, and files without their names."""
        return glob.glob(self.directory + "/spool/*/*/*.mpit") + glob.glob(self.out + "/*.part*")


def job(scene, mpi, ranks, words, **variables):
    variables |= {"LD_PRELOAD": trial.preload(scene.build, mpi), "MPIT_OUTPUT": scene.out, "MPIT_SPOOL": scene.directory + "/spool"}
    return trial.run([*trial.launcher(mpi, ranks, variables), *words], 120, scene.environment)


def collectors(scene):
    """Processes that work for this directory."""
    return subprocess.run(["pgrep", "-f", f"mpit-collect.*{scene.directory}"], check=False, capture_output=True, text=True).stdout.split()


def made(judge, scene, mpi):
    """Live files of three jobs. -> whether it is so"""
    place, chaos = scene.directory + "/place", f"{scene.build}/tests/chaos-{mpi}"
    os.mkdir(scene.directory + "/spool")
    with open(place, "w", encoding="ascii"):  # so nothing can be brought
        pass
    ended = [job(scene, mpi, RANKS, [chaos, scene.directory, "1", "5", "finalize", "0"]),
             job(scene, mpi, RANKS, [chaos, scene.directory, "2", "5", "kill", "1"])]
    os.remove(place)
    os.makedirs(scene.out)
    ended.append(job(scene, mpi, 1, [chaos, scene.directory, "3", ROUNDS, "kill", "0"], MPIT_TRACE="1", MPIT_SPOOL_LIMIT_BYTES=str(LIMIT)))
    trial.comes(lambda: not collectors(scene))
    return judge.holds(len(scene.left()) == 2 * RANKS + 2, "three jobs wait in the spool, one of them is drained in part",
                       "\n".join(map(str, [*ended, scene.left()])))


def hit(scene, state, number, fault, words):
    """The tool with its call NUMBER hit. -> how many calls there were, Ended"""
    if scene.state() != scene.kept[state]:
        scene.restore(state)
    report = scene.directory + "/report"
    ended = trial.run([f"{scene.build}/tests/inject", str(number), str(fault), report, f"{scene.build}/bin/{words[0]}", *words[1:]], 60, scene.environment)
    if ended.status == trial.SKIPPED:
        return 0, ended
    with open(report, encoding="ascii") as file:
        return int(file.read()), ended


def wrong_after(scene, ended, then, files, right):
    """What is not as after a run that was not disturbed. RIGHT: figures, and jobs in the index."""
    said = []
    for when in ("right after it", "after the next one"):
        again = scene.tool(*then) if when != "right after it" else None
        figures = scene.figures()
        if figures != right[0]:
            said.append(f"figures {when}: {str(figures)[:300]}")
    jobs = scene.listed()
    if jobs != right[1]:
        said.append(f"the index has {jobs}")
    if scene.left():
        said.append(f"left behind: {scene.left()}")
    if files and len(os.listdir(scene.out)) != files:
        said.append(f"not {files} files, but {os.listdir(scene.out)}")
    return [*said, f"it: {ended}", f"the next one: {again}"] if said else []


def walked(judge, scene, name, case, step, chance):
    """All hits of a tool."""
    state, words, then, files, right = case
    calls, ended = hit(scene, state, 0, KILL, words)
    if not calls:
        judge.skip(name, "the kernel does not let a process watch the calls of another one")
        return
    for fault in (KILL, *ERRORS) if step else (KILL, chance.choice(ERRORS)):
        stride = step or max(1, calls // TRIALS)
        number, hits, wrong, judged = chance.randrange(stride) + 1, 0, [], {scene.kept[state]}
        while len(wrong) < 3:
            there, ended = hit(scene, state, number, fault, words)
            if there < number:
                break
            now = scene.state()
            bad = wrong_after(scene, ended, then, files, right) if now not in judged else []
            judged.add(now)
            wrong += ["\n".join([f"call {number} of {calls}:", *bad])] if bad else []
            number, hits = number + stride, hits + 1
        judge.check(f"{name}: {hits} of {calls} calls {'fail with ' + errno.errorcode[fault] if fault else 'kill it'}, {len(judged)} states", wrong)


def main():
    build, step = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time()) % 100000
    judge, chance, mpi = trial.Judge(), random.Random(seed), trial.mpis(build)[-1]
    print(f"seed {seed}")
    with trial.spool() as directory:
        scene = Scene(build, directory)
        if not made(judge, scene, mpi):
            sys.exit(judge.verdict())
        scene.keep("live")
        collect, join = ["mpit-collect", scene.out], ["mpit-collect", "--join", scene.out]
        ended = scene.tool(*collect)
        collected = scene.figures(), scene.listed()
        scene.keep("collected")
        judge.holds(ended.status == 0 and len(collected[0]) == 3 and not scene.left(), "undisturbed, all three are brought", (ended, collected, scene.left()))
        scene.tool(*join)
        joined = scene.figures(), scene.listed()
        for name, case in {"mpit-collect": ("live", collect, collect, 0, collected),
                           "mpit-collect --join": ("collected", join, join, 3, joined),
                           "mpit-jobs --index": ("collected", ["mpit-jobs", "--index", scene.index, scene.out], collect, 0, collected)}.items():
            walked(judge, scene, name, case, step, chance)
    sys.exit(judge.verdict())


main()
