/* Child processes on libuv.
 *
 * A child leads a session and so a process group of its own; signals go to the group. It is over when it has exited and
 * both streams have ended. What it left behind in its group is killed as soon as it has exited, which ends the streams
 * soon; a descendant that left the group may hold a pipe open for ever, so a moment after the exit what is in the pipes
 * is read and they count as ended.
 *
 * Pipes are real ones, not the socket pairs libuv would make: a script that writes to /dev/stderr must not fail.
 *
 * Two things must be done between fork and exec, where libuv lets nobody in. Descriptors are marked to be closed before
 * the fork, all at once, whoever opened them. And the child asks to be killed when we die from a fork handler, which
 * acts only while a child of ours is being started, and only on the thread that starts it.
 *
 * A struct proc lives until its owner has freed it and libuv has closed its handles, whichever is later. A freed child
 * is killed but not awaited here: the process handle stays open until the child has been reaped, without calling
 * anybody, and loop_free waits for it. */

#include "proc.h"
#include "loop.h"
#include "loop_meter.h"
#include "loop_private.h"
#include "mem.h"
#include "pace.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <uv.h>

/* Real time in any loop: a fake clock does not make other processes faster. */
#define STREAM_GRACE_MS 250
#define GENTLE_MS       5000 /* for who ends with the line to us */
#define DRAIN_MAX       ((size_t)1 << 20)
/* Of a child that prints more than anybody keeps: a pause for each stream that does so, for all of them together have
 * no more of us than one. */
#define CALM_MS       12
#define CALM_QUIET_MS 500 /* without another pause: it does so no more */

struct stream {
    uv_pipe_t pipe;
    struct proc *proc;
    void (*call)(void *data, const char *bytes, size_t len);
    bool open;
    bool calmed; /* not read until the pause is over */
    bool floods; /* and is counted with those that do */
    struct pace pace;
};

struct proc {
    struct loop *loop;
    uv_process_t process;
    uv_pipe_t input;
    struct stream out, err, control;
    uv_timer_t grace; /* before its end: the pauses of one that is calmed */
    void (*on_exit)(void *data, int status, int signum);
    void (*on_socket)(void *data, int fd);
    void *data;
    int handles; /* that libuv has not closed yet */
    int writes;  /* queued for stdin */
    bool input_open;
    bool tty;
    bool gentle;       /* it ends with the line to us */
    bool input_ending; /* to be closed when the writes are done */
    bool paused;
    bool exited;
    bool freed; /* by the owner: no callbacks from here on */
    bool told;  /* on_exit was called */
    int pid, status, signum;
    char buffer[65536]; /* what was just read; libuv reads one stream at a time */
};

struct write_job {
    uv_write_t request;
    struct proc *proc;
    char bytes[];
};

/* Handles */

static void maybe_destroy(struct proc *proc)
{
    if (proc->freed && proc->handles == 0)
        free(proc);
}

static void on_closed(uv_handle_t *handle)
{
    struct proc *proc = handle->data;
    proc->handles--;
    maybe_destroy(proc);
}

static void close_handle(void *handle)
{
    uv_close(handle, on_closed);
}

static void own_handle(struct proc *proc, void *handle)
{
    ((uv_handle_t *)handle)->data = proc;
    proc->handles++;
}

static void close_input(struct proc *proc)
{
    if (!proc->input_open)
        return;
    proc->input_open = false;
    close_handle(&proc->input);
}

static unsigned count_flood(struct stream *stream, bool floods)
{
    int change = (int)floods - (int)stream->floods;
    stream->floods = floods;
    return loop_count_floods(stream->proc->loop, change);
}

static void close_stream(struct stream *stream)
{
    if (!stream->open)
        return;
    count_flood(stream, false);
    stream->open = false;
    close_handle(&stream->pipe);
}

/* The end of a child */

static void maybe_tell(struct proc *proc)
{
    if (!proc->exited || proc->out.open || proc->err.open || proc->control.open || proc->freed || proc->told)
        return;
    proc->told = true;
    if (!uv_is_closing((uv_handle_t *)&proc->grace))
        close_handle(&proc->grace);
    if (proc->on_exit)
        proc->on_exit(proc->data, proc->status, proc->signum);
}

static void end_stream(struct stream *stream)
{
    struct proc *proc = stream->proc;
    if (!stream->open)
        return;
    close_stream(stream);
    if (!proc->freed)
        stream->call(proc->data, "", 0);
}

