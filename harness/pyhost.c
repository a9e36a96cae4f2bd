/* Embeds libpython; no other file uses it. prelude.py holds all that can be written in Python. This file holds what
 * must work even after a script has changed the interpreter: writing records, and reporting the end exactly once.
 *
 * Records of several threads must not mix. Usually no other thread writes and the pipe has room. Then the record is one
 * system call under the interpreter's own lock, which stays held. Otherwise our own lock covers the rest, with the
 * interpreter's lock released. No Python runs under our lock: a signal handler of the script that prints would wait for
 * itself.
 *
 * A script may use up its memory, catch the error and continue. A failed write is then an error of the script and must
 * not kill the child. So no function between the script's first line and the report of its end allocates in a way that
 * aborts. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "child.h"
#include "pyhost.h"
#include "record.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <unistd.h>

static const char prelude[] = {
#include "prelude.inc"
    '\0'};

/* Printed text is sent in pieces of at most this many bytes. */
#define PRINT_PIECE 8192
/* Address space to release before reporting the end, because the script may have used up the rest. A few of Python's
 * own chunks. */
#define BALLAST ((size_t)4 << 20)

static struct {
    int descriptor;
    bool muted;  /* during a rehearsal */
    int writers; /* threads that hold or want the lock; changed under the interpreter's lock */
    PyThread_type_lock lock;
    PyObject *load, *preload, *run, *rehearse;
    void *ballast;
    PyMemAllocatorEx memory; /* the original allocators, which ours call */
    PyObjectArenaAllocator arenas;
    bool starved; /* an allocation has failed at some time */
} host = {.descriptor = -1};

/* ---- memory ----
 *
 * Python does not always report that it has no memory. If it cannot allocate a frame, it ends the run with an error
 * that names no cause, or with abort(). So our allocators record the failure when it happens. */

static void *noted(void *memory)
{
    if (!memory)
        host.starved = true;
    return memory;
}

static void *noting_malloc(void *user, size_t size)
{
    return noted(host.memory.malloc(user, size));
}

static void *noting_calloc(void *user, size_t count, size_t size)
{
    return noted(host.memory.calloc(user, count, size));
}

static void *noting_realloc(void *user, void *memory, size_t size)
{
    return noted(host.memory.realloc(user, memory, size));
}

static void *noting_arena(void *user, size_t size)
{
    return noted(host.arenas.alloc(user, size));
}

static void note_lack_of_memory(void)
{
    PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &host.memory);
    PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &(PyMemAllocatorEx){.ctx = host.memory.ctx,
                                                             .malloc = noting_malloc,
                                                             .calloc = noting_calloc,
                                                             .realloc = noting_realloc,
                                                             .free = host.memory.free});
    PyObject_GetArenaAllocator(&host.arenas);
    PyObject_SetArenaAllocator(
        &(PyObjectArenaAllocator){.ctx = host.arenas.ctx, .alloc = noting_arena, .free = host.arenas.free});
}

bool pyhost_starved(void)
{
    return host.starved;
}

/* ---- records ---- */

/* Skips the bytes that are written. Returns the number of parts left. */
static int skip_written(struct iovec **parts, int count, ssize_t done)
{
    for (; count && (size_t)done >= (*parts)->iov_len; (*parts)++, count--)
        done -= (ssize_t)(*parts)->iov_len;
    if (count) {
        (*parts)->iov_base = (char *)(*parts)->iov_base + done;
        (*parts)->iov_len -= (size_t)done;
    }
    return count;
}

/* Writes what fits. For a single part it uses write, because writev makes an event a sixth more expensive. */
static ssize_t write_some(const struct iovec *parts, int count)
{
    return count == 1 ? write(host.descriptor, parts->iov_base, parts->iov_len) : writev(host.descriptor, parts, count);
}

/* Writes all of it, or returns -1 with errno. Changes the parts. */
static int write_all(struct iovec *parts, int count)
{
    while (count) {
        ssize_t done = write_some(parts, count);
        if (done >= 0)
            count = skip_written(&parts, count, done);
        else if (errno == EAGAIN)
            poll(&(struct pollfd){.fd = host.descriptor, .events = POLLOUT}, 1, -1);
        else if (errno != EINTR)
            return -1;
    }
    return 0;
}

