/* Child processes on libuv: start, streams, control connection and exit.
 *
 * A child leads its own session and process group; signals go to the group. It is over when it has exited and both
 * streams have ended. When it exits, its group is killed at once, which soon ends the streams. A descendant that
 * left the group may hold a pipe open forever. So shortly after the exit the child's pipes are drained and count as
 * ended.
 *
 * Pipes are real pipes, not the socket pairs of libuv, because a script that writes to /dev/stderr must not fail.
 *
 * Two things must happen between fork and exec, where libuv has no hook. Before the fork, close_range marks all
 * descriptors close-on-exec, whichever code opened them. After it, a fork handler requests a signal on our death.
 * The handler acts only while Keyturn starts a child, and only on the thread that starts it.
 *
 * A struct child lives until its owner has freed it and libuv has closed its handles. A freed child is killed but
 * not awaited here. Its process handle stays open without callbacks until the child is reaped, and loop_free waits
 * for that. */

#include "child.h"
#include "loop.h"
#include "loop_internal.h"
#include "loop_meter.h"
#include "mem.h"
#include "read_limit.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <uv.h>

/* Real time in any loop: a fake clock does not speed up other processes. */
#define STREAM_GRACE_MS 250
#define GENTLE_MS       5000 /* for a child that ends with its control connection */
#define PATIENT_MS      15000 /* for one on another machine: the first job of a Slurm node takes several seconds to end */
#define DRAIN_MAX       ((size_t)1 << 20)
/* A child that prints more than any receiver keeps is read with pauses. Each flooding stream lengthens the pause, so
 * that all of them together cost us no more than one. */
#define CALM_MS       12
#define CALM_QUIET_MS 500 /* a stream without a pause for this long no longer counts as flooding */

struct child_stream {
    uv_pipe_t pipe;
    struct child *child;
    bool open;
    bool calmed; /* not read until the pause is over */
    bool floods; /* counted among the flooding streams */
    struct read_limit read_limit;
};

struct child {
    struct loop *loop;
    uv_process_t process;
    uv_pipe_t input;
    struct child_stream out, err, control;
    uv_timer_t grace; /* before the exit: the pauses of a calmed stream */
    struct child_ops ops;
    void *data;
    int handles; /* handles that libuv has not closed yet */
    int writes;  /* queued for stdin */
    bool input_open;
    bool tty;
    unsigned grace_ms; /* how long child_free waits before it kills */
    bool input_ending; /* close stdin after the queued writes */
    bool paused;
    bool exited;
    bool freed; /* the owner freed it: no more callbacks */
    bool told;  /* ops.exited was called */
    int pid, status, signum;
    char buffer[65536]; /* the bytes just read; libuv reads one stream at a time */
};

struct child_write {
    uv_write_t request;
    struct child *child;
    char bytes[];
};

/* ---- handles ---- */

static void maybe_destroy(struct child *child)
{
    if (child->freed && child->handles == 0)
        free(child);
}

static void on_child_closed(uv_handle_t *handle)
{
    struct child *child = handle->data;
    child->handles--;
    maybe_destroy(child);
}

static void close_handle(void *handle)
{
    uv_close(handle, on_child_closed);
}

static void own_handle(struct child *child, void *handle)
{
    ((uv_handle_t *)handle)->data = child;
    child->handles++;
}

static void close_input(struct child *child)
{
    if (!child->input_open)
        return;
    child->input_open = false;
    close_handle(&child->input);
}

static unsigned count_flood(struct child_stream *stream, bool floods)
{
    int change = (int)floods - (int)stream->floods;
    stream->floods = floods;
    return loop_count_floods(stream->child->loop, change);
}

static void close_stream(struct child_stream *stream)
{
    if (!stream->open)
        return;
    count_flood(stream, false);
    stream->open = false;
    close_handle(&stream->pipe);
}

/* ---- the end of a child ---- */

static void maybe_tell(struct child *child)
{
    if (!child->exited || child->out.open || child->err.open || child->control.open || child->freed || child->told)
        return;
    child->told = true;
    if (!uv_is_closing((uv_handle_t *)&child->grace))
        close_handle(&child->grace);
    if (child->ops.exited)
        child->ops.exited(child->data, child->status, child->signum);
}

