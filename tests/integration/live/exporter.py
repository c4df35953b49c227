"""exporter.py BUILD MPI DIRECTORY PART...: what mpit-exporter tells, against what the program has counted (reported.c)

The program stands still outside of MPI when figures are compared, so that these have to be equal. Where it runs
meanwhile, no counter may fall and no series may go.
"""
import bisect
import json
import math
import os
import pwd
import signal
import subprocess
import sys
import time

from exporterscene import DIRECTORY, EXPORTER, HERE, MPI, PATIENCE, RANKS, SHARE, Exporter, Job, Metrics
from exporterscene import Prometheus, ended, equal, failed, running, told, until
from exporterserver import part_peers, part_server
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import grafana
from livefiles import live_files


# ---- what a rank has counted -----------------------------------------------------------------------------------------

# The largest size of each bucket that is told (share/doc/exporter.md).
EDGES = [0, *[(1 << k) - 1 for k in range(4, 31, 2)], math.inf]


def cumulative(sizes, edges):
    """Buckets by their largest size, out of counts by power of two."""
    limits = [(1 << k) - 1 if k else 0 for k in range(len(sizes))]
    return {edge: sum(count for limit, count in zip(limits, sizes) if limit <= edge) for edge in edges}


def rank_figures(metrics, job, rank, **labels):
    """The same, as metrics."""
    def value(name, **more):
        return metrics.sum(name, job=job, rank=str(rank), **labels, **more)
    return {"sends": value("mpit_send_count_total"), "receives": value("mpit_recv_count_total"),
            "send_bytes": value("mpit_send_bytes_total"), "receive_bytes": value("mpit_recv_bytes_total"),
            "collectives": value("mpit_coll_count_total"),
            "reductions": value("mpit_coll_op_count_total", collective="MPI_Allreduce"),
            "copies": value("mpit_call_count_total", call="MPI_Comm_dup"),
            "isends": value("mpit_call_count_total", call="MPI_Isend")}


def sizes_of(metrics, job, rank):
    buckets = metrics.get("mpit_send_size_bytes_bucket", job=job, rank=str(rank))
    return {float(dict(labels)["le"]): value for labels, value in buckets.items()}


def compare(name, metrics, job, counts):
    """Each rank's figures with what it has counted."""
    for rank, count in enumerate(counts):
        plain = {key: value for key, value in count.items() if key != "sizes"}
        found = rank_figures(metrics, job, rank)
        sizes = sizes_of(metrics, job, rank)
        expected = cumulative(count["sizes"], EDGES)
        ends = [metrics.one(f"mpit_send_size_bytes_{end}", job=job, rank=str(rank)) for end in ("count", "sum")]
        if found != plain or sizes != expected or ends != [count["sends"], count["send_bytes"]]:
            return told(name, False, f"rank {rank}\n{found}\n{plain}\n{sizes}\n{expected}\n{ends}")
    return told(name, True)


def falls(before, after):
    """What was there and has gone, and counters that fell, of two glances."""
    return [(key, value, after.get(key)) for key, value in before.items() if key not in after or after[key] < value]


def quantile(share, buckets):
    """As Prometheus makes it of cumulative buckets: linear inside of one."""
    edges = sorted(buckets)
    rank = share * buckets[math.inf]
    at = bisect.bisect_left([buckets[edge] for edge in edges], rank)
    if edges[at] == math.inf:
        return edges[at - 1]
    if at == 0:
        return edges[0]
    low, below = edges[at - 1], buckets[edges[at - 1]]
    return low + (edges[at] - low) * (rank - below) / (buckets[edges[at]] - below)