static int write_record(struct iovec *parts, int count)
{
    bool mine = !host.writers;
    if (host.muted)
        return 0;
    if (mine) {
        ssize_t done = write_some(parts, count);
        count = skip_written(&parts, count, done > 0 ? done : 0);
        if (!count)
            return 0;
        PyThread_acquire_lock(host.lock, WAIT_LOCK); /* free, because there are no writers */
    }
    host.writers++;
    int result, code;
    Py_BEGIN_ALLOW_THREADS;
    if (!mine)
        PyThread_acquire_lock(host.lock, WAIT_LOCK);
    result = write_all(parts, count);
    code = errno;
    PyThread_release_lock(host.lock);
    Py_END_ALLOW_THREADS;
    host.writers--;
    errno = code;
    return result;
}

static PyObject *native_send(PyObject *self, PyObject *args)
{
    const char *kind, *text;
    Py_ssize_t kind_len, len;
    (void)self;
    if (!PyArg_ParseTuple(args, "s#s#", &kind, &kind_len, &text, &len))
        return NULL;
    struct iovec parts[] = {{"\n", 1}, {(void *)(uintptr_t)kind, 1}, {(void *)(uintptr_t)text, (size_t)len}, {"\n", 1}};
    if (write_record(parts, COUNT_OF(parts)) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static void add_number(struct strbuf *out, long long number)
{
    char digits[24], *at = digits + sizeof(digits);
    unsigned long long left = number < 0 ? -(unsigned long long)number : (unsigned long long)number;
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--at = '-';
    strbuf_add(out, at, (size_t)(digits + sizeof(digits) - at));
}

/* Returns the most bytes that add_plain may need. */
static size_t plain_room(PyObject *value)
{
    return 24 + (PyUnicode_CheckExact(value) && PyUnicode_IS_COMPACT_ASCII(value)
                     ? json_str_length(PyUnicode_DATA(value), (size_t)PyUnicode_GET_LENGTH(value), JSON_ASCII)
                     : 0);
}

/* Writes a simple value as JSON without Python's encoder. Returns false for every other value. */
static bool add_plain(struct strbuf *out, PyObject *value)
{
    if (PyUnicode_CheckExact(value) && PyUnicode_IS_COMPACT_ASCII(value)) {
        json_write_str(out, PyUnicode_DATA(value), (size_t)PyUnicode_GET_LENGTH(value), JSON_ASCII);
        return true;
    }
    if (PyLong_CheckExact(value)) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (!overflow)
            add_number(out, number);
        return !overflow;
    }
    if (value == Py_None || value == Py_True || value == Py_False) {
        strbuf_addstr(out, value == Py_None ? "null" : value == Py_True ? "true" : "false");
        return true;
    }
    return false;
}

/* intermediate(label, data): writes the whole record at once for the most common kinds of value. Returns False for
 * others. */
static PyObject *native_intermediate(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    CLEANUP(strbuf) struct strbuf record = STRBUF_INIT;
    (void)self;
    if (count != 2 || !PyUnicode_CheckExact(args[0]))
        Py_RETURN_FALSE;
    if (!strbuf_try_grow(&record, 32 + plain_room(args[0]) + plain_room(args[1])))
        return PyErr_NoMemory();
    strbuf_addstr(&record, "\nI{\"label\":");
    if (!add_plain(&record, args[0]))
        Py_RETURN_FALSE;
    strbuf_addstr(&record, ",\"data\":");
    if (!add_plain(&record, args[1]) || record.len > RECORD_MAX - 4096)
        Py_RETURN_FALSE;
    strbuf_addstr(&record, "}\n");
    struct iovec part = {record.buf, record.len};
    if (write_record(&part, 1) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_TRUE;
}

static PyObject *native_print(PyObject *self, PyObject *args)
{
    const char *kind;
    Py_buffer bytes;
    Py_ssize_t kind_len, at = 0;
    CLEANUP(strbuf) struct strbuf record = STRBUF_INIT;
    bool failed = false;
    (void)self;
    if (!PyArg_ParseTuple(args, "s#y*", &kind, &kind_len, &bytes))
        return NULL;
    while (at < bytes.len && !failed) {
        const size_t left = (size_t)(bytes.len - at);
        const size_t piece = left < PRINT_PIECE ? left : PRINT_PIECE;
        strbuf_reset(&record);
        if (!strbuf_try_grow(&record, RECORD_TEXT_ROOM(piece))) {
            PyBuffer_Release(&bytes);
            return PyErr_NoMemory();
        }
        record_write_text(&record, (enum record_kind)kind[0], (const char *)bytes.buf + at, piece);
        struct iovec part = {record.buf, record.len};
        failed = write_record(&part, 1) < 0;
        at += (Py_ssize_t)piece;
    }
    PyBuffer_Release(&bytes);
    if (failed)
        return PyErr_SetFromErrno(PyExc_OSError);
    return PyLong_FromSsize_t(at);
}

/* release(): frees memory that the report of a failure needs. */
static PyObject *native_release(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    free(steal(&host.ballast));
    Py_RETURN_NONE;
}

/* starved(): returns whether an allocation has failed at some time. */
static PyObject *native_starved(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyBool_FromLong(host.starved);
}

/* memory(): returns the error sentence for that. */
static PyObject *native_memory(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyUnicode_FromString(crash_report_memory());
}

static PyMethodDef methods[] = {
    {"memory", native_memory, METH_NOARGS, NULL},
    {"release", native_release, METH_NOARGS, NULL},
    {"starved", native_starved, METH_NOARGS, NULL},
    {"send", native_send, METH_VARARGS, NULL},
    {"intermediate", (PyCFunction)(void (*)(void))native_intermediate, METH_FASTCALL, NULL},
    {"print", native_print, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_keyturn", .m_size = -1, .m_methods = methods};

static PyObject *make_module(void)
{
    return PyModule_Create(&module);
}

/* ---- starting ---- */

/* Turns the pending exception into an error. */
static int python_error(struct err *err, const char *what)
{
    PyObject *type, *value, *traceback, *text = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value)
        text = PyObject_Str(value);
    err_set(err, "%s: %s: %s", what, type ? ((PyTypeObject *)type)->tp_name : "?", text ? PyUnicode_AsUTF8(text) : "?");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Clear();
    return -1;
}

/* Starts without environment variables, site, user folders or signal handlers: only the distribution's standard
 * library. */
static int start_interpreter(struct err *err)
{
    PyPreConfig before;
    PyConfig config;
    PyStatus status;

    note_lack_of_memory();
    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1; /* read and write files as UTF-8, whatever the locale */
    status = Py_PreInitialize(&before);
    if (PyStatus_Exception(status))
        return err_set(err, "cannot start Python: %s", status.err_msg ? status.err_msg : "it exited");
    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    config.install_signal_handlers = 0;
    config.write_bytecode = 0;
    config.pathconfig_warnings = 0;
    config.buffered_stdio = 1;
    status = PyConfig_SetString(&config, &config.home, L"" PYTHON_HOME);
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status))
        return err_set(err, "cannot start Python: %s", status.err_msg ? status.err_msg : "it exited");
    return 0;
}

static int run_prelude(struct err *err)
{
    PyObject *names = PyDict_New();
    if (!names || PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) < 0)
        return python_error(err, "prelude");
    PyObject *code = Py_CompileString(prelude, "<harness>", Py_file_input);
    PyObject *result = code ? PyEval_EvalCode(code, names, names) : NULL;
    Py_XDECREF(code);
    if (!result)
        return python_error(err, "prelude");
    Py_DECREF(result);
    host.load = PyDict_GetItemString(names, "_load");
    host.preload = PyDict_GetItemString(names, "_preload");
    host.run = PyDict_GetItemString(names, "_run");
    host.rehearse = PyDict_GetItemString(names, "_rehearse");
    if (!host.load || !host.preload || !host.run || !host.rehearse)
        BUG("the prelude lacks a function");
    return 0; /* the names live as long as the process */
}