static void give(struct child_stream *stream, const char *bytes, size_t len)
{
    struct child *child = stream->child;
    if (stream == &child->control)
        child->ops.control(child->data, bytes, len);
    else
        child->ops.output(child->data, stream == &child->out ? PROCESS_STDOUT : PROCESS_STDERR, bytes, len);
}

static void end_stream(struct child_stream *stream)
{
    struct child *child = stream->child;
    if (!stream->open)
        return;
    close_stream(stream);
    if (!child->freed)
        give(stream, "", 0);
}

/* Reads what is in the pipe now, so that ending the stream loses nothing that was written in time. */
static void drain_stream(struct child_stream *stream)
{
    struct child *child = stream->child;
    uv_os_fd_t fd;
    size_t left = DRAIN_MAX;
    while (stream->open && left && uv_fileno((uv_handle_t *)&stream->pipe, &fd) == 0) {
        ssize_t got = read(fd, child->buffer, left < sizeof(child->buffer) ? left : sizeof(child->buffer));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        give(stream, child->buffer, (size_t)got);
        left -= (size_t)got;
    }
}

static void end_streams(struct child *child)
{
    if (!child->paused) { /* else resuming the read starts the timer */
        drain_stream(&child->out);
        end_stream(&child->out);
    }
    drain_stream(&child->err);
    end_stream(&child->err);
    drain_stream(&child->control);
    end_stream(&child->control);
    maybe_tell(child);
}

static void on_grace_over(uv_timer_t *grace)
{
    LOOP_CALL("end of a child's streams", on_grace_over, end_streams(grace->data));
}

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buf);
static void on_read(uv_stream_t *pipe, ssize_t got, const uv_buf_t *buf);

static void read_on(struct child_stream *stream)
{
    if (!stream->calmed)
        return;
    stream->calmed = false;
    read_limit_resume(&stream->read_limit);
    if (stream->open && !(stream == &stream->child->out && stream->child->paused))
        uv_read_start((uv_stream_t *)&stream->pipe, give_buffer, on_read);
}

static void on_calm_over(uv_timer_t *grace)
{
    struct child *child = grace->data;
    struct child_stream *const streams[] = {&child->out, &child->err};
    bool floods = false;
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        if (!streams[i]->calmed && streams[i]->floods)
            count_flood(streams[i], false);
        read_on(streams[i]);
        floods |= streams[i]->floods;
    }
    if (floods)
        uv_timer_start(grace, on_calm_over, CALM_QUIET_MS, 0);
}

/* After the exit, only what is in the pipe remains, so no pause is needed. */
static void calm(struct child_stream *stream, size_t got)
{
    struct child *child = stream->child;
    if (child->exited || !stream->open || !read_limit_take(&stream->read_limit, got))
        return;
    stream->calmed = true;
    uv_read_stop((uv_stream_t *)&stream->pipe);
    uv_timer_start(&child->grace, on_calm_over, (uint64_t)CALM_MS * count_flood(stream, true), 0);
}

static void take_exit(struct child *child, int64_t status, int signum)
{
    child->exited = true;
    child->status = signum ? -1 : (int)status;
    child->signum = signum;
    kill(-child->pid, SIGKILL);
    close_handle(&child->process);
    close_input(child);
    if (child->freed) {
        if (!uv_is_closing((uv_handle_t *)&child->grace))
            close_handle(&child->grace);
        loop_count_dying(child->loop, -1);
        return;
    }
    read_on(&child->out);
    read_on(&child->err);
    uv_timer_stop(&child->grace);
    if (child->out.open || child->err.open || child->control.open)
        uv_timer_start(&child->grace, on_grace_over, STREAM_GRACE_MS, 0);
    maybe_tell(child);
}

bool child_end_now(struct child *child, int status)
{
    struct child_stream *const streams[] = {&child->out, &child->err, &child->control};
    if (child->paused || child->exited || child->told)
        return false;
    child->told = true; /* the streams must not tell of the exit before all are drained */
    for (size_t i = 0; i < COUNT_OF(streams) && !child->freed; i++) {
        drain_stream(streams[i]);
        end_stream(streams[i]);
    }
    if (!child->freed)
        child->ops.exited(child->data, status, 0);
    return true;
}

