#!/usr/bin/python3
"""Tests the image of the script sandbox, and the protection that its container gives without the harness's layers.

    test_image.py IMAGE HARNESS

The test reads the image from outside, then runs scripts in it with podman. For each attack that the container must stop,
the harness's own layer against it is off, so that only the container is tested: effects count, not options.
"""

import collections
import json
import os
import select
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import types

sys.dont_write_bytecode = True
import rig

IMAGE, HARNESS = sys.argv[1:3]
BUILD = os.path.join(rig.HERE, "../../docker/image.sh")
# With both kinds of cgroups mounted, the product selects this runtime itself, at its second try.
AGAIN = os.path.isdir("/sys/fs/cgroup/unified") and shutil.which("runc") is not None
PODMAN = ["podman", "--runtime=runc"] if AGAIN else ["podman"]
UNLIMITED = "podman has no limits for ordinary users where cgroups are of the first version"
LIMITED = os.getuid() == 0 or os.path.exists("/sys/fs/cgroup/cgroup.controllers")


def podman(*arguments, **options):
    return subprocess.run([*PODMAN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


class Container:
    """Runs one harness in one container, as the product starts it; both are gone after the block."""

    def __init__(self, *switches):
        self.lines, self.rest = collections.deque(), b""
        self.tools = tempfile.TemporaryDirectory(prefix="keyturn-image-")
        os.chmod(self.tools.name, 0o755)
        with open(os.path.join(self.tools.name, "add.py"), "w") as file:
            file.write("def add(a, b):\n    return a + b\n")
        self.log = tempfile.TemporaryFile()
        host = types.SimpleNamespace(tools=self.tools.name, work=None)
        argv = rig.argv_for("podman", IMAGE, host, switches, AGAIN)
        self.name, self.memory, self.pids = (argv[argv.index(o) + 1] for o in ("--name", "--memory", "--pids-limit"))
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            cwd=self.tools.name,  # podman's monitor leaves a file "oom" in its current folder
        )
        self.ready = self.event(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        podman("rm", "--force", "--ignore", "--time", "0", self.name)
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()
        self.tools.cleanup()

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace").strip()

    def event(self, seconds):
        until = time.monotonic() + seconds
        while not self.lines:
            if not select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[0]:
                raise AssertionError(f"no event within {seconds} s; podman says: {self.said()}")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                raise AssertionError(f"the harness is gone; podman says: {self.said()}")
            *whole, self.rest = (self.rest + piece).split(b"\n")
            self.lines.extend(whole)
        return json.loads(self.lines.popleft())

    def run(self, script, timeout=20):
        """The events of a script, up to its end and without it."""
        request = {"execution_id": "x", "script": script, "timeout": timeout, "mode": "PLAN", "required_secrets": []}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        events = []
        while (event := self.event(timeout + 30))["type"] != "script_done":
            events.append(event)
        return events

    def result(self, script, timeout=20):
        events = self.run(script, timeout)
        results = [event["data"] for event in events if event["type"] == "final_result"]
        assert len(results) == 1, f"no result: {events}"
        return results[0]


def is_equal(got, wanted):
    assert got == wanted, f"{got!r} instead of {wanted!r}"


# Contents of the image


def config():
    """It runs the harness, as the sandbox's user, in the workspace."""
    inspected = json.loads(podman("image", "inspect", IMAGE, check=True).stdout)[0]["Config"]
    is_equal(inspected["Entrypoint"], ["/usr/bin/keyturn-harness"])
    is_equal(inspected["User"], "65534:65534")
    is_equal(inspected["WorkingDir"], "/workspace")
    assert not inspected.get("Cmd") and not inspected.get("Volumes") and not inspected.get("ExposedPorts")


def files():
    """It contains one program, no shell, no setuid files, and byte code for all of Python."""
    name = f"keyturn-test-{os.getpid()}-files"
    podman("create", "--name", name, "--pull=never", IMAGE, check=True)
    members = {}
    try:
        with subprocess.Popen([*PODMAN, "export", name], stdout=subprocess.PIPE) as export:
            with tarfile.open(fileobj=export.stdout, mode="r|") as tar:
                for member in tar:
                    head = tar.extractfile(member).read(8) if member.isreg() else b""
                    members[member.name.strip("/")] = (member, head)
    finally:
        podman("rm", "--force", name)
    regular = {path: head for path, (member, head) in members.items() if member.isreg()}
    is_equal([path for path in members if path.startswith("usr/bin/")], ["usr/bin/keyturn-harness"])
    programs = [p for p, head in regular.items() if head[:4] == b"\x7fELF" and ".so" not in p.rpartition("/")[2]]
    is_equal(programs, ["usr/bin/keyturn-harness"])
    is_equal([path for path, (member, _) in members.items() if member.mode & 0o6000], [])
    is_equal([p for p, (m, _) in members.items() if m.mode & 0o002 and not m.issym()], ["tmp", "workspace"])
    is_equal([path for path, (member, _) in members.items() if (member.uid, member.gid) != (0, 0)], ["workspace"])
    is_equal((members["workspace"][0].uid, members["workspace"][0].gid), (65534, 65534))
    sources = [path for path in regular if path.endswith(".py")]
    bytecode = [path for path in regular if path.endswith(".pyc")]
    assert len(sources) > 400, f"only {len(sources)} files of Python's library"
    for path in sources:
        folder, _, base = path.rpartition("/")
        compiled = [p for p in bytecode if p.startswith(f"{folder}/__pycache__/{base[:-3]}.cpython-")]
        assert len(compiled) == 1, f"{path} has no byte code"
        is_equal(int.from_bytes(regular[compiled[0]][4:8], "little"), 1)  # by hash, unchecked
    total = sum(member.size for member, _ in members.values())
    assert total < 80 << 20, f"{total >> 20} MB"


# Effects of the container


def protocol():
    """Scripts run with every layer on, with the tools, and can write in the workspace."""
    with Container() as box:
        is_equal(box.ready["type"], "ready")
        is_equal((box.ready["tools"], box.ready["pid"]), (["add"], 1))
        layers = box.ready["sandbox"]
        assert layers["seccomp"] and layers["landlock"] and layers["rlimits"] and layers["no_new_privs"], layers
        is_equal(box.result("emit_result(add(2, 3))"), 5)
        events = box.run("print('out')\nemit_intermediate('half', 1)\nraise ValueError('wrong')")
        is_equal([event["type"] for event in events], ["log", "intermediate", "error"])
        assert "ValueError: wrong" in events[2]["message"]
        wrote = box.result("open('f', 'w').write('x')\nimport os\nemit_result([os.getcwd(), os.listdir()])")
        is_equal(wrote, ["/workspace", ["f"]])
        late = box.run("while True: pass", timeout=1)
        assert len(late) == 1 and "timed out after 1s" in late[0]["message"], late
        is_equal(box.result("import os\nemit_result([os.getuid(), os.getgid()])"), list(rig.sandbox_user()))
        box.process.stdin.close()
        box.process.wait(30)


def library():
    """All useful modules of Python's library are there, threads end, and the time zones are known."""
    script = """
import importlib, sys, threading, zoneinfo
missing = []
def ended(): pass
left_out = {"distutils", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "tkinter", "turtle", "turtledemo", "venv",
            "antigravity", "ctypes", "this", "nt", "msvcrt", "winreg", "winsound", "ossaudiodev", "nis"}
for name in sorted(sys.stdlib_module_names - left_out):
    if name.startswith("_") or name == "msilib":
        continue
    try:
        importlib.import_module(name)
    except BaseException as error:
        missing.append(f"{name}: {error!r}")
thread = threading.Thread(target=ended)
thread.start()
thread.join()
emit_result([missing, str(zoneinfo.ZoneInfo("Europe/Berlin"))])
"""
    with Container() as box:
        is_equal(box.result(script), [[], "Europe/Berlin"])


def memory():
    """A program that uses more memory than the container has is killed; the harness continues."""
    if not LIMITED:
        return UNLIMITED
    with Container("--no-rlimits") as box:
        megabytes = int(box.memory.removesuffix("m"))
        events = box.run(f"x = b'x' * ({2 * megabytes} << 20)\nemit_result('reached')")
        assert events[-1]["type"] == "error" and not any(e["type"] == "final_result" for e in events), events
        is_equal(box.result("emit_result(1)"), 1)


def processes():
    """The number of tasks is limited."""
    script = """
import threading
stop, threads = threading.Event(), []
try:
    for _ in range(500):
        thread = threading.Thread(target=stop.wait)
        thread.start()
        threads.append(thread)
except RuntimeError as error:
    pass
count = len(threads)
stop.set()
emit_result(count)
"""
    if not LIMITED:
        return UNLIMITED
    with Container("--no-rlimits") as box:
        count = box.result(script)
        assert 0 < count < int(box.pids), f"{count} threads where {box.pids} tasks may be"


def space():
    """The size of the workspace is limited."""
    script = """
import errno
try:
    with open("big", "wb") as file:
        for _ in range(256):
            file.write(bytes(1 << 20))
            file.flush()
    emit_result("reached")
except OSError as error:
    emit_result(errno.errorcode[error.errno])
"""
    with Container("--no-rlimits") as box:
        is_equal(box.result(script), "ENOSPC")


def root():
    """Nothing but the workspace can be written, even without the file rules of the harness."""
    script = """
import errno, os
said = {}
for path in ("/x", "/usr/x", "/usr/bin/keyturn-harness", "/tools/x", "/etc/passwd", "/proc/sys/kernel/hostname"):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
        said[path] = "reached"
    except OSError as error:
        said[path] = errno.errorcode[error.errno]
emit_result(said)
"""
    with Container("--no-landlock") as box:
        said = box.result(script)
        assert set(said.values()) <= {"EROFS", "EACCES"} and said["/usr/x"] == "EROFS", said


def network():
    """No network, even without the system call filter."""
    script = """
import errno, socket
said = []
for address in (("192.0.2.1", 80), ("127.0.0.1", 9)):
    with socket.socket() as one:
        one.settimeout(5)
        try:
            one.connect(address)
            said.append("reached")
        except OSError as error:
            said.append(errno.errorcode.get(error.errno, str(error)))
emit_result([said, sorted(name for _, name in socket.if_nameindex())])
"""
    with Container("--no-seccomp", "--no-landlock") as box:
        is_equal(box.result(script), [["ENETUNREACH", "ECONNREFUSED"], ["lo"]])


def rights():
    """No capabilities, no new ones, no other process is visible, none of our variables."""
    script = """
import os
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
comms = {open(f"/proc/{pid}/comm").read().strip() for pid in os.listdir("/proc") if pid.isdigit()}
emit_result([[int(status[name], 16) for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")], status["NoNewPrivs"],
             sorted(comms), sorted(os.environ)])
"""
    os.environ["KEYTURN_TEST_SECRET"] = "x"
    with Container("--no-landlock", "--no-seccomp") as box:
        capabilities, no_new, comms, variables = box.result(script)
        is_equal((capabilities, no_new), ([0, 0, 0, 0], "1"))
        assert len(comms) <= 2, f"other processes: {comms}"
        assert "KEYTURN_TEST_SECRET" not in variables, variables


def stop():
    """The harness is process 1 and ends on SIGTERM, without being killed."""
    with Container() as box:
        began = time.monotonic()
        podman("stop", "--time", "20", box.name, check=True)
        box.process.wait(10)
        assert time.monotonic() - began < 15, "it waited to be killed"
        assert podman("container", "exists", box.name).returncode == 1, "the container stayed"


# Building the image


def build(*options, **more):
    made = subprocess.run(["/bin/bash", BUILD, "--local", *options], stderr=subprocess.PIPE, **more)
    return made.returncode, made.stderr.decode()


def again():
    """An image of the same files is not rebuilt."""
    status, said = build("--engine", "podman", "--name", IMAGE, "--harness", HARNESS)
    assert status == 0 and "is up to date" in said, said


def without_engine():
    """Without a working engine, one line names each one and why it fails."""
    with tempfile.TemporaryDirectory() as empty:
        for tool in ("bash", "dirname", "readlink", "sed", "id", "grep", "tail"):
            os.symlink(f"/usr/bin/{tool}", os.path.join(empty, tool))
        neither = "image: no container engine works here: podman: it is not installed; docker: it is not installed\n"
        is_equal(build(env={"PATH": empty}), (3, neither))
        with open(os.path.join(empty, "docker"), "w") as file:
            file.write("#!/bin/bash\necho 'Cannot connect to the daemon' >&2\nexit 1\n")
        os.chmod(file.name, 0o755)
        dead = "image: no container engine works here: docker: Cannot connect to the daemon\n"
        is_equal(build("--engine", "docker", env={"PATH": empty}), (3, dead))


TESTS = (config, files, protocol, library, memory, processes, space, root, network, rights, stop, again, without_engine)
failed = 0
for test in TESTS:
    began = time.monotonic()
    try:
        why = test()
        verdict = f"not tried: {why}" if why else "ok"
    except (AssertionError, subprocess.SubprocessError, KeyError) as wrong:
        verdict, failed = f"FAIL: {wrong}", failed + 1
    print(f"{test.__name__} ({time.monotonic() - began:.1f} s) {verdict}", flush=True)
sys.exit(1 if failed else 0)