def ask_prometheus(prometheus, job, counts):
    """Answers are those of the last scrape: it has to come."""
    def sum_of(name):
        return sum(count[name] for count in counts)
    for name, query in (("sends", "mpit_send_count_total"), ("send_bytes", "mpit_send_bytes_total"),
                        ("receives", "mpit_recv_count_total"), ("collectives", "mpit_coll_count_total"),
                        ("isends", 'mpit_call_count_total{call="MPI_Isend"}'), ("sends", "mpit_send_size_bytes_count")):
        name_of, brace, rest = query.partition("{")
        text = f'sum({name_of}{{job="{job}"{"," + rest if brace else "}"})'
        try:
            until(lambda: prometheus.value(text) == sum_of(name), text, 20)
        except TimeoutError:
            pass
        equal(f"Prometheus answers {query}", prometheus.value(text), sum_of(name))
    text = f'sum by (le) (mpit_send_size_bytes_bucket{{job="{job}"}})'
    sizes = [sum(column) for column in zip(*[count["sizes"] for count in counts])]
    expected = cumulative(sizes, EDGES)
    equal("Prometheus has the sizes", {float(labels["le"]): value for labels, value in prometheus.query(text)}, expected)
    for share in (0.1, 0.5, 0.95):
        found = prometheus.value(f"histogram_quantile({share}, {text})")
        told(f"quantile {share} of sizes", found is not None and math.isclose(found, quantile(share, expected)),
             f"{found} is not {quantile(share, expected)}")
    equal("each rank has its series", sorted(labels["rank"] for labels, _ in
          prometheus.query(f'mpit_send_count_total{{job="{job}"}}')), [str(rank) for rank in range(len(counts))])


def part_figures():
    """What is told is what was counted: by rank, by communicator, by job, through Prometheus."""
    job = Job("figures", RANKS)
    by_rank, by_job = Exporter(), Exporter("--by", "job")
    by_comm = Exporter("--by", "comm", "--communicators", "3")
    prometheus = Prometheus(by_rank.address)
    number = by_rank.job(job)
    by_comm.job(job), by_job.job(job)
    first = by_rank.glance()
    counts = job.do("traffic 3")
    metrics = by_rank.scrape()
    compare("by rank: figures are what the ranks have counted", metrics, number, counts)
    equal("nothing falls", falls(first, by_rank.glance()), [])
    info = [dict(labels) for labels in metrics.get("mpit_job_info", job=number)]
    equal("the job is told once", len(info), 1)
    told("with its MPI", ("Open MPI" if MPI == "openmpi" else "MPICH") in info[0]["mpi"], info)
    equal("how large it is", metrics.one("mpit_job_world_size", job=number), RANKS)
    equal("outside of MPI no call is under way", set(metrics.get("mpit_process_call_age_seconds", job=number).values()),
          {0})
    equal("threads are outside", metrics.sum("mpit_process_threads", job=number, activity="outside"), RANKS)
    equal("all live", metrics.sum("mpit_process_up", job=number), RANKS)
    # each round completes 18 messages at either of two places. A compiler may give the first of them places of its own
    passes = metrics.one("mpit_job_passes", job=number)
    told("passes of the loop", passes in (3 * 18, 3 * 17), passes)
    age = lambda: by_rank.scrape().one("mpit_job_pass_age_seconds", job=number)
    until(lambda: age() > 0.5, "the last pass gets older")
    ask_prometheus(prometheus, number, counts)

    comms = by_comm.scrape()
    compare_sums(comms, number, counts)
    copy = [dict(labels)["communicator"] for labels in comms.get("mpit_send_count_total", job=number, rank="0")]
    told("both communicators are told", "MPI_COMM_WORLD" in copy and "MPI_COMM_WORLD/dup#1" in copy, copy)
    rounds = 3 * 18
    equal("each with its own messages", comms.one("mpit_send_count_total", job=number, rank="1",
                                                  communicator="MPI_COMM_WORLD/dup#1"), rounds)
    equal("each with its own collectives", comms.one("mpit_coll_count_total", job=number, rank="1",
                                                     communicator="MPI_COMM_WORLD/dup#1"), 6)
    jobs = by_job.scrape()
    for metric, name in (("mpit_send_count_total", "sends"), ("mpit_recv_bytes_total", "receive_bytes")):
        equal(f"by job: {metric}", jobs.one(metric, job=number), sum(count[name] for count in counts))
    equal("by job there are no ranks", [key for key in jobs.samples if "rank" in dict(key[1])], [])

    names(job, number, by_comm)
    churn(job, number, by_rank, by_comm, by_job, prometheus)
    balance(job, number, by_rank, prometheus)
    hang(job, number, by_rank, prometheus)
    counts = job.do("traffic 1")
    compare("figures after all that", by_rank.scrape(), number, counts)
    documented(prometheus)
    status = job.end()
    equal("the program has ended well", status, 0)
    gone = until(lambda: ended_metrics(by_rank, number, RANKS), "the end is seen")
    last = {key: value for key, value in counts[0].items() if key not in ("sizes",)}
    equal("the last figures stay", rank_figures(gone, number, 0), last)
    jobs = by_job.scrape()
    equal("by job, too", jobs.one("mpit_send_count_total", job=number), sum(count["sends"] for count in counts))
    equal("it was no error", gone.get("mpit_process_info", job=number, phase="finalized").__len__(), RANKS)
    prometheus_rate(prometheus, number)
    for exporter in (by_rank, by_job, by_comm):
        equal("it ends when told", exporter.end()[0], 0)
    ended(prometheus.process)


