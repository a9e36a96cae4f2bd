#!/usr/bin/env python3
"""Runs a hostile model on the loopback: hostile_model.py FOLDER KIND

Writes its address to FOLDER/url and counts requests in FOLDER/asked. Each request gets the same answer, in the dialect of
the requested path. Kinds (N is a number, 0: until the client leaves):
  same-ids:N     N calls with one id            ids:N          N calls with ids of their own
  unknown:N      N calls of an unknown tool     blocks:N       N empty blocks of text
  text:N         N MiB of text, small pieces    lumps:N        N MiB of text, pieces of 1 MiB
  thinking:N     N MiB of thinking              arguments:N    one call, N MiB of arguments in pieces
  fields:N       one call, N fields             deep:N         one call, arguments N deep
  event:N        one event of N MiB             line:N         one line of N MiB without an end
  comments:N     N MiB of empty comments        nul:N          N MiB of text with NUL bytes
  write:N        write_file with N MiB          late           a text, then one of these on the second request: TEXT"""

import json
import pathlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder = pathlib.Path(sys.argv[1])
kind, _, number = sys.argv[2].partition(":")
number = int(number or 0)
MIB = 1 << 20
asked = 0


def upto(size):
    """Counts pieces of this size to N MiB, or forever."""
    sent = 0
    while not number or sent < number * MIB:
        sent += size
        yield


class Anthropic:
    begin = {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}}

    def block(self, index, block):
        return {"type": "content_block_start", "index": index, "content_block": block}

    def delta(self, index, delta):
        return {"type": "content_block_delta", "index": index, "delta": delta}

    def text(self, pieces, kind="text"):
        yield self.block(0, {"type": kind, kind: ""})
        for piece in pieces:
            yield self.delta(0, {"type": kind + "_delta", kind: piece})
        yield {"type": "content_block_stop", "index": 0}

    def thinking(self, pieces):
        return self.text(pieces, "thinking")

    def call(self, index, id, name, pieces):
        yield self.block(index, {"type": "tool_use", "id": id, "name": name, "input": {}})
        for piece in pieces:
            yield self.delta(index, {"type": "input_json_delta", "partial_json": piece})
        yield {"type": "content_block_stop", "index": index}

    def end(self, calls):
        yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if calls else "end_turn"}, "usage": {"output_tokens": 9}}
        yield {"type": "message_stop"}


class OpenAI:
    begin = {"choices": []}

    def chunk(self, delta, reason=None):
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    def text(self, pieces, kind="content"):
        for piece in pieces:
            yield self.chunk({kind: piece})

    def thinking(self, pieces):
        return self.text(pieces, "reasoning")

    def call(self, index, id, name, pieces):
        function = {"name": name, "arguments": ""}
        yield self.chunk({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
        for piece in pieces:
            yield self.chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    def end(self, calls):
        yield self.chunk({}, "tool_calls" if calls else "stop")
        yield "[DONE]"


def pieces_of(whole, size=60000):
    return (whole[at:at + size] for at in range(0, len(whole), size))


def events(speak):
    calls = True
    yield speak.begin
    if kind in ("same-ids", "ids", "unknown"):
        name = "no_such_tool" if kind == "unknown" else "read_file"
        for i in range(number):
            yield from speak.call(i, "same" if kind == "same-ids" else "id%d" % i, name, ['{"path":"a.txt","offset":%d}' % (i + 1)])
    elif kind == "blocks":
        calls = False
        for i in range(number):
            yield {"type": "content_block_start", "index": i, "content_block": {"type": "text", "text": ""}}
            yield {"type": "content_block_stop", "index": i}
    elif kind in ("text", "lumps", "nul"):
        calls = False
        piece = {"text": "All work and no play. ", "lumps": "All work.\n" * (MIB // 10), "nul": "\0\ud800" * 5000}[kind]
        yield from speak.text(piece for _ in upto(len(piece)))
    elif kind == "thinking":
        calls = False
        yield from speak.thinking("Let me see. " * 10 for _ in upto(120))
    elif kind == "arguments":
        def pieces():
            yield '{"path":"'
            for _ in upto(4000):
                yield "a" * 4000
            yield '"}'
        yield from speak.call(0, "id", "read_file", pieces())
    elif kind == "write":
        whole = json.dumps({"path": "new.txt", "content": "some line of text\n" * (number * MIB // 18)})
        yield from speak.call(0, "id", "write_file", pieces_of(whole))
    elif kind == "fields":
        whole = json.dumps({"path": "a.txt", **{"f%d" % i: i for i in range(number)}})
        yield from speak.call(0, "id", "read_file", pieces_of(whole))
    elif kind == "deep":
        yield from speak.call(0, "id", "read_file", pieces_of('{"path":' + "[" * number + "]" * number + "}"))
    elif kind == "event":
        calls = False
        yield from speak.text(["x" * (number * MIB)])
    yield from speak.end(calls)


def raw(speak):
    if kind == "line":
        yield b"data: "
        for _ in upto(65536):
            yield b"x" * 65536
    elif kind == "comments":
        for _ in upto(65536):
            yield b":\n\n\n" * 16384
    else:
        held = []
        size = 0
        for event in events(speak):
            data = event if isinstance(event, str) else json.dumps(event)
            held.append(("data: %s\n\n" % data).encode())
            size += len(held[-1])
            if size > 65536:
                yield b"".join(held)
                held, size = [], 0
        yield b"".join(held)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        global asked
        self.rfile.read(int(self.headers["Content-Length"]))
        asked += 1
        (folder / "asked").write_text(f"{asked}\n")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        speak = Anthropic() if self.path.endswith("/messages") else OpenAI()
        if asked > 1 and kind in ("ids", "same-ids", "unknown", "write", "fields", "deep", "arguments"):
            for event in [speak.begin, *speak.text(["Done."]), *speak.end(False)]:
                self.wfile.write(("data: %s\n\n" % (event if isinstance(event, str) else json.dumps(event))).encode())
            return
        try:
            for piece in raw(speak):
                self.wfile.write(piece)
        except OSError:
            (folder / "left").touch()

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
(folder / "url.new").write_text(f"http://127.0.0.1:{server.server_port}\n")
(folder / "url.new").rename(folder / "url")
server.serve_forever()
