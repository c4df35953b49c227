"""The parts of exporter.py on HTTP: requests that are wrong, clients that are slow, and who may ask"""
import concurrent.futures
import os
import socket
import subprocess
import time

from exporterscene import DIRECTORY, EXPORTER, OPEN, PATIENCE, Exporter, ended, equal, started, told


def talk(address, data, half=False):
    """Bytes to the server, and what it says until it closes; "" if nothing."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as one:
        try:
            one.sendall(data)
            one.shutdown(socket.SHUT_WR)
            said = b""
            while not half and len(said) < 1 << 20:
                some = one.recv(65536)
                if not some:
                    break
                said += some
            return said.decode(errors="replace")
        except OSError:
            return ""


def part_server():
    """HTTP: what is asked badly is answered well, or not at all, and the next one is served."""
    exporter = Exporter()
    for accept in ({}, {"Accept": "text/plain;version=0.0.4"}, {"Accept": "application/openmetrics-text;version=0.0.1"}):
        answer, body = exporter.ask(**accept)
        equal(f"with {accept} it is OpenMetrics", answer.headers["Content-Type"],
              "application/openmetrics-text; version=1.0.0; charset=utf-8")
        told("it has an end mark", body.endswith("# EOF\n") and "# TYPE mpit_exporter_scrapes counter" in body, body)
    answer, body = exporter.ask("/")
    told("the front page has a link", answer.status == 200 and '<a href="/metrics">' in body, body)
    for path in ("/metric", "/metrics/", "/../etc/passwd", "//metrics", "/%2e%2e/metrics", "/" + 2000 * "a"):
        equal(f"{path[:20]} is not there", exporter.ask(path)[0].status, 404)
    equal("a question behind the path is nothing", exporter.ask("/metrics?x=1")[0].status, 200)
    answer, body = exporter.ask(method="HEAD", Accept=OPEN)
    told("HEAD has no body", answer.status == 200 and not body and int(answer.headers["Content-Length"]) > 500)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "BREW"):
        answer, _ = exporter.ask(method=method)
        equal(f"{method} is refused", (answer.status, answer.headers["Allow"]), (405, "GET, HEAD"))
    bad = (b"", b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", 100000 * b"a", b"GET /metrics HTTP/9.9\r\n\r\n",
                 b"GET /metrics HTTP/1.1\r\n" + 4000 * b"X: yyyyyyyyyyyyyyyyyyyyyyyy\r\n" + b"\r\n",
                 b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
                 b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
    with concurrent.futures.ThreadPoolExecutor(len(bad)) as talkers:  # the server waits for some of them
        answers = list(talkers.map(lambda data: talk(exporter.address, data), bad))
    for data, said in zip(bad, answers):
        status = said.split(" ")[1][:3] if said.startswith("HTTP/") else ""
        told(f"bad request {data[:24]}", not status.startswith("2"), said[:200])
    told("HTTP/1.0", "mpit_exporter_info" in talk(exporter.address, b"GET /metrics HTTP/1.0\r\n\r\n"))
    told("a body that nobody wants", " 200 " in talk(
        exporter.address, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"))
    for _ in range(20):
        talk(exporter.address, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", half=True)  # and does not read
    host, port = exporter.address.rsplit(":", 1)
    idle = [socket.create_connection((host, int(port))) for _ in range(100)]
    for one in idle:
        one.close()
    before = exporter.scrape().one("mpit_exporter_scrapes_total")
    equal("then it goes on", exporter.scrape().one("mpit_exporter_scrapes_total"), before + 1)
    second = subprocess.run([EXPORTER, "--listen", exporter.address], capture_output=True, text=True, timeout=PATIENCE)
    told("a port that is taken", second.returncode == 1 and "Address already in use" in second.stderr, second.stderr)
    status, said = exporter.end()
    equal("nothing is left to say", (status, "\n".join(line for line in said.splitlines() if "damaged" not in line)), (0, ""))
    for listen in ("nonsense", "1.2.3.4:99999", "::1:80", ""):
        wrong = subprocess.run([EXPORTER, "--listen", listen], capture_output=True, text=True, timeout=PATIENCE)
        equal(f"--listen '{listen}' is no address", wrong.returncode, 2)
    wrong = subprocess.run([EXPORTER, "--listen", "192.0.2.1:0"], capture_output=True, text=True, timeout=PATIENCE)
    told("an address of another host", wrong.returncode == 1 and "cannot listen on 192.0.2.1:0" in wrong.stderr, wrong.stderr)
    for options in (["--by", "node"], ["--max-series", "-1"], ["--max-series", "x"], ["--once", "--listen", "1"],
                    ["--linger"], ["--what"]):
        wrong = subprocess.run([EXPORTER, *options], capture_output=True, text=True, timeout=PATIENCE)
        equal(f"{' '.join(options)} is refused", wrong.returncode, 2)
    if os.path.exists("/proc/net/if_inet6") and "00000000000000000000000000000001" in open("/proc/net/if_inet6").read():
        six = Exporter(listen="[::1]:0")
        told("IPv6", six.url.startswith("http://[::1]:") and six.ask()[0].status == 200, six.url)
        equal("loopback needs no warning", "password" in six.end()[1], False)
    wide = Exporter(listen="0.0.0.0:0")
    told("who listens to all is warned", "without a password" in wide.end()[1])
    shown = subprocess.run([EXPORTER, "--help"], capture_output=True, text=True).stdout
    told("--help fits a screen", len(shown.splitlines()) <= 24 and max(map(len, shown.splitlines())) <= 120, shown)


def asked(answer):
    """The status, of an answer as text."""
    return answer.split(" ")[1][:3] if answer.startswith("HTTP/") else ""


def part_peers():
    """Whoever may connect: names that are not the node's, tokens, Unix sockets, and clients that hold connections."""
    exporter = Exporter("--host", "watched.example.org")
    for host, status in (("localhost", 200), ("LOCALHOST:1", 200), ("127.0.0.1:16748", 200), ("[::1]:16748", 200), ("10.1.2.3", 200),
                         ("watched.example.org.:80", 200), ("evil.example.com", 403), ("127.0.0.1.evil.example.com", 403),
                         ("[evil.example.com]", 403), ("localhost.evil.example.com", 403), (":80", 403), ("[", 403)):
        equal(f"Host: {host}", exporter.ask(Host=host)[0].status, status)
    told("no figures go to the others", "mpit_" not in exporter.ask(Host="evil.example.com")[1])
    # what one user can do: many connections, each of which says a little now and then
    host, port = exporter.address.rsplit(":", 1)
    began = time.monotonic()
    slow = [socket.create_connection((host, int(port))) for _ in range(120)]
    for one in slow:
        try:
            one.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n")
        except OSError:
            pass
    answered, longest, oldest = 0, 0, slow[-1]
    while time.monotonic() - began < 24:
        for one in slow:
            try:
                one.sendall(b"X-a: b\r\n")
            except OSError:
                pass
        begin = time.monotonic()
        answered += exporter.ask()[0].status == 200
        longest = max(longest, time.monotonic() - begin)
        time.sleep(1)
    told(f"scrapes beside 120 slow clients: {answered} answers, the longest after {longest:.2f} s", answered >= 10 and longest < 5)
    oldest.settimeout(1)
    try:
        ends = oldest.recv(10) == b""
    except ConnectionError:
        ends = True
    except TimeoutError:
        ends = False
    told("a request that does not come to its end in 20 s is ended", ends)
    for one in slow:
        one.close()
    exporter.end()
    path = f"{DIRECTORY}/socket"
    with open(f"{DIRECTORY}/token", "w") as file:
        file.write("a secret of 3 words\n")
    local = started([EXPORTER, "--listen", f"unix:{path}", "--token-file", f"{DIRECTORY}/token"], stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True)
    equal("a Unix socket is named", local.stdout.readline().strip(), f"unix:{path}")
    equal("nobody else may use it", os.stat(path).st_mode & 0o022, 0)

    def local_ask(*headers):
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(PATIENCE)
            one.connect(path)
            one.sendall("\r\n".join(["GET /metrics HTTP/1.1", "Host: any.example.com", *headers, "", ""]).encode())
            said = b""
            while some := one.recv(65536):
                said += some
            return said.decode()
    for headers, status in (((), "401"), (("Authorization: Bearer a secret of 3 words",), "200"), (("Authorization: Bearer a secret",), "401"),
                            (("Authorization: Bearer a secret of 3 wordsa",), "401"), (("Authorization: Basic YTpi",), "401"),
                            (("Authorization: Bearer ",), "401"), (("Authorization: bearer a secret of 3 words",), "200")):
        equal(f"with {headers}", asked(local_ask(*headers)), status)
    told("the refusal tells how", "WWW-Authenticate: Bearer" in local_ask())
    second = subprocess.run([EXPORTER, "--listen", f"unix:{path}"], capture_output=True, text=True, timeout=PATIENCE)
    told("a socket that is served is not taken", second.returncode == 1 and "Address already in use" in second.stderr, second.stderr)
    equal("it ends", ended(local), 0)
    told("the socket is gone", not os.path.exists(path))
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
    again = started([EXPORTER, "--listen", f"unix:{path}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    equal("one that was left behind is replaced", again.stdout.readline().strip(), f"unix:{path}")
    equal("without a token it answers", asked(local_ask()), "200")
    equal("it ends", ended(again), 0)
    with open(f"{DIRECTORY}/token", "w") as file:
        file.write("\n")
    for wrong in ("/nowhere", f"{DIRECTORY}/token"):
        refused = subprocess.run([EXPORTER, "--listen", "0", "--token-file", wrong], capture_output=True, text=True, timeout=PATIENCE)
        told(f"no token in {wrong}", refused.returncode == 1 and "token" in refused.stderr, refused.stderr)
    wide = Exporter("--token-file", "/proc/sys/kernel/hostname", listen="0.0.0.0:0")
    for host, status in ((socket.gethostname(), 401), ("evil.example.com", 403)):
        equal(f"all addresses, Host: {host}", wide.ask(Host=host)[0].status, status)
    told("with a token nobody is warned", "password" not in wide.end()[1])
