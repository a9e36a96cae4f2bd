# Changes the harness's own names through the frames of its callers.
# needs: process
# expect: done
# control: hung
# timeout: 1

import sys

frame = sys._getframe()
while frame:
    for name in ("send", "emit_result", "_keyturn", "_run", "_execute", "_describe"):
        if name in frame.f_globals:
            frame.f_globals[name] = lambda *_, **__: None
    frame = frame.f_back