def ended_metrics(exporter, number, ranks):
    metrics = exporter.scrape()
    up = metrics.get("mpit_process_up", job=number)
    return metrics if len(up) == ranks and not any(up.values()) else None


def prometheus_rate(prometheus, number):
    """The program has sent while Prometheus scraped: rates are there, and none is of a counter that began again."""
    text = f'sum(increase(mpit_send_count_total{{job="{number}"}}[5m]))'
    told("Prometheus computes an increase", (prometheus.value(text) or 0) > 0, prometheus.value(text))
    for name in ("send_count_total", "call_count_total", "work_time_seconds_total", "stall_time_seconds_total",
                 "small_count_total", "comm_time_seconds_total", "send_size_bytes_bucket", "recv_size_bytes_sum"):
        resets = prometheus.query(f'resets(mpit_{name}{{job="{number}"}}[5m])')
        told(f"mpit_{name} has never begun again", resets and not any(value for _, value in resets),
             [entry for entry in resets if entry[1]])
    record = prometheus.query(f'job_rank:mpit_mpi_time:rate1m{{job="{number}"}}')
    told("rules record", len(record) in (0, RANKS), record)
    up = prometheus.query(f'max_over_time(job:mpit_send_count:rate1m{{job="{number}"}}[5m])')
    told("a recorded rate is over 0", len(up) == 1 and up[0][1] > 0, up)


def documented(prometheus):
    """The queries that share/doc/exporter.md recommends: each is one, and most have an answer here."""
    with open(f"{HERE}/../../../share/doc/exporter.md") as file:
        table = file.read().split("| question | query |")[1].split("\n\n")[0]
    queries = [line.split("`")[1] for line in table.splitlines() if "`" in line]
    answers = {query: prometheus.query(query) for query in queries}
    silent = [query for query, answer in answers.items() if not answer]
    told("documented queries have answers", len(queries) >= 10 and len(silent) <= 2, silent)


def compare_sums(metrics, number, counts):
    """Communicators together are what the ranks have counted."""
    found = [{key: value for key, value in rank_figures(metrics, number, rank).items()} for rank in range(len(counts))]
    expected = [{key: value for key, value in count.items() if key != "sizes"} for count in counts]
    return equal("by communicator: the sums are what the ranks have counted", found, expected)


def churn(job, number, by_rank, by_comm, by_job, prometheus):
    """Communicators come and go, and their slots are used again, while everybody looks."""
    step = job.begin("churn 320")
    before = [exporter.glance() for exporter in (by_rank, by_comm, by_job)]
    looks, fallen = 0, []
    while looks < 3 or not all(os.path.exists(f"{job.directory}/done.{step}.{rank}") for rank in range(RANKS)):
        after = [exporter.glance() for exporter in (by_rank, by_comm, by_job)]
        for one, other in zip(before, after):
            fallen += falls(one, other)
        before = after
        looks += 1
        time.sleep(0.1)  # the program needs the processors, too
        assert job.process.poll() is None
    counts = job.done(step)
    equal(f"nothing falls and nothing goes while communicators do ({looks} looks)", fallen, [])
    compare("by rank after 320 communicators", by_rank.scrape(), number, counts)
    comms = by_comm.scrape()
    compare_sums(comms, number, counts)
    found = {dict(labels)["communicator"] for labels in comms.get("mpit_send_count_total", job=number, rank="2")}
    told("three of them are told, and the others", len(found) == 4 and "other" in found, found)
    equal("one keeps what it had", comms.one("mpit_send_count_total", job=number, rank="2",
                                             communicator="MPI_COMM_WORLD/dup#1"), 54)
    equal("by job after 320 communicators", by_job.scrape().one("mpit_send_count_total", job=number),
          sum(count["sends"] for count in counts))
    ask = f'sum(mpit_send_count_total{{job="{number}"}})'
    until(lambda: prometheus.value(ask) == sum(count["sends"] for count in counts), ask)


