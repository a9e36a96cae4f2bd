# Runs a script and reports how it ended. The last part of prelude.py.
#
# A script reads the frames above it, and everything here through them: no name here says where its secrets are, and no frame
# holds their values. Strings count as names do; only comments are left out of the code.


_masked = False  # the script has secrets, which are masked in what it says


def _bounded(text, otherwise):
    # Shortens a long text to its two ends. With secrets it returns `otherwise`: masking comes later, and a cut could
    # split a value. A comment, because a script reads the text of a function above it, and this one names secrets.
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) <= _ERROR_MAX:
        return text
    return otherwise if _masked else text[: _ERROR_MAX // 2] + text[-_ERROR_MAX // 2 :]


def _hide(report, seen):
    """Removes the frames of this file, also in the causes."""
    if report is None or id(report) in seen:
        return
    seen.add(id(report))
    report.stack[:] = [frame for frame in report.stack if frame.filename != _HERE]
    for other in (report.__cause__, report.__context__, *(getattr(report, "exceptions", None) or ())):
        _hide(other, seen)


def _shorten(wrong):
    """Drops the middle frames of a deep recursion: every frame takes memory, and time to print."""
    at = wrong.__traceback__
    for _ in range(_FRAMES_MAX):
        if at is None:
            return
        at = at.tb_next
    if at is not None:
        at.tb_next = None


def _is_starved(wrong):
    """True if memory ran out. Python reports that in two ways, because it may lack memory for a frame."""
    return (isinstance(wrong, MemoryError) and not wrong.args) or (isinstance(wrong, SystemError) and _keyturn.starved())


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
        elif isinstance(wrong, ImportError) and _NO_NATIVE_CODE in message:
            message += ": native code, and so ctypes, is not available in the sandbox"
        elif _is_starved(wrong):
            message = f"{type(wrong).__name__}: {_keyturn.memory()}"
    message = _bounded(message, f"{type(wrong).__name__}: [the text is left out]")
    places = _bounded("".join(report.stack.format()), "")
    return message, _bounded("".join(report.format()), f"{places}{message}\n")


def _join_threads():
    """Waits for all threads except daemons, as Python does at the end of a program."""
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
            _keyturn.release()
            _shorten(wrong)
            _flush()
            return _describe(wrong, source)
        except BaseException:  # a hostile exception, no memory, the timeout: report at least the kind
            return (_keyturn.memory() if _is_starved(wrong) else type(wrong).__name__), ""
    return None


def _scope_with(tools):
    """The global scope of a script: the tools that it named, or all tools if `tools` is None. Classes and other values come
    with a tool that can reach them."""
    if tools is None:
        return _base
    reached = _reached(_origins[name] for name in tools)
    hidden = {name for name, file in _origins.items() if name not in tools and (name in _tools or file not in reached)}
    return {name: value for name, value in _base.items() if name not in hidden}


def _add_variables(entries):
    """Puts "NAME=value" into the environment and empties the list, because the caller's frame keeps the list."""
    for entry in entries:
        name, _, value = entry.partition("=")
        os.environ[name] = value
    entries.clear()


def _run(source, variables, limit, files, tools):
    global _limit, _masked
    _limit = limit
    _masked = bool(variables)
    if files:  # after everything else: no file can replace an existing module
        sys.path.append(os.getcwd())
    _add_variables(variables)
    for name in tools or ():
        if name not in _tools:
            return f"There is no tool {name} (known: {', '.join(_tools) or 'none'})", ""
    scope = sys.modules["__main__"].__dict__
    scope.update(_scope_with(tools))
    return _execute(source, scope)


def _rehearse():
    scope = {"__name__": "__main__", "__builtins__": builtins}
    scope.update(_base)
    return _execute("emit_result(1)\n", scope, wait=False)  # threads of the tools may never end


def _extensions():
    """The names of modules that are shared objects, without `_ctypes`, which makes native calls."""
    for folder in sys.path:
        if not folder.endswith("lib-dynload") or not os.path.isdir(folder):
            continue
        for name in sorted(os.listdir(folder)):
            module = name.partition(".")[0]
            if name.endswith(".so") and not module.startswith(("_ctypes", "_test", "_xx", "xx")):
                yield module


def _preload():
    """Loads modules that cannot load once executable memory is forbidden, and modules that every script loads."""
    import gc
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in (*_extensions(), "asyncio", "linecache", "random", "threading", "traceback"):
            try:
                __import__(module)
            except Exception:  # this machine lacks a library for it
                pass
    sys.modules["threading"].stack_size(1 << 20)
    _rehearse()
    gc.collect()
    gc.freeze()