static PyObject *list_paths(const char *const *paths)
{
    PyObject *list = PyList_New(0);
    for (; list && paths && *paths; paths++) {
        PyObject *path = PyUnicode_DecodeFSDefault(*paths);
        if (!path || PyList_Append(list, path) < 0)
            Py_CLEAR(list);
        Py_XDECREF(path);
    }
    return list;
}

int pyhost_start(const struct pyhost_options *options, int descriptor, struct err *err)
{
    host.descriptor = descriptor;
    host.lock = PyThread_allocate_lock();
    mallopt(M_ARENA_MAX, 1); /* otherwise every thread takes 64 MB of the address space */
    if (PyImport_AppendInittab("_keyturn", make_module) < 0)
        return err_set(err, "cannot add a module to Python");
    if (start_interpreter(err) < 0 || run_prelude(err) < 0)
        return -1;
    PyObject *left_out = list_paths(options->left_out);
    PyObject *result = left_out ? PyObject_CallFunction(host.load, "zO", options->tools, left_out) : NULL;
    Py_XDECREF(left_out);
    if (!result)
        return python_error(err, "tools");
    Py_DECREF(result);
    return 0;
}

int pyhost_preload(struct err *err)
{
    host.muted = true;
    PyObject *result = PyObject_CallNoArgs(host.preload);
    host.muted = false;
    host.ballast = xmalloc(BALLAST);
    if (!result)
        return python_error(err, "prelude");
    Py_DECREF(result);
    return 0;
}

