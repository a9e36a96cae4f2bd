# An ordinary script that checks whether its environment is intact.
import asyncio
import builtins
import colorsys
import decimal
import gc
import json
import os
import resource
import signal
import sys
import textwrap
import threading

assert len([1, 2]) == 2 and builtins.len is len, "len"
assert add(1, 2) == 3, "a tool"
assert json.dumps({"a": [1]}) == '{"a": [1]}', "json"
assert textwrap.dedent(" a") == "a", "textwrap"
assert colorsys.rgb_to_hsv(0, 0, 0) == (0, 0, 0), "colorsys"
assert not [name for name in sys.modules if name.startswith("evil")], "modules"
assert not [one for one in sys.meta_path if type(one).__name__.startswith("Evil")], "import hooks"
assert os.path.realpath(os.getcwd()) == os.path.realpath("@WORK@"), "cwd"
assert "EVIL" not in os.environ and os.environ["PATH"] != "/evil", "environment"
mask = os.umask(0o22)
os.umask(mask)
assert mask & 0o700 == 0, "umask"
assert signal.getsignal(signal.SIGTERM) != signal.SIG_IGN, "signals"
assert signal.SIGUSR1 not in signal.pthread_sigmask(signal.SIG_BLOCK, []), "signal mask"
assert sys.getrecursionlimit() >= 1000, "recursion"
assert sys.getprofile() is None and sys.gettrace() is None, "tracing"
assert gc.isenabled(), "gc"
assert decimal.getcontext().prec == 28, "decimal"
assert threading.active_count() == 1, "threads"
assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 10, "limits"
try:
    b"\xff".decode()
    raise AssertionError("codecs")
except UnicodeDecodeError:
    pass
descriptors = 0
for fd in range(3, 64):
    try:
        os.fstat(fd)
        descriptors += 1
    except OSError:
        pass
assert descriptors <= 4, "descriptors"
with open("sane.txt", "w") as file:
    file.write("sane")
with open("sane.txt") as file:
    assert file.read() == "sane", "files"
os.unlink("sane.txt")


async def answer():
    await asyncio.sleep(0)
    return 42


assert asyncio.run(answer()) == 42, "asyncio"
print("printed")
emit_result("sane")
