"""Runs scripts in its own process and speaks its protocol on the stdout that they print to: an insecure harness for
controls.

Bodies that the design of the real one stops (a process per script, a supervisor that alone owns the protocol and the
deadline) must succeed here; otherwise they prove nothing."""

import json
import os
import signal
import sys
import traceback

sys.path.insert(0, "")
tools, work = sys.argv[1:3]
os.chdir(work)
base, current, history = {}, None, []


def send(kind, **fields):
    print(json.dumps({"type": kind, "execution_id": current, **fields}), flush=True)


def emit_result(data):
    send("final_result", data=data)


def emit_log(message, level="info"):
    send("log", message=message, level=level)


def expire(*_):
    raise TimeoutError("Script timed out")


for file in sorted(os.listdir(tools)):
    exec(open(os.path.join(tools, file)).read(), base)
base |= {"emit_result": emit_result, "emit_log": emit_log, "__name__": "__main__"}
signal.signal(signal.SIGALRM, expire)
send("ready")
for line in sys.stdin:
    request = json.loads(line)
    current = request["execution_id"]
    history.append(request["script"])
    secrets = {name: os.environ.get(name) for name in request["required_secrets"]}
    signal.alarm(request["timeout"])
    try:
        exec(request["script"], dict(base))
    except BaseException as wrong:
        try:
            send("error", message=repr(wrong), traceback=traceback.format_exc())
        except Exception:
            sys.excepthook(*sys.exc_info())
    signal.alarm(0)
    send("script_done")