def names(job, number, by_comm):
    """What a program calls its communicators is anybody's bytes."""
    for name, shown in (('say "so" \\n'.encode(), 'say "so" \\n'), (b"two\nlines\r\x1b[31m", "two?lines??[31m"),
                        (b"\xff\xfe\xc3", "???"), ("größe ≤ 1".encode(), "größe ≤ 1"), (b'"} 1\nfake_metric 1', '"} 1?fake_metric 1')):
        job.do(f"name {name.hex()}")
        def found():
            labels = by_comm.scrape().get("mpit_communicator_info", job=number, rank="0",
                                          communicator="MPI_COMM_WORLD/dup#1")
            return [dict(entry)["label"] for entry in labels]
        try:
            until(lambda: found() == [shown], "", 10)
        except TimeoutError:
            pass
        equal(f"a communicator called {name}", found(), [shown])


def hang(job, number, by_rank, prometheus):
    """Ranks that wait for one that sends nothing."""
    step = job.begin("hang 2")
    def waits():
        metrics = by_rank.scrape()
        calls = metrics.get("mpit_process_call_info", job=number)
        return metrics if len(calls) == RANKS - 1 else None
    metrics = until(waits, "ranks that hang are seen")
    calls = [dict(labels) for labels in metrics.get("mpit_process_call_info", job=number)]
    waiting = [str(rank) for rank in range(RANKS) if rank != 2]
    equal("who hangs where", sorted((call["rank"], call["call"], call["communicator"]) for call in calls),
          [(rank, "MPI_Recv", "MPI_COMM_WORLD/dup#1") for rank in waiting])
    ages = {dict(labels)["rank"]: value for labels, value in
            metrics.get("mpit_process_call_age_seconds", job=number).items()}
    told("for how long", ages["2"] == 0 and all(1 <= ages[rank] < 2 * PATIENCE for rank in waiting), ages)
    equal("the job's longest is one of these", metrics.one("mpit_job_longest_call_seconds", job=number),
          max(ages.values()))
    before, ages_before = times(metrics, number), ages
    dashboard(prometheus, number)
    ages_of = lambda metrics: {dict(labels)["rank"]: value for labels, value in
                               metrics.get("mpit_process_call_age_seconds", job=number).items()}
    metrics = until(lambda: (lambda m: m if ages_of(m)["0"] > ages["0"] + 0.5 else None)(by_rank.scrape()), "the calls go on")
    ages, found = ages_of(metrics), in_mpi(before, times(metrics, number))
    told("a call under way is no useful time", all(abs(found[int(rank)] - (ages[rank] - ages_before[rank])) < 0.1 for rank in ages),
         f"{found}\n{ages_before}\n{ages}")
    open(f"{job.directory}/release", "w").close()
    job.done(step)
    calls = by_rank.scrape().get("mpit_process_call_info", job=number)
    equal("and then no longer", calls, {})


def times(metrics, number):
    """Run time and useful time of each rank."""
    return {int(dict(labels)["rank"]): (run, metrics.one("mpit_process_useful_seconds_total", job=number, rank=dict(labels)["rank"]))
            for labels, run in metrics.get("mpit_process_run_seconds_total", job=number).items()}


def in_mpi(before, after):
    """How long each rank was in MPI between two scrapes."""
    return {rank: after[rank][0] - before[rank][0] - (after[rank][1] - before[rank][1]) for rank in after}


def balance(job, number, by_rank, prometheus):
    """Run time without useful time is the time in MPI that the program has measured. Rules make efficiencies of it."""
    before = times(by_rank.scrape(), number)
    job.do("uneven 10")
    after = times(by_rank.scrape(), number)
    found = in_mpi(before, after)
    measured = {rank: float(open(f"{job.directory}/waited.{rank}").read()) for rank in range(RANKS)}
    told("useful time is the run time without the time in MPI", sorted(found) == list(range(RANKS)) and
         all(abs(found[rank] - measured[rank]) < 0.05 * measured[rank] + 0.02 for rank in found), f"{found}\n{measured}")
    told("the rank that comes last waits least", min(found, key=found.get) == RANKS - 1, found)
    ratio = (f'job:mpit_parallel_efficiency:ratio{{job="{number}"}} / ignoring (__name__) (job:mpit_load_balance:ratio{{job="{number}"}}'
             f' * ignoring (__name__) job:mpit_communication_efficiency:ratio{{job="{number}"}})')
    value = until(lambda: prometheus.value(ratio), ratio)
    told("Prometheus: efficiency is load balance times communication", math.isclose(value, 1, rel_tol=1e-9), value)


