# Loads the tools once, in the zygote, and makes them callable like plain functions. The second part of prelude.py.

_loop = None


def _run_loop(loop):
    """Keeps the loop running: an exit in one of its tasks reaches the code that waits for that task."""
    while True:
        try:
            loop.run_forever()
        except BaseException:
            pass


def _start_loop():
    """A thread with an event loop for tools that are coroutines; the first call of one creates it."""
    import asyncio
    import threading

    global _loop
    loop = asyncio.new_event_loop()
    threading.Thread(target=_run_loop, args=(loop,), name="tool-loop", daemon=True).start()
    _loop = loop


def _awaited(coroutine):
    """The result of the coroutine. Inside a running loop it returns the coroutine, to be awaited."""
    import asyncio

    if asyncio._get_running_loop() is not None:
        return coroutine
    if _loop is None:
        _start_loop()
    return asyncio.run_coroutine_threadsafe(coroutine, _loop).result()


def _sync(function, name):
    """Makes a function callable without await if it is a coroutine function or returns a coroutine."""

    def call(*args, **kwargs):
        got = function(*args, **kwargs)
        return _awaited(got) if type(got) is types.CoroutineType else got

    call.__name__ = call.__qualname__ = name  # a partial has none
    return functools.update_wrapper(call, function)


def _innermost(value):
    """The function inside partials, and inside decorators that name what they wrap."""
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


class _File:
    """A file of tools: a separate module, which scripts cannot import."""

    def __init__(self, path):
        self.path = path
        self.module = types.ModuleType(f"{_TOOLS}.{os.path.basename(path)[:-3]}")
        self.scope = self.module.__dict__
        self.state = "new"  # then "loading", then "loaded" or "failed"
        self.effect = _EFFECTS[-1]  # until it is known
        self.declares = False  # it sets EFFECT itself: one from "import *" belongs to another file
        self.names = set()  # global names that its code uses
        self.lent = {}  # those of them that come from other files
        self.needs = set()  # the files whose functions it can call


_files = {}  # by the name of the module, in the order of the paths
_loading = []  # the file being loaded, after those that import it


def _owner(value):
    """The tool file that defines the value, inside partials and decorators; None if no tool file does."""
    if isinstance(value, types.ModuleType):
        name = value.__name__
    else:
        name = getattr(_innermost(value), "__module__", None)
    return _files.get(name) if isinstance(name, str) else None


def _file_for(name):
    """The tool file that a tool imports by this name. It never replaces a module of the standard library."""
    return None if name in sys.stdlib_module_names else _files.get(f"{_TOOLS}.{name}")


_awaiting = {}  # id of an asynchronous function to what stands for it; that keeps the function, so the id stays its own


def _tame(value, name):
    """An asynchronous function as scripts and other tools see it; any other value unchanged."""
    if _owner(value) is None or isinstance(value, types.ModuleType):
        return value
    inner = _innermost(value)
    if isinstance(inner, types.FunctionType):
        if _is_async(inner) and value not in _awaiting.values():
            return _awaiting.setdefault(id(value), _sync(value, name))
    elif _is_async(getattr(type(value), "__call__", None)):
        kind = type(value)
        kind.__call__ = _sync(kind.__call__, "__call__")
    return value


