#!/usr/bin/env python3
"""Runs a fake model on the loopback: model_server.py FOLDER ANSWER…

Writes its address to FOLDER/url, each request to FOLDER/N.request (head and body), and answers them in order; the last
answer is repeated. Answers: CALL and TEXT stream a call of read_file and a text, in the dialect of the requested
path; CALL:NAME:JSON one of another tool with these arguments; SAY:TEXT streams this text in pieces of a few letters;
CUT streams a part of the call and breaks off; SILENT begins a text, sends no more and writes FOLDER/gone when the client
has left; a number is that HTTP status with an error, WAIT one with "retry after 40 s", LONG one for a prompt that is too
long. With TLS_CERT and TLS_KEY in the environment it speaks TLS."""

import json
import os
import pathlib
import ssl
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

folder = pathlib.Path(sys.argv[1])
answers = sys.argv[2:]
asked = 0


def call(kind):
    """The name of the tool, and its arguments in two pieces."""
    name, arguments = kind.split(":", 2)[1:] if kind.startswith("CALL:") else ("read_file", '{"path": "a.txt"}')
    middle = len(arguments) // 2
    return name, (arguments[:middle], arguments[middle:])


def pieces_of(kind):
    """The pieces of a streamed text; None if it is no text."""
    if kind.startswith("SAY:"):
        return [kind[at:at + 5] for at in range(4, len(kind), 5)]
    return ("All ", "seen.") if kind == "TEXT" else None


def anthropic(kind):
    yield {"type": "message_start", "message": {"usage": {"input_tokens": 1000, "cache_read_input_tokens": 200, "output_tokens": 1}}}
    text = pieces_of(kind)
    if text:
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        for piece in text:
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
    else:
        name, pieces = call(kind)
        block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        for piece in pieces:
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
    yield {"type": "content_block_stop", "index": 0}
    stop = "end_turn" if text else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 100}}
    yield {"type": "message_stop"}


def openai(kind):
    def chunk(delta, reason=None):
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    text = pieces_of(kind)
    if text:
        for piece in text:
            yield chunk({"role": "assistant", "content": piece})
        yield chunk({}, "stop")
    else:
        name, pieces = call(kind)
        function = {"name": name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
        for piece in pieces:
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
        yield chunk({}, "tool_calls")
    yield {"choices": [], "usage": {"prompt_tokens": 1200, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 200}}}
    yield "[DONE]"


def stream(path, kind):
    events = anthropic(kind) if path.endswith("/messages") else openai(kind)
    return "".join("data: %s\n\n" % (e if isinstance(e, str) else json.dumps(e)) for e in events).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        global asked
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = answers[min(asked, len(answers) - 1)]
        asked += 1
        (folder / f"{asked}.request").write_bytes(f"{self.requestline}\n{self.headers}".encode() + body)
        if answer.isdigit():
            error = {"type": "error", "error": {"type": "some_error", "message": "Key %s is not liked" % self.key()}}
            self.reply(int(answer), "application/json", json.dumps(error).encode(), {"retry-after-ms": "30"})
        elif answer == "WAIT":
            self.reply(529, "application/json", b'{"error":{"message":"Overloaded"}}', {"retry-after": "40"})
        elif answer == "LONG":
            error = {"message": "prompt is too long", "type": "invalid_request_error", "code": "context_length_exceeded"}
            self.reply(400, "application/json", json.dumps({"error": error}).encode(), {})
        elif answer == "SILENT":
            whole = stream(self.path, "TEXT")
            begun = whole[: whole.rindex(b"data:", 0, whole.index(b"seen."))]
            self.reply(200, "text/event-stream", begun, {}, len(whole))
            self.rfile.read(1)
            (folder / "gone").touch()
            self.close_connection = True
        elif answer == "CUT":
            whole = stream(self.path, "CALL")
            self.reply(200, "text/event-stream", whole[: len(whole) * 2 // 3], {}, len(whole))
            self.close_connection = True
        else:
            self.reply(200, "text/event-stream", stream(self.path, answer), {})

    def key(self):
        return self.headers["x-api-key"] or (self.headers["Authorization"] or "").removeprefix("Bearer ")

    def reply(self, status, kind, body, headers, length=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length or len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
scheme = "http"
if "TLS_CERT" in os.environ:
    scheme = "https"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.environ["TLS_CERT"], os.environ["TLS_KEY"])
    server.socket = context.wrap_socket(server.socket, server_side=True)
(folder / "url.new").write_text(f"{scheme}://127.0.0.1:{server.server_port}\n")
(folder / "url.new").rename(folder / "url")
server.serve_forever()
