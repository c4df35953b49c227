"""watched.py COMMAND...: runs it, and says how much memory it had at most (KiB)
watched.py --terminal COMMAND...: runs it on a terminal, and shows what it wrote there"""
import os
import pty
import resource
import subprocess
import sys

if sys.argv[1] != "--terminal":
    status = subprocess.call(sys.argv[1:], stdout=sys.stderr)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    sys.exit(status)
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
seen = b""
while True:
    try:
        some = os.read(terminal, 4096)
    except OSError:  # the other end is closed
        break
    if not some:
        break
    seen += some
sys.stdout.write(seen.decode().replace("\r", "\n").replace("\x1b[K", "~"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