def dashboard(prometheus, number):
    """Every query of the Grafana dashboard has an answer for a job in which ranks hang."""
    with open(f"{SHARE}/../grafana/mpi-jobs.json") as file:
        board = json.load(file)
    names = {entry["name"]: entry for entry in board["templating"]["list"]}
    queries = [(panel["title"], target["expr"]) for panel in board["panels"] for target in panel["targets"]]
    silent = []
    for title, query in queries:
        text = query.replace("$job", number).replace("$hang", "1").replace("$__rate_interval", "1m")
        told(f"{title}: all variables of the query are known", "$" not in text, text)
        try:
            until(lambda: [value for _, value in prometheus.query(text) if not math.isnan(value)], title, 20)
        except TimeoutError:
            silent.append((title, text))
    equal(f"the {len(queries)} queries of the dashboard have answers", silent, [])
    told("it has variables for the data source, users, jobs and the age of a call",
         set(names) == {"datasource", "user", "scheduler_job", "job", "hang"}, names)
    user = pwd.getpwuid(os.getuid()).pw_name
    for name, value in (("user", user), ("scheduler_job", "4711"), ("job", number)):
        query, label = names[name]["definition"].removeprefix("label_values(").removesuffix(")").rsplit(", ", 1)
        query = query.replace("$user", user).replace("$scheduler_job", "4711")
        told(f"the list of {label} has this one", any(labels.get(label) == value for labels, _ in prometheus.query(query)), query)
    equal("its panels have places, numbers and descriptions of their own", grafana.faults(board), [])


def part_lives():
    """Jobs come, die and go; two at a time, one without files."""
    exporter = Exporter("--linger", "1")
    first = Job("first", 2)
    one = exporter.job(first)
    second = Job("second", 3, files=False)
    two = exporter.job(second)
    counts = [first.do("traffic 1"), second.do("traffic 2")]
    metrics = exporter.scrape()
    told("two jobs have two numbers", one != two, one)
    compare("of the first job", metrics, one, counts[0])
    compare("of the second job, which has no files", metrics, two, counts[1])
    second.begin("kill 1")
    second.process.wait(timeout=PATIENCE)
    gone = until(lambda: ended_metrics(exporter, two, 3), "the death is seen")
    expected = {key: value for key, value in counts[1][1].items() if key != "sizes"}
    equal("what the dead one had counted stays", rank_figures(gone, two, 1), expected)
    equal("it has not got to its end", len(gone.get("mpit_process_info", job=two, rank="1", phase="killed")), 1)
    until(lambda: not [key for key in exporter.scrape().samples if dict(key[1]).get("job") == two], "it goes, too")
    told("it goes after a while", True)
    counts = first.do("traffic 1")
    compare("the other job lives on", exporter.scrape(), one, counts)
    equal("the other ends well", first.end(), 0)
    until(lambda: exporter.scrape().job(first.program) is None, "the first goes, too")
    status, said = exporter.end(signal.SIGINT)
    equal("it ends when told with SIGINT", status, 0)


def part_limits():
    """A thousand communicators, and not as many series."""
    job = Job("limits", 2)
    job.do("traffic 1")
    counts = job.do("comms 1000")
    wide = Exporter("--by", "comm", "--communicators", "2000", "--max-series", "3000", job.run)
    narrow = Exporter("--by", "comm", "--communicators", "8", job.run)
    chosen = Exporter("--variables", "mpit_send*,!*bytes", "--all-sizes", job.run)
    small = Exporter("--max-series", "27", job.run)
    number = wide.job(job)
    metrics, before = wide.scrape(), wide.glance()
    told("no more series than wanted", 2500 < metrics.one("mpit_exporter_series") <= 3100,
         metrics.one("mpit_exporter_series"))
    told("how many are left out", metrics.one("mpit_exporter_series_left_out") > 1000,
         metrics.one("mpit_exporter_series_left_out"))
    job.do("traffic 1")
    equal("the same ones are told again", falls(before, wide.glance()), [])
    narrow.job(job)
    found = narrow.scrape()
    counts = job.do("traffic 1")
    found = narrow.scrape()
    compare_sums(found, number, counts)
    told("few communicators, few series", found.one("mpit_exporter_series") < 2000, found.one("mpit_exporter_series"))
    equal("nothing is left out", found.one("mpit_exporter_series_left_out"), 0)
    equal("and no variable", found.one("mpit_exporter_variables_left_out"), 0)
    chosen.job(job)
    found = chosen.scrape()
    names_found = {name for name, labels in found.samples if name.startswith("mpit_") and dict(labels).get("rank") == "0"
                   and not name.startswith("mpit_process_")}
    equal("variables that were asked for", names_found,
          {"mpit_send_count_total", *[f"mpit_send_size_bytes_{end}" for end in ("bucket", "count", "sum")]})
    every = [0, *[(1 << k) - 1 for k in range(1, 39)], math.inf]
    equal("all sizes", sizes_of(found, number, 0), cumulative(counts[0]["sizes"], every))
    small.job(job)
    found = small.scrape()
    equal("what is told of jobs and processes comes first", len(found.get("mpit_process_up")), 2)
    told("and variables have what is left", found.one("mpit_exporter_series_left_out") > 50)
    equal("the job is as it was", job.end(), 0)
    for exporter in (wide, narrow, chosen, small):
        exporter.end()


