"""Phases of a Python program in mpit (share/doc/phases.md). Without mpit they do nothing.

    import mpit

    with mpit.phase("solve"):
        ...

    @mpit.phase("assemble")
    def assemble(): ...
"""
import contextlib
import ctypes

try:
    _pcontrol = ctypes.CDLL(None).MPI_Pcontrol
except AttributeError:  # neither mpit nor a library of MPI is there
    def _pcontrol(level, name):
        pass


@contextlib.contextmanager
def phase(name):
    """A phase of this thread. `name`: up to 57 bytes of UTF-8."""
    text = name.encode()
    _pcontrol(1, text)
    try:
        yield
    finally:
        _pcontrol(-1, text)
