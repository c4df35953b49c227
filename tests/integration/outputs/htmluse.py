#!/usr/bin/python3
"""Uses a page of mpit-dump --html as a person would: keys, pointer, choices, a narrow window; by Chromium's debugging pipe.

    htmluse.py DUMP RUN PAGE        RUN is traced and has 4 ranks or more, of which not all send to all

What is told then is held against mpit-dump --analyze --json; the browser reports each request and each error.
"""
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE_S = 60
HAS_SIZES = "Boolean(document.querySelector('[data-plot=sizes]'))" # messages have several
KEYS = {"ArrowRight": 39, "ArrowDown": 40, "Escape": 27, "Tab": 9, "+": 187, "-": 189}


class Browser:
    """One tab. Events of interest are kept: requests, and whatever went wrong."""

    def __init__(self, profile):
        there, self.write = os.pipe()
        self.read, back = os.pipe()
        line = f'exec "$0" "$@" 3<&{there} 4>&{back}'
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
                 "--disable-background-networking", "--no-first-run", "--user-data-dir=" + profile, "--remote-debugging-pipe",
                 "--window-size=1200,900", "about:blank"]
        self.process = subprocess.Popen(["bash", "-c", line, BROWSER, *flags], pass_fds=(there, back), env={**os.environ, "HOME": profile},
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there)
        os.close(back)
        self.rest, self.number, self.session = b"", 0, None
        self.requests, self.errors, self.loaded = [], [], False
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(domain + ".enable")

    def message(self):
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self.rest:
            ready = select.select([self.read], [], [], max(0, end - time.monotonic()))[0]
            got = os.read(self.read, 1 << 20) if ready else b""
            assert got, "the browser is silent"
            self.rest += got
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def event_take(self, event):
        method, told = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
            self.errors.append(told)
        elif method == "Page.loadEventFired":
            self.loaded = True

    def ask(self, method, **told):
        self.number += 1
        asked = {"id": self.number, "method": method, "params": told}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.write, json.dumps(asked).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.event_take(answer)

    def open(self, url):
        self.ask("Page.navigate", url=url)
        while not self.loaded:
            self.event_take(self.message())

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, (expression, result["exceptionDetails"])
        return result["result"].get("value")

    def key(self, name, text=None):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=KEYS[name], **({"text": text} if text and kind == "keyDown" else {}))

    def point(self, x, y):
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        self.point(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=PATIENCE_S)


def tip(browser):
    return browser.value('document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent')


def pairs_of(dump, run):
    said = subprocess.run([dump, "--analyze", "--json", run], capture_output=True, check=True, timeout=120).stdout
    pairs = {}
    for entry in json.loads(said)["jobs"][0]["matrix"]:
        pair = pairs.setdefault((entry["from"], entry["to"]), [0, 0])
        pair[0] += entry["messages"]
        pair[1] += entry["bytes"]
    return pairs


def pair_expected(pairs, pair):
    if pair not in pairs:
        return "nothing"
    messages, size = pairs[pair]
    return rf"{messages:,} messages?\n.*\({size:,} B\)|{messages:,} messages?\n{size} B"