static void on_exited(uv_process_t *process, int64_t status, int signum)
{
    struct child *child = process->data;
    LOOP_CALL("end of a child", child->ops.exited, take_exit(child, status, signum));
}

/* ---- streams ---- */

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct child *child = handle->data;
    *buf = uv_buf_init(child->buffer, sizeof(child->buffer));
}

static void on_socket_closed(uv_handle_t *handle)
{
    free(handle);
}

/* Takes sockets that came with bytes of the control connection. Closes any other descriptors. */
static void take_sockets(struct child_stream *control)
{
    struct child *child = control->child;
    while (uv_pipe_pending_count(&control->pipe) > 0) {
        union {
            uv_tcp_t tcp;
            uv_pipe_t pipe;
            uv_udp_t udp;
        } *handle = xcalloc(1, sizeof(*handle));
        uv_handle_type type = uv_pipe_pending_type(&control->pipe);
        uv_os_fd_t fd;
        if (type == UV_UDP)
            uv_udp_init(loop_uv(child->loop), &handle->udp);
        else if (type == UV_NAMED_PIPE)
            uv_pipe_init(loop_uv(child->loop), &handle->pipe, 0);
        else
            uv_tcp_init(loop_uv(child->loop), &handle->tcp);
        bool taken = uv_accept((uv_stream_t *)&control->pipe, (uv_stream_t *)handle) == 0;
        int copy = taken && child->ops.socket && type == UV_TCP && uv_fileno((uv_handle_t *)handle, &fd) == 0
                       ? fcntl(fd, F_DUPFD_CLOEXEC, 3)
                       : -1;
        uv_close((uv_handle_t *)handle, on_socket_closed);
        if (copy >= 0)
            child->ops.socket(child->data, copy);
        if (!taken || child->freed)
            break;
    }
}

static void take_read(struct child_stream *stream, ssize_t got, const uv_buf_t *buf)
{
    struct child *child = stream->child;
    if (stream == &child->control)
        take_sockets(stream);
    if (child->freed)
        return;
    if (got > 0) {
        give(stream, buf->base, (size_t)got);
        if (!child->freed)
            calm(stream, (size_t)got);
    } else if (got < 0) {
        /* After a hang-up libuv takes a short read for the last one. But all reads of a terminal are short, and so
         * is a read that brings a socket. */
        if (child->tty || stream == &child->control)
            drain_stream(stream);
        end_stream(stream);
        maybe_tell(child);
    }
}

static void on_read(uv_stream_t *pipe, ssize_t got, const uv_buf_t *buf)
{
    struct child_stream *stream = CONTAINER_OF(pipe, struct child_stream, pipe);
    LOOP_CALL("output of a child", stream->child->ops.output, take_read(stream, got, buf));
}

static void on_written(uv_write_t *request, int status)
{
    (void)status; /* the exit reports it */
    struct child_write *job = (struct child_write *)request;
    struct child *child = job->child;
    free(job);
    child->writes--;
    if (child->writes == 0 && child->input_ending)
        close_input(child);
}

/* ---- finding a program ---- */

