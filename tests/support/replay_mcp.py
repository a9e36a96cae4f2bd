#!/usr/bin/env python3
"""Runs an MCP server that repeats the answers of a recorded one: replay_mcp.py RECORDING

A request is found by its method and its params, with any id; messages that the server sent without a request follow
before the next line of the client. A request that is not in the recording gets "method not found"; one without a
recorded answer gets none."""
import json
import sys

rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
used = set()
tokens = {}  # progress tokens: recorded → requested


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
    if asked["method"] != "tools/list":  # requested as often as the server reports a change
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
    elif message["method"] == "initialize":  # in a recording without a handshake
        send({"jsonrpc": "2.0", "id": message["id"],
              "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "recorded"}}})
    elif message["method"] == "tools/list":  # in one whose calls test something else
        send({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}})
    elif "id" in message:
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
