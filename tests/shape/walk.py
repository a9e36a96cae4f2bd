"""Checks the walks of *.walk files against a trace of tracer.c, and prints them.

walk.py SOURCE PROGRAM TRACE WALK…        walk.py --all SOURCE PROGRAM TRACE WALK     every function that was entered, indented

A walk is the path of one action through the program. A person decides which functions belong to it and which only help,
so a .walk file lists them in order: `FILE FUNCTION`, or `[TYPE]` for an event that is written there. The check: a listed
function must have been entered after the one before it, and its callers on the way must be listed too. So the list fails
when it is older than the code.

    title TEXT
    begin TYPE      the last entry of the first function before this event begins the walk
    end TYPE        this event ends it
    emit FUNCTION   this function and its callees are not part of a walk
    enter FUNCTION  callers of this one belong to another walk
    limit N functions [N files]     a walk that has more fails

Functions of core/base are helpers of all others and never listed."""

import array, os, subprocess, sys

BASE, ENTER, LEAVE, EVENT, EVENT_END = range(5)
UTILITY = ("core/base/",)


def fail(text):
    sys.exit("shape: " + text)


def resolve(program, source, addresses):
    """{address: (file, function)}. Every reporting function is one of ours, so each must have a source file."""
    ordered = sorted(addresses)
    out = subprocess.run(["addr2line", "-f", "-e", program], input="".join("%x\n" % a for a in ordered), text=True,
                         capture_output=True, check=True).stdout.splitlines()
    names = {}
    for i, address in enumerate(ordered):
        path = os.path.realpath(out[2 * i + 1].rsplit(":", 1)[0])
        if not path.startswith(source + "/"):
            fail(f"{program} is built with paths outside of the sources ({out[2 * i]} in {path}): "
                 "build it again with CCACHE_DISABLE=1")
        names[address] = (path[len(source) + 1:], out[2 * i])
    return names


def read_trace(path, program, source):
    """Entries in order: ("enter", thread, (file, function), callers) and ("event", type). `callers` are indices."""
    data = array.array("Q")
    with open(path, "rb") as file:
        data.frombytes(file.read())
    base, text, raw = 0, "", []
    for i in range(0, len(data) - 1, 2):
        value, thread, what = data[i], data[i + 1] & 0xFFFFFFFF, data[i + 1] >> 32
        if what == BASE:
            base = value
        elif what == EVENT:
            text += chr(value)
        elif what == EVENT_END:
            raw.append((EVENT, thread, text))
            text = ""
        else:
            raw.append((what, thread, value - base))
    names = resolve(program, source, {value for what, _, value in raw if what == ENTER})
    steps, stacks = [], {}
    for what, thread, value in raw:
        stack = stacks.setdefault(thread, [])
        if what == EVENT:
            steps.append(("event", thread, value, tuple(stack)))
        elif what == ENTER:
            steps.append(("enter", thread, names[value], tuple(stack)))
            stack.append(len(steps) - 1)
        elif stack:
            stack.pop()
    return steps


