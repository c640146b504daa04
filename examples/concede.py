"""Calls every layer of the library from Python through ctypes.

    LD_LIBRARY_PATH=build/release python3 examples/concede.py

ctypes lets go of the interpreter lock during a call, so a thread that waits inside one blocks nobody else.
"""
import ctypes
import errno
import os
import subprocess
import sys
import threading
from ctypes import byref, c_bool, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p

library = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libconcede.so.0")


class Options(ctypes.Structure):
    _fields_ = [("capacity", c_size_t), ("message_size", c_size_t), ("kind", c_uint32), ("snooze_iters", c_uint32)]


class Costs(ctypes.Structure):
    _fields_ = [("pause_ps", c_uint32), ("yield_ns", c_uint32), ("wake_ns", c_uint32), ("cpus", c_uint32)]


def function(name, result, *arguments):
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


class Case(ctypes.Structure):
    _fields_ = [("channel", c_void_p), ("message", c_void_p), ("operation", c_uint32), ("result", c_int),
                ("of_the_library", c_void_p * 3)]


deadline_in = function("cc_deadline_in", c_uint64, c_uint64)


def deadline_of(seconds):
    return 2**64 - 1 if seconds is None else deadline_in(int(seconds * 1e9))


class Lock:
    """with lock: ... All zero is a free lock."""
    acquire_ = function("cc_lock_acquire", None, c_void_p)
    try_ = function("cc_lock_try_acquire", c_bool, c_void_p)
    timeout_ = function("cc_lock_acquire_timeout", c_bool, c_void_p, c_uint64)
    release_ = function("cc_lock_release", None, c_void_p)
    wait_ = function("cc_lock_wait_until", c_bool, c_void_p, c_void_p, c_uint64)

    def __init__(self):
        self.word = c_uint32(0)

    def acquire(self, seconds=None):
        if seconds is None:
            self.acquire_(byref(self.word))
            return True
        return self.timeout_(byref(self.word), int(seconds * 1e9)) if seconds else self.try_(byref(self.word))

    def release(self):
        self.release_(byref(self.word))

    def wait(self, event, condition, seconds=None):
        """Until the condition holds: held before, at every look at it, and after. Whether it does."""
        deadline = deadline_of(seconds)
        while not condition():
            if not self.wait_(byref(self.word), event.words, deadline):
                return bool(condition())
        return True

    def __enter__(self):
        self.acquire()

    def __exit__(self, *_):
        self.release()


class Parker:
    park_ = function("cc_parker_park", None, c_void_p)
    timeout_ = function("cc_parker_park_timeout", c_bool, c_void_p, c_uint64)
    unpark_ = function("cc_parker_unpark", None, c_void_p)

    def __init__(self):
        self.word = c_uint32(0)

    def park(self, seconds=None):
        if seconds is not None:
            return self.timeout_(byref(self.word), int(seconds * 1e9))
        self.park_(byref(self.word))
        return True

    def unpark(self):
        self.unpark_(byref(self.word))


class Event:
    """Waits for any condition: wait(condition, seconds); the other side changes the state, then notifies."""
    Condition = ctypes.CFUNCTYPE(c_bool, c_void_p)
    await_ = function("cc_event_await", c_bool, c_void_p, Condition, c_void_p, c_uint64)
    notify_ = function("cc_event_notify_all", None, c_void_p)

    def __init__(self):
        self.words = (c_uint32 * 16)()  # all zero is valid; more than the type has today

    def wait(self, condition, seconds=None):
        return self.await_(self.words, self.Condition(lambda _: bool(condition())), None, deadline_of(seconds))

    def notify(self):
        self.notify_(self.words)


class Channel:
    """Numbers of 64 bits, between any number of threads; iterate over it to receive until it is closed."""
    create_ = function("cc_channel_create", c_int, c_void_p, c_void_p)
    destroy_ = function("cc_channel_destroy", None, c_void_p)
    send_ = function("cc_channel_send", c_int, c_void_p, c_void_p)
    try_send_ = function("cc_channel_try_send", c_int, c_void_p, c_void_p)
    recv_ = function("cc_channel_recv", c_int, c_void_p, c_void_p)
    recv_timeout_ = function("cc_channel_recv_timeout", c_int, c_void_p, c_void_p, c_uint64)
    close_ = function("cc_channel_close", None, c_void_p)
    len_ = function("cc_channel_len", c_size_t, c_void_p)

    def __init__(self, capacity):
        self.handle = c_void_p()
        result = self.create_(byref(self.handle), byref(Options(capacity=capacity, message_size=8)))
        if result != 0:
            raise OSError(result, errno.errorcode.get(result, "?"))

    def __del__(self):
        self.destroy_(self.handle)

    def __len__(self):
        return self.len_(self.handle)

    def send(self, number):
        return self.send_(self.handle, byref(c_uint64(number)))

    def try_send(self, number):
        return self.try_send_(self.handle, byref(c_uint64(number)))

    def recv(self, seconds=None):
        """(0, the number), or why not and nothing."""
        message = c_uint64()
        if seconds is None:
            result = self.recv_(self.handle, byref(message))
        else:
            result = self.recv_timeout_(self.handle, byref(message), int(seconds * 1e9))
        return result, message.value if result == 0 else None

    def __iter__(self):
        while (got := self.recv())[0] == 0:
            yield got[1]

    def close(self):
        self.close_(self.handle)