/* Takes what is in the pipe now, so that a late end of the stream loses nothing that was written in time. */
static void drain_stream(struct stream *stream)
{
    struct proc *proc = stream->proc;
    uv_os_fd_t fd;
    size_t left = DRAIN_MAX;
    while (stream->open && left && uv_fileno((uv_handle_t *)&stream->pipe, &fd) == 0) {
        ssize_t got = read(fd, proc->buffer, left < sizeof(proc->buffer) ? left : sizeof(proc->buffer));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        stream->call(proc->data, proc->buffer, (size_t)got);
        left -= (size_t)got;
    }
}

static void end_streams(struct proc *proc)
{
    if (!proc->paused) { /* else its time comes when somebody reads again */
        drain_stream(&proc->out);
        end_stream(&proc->out);
    }
    drain_stream(&proc->err);
    end_stream(&proc->err);
    drain_stream(&proc->control);
    end_stream(&proc->control);
    maybe_tell(proc);
}

static void on_grace_over(uv_timer_t *grace)
{
    LOOP_CALL("end of a child's streams", on_grace_over, end_streams(grace->data));
}

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buf);
static void on_read(uv_stream_t *pipe, ssize_t got, const uv_buf_t *buf);

static void read_on(struct stream *stream)
{
    if (!stream->calmed)
        return;
    stream->calmed = false;
    pace_go_on(&stream->pace);
    if (stream->open && !(stream == &stream->proc->out && stream->proc->paused))
        uv_read_start((uv_stream_t *)&stream->pipe, give_buffer, on_read);
}

static void on_calm_over(uv_timer_t *grace)
{
    struct proc *proc = grace->data;
    struct stream *const streams[] = {&proc->out, &proc->err};
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

/* After its end there is no more than the pipe holds. */
static void calm(struct stream *stream, size_t got)
{
    struct proc *proc = stream->proc;
    if (proc->exited || !stream->open || !pace_take(&stream->pace, got))
        return;
    stream->calmed = true;
    uv_read_stop((uv_stream_t *)&stream->pipe);
    uv_timer_start(&proc->grace, on_calm_over, (uint64_t)CALM_MS * count_flood(stream, true), 0);
}

static void take_exit(struct proc *proc, int64_t status, int signum)
{
    proc->exited = true;
    proc->status = signum ? -1 : (int)status;
    proc->signum = signum;
    kill(-proc->pid, SIGKILL);
    close_handle(&proc->process);
    close_input(proc);
    if (proc->freed) {
        if (!uv_is_closing((uv_handle_t *)&proc->grace))
            close_handle(&proc->grace);
        loop_count_dying(proc->loop, -1);
        return;
    }
    read_on(&proc->out);
    read_on(&proc->err);
    uv_timer_stop(&proc->grace);
    if (proc->out.open || proc->err.open || proc->control.open)
        uv_timer_start(&proc->grace, on_grace_over, STREAM_GRACE_MS, 0);
    maybe_tell(proc);
}

static void on_exited(uv_process_t *process, int64_t status, int signum)
{
    struct proc *proc = process->data;
    LOOP_CALL("end of a child", proc->on_exit, take_exit(proc, status, signum));
}

/* Streams */

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct proc *proc = handle->data;
    *buf = uv_buf_init(proc->buffer, sizeof(proc->buffer));
}

static void on_socket_closed(uv_handle_t *handle)
{
    free(handle);
}

/* Sockets that came along with bytes of the control line. Whatever else a child sends is closed. */
static void take_sockets(struct stream *control)
{
    struct proc *proc = control->proc;
    while (uv_pipe_pending_count(&control->pipe) > 0) {
        union {
            uv_tcp_t tcp;
            uv_pipe_t pipe;
            uv_udp_t udp;
        } *handle = xcalloc(1, sizeof(*handle));
        uv_handle_type type = uv_pipe_pending_type(&control->pipe);
        uv_os_fd_t fd;
        if (type == UV_UDP)
            uv_udp_init(loop_uv(proc->loop), &handle->udp);
        else if (type == UV_NAMED_PIPE)
            uv_pipe_init(loop_uv(proc->loop), &handle->pipe, 0);
        else
            uv_tcp_init(loop_uv(proc->loop), &handle->tcp);
        bool taken = uv_accept((uv_stream_t *)&control->pipe, (uv_stream_t *)handle) == 0;
        int copy = taken && proc->on_socket && type == UV_TCP && uv_fileno((uv_handle_t *)handle, &fd) == 0
                       ? fcntl(fd, F_DUPFD_CLOEXEC, 3)
                       : -1;
        uv_close((uv_handle_t *)handle, on_socket_closed);
        if (copy >= 0)
            proc->on_socket(proc->data, copy);
        if (!taken || proc->freed)
            break;
    }
}

