"""Functions and guards that a script and its tools run with.

Runs in the zygote. `_keyturn.send(kind, text)` writes a record for the supervisor; nothing here is trusted by it. A name
that scripts do not need to see begins with an underscore; frames of this file are left out of tracebacks.

One module in three files, in this order: what there is to say (here), the tools (prelude_tools.py), and how a script is run
(prelude_run.py).
"""

import builtins
import functools
import io
import json
import json.encoder
import os
import signal
import sys
import types

import _keyturn
import _thread

_SCRIPT = "<script>"
_HERE = "<harness>"
_TOOLS = "keyturn_tools"
_DEPTH = 64
_RECORD_MAX = 8 << 20
_VALUES_MAX = 499900  # the record adds a few to the script's
_ERROR_MAX = 512 << 10
_FRAMES_MAX = 1000  # of a traceback
_NO_NATIVE_CODE = "failed to map segment"  # text of the loader's error
# What the distribution or the maker of an image installed for the tools.
_PACKAGES = (
    f"/usr/local/lib/python{sys.version_info.major}.{sys.version_info.minor}/dist-packages",
    "/usr/lib/python3/dist-packages",
)
_COROUTINE = 0x80  # CO_COROUTINE
# The effects that a tool file may declare for its functions, the weakest first, and the default: a script can do that
# much without any tool.
_EFFECTS = ("READ_ONLY", "LOCAL_WRITE", "NETWORK", "DESTRUCTIVE")
_UNDECLARED = "LOCAL_WRITE"


class ToolResult:
    """The result of a tool that reports whether it succeeded."""

    __slots__ = ("success", "data", "message")

    def __init__(self, success, data=None, message=""):
        self.success = success
        self.data = data
        self.message = message

    def __repr__(self):
        return f"ToolResult(success={self.success!r}, data={self.data!r}, message={self.message!r})"

    def __eq__(self, other):
        if not isinstance(other, ToolResult):
            return NotImplemented
        return (self.success, self.data, self.message) == (other.success, other.data, other.message)

    def __bool__(self):
        return bool(self.success)


class ScriptTimeout(BaseException):
    """Raised in the script at its deadline."""


ScriptTimeout.__module__ = ToolResult.__module__ = "builtins"


# Values
#
# The rule is a strict json.dumps. NaN, infinities, integers of thousands of digits, and values other than dict, list,
# tuple, text, number, bool, None or ToolResult are an error that names their place. Keys that are numbers, bools or None
# become texts. A lone surrogate and a NUL arrive as U+FFFD. At most 64 levels, 8 MB,
# half a million values.


def _as_json(value):
    if isinstance(value, ToolResult):
        return {"success": value.success, "data": value.data, "message": value.message}
    raise TypeError


# The encoder that json.dumps would make for every call, made once. It tracks the containers it is inside of.
_inside = {}
_chunks = json.encoder.c_make_encoder(
    _inside, _as_json, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, False
)


def _encode(value):
    try:
        return "".join(_chunks(value, 0))
    except BaseException:
        _inside.clear()
        raise


def _short(key):
    """A short key as a script writes it; a long one might contain a part of a masked value."""
    text = repr(key)
    return text if len(text) <= 80 else f"a key of {len(text)} characters"


def _fault(value, path, above):
    """The part of the value that JSON cannot hold, with its position; None if JSON can hold all of it."""
    if isinstance(value, ToolResult):
        value = _as_json(value)
    if value is None or isinstance(value, (str, bool)):
        return None
    if isinstance(value, int):
        try:
            int.__repr__(value)
        except ValueError:
            return f"{path} is an integer of more than {sys.get_int_max_str_digits()} digits"
        return None
    if isinstance(value, float):
        return None if value - value == 0 else f"{path} is {float.__repr__(value)}"
    if isinstance(value, types.CoroutineType):
        return f"{path} is a coroutine (await the tool, because an event loop is running)"
    if not isinstance(value, (dict, list, tuple)):
        return f"{path} is of type {type(value).__name__}"
    if len(above) >= _DEPTH:
        return f"{path} is nested deeper than {_DEPTH} levels"
    if any(value is one for one in above):
        return f"{path} contains itself"
    above = above + [value]
    if isinstance(value, dict):
        for key, item in value.items():
            if key is not None and not isinstance(key, (str, int, float)):
                return f"{path} has a key of type {type(key).__name__}"
            if isinstance(key, float) and key - key != 0:
                return f"{path} has the key {float.__repr__(key)}"
            why = _fault(item, f"{path}[{_short(key)}]", above)
            if why:
                return why
        return None
    for index, item in enumerate(value):
        why = _fault(item, f"{path}[{index}]", above)
        if why:
            return why
    return None


