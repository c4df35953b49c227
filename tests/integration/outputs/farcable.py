#!/usr/bin/env python3
"""A network cable that takes time: what `tc netem delay` does, for kernels without it.

    farcable.py FILE PID NAME PID NAME

Makes a network device NAME in the network namespace of each process, and carries frames between the two until it is killed.
FILE has two numbers: microseconds, and bytes a microsecond (0: any). A frame arrives so long after its last byte is on the
cable. In each direction, frames are on it one after the other. After SIGUSR1 the file is read again.
"""
import ctypes
import fcntl
import heapq
import itertools
import os
import select
import signal
import struct
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
FRAME_BYTES = 65536


def device_make(pid, name):
    with open(f"/proc/{pid}/ns/net", "rb") as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return device


class Cable:
    def __init__(self, settings, devices):
        self.settings, self.delay, self.byte = settings, 0, 0
        self.free = dict.fromkeys(devices, 0)  # when the next frame from there can begin
        self.other = dict(zip(devices, reversed(devices)))
        self.waiting, self.count = [], itertools.count()  # when, number, to which device, frame
        self.settings_read()

    def settings_read(self, *_):
        with open(self.settings, encoding="ascii") as file:
            delay, speed = map(float, file.read().split())
        self.delay, self.byte = delay * 1e-6, 1e-6 / speed if speed else 0

    def frames_take(self, device):
        while True:
            try:
                frame = os.read(device, FRAME_BYTES)
            except OSError:  # no more, or the device is down
                return
            self.free[device] = max(self.free[device], time.monotonic()) + len(frame) * self.byte
            heapq.heappush(self.waiting, (self.free[device] + self.delay, next(self.count), self.other[device], frame))

    def frames_give(self):
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            _, _, device, frame = heapq.heappop(self.waiting)
            try:
                os.write(device, frame)
            except OSError:  # the device is down: frames are lost, as on a cable
                pass

    def carry(self):
        while True:
            until = self.waiting[0][0] - time.monotonic() if self.waiting else None
            ready = select.select(list(self.other), [], [], until if until is None or until > 0 else 0)[0]
            for device in ready:
                self.frames_take(device)
            self.frames_give()


os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))  # programs that poll do not delay it
cable = Cable(sys.argv[1], [device_make(sys.argv[2], sys.argv[3]), device_make(sys.argv[4], sys.argv[5])])
signal.signal(signal.SIGUSR1, cable.settings_read)
print("ready", flush=True)
cable.carry()