static void take_read(struct stream *stream, ssize_t got, const uv_buf_t *buf)
{
    struct proc *proc = stream->proc;
    if (stream == &proc->control)
        take_sockets(stream);
    if (proc->freed)
        return;
    if (got > 0) {
        stream->call(proc->data, buf->base, (size_t)got);
        if (!proc->freed)
            calm(stream, (size_t)got);
    } else if (got < 0) {
        /* Hung up, libuv takes a short read for the last one. All of a terminal's are short, and so is the one of a
         * line that a socket came with. */
        if (proc->tty || stream == &proc->control)
            drain_stream(stream);
        end_stream(stream);
        maybe_tell(proc);
    }
}

static void on_read(uv_stream_t *pipe, ssize_t got, const uv_buf_t *buf)
{
    struct stream *stream = CONTAINER_OF(pipe, struct stream, pipe);
    LOOP_CALL("output of a child", stream->call, take_read(stream, got, buf));
}

static void on_written(uv_write_t *request, int status)
{
    (void)status; /* the exit tells */
    struct write_job *job = (struct write_job *)request;
    struct proc *proc = job->proc;
    free(job);
    proc->writes--;
    if (proc->writes == 0 && proc->input_ending)
        close_input(proc);
}

/* Starting */

/* Our end of something, into libuv's hands; it is closed when that fails. */
static int open_ours(struct proc *proc, uv_pipe_t *pipe, int ours)
{
    uv_pipe_init(loop_uv(proc->loop), pipe, pipe == &proc->control.pipe);
    own_handle(proc, pipe);
    int failed = uv_pipe_open(pipe, ours);
    if (!failed)
        return 0;
    close(ours);
    close_handle(pipe);
    errno = -failed;
    return -1;
}

static int open_stream(struct proc *proc, struct stream *stream, int ours,
                       void (*call)(void *data, const char *bytes, size_t len))
{
    stream->proc = proc;
    stream->call = call;
    stream->open = open_ours(proc, &stream->pipe, ours) == 0;
    return stream->open ? 0 : -1;
}

static int open_input(struct proc *proc, int ours)
{
    proc->input_open = open_ours(proc, &proc->input, ours) == 0;
    return proc->input_open ? 0 : -1;
}

/* The child's ends: its standard files, -1 where it gets /dev/null, the line to us and what is handed over. */
#define CHILD_ENDS (PROC_HANDED_FD + 1 + PROC_HANDED_MORE)

struct child_ends {
    int fd[CHILD_ENDS];
};

static void child_ends_cleanup(struct child_ends *ends)
{
    for (int i = 0; i < CHILD_ENDS; i++)
        if (ends->fd[i] >= 0)
            close(ends->fd[i]);
}

/* A pipe: our end is returned, the child's kept; -1 and errno. */
static int make_pipe(int *theirs, bool child_reads)
{
    uv_file ends[2];
    int failed = uv_pipe(ends, child_reads ? 0 : UV_NONBLOCK_PIPE, child_reads ? UV_NONBLOCK_PIPE : 0);
    *theirs = failed ? -1 : ends[child_reads ? 0 : 1];
    errno = -failed;
    return failed ? -1 : ends[child_reads ? 1 : 0];
}

static int open_pipes(struct proc *proc, const struct proc_options *options, struct child_ends *ends)
{
    int ours;
    if (options->want_stdin && ((ours = make_pipe(&ends->fd[0], true)) < 0 || open_input(proc, ours)))
        return -1;
    if (options->on_stdout &&
        ((ours = make_pipe(&ends->fd[1], false)) < 0 || open_stream(proc, &proc->out, ours, options->on_stdout)))
        return -1;
    if (options->on_stderr &&
        ((ours = make_pipe(&ends->fd[2], false)) < 0 || open_stream(proc, &proc->err, ours, options->on_stderr)))
        return -1;
    return 0;
}

