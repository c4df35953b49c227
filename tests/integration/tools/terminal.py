"""terminal.py WORD COMMAND...: runs the command in the foreground of a terminal of its own, as a shell does; types Ctrl-C
when the terminal shows WORD. Ends with the command's status (128 + N: by signal N), or 99 if it goes on for 20 s."""
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
shown, typed, end = b"", False, time.monotonic() + 20
while time.monotonic() < end:
    if select.select([terminal], [], [], 0.1)[0]:
        try:
            more = os.read(terminal, 65536)
        except OSError: # the other side is closed
            more = b""
        if not more:
            break
        shown += more
    if not typed and sys.argv[1].encode() in shown:
        time.sleep(0.5) # a shell that is about to start something may miss it
        os.write(terminal, b"\x03")
        typed = True
else:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    sys.exit(99)
sys.stdout.buffer.write(shown)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.exit(status if status >= 0 else 128 - status)
