#!/usr/bin/env python3
"""Holds more memory than its limit of 128 MB, in one of several ways, long enough to be measured. memory.py WAY"""

import ctypes
import mmap
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time

MB = 1 << 20
HELD_S = 1.5


def touch(memory):
    for at in range(0, len(memory), 4096):
        memory[at] = 1


def hold():
    time.sleep(HELD_S)
    print("reached", flush=True)


def exit_thread():
    """Ends only this thread, even if it is the first."""
    ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)


def six(take):
    """Six processes that hold a part each."""
    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            held = take()
            time.sleep(2 * HELD_S)
            os._exit(held is None)
        children.append(child)
    time.sleep(HELD_S)
    alive = [os.waitpid(child, os.WNOHANG)[0] == 0 for child in children]
    for child in children:
        os.kill(child, signal.SIGKILL)
    if all(alive):
        print("reached", flush=True)


def take_60():
    held = bytearray(60 * MB)
    touch(held)
    return held


def processes():
    """Six processes with 60 MB each."""
    six(take_60)


def blind():
    """Six processes again, after the process that watches them has lost its descriptors."""
    with open("/proc/1/comm", encoding="utf-8") as file:
        watched = file.read() == "keyturn-launch\n"
    if watched:  # outside a sandbox, process 1 belongs to the machine
        try:
            resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3))
        except PermissionError:
            pass
    processes()


def forks():
    """Four processes with 60 MB each, shared with forks that come and go faster than a scan counts them."""

    def fork_on(until):
        held = bytearray(60 * MB)
        touch(held)
        while time.monotonic() < until:
            for _ in range(4):
                if os.fork() == 0:
                    time.sleep(0.003)
                    os._exit(len(held) == 0)
            os.wait()
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass

    def fork_all(until):
        try:
            fork_on(until)
        except (ChildProcessError, BlockingIOError):
            time.sleep(max(0, until - time.monotonic()))
        os._exit(0)

    until = time.monotonic() + 3 * HELD_S
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            fork_all(until)
        children.append(child)
    time.sleep(2 * HELD_S)
    alive = [os.waitpid(child, os.WNOHANG)[0] == 0 for child in children]
    for child in children:
        os.kill(child, signal.SIGKILL)
    if all(alive):
        print("reached", flush=True)


def shared():
    """Memory shared by forks, which belongs to no single process."""
    memory = mmap.mmap(-1, 300 * MB)
    touch(memory)
    hold()


def dropped():
    """Shared memory that is mapped but not in use: its pages stay."""
    memory = mmap.mmap(-1, 300 * MB)
    for at in range(0, 300 * MB, 4 * MB):
        memory[at : at + 4 * MB] = b"1" * (4 * MB)
        memory.madvise(mmap.MADV_DONTNEED, at, 4 * MB)
    time.sleep(HELD_S)
    if all(memory[at] == ord("1") for at in range(0, 300 * MB, MB)):
        print("reached", flush=True)


def memfd():
    """Files in memory, mapped."""
    maps = []
    for _ in range(10):
        fd = os.memfd_create("held")
        os.ftruncate(fd, 30 * MB)
        maps.append(mmap.mmap(fd, 30 * MB))
        touch(maps[-1])
    hold()


def files():
    """Files in the folder for temporary files, and memory."""
    held = bytearray(100 * MB)
    touch(held)
    with open(f"/tmp/keyturn-memory-{os.getpid()}", "wb", buffering=0) as file:
        os.unlink(file.name)
        for _ in range(60):
            if file.write(b"1" * MB) != MB:
                return
        hold()


def beside():
    """Shared memory and mapped files."""
    memory = mmap.mmap(-1, 80 * MB)
    touch(memory)
    with tempfile.TemporaryFile(dir="/tmp") as file:
        file.truncate(80 * MB)
        mapped = mmap.mmap(file.fileno(), 80 * MB)
        touch(mapped)
        hold()


def threads():
    """The first thread ends, and /proc loses the memory of the process with it."""
    memory = mmap.mmap(-1, 300 * MB)

    def hold_on():
        time.sleep(0.2)
        touch(memory)
        hold()
        os._exit(0)

    threading.Thread(target=hold_on, daemon=True).start()
    exit_thread()


def families():
    """Six processes with 60 MB each, whose first threads have ended, like their parent's."""

    def hold_60():
        time.sleep(0.3)
        held = take_60()
        time.sleep(2 * HELD_S)
        os._exit(held is None)

    def take():
        threading.Thread(target=hold_60, daemon=True).start()
        exit_thread()

    def start():
        time.sleep(0.2)
        six(take)
        os._exit(0)

    threading.Thread(target=start, daemon=True).start()
    exit_thread()


def map_tables(gigabytes):
    """Pages of zeros count for no process, but their page tables are memory: 2 MB for each GB."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    size = gigabytes << 30
    base = libc.mmap(None, size, 1, 0x4022, -1, 0)  # PROT_READ; MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    if base in (None, ctypes.c_void_p(-1).value):
        os._exit(1)
    libc.madvise(base, size, 15)  # MADV_NOHUGEPAGE
    for at in range(0, size, 2 * MB):
        ctypes.c_char.from_address(base + at).value
    return base


def tables():
    """The page tables of one process."""
    map_tables(160)
    hold()


def several_tables():
    """The page tables of six processes, 80 MB each."""
    six(lambda: map_tables(40))


def names():
    """Links in memory: they use no block of a file system, but more than a kB each."""
    place = tempfile.mkdtemp(dir="/dev/shm")
    try:
        for number in range(200000):
            os.symlink("x", f"{place}/{number}")
        hold()
    finally:
        shutil.rmtree(place)


print("here", flush=True)
globals()[sys.argv[1]]()
