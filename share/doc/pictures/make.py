"""Makes the pictures of the README, and prints its summary: the page of mpit-dump --html, and a screen of mpit-top, all of the
demo's program with its fault.

usage: make.py BUILD [MPI]        writes beside itself; needs chromium, python3-pyte, a C compiler for that MPI (openmpi)
"""
import fcntl
import html
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pyte

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
ROWS, COLUMNS, SECONDS = 12, 120, 6
PAGE = (1280, 1500)
CELL = (8.4, 18)  # of a character of 14 pixels, in pixels
COLORS = {"default": "#d4d4d4", "black": "#1e1e1e", "red": "#f48771", "green": "#89d185", "brown": "#dcdcaa", "yellow": "#dcdcaa",
          "blue": "#75beff", "magenta": "#c586c0", "cyan": "#4ec9b0", "white": "#e5e5e5"}
BACK = "#1e1e1e"
NO_BREAK = "\u00a0"  # blanks in a row stay


def color(name, bright):
    if len(name) == 6 and name not in COLORS:
        return "#" + name
    return "#ffffff" if bright and name in ("default", "white") else COLORS.get(name.replace("bright", ""), COLORS["default"])


def runs(line):
    """Neighbouring cells that look alike: column, text, cell."""
    begin, text, like = 0, "", None
    for column in range(COLUMNS):
        cell = line[column]
        look = (cell.fg, cell.bg, cell.bold, cell.reverse)
        if look != like and text:
            yield begin, text, like
            begin, text = column, ""
        like = look
        text += cell.data
    yield begin, text, like


def svg(screen):
    width, height = COLUMNS * CELL[0] + 24, ROWS * CELL[1] + 24
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" role="img" '
           'aria-label="a screen of mpit-top">',
           f'<rect width="100%" height="100%" rx="6" fill="{BACK}"/>',
           '<g font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">']
    for row in range(ROWS):
        for column, text, (fore, back, bold, reverse) in runs(screen.buffer[row]):
            front, behind = color(fore, bold), BACK if back == "default" else color(back, False)
            if reverse:
                front, behind = behind, front
            x, y = 12 + column * CELL[0], 12 + row * CELL[1]
            if behind != BACK:
                out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{len(text) * CELL[0]:.1f}" height="{CELL[1]}" fill="{behind}"/>')
            if text.strip():
                out.append(f'<text x="{x:.1f}" y="{y + 14:.1f}" fill="{front}" textLength="{len(text) * CELL[0]:.1f}"'
                           + (' font-weight="bold"' if bold else "") + f'>{html.escape(text).replace(" ", NO_BREAK)}</text>')
    return "\n".join(out + ["</g>", "</svg>", ""])


def screen_of(command, environment):
    """What the command shows on a terminal after some seconds."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], command, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    os.kill(pid, signal.SIGWINCH)
    end = time.monotonic() + SECONDS
    while (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            try:
                stream.feed(os.read(terminal, 65536))
            except OSError:
                break
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
    return screen


def main():
    build = os.path.abspath(sys.argv[1])
    mpi = sys.argv[2] if len(sys.argv) > 2 else "openmpi"
    tool = lambda name: os.path.join(build, "bin", name)
    browser = shutil.which("chromium")
    if not browser:
        sys.exit("make.py: there is no chromium")
    environment = {**os.environ, "TERM": "screen-256color", "LC_ALL": "C.UTF-8", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    ranks = min(max(len(os.sched_getaffinity(0)), 2), 4)
    heat = ["./heat", "--rows", "1024", "--columns", "1024", "--radiating", "320", "--every", "500", "--steps"]  # as in quickstart
    with tempfile.TemporaryDirectory(prefix="demo-") as work:
        launch = [f"mpirun.{mpi}", "-n", str(ranks)]
        subprocess.run([f"mpicc.{mpi}", "-g", "-O2", os.path.join(SOURCE, "tests", "apps", "heat.c"), "-o", work + "/heat", "-lm"], check=True)
        run, page = os.path.join(work, "run"), os.path.join(work, "run.html")
        subprocess.run([tool("mpit-run"), "--trace", "--output", run, *launch, *heat, str(1200 * ranks)], check=True, cwd=work,
                       env=environment)
        subprocess.run([tool("mpit-dump"), "--html", page, run], check=True)
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        f"--window-size={PAGE[0]},{PAGE[1]}", "--screenshot=" + os.path.join(HERE, "report.png"),
                        "file://" + page], check=True, cwd=work, stderr=subprocess.DEVNULL)
        job = subprocess.Popen([tool("mpit-run"), "--quiet", "--output", os.path.join(work, "long"), *launch, *heat, "1000000"],
                               cwd=work, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)
        time.sleep(2)
        screen = screen_of([tool("mpit-top"), os.path.join(work, "long")], environment)
        os.killpg(job.pid, signal.SIGINT)
        job.wait()
        with open(os.path.join(HERE, "top.svg"), "w", encoding="utf-8") as file:
            file.write(svg(screen))
    print(os.path.join(HERE, "report.png"), os.path.join(HERE, "top.svg"))


main()