def matrix_use(browser, pairs):
    plot = "document.querySelector('[data-plot=matrix] canvas')"
    browser.value(plot + ".focus()")
    browser.key("ArrowRight")
    for step in range(4):
        pair = (step // 2, (step + 1) // 2)
        said = tip(browser)
        assert re.fullmatch(rf"rank {pair[0]} to rank {pair[1]}\n(?:{pair_expected(pairs, pair)})", said), (pair, said)
        browser.key("ArrowDown" if step % 2 else "ArrowRight")
    # what is painted: a pair with messages has a colour, one without has none
    painted = browser.value("""(() => {
        const canvas = %s, scale = devicePixelRatio, side = (parseFloat(canvas.style.width) - 50) / page.jobs[0].matrix.ranks;
        const all = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height), list = [];
        for (let from = 0; from < 4; from++)
            for (let to = 0; to < 4; to++) {
                const at = 4 * (Math.floor((26 + (from + .5) * side) * scale) * all.width + Math.floor((44 + (to + .5) * side) * scale));
                list.push([from, to, [...all.data.slice(at, at + 4)].join()]);
            }
        return list;
    })()""" % plot)
    none = {colour for one, other, colour in painted if (one, other) not in pairs}
    some = {colour for one, other, colour in painted if (one, other) in pairs}
    if browser.value("page.jobs[0].matrix.ranks") <= 64: # else a place is less than a pixel, and its neighbours' too
        assert len(none) == 1 and some and not none & some, painted


def timeline_use(browser):
    plot = "document.querySelector('[data-plot=timeline] canvas')"
    browser.value(plot + ".scrollIntoView({block: 'center'})")
    box = browser.value(f"(() => {{ const box = {plot}.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; }})()")
    browser.point(box[0] + box[2] * .6, box[1] + 16)
    assert re.match(r"rank [0-9]+, .* – .*\n", tip(browser)), tip(browser)
    browser.value(plot + ".focus()")
    whole = "[...document.querySelectorAll('[data-figure=timeline] button')].find((button) => button.textContent === 'Whole run').hidden"
    assert browser.value(whole)
    browser.key("+", "+")
    assert not browser.value(whole)
    browser.key("ArrowRight")
    assert re.match("rank 0, |MPI_[A-Za-z_]+ on rank 0\n", tip(browser)), tip(browser)
    timeline_call_use(browser, plot)
    browser.value(plot + ".focus()")
    browser.key("Escape")
    assert browser.value(whole)
    assert browser.value(plot + ".dataset.arrows") == "0", "messages are drawn before one zooms in"


def timeline_call_use(browser, plot):
    """A click on the longest call of rank 0 between start and end shows it with its callers; messages are lines."""
    call = browser.value("""(() => {
        const calls = page.jobs[0].timeline.calls, of = calls.list.filter((call) => call[0] === 0 && calls.functions[call[5]].class !== 'process');
        const call = of.reduce((a, b) => b[3] > a[3] ? b : a), site = call[6] === null ? null : calls.callsites[call[6]];
        return {begin: call[2], ns: call[3], name: calls.functions[call[5]].name, frames: site ? site.path.map((frame) => frame.function) : []};
    })()""")
    where = (f"(() => {{ const box = {plot}.getBoundingClientRect(), from = Number({plot}.dataset.from), to = Number({plot}.dataset.to);"
             f"return [box.left + 52 + (box.width - 60) * ({call['begin'] + call['ns'] / 2} - from) / (to - from), box.top + 17]; }})()")
    browser.value(plot + ".focus()")
    browser.key("Escape")
    browser.click(*browser.value(where))
    for _ in range(4): # at the mark of the click
        browser.key("+", "+")
    browser.click(*browser.value(where))
    shown = browser.value("(() => { const shown = document.querySelector('[data-call]'); return shown && [shown.dataset.call, "
                          "Number(shown.querySelector('[data-call-time]').dataset.value), [...shown.querySelectorAll('li')].map((item) => item.textContent)]; })()")
    if browser.value("page.jobs[0].timeline.ranks") > 64: # a row is a pixel
        call = {"name": shown[0], "ns": shown[1], "frames": shown[2]}
    assert shown and shown[0] == call["name"] and shown[1] == call["ns"], (shown, call)
    for frame, text in zip(call["frames"], shown[2], strict=True):
        assert frame is None or frame in text, (call, shown)
    arrows = 0
    for _ in range(3): # until a message is in the window, which is still a part of the run
        if arrows == 0:
            browser.key("-", "-")
            arrows = int(browser.value(plot + ".dataset.arrows"))
    assert 0 < arrows <= 400, arrows
    assert "Lines are messages" in browser.value("document.querySelector('[data-sentence=timeline]').textContent")


def choices_use(browser):
    functions = browser.value("page.jobs[0].ranks.functions.map((one) => [one.name, one.max_rank])")
    choose = "(() => { const select = document.querySelector('[data-figure=ranks] select'); select.value = %s; select.dispatchEvent(new Event('change')); return document.querySelector('[data-sentence=ranks]').textContent; })()"
    for name, rank in functions:
        sentence = browser.value(choose % json.dumps(name))
        assert sentence.startswith(name + ": mean") and f" on rank {rank}, least" in sentence, sentence
    comms = browser.value("page.summary.jobs[0].communicators.map((comm, i) => [i, comm.send_sizes.length + comm.recv_sizes.length])")
    used = [i for i, sizes in comms if sizes]
    if len(used) > 1:
        for i in used:
            said = browser.value("(() => { const select = document.querySelector('[data-figure=sizes] select'); select.value = '%d'; select.dispatchEvent(new Event('change'));"
                                 "return [...document.querySelectorAll('[data-table=sizes] [data-key=sent_count]')].reduce((sum, cell) => sum + Number(cell.dataset.value), 0); })()" % i)
            assert said == browser.value(f"page.summary.jobs[0].communicators[{i}].send_count"), (i, said)
    choices = [("matrix", ("messages", "bytes")), ("timeline", ("mpi", "stall", "states"))]
    if browser.value(HAS_SIZES):
        choices.append(("sizes", ("bytes", "count")))
    for figure, words in choices:
        for word in words:
            pressed = browser.value(f"(() => {{ const button = document.querySelector('[data-figure={figure}] [data-choice={word}]'); button.click(); return button.getAttribute('aria-pressed'); }})()")
            assert pressed == "true", (figure, word)


def tab_use(browser):
    """Everything that can be used comes in turn."""
    browser.value("document.querySelector('nav a').focus()")
    met = []
    for _ in range(600):
        browser.key("Tab")
        at = browser.value("(() => { const at = document.activeElement, figure = at.closest('[data-figure]'); return at === document.body ? '' : at.tagName.toLowerCase() + ' ' + (figure ? figure.dataset.figure : at.id); })()")
        if not at: # behind the last
            break
        met.append(at)
    wanted = {"button theme", "select ranks", "canvas timeline", "canvas matrix", "button matrix", "summary ranks"}
    if browser.value("Boolean(document.querySelector('details.place'))"): # with callers
        wanted.add("summary callsites")
    if browser.value(HAS_SIZES):
        wanted.add("rect sizes")
    if browser.value("page.jobs[0].ranks.ranks") <= 64: # more have their numbers in the table alone
        wanted.add("rect ranks")
    missing = wanted - set(met)
    assert not missing, (missing, met)


def flame_use(browser, plot, figure):
    """A click on a function shows only its callers and callees; "All" shows all again."""
    box = f"document.querySelector('[data-plot={plot}]')"
    chosen = box + ".dataset.chosen"
    if not browser.value(f"Boolean({box})"):
        return
    assert browser.value(chosen) == "all"
    browser.value(box + ".scrollIntoView({block: 'center'})")
    x, y, name = browser.value("""(() => {
        const boxes = [...%s.querySelectorAll('[data-flame]')], widest = boxes.filter((box) => Number(box.getAttribute('y')) >= 38)
            .reduce((a, b) => Number(b.getAttribute('width')) > Number(a.getAttribute('width')) ? b : a), at = widest.getBoundingClientRect();
        return [at.left + at.width / 2, at.top + at.height / 2, widest.dataset.flame];
    })()""" % box)
    browser.click(x, y)
    assert browser.value(chosen) == name, (browser.value(chosen), name)
    assert browser.value("(() => { const all = %s, at = all.querySelector('[data-flame=\"' + %s + '\"]'); return at.getAttribute('width') === all.querySelector('[data-flame]').getAttribute('width'); })()" % (box, chosen))
    browser.value(f"[...document.querySelectorAll('[data-figure={figure}] button')].find((button) => button.textContent === 'All').click()")
    assert browser.value(chosen) == "all"


def icicle_check(browser):
    """The boxes of the MPI functions add up to the time of the call sites in the run."""
    shown, told = browser.value("""(() => {
        const sites = page.summary.jobs[0].callsites.filter((site) => site.path && site.time_ns && !/MPI_(Init|Finalize)/.test(site.mpi));
        const box = document.querySelector('[data-plot=icicle] [data-flame=all]');
        return [box ? Number(box.dataset.ns) : 0, sites.reduce((sum, site) => sum + site.time_ns, 0)];
    })()""")
    assert shown == told, (shown, told)


def show_use(browser):
    """"Show" beside a finding zooms the timeline to a call that the finding is about."""
    button = "document.querySelector('[data-show]')"
    if not browser.value(f"Boolean({button})"):
        return
    plot = "document.querySelector('[data-plot=timeline] canvas').dataset"
    whole = browser.value(f"Number({plot}.to) - Number({plot}.from)")
    browser.value(button + ".click()")
    assert browser.value(f"Number({plot}.to) - Number({plot}.from)") < whole
    assert browser.value("Boolean(document.querySelector('[data-call]'))")
    browser.value("document.querySelector('[data-plot=timeline] canvas').focus()")
    browser.key("Escape")


def shape_use(browser):
    theme = "document.documentElement.dataset.theme"
    before = browser.value(theme)
    browser.value("document.getElementById('theme').click()")
    assert {before, browser.value(theme)} == {"light", "dark"}
    browser.value("dispatchEvent(new Event('beforeprint'))")
    assert browser.value(theme) == "light"
    browser.value("dispatchEvent(new Event('afterprint'))")
    browser.value("document.getElementById('theme').click()")
    assert browser.value(theme) == before
    for width in (1200, 700, 380):
        browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        browser.ask("Runtime.evaluate", expression="new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))", awaitPromise=True)
        over = browser.value("document.documentElement.scrollWidth")
        assert over <= width, f"in a window of {width} the page is {over} wide"


def main():
    dump, run, page = sys.argv[1:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            url = pathlib.Path(page).resolve().as_uri()
            browser.open(url)
            assert browser.value("document.documentElement.dataset.drawn") == "yes"
            matrix_use(browser, pairs_of(dump, run))
            timeline_use(browser)
            choices_use(browser)
            flame_use(browser, "flame", "samples")
            flame_use(browser, "icicle", "callsites")
            icicle_check(browser)
            show_use(browser)
            tab_use(browser)
            shape_use(browser)
            assert browser.requests == [url], browser.requests
            assert browser.value("document.documentElement.dataset.errors") == "[]" and not browser.errors, browser.errors
        finally:
            browser.close()


if __name__ == "__main__":
    main()
