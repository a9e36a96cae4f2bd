# The tools: loaded once, in the zygote, and made callable like plain functions. The second part of prelude.py.

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


def _tool_files(folder, left_out):
    """The paths of those to load. Hidden ones are none: editors keep such files. What is no file might never end."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("."))
    except OSError as wrong:
        emit_log(f"tools: {wrong.strerror}: {folder}", "error")
        return
    for path in (os.path.join(folder, name) for name in names):
        if path in left_out:
            continue  # which the supervisor tells, and why
        if os.path.isfile(path):
            yield path
        else:
            emit_log(f"tools: {path}: not a regular file", "error")


def _declared(path, scope):
    """The effect that the file has set for its functions. One that nobody knows counts as the strongest."""
    effect = scope.get("EFFECT", _UNDECLARED)
    if isinstance(effect, str) and effect in _EFFECTS:
        return effect
    emit_log(f"tools: {path}: EFFECT is {_short(effect)}, none of {', '.join(_EFFECTS)}; taken as {_EFFECTS[-1]}", "error")
    return _EFFECTS[-1]


def _load_file(path, scope, effects):
    """Runs the file; notes for every name that it sets the effect it declares. The supervisor is told before, so that it
    knows which one it was if this process does not live to tell."""
    _keyturn.print("F", os.fsencode(path))
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


def _load_tools(folder, left_out):
    """Loads the tools; tells their names and effects. All of them share one scope, as they would in one file."""
    if folder is None:
        return
    sys.path.append(folder)  # after the standard library, which no file of a tool can stand in for
    sys.path.extend(path for path in _PACKAGES if os.path.isdir(path))
    scope = dict(_base)
    effects = {}
    for path in _tool_files(folder, left_out):
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


def _load(folder, left_out):
    _load_tools(folder, left_out)
    _keyturn.send("T", _encode(_tools))