/* One terminal for all three. We read and write it by two descriptors, for libuv has one handle for each. */
static int open_terminal(struct proc *proc, const struct proc_options *options, struct child_ends *ends)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    char name[64];
    proc->tty = true;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || open_stream(proc, &proc->out, master, options->on_stdout))
        return -1;
    if (grantpt(master) || unlockpt(master) || ptsname_r(master, name, sizeof(name)))
        return -1;
    ioctl(master, TIOCSWINSZ, &size);
    for (int i = 0; i < 3; i++)
        if ((ends->fd[i] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
            return -1;
    int input = fcntl(master, F_DUPFD_CLOEXEC, 3);
    return input < 0 ? -1 : open_input(proc, input);
}

static int open_control(struct proc *proc, const struct proc_options *options, struct child_ends *ends)
{
    int pair[2];
    if (!options->on_control)
        return 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return -1;
    ends->fd[PROC_CONTROL_FD] = pair[1];
    proc->gentle = true;
    return open_stream(proc, &proc->control, pair[0], options->on_control);
}

static int copy_handed(const struct proc_options *options, struct child_ends *ends)
{
    int *to = &ends->fd[PROC_HANDED_FD];
    if (options->hand_over > 0 && (*to = fcntl(options->hand_over, F_DUPFD_CLOEXEC, CHILD_ENDS)) < 0)
        return -1;
    for (const int *at = options->hand_more; at && *at >= 0; at++)
        if ((*++to = fcntl(*at, F_DUPFD_CLOEXEC, CHILD_ENDS)) < 0)
            return -1;
    return 0;
}

static _Thread_local bool starting;
static pid_t starter;
static bool left_alone; /* by the signal for our end */
static bool keeps_keyring;
static const int *joins;

/* In every child that is forked, between fork and exec. */
static void in_child(void)
{
    if (!starting)
        return;
    for (const int *at = joins; at && *at >= 0; at++)
        if (write(*at, "0", 1) < 0)
            continue; /* a limit that cannot be had; whoever wanted it looks whether it holds */
    if (!keeps_keyring)
        syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL); /* a kernel without keys has none to keep from it */
    if (!left_alone)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != starter)
        raise(SIGKILL); /* it died before it could be asked for */
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

static int spawn(struct proc *proc, const struct proc_options *options, const char *file, const struct child_ends *ends)
{
    uv_stdio_container_t stdio[CHILD_ENDS];
    for (int i = 0; i < CHILD_ENDS; i++) {
        stdio[i].flags = ends->fd[i] >= 0 ? UV_INHERIT_FD : UV_IGNORE;
        stdio[i].data.fd = ends->fd[i];
    }
    uv_process_options_t how = {
        .exit_cb = on_exited,
        .file = file,
        .args = (char **)(uintptr_t)options->argv,
        .env = (char **)(uintptr_t)options->env,
        .cwd = options->cwd,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = PROC_CONTROL_FD,
        .stdio = stdio,
    };
    for (int i = PROC_CONTROL_FD; i < CHILD_ENDS; i++)
        if (ends->fd[i] >= 0)
            how.stdio_count = i + 1;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    /* A kernel without it (before 5.11) leaves what was opened without care open. */
    syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
    own_handle(proc, &proc->process);
    starter = getpid();
    left_alone = options->ends_with_us || options->on_control;
    joins = options->join;
    keeps_keyring = options->keep_keyring;
    starting = true;
    int failed = uv_spawn(loop_uv(proc->loop), &proc->process, &how);
    starting = false;
    if (failed)
        close_handle(&proc->process);
    return failed;
}

/* Undoes a start that failed; nobody has seen the proc yet. */
static void abandon(struct proc *proc)
{
    close_input(proc);
    close_stream(&proc->out);
    close_stream(&proc->err);
    close_stream(&proc->control);
    close_handle(&proc->grace);
    proc->freed = true;
}

struct proc *proc_start(struct loop *loop, const struct proc_options *options, struct err *err)
{
    const char *name = options->argv[0];
    CLEANUP(free) char *file = proc_find(name, options->env);
    if (!file) {
        err_set(err, "cannot start %s: it is not in PATH", name);
        if (err)
            err->code = ENOENT;
        return NULL;
    }
    struct proc *proc = xcalloc(1, sizeof(*proc));
    proc->loop = loop;
    proc->data = options->data;
    proc->on_exit = options->on_exit;
    proc->on_socket = options->on_socket;
    proc->gentle = options->gentle;
    proc->out.pace.after = proc->err.pace.after = options->calm_after;
    uv_timer_init(loop_uv(loop), &proc->grace);
    own_handle(proc, &proc->grace);

