#!/usr/bin/python3
"""Tests that a thousand scripts on one harness leak nothing: no process, no descriptor, no memory.

    soak.py --harness PATH [--engine bwrap] [--count 1000]
"""

import argparse
import os
import sys

sys.dont_write_bytecode = True
import rig

SCRIPTS = (
    ("emit_result({'n': list(range(50))})", {"n": list(range(50))}),
    ("print('x' * 20000); emit_result(add(1, 2))", 3),
    ("raise ValueError('mine')", None),
    ("import os; os._exit(3)", None),
    ("import asyncio; asyncio.run(asyncio.sleep(0)); emit_result(None)", None),
    ("import os; [os.pipe() for _ in range(10)]; emit_result('y' * 100000)", "y" * 100000),
)
GROWTH_KB = 1024  # of the supervisor or the zygote; a leak of a hundred bytes per script would be a tenth of it


def resident_kb(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:  # not dumpable, and we are not root
        return -1


def look(box):
    """The census and memory, once nothing happens any more."""
    before = None
    while (now := box.census()) != before:
        before = now
        rig.time.sleep(0.3)
    supervisor = box.supervisor()
    zygote = rig.children_of(supervisor)[0]
    return {
        "processes": now[0],
        "zygote": zygote,
        "supervisor's descriptors": descriptors(supervisor),
        "zygote's descriptors": descriptors(zygote),
        "supervisor's memory": resident_kb(supervisor),
        "zygote's memory": resident_kb(zygote),
    }


def soak(box, count, since):
    for n in range(since, since + count):
        script, result = SCRIPTS[n % len(SCRIPTS)]
        run = box.run(script, f"soak-{n}", 10)
        if run.ended != "done" or run.faults or (run.results != [result] and not run.errors and result is not None):
            sys.exit(f"script {n}: {run.text()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--harness", required=True)
    parser.add_argument("--engine", default="bwrap")
    parser.add_argument("--count", type=int, default=1000)
    args = parser.parse_args()
    rig.adopt_orphans()
    host = rig.Host()
    box = rig.Box(args.engine, os.path.abspath(args.harness), host)
    soak(box, 60, 0)  # everything that is created once exists by then
    before = look(box)
    soak(box, args.count, 60)
    after = look(box)
    wrong = [
        f"{what}: {before[what]} before, {after[what]} after {args.count} scripts"
        for what in before
        if after[what] > before[what] + GROWTH_KB * what.endswith("memory") or (what == "zygote" and after[what] != before[what])
    ]
    print(f"before {before}\nafter  {after}")
    box.close()
    host.close()
    sys.exit("\n".join(wrong) or 0)


main()
