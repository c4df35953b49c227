"""Calls MPI from all kinds of Python functions. At each call it notes its own stack, as traceback.extract_stack has it.

    pythonwalk.py CALLS FILE MPI ctypes|mpi4py

FILE gets the stacks, the innermost frame first, and by tag which one each call has.
"""
import asyncio
import contextlib
import ctypes
import functools
import gc
import json
import random
import sys
import threading
import traceback

CALLS, FILE, MPI_NAME, BINDING = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]

if BINDING == "mpi4py":
    from mpi4py import MPI

    probe, REST = functools.partial(MPI.COMM_SELF.Iprobe, 0), ()
else:
    ctypes.CDLL({"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}[MPI_NAME], mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(None)
    library.MPI_Init_thread(None, None, 3, ctypes.byref(ctypes.c_int()))
    if MPI_NAME == "openmpi":
        comm_self, ignored = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, "ompi_mpi_comm_self"))), None
    else:
        comm_self, ignored = ctypes.c_int(0x44000001), ctypes.c_void_p(1)
    probe, REST = functools.partial(library.MPI_Iprobe, 0), (comm_self, ctypes.byref(ctypes.c_int()), ignored)


class Notes:
    """The stacks of all calls. Threads take turns."""

    def __init__(self):
        self.lock, self.stacks, self.calls = threading.Lock(), {}, []

    def __call__(self):
        walk = traceback.walk_stack(sys._getframe(1))
        stack = tuple((frame.f_code.co_qualname, frame.f_code.co_filename, line) for frame, line in walk)
        with self.lock:
            self.calls.append(self.stacks.setdefault(stack, len(self.stacks)))
            return len(self.calls) - 1


note, draw = Notes(), random.Random(1)
STEPS = []


def step(function):
    STEPS.append(function)
    return function


def descend(level):
    for _ in range(draw.randrange(3) if level and len(note.calls) < CALLS else 0):
        draw.choice(STEPS)(level - 1)


@step
def plain(level):
    probe(note(), *REST)
    descend(level)
    probe(note(), *REST); probe(note(), *REST)


@step
def nested(level):
    def inner(value):
        probe(note(), *REST)
        return value

    [inner(value) for value in range(2)]
    {value: probe(note(), *REST) for value in range(2)}
    descend(level)


@step
def recursive(level, depth=0):
    if depth < draw.randrange(1, draw.choice((20, 90, 200))):
        recursive(level, depth + 1)
    probe(note(), *REST)


def decorated(function):
    @functools.wraps(function)
    def wrapper(*words, **more):
        probe(note(), *REST)
        return function(*words, **more)

    return wrapper


@step
@decorated
@decorated
def with_decorators(level):
    probe(note(), *REST)
    descend(level)


def generated(level):
    probe(note(), *REST)
    yield level
    descend(level)
    yield from inner_generated()
    probe(note(), *REST)


def inner_generated():
    for i in range(2):
        probe(note(), *REST)
        yield i


@step
def generators(level):
    for _ in generated(level):
        probe(note(), *REST)
    sum(value for value in generated(0))
    half = generated(0)
    next(half)
    half.close()


class Thing:
    count = 0

    def __init__(self):
        probe(note(), *REST)

    @property
    def size(self):
        probe(note(), *REST)
        return 1

    @staticmethod
    def still():
        probe(note(), *REST)

    @classmethod
    def grow(cls):
        probe(note(), *REST)
        cls.count += 1

    def __lt__(self, other):
        probe(note(), *REST)
        return id(self) < id(other)

    def __del__(self):
        probe(note(), *REST)


@step
def objects(level):
    things = [Thing() for _ in range(3)]
    things.sort()
    things[0].size, Thing.still(), Thing.grow()
    things[0].self = things[0]
    descend(level)
    del things
    gc.collect()


@step
def callbacks(level):
    sorted(range(3), key=lambda value: probe(note(), *REST) or value)
    list(map(lambda _: descend(level), range(1)))
    list(filter(functools.partial(lambda a, b: probe(note(), *REST), 1), range(2)))
    max([3, 1], key=lambda value: (probe(note(), *REST), value)[1])


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def compare(one, other):
    probe(note(), *REST)
    return 0


@step
def through_c(level):
    """qsort of the C library calls Python again."""
    ctypes.CDLL(None).qsort((ctypes.c_int * 3)(3, 1, 2), 3, 4, compare)
    descend(level)


@contextlib.contextmanager
def managed():
    probe(note(), *REST)
    try:
        yield
    finally:
        probe(note(), *REST)


@step
def exceptions(level):
    with managed():
        try:
            probe(note(), *REST)
            raise ValueError
        except ValueError:
            probe(note(), *REST)
            descend(level)
        finally:
            probe(note(), *REST)
    with contextlib.suppress(ZeroDivisionError), managed():
        1 / 0


async def awaited(level):
    probe(note(), *REST)
    await asyncio.sleep(0)
    probe(note(), *REST)
    return level


async def coroutines():
    await asyncio.gather(awaited(1), awaited(2))
    probe(note(), *REST)


@step
def asynchronous(level):
    if draw.randrange(8) == 0 and threading.current_thread() is threading.main_thread():
        with contextlib.suppress(RuntimeError):  # a loop runs already
            loop = asyncio.new_event_loop()
            loop.run_until_complete(coroutines())
            loop.close()


@step
def made_anew(level):
    """Code that is freed: the next one may get its address, with the same instructions and other lines and names."""
    for i in range(6):
        lines = "\n" * draw.randrange(40)
        exec(compile(f"{lines}probe(note(), *REST)", f"<code {i % 3}>", "exec"), globals())
        scope = dict(globals())
        exec(f"{lines}def made_{i}():\n    probe(note(), *REST)\n", scope)
        scope[f"made_{i}"]()
        eval("probe(note(), *REST)", globals())
    descend(level)


@step
def größer(level):
    probe(note(), *REST)
    exec(compile("probe(note(), *REST)", "/tmp/größe/程序.py", "exec"), globals())
    exec(compile("probe(note(), *REST)", "/tmp/" + "long/" * 150 + "end.py", "exec"), globals())
    descend(level)


def walk(calls):
    while len(note.calls) < calls:
        draw.choice(STEPS)(draw.randrange(6))


def threads():
    made = [threading.Thread(target=walk, args=(len(note.calls) + CALLS // 4,)) for _ in range(3)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()


sys.setrecursionlimit(5000)
walk(CALLS // 2)
threads()
walk(CALLS)
with open(FILE, "w", encoding="utf-8") as file:
    json.dump({"stacks": list(note.stacks), "calls": note.calls}, file)
if BINDING == "ctypes":
    library.MPI_Finalize()
