"""What scripts and tools find around them.

Runs in the zygote. `_keyturn.send(kind, text)` writes a record for the supervisor; nothing here is trusted by it. A name
that scripts do not need to see begins with an underscore; frames of this file are left out of tracebacks.
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
_VALUES_MAX = 499900  # the record has a few more than the script's
_ERROR_MAX = 512 << 10
# What the distribution or the maker of an image installed for the tools.
_PACKAGES = (
    f"/usr/local/lib/python{sys.version_info.major}.{sys.version_info.minor}/dist-packages",
    "/usr/lib/python3/dist-packages",
)
_COROUTINE = 0x80  # CO_COROUTINE
# What a file of tools may say of its functions, the weakest first, and what is taken for granted where it says nothing:
# a script can do that much without any tool.
_EFFECTS = ("READ_ONLY", "LOCAL_WRITE", "NETWORK", "DESTRUCTIVE")
_UNDECLARED = "LOCAL_WRITE"


class ToolResult:
    """What a tool gives back when it wants to say whether it succeeded."""

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
    """Raised in the script when its time is over."""


ScriptTimeout.__module__ = ToolResult.__module__ = "builtins"


# Values
#
# The rule is json.dumps without its liberties: NaN and infinities, integers of thousands of digits, and whatever is no
# dict, list, tuple, text, number, bool, None or ToolResult is an error that names where in the value it stands. Keys that
# are numbers, bools or None become texts. A lone surrogate and a NUL arrive as U+FFFD. At most 64 levels, 8 MiB,
# half a million values.


def _as_json(value):
    if isinstance(value, ToolResult):
        return {"success": value.success, "data": value.data, "message": value.message}
    raise TypeError


# The encoder that json.dumps would make for every call, made once. It marks the containers it is inside of.
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
    """A key as it is written in a script, when that is short: a part of it may be a part of a secret."""
    text = repr(key)
    return text if len(text) <= 80 else f"a key of {len(text)} characters"


def _fault(value, path, above):
    """Why JSON cannot hold the value: where in it, and what; None when it can."""
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
    """How many of them the value has as JSON: what the supervisor counts."""
    if isinstance(value, ToolResult):
        value = _as_json(value)
    if isinstance(value, dict):
        return max(len(value), 1) + sum(map(_brackets_and_commas, value.values()))
    if isinstance(value, (list, tuple)):
        return max(len(value), 1) + sum(map(_brackets_and_commas, value))
    return 0


def _text(who, data):
    """The value as JSON, or an error that names what in it is none."""
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


def _flush():
    for stream in (_stdout, _stderr):
        try:
            stream.flush()
        except ValueError:  # closed by the script
            pass


def emit_result(data):
    """Gives the result of the task. The script goes on; of several results the host takes the first."""
    text = _text("emit_result", data)
    _flush()
    _keyturn.send("R", text)


def emit_intermediate(label, data):
    """Shows something on the way to the result."""
    _flush()
    if _keyturn.intermediate(label, data):
        return
    text = _text("emit_intermediate", data)
    label = _encode(str(label))
    _keyturn.send("I", f'{{"label":{label},"data":{text}}}')


def emit_log(message, level="info"):
    """Says something that is no part of the result."""
    text = _text("emit_log", {"message": str(message), "level": str(level)})
    _flush()
    _keyturn.send("L", text)


class _Printed(io.RawIOBase):
    """Printed text takes the way of the events, so that both stay in the order they were made in."""

    def __init__(self, kind, descriptor):
        self._kind = kind
        self._descriptor = descriptor

    def writable(self):
        return True

    def fileno(self):
        return self._descriptor

    def write(self, data):
        return _keyturn.print(self._kind, data)


def _printing(kind, descriptor):
    raw = io.BufferedWriter(_Printed(kind, descriptor))
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True)


_stdout = sys.stdout = sys.__stdout__ = _printing("O", 1)
_stderr = sys.stderr = sys.__stderr__ = _printing("E", 2)


# Files
#
# The calls that change a file's mode or times by its name ask nobody whether a script may reach it, so they are refused.
# Through a descriptor they may: whoever has one was let in.


def _through_descriptor(change):
    """The function of os, which is given a descriptor of the file where it was called with a name."""

    @functools.wraps(change)
    def call(path, *args, dir_fd=None, follow_symlinks=True, **kwargs):
        if isinstance(path, int):
            return change(path, *args, **kwargs)
        flags = os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_symlinks else os.O_NOFOLLOW)
        try:
            descriptor = os.open(path, os.O_RDONLY | flags, dir_fd=dir_fd)
        except PermissionError:  # not to be read, but perhaps to be written
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
    """Ends the script; the host is told that it did not end by itself."""
    raise SystemExit(code)


builtins.exit = builtins.quit = _leave
_limit = "0"


def _on_timeout(number, frame):
    raise ScriptTimeout(f"Script timed out after {_limit}s")


signal.signal(signal.SIGRTMAX, _on_timeout)


# Tools


_loop = None


def _start_loop():
    """A thread with an event loop, for tools that are coroutines; made when the first of them is called."""
    import asyncio
    import threading

    global _loop
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="tool-loop", daemon=True).start()
    _loop = loop


def _awaited(coroutine):
    """What the coroutine gives. Inside a running loop it stays what it is: awaitable."""
    import asyncio

    if asyncio._get_running_loop() is not None:
        return coroutine
    if _loop is None:
        _start_loop()
    return asyncio.run_coroutine_threadsafe(coroutine, _loop).result()


def _sync(function, name):
    """Makes a function callable without await, whether it is a coroutine function or only gives a coroutine back."""

    def call(*args, **kwargs):
        got = function(*args, **kwargs)
        return _awaited(got) if type(got) is types.CoroutineType else got

    call.__name__ = call.__qualname__ = name  # a partial has none
    functools.update_wrapper(call, function)
    call.__module__ = _TOOLS
    return call


def _innermost(value):
    """The function below partials and decorators that say what they wrap."""
    for _ in range(_DEPTH):
        if isinstance(value, functools.partial):
            value = value.func
        elif isinstance(value, types.FunctionType) and hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        else:
            break
    return value


def _is_async(value):
    code = getattr(value, "__code__", None)
    return code is not None and bool(code.co_flags & _COROUTINE)


def _tame(scope, name, value):
    """The value as scripts see it. Other tools see an asynchronous one in the same way."""
    inner = _innermost(value)
    if getattr(inner, "__module__", None) != _TOOLS:
        return value
    if isinstance(inner, types.FunctionType):
        if _is_async(inner):
            value = scope[name] = _sync(value, name)
        elif isinstance(value, types.FunctionType):  # may be a decorator's, around a coroutine function
            value = _sync(value, name)
    elif _is_async(getattr(type(value), "__call__", None)):
        kind = type(value)
        kind.__call__ = _sync(kind.__call__, "__call__")
    return value


def _tool_files(folder):
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    except OSError as wrong:
        emit_log(f"tools: {wrong.strerror}: {folder}", "error")
        return []
    return [os.path.join(folder, name) for name in names]


def _declared(path, scope):
    """The effect that the file has set for its functions. One that nobody knows counts as the strongest."""
    effect = scope.get("EFFECT", _UNDECLARED)
    if isinstance(effect, str) and effect in _EFFECTS:
        return effect
    emit_log(f"tools: {path}: EFFECT is {_short(effect)}, none of {', '.join(_EFFECTS)}; taken as {_EFFECTS[-1]}", "error")
    return _EFFECTS[-1]


def _load_file(path, scope, effects):
    """Runs the file; notes for every name that it sets the effect it declares."""
    scope["__name__"] = _TOOLS
    scope["__file__"] = path
    scope.pop("EFFECT", None)
    old = dict(scope)
    before = _thread._count()
    try:
        with io.open_code(path) as file:
            source = file.read()
        exec(compile(source, path, "exec", 0, True), scope)
    except BaseException as wrong:  # also a tool that wants to exit
        message, traceback = _describe(wrong)
        emit_log(f"tools: {path}: {message}\n{traceback}", "error")
    _tell_threads(path, _thread._count() - before)
    effect = _declared(path, scope)
    effects.update((name, effect) for name, value in scope.items() if name not in old or old[name] is not value)


def _tell_threads(path, count):
    """Threads that a tool leaves running exist here only: every script runs in a fork, and waits for them in vain."""
    if count > 0:
        what = "a thread" if count == 1 else f"{count} threads"
        emit_log(f"tools: {path}: leaves {what} running; scripts run without, and a call that needs one hangs", "warning")


def _load_tools(folder):
    """Loads the tools; tells their names and effects. All of them share one scope, as they would in one file."""
    if folder is None:
        return
    sys.path.append(folder)  # after the standard library, which no file of a tool can stand in for
    sys.path.extend(path for path in _PACKAGES if os.path.isdir(path))
    scope = dict(_base)
    effects = {}
    for path in _tool_files(folder):
        _load_file(path, scope, effects)
    scope.pop("EFFECT", None)
    for name, value in list(scope.items()):
        if name in _base or name.startswith("__"):
            continue
        value = _tame(scope, name, value)
        if name.startswith("_"):
            continue
        _base[name] = value
        if callable(value) and not isinstance(value, type) and getattr(value, "__module__", None) == _TOOLS:
            _tools[name] = effects[name]
    _flush()


_base = {
    "emit_result": emit_result,
    "emit_intermediate": emit_intermediate,
    "emit_log": emit_log,
    "ToolResult": ToolResult,
}
_tools = {}  # name to effect, of those of _base that are functions of the tools folder


def _load(folder):
    _load_tools(folder)
    _keyturn.send("T", _encode(_tools))


# Running


def _bounded(text, otherwise):
    """The text, or where it is far too long the other. It is cut behind us, when secrets are masked in it: half of one
    would not be found."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _ERROR_MAX else otherwise


