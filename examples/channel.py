"""Calls the channel from Python through ctypes: two threads, a thousand numbers, a close.

    LD_LIBRARY_PATH=build/release python3 examples/channel.py
"""
import ctypes
import errno
import sys
import threading

concede = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libconcede.so.0")


class Options(ctypes.Structure):
    _fields_ = [("capacity", ctypes.c_size_t), ("message_size", ctypes.c_size_t),
                ("kind", ctypes.c_uint32), ("snooze_iters", ctypes.c_uint32)]


channel = ctypes.c_void_p()
options = Options(capacity=16, message_size=8)
assert concede.cc_channel_create(ctypes.byref(channel), ctypes.byref(options)) == 0


def produce():
    for number in range(1000):
        assert concede.cc_channel_send(channel, ctypes.byref(ctypes.c_uint64(number))) == 0
    concede.cc_channel_close(channel)


# ctypes lets go of the interpreter lock during a call, so a blocked thread blocks nobody else.
producer = threading.Thread(target=produce)
producer.start()
total, message = 0, ctypes.c_uint64()
while (result := concede.cc_channel_recv(channel, ctypes.byref(message))) == 0:
    total += message.value
producer.join()
assert result == errno.EPIPE and total == sum(range(1000)), (result, total)
concede.cc_channel_destroy(channel)
print("received everything:", total)