select_until = function("cc_select_until", c_int, c_void_p, c_size_t, c_uint32, c_void_p, c_uint64)


def receive_from_one(channels, seconds=None, in_order=False):
    """From the first that has something: (0 or EPIPE, the number, its channel), or why not and nothing."""
    message, which = c_uint64(), c_size_t()
    cases = (Case * len(channels))()
    for case, channel in zip(cases, channels):
        case.channel, case.message = channel.handle, ctypes.addressof(message)
    result = select_until(cases, len(cases), in_order, byref(which), deadline_of(seconds))
    if result != 0:
        return result, None, None
    result = cases[which.value].result
    return result, message.value if result == 0 else None, channels[which.value]


class Shared(Channel):
    """The same between processes: one makes it under a name, with a capacity, and others open it."""
    make_ = function("cc_shared_create", c_int, c_void_p, c_char_p, c_void_p)
    open_ = function("cc_shared_open", c_int, c_void_p, c_char_p)
    channel_ = function("cc_shared_channel", c_void_p, c_void_p)
    unmap_ = function("cc_shared_close", None, c_void_p)
    unlink_ = function("cc_shared_unlink", c_int, c_char_p)

    def __init__(self, name, capacity=None):
        self.shared = c_void_p()
        if capacity is None:
            result = self.open_(byref(self.shared), name.encode())
        else:
            options = Options(capacity=capacity, message_size=8)
            result = self.make_(byref(self.shared), name.encode(), byref(options))
        if result != 0:
            raise OSError(result, errno.errorcode.get(result, "?"))
        self.handle = self.channel_(self.shared)

    def __del__(self):
        self.unmap_(self.shared)


def expect(value, expected):
    if value != expected:
        sys.exit("%r, not %r" % (value, expected))


if len(sys.argv) > 2:  # the other process of the last part below
    there = Shared(sys.argv[2])
    for number in range(100):
        expect(there.send(number), 0)
    os.kill(os.getpid(), 9)  # it dies, and does not close

costs = function("cc_costs", ctypes.POINTER(Costs))().contents
expect(costs.cpus >= 1 and costs.pause_ps >= 1, True)

lock, counter = Lock(), 0


def count():
    global counter
    for _ in range(1000):
        with lock:
            counter += 1


threads = [threading.Thread(target=count) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
expect(counter, 4000)
lock.acquire()
expect((lock.acquire(0), lock.acquire(0.001)), (False, False))
lock.release()

parker, event, state = Parker(), Event(), []
expect(parker.park(0.001), False)
expect(event.wait(lambda: state, 0.001), False)


def get_ready():
    state.append("ready")
    event.notify()
    parker.unpark()


threading.Thread(target=get_ready).start()
expect(event.wait(lambda: state), True)
expect(parker.park(), True)

jobs, changed = [], Event()
with lock:
    expect(lock.wait(changed, lambda: jobs, 0.001), False)


def add_jobs():
    for job in range(3):
        with lock:
            jobs.append(job)
        changed.notify()


threading.Thread(target=add_jobs).start()
with lock:
    expect(lock.wait(changed, lambda: len(jobs) == 3), True)

channel = Channel(16)
expect(channel.recv(0.001), (errno.ETIMEDOUT, None))


def produce():
    for number in range(1000):
        expect(channel.send(number), 0)
    channel.close()


threading.Thread(target=produce).start()
total = sum(channel)
expect(channel.recv(), (errno.EPIPE, None))
small = Channel(1)
expect((small.try_send(1), small.try_send(2), len(small)), (0, errno.EAGAIN, 1))

urgent, ordinary = Channel(4), Channel(4)
expect(receive_from_one([urgent, ordinary], 0.001), (errno.ETIMEDOUT, None, None))
threading.Thread(target=lambda: ordinary.send(7)).start()
expect(receive_from_one([urgent, ordinary]), (0, 7, ordinary))
expect((ordinary.send(1), urgent.send(2)), (0, 0))
expect(receive_from_one([urgent, ordinary], in_order=True), (0, 2, urgent))
urgent.close()
expect(receive_from_one([urgent, ordinary], in_order=True), (errno.EPIPE, None, urgent))
print("received everything:", total)

name = "/concede-python-%d" % os.getpid()
try:
    between = Shared(name, 16)
except OSError as error:
    expect(error.errno, errno.ENOSYS)
    print("no channel between processes here")
    sys.exit()
other = subprocess.Popen([sys.executable, __file__, sys.argv[1] if len(sys.argv) > 1 else "libconcede.so.0", name])
numbers, deaths = [], 0
while len(numbers) < 100 or deaths == 0:
    result, number = between.recv(10)
    if result == 0:
        numbers.append(number)
    else:
        expect(result, errno.EOWNERDEAD)
        deaths += 1
other.wait()
expect((numbers, deaths, between.unlink_(name.encode())), (list(range(100)), 1, 0))
print("and from another process:", sum(numbers))