def _brackets_and_commas(value):
    """The number of JSON values in the value, as the supervisor counts them."""
    if isinstance(value, ToolResult):
        value = _as_json(value)
    if isinstance(value, dict):
        return max(len(value), 1) + sum(map(_brackets_and_commas, value.values()))
    if isinstance(value, (list, tuple)):
        return max(len(value), 1) + sum(map(_brackets_and_commas, value))
    return 0


def _text(who, data):
    """The value as JSON, or an error that names the part that is not JSON."""
    try:
        text = _encode(data)
    except (TypeError, ValueError, RecursionError) as wrong:
        why = _fault(data, "data", []) or str(wrong)
        kind = TypeError if isinstance(wrong, TypeError) else ValueError
        raise kind(f"{who}: {why}, which JSON cannot hold") from None
    if text.count("[") + text.count("{") > _DEPTH:
        why = _fault(data, "data", [])
        if why:
            raise ValueError(f"{who}: {why}")
    if len(text) > _RECORD_MAX - 4096:
        raise ValueError(f"{who}: {len(text)} bytes are too many (at most {_RECORD_MAX - 4096})")
    if len(text) > _VALUES_MAX:
        count = _brackets_and_commas(data)
        if count > _VALUES_MAX:
            raise ValueError(f"{who}: {count} values are too many (at most {_VALUES_MAX})")
    return text


# What a script can say


_unsaid = False  # there may be printed text that waits in a stream; asking the streams themselves costs more than an event


def _flush():
    global _unsaid
    for stream in (_stdout, _stderr):
        try:
            stream.flush()
        except ValueError:  # closed by the script
            pass
    _unsaid = False


def emit_result(data):
    """Sends the result of the task. The script continues; the host takes the first of several results."""
    text = _text("emit_result", data)
    if _unsaid:
        _flush()
    _keyturn.send("R", text)


def emit_intermediate(label, data):
    """Sends an intermediate result."""
    if _unsaid:
        _flush()
    if _keyturn.intermediate(label, data):
        return
    text = _text("emit_intermediate", data)
    label = _encode(str(label))
    _keyturn.send("I", f'{{"label":{label},"data":{text}}}')


def emit_log(message, level="info"):
    """Sends a message that is not part of the result."""
    text = _text("emit_log", {"message": str(message), "level": str(level)})
    if _unsaid:
        _flush()
    _keyturn.send("L", text)


class _Printed(io.RawIOBase):
    """Sends printed text as events, so that text and events stay in order."""

    def __init__(self, kind, descriptor):
        self._kind = kind
        self._descriptor = descriptor

    def writable(self):
        return True

    def fileno(self):
        return self._descriptor

    def write(self, data):
        return _keyturn.print(self._kind, data)


_write_bytes = io.BufferedWriter.write
_write_text = io.TextIOWrapper.write


class _Bytes(io.BufferedWriter):
    def write(self, data):
        global _unsaid
        _unsaid = True
        return _write_bytes(self, data)


class _Text(io.TextIOWrapper):
    def write(self, text):
        global _unsaid
        _unsaid = True
        return _write_text(self, text)


def _printing(kind, descriptor):
    raw = _Bytes(_Printed(kind, descriptor))
    return _Text(raw, "utf-8", "backslashreplace", line_buffering=True)


_stdout = sys.stdout = sys.__stdout__ = _printing("O", 1)
_stderr = sys.stderr = sys.__stderr__ = _printing("E", 2)


# Files
#
# No layer checks calls that change a file's mode or times by its name, so the filter refuses them. The same calls on a
# descriptor are allowed: the layers checked the file when the script opened it.


def _through_descriptor(change):
    """Wraps a function of os: called with a name, it opens the file and passes the descriptor."""

    @functools.wraps(change)
    def call(path, *args, dir_fd=None, follow_symlinks=True, **kwargs):
        if isinstance(path, int):
            return change(path, *args, **kwargs)
        flags = os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_symlinks else os.O_NOFOLLOW)
        try:
            descriptor = os.open(path, os.O_RDONLY | flags, dir_fd=dir_fd)
        except PermissionError:  # not readable, but perhaps writable
            descriptor = os.open(path, os.O_WRONLY | flags, dir_fd=dir_fd)
        try:
            return change(descriptor, *args, **kwargs)
        finally:
            os.close(descriptor)

    return call


os.chmod = _through_descriptor(os.chmod)
os.utime = _through_descriptor(os.utime)


# Leaving


def _leave(code=None):
    """Kills the script, and reports to the host that it did not end by itself."""
    raise SystemExit(code)


builtins.exit = builtins.quit = _leave
_limit = "0"


def _on_timeout(number, frame):
    raise ScriptTimeout(f"Script timed out after {_limit}s")


signal.signal(signal.SIGRTMAX, _on_timeout)
