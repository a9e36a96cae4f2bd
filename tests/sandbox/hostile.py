#!/usr/bin/python3
"""Runs hostile scripts against the real harness, and each of them again in a control, where it must succeed.

    hostile.py --harness PATH --engine bare|bwrap|podman [BODY…]    the body must be stopped, as its head specifies
    hostile.py --harness PATH --control [BODY…]                     without the layer that stops it, it must succeed

A body (bodies/*.py) begins with comments:

    # needs: seccomp landlock      what stops it; the control runs without these. Layers, `bwrap` (any outer engine), or
                                   `process`: one process per script, the control of which is naive.py
    # expect: error TEXT | TEXT    one error with one of the texts in it, and no result
    # expect: result JSON          this one result and no error
    # expect: ended TEXT           like error, but results may come before it
    # expect: done                 the script may end as it likes
    # expect bwrap: …              the same for one engine; a missing file needs no rule
    # control: …                   the sign of success: result JSON (default: `result "reached"`), error TEXT, log TEXT,
                                   died, hung, flood, huge (a result of megabytes), garbled (lines that are no events of this
                                   script), fault TEXT (one of those), late (events after the end), insane (the next script
                                   finds a damaged environment)
    # timeout: SECONDS             default: 10
    # secrets: NAME                declared by the script
    # before: SCRIPT               runs first, with `before secrets`
    # control needs: root          an ordinary user may not do it in any case
    # only on: x86_64              numbers of system calls differ from machine to machine
    # not: sanitizer               which needs more memory than the limit, and reports crashes itself

With every engine and after every body: one script_done, valid events of this script only, none of its events later; then an
ordinary script (sane.py) runs on the same harness; then the number of processes and descriptors is the same as before.
"""

import argparse
import glob
import json
import os
import re
import sys

sys.dont_write_bytecode = True
import rig

LAYERS = ("seccomp", "landlock", "rlimits", "readonly")
KEYS = {"needs", "expect", "expect bare", "expect bwrap", "expect podman", "control", "control needs"}
KEYS |= {"timeout", "secrets", "before", "before secrets", "not", "only on"}


class Body:
    def __init__(self, path):
        self.name = os.path.basename(path)[:-3]
        with open(path) as file:
            self.script = file.read()
        self.head = {"control": 'result "reached"', "timeout": "10", "secrets": ""}
        while self.script.startswith("#"):  # the head is not part of the script: a script could read it
            line, _, self.script = self.script.partition("\n")
            if match := re.match(r"# ([a-z ]+): (.*)", line):
                if match[1] not in KEYS:
                    sys.exit(f"{path}: unknown key {match[1]}")
                self.head[match[1]] = match[2]
        self.needs = self.head["needs"].split()
        if not self.needs or set(self.needs) - {*LAYERS, "bwrap", "process"} or "expect" not in self.head:
            sys.exit(f"{path}: needs what, and expects what?")

    def run_on(self, box):
        if "before" in self.head:
            box.run(self.head["before"], f"{self.name}-before", 10, self.head.get("before secrets", "").split())
        patience = 1.0 if box.engine == "naive" else 2.5
        return box.run(self.script, self.name, int(self.head["timeout"]), self.head["secrets"].split(), patience)

    def expectation(self, engine):
        return self.head.get(f"expect {engine}", self.head["expect"])


def among(texts, wanted):
    return any(one.strip() in text for text in texts for one in wanted.split(" | "))


def stopped(run, wanted):
    """Whether the run ended as the body's head specifies."""
    kind, _, rest = wanted.partition(" ")
    if run.ended != "done" or run.faults:
        return False
    if kind == "error":
        return len(run.errors) == 1 and not run.results and among(run.errors, rest)
    if kind == "ended":
        return len(run.errors) == 1 and among(run.errors, rest)
    if kind == "result":
        return run.results == [json.loads(rest)] and not run.errors
    return kind == "done"


def succeeded(run, wanted, after):
    """Whether the attack succeeded; `after` is the run of the sane script, or None."""
    kind, _, rest = wanted.partition(" ")
    if kind == "result":
        return bool(run.results) and run.results[0] == json.loads(rest)
    if kind in ("error", "log", "fault"):
        return among({"error": run.errors, "log": run.logs, "fault": run.faults}[kind], rest)
    if kind == "insane":
        return after is not None and after.results != ["sane"]
    if kind == "garbled":
        return any(one.startswith(("garbled", "foreign")) for one in run.faults)
    if kind == "late":
        return after is not None and any(one.startswith("late") for one in after.faults)
    if kind == "huge":
        return any(len(json.dumps(one)) > 8 << 20 for one in run.results)
    return run.ended == kind


def sane_on(box, name):
    with open(os.path.join(rig.HERE, "sane.py")) as file:
        return box.run(file.read(), name, 10)