def part_rules():
    """Files that people start from; the text on standard output; files that are damaged."""
    checked = subprocess.run(["promtool", "check", "config", f"{SHARE}/prometheus.yml"], capture_output=True, text=True)
    told("prometheus.yml is sound", checked.returncode == 0, checked.stdout + checked.stderr)
    with open(f"{HERE}/exporterrules.yml") as file:
        text = file.read().replace("RULES", f"{SHARE}/rules.yml")
    with open(f"{DIRECTORY}/tests.yml", "w") as file:
        file.write(text)
    checked = subprocess.run(["promtool", "test", "rules", f"{DIRECTORY}/tests.yml"], capture_output=True, text=True)
    told("rules tell what they should", checked.returncode == 0, checked.stdout + checked.stderr)
    job = Job("once", 2)
    counts = job.do("traffic 1")
    for by in ("job", "rank", "comm"):
        once = subprocess.run([EXPORTER, "--once", "--by", by, job.run], capture_output=True, text=True, timeout=PATIENCE)
        checked = subprocess.run(["promtool", "check", "metrics"], input=once.stdout, capture_output=True, text=True)
        found = [line for line in (checked.stdout + checked.stderr).splitlines() if not line.endswith("_total no help text")]
        told(f"promtool reads the text by {by} as node_exporter does, and finds only counters without help",
             once.returncode == 0 and checked.returncode == 3 and not found, "\n".join([once.stderr, *found]))
    once = subprocess.run([EXPORTER, "--once", job.run], capture_output=True, text=True, timeout=PATIENCE)
    metrics = Metrics(once.stdout)
    compare("--once", metrics, metrics.job(job.program), counts)
    files = live_files(job.run)
    for number, size in enumerate((0, 100, 5000)):
        with open(files[0], "rb") as file, open(f"{DIRECTORY}/cut{number}.mpit", "wb") as cut:
            cut.write(file.read()[:size])
        once = subprocess.run([EXPORTER, "--once", f"{DIRECTORY}/cut{number}.mpit", files[1]], capture_output=True,
                              text=True, timeout=PATIENCE)
        told(f"a file that was cut off at {size} bytes is none of the others' trouble",
             once.returncode == 1 and 'rank="' in once.stdout and f"cut{number}.mpit" in once.stderr
             and "mpit_exporter_processes_unreadable 1" in once.stdout, once.stderr + once.stdout[-500:])
    nothing = subprocess.run([EXPORTER, "--once", f"{DIRECTORY}/nowhere"], capture_output=True, text=True, timeout=PATIENCE)
    told("nothing there is told", nothing.returncode == 1 and "nowhere" in nothing.stderr and "mpit_exporter_errors_total 1" in nothing.stdout,
         nothing.stderr + nothing.stdout[-300:])
    equal("the job is as it was", job.end(), 0)


PARTS = {"figures": part_figures, "lives": part_lives, "limits": part_limits, "server": part_server, "peers": part_peers, "rules": part_rules}


def main():
    try:
        for part in sys.argv[4:]:
            begin = time.monotonic()
            PARTS[part]()
            print(f"{part}: {time.monotonic() - begin:.1f} s", flush=True)
    finally:
        for process in running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    sys.exit(1 if failed else 0)


main()