pid_t pyhost_fork(void)
{
    PyOS_BeforeFork();
    pid_t pid = fork();
    if (pid == 0)
        PyOS_AfterFork_Child();
    else
        PyOS_AfterFork_Parent();
    return pid;
}

/* ---- running ---- */

void pyhost_rehearse(void)
{
    host.muted = true;
    Py_XDECREF(PyObject_CallNoArgs(host.rehearse));
    PyErr_Clear();
    host.muted = false;
}

/* Makes a list of texts that each end with a NUL. */
static PyObject *list_texts(const char *texts, size_t len)
{
    PyObject *list = PyList_New(0);
    for (const char *at = texts; list && at < texts + len; at += strlen(at) + 1) {
        PyObject *entry = PyUnicode_DecodeFSDefault(at);
        if (!entry || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

/* Returns one text of an outcome; NULL if it is none or cannot be read for lack of memory. */
static const char *outcome_text(PyObject *outcome, Py_ssize_t at, Py_ssize_t *len)
{
    const char *text = NULL;
    if (PyTuple_Check(outcome) && PyTuple_GET_SIZE(outcome) == 2)
        text = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(outcome, at), len);
    return text;
}

/* Returns the error text for an end without an outcome. */
static const char *pending_text(void)
{
    PyObject *type = PyErr_Occurred();
    if (host.starved)
        return crash_report_memory();
    return type ? ((PyTypeObject *)type)->tp_name : "the harness lost the script's end";
}

/* Writes the end record: how the script ended, or which exception is pending. */
static void write_end(struct strbuf *out, PyObject *outcome)
{
    const char *message = NULL, *traceback = NULL;
    Py_ssize_t message_len = 0, traceback_len = 0;
    struct json_writer w = json_begin(out);
    if (outcome && outcome != Py_None) {
        message = outcome_text(outcome, 0, &message_len);
        traceback = outcome_text(outcome, 1, &traceback_len);
    }
    if (!message) {
        message = outcome && !host.starved ? "an error without text" : pending_text();
        message_len = (Py_ssize_t)strlen(message);
    }
    /* An escape takes six bytes for one. */
    if (!strbuf_try_grow(out, 64 + 6 * (size_t)(message_len + traceback_len))) {
        message = crash_report_memory();
        message_len = (Py_ssize_t)strlen(message);
        traceback_len = 0;
    }
    strbuf_addstr(out, "\nX");
    json_open(&w, NULL, '{');
    if (outcome != Py_None) {
        json_add_strn(&w, "message", message, (size_t)message_len);
        json_add_strn(&w, "traceback", traceback ? traceback : "", (size_t)traceback_len);
    }
    json_close(&w, '}');
    strbuf_addch(out, '\n');
}

int pyhost_run(const struct pyhost_script *script, int descriptor)
{
    PyObject *source = PyUnicode_DecodeUTF8(script->text, (Py_ssize_t)script->text_len, "replace");
    PyObject *list = list_texts(script->secrets, script->secrets_len), *outcome = NULL;
    PyObject *tools = script->all_tools ? Py_NewRef(Py_None) : list_texts(script->tools, script->tools_len);
    CLEANUP(strbuf) struct strbuf end = STRBUF_INIT;
    host.descriptor = descriptor;
    fcntl(descriptor, F_SETFL, O_WRONLY | O_NONBLOCK); /* wait for a full pipe without the interpreter's lock */
    if (source && list && tools)
        outcome = PyObject_CallFunction(host.run, "OOsiO", source, list, script->limit, (int)script->files, tools);
    signal(SIGRTMAX, SIG_IGN); /* the script has ended; ignore a late timeout signal */
    free(steal(&host.ballast));
    write_end(&end, outcome);
    struct iovec part = {end.buf, end.len};
    return write_record(&part, 1);
}