static const char *env_value(const char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

static bool is_program(const char *file)
{
    struct stat st;
    return stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0;
}

/* Skips entries of PATH that are not absolute: they would run files from the folder in which the child starts. */
char *child_find_program(const char *name, const char *const *env)
{
    if (strchr(name, '/'))
        return xstrdup(name);
    const char *path = env ? env_value(env, "PATH") : getenv("PATH");
    if (!path)
        path = "/usr/local/bin:/usr/bin:/bin";
    while (*path) {
        size_t len = strcspn(path, ":");
        if (path[0] == '/') {
            CLEANUP(free) char *file = xasprintf("%.*s/%s", (int)len, path, name);
            if (is_program(file))
                return steal(&file);
        }
        path += len;
        path += *path == ':';
    }
    return NULL;
}

int child_not_found(struct err *err, const char *name)
{
    err_set(err, "cannot start %s: it is not in PATH", name);
    if (err)
        err->code = ENOENT;
    return -1;
}

/* ---- starting ---- */

/* Passes our end of a pipe to libuv; closes it on failure. */
static int open_ours(struct child *child, uv_pipe_t *pipe, int ours)
{
    uv_pipe_init(loop_uv(child->loop), pipe, pipe == &child->control.pipe);
    own_handle(child, pipe);
    int failed = uv_pipe_open(pipe, ours);
    if (!failed)
        return 0;
    close(ours);
    close_handle(pipe);
    errno = -failed;
    return -1;
}

static int open_stream(struct child *child, struct child_stream *stream, int ours)
{
    stream->child = child;
    stream->open = open_ours(child, &stream->pipe, ours) == 0;
    return stream->open ? 0 : -1;
}

static int open_input(struct child *child, int ours)
{
    child->input_open = open_ours(child, &child->input, ours) == 0;
    return child->input_open ? 0 : -1;
}

/* The child's ends: its standard files (-1: /dev/null), the control connection, and the descriptors to hand over. */
#define CHILD_ENDS (PROCESS_HANDED_FD + PROCESS_HANDED_MAX)

struct child_ends {
    int fd[CHILD_ENDS];
};

static void child_ends_cleanup(struct child_ends *ends)
{
    for (int i = 0; i < CHILD_ENDS; i++)
        if (ends->fd[i] >= 0)
            close(ends->fd[i]);
}

/* Makes a pipe: returns our end and stores the child's. -1 and errno on failure. */
static int make_pipe(int *theirs, bool child_reads)
{
    uv_file ends[2];
    int failed = uv_pipe(ends, child_reads ? 0 : UV_NONBLOCK_PIPE, child_reads ? UV_NONBLOCK_PIPE : 0);
    *theirs = failed ? -1 : ends[child_reads ? 0 : 1];
    errno = -failed;
    return failed ? -1 : ends[child_reads ? 1 : 0];
}

static int open_pipes(struct child *child, const struct process_spec *spec, struct child_ends *ends)
{
    int ours;
    if ((spec->input || spec->keep_input) && ((ours = make_pipe(&ends->fd[0], true)) < 0 || open_input(child, ours)))
        return -1;
    struct child_stream *const streams[] = {&child->out, &child->err};
    for (int i = 0; child->ops.output && i < 2; i++)
        if ((ours = make_pipe(&ends->fd[1 + i], false)) < 0 || open_stream(child, streams[i], ours))
            return -1;
    return 0;
}

/* Opens one terminal for all three. We use two descriptors of it, because libuv needs one handle for reading and one
 * for writing. */
static int open_terminal(struct child *child, struct child_ends *ends)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    char name[64];
    child->tty = true;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || open_stream(child, &child->out, master))
        return -1;
    if (grantpt(master) || unlockpt(master) || ptsname_r(master, name, sizeof(name)))
        return -1;
    ioctl(master, TIOCSWINSZ, &size);
    for (int i = 0; i < 3; i++)
        if ((ends->fd[i] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
            return -1;
    int input = fcntl(master, F_DUPFD_CLOEXEC, 3);
    return input < 0 ? -1 : open_input(child, input);
}

static int open_control(struct child *child, struct child_ends *ends)
{
    int pair[2];
    if (!child->ops.control)
        return 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return -1;
    ends->fd[CHILD_CONTROL_FD] = pair[1];
    child->grace_ms = GENTLE_MS;
    return open_stream(child, &child->control, pair[0]);
}

static int copy_handed(const struct process_spec *spec, struct child_ends *ends)
{
    int *to = &ends->fd[PROCESS_HANDED_FD];
    for (const int *at = spec->hand_over; at && *at >= 0; at++, to++)
        if (*at > 0 && (*to = fcntl(*at, F_DUPFD_CLOEXEC, CHILD_ENDS)) < 0)
            return -1;
    return 0;
}

static _Thread_local bool starting;
static pid_t starter;
static bool left_alone; /* this child gets no signal on our death */
static bool keeps_keyring;
static int *keyring_errno; /* shared with the child: why it got no keyring of its own and did not start */
static const int *joins;

/* If the quota is full, the kernel creates no keyring, and the child would keep the user's. A kernel without keys
 * has none to hide. A filter that refuses us these calls refuses them to the child too. */
static void leave_keyring(void)
{
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0 || errno == ENOSYS || errno == EOPNOTSUPP)
        return;
    int why = errno;
    if (why == EPERM && syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0) < 0 && errno == EPERM)
        return;
    *keyring_errno = why;
    _exit(127);
}