def _hide(report, seen):
    """Leaves the frames of this file out, also in the causes."""
    if report is None or id(report) in seen:
        return
    seen.add(id(report))
    report.stack[:] = [frame for frame in report.stack if frame.filename != _HERE]
    for other in (report.__cause__, report.__context__, *(getattr(report, "exceptions", None) or ())):
        _hide(other, seen)


def _describe(wrong, source=None):
    """An exception as message and traceback."""
    import linecache
    import traceback

    if source is not None:
        linecache.cache[_SCRIPT] = (len(source), None, source.splitlines(True), _SCRIPT)
    report = traceback.TracebackException(type(wrong), wrong, wrong.__traceback__)
    _hide(report, set())
    if isinstance(wrong, SystemExit):
        code = wrong.code
        message = f"Script tried to exit (code {0 if code is None else code!r})"
    else:
        message = "".join(report.format_exception_only()).strip()
        if isinstance(wrong, SyntaxError):
            message = f"{type(wrong).__name__}: {wrong.msg} ({wrong.filename}, line {wrong.lineno})"
    message = _bounded(message, f"{type(wrong).__name__}: [{len(message)} characters left out]")
    places = _bounded("".join(report.stack.format()), "")
    return message, _bounded("".join(report.format()), f"{places}{message}\n")


