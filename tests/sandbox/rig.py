"""Starts a harness under test in an engine, speaks its protocol, and counts its processes from outside.

An engine is an argument vector around keyturn-harness. `naive` is an insecure harness (naive.py): scripts run in the
process that speaks the protocol. It is the control for protections that rest on processes rather than on a layer.
"""

import collections
import ctypes
import itertools
import json
import os
import pwd
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = ("log", "intermediate", "final_result", "error", "script_done")
SECRETS = {"KEYTURN_UNDECLARED": "undeclared-7c1f2b", "KEYTURN_DECLARED": "declared-a93e55"}
# A sanitizer keeps freed memory for a while, which would look like a leak.
ENVIRONMENT = {"ASAN_OPTIONS": "quarantine_size_mb=0:thread_local_quarantine_size_kb=0", "LANG": "C.UTF-8"}
ENVIRONMENT |= {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
OUTPUT_MAX = 96 << 20  # of one script, before it counts as a flood: more than the harness's own limit
INSIDE = ("bwrap", "podman")  # their workspace is not visible from here
PR_SET_CHILD_SUBREAPER = 36
numbers = itertools.count(1)  # of sandboxes


def adopt_orphans():
    """Adopts processes whose parents end, so that none is missed."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("cannot become the reaper of orphans")


def children_of(pid):
    """Descendants of a process, nearest first, without dead ones that wait for their parent."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                parents.setdefault(int(parent), []).append(int(name))
    found, todo = [], [pid]
    while todo:
        below = sorted(parents.get(todo.pop(0), []))
        found += below
        todo += below
    return found


class Host:
    """Creates the targets on the host: files, sockets, names."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="keyturn-hostile-")
        for name in ("work", "tools", "outside"):
            os.mkdir(os.path.join(self.folder, name))
        self.tools, self.work, self.outside = (os.path.join(self.folder, n) for n in ("tools", "work", "outside"))
        with open(os.path.join(self.tools, "add.py"), "w") as file:
            file.write("def add(a, b):\n    return a + b\n")
        with open(os.path.join(self.outside, "secret"), "w") as file:
            file.write("a secret of the host\n")
        self.tcp = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.stream.bind(os.path.join(self.outside, "stream"))
        self.stream.listen(100)
        self.datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.datagram.bind(os.path.join(self.outside, "datagram"))
        self.abstract = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.abstract.bind("\0keyturn-hostile-%d" % os.getpid())
        self.abstract.listen(100)

    def close(self):
        for one in (self.tcp, self.udp, self.stream, self.datagram, self.abstract):
            one.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def clean(self):
        """Empties the workspace: a script may keep files there, and the next body starts without them."""
        for name in os.listdir(self.work):
            path = os.path.join(self.work, name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def product_engines():
    """The product's own engines, from its table, so that the test covers what users get."""
    engines = {}
    for name in ("bwrap.c", "containers.c"):
        with open(os.path.join(HERE, "../../core/sandbox", name)) as file:
            text = file.read()
        engines |= json.loads(text[text.index("TEXT({") + 5 : text.rindex("})") + 1])
    return engines


def sandbox_user():
    """The uid and gid of sandboxed code that root starts, as core/sandbox/user.c finds them."""
    with open(os.path.join(HERE, "../../core/sandbox/user.h")) as file:
        text = file.read()
    name = re.search(r'SANDBOX_USER_NAME +"(.*)"', text)[1]
    number = int(re.search(r"SANDBOX_UID +(\d+)", text)[1])
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return number, number
    return entry.pw_uid, entry.pw_gid


def as_user(it, harness, host, argv):
    """The prefix of an engine that root starts as another user."""
    if not it.get("as_user") or os.getuid() != 0:
        return argv
    uid, gid = sandbox_user()
    launcher = os.path.join(os.path.dirname(harness), "keyturn-launch")
    shown = ["--show", harness, "--lend", host.tools]
    return [launcher, "--as", str(uid), "--as-group", str(gid), *shown, "--", *argv]


def wipe_script():
    """The product's command that empties such a workspace."""
    with open(os.path.join(HERE, "../../core/sandbox/pool.c")) as file:
        text = file.read()
    text = text[text.index("wipe_script[] =") :]
    return "".join(json.loads(one) for one in re.findall(r'"(?:[^"\\]|\\.)*"', text[: text.index(";")]))


WIPE = wipe_script()


def argv_for(engine, harness, host, switches, again=False):
    """The argument vector of an engine, filled in like the product does, with switches for the harness in it."""
    if engine == "naive":
        return ["/usr/bin/python3", "-I", os.path.join(HERE, "naive.py"), host.tools, host.work]
    it = product_engines()["none" if engine == "bare" else engine]
    places = {"harness": harness, "image": harness, "tools": host.tools, "workspace": host.work}
    places |= {"memory_mb": 512, "pids": 32, "name": f"keyturn-hostile-{os.getpid()}-{next(numbers)}"}
    places["uid"], places["gid"] = sandbox_user()
    several = {"{tools...}": it["tools"], "{degraded...}": []}
    several["{secrets...}"] = [one.replace("{secret}", name) for name in SECRETS for one in it.get("secret", [])]
    argv = [one for argument in it["argv"] for one in several.get(argument, [argument])]
    if again:
        argv[1:1] = it["retry"]["with"]
    return as_user(it, harness, host, [one.format(**places) for one in argv] + list(switches))


class Run:
    """The result of one script."""

    def __init__(self):
        self.ended = "hung"  # done, died, hung, flood
        self.results, self.errors, self.logs, self.faults = [], [], [], []

    def text(self):
        return "; ".join(
            [self.ended, *(f"result {r!r:.200}" for r in self.results), *(f"error {e!r:.300}" for e in self.errors)]
            + [f"log {one!r:.100}" for one in self.logs[:3]]
            + self.faults[:3]
        )


class Box:
    def __init__(self, engine, harness, host, switches=()):
        self.engine, self.host, self.last = engine, host, None
        self.rest, self.lines = [], collections.deque()  # a piece of a line, or complete lines
        paths = ("/tools", "/workspace") if engine in INSIDE else (host.tools, host.work)
        self.places = {"TOOLS": paths[0], "WORK": paths[1], "OUTSIDE": host.outside}
        self.places |= {"PORT": host.tcp.getsockname()[1], "UDP": host.udp.getsockname()[1]}
        self.places |= {"ABSTRACT": host.abstract.getsockname()[1:].decode()}
        if not self.start(argv_for(engine, harness, host, switches)):
            complaint = self.stop()
            again = engine not in ("bare", "naive") and product_engines()[engine].get("retry", {"on": "\0"})["on"] in complaint
            if not again or not self.start(argv_for(engine, harness, host, switches, True)):
                sys.exit(f"{engine}: not ready: {self.stop() if again else complaint}")
        self.layers = self.ready.get("sandbox")

    def start(self, argv):
        """Whether it became ready."""
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            cwd=self.host.work,
            env={**ENVIRONMENT, **SECRETS},
        )
        line = self.read_line(time.monotonic() + 30)
        self.ready = json.loads(line) if line else {}
        return self.ready.get("type") == "ready"

    def stop(self):
        """Ends it; returns its stderr."""
        if self.process.poll() is None:  # otherwise the number may belong to another process by now
            for pid in [*children_of(self.process.pid), self.process.pid]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        with self.log:
            self.log.seek(0)
            return self.log.read().decode(errors="replace")

    def read_line(self, until):
        """One line; None at the end of the stream; False after the time limit."""
        while not self.lines:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return False
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                return None
            first, *more = piece.split(b"\n")
            self.rest.append(first)
            for part in more:
                self.lines.append(b"".join(self.rest))
                self.rest = [part]
        return self.lines.popleft()

    def run(self, script, name, timeout=10, secrets=(), patience=2.5):
        run = Run()
        for place, value in {**self.places, "ID": name, "NEXT": f"{name}-next"}.items():
            script = script.replace(f"@{place}@", str(value))
        request = {"execution_id": name, "script": script, "timeout": timeout, "mode": "PLAN"}
        request["required_secrets"] = list(secrets)
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            run.ended = "died"
            return run
        until, size = time.monotonic() + timeout + patience, 0
        while True:
            line = self.read_line(until)
            if line is None or line is False:
                run.ended = "died" if line is None else "hung"
                return run
            size += len(line)
            if size > OUTPUT_MAX:
                run.ended = "flood"
                return run
            if self.take(run, line, name):
                run.ended, self.last = "done", name
                return run

    def take(self, run, line, name):
        """Reads one event; true if it is the last one of this script."""
        try:
            event = json.loads(line.decode(), parse_constant=float)
            json.dumps(event, ensure_ascii=False, allow_nan=False).encode()
            kind, of = event["type"], event["execution_id"]
        except (ValueError, TypeError, KeyError, RecursionError) as wrong:
            run.faults.append(f"garbled {line[:80]!r}: {wrong}")
            return False
        if of is not None and of == self.last:
            run.faults.append(f"late {kind}")
        elif of != name or kind not in TYPES:
            run.faults.append(f"foreign {kind} of {of}")
        elif kind == "final_result":
            run.results.append(event["data"])
        elif kind == "error":
            run.errors.append(f"{event['message']}\n{event['traceback']}")
        elif kind in ("log", "intermediate"):
            run.logs.append(str(event.get("message", event)))
        return of == name and kind == "script_done"

    def supervisor(self):
        """The outermost process of the harness, for any engine."""
        for pid in [self.process.pid, *children_of(os.getpid())]:
            try:
                with open(f"/proc/{pid}/comm") as file:
                    if file.read() == "keyturn-harness\n":
                        return pid
            except OSError:  # it has ended meanwhile
                pass
        sys.exit(f"{self.engine}: no harness to be seen")

    def census(self):
        """The number of our processes, and of the supervisor's descriptors; -1 without permission."""
        try:
            descriptors = len(os.listdir(f"/proc/{self.supervisor()}/fd"))
        except PermissionError:  # not dumpable, and we are not root
            descriptors = -1
        return len(children_of(os.getpid())), descriptors

    def settles_at(self, wanted):
        """Waits until the census equals this one; otherwise returns the other one."""
        until = time.monotonic() + 5
        while (now := self.census()) != wanted and time.monotonic() < until:
            time.sleep(0.005)
        return None if now == wanted else f"{now[0]} processes and {now[1]} descriptors instead of {wanted[0]} and {wanted[1]}"

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(0.2 if self.engine == "naive" else 5)
        except subprocess.TimeoutExpired:
            pass
        self.stop()
