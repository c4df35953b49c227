"""What Chromium makes of a page of mpit-dump --html: its elements, and the numbers in them as a person reads them."""
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
         "PiB": 2**50, "EiB": 2**60, "%": 0.01}
VOID = {"meta", "link", "br", "img", "input", "hr"}


# ---- the drawn page --------------------------------------------------------------------------------------------------

class Element:
    def __init__(self, tag, attributes):
        self.tag, self.attributes, self.children = tag, dict(attributes), []

    def walk(self):
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def text(self):
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)

    def having(self, name, value=None):
        return [one for one in self.walk() if name in one.attributes and value in (None, one.attributes[name])]

    def tagged(self, tag):
        return [one for one in self.walk() if one.tag == tag]


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        element = Element(tag, attrs)
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].children.append(Element(tag, attrs))

    def handle_endtag(self, tag):
        while len(self.open) > 1 and self.open.pop().tag != tag:
            pass

    def handle_data(self, data):
        self.open[-1].children.append(data)


def drawn(page, query=""):
    """What Chromium makes of it: the elements, and what it had to say."""
    with tempfile.TemporaryDirectory() as profile:
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
                   "--disable-background-networking", "--disable-component-update", "--no-first-run",
                   "--enable-logging=stderr", "--user-data-dir=" + profile, "--window-size=1200,900",
                   "--virtual-time-budget=20000", "--dump-dom", pathlib.Path(page).resolve().as_uri() + query]
        done = subprocess.run(command, capture_output=True, timeout=120, env={**os.environ, "HOME": profile}, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    console = [line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
    reader = Reader()
    reader.feed(done.stdout.decode())
    return reader.root, console


# ---- numbers ---------------------------------------------------------------------------------------------------------

def number_told(element):
    """The number of an element, whose text is what a person reads: both have to say the same."""
    kind, value = element.attributes["data-kind"], element.attributes.get("data-value")
    text = next((child for child in element.children if isinstance(child, str)), "").strip()
    if value is None:
        assert text == "–", (kind, text)
        return None
    value = float(value)
    if value == float("inf"):
        assert text == "new", (kind, text)
        return value
    match = re.fullmatch(r"([+-]?[0-9][0-9,]*(?:\.[0-9]+)?)(?: (\S+))?", text)
    assert match, (kind, value, text)
    read = float(match[1].replace(",", "")) * UNITS[match[2]] if match[2] else float(match[1].replace(",", ""))
    exact = value * 1e9 if kind == "s" else value
    slack = {"count": 0.5, "rank": 0, "ratio": 0.0051, "share": 0.00051, "change": 0.00051}.get(kind, max(0.0051 * abs(exact), 0.51))
    assert abs(read - exact) <= slack, f"{kind}: {value!r} is shown as {text!r}"
    assert kind in ("count", "rank", "ratio") or match[2], (kind, text)
    return value


def table_of(root, name):
    """Rows of a table: numbers by their key, texts in their order."""
    tables = root.having("data-table", name)
    assert len(tables) == 1, f"{len(tables)} tables {name}"
    rows = []
    for line in tables[0].tagged("tbody")[0].tagged("tr"):
        row = {"texts": []}
        for cell in line.tagged("td"):
            if "data-kind" in cell.attributes:
                row[cell.attributes["data-key"]] = number_told(cell)
            elif "data-value" in cell.attributes:
                row["texts"].append(cell.attributes["data-value"])
        rows.append(row)
    return rows


def near(a, b, part=1e-9, least=1e-6):
    return a is not None and (a == b or abs(a - b) <= max(least, part * abs(b)))


def same(what, shown, expected, part=1e-9):
    if shown is None or expected is None:
        assert shown is None and expected is None, f"{what}: shown {shown}, expected {expected}"
        return
    assert near(shown, expected, part), f"{what}: shown {shown!r}, expected {expected!r}"


def descending(what, values):
    assert all(a >= b for a, b in zip(values, values[1:])), f"{what} are not in the order of what matters"
