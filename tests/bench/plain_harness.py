"""Speaks the harness's protocol in one Python process that isolates nothing: the cost of a script without a sandbox."""

import json
import sys


def tell(**event):
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


tell(type="ready")
for line in sys.stdin:
    request = json.loads(line)
    name = request["execution_id"]
    scope = {"emit_result": lambda data: tell(type="final_result", execution_id=name, data=data)}
    exec(compile(request["script"], "<script>", "exec"), scope)
    tell(type="script_done", execution_id=name)