def _join_threads():
    """Threads that are no daemons are waited for, as at the end of any program."""
    if _thread._count() == 0:
        return
    import threading

    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()


def _execute(source, scope, wait=True):
    """Runs a script and waits for its threads; None, or its error as message and traceback."""
    try:
        exec(compile(source, _SCRIPT, "exec", 0, True), scope)
        if wait:
            _join_threads()
        _flush()
    except BaseException as wrong:
        try:
            _flush()
            return _describe(wrong, source)
        except BaseException:  # a hostile exception, no memory, the timeout: the kind is told at least
            return type(wrong).__name__, ""
    return None


def _scope_with(tools):
    """What a script finds around it: of the tools those it named, or all of them when it named none (None)."""
    if tools is None:
        return _base
    return {name: value for name, value in _base.items() if name not in _tools or name in tools}


def _run(source, secrets, limit, files, tools):
    global _limit
    _limit = limit
    if files:  # behind everything else: none of them can stand in for a module that is there already
        sys.path.append(os.getcwd())
    for entry in secrets:
        name, _, value = entry.partition("=")
        os.environ[name] = value
    for name in tools or ():
        if name not in _tools:
            return f"There is no tool {name} (there are: {', '.join(_tools) or 'none'})", ""
    scope = sys.modules["__main__"].__dict__
    scope.update(_scope_with(tools))
    return _execute(source, scope)


def _rehearse():
    scope = {"__name__": "__main__", "__builtins__": builtins}
    scope.update(_base)
    return _execute("emit_result(1)\n", scope, wait=False)  # threads of the tools may never end


def _extensions():
    """The names of the modules that are shared objects. `_ctypes` is none of them: it makes native calls of its own."""
    for folder in sys.path:
        if not folder.endswith("lib-dynload") or not os.path.isdir(folder):
            continue
        for name in sorted(os.listdir(folder)):
            module = name.partition(".")[0]
            if name.endswith(".so") and not module.startswith(("_ctypes", "_test", "_xx", "xx")):
                yield module


def _settle():
    """Loads what cannot be loaded any more once executable memory is forbidden, and what every script would load."""
    import gc
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in (*_extensions(), "asyncio", "linecache", "random", "threading", "traceback"):
            try:
                __import__(module)
            except Exception:  # one for which this machine lacks a library
                pass
    sys.modules["threading"].stack_size(1 << 20)
    _rehearse()
    gc.collect()
    gc.freeze()
