#!/usr/bin/python3
"""An administrator's walk through share/doc/site.md: its commands, one after the other, on a machine of its own.

    sitewalk.py BUILD MPI

The machine is an overlay on the root directory, so that nothing is left behind. It has a user ann. Lines that start ./heat,
ann types; all others root. A block whose first line is "# /PATH" is the text of that file. Commands of systems that are not
there (qmgr, apptainer) are skipped, each with a word. Status 77 where there is no root or no overlay.
"""
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "common"))
import trial

SOURCE = os.path.abspath(f"{HERE}/../../..")
BUILD, MPI = os.path.abspath(sys.argv[1]), sys.argv[2]
NUMBER = "4712"
MODULES = "/usr/share/modules/init/bash"
judge = trial.Judge()

MACHINE = """set -e
mount -t tmpfs none "$0" && mkdir "$0/upper" "$0/work" "$0/root"
mount -t overlay none -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/root"
cd "$0/root"
mount -t proc none proc && mount --rbind /dev dev && mount -t tmpfs none dev/shm && mount -t tmpfs none tmp && chmod 1777 tmp dev/shm
[ ! -d "$1/tests" ] || { mkdir -p ".$1" && mount --bind "$1" ".$1"; }
mkdir -p ".$2" && mount --bind "$2" ".$2"
exec chroot . "${@:3}"
"""


def in_machine(words):
    folder = tempfile.mkdtemp(prefix="mpit-walk.")
    try:
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", MACHINE, folder, BUILD, SOURCE, *words],
                              stdin=subprocess.DEVNULL, timeout=240).returncode
    finally:
        os.rmdir(folder)


def blocks():
    """The blocks of the page in order, each a list of lines."""
    found = [[]]
    with open(f"{SOURCE}/share/doc/site.md") as file:
        for line in file.read().splitlines():
            if line.startswith("    "):
                found[-1].append(line[4:])
            elif found[-1]:
                found.append([])
    return [block for block in found if block]