class Walk:
    def __init__(self, path):
        self.path, self.emit, self.enter, self.limits, self.rows = path, set(), set(), [], []
        with open(path) as file:
            for number, line in enumerate(file, 1):
                words = line.split("#")[0].split()
                if not words:
                    continue
                if words[0] in ("title", "begin", "end"):
                    setattr(self, words[0], " ".join(words[1:]))
                elif words[0] in ("emit", "enter"):
                    getattr(self, words[0]).add(words[1])
                elif words[0] == "limit":
                    self.limits = [(int(most), what) for most, what in zip(words[1::2], words[2::2])]
                else:
                    self.rows.append((number, words[0].strip("[]") if words[0][0] == "[" else tuple(words[:2])))

    def window(self, steps):
        """Indices of the first and the last step of the walk."""
        first = next(row for _, row in self.rows if isinstance(row, tuple))
        event = next((i for i, s in enumerate(steps) if s[0] == "event" and s[2] == self.begin), None)
        if event is None:
            fail(f"{self.path}: {self.begin} was not written")
        begin = next((i for i in range(event, -1, -1) if steps[i][0] == "enter" and steps[i][2] == first), None)
        if begin is None:
            fail(f"{self.path}: {first[0]} {first[1]} was not entered before {self.begin}")
        end = next((i for i in range(begin, len(steps)) if steps[i][0] == "event" and steps[i][2] == self.end), None)
        if end is None:
            fail(f"{self.path}: {self.end} was not written")
        return begin, end

    def counts(self, steps, i):
        """Whether a step can be part of the walk: a function of ours, not a helper, not within an emission."""
        name = steps[i][2]
        return (not name[0].startswith(UTILITY) and name[1] not in self.emit and
                not any(steps[k][2][1] in self.emit for k in steps[i][3]))

    def callers(self, steps, i, begin):
        """The callers of a step on the walk, outermost first."""
        inner = [k for k in steps[i][3] if k >= begin] + [i]
        for place, k in enumerate(inner):
            if steps[k][2][1] in self.enter:
                inner = inner[place:]
                break
        return [k for k in inner[:-1] if self.counts(steps, k)]

    def check(self, steps):
        """The steps that match the rows, in order."""
        begin, end = self.window(steps)
        listed = {row for _, row in self.rows if isinstance(row, tuple)}
        at, found = begin, []
        for number, row in self.rows:
            kind = "enter" if isinstance(row, tuple) else "event"
            i = next((i for i in range(at, end + 1) if steps[i][0] == kind and steps[i][2] == row and
                      (kind == "event" or self.counts(steps, i))), None)
            what = " ".join(row) if isinstance(row, tuple) else row
            if i is None:
                fail(f"{self.path}:{number}: {what} is not on the way any more (after the line before it)")
            for caller in self.callers(steps, i, begin) if kind == "enter" else ():
                if steps[caller][2] not in listed:
                    fail(f"{self.path}:{number}: {what} was called by {' '.join(steps[caller][2])}, which is not listed")
            found.append(i)
            at = i + 1
        return found

    def report(self, steps):
        found = self.check(steps)
        entered = [i for i in found if steps[i][0] == "enter"]
        names = [steps[i][2] for i in entered]
        loop = steps[found[0]][1]
        threads = [steps[i][1] for i in entered]
        trips = sum(now != loop and before == loop for before, now in zip(threads, threads[1:]))
        counted = {"functions": len(set(names)), "files": len({file for file, _ in names})}
        print(f"{self.title}: {len(names)} steps, {counted['functions']} functions, {counted['files']} files, "
              f"{trips} trips to the pool")
        for i in found:
            if steps[i][0] == "event":
                print(f"       [{steps[i][2]}]")
            else:
                pool = "pool" if steps[i][1] != loop else ""
                print(f"  {pool:4} {steps[i][2][1]:28} {steps[i][2][0]}")
        for most, what in self.limits:
            if counted[what] > most:
                fail(f"{self.path}: the walk has {counted[what]} {what}, and {most} is the limit")

    def print_all(self, steps):
        begin, end = self.window(steps)
        for i in range(begin, end + 1):
            kind, thread, name, callers = steps[i]
            indent = "  " * len([k for k in callers if k >= begin])
            if kind == "event":
                print(f"{thread} {indent}[{name}]")
            elif self.counts(steps, i):
                print(f"{thread} {indent}{name[1]}  {name[0]}")


def main(arguments):
    everything = arguments[0] == "--all"
    source, program, trace, *walks = arguments[everything:]
    steps = read_trace(trace, program, os.path.realpath(source))
    for path in walks:
        walk = Walk(path)
        if everything:
            walk.print_all(steps)
        else:
            walk.report(steps)


if __name__ == "__main__":
    main(sys.argv[1:])
