"""What exporter.py and exporterserver.py work with: checks, jobs of reported.c, mpit-exporter, what it answers, and Prometheus"""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families

BUILD, MPI, DIRECTORY = sys.argv[1:4]
HERE = os.path.dirname(os.path.abspath(__file__))
SHARE = os.path.join(HERE, "..", "..", "..", "share", "prometheus")
EXPORTER = f"{BUILD}/bin/mpit-exporter"
OPEN = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
PATIENCE = 60
RANKS = 4 if MPI == "openmpi" else 3  # MPICH's ranks do not let others run while they wait
running = []
failed = []  # names of checks


def told(name, holds, detail=""):
    print(f"{'ok' if holds else 'not ok'} {name}", flush=True)
    if not holds:
        failed.append(name)
        for line in str(detail).splitlines()[:20]:
            print(f"  {line[:300]}", flush=True)
    return holds


def equal(name, found, expected):
    return told(name, found == expected, f"found {found}\nexpected {expected}")


def until(condition, what, patience=PATIENCE, pause=0.2):
    """The first that is true of what `condition` returns."""
    end = time.monotonic() + patience
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not in {patience} s")
        time.sleep(pause)


def started(command, **options):
    process = subprocess.Popen(command, start_new_session=True, **options)
    running.append(process)
    return process


def ended(process, how=signal.SIGTERM):
    process.send_signal(how)
    return process.wait(timeout=PATIENCE)


class Job:
    """A run of reported.c; under mpit-run, or with the library alone, so that it has no files."""

    def __init__(self, name, ranks, files=True):
        self.name, self.ranks, self.step = name, ranks, 0
        self.directory = f"{DIRECTORY}/{name}"
        self.run = f"{self.directory}/run"
        os.mkdir(self.directory)
        self.program = f"{self.directory}/program-{name}"
        shutil.copy(f"{BUILD}/tests/reported-{MPI}", self.program)
        launch = [f"mpirun.{MPI}", "-n", str(ranks)]
        program = [self.program, self.directory]
        if files:
            command = [f"{BUILD}/bin/mpit-run", "--quiet", "--output", self.run, *launch, *program]
        else:
            command = [*launch, "env", f"LD_PRELOAD={BUILD}/lib/libmpit.so", *program]
        with open(f"{self.directory}/said", "w") as said:
            self.process = started(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                   env=dict(os.environ, PBS_JOBID="4711"))
        self.done(0)

    def done(self, step, ranks=None):
        """What the ranks have counted up to that step."""
        names = [f"{self.directory}/done.{step}.{rank}" for rank in (ranks or range(self.ranks))]
        def all_there():
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name} has ended: {open(f'{self.directory}/said').read()}")
            return all(os.path.exists(name) for name in names)
        until(all_there, f"step {step} of {self.name}", pause=0.02)
        return [json.load(open(name)) for name in names]

    def begin(self, text):
        self.step += 1
        name = f"{self.directory}/step.{self.step}"
        with open(f"{name}.new", "w") as file:
            file.write(f"{text}\n")
        os.rename(f"{name}.new", name)
        return self.step

    def do(self, text):
        return self.done(self.begin(text))

    def end(self):
        self.begin("end")
        return self.process.wait(timeout=PATIENCE)


class Metrics:
    """One answer: samples by name and labels."""

    def __init__(self, text):
        self.text = text
        self.samples = {}
        self.families = list(text_string_to_metric_families(text))
        for family in self.families:
            for sample in family.samples:
                key = (sample.name, tuple(sorted(sample.labels.items())))
                assert key not in self.samples, f"{key} stands twice"
                self.samples[key] = sample.value

    def get(self, name, **labels):
        wanted = set(labels.items())
        return {labels: value for (sample, labels), value in self.samples.items()
                if sample == name and wanted <= set(labels)}

    def one(self, name, **labels):
        found = list(self.get(name, **labels).values())
        return found[0] if len(found) == 1 else None

    def sum(self, name, **labels):
        return sum(self.get(name, **labels).values())

    def job(self, program):
        """The number of the job that runs that program."""
        found = [dict(labels) for labels in self.get("mpit_job_info") if dict(labels)["program"] == program]
        return found[0]["job"] if found else None


class Exporter:
    def __init__(self, *options, listen="127.0.0.1:0"):
        self.process = started([EXPORTER, "--listen", listen, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://"), self.process.stderr.read()
        self.address = urllib.parse.urlparse(self.url).netloc

    def ask(self, path="/metrics", method="GET", **headers):
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body.decode()

    def scrape(self):
        answer, body = self.ask(Accept=OPEN)
        assert answer.status == 200 and answer.headers["Content-Type"].startswith(
            "application/openmetrics-text; version=1.0.0"), (answer.status, answer.headers)
        return Metrics(body)

    def glance(self):
        """What only grows, by the text in front of its value: without the parser, which takes longer than the program."""
        lines = [line.rsplit(" ", 1) for line in self.ask()[1].splitlines() if not line.startswith("#")]
        return {key: float(value) for key, value in lines
                if key.split("{")[0].endswith(("_total", "_bucket", "_count", "_sum"))}

    def job(self, job):
        """Waits until it has found all processes of a job, which takes a second; the job's number."""
        def found():
            metrics = self.scrape()
            number = metrics.job(job.program)
            return number if number and metrics.one("mpit_job_processes", job=number) == job.ranks else None
        return until(found, f"{job.name} is found")

    def end(self, how=signal.SIGTERM):
        status = ended(self.process, how)
        return status, self.process.stderr.read()


# ---- Prometheus ------------------------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Prometheus:
    """The real one, with a configuration, a place for data and a port of its own."""

    def __init__(self, target):
        home = f"{DIRECTORY}/prometheus"
        os.mkdir(home)
        shutil.copy(f"{SHARE}/rules.yml", home)
        with open(f"{SHARE}/prometheus.yml") as file:
            text = file.read()
        for old, new in (("127.0.0.1:16748", target), ("scrape_interval: 15s", "scrape_interval: 1s"),
                         ("evaluation_interval: 15s", "evaluation_interval: 1s"),
                         ("scrape_timeout: 10s", "scrape_timeout: 1s")):
            assert old in text, f"prometheus.yml has no {old}"
            text = text.replace(old, new)
        with open(f"{home}/prometheus.yml", "w") as file:
            file.write(text)
        self.address = f"127.0.0.1:{free_port()}"
        with open(f"{home}/said", "w") as said:
            self.process = started(["prometheus", f"--config.file={home}/prometheus.yml",
                                    f"--storage.tsdb.path={home}/data", f"--web.listen-address={self.address}"],
                                   stdout=said, stderr=said)
        until(self.is_ready, "Prometheus is ready", pause=0.05)

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def query(self, text):
        words = urllib.parse.urlencode({"query": text})
        with urllib.request.urlopen(f"http://{self.address}/api/v1/query?{words}", timeout=PATIENCE) as answer:
            document = json.load(answer)
        assert document["status"] == "success", document
        return [(entry["metric"], float(entry["value"][1])) for entry in document["data"]["result"]]

    def value(self, text):
        found = self.query(text)
        return found[0][1] if len(found) == 1 else None
