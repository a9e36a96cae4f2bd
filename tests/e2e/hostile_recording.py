#!/usr/bin/env python3
"""Writes a hostile recording to standard output. hostile_recording.py KIND:N
  events:N    N pieces of an answer             line:N      an answer of N MiB in one line of text
  newlines:N  an answer of N MiB, every second byte a line end
  deep:N      calls N deep                      calls:N     N calls in one answer
  started:N   N calls that ran                  same:N      N calls of one id, and outcomes without a call
  output:N    N lines of output of a call       diff:N      a write of N lines
  arguments:N a call whose argument has N lines ended:N     a turn whose last text is N empty lines
  marks:N     an answer of one letter and N marks above it  word:N  an answer of N letters without a blank"""

import json
import sys

kind, number = sys.argv[1].split(":")
number = int(number)


def event(**fields):
    print(json.dumps(fields, ensure_ascii=False))


def answer(text, calls=()):
    event(type="model.responded", turn=1, step=1, text=text, tool_calls=list(calls), stop="end_turn", t=3000, seq=3)


def call(i):
    return {"id": "c%d" % i, "name": "read_file", "arguments": {"path": "a.txt"}}


def started(id, at, seq):
    event(type="tool.started", turn=1, call=id, tool="read_file", arguments={"path": "a.txt"}, effect="READ_ONLY", t=at, seq=seq)


def finished(id, at, seq):
    event(type="tool.finished", turn=1, call=id, tool="read_file", outcome="result", result={"output": "x" * 200}, t=at, seq=seq)


event(type="session.started", v=1, session="s", model={"provider": "scripted", "name": "hand"}, t=0, seq=1)
event(type="turn.started", turn=1, prompt="go", t=1000, seq=2)
if kind == "events":
    for i in range(number):
        event(type="model.delta", turn=1, step=1, text="word %d " % i, t=2000 + i, seq=3 + i)
elif kind == "line":
    answer("x" * (number << 20))
elif kind == "newlines":
    answer("x\n" * (number << 19))
elif kind == "deep":
    print('{"type":"model.responded","turn":1,"step":1,"text":"x","tool_calls":' + "[" * number + "]" * number + "}")
elif kind == "calls":
    answer("x", [call(i) for i in range(number)])
elif kind == "started":
    answer("x", [call(i) for i in range(number)])
    for i in range(number):
        started("c%d" % i, 4000 + i, 4 + 2 * i)
        finished("c%d" % i, 4000 + i, 5 + 2 * i)
elif kind == "same":
    for i in range(number):
        started("c", 4000 + i, 4 + 2 * i)
        finished("unknown%d" % i, 4000 + i, 5 + 2 * i)
elif kind == "output":
    answer("x", [call(0)])
    started("c0", 4000, 4)
    for i in range(number):
        event(type="tool.output", turn=1, call="c0", stream="stdout", text="line %d of output\n" % i, t=4000 + i, seq=5 + i)
elif kind == "diff":
    diff = "--- a\n+++ b\n@@ -1,%d +1,%d @@\n" % (number, number) + "-old\n" * number + "+new\n" * number
    answer("x", [call(0)])
    started("c0", 4000, 4)
    event(type="write.proposed", turn=1, call="c0", ask="1", digest="d", diff=diff,
          files=[{"path": "a", "diff": diff, "added": number, "removed": number}], t=5000, seq=5)
elif kind == "arguments":
    answer("x", [{"id": "c0", "name": "write_file", "arguments": {"path": "f", "content": "x\n" * number}}])
elif kind == "marks":
    answer("e" + "\u0301" * number)
elif kind == "word":
    answer("x" * number)
event(type="turn.finished", turn=1, status="done", text="\n" * number if kind == "ended" else "x", steps=1, t=10 ** 7, seq=5 * 10 ** 6)