/* Runs in every forked child, between fork and exec. */
static void in_child(void)
{
    if (!starting)
        return;
    for (const int *at = joins; at && *at >= 0; at++)
        if (write(*at, "0", 1) < 0)
            continue; /* the limit is not available; the caller checks whether it holds */
    if (!keeps_keyring)
        leave_keyring();
    if (!left_alone)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != starter)
        raise(SIGKILL); /* the parent died before the request */
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
    void *page = mmap(NULL, sizeof(*keyring_errno), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    keyring_errno = page != MAP_FAILED ? page : NULL;
}

static int spawn(struct child *child, const struct process_spec *spec, const char *file, const struct child_ends *ends)
{
    uv_stdio_container_t stdio[CHILD_ENDS];
    for (int i = 0; i < CHILD_ENDS; i++) {
        stdio[i].flags = ends->fd[i] >= 0 ? UV_INHERIT_FD : UV_IGNORE;
        stdio[i].data.fd = ends->fd[i];
    }
    uv_process_options_t how = {
        .exit_cb = on_exited,
        .file = file,
        .args = (char **)(uintptr_t)spec->argv,
        .env = (char **)(uintptr_t)spec->env,
        .cwd = spec->cwd,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = CHILD_CONTROL_FD,
        .stdio = stdio,
    };
    for (int i = CHILD_CONTROL_FD; i < CHILD_ENDS; i++)
        if (ends->fd[i] >= 0)
            how.stdio_count = i + 1;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    if (!keyring_errno)
        return -ENOMEM;
    /* A kernel before 5.11 lacks it, and leaves descriptors without O_CLOEXEC open. */
    syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
    own_handle(child, &child->process);
    starter = getpid();
    left_alone = spec->ends_with_us || child->ops.control;
    joins = spec->join;
    keeps_keyring = spec->keep_keyring;
    *keyring_errno = 0;
    starting = true;
    int failed = uv_spawn(loop_uv(child->loop), &child->process, &how);
    starting = false;
    if (*keyring_errno) {
        waitpid(child->process.pid, NULL, 0); /* the child has ended already */
        failed = -*keyring_errno;
    }
    if (failed)
        close_handle(&child->process);
    return failed;
}

/* Undoes a failed start. No caller has seen the child yet. */
static void abandon(struct child *child)
{
    close_input(child);
    close_stream(&child->out);
    close_stream(&child->err);
    close_stream(&child->control);
    close_handle(&child->grace);
    child->freed = true;
}

struct child *child_start(struct loop *loop, const struct process_spec *spec, const struct child_ops *ops, void *data,
                          struct err *err)
{
    const char *name = spec->argv[0];
    CLEANUP(free) char *file = child_find_program(name, spec->env);
    if (!file) {
        child_not_found(err, name);
        return NULL;
    }
    struct child *child = xcalloc(1, sizeof(*child));
    child->loop = loop;
    child->ops = *ops;
    child->data = data;
    child->grace_ms = spec->gentle ? PATIENT_MS : 0;
    child->out.read_limit.after = child->err.read_limit.after = spec->calm_after;
    uv_timer_init(loop_uv(loop), &child->grace);
    own_handle(child, &child->grace);

    CLEANUP(child_ends) struct child_ends ends;
    memset(&ends, 0xff, sizeof(ends)); /* -1: none */
    int failed = 0;
    if (copy_handed(spec, &ends) ||
        (spec->open == PROCESS_PTY ? open_terminal(child, &ends) : open_pipes(child, spec, &ends)) ||
        open_control(child, &ends))
        failed = -errno;
    else
        failed = spawn(child, spec, file, &ends);
    if (failed) {
        /* A missing folder and a missing program give the same code; say which. */
        if (spec->cwd && access(spec->cwd, X_OK))
            err_set_errno(err, errno, "cannot start %s in %s", name, spec->cwd);
        else if (keyring_errno && *keyring_errno == -failed)
            err_set_errno(err, -failed,
                          "cannot start %s: cannot create a session keyring; /proc/key-users shows the quota", name);
        else
            err_set_errno(err, -failed, "cannot start %s", name);
        abandon(child);
        return NULL;
    }
    child->pid = child->process.pid;
    if (child->out.open)
        uv_read_start((uv_stream_t *)&child->out.pipe, give_buffer, on_read);
    if (child->err.open)
        uv_read_start((uv_stream_t *)&child->err.pipe, give_buffer, on_read);
    if (child->control.open)
        uv_read_start((uv_stream_t *)&child->control.pipe, give_buffer, on_read);
    return child;
}