class Shells:
    """What root and ann type. Each line gets the variables that the lines before it have set."""

    def __init__(self):
        self.variables = {"PATH": os.environ["PATH"], "HOME": "/root", "LC_ALL": "C.UTF-8"}
        self.run = 0

    def types(self, line):
        ann = "./heat" in line
        script = f'{". " + MODULES + "; " if os.path.exists(MODULES) else ""}cd {"/home/ann" if ann else BUILD + "/.."}; {line}; status=$?; env -0 >/tmp/env; exit $status'
        who = ["setpriv", "--reuid", "ann", "--regid", "nogroup", "--clear-groups"] if ann else []
        more = {"USER": "ann", "HOME": "/home/ann", "PBS_JOBID": NUMBER, "MPIT_DISABLE": ""} if ann else {}
        env = dict(self.variables, **{name: value for name, value in more.items() if value})
        if os.path.exists("/tmp/env"):
            os.remove("/tmp/env")
        done = subprocess.run([*who, "bash", "-c", script], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
        if not ann and os.path.exists("/tmp/env"):
            with open("/tmp/env") as file:
                self.variables = dict(one.split("=", 1) for one in file.read().split("\0") if "=" in one and not one.startswith("BASH_FUNC"))
        judge.holds(done.returncode == 0, f"{'ann' if ann else 'root'}: {line}", done.stdout + done.stderr)
        return done.stdout + done.stderr


def fitted(line):
    """The line for this machine: where the build is, which mpirun, today, and how ann's job is called."""
    today = datetime.date.today().strftime("%Y/%m/%d")
    line = line.replace("cmake --install build", f"cmake --install {BUILD}").replace("mpirun ", f"mpirun.{MPI} {'--oversubscribe ' if MPI == 'openmpi' else ''}")
    line = line.replace("./heat", "./heat --rows 64 --columns 64 --steps 20")
    return re.sub(r"/logs/\d{4}/\d\d/\d\d/", f"/logs/{today}/", line).split("  #")[0].rstrip()


def new_machine():
    with open("/etc/passwd", "a") as file:
        file.write("ann:x:4711:65534:Ann:/home/ann:/bin/bash\n")
    os.makedirs("/home/ann")
    os.chown("/home/ann", 4711, 65534)
    shutil.copy(f"{BUILD}/tests/heat-{MPI}", "/home/ann/heat")
    os.chmod("/home/ann/heat", 0o755)
    os.makedirs("/var/lib/mpit", exist_ok=True)
    if os.path.exists("/etc/mpit.conf"):
        os.remove("/etc/mpit.conf")


def summaries(wanted=1):
    """The files in the logs, when no collector works and there are as many, or after a while: a job does not wait for its file on a busy machine."""
    found = []
    for _ in range(100):
        if subprocess.run(["pgrep", "-x", "-r", "R,S,D", "mpit-collect"], capture_output=True).returncode == 0:
            time.sleep(0.1)  # a file may come yet
            continue
        found = [f"{folder}/{name}" for folder, _, names in os.walk("/logs") for name in names if name.endswith(".mpit")]
        if len(found) == wanted:
            break
        time.sleep(0.1)
    return found


def walk():
    """Block by block; what a line has to have done, where the page says so."""
    new_machine()
    shells = Shells()
    for block in blocks():
        if block[0].startswith("# /"):
            with open(block[0][2:], "w") as file:  # no group hpcstaff is on this machine
                file.write("\n".join(line for line in block[1:] if not line.startswith("group")) + "\n")
            judge.holds(True, f"root writes {block[0][2:]}")
            continue
        for line in map(fitted, block):
            if line.split()[0] in ("qmgr", "apptainer") and not shutil.which(line.split()[0]):
                judge.skip(line, "that system is not there")
            elif line.startswith("module ") and not os.path.exists(MODULES):
                judge.skip(line, "environment-modules is not there")
                shells.variables["LD_PRELOAD"] = "/opt/mpit/lib/libmpit.so"
                shells.variables["PATH"] = "/opt/mpit/bin:" + shells.variables["PATH"]
            else:
                followed(shells, line, shells.types(line))
    switched_off(shells)


def followed(shells, line, said):
    if "./heat" in line:
        judge.holds("mpit" not in said or "mpit-collect" in said, "  nothing is said about mpit, or that the file comes later", said)
        judge.holds(len(summaries()) == 1, "  one file is in the logs", summaries())
    elif line.startswith("mpit-jobs") and "--usual" not in line:
        judge.holds(NUMBER in said and "heat" in said and "ann" in said, "  it lists the job of ann", said)
    elif line.startswith("mpit-jobs"):
        judge.holds("0 other jobs" in said and "heat" in said, "  it says that there is no other job of heat", said)
    elif line.startswith("mpit-dump"):
        judge.holds(f"by ann, job pbs {NUMBER}" in said and re.search("heat.*MPI_", said), "  it has the calls of the job", said)
    elif line.startswith("mpit-clean"):
        judge.holds(len(summaries()) == 1, "  the job of today stays", summaries())


def switched_off(shells):
    """The table "Switch off", each row."""
    run = fitted("mpirun -n 2 ./heat")
    shells.types("export MPIT_DISABLE=1 && " + run)
    judge.holds(len(summaries()) == 1, "  MPIT_DISABLE: nothing is recorded", summaries())
    with open("/etc/mpit.conf") as file:
        settings = file.read()
    for row in ("exclude = heat", "disable = 1"):
        with open("/etc/mpit.conf", "w") as file:
            file.write("\n".join(line for line in settings.splitlines() if not line.startswith("exclude")) + f"\n{row}\n")
        shells.types(run)
        judge.holds(len(summaries()) == 1, f"  {row}: nothing is recorded", summaries())
    with open("/etc/mpit.conf", "w") as file:
        file.write(settings)
    shells.types(run)
    summaries(2)
    judge.holds(len(json.loads(shells.types("mpit-jobs --json /logs"))["jobs"]) == 2, "  and then it is recorded again")


def pbs_hook():
    """The hook, with a module pbs that is as the documents of PBS say."""
    os.makedirs("/tmp/pbs", exist_ok=True)
    with open("/tmp/pbs/pbs.py", "w") as file:
        file.write("import json, os\nEXECJOB_LAUNCH, EXECJOB_EPILOGUE, LOG_DEBUG = 1, 2, 3\nclass Job: euser = 'ann'\n"
                   "class Event:\n    type = int(os.environ['EVENT'])\n    env = json.loads(os.environ['JOB'])\n    job = Job()\n"
                   "    def accept(self): print(json.dumps(self.env))\n_event = Event()\ndef event(): return _event\ndef logmsg(level, text): print(text)\n")
    for title, job, wanted in (("an empty environment", {}, "/opt/mpit/lib/libmpit.so"),
                               ("another library", {"LD_PRELOAD": "/x.so"}, "/opt/mpit/lib/libmpit.so:/x.so"),
                               ("MPIT_DISABLE", {"MPIT_DISABLE": "1"}, None)):
        done = subprocess.run([sys.executable, "/opt/mpit/share/mpit/site/pbs/mpit-hook.py"], capture_output=True, text=True,
                              env=dict(os.environ, PYTHONPATH="/tmp/pbs", EVENT="1", JOB=json.dumps(job)))
        found = json.loads(done.stdout).get("LD_PRELOAD") if done.returncode == 0 else done.stderr
        judge.holds(found == wanted, f"the hook of PBS: {title}", found)
    done = subprocess.run([sys.executable, "/opt/mpit/share/mpit/site/pbs/mpit-hook.py"], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH="/tmp/pbs", EVENT="2", JOB="{}"))
    judge.holds(done.returncode == 0 and done.stdout == "{}\n", "the hook of PBS: the end of a job", done.stdout + done.stderr)


def lsf_starter():
    starter = "/opt/mpit/share/mpit/site/lsf/job-starter"
    for title, more, command, wanted in (("a command line", {}, 'echo "a  b" $LD_PRELOAD', "a  b /opt/mpit/lib/libmpit.so\n"),
                                         ("MPIT_DISABLE", {"MPIT_DISABLE": "1"}, "echo $LD_PRELOAD", "\n")):
        done = subprocess.run([starter, command], capture_output=True, text=True, env={"PATH": os.environ["PATH"], **more})
        judge.holds(done.stdout == wanted, f"the job starter of LSF: {title}", done.stdout + done.stderr)
    judge.holds(subprocess.run([starter, "exit 7"]).returncode == 7, "the job starter of LSF: the status is the job's")


def main():
    if sys.argv[3:] == ["inside"]:
        walk()
        pbs_hook()
        lsf_starter()
        return judge.verdict()
    if os.getuid() != 0 or in_machine(["true"]) != 0:
        judge.skip("the walk through site.md", "it needs root and an overlay file system")
        return judge.verdict()
    return in_machine([sys.executable, os.path.abspath(__file__), BUILD, MPI, "inside"])


sys.exit(main())
