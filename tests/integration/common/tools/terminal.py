"""terminal.py WORD COMMAND...: runs the command in the foreground of a terminal of its own, as a shell does; types Ctrl-C
when the terminal has shown WORD. Ends with the command's status (128 + N: by signal N), or 99 if it goes on for 20 s."""
import os
import pty
import select
import signal
import sys
import time

child, terminal = pty.fork()
if child == 0:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execvp(sys.argv[2], sys.argv[2:])


def shown_now():
    """What it has shown since; what it has started may hold the terminal open for longer."""
    text = b""
    while select.select([terminal], [], [], 0.05)[0]:
        try:
            more = os.read(terminal, 65536)
        except OSError: # the other side is closed
            more = b""
        if not more:
            break
        text += more
    return text


shown, typed, status, end = b"", False, None, time.monotonic() + 20
while status is None and time.monotonic() < end:
    shown += shown_now()
    if not typed and sys.argv[1].encode() in shown:
        time.sleep(0.5) # a shell that is about to start something may miss it
        os.write(terminal, b"\x03")
        typed = True
    ended, status = os.waitpid(child, os.WNOHANG)
    status = status if ended else None
    time.sleep(0.05)
sys.stdout.buffer.write(shown + shown_now())
if status is None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    sys.exit(99)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