def hostile(body, box, calm):
    """None, or the fault."""
    run = body.run_on(box)
    wanted = body.expectation(box.engine)
    if not stopped(run, wanted):
        return f"expected {wanted}, got {run.text()}"
    values = [value for name, value in rig.SECRETS.items()]
    if among(run.logs + run.errors + [json.dumps(run.results)], " | ".join(values)):
        return f"tells a secret: {run.text()}"
    if box.engine in rig.INSIDE:  # as the product does before the next caller gets the sandbox
        wiped = box.run(rig.WIPE, f"{body.name}-wipe", 10)
        if wiped.results != [0] or wiped.errors or wiped.faults:
            return f"its workspace cannot be emptied: {wiped.text()}"
    after = sane_on(box, f"{body.name}-next")
    if after.results != ["sane"] or after.errors or after.faults:
        return f"a sane script afterwards: {after.text()}"
    return box.settles_at(calm)


def control(body, box):
    run = body.run_on(box)
    after = sane_on(box, f"{body.name}-next") if run.ended == "done" else None
    wanted = body.head["control"]
    if succeeded(run, wanted, after):
        return None
    more = f"; afterwards {after.text()}" if after else ""
    return f"has no teeth: without {' '.join(body.needs)} expected {wanted}, got {run.text()}{more}"


def skipped(body, args):
    """The reason to skip a body, or None. Each one is printed."""
    if args.sanitized and "sanitizer" in body.head.get("not", ""):
        return "not with a sanitizer"
    if body.head.get("only on", os.uname().machine) != os.uname().machine:
        return f"only on {body.head['only on']}"
    if args.control and body.head.get("control needs") == "root" and os.getuid() != 0:
        return "its control needs root"
    if not args.control and args.engine == "bare" and body.needs == ["bwrap"]:
        return "only an outer engine stops it"
    return None


class Worker:
    """Runs bodies with one harness, or controls with one harness for each set of disabled layers."""

    def __init__(self, args):
        self.args, self.host, self.boxes = args, rig.Host(), {}

    def box_for(self, body):
        engine, switches = self.args.engine, ()
        if self.args.control:
            engine = "naive" if "process" in body.needs else "bare"
            switches = tuple(f"--no-{layer}" for layer in LAYERS if layer in body.needs)
        if (engine, switches) not in self.boxes:
            box = rig.Box(engine, self.args.harness, self.host, switches)
            if engine != "naive":
                if any(bool(box.layers[one]) == (f"--no-{one}" in switches) for one in LAYERS):
                    sys.exit(f"{engine} {switches}: other layers than asked for: {box.layers}")
                first = sane_on(box, "first")
                if first.results != ["sane"]:
                    sys.exit(f"{engine} {switches}: not sane before anything happened: {first.text()}")
            self.boxes[engine, switches] = box, rest(box) if not self.args.control else None
        return (engine, switches), *self.boxes[engine, switches]

    def work_on(self, body):
        """None, or the fault."""
        key, box, calm = self.box_for(body)
        why = control(body, box) if self.args.control else hostile(body, box, calm)
        if why or box.engine == "naive":  # the next body gets a fresh one
            self.boxes.pop(key)
            box.close()
        self.host.clean()
        return why

    def close(self):
        for box, _ in self.boxes.values():
            box.close()
        self.host.close()


def say(line):
    """One write, because other workers print too."""
    os.write(1, f"{line}\n".encode())


def work_through(bodies, args):
    """Runs every body of this worker; returns the number of failures."""
    worker, failures = Worker(args), 0
    for body in bodies:
        if why := skipped(body, args):
            say(f"skip {body.name}: {why}")
            continue
        why = worker.work_on(body)
        failures += why is not None
        say(f"FAIL {body.name}: {why}" if why else f"ok {body.name}")
    worker.close()
    return failures


def rest(box):
    """The census when nothing happens: the same twice."""
    before = None
    while (now := box.census()) != before:
        before = now
        rig.time.sleep(0.2)
    return now


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--harness", required=True)
    parser.add_argument("--engine", default="bare")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("bodies", nargs="*")
    args = parser.parse_args()
    if args.engine != "podman":  # with podman, the image
        args.harness = os.path.abspath(args.harness)
    bodies = [Body(path) for path in sorted(glob.glob(os.path.join(rig.HERE, "bodies", "*.py")))]
    bodies = [body for body in bodies if not args.bodies or body.name in args.bodies]
    # Most of the time passes in waits for deadlines, so several workers wait at once, each with a harness of its own.
    workers = []
    for first in range(min(args.jobs, len(bodies))):
        if (pid := os.fork()) == 0:
            rig.adopt_orphans()
            os._exit(min(work_through(bodies[first :: args.jobs], args), 100))
        workers.append(pid)
    failures = 0
    for pid in workers:
        status = os.waitpid(pid, 0)[1]
        failures += os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1
    print(f"{len(bodies)} bodies, {failures} failed")
    sys.exit(1 if failures or not bodies else 0)


main()
