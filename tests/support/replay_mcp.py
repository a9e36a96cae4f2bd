#!/usr/bin/env python3
"""A tool server that says what a recorded one said: replay_mcp.py RECORDING

A request is found by its method and its params, whatever its id; what the server said of its own accord before the next
line of the client follows it. What was never recorded is no method; what was never answered is not answered."""
import json
import sys

rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
used = set()
tokens = {}  # of progress: recorded → asked with


def key(message):
    params = {name: value for name, value in (message.get("params") or {}).items() if name != "_meta"}
    if message["method"] in ("initialize", "notifications/initialized", "server/discover"):
        params = {}
    return message["method"], json.dumps(params, sort_keys=True)


def token(message):
    return (message.get("params") or {}).get("_meta", {}).get("progressToken")


def find(message):
    for index, row in enumerate(rows):
        if row["dir"] == "c2s" and "method" in row["msg"] and index not in used and key(row["msg"]) == key(message):
            return index
    return None


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def play(index, ident):
    asked = rows[index]["msg"]
    if asked["method"] != "tools/list":  # which is asked for as often as it is said to have changed
        used.add(index)
    for row in rows[index + 1:]:
        if row["dir"].startswith("c2s"):
            break
        if row["dir"] == "stderr":
            sys.stderr.write(row["msg"] + "\n")
        elif row["dir"] == "s2c" and "method" in row["msg"]:
            message = row["msg"]
            recorded = (message.get("params") or {}).get("progressToken")
            if recorded is not None:
                message["params"]["progressToken"] = tokens.get(recorded, recorded)
            send(message)
    if ident is None:
        return
    for row in rows[index + 1:]:
        if row["dir"] == "s2c" and "method" not in row["msg"] and row["msg"].get("id") == asked["id"]:
            send({**row["msg"], "id": ident})
            return


for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        continue
    found = find(message)
    if found is not None:
        tokens[token(rows[found]["msg"])] = token(message)
        play(found, message.get("id"))
    elif message["method"] == "initialize":  # in a recording that begins without
        send({"jsonrpc": "2.0", "id": message["id"],
              "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "recorded"}}})
    elif message["method"] == "tools/list":  # in one whose calls are about something else
        send({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}})
    elif "id" in message:
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
