#!/usr/bin/env python3
"""Runs a hostile MCP server on stdio: hostile_mcp.py KIND. It offers the tool `go`, and more for some kinds (N is a number):
  tools:N      N tools                             schemas:N    tools with N KiB of schema, 7 MiB of them
  nested:N     tools whose schema is N deep        text:N       its answer has N MiB of text
  error:N      its answer fails with N MiB         lines:N      its answer has N MiB of text in lines
  values:N     its answer has N values             items:N      its answer has N items
  many:N       its answer is N answers at once     notes:N      N notifications before the answer
  noise:N      N lines without a meaning           line:N       N MiB without an end
  deep:N       an answer N deep                    stderr:N     N MiB on stderr
  progress:N   N progress notifications          form:N       asks for a form with N fields"""

import json
import sys

kind, _, number = sys.argv[1].partition(":")
number = int(number or 0)
MIB = 1 << 20
out = sys.stdout


def send(message):
    out.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    out.flush()


def tool(name, **more):
    return {"name": name, "description": "does " + name, "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
            "annotations": {"readOnlyHint": True, "openWorldHint": False}, **more}


def tools():
    offers = [tool("go")]
    if kind == "tools":
        offers += [tool("t%d" % i) for i in range(number)]
    elif kind == "schemas":
        words = {"w%d" % i: {"type": "string", "enum": ["x%d" % j for j in range(20)]} for i in range(number * 1024 // 210)}
        offers += [tool("t%d" % i, inputSchema={"type": "object", "properties": words}) for i in range(7 * 1024 // number)]
    elif kind == "nested":
        schema = {"type": "string"}
        for _ in range(number):
            schema = {"type": "object", "properties": {"a": schema, "b": {"type": "string"}}}
        offers += [tool("t%d" % i, inputSchema=schema) for i in range(50)]
    return offers


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(ident, params):
    result = text("done")
    if kind == "text":
        result = text("x" * (number * MIB))
    elif kind == "error":
        result = text("x\n" * (number * MIB // 2), isError=True)
    elif kind == "lines":
        result = text("a line\n" * (number * MIB // 7))
    elif kind == "values":
        result = {"content": [], "structuredContent": {"a": [1] * number}}
    elif kind == "items":
        result = {"content": [{"type": "text", "text": "i%d" % i} for i in range(number)]}
    elif kind == "many":
        out.write(json.dumps([{"jsonrpc": "2.0", "id": ident, "result": result}] * number) + "\n")
    elif kind == "notes":
        for i in range(number):
            out.write('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"note %d"}}\n' % i)
    elif kind == "noise":
        out.write("this is no message\n" * number)
    elif kind == "line":
        for _ in range(number):
            out.write("x" * MIB)
        out.write("\n")
    elif kind == "deep":
        out.write('{"jsonrpc":"2.0","id":%d,"result":%s%s}\n' % (ident, "[" * number, "]" * number))
    elif kind == "stderr":
        for _ in range(number):
            sys.stderr.write("a complaint\n" * (MIB // 12))
    elif kind == "progress":
        token = params.get("_meta", {}).get("progressToken")
        for i in range(number):
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": i, "message": "word " * 100}})
    elif kind == "form":
        fields = {"f%d" % i: {"type": "string", "title": "x" * 100} for i in range(number)}
        send({"id": "q", "method": "elicitation/create", "params": {"message": "x" * 100000, "requestedSchema": {"type": "object", "properties": fields}}})
    send({"id": ident, "result": result})


for line in sys.stdin:
    message = json.loads(line)
    method, ident = message.get("method"), message.get("id")
    if method == "initialize":
        send({"id": ident, "result": {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                                      "serverInfo": {"name": "hostile", "version": "1"}}})
    elif method == "tools/list":
        send({"id": ident, "result": {"tools": tools()}})
    elif method == "tools/call":
        call(ident, message["params"])
    elif method and ident is not None:
        send({"id": ident, "error": {"code": -32601, "message": "Method not found"}})
