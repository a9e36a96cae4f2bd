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
#include "loop_private.h"
#include "mem.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <uv.h>

/* Real time in any loop: a fake clock does not make other processes faster. */
#define STREAM_GRACE_MS 250
#define DRAIN_MAX       ((size_t)1 << 20)

struct stream {
    uv_pipe_t pipe;
    struct proc *proc;
    void (*call)(void *data, const char *bytes, size_t len);
    bool open;
};

struct proc {
    struct loop *loop;
    uv_process_t process;
    uv_pipe_t input;
    struct stream out, err;
    uv_timer_t grace;
    void (*on_exit)(void *data, int status, int signum);
    void *data;
    int handles; /* that libuv has not closed yet */
    int writes;  /* queued for stdin */
    bool input_open;
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

static void close_stream(struct stream *stream)
{
    if (!stream->open)
        return;
    stream->open = false;
    close_handle(&stream->pipe);
}

/* The end of a child */

static void maybe_tell(struct proc *proc)
{
    if (!proc->exited || proc->out.open || proc->err.open || proc->freed || proc->told)
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

static void on_grace_over(uv_timer_t *grace)
{
    struct proc *proc = grace->data;
    if (!proc->paused) { /* else its time comes when somebody reads again */
        drain_stream(&proc->out);
        end_stream(&proc->out);
    }
    drain_stream(&proc->err);
    end_stream(&proc->err);
    maybe_tell(proc);
}

static void on_exited(uv_process_t *process, int64_t status, int signum)
{
    struct proc *proc = process->data;
    proc->exited = true;
    proc->status = signum ? -1 : (int)status;
    proc->signum = signum;
    kill(-proc->pid, SIGKILL);
    close_handle(process);
    close_input(proc);
    if (proc->freed) {
        loop_count_dying(proc->loop, -1);
        return;
    }
    if (proc->out.open || proc->err.open)
        uv_timer_start(&proc->grace, on_grace_over, STREAM_GRACE_MS, 0);
    maybe_tell(proc);
}

/* Streams */

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct proc *proc = handle->data;
    *buf = uv_buf_init(proc->buffer, sizeof(proc->buffer));
}

static void on_read(uv_stream_t *pipe, ssize_t got, const uv_buf_t *buf)
{
    struct proc *proc = pipe->data;
    struct stream *stream = pipe == (uv_stream_t *)&proc->out.pipe ? &proc->out : &proc->err;
    if (got > 0) {
        stream->call(proc->data, buf->base, (size_t)got);
    } else if (got < 0) {
        end_stream(stream);
        maybe_tell(proc);
    }
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

/* Entries of PATH that are not absolute are passed over: they would run whatever lies in the folder the child starts
 * in.
 */
char *proc_find(const char *name, const char *const *env)
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

/* A pipe with our end, in libuv's hands, and the child's, which is returned; -1 and errno. */
static int make_pipe(struct proc *proc, uv_pipe_t *pipe, bool child_reads)
{
    uv_file ends[2];
    int failed = uv_pipe(ends, child_reads ? 0 : UV_NONBLOCK_PIPE, child_reads ? UV_NONBLOCK_PIPE : 0);
    if (!failed) {
        int ours = ends[child_reads ? 1 : 0];
        int theirs = ends[child_reads ? 0 : 1];
        uv_pipe_init(loop_uv(proc->loop), pipe, 0);
        own_handle(proc, pipe);
        failed = uv_pipe_open(pipe, ours);
        if (!failed)
            return theirs;
        close(ours);
        close(theirs);
        close_handle(pipe);
    }
    errno = -failed;
    return -1;
}

static int open_stream(struct proc *proc, struct stream *stream,
                       void (*call)(void *data, const char *bytes, size_t len))
{
    stream->proc = proc;
    stream->call = call;
    int fd = make_pipe(proc, &stream->pipe, false);
    stream->open = fd >= 0;
    return fd;
}

/* The child's ends of its pipes; -1 where it gets /dev/null. */
struct child_ends {
    int fd[3];
};

static void child_ends_cleanup(struct child_ends *ends)
{
    for (int i = 0; i < 3; i++)
        if (ends->fd[i] >= 0)
            close(ends->fd[i]);
}

static int open_pipes(struct proc *proc, const struct proc_options *options, struct child_ends *ends)
{
    if (options->want_stdin) {
        ends->fd[0] = make_pipe(proc, &proc->input, true);
        proc->input_open = ends->fd[0] >= 0;
        if (!proc->input_open)
            return -1;
    }
    if (options->on_stdout && (ends->fd[1] = open_stream(proc, &proc->out, options->on_stdout)) < 0)
        return -1;
    if (options->on_stderr && (ends->fd[2] = open_stream(proc, &proc->err, options->on_stderr)) < 0)
        return -1;
    return 0;
}

static _Thread_local bool starting;
static pid_t starter;

/* In every child that is forked, between fork and exec. */
static void in_child(void)
{
    if (!starting)
        return;
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
    uv_stdio_container_t stdio[3];
    for (int i = 0; i < 3; i++) {
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
        .stdio_count = 3,
        .stdio = stdio,
    };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    /* A kernel without it (before 5.11) leaves what was opened without care open. */
    syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
    own_handle(proc, &proc->process);
    starter = getpid();
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
    uv_timer_init(loop_uv(loop), &proc->grace);
    own_handle(proc, &proc->grace);

    CLEANUP(child_ends) struct child_ends ends = {{-1, -1, -1}};
    int failed = open_pipes(proc, options, &ends) ? -errno : spawn(proc, options, file, &ends);
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

void proc_close_stdin(struct proc *proc)
{
    proc->input_ending = true;
    if (proc->writes == 0)
        close_input(proc);
}

void proc_kill(struct proc *proc, int signum)
{
    if (!proc->exited)
        kill(-proc->pid, signum);
}

void proc_free(struct proc *proc)
{
    if (!proc || proc->freed)
        return;
    proc->freed = true;
    if (!proc->exited) {
        kill(-proc->pid, SIGKILL);
        loop_count_dying(proc->loop, 1);
    }
    close_input(proc);
    close_stream(&proc->out);
    close_stream(&proc->err);
    if (!uv_is_closing((uv_handle_t *)&proc->grace))
        close_handle(&proc->grace);
    maybe_destroy(proc);
}

/* Aside */

struct aside {
    uv_timer_t limit;
    struct loop *loop;
    struct proc *proc;
};

static void on_limit_closed(uv_handle_t *limit)
{
    struct aside *aside = limit->data;
    loop_count_dying(aside->loop, -1);
    free(aside);
}

static void end_aside(struct aside *aside)
{
    proc_free(aside->proc);
    uv_close((uv_handle_t *)&aside->limit, on_limit_closed);
}

static void on_aside_over(uv_timer_t *limit)
{
    end_aside(limit->data);
}

static void on_aside_exit(void *data, int status, int signum)
{
    (void)status;
    (void)signum;
    end_aside(data);
}

int proc_run_aside(struct loop *loop, const char *const *argv, const char *const *env, unsigned limit_ms)
{
    struct aside *aside = xcalloc(1, sizeof(*aside));
    aside->loop = loop;
    struct proc_options options = {.argv = argv, .env = env, .on_exit = on_aside_exit, .data = aside};
    aside->proc = proc_start(loop, &options, NULL);
    if (!aside->proc) {
        free(aside);
        return -1;
    }
    uv_timer_init(loop_uv(loop), &aside->limit);
    aside->limit.data = aside;
    uv_timer_start(&aside->limit, on_aside_over, limit_ms, 0);
    loop_count_dying(loop, 1);
    return 0;
}
