#!/usr/bin/python3
"""MPICH's test suite, natively and with mpit: the lists of what passes, and every difference.

    suite.py BUILD TREE MPI [--work DIR] [--only FOLDER[/PROGRAM]]... [--trace] [--resume] [--jobs 1|2] ...

TREE is the folder test/mpi of MPICH's sources, MPI is mpich or openmpi. The tree is copied to the work directory, the
few headers that its configure would write are written there, its own generators make what they make (Fortran 90 tests
out of Fortran 77 ones). Each program is built with the wrappers of that MPI, and each line of the testlists is run as
it says (processes, arguments, environment, which status is right), in two orders: native, with mpit; with mpit, native.
With --trace the first run with mpit keeps a trace, and `mpit-dump --verify` has to replay it to the same tallies.
Where the runs do not agree, it is run again, natively and with mpit in turns, to tell a difference from a test that
sometimes fails.

A program passes by the suite's rule: status 0 and nothing printed but "No Errors" (or, where the testlist says so, a
status that is not 0). Not run: what the testlist expects to fail (--xfail runs it), what needs more memory than --memory
GB; more than --ranks processes become --ranks. Status 1 if there is a difference or a trace that does not verify.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

FOLDERS = ("attr basic coll comm datatype errhan errors group info init io mpi_t part pt2pt rma spawn topo perf threads "
           "f77 f90 f08").split()
SETTINGS = {"LC_ALL": "C", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}
DEFINES = ("HAVE_STDIO_H HAVE_STDLIB_H HAVE_STRING_H HAVE_STRINGS_H HAVE_STDINT_H HAVE_INTTYPES_H HAVE_STDARG_H "
           "HAVE_UNISTD_H HAVE_MEMORY_H HAVE_ERRNO_H HAVE_SYS_TIME_H HAVE_SYS_RESOURCE_H HAVE_SYS_TYPES_H HAVE_GETRUSAGE "
           "HAVE_LONG_DOUBLE HAVE_LONG_LONG HAVE_LONG_LONG_INT HAVE_FLOAT__COMPLEX HAVE_DOUBLE__COMPLEX "
           "HAVE_LONG_DOUBLE__COMPLEX USE_LONG_DOUBLE_COMPLEX HAVE__BOOL HAVE_MPI_SPAWN HAVE_MPI_WIN_CREATE HAVE_MPI_IO "
           "HAVE_MPI_INIT_THREAD HAVE_FORTRAN_BINDING HAVE_PTHREAD_H HAVE_PTHREAD_BARRIER_INIT HAVE_SETENV "
           "HAVE_STRDUP HAVE_MEMSET MPIO_USES_MPI_REQUEST F77_NAME_LOWER_USCORE F77_NAME_LOWER_USCORE_").split()
# what configure puts into testlists and headers; "#" comments a line out: no name server runs here, no huge messages
WORDS = {"namepub_tests": "#", "largetest": "#", "comm_overlap": "", "F77SPAWNARGTEST": "", "ALLOCMEMF": "allocmemf 1",
         "ALLOCMEMFC": "allocmemf90 1", "F03SPAWNARGTEST": "", "F77_MPI_ADDRESS": "integer*8", "F77_MPI_OFFSET": "integer*8",
         "ch3_tests": "#", "faultsdir": "#", "cxxdir": "#"}
FORTRAN = ["-w", "-fallow-argument-mismatch", "-fcray-pointer", "-ffree-line-length-none"]


def run_quietly(words, where, limit=1800):
    """(status, output)"""
    try:
        done = subprocess.run(words, cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit)
    except subprocess.TimeoutExpired:
        return 124, f"{words[0]} did not end in {limit} s"
    return done.returncode, done.stdout


# ---- the tree: copied, and completed with what its configure would write

def words_filled(text, mpi):
    def word(match):
        if match[1] == "ch4_tests" or match[1].startswith("ch4_"):
            return "" if mpi == "mpich" and "ofi" not in match[1] else "#"
        return WORDS.get(match[1], match[1].replace("dir", ""))
    return re.sub(r"@(\w+)@", word, text)


def tree_generated(tree):
    """The tests that the tree's own scripts make of others."""
    for folder in ["f77", "errors/f77"]:
        for name in sorted(os.listdir(f"{tree}/{folder}")):
            if os.path.isdir(f"{tree}/{folder}/{name}"):
                out = folder.replace("f77", "f90") + "/" + name
                os.makedirs(f"{tree}/{out}", exist_ok=True)
                run_quietly(["perl", "maint/f77tof90", f"{folder}/{name}", out, "Makefile.am", "Makefile.ap"], tree)
    merge = f"{tree}/f90/io/ioharness"
    for kind, change in (("defn", [(r'filename="(.*)f\.f"', r'filename="\1f90.f90"'),
                                   (r"include.*iooffset.*", "integer (kind=MPI_OFFSET_KIND)offset")]),
                         ("tlt", [(r"include.*mpif.*", "use mpi"), ("fheader", "f90header"), (r"(?m)^C", "!"),
                                  (r"(?m)^.*implicit *none.*\n", "")])):
        text = open(f"{tree}/f77/io/ioharness.{kind}").read()
        for old, new in change:
            text = re.sub(old, new, text)
        open(f"{merge}.{kind}", "w").write(text)
    script = open(f"{tree}/maint/testmerge.in").read()
    open(f"{tree}/maint/testmerge", "w").write(script.replace("@PERL@", "perl"))
    for folder in ("f77/io", "f90/io", "f08/io"):
        run_quietly(["perl", f"{tree}/maint/testmerge", f"-defn={tree}/maint/common.defn", "ioharness.defn",
                     "ioharness.tlt"], f"{tree}/{folder}")
    for name, source in (("c2f902cio.c", "f90/io"), ("c2f902c.c", "f90/ext"), ("ctypesfromc.c", "f77/ext"),
                         ("c2f902cwin.c", "f90/rma")):
        for folder in ("f90/", "f08/"):
            into = f"{tree}/{folder}{source.split('/')[1]}/{name}"
            if os.path.exists(f"{tree}/{source}/{name}") and not os.path.exists(into):
                shutil.copy(f"{tree}/{source}/{name}", into)