int child_pid(const struct child *child)
{
    return child->pid;
}

void child_pause(struct child *child, bool paused)
{
    if (child->paused == paused)
        return;
    child->paused = paused;
    if (!child->out.open)
        return;
    if (paused)
        uv_read_stop((uv_stream_t *)&child->out.pipe);
    else
        uv_read_start((uv_stream_t *)&child->out.pipe, give_buffer, on_read);
    if (!paused && child->exited)
        uv_timer_start(&child->grace, on_grace_over, STREAM_GRACE_MS, 0);
}

void child_write(struct child *child, const void *bytes, size_t len)
{
    if (!child->input_open || child->input_ending || len == 0)
        return;
    struct child_write *job = xmalloc(sizeof(*job) + len);
    job->child = child;
    memcpy(job->bytes, bytes, len);
    uv_buf_t buf = {.base = job->bytes, .len = len};
    if (uv_write(&job->request, (uv_stream_t *)&child->input, &buf, 1, on_written)) {
        free(job);
        return;
    }
    child->writes++;
}

bool child_write_control(struct child *child, const void *bytes, size_t len)
{
    uv_buf_t buf = {.base = (char *)(uintptr_t)bytes, .len = len};
    return child->control.open && uv_try_write((uv_stream_t *)&child->control.pipe, &buf, 1) == (int)len;
}

size_t child_unwritten(const struct child *child)
{
    return child->input_open ? uv_stream_get_write_queue_size((const uv_stream_t *)&child->input) : 0;
}

bool child_hides_input(const struct child *child)
{
    struct termios modes;
    uv_os_fd_t master; /* both ends share the terminal's modes */
    return child->tty && child->input_open && !uv_fileno((const uv_handle_t *)&child->input, &master) &&
           !tcgetattr(master, &modes) && (modes.c_lflag & ICANON) && !(modes.c_lflag & ECHO);
}

void child_resize(struct child *child, int rows, int cols)
{
    uv_os_fd_t master;
    bool sane = rows > 0 && rows <= 1000 && cols > 0 && cols <= 1000;
    if (!sane || !child->tty || !child->input_open || uv_fileno((const uv_handle_t *)&child->input, &master))
        return;
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
    ioctl(master, TIOCSWINSZ, &size); /* the kernel sends SIGWINCH only if the size changes */
}

void child_close_stdin(struct child *child)
{
    if (child->tty) {
        child_write(child, "\x04", 1);
        return;
    }
    child->input_ending = true;
    if (child->writes == 0)
        close_input(child);
}

void child_kill(struct child *child, int signum)
{
    if (!child->exited)
        kill(-child->pid, signum);
}

static void on_left_too_long(uv_timer_t *grace)
{
    struct child *child = grace->data;
    kill(-child->pid, SIGKILL);
}

/* No callback runs after this. Kills a running child, after `limit_ms` if that is not 0. */
static void child_leave(struct child *child, unsigned limit_ms)
{
    bool runs = !child->exited;
    child->freed = true;
    if (runs && limit_ms)
        uv_timer_start(&child->grace, on_left_too_long, limit_ms, 0);
    else if (runs)
        kill(-child->pid, SIGKILL);
    if (runs)
        loop_count_dying(child->loop, 1);
    close_input(child);
    close_stream(&child->out);
    close_stream(&child->err);
    close_stream(&child->control);
    if (!(runs && limit_ms) && !uv_is_closing((uv_handle_t *)&child->grace))
        close_handle(&child->grace);
    maybe_destroy(child);
}

void child_free(struct child *child)
{
    if (child && !child->freed)
        child_leave(child, child->grace_ms);
}

int child_run_aside(struct loop *loop, const char *const *argv, const char *const *env, unsigned limit_ms)
{
    struct child *child =
        child_start(loop, &(struct process_spec){.argv = argv, .env = env}, &(struct child_ops){0}, NULL, NULL);
    if (!child)
        return -1;
    child_leave(child, limit_ms);
    return 0;
}