    CLEANUP(child_ends) struct child_ends ends;
    memset(&ends, 0xff, sizeof(ends)); /* -1: none */
    int failed = 0;
    if (copy_handed(options, &ends) || (options->tty ? open_terminal : open_pipes)(proc, options, &ends) ||
        open_control(proc, options, &ends))
        failed = -errno;
    else
        failed = spawn(proc, options, file, &ends);
    if (failed) {
        /* A missing folder and a missing program give the same code; say which. */
        if (options->cwd && access(options->cwd, X_OK))
            err_set_errno(err, errno, "cannot start %s in %s", name, options->cwd);
        else
            err_set_errno(err, -failed, "cannot start %s", name);
        abandon(proc);
        return NULL;
    }
    proc->pid = proc->process.pid;
    if (proc->out.open)
        uv_read_start((uv_stream_t *)&proc->out.pipe, give_buffer, on_read);
    if (proc->err.open)
        uv_read_start((uv_stream_t *)&proc->err.pipe, give_buffer, on_read);
    if (proc->control.open)
        uv_read_start((uv_stream_t *)&proc->control.pipe, give_buffer, on_read);
    return proc;
}

int proc_pid(const struct proc *proc)
{
    return proc->pid;
}

void proc_pause(struct proc *proc, bool paused)
{
    if (proc->paused == paused)
        return;
    proc->paused = paused;
    if (!proc->out.open)
        return;
    if (paused)
        uv_read_stop((uv_stream_t *)&proc->out.pipe);
    else
        uv_read_start((uv_stream_t *)&proc->out.pipe, give_buffer, on_read);
    if (!paused && proc->exited)
        uv_timer_start(&proc->grace, on_grace_over, STREAM_GRACE_MS, 0);
}

void proc_write(struct proc *proc, const void *bytes, size_t len)
{
    if (!proc->input_open || proc->input_ending || len == 0)
        return;
    struct write_job *job = xmalloc(sizeof(*job) + len);
    job->proc = proc;
    memcpy(job->bytes, bytes, len);
    uv_buf_t buf = {.base = job->bytes, .len = len};
    if (uv_write(&job->request, (uv_stream_t *)&proc->input, &buf, 1, on_written)) {
        free(job);
        return;
    }
    proc->writes++;
}

void proc_write_control(struct proc *proc, const void *bytes, size_t len)
{
    uv_buf_t buf = {.base = (char *)(uintptr_t)bytes, .len = len};
    if (proc->control.open)
        uv_try_write((uv_stream_t *)&proc->control.pipe, &buf, 1); /* a few bytes always fit */
}

size_t proc_unwritten(const struct proc *proc)
{
    return proc->input_open ? uv_stream_get_write_queue_size((const uv_stream_t *)&proc->input) : 0;
}

bool proc_hides_input(const struct proc *proc)
{
    struct termios modes;
    uv_os_fd_t master; /* either side has the modes of both */
    return proc->tty && proc->input_open && !uv_fileno((const uv_handle_t *)&proc->input, &master) &&
           !tcgetattr(master, &modes) && (modes.c_lflag & ICANON) && !(modes.c_lflag & ECHO);
}

void proc_close_stdin(struct proc *proc)
{
    if (proc->tty) {
        proc_write(proc, "\x04", 1);
        return;
    }
    proc->input_ending = true;
    if (proc->writes == 0)
        close_input(proc);
}

void proc_kill(struct proc *proc, int signum)
{
    if (!proc->exited)
        kill(-proc->pid, signum);
}

static void on_gentle_over(uv_timer_t *grace)
{
    struct proc *proc = grace->data;
    kill(-proc->pid, SIGKILL);
}

void proc_free(struct proc *proc)
{
    if (!proc || proc->freed)
        return;
    proc->freed = true;
    bool wait = !proc->exited && proc->gentle;
    if (!proc->exited) {
        if (wait)
            uv_timer_start(&proc->grace, on_gentle_over, GENTLE_MS, 0);
        else
            kill(-proc->pid, SIGKILL);
        loop_count_dying(proc->loop, 1);
    }
    close_input(proc);
    close_stream(&proc->out);
    close_stream(&proc->err);
    close_stream(&proc->control);
    if (!wait && !uv_is_closing((uv_handle_t *)&proc->grace))
        close_handle(&proc->grace);
    maybe_destroy(proc);
}