def experimental(mpi):
    """Functions of later standards that this MPI has as MPIX_, under the names that the tests call."""
    declared = subprocess.run([f"mpicc.{mpi}", "-E", "-include", "mpi.h", "-x", "c", "/dev/null"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    names = set(re.findall(r"\b(MPIX?_\w+) *\(", declared))
    return "".join(f"#define {name.replace('X', '', 1)} {name}\n" for name in sorted(names)
                   if name.startswith("MPIX_") and name.replace("X", "", 1) not in names)


def tree_prepared(work, options):
    tree = f"{work}/tree"
    if os.path.exists(f"{work}/prepared"):
        return tree
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(options.tree, tree, symlinks=True)
    for folder, _, files in os.walk(tree):
        for name in files:
            if name.endswith(".h.in"):
                text = open(f"{folder}/{name}").read()
                open(f"{folder}/{name[:-3]}", "w").write(words_filled(text, options.mpi))
    tree_generated(tree)
    if options.datatypes:
        types = "--with-dtpools-datatypes=MPI_INT,MPI_INT:4+MPI_DOUBLE:8"
        run_quietly(["bash", f"{tree}/maint/gentests_dtp.sh", types], tree)
    if options.algorithms:
        run_quietly(["python3", f"{tree}/maint/gen_coll_cvar.py"], tree)
    lines = [f"#define {name} 1" for name in DEFINES] + ["#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX",
                                                         "#define POINTERINT_t long"]
    if options.mpi == "openmpi":
        lines.append("#define USE_STRICT_MPI 1")
    open(f"{tree}/include/mpitestconf.h", "w").write("\n".join(lines) + "\n")
    open(f"{tree}/include/mtest_mpix.h", "w").write(experimental(options.mpi))
    if options.mpi == "openmpi":  # the tree's library builds types with functions that MPI-3 removed
        for old in ("hvector", "hindexed", "struct"):
            lines += [f"#undef MPI_Type_{old}", f"#define MPI_Type_{old} MPI_Type_create_{old}"]
    open(f"{tree}/dtpools/dtpoolsconf.h", "w").write("\n".join(lines) + "\n")
    open(f"{work}/prepared", "w").write("")
    return tree


# ---- programs

class Builder:
    """Builds programs as the Makefile.am of their folder says, into one folder beside."""

    def __init__(self, tree, work, mpi):
        self.tree, self.out, self.mpi, self.rules = tree, f"{work}/built", mpi, {}
        self.c = [f"mpicc.{mpi}", "-w", "-O1", "-g", f"-I{tree}/include", f"-I{tree}/dtpools/include",
                  "-DDTP_MPI_DATATYPE=MPI_INT"]

    def compiler(self, source):
        if source.endswith(".c"):
            return self.c
        return [f"{'mpif77' if source.endswith('.f') else 'mpif90'}.{self.mpi}"] + FORTRAN + ["-I."]

    def support(self):
        """The tree's own library, as objects: {language: [object, ...]}"""
        into = f"{self.out}/support"
        os.makedirs(into, exist_ok=True)
        found, log = {}, ""
        datatypes = [f"dtpools/src/{name}" for name in sorted(os.listdir(f"{self.tree}/dtpools/src"))
                     if name.endswith(".c")]
        for source in datatypes + ["util/mtest.c", "util/mtest_common.c", "util/mtest_single.c", "util/mtest_thread.c",
                                   "util/dtypes.c", "util/mtest_f77.f", "util/mtest_f90.f90", "util/mtest_f08.f90"]:
            obj = f"{into}/{os.path.basename(source)}.o"
            if not os.path.exists(obj):
                status, out = run_quietly(self.compiler(source) + ["-c", f"{self.tree}/{source}", "-o", obj], into)
                log += f"{source}: {status}\n{out}"
            found[os.path.basename(source)] = obj
        open(f"{into}/log", "w").write(log)
        missing = [name for name, obj in found.items() if not os.path.exists(obj)]
        if missing:
            sys.exit(f"suite.py: the tree's library cannot be built ({', '.join(missing)}), see {into}/log")
        base = [found[os.path.basename(d)] for d in datatypes] + [found["mtest.c"], found["mtest_common.c"]]
        single = base + [found["mtest_single.c"]]
        return {"single": single, "threads": base + [found["mtest_thread.c"]], "dtypes": [found["dtypes.c"]],
                "f77": [found["mtest_f77.f"]], "f90": [found["mtest_f90.f90"]], "f08": [found["mtest_f08.f90"]]}

    def rules_of(self, folder):
        """(kind, {variable: words}, programs) of the folder's Makefile.am"""
        if folder not in self.rules:
            path = f"{self.tree}/{folder}/Makefile.am"
            text = open(path).read().replace("\\\n", " ") if os.path.exists(path) else ""
            kind = re.search(r"include.*Makefile_(single|threads|f77|f90|f08)\.mtest", text)
            values, programs = {}, []
            for name, _, value in re.findall(r"(?m)^(\w+)\s*(\+?=)(.*)$", text):
                name = re.sub("^nodist_", "", name)
                values[name] = values.get(name, []) + value.split("#")[0].split()
            programs = [p for p in values.get("noinst_PROGRAMS", []) if not p.startswith("$")]
            self.rules[folder] = (kind[1] if kind else "single", values, programs)
        return self.rules[folder]

    def sources_of(self, folder, program):
        kind, values, _ = self.rules_of(folder)
        name = re.sub(r"[^\w]", "_", program)
        sources = [s for s in values.get(f"{name}_SOURCES", []) if not s.endswith(".h") and not s.startswith("$")]
        if sources:
            return sources
        endings = values.get("AM_DEFAULT_SOURCE_EXT", []) + [".c", ".f", ".f90"]
        return [program + e for e in endings if os.path.exists(f"{self.tree}/{folder}/{program}{e}")][:1]

    def build(self, folder, program):
        """What the compiler says if it cannot be built, else None"""
        where, into = f"{self.tree}/{folder}", f"{self.out}/{folder}"
        target, errors = f"{into}/{program}", f"{into}/{program}.errors"
        if os.path.exists(target):
            return None
        if os.path.exists(errors):
            return open(errors).read()
        os.makedirs(f"{into}/{program}.objects", exist_ok=True)
        kind, values, _ = self.rules_of(folder)
        name = re.sub(r"[^\w]", "_", program)
        flags = [w for key in (f"{name}_CPPFLAGS", f"{name}_CFLAGS", "AM_CPPFLAGS") for w in values.get(key, [])
                 if re.match("-[DUOI]", w) and "$" not in w]
        flags += ["-DMTEST_USE_THREAD"] if kind == "threads" else []
        sources, objects, log = self.sources_of(folder, program), [], ""
        fortran = [s for s in sources if not s.endswith(".c")]
        for source in [s for s in sources if s.endswith(".c")] + fortran:
            obj = f"{into}/{program}.objects/{source}.o"
            extra = flags + [f"-I{where}"] if source.endswith(".c") else \
                [f"-I{where}", f"-I{where}/../attr", f"-J{into}/{program}.objects"]
            status, out = run_quietly(self.compiler(source) + extra + ["-c", f"{where}/{source}", "-o", obj], where)
            log += out
            objects.append(obj)
            if status:
                break
        else:
            linker = self.compiler(fortran[0]) if fortran else self.c
            if "mtest_c_objects" in " ".join(values.get(f"{name}_LDADD", [])) or kind not in ("f77", "f90", "f08"):
                library = self.library["threads" if kind == "threads" else "single"]
            else:
                library = self.library[kind]
            if "LDADDDATA" in " ".join(values.get(f"{name}_LDADD", [])):
                library = library + self.library["dtypes"]
            words = linker + ["-o", target] + objects + library + ["-lm", "-lpthread"]
            log += run_quietly(words, where)[1] if sources else "no source\n"
        if os.path.exists(target):
            return None
        open(errors, "w").write(log or "nothing was made")
        return log or "nothing was made"


# ---- testlists

def tests_listed(tree, folder, builder, options):
    """The tests of a folder and those below it: {name, folder, program, ranks, args, env, limit, rule, skip}"""
    lists = [f"{tree}/{folder}/{name}" for name in ("testlist.in", "testlist", "testlist.ap", "testlist.dtp",
                                                   "testlist.cvar")]
    lists = [path for path in lists if os.path.exists(path)]
    if f"{tree}/{folder}/testlist.in" in lists and f"{tree}/{folder}/testlist" in lists:
        lists.remove(f"{tree}/{folder}/testlist.in")
    tests = []
    if not lists:
        for program in builder.rules_of(folder)[2]:
            tests.append(test_made(folder, [program, "2", "resultTest=StatusOnly"], options))
        return tests
    for path in lists:
        for line in words_filled(open(path).read(), options.mpi).splitlines():
            words = line.split("#")[0].split()
            if not words or words[0].startswith("!"):
                continue
            if os.path.isdir(f"{tree}/{folder}/{words[0]}"):
                tests += tests_listed(tree, f"{folder}/{words[0]}", builder, options)
            else:
                inner, _, program = words[0].rpartition("/")
                tests.append(test_made(f"{folder}/{inner}" if inner else folder, [program] + words[1:], options))
    return tests


def test_made(folder, words, options):
    ranks = int(words[1]) if len(words) > 1 and words[1].isdigit() else 2
    test = {"folder": folder, "program": words[0], "ranks": min(ranks, options.ranks), "args": [], "env": {},
            "limit": options.timeout, "rule": "", "skip": ""}
    for word in words[2:]:
        key, _, value = word.partition("=")
        if key == "arg":
            test["args"].append(value)
        elif key == "env":
            test["env"].update([value.split("=", 1)])
        elif key == "resultTest":
            test["rule"] = value
        elif key == "timeLimit" and int(value) < options.timeout:
            test["limit"] = int(value)
        elif key == "timeLimit" and int(value) > 180:
            test["limit"] = 2 * options.timeout
        elif key == "xfail" and not options.xfail:
            test["skip"] = "expected to fail"
        elif key == "mem" and float(value) > options.memory:
            test["skip"] = f"needs {value} GB"
        elif key in ("mpix", "strict") and options.mpi == "openmpi" and (key, value.lower()) != ("strict", "true"):
            test["skip"] = "only for MPICH"
    test["name"] = " ".join([f"{folder}/{words[0]}", str(test["ranks"])] + test["args"] +
                            [f"{n}={v}" for n, v in test["env"].items()])
    return test


# ---- runs

def strays_end(mark):
    """Ends what a run left behind: processes that carry its mark in their environment."""
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                if mark in open(f"/proc/{pid}/environ", "rb").read():
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass


def judge(rule, status, out):
    """"pass", or how it failed"""
    lines = [line for line in out.splitlines() if "FORTRAN STOP" not in line]
    good = any(re.fullmatch(r"\s*No [Ee]rrors\s*", line) for line in lines)
    other = [line for line in lines if not re.fullmatch(r"\s*(No [Ee]rrors|Test Passed)?\s*", line)]
    if rule in ("TestStatus", "TestErrFatal"):
        return "pass" if status else "status 0"
    if rule == "TestStatusNoErrors":
        return "pass" if status and good and not other else "errors"
    if status:
        crash = re.search(r"exited on signal (\d+)|EXIT STRING: .*\(signal (\d+)\)", out)
        return f"signal {crash[1] or crash[2]}" if crash else f"status {status}"
    if rule == "StatusOnly":
        return "pass"
    if other:
        return "unexpected output"
    return "pass" if good else "no verdict"


class Runner:
    def __init__(self, work, builder, options):
        self.work, self.builder, self.options = work, builder, options
        self.number, self.lock = 0, threading.Lock()
        self.tool = os.path.abspath(f"{options.build}/bin/mpit-run")
        self.dump = os.path.abspath(f"{options.build}/bin/mpit-dump")

    def run(self, test, way, limit):
        """way: native, mpit or trace. -> {way, result, seconds, out, verify}"""
        with self.lock:
            self.number += 1
            place = f"{self.work}/runs/{os.getpid()}-{self.number}"
        os.makedirs(place)
        built = f"{self.builder.out}/{test['folder']}"
        for name in os.listdir(built):  # tests start other programs of their folder
            if os.access(f"{built}/{name}", os.X_OK) and os.path.isfile(f"{built}/{name}"):
                os.symlink(f"{built}/{name}", f"{place}/{name}")
        line = [f"mpirun.{self.options.mpi}"] + self.options.launch.split() + ["-n", str(test["ranks"]),
                f"./{test['program']}"] + test["args"]
        if way != "native":
            line = [self.tool, "--quiet", "--output", f"{place}/.mpit"] + (["--trace"] if way == "trace" else []) + line
        mark = f"SUITE_RUN={place}"
        env = {k: v for k, v in os.environ.items() if not k.startswith("MPIT_") and k != "LD_PRELOAD"}
        env.update(SETTINGS, MPIEXEC_TIMEOUT=str(limit), TMPDIR="/tmp", **test["env"])
        env.update([mark.split("=", 1)])
        start = time.time()
        with open(f"{place}/.out", "w+b") as log:
            process = subprocess.Popen(line, cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = process.wait(timeout=limit + 10)
            except subprocess.TimeoutExpired:
                status = None
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        seconds = time.time() - start
        strays_end(mark.encode() + b"\0")
        out = open(f"{place}/.out", errors="replace").read()
        late = status is None or (seconds >= limit and test["rule"] != "TestErrFatal")
        found = {"way": way, "result": "no end" if late else judge(test["rule"], status, out),
                 "seconds": round(seconds, 1), "out": out[-6000:], "verify": None}
        if way == "trace" and found["result"] == "pass":
            found["verify"] = self.verify(test, place)
        if found["verify"] in (None, "equal"):
            shutil.rmtree(place, ignore_errors=True)
        return found

    def verify(self, test, place):
        if test["rule"] in ("TestStatus", "TestErrFatal"):
            return None  # an aborted program's tallies and trace stop at any moment
        if not os.path.isdir(f"{place}/.mpit") or not os.listdir(f"{place}/.mpit"):
            return "no record"
        status, out = run_quietly([self.dump, "--verify", f"{place}/.mpit"], place)
        return "equal" if status == 0 else f"status {status}, in {place}: {out[-1500:]}"

    def ways(self, test, known):
        """The runs of the orders that are wanted and not known, and more where they do not agree"""
        runs = list(known)
        for order, ways in ((1, ("native", "trace" if self.options.trace else "mpit")), (2, ("mpit", "native"))):
            if order in self.options.orders and not any(r["order"] == order for r in runs):
                for way in ways:
                    slow = any(r["result"] == "no end" for r in runs)  # the first of them has waited long enough
                    limit = max(10, test["limit"] // 4) if slow else test["limit"]
                    runs.append(dict(self.run(test, way, limit), order=order))
        if len({r["result"] for r in runs}) > 1 and not any(r["order"] == 0 for r in runs):
            for _ in range(self.options.again):
                runs += [dict(self.run(test, way, test["limit"]), order=0) for way in ("native", "mpit")]
        return dict(test, runs=runs)


# ---- the report

def passes(record, native):
    runs = [r["result"] == "pass" for r in record["runs"] if (r["way"] == "native") == native]
    return sum(runs), len(runs)


def report(work, records, unbuilt, skipped):
    def write(name, lines):
        os.makedirs(f"{work}/lists", exist_ok=True)
        open(f"{work}/lists/{name}", "w").write("".join(line + "\n" for line in lines))

    folders = collections.OrderedDict()
    columns = (("native-1", 1, True), ("mpit-1", 1, False), ("mpit-2", 2, False), ("native-2", 2, True))
    lists = {column[0]: [] for column in columns}
    for record in records:
        row = folders.setdefault("/".join(record["folder"].split("/")[:1]), [0] * 5)
        row[0] += 1
        for at, (name, order, native) in enumerate(columns, 1):
            if any(r["order"] == order and (r["way"] == "native") == native and r["result"] == "pass"
                   for r in record["runs"]):
                lists[name].append(record["name"])
                row[at] += 1
    for name, lines in lists.items():
        write(name, lines)
    write("not-built", [f"{name}: {why.strip().splitlines()[-1] if why.strip() else ''}" for name, why in unbuilt])
    write("not-run", [f"{name}: {why}" for name, why in skipped])
    print(f"{'folder':10} {'tests':>6} {'native':>7} {'mpit':>6} | {'mpit':>6} {'native':>7}   passes, in this order")
    total = [sum(row[i] for row in folders.values()) for i in range(5)]
    for name, row in list(folders.items()) + [("all", total)]:
        print(f"{name:10} {row[0]:6} {row[1]:7} {row[2]:6} | {row[3]:6} {row[4]:7}")
    print(f"programs not built: {len(unbuilt)}; tests not run: {len(skipped)}")
    differences, flaky, unverified, changed = [], [], [], []
    for record in records:
        (n, n_all), (m, m_all) = passes(record, True), passes(record, False)
        said = f"{record['name']}: passes {n} of {n_all} natively, {m} of {m_all} with mpit; " + \
            ", ".join(f"{r['way']}: {r['result']} ({r['seconds']} s)" for r in record["runs"])
        if (n in (0, n_all)) and (m in (0, m_all)):
            if (n > 0) != (m > 0):
                differences.append(said)
            elif not n and len({r["result"] for r in record["runs"]}) > 1:
                changed.append(said)
        else:
            flaky.append(said)
        unverified += [f"{record['name']}: {r['verify']}" for r in record["runs"] if r["verify"] not in (None, "equal")]
    verified = sum(r["verify"] == "equal" for record in records for r in record["runs"])
    for title, lines in (("differences", differences), ("sometimes fail", flaky),
                         ("fail in several ways", changed), ("traces that do not verify", unverified)):
        write(title.replace(" ", "-"), lines)
        print(f"\n{title}: {len(lines)}" + (f" ({verified} verify)" if title.startswith("traces") else ""))
        for line in lines:
            print("  " + line)
    return 1 if differences or unverified else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("tree")
    parser.add_argument("mpi", choices=("mpich", "openmpi"))
    parser.add_argument("--work", help="directory for everything that is made (default: suite-MPI)")
    parser.add_argument("--only", action="append", default=[], metavar="FOLDER[/PROGRAM]")
    parser.add_argument("--except", action="append", default=[], dest="without", metavar="FOLDER[/PROGRAM]")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2))
    parser.add_argument("--limit", type=int, help="that many tests at most")
    parser.add_argument("--timeout", type=int, default=60, help="seconds for a run; twice that where the list says 'long'")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--memory", type=float, default=2.0, help="GB that a test may need")
    parser.add_argument("--again", type=int, default=3, help="runs each way where the four differ")
    parser.add_argument("--orders", type=lambda word: [int(w) for w in word.split(",")], default=[1, 2],
                        help="1: native, mpit; 2: mpit, native (default: 1,2)")
    parser.add_argument("--launch", default="", help="options for the launcher, as one word")
    for name, text in (("trace", "keep and verify traces"), ("resume", "keep the results that the work directory has"),
                       ("xfail", "run what is expected to fail"), ("datatypes", "the tests of many datatypes"),
                       ("algorithms", "MPICH's collective algorithms, one by one"), ("report", "only print what is known")):
        parser.add_argument(f"--{name}", action="store_true", help=text)
    return parser.parse_args()


def within(name, patterns):
    return any(name == p or name.startswith(p.rstrip("/") + "/") for p in patterns)


def main():
    options = arguments()
    options.tree = os.path.abspath(options.tree)
    work = os.path.abspath(options.work or f"suite-{options.mpi}")
    os.makedirs(work, exist_ok=True)
    tree = tree_prepared(work, options)
    builder = Builder(tree, work, options.mpi)
    builder.library = builder.support()
    tests = [t for folder in FOLDERS if os.path.isdir(f"{tree}/{folder}")
             for t in tests_listed(tree, folder, builder, options)]
    tests = list({t["name"]: t for t in tests}.values())
    if options.only:
        tests = [t for t in tests if within(f"{t['folder']}/{t['program']}", options.only)]
    skipped = [(t["name"], "left out") for t in tests if within(f"{t['folder']}/{t['program']}", options.without)]
    skipped += [(t["name"], t["skip"]) for t in tests if t["skip"]]
    gone = {name for name, _ in skipped}
    tests = [t for t in tests if t["name"] not in gone][:options.limit]
    programs = sorted({(t["folder"], t["program"]) for t in tests})
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        built = dict(zip(programs, pool.map(lambda p: builder.build(*p), programs)))
    unbuilt = [("/".join(p), why) for p, why in built.items() if why is not None]
    tests = [t for t in tests if built[t["folder"], t["program"]] is None]
    print(f"{len(programs)} programs, {len(programs) - len(unbuilt)} built; {len(tests)} tests", flush=True)
    return results(work, tests, builder, options, unbuilt, skipped)


def results(work, tests, builder, options, unbuilt, skipped):
    path, records = f"{work}/results.jsonl", {}
    if (options.resume or options.report) and os.path.exists(path):
        records = {r["name"]: r for r in map(json.loads, open(path))}
    runner = Runner(work, builder, options)
    done = {name: {r["order"] for r in record["runs"]} for name, record in records.items()}
    todo = [] if options.report else [t for t in tests if not set(options.orders) <= done.get(t["name"], set())]
    with open(path, "a" if records else "w") as log, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        started = [pool.submit(runner.ways, t, records.get(t["name"], {}).get("runs", [])) for t in todo]
        for at, future in enumerate(concurrent.futures.as_completed(started), 1):
            record = future.result()
            records[record["name"]] = record
            log.write(json.dumps(record) + "\n")
            log.flush()
            kinds = [r["result"] for r in record["runs"]]
            said = kinds[0] if len(set(kinds)) == 1 else " | ".join(kinds)
            wrong = [r["verify"] for r in record["runs"] if r["verify"] not in (None, "equal")]
            print(f"{at}/{len(todo)} {record['name']}: {said}" + (f" NOT VERIFIED {wrong[0][:200]}" if wrong else ""),
                  flush=True)
    names = {t["name"] for t in tests}
    return report(work, [r for r in records.values() if r["name"] in names], unbuilt, skipped)


if __name__ == "__main__":
    sys.exit(main())
