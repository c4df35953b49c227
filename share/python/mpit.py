"""Phases and regions of a Python program in mpit (share/doc/phases.md). Without mpit they do nothing.

    import mpit

    with mpit.phase("solve"):
        ...

    @mpit.region("assemble")
    def assemble(): ...
"""
import contextlib
import ctypes
import threading

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


class _Region(ctypes.Structure):  # struct mpit_region of mpit/instrument_interface.h
    _fields_ = [("cell", ctypes.c_void_p), ("entry", ctypes.c_void_p), ("name", ctypes.c_char_p), ("description", ctypes.c_char_p),
                ("category", ctypes.c_char_p), ("bind", ctypes.c_uint32), ("verbosity", ctypes.c_uint32)]


def _function(place, result, argument):
    """A function of struct mpit_interface, by its place there. None: mpit is not loaded."""
    find = getattr(ctypes.CDLL(None), "mpit_instrument_interface", None)
    if find:
        find.restype = ctypes.c_void_p
    table = find(1) if find else None
    return ctypes.CFUNCTYPE(result, argument)(ctypes.c_void_p.from_address(table + 8 * (1 + place)).value) if table else None


_register = _function(9, ctypes.c_int, ctypes.POINTER(_Region))
_enter, _leave = _function(19, None, ctypes.c_void_p), _function(20, None, ctypes.c_void_p)
_regions, _lock = {}, threading.Lock()


@contextlib.contextmanager
def region(name):
    """A region of this thread. `name`: up to 63 letters, digits and underscores."""
    with _lock:
        known = _regions.get(name)
        if not known and _register:
            known = _regions[name] = _Region(name=name.encode(), description=b"region of Python", category=b"python")
            _register(known)
    cell = known.cell if known else None
    if cell:
        _enter(cell)
    try:
        yield
    finally:
        if cell:
            _leave(cell)