def _tool_files(folder, left_out):
    """The paths of the tool files. Skips hidden files, which editors create, and special files, which might block."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("."))
    except OSError as wrong:
        emit_log(f"tools: {wrong.strerror}: {folder}", "error")
        return
    for path in (os.path.join(folder, name) for name in names):
        if path in left_out:
            continue  # the supervisor reports it with the reason
        if os.path.isfile(path):
            yield path
        else:
            emit_log(f"tools: {path}: not a regular file", "error")


def _declared(file):
    """The effect that the file declares for its functions. An unknown effect counts as the strongest."""
    effect = file.scope.get("EFFECT", _UNDECLARED) if file.declares else _UNDECLARED
    if isinstance(effect, str) and effect in _EFFECTS:
        return effect
    emit_log(
        f"tools: {file.path}: EFFECT is {_short(effect)}, none of {', '.join(_EFFECTS)}; taken as {_EFFECTS[-1]}", "error"
    )
    return _EFFECTS[-1]


def _look_through(file, code):
    """Collects the global names that the code uses, and the files that it may import now or when it is called."""
    import dis

    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
            file.names.add(step.argval)
        elif step.opname == "IMPORT_NAME":
            file.needs.add(_file_for(step.argval.partition(".")[0]) or file)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _look_through(file, inner)


def _own(file):
    """The names that the file defines itself, without those of the prelude and of other files."""
    for name, value in list(file.scope.items()):
        if name.startswith("__") or name == "EFFECT" or name in _OURS:
            continue
        if name not in file.lent or file.lent[name] is not value:
            yield name, value


def _lend(file):
    """Gives the file the names that it uses and other files define, so that tools see each other as in one file."""
    there = {name: value for other in _files.values() if other.state == "loaded" for name, value in _own(other)}
    for name in file.names & there.keys() - file.scope.keys() - builtins.__dict__.keys():
        file.scope[name] = file.lent[name] = there[name]


def _load_file(file):
    """Runs the file once. Tells the supervisor first, so that it can name the file if this process dies."""
    _keyturn.print("F", os.fsencode(file.path))
    file.state = "loading"
    _loading.append(file)
    before = _thread._count()
    try:
        with io.open_code(file.path) as opened:
            code = compile(opened.read(), file.path, "exec", 0, True)
        _look_through(file, code)
        file.declares = "EFFECT" in code.co_names
        file.scope.update(_base, __file__=file.path)
        _lend(file)
        exec(code, file.scope)
        file.state = "loaded"
    except BaseException as wrong:  # also a tool that calls exit
        file.state = "failed"
        message, traceback = _describe(wrong)
        emit_log(f"tools: {file.path}: {message}\n{traceback}", "error")
    _tell_threads(file.path, _thread._count() - before)
    file.effect = _declared(file)
    _loading.pop()
    if _loading:  # continue with the file that imported it
        _keyturn.print("F", os.fsencode(_loading[-1].path))


def _tell_threads(path, count):
    """Warns about threads that a tool leaves running. Scripts run in forks, which do not have those threads."""
    if count > 0:
        what = "a thread" if count == 1 else f"{count} threads"
        emit_log(f"tools: {path}: leaves {what} running; scripts run without, and a call that needs one hangs", "warning")


class _Importer:
    """Lets files of the tools folder import each other and the modules beside them. A script cannot import them: it would
    run functions that it did not name."""

    def __init__(self, folder):
        from importlib import machinery  # here: an import during a lookup would start the same lookup again

        self._machinery = machinery
        self._folder = folder
        # After the standard library, which no tool file can replace.
        self._path = [*sys.path, folder, *_PACKAGES]

    def _is_asked_by_tool(self):
        frame = sys._getframe(2)
        while frame and (frame.f_code.co_filename == _HERE or "importlib" in frame.f_code.co_filename):
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename.startswith(os.path.join(self._folder, ""))

    def find_spec(self, name, path=None, target=None):
        if path is not None or name in sys.stdlib_module_names:
            return None
        file = _file_for(name)
        if not self._is_asked_by_tool():
            if file is not None and self._machinery.PathFinder.find_spec(name) is None:
                raise ModuleNotFoundError(f"{name} is a file of tools: tools are in scope already, without an import", name=name)
            return None
        if file is not None:
            return self._machinery.ModuleSpec(name, self, origin=file.path)
        spec = self._machinery.PathFinder.find_spec(name, self._path)
        if spec is not None and spec.origin == os.path.join(self._folder, f"{name}.py"):
            raise ModuleNotFoundError(f"{name}: this tool file was skipped; its load error is in the log", name=name)
        return spec

    def create_module(self, spec):
        file = _file_for(spec.name)
        if _loading:
            _loading[-1].needs.add(file)
        if file.state == "new":
            _load_file(file)
        if file.state == "failed":
            raise ImportError(f"{spec.name}: this file of tools could not be loaded", name=spec.name)
        return file.module

    def exec_module(self, module):
        pass  # _load_file has executed it


def _reached(files):
    """The files, and the files whose functions can be called through them."""
    found = set()
    left = list(files)
    while left:
        file = left.pop()
        if file not in found:
            found.add(file)
            left.extend(file.needs)
    return found


def _bind(file):
    """The names that the functions of the file use, and so the files that it needs."""
    _lend(file)
    for name, value in list(file.scope.items()):
        if not name.startswith("__"):
            tamed = file.scope[name] = _tame(value, name)
            if file.lent.get(name) is value:
                file.lent[name] = tamed
            file.needs.add(_owner(value) or file)


def _offer(file):
    """Puts the names of the file into the scope of scripts. Its functions get the strongest effect that they can call."""
    effect = max((one.effect for one in _reached([file])), key=_EFFECTS.index)
    for name, value in _own(file):
        owner = _owner(value)
        if name.startswith("_") or (owner and isinstance(value, types.ModuleType)):
            continue
        if owner not in (None, file) and owner.scope.get(name) is value:
            continue  # imported: the file that defines it offers it
        _tools.pop(name, None)
        _origins.pop(name, None)
        if owner:
            _origins[name] = file
            if callable(value) and not isinstance(value, type):
                _tools[name] = effect
                # It may be a decorator around a coroutine function.
                if isinstance(value, types.FunctionType) and value not in _awaiting.values():
                    value = _sync(value, name)
        _base[name] = value


def _load_tools(folder, left_out):
    """Loads the tools and reports their names and effects."""
    if folder is None:
        return
    files = [_File(path) for path in _tool_files(folder, left_out)]
    _files.update((file.module.__name__, file) for file in files)
    sys.meta_path.insert(0, _Importer(folder))
    sys.path.extend(path for path in _PACKAGES if os.path.isdir(path))
    for file in files:
        if file.state == "new":
            _load_file(file)
    loaded = [file for file in files if file.state == "loaded"]
    for file in loaded:
        _bind(file)
    for file in loaded:
        _offer(file)
    for name in [name for name, module in sys.modules.items() if any(module is file.module for file in files)]:
        del sys.modules[name]
    _flush()


_base = {
    "emit_result": emit_result,
    "emit_intermediate": emit_intermediate,
    "emit_log": emit_log,
    "ToolResult": ToolResult,
}
_OURS = frozenset(_base)
_tools = {}  # name to effect, of those of _base that are functions of the tools folder
_origins = {}  # name to file, of those of _base that were defined in the tools folder


def _load(folder, left_out):
    _load_tools(folder, left_out)
    _keyturn.send("T", _encode(_tools))
