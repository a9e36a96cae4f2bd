/* Starts the zygote and receives the descriptors of its children. */

#include "spawn.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- starting ---- */

/* Runs in the forked process. exec replaces its memory, which held secrets, so it shares nothing with the
 * supervisor. */
static _Noreturn void become_zygote(pid_t parent, int control, int loading, const char *program, char *const *arguments,
                                    const char *workspace)
{
    CLEANUP(free) char *home = xasprintf("HOME=%s", workspace);
    CLEANUP(free) char *tmp = xasprintf("TMPDIR=%s", workspace);
    char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", home, tmp, NULL};
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int high_control = fcntl(control, F_DUPFD, 16), high_loading = fcntl(loading, F_DUPFD, 16);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid(); /* signals of the terminal go only to the supervisor */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
    if (null < 0 || high_control < 0 || high_loading < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
        dup2(high_loading, ZYGOTE_LOADING) < 0 || dup2(high_control, ZYGOTE_CONTROL) < 0 ||
        close_range(ZYGOTE_CONTROL + 1, ~0u, 0) < 0)
        _exit(1);
    execve("/proc/self/exe", arguments, environment);
    if (program)
        execve(program, arguments, environment); /* if /proc is not mounted */
    _exit(1);
}

int spawn_zygote(struct zygote_link *link, const char *program, char *const *arguments, const char *workspace,
                 struct err *err)
{
    const pid_t parent = getpid();
    int control[2], loading[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
        return err_set_errno(err, errno, "socketpair");
    if (pipe2(loading, O_CLOEXEC) < 0) {
        close(control[0]);
        close(control[1]);
        return err_set_errno(err, errno, "pipe");
    }
    link->pid = fork();
    if (link->pid == 0)
        become_zygote(parent, control[1], loading[1], program, arguments, workspace);
    close(control[1]);
    close(loading[1]);
    link->control = control[0];
    link->loading = loading[0];
    if (link->pid < 0) {
        link->pid = 0;
        err_set_errno(err, errno, "fork");
        spawn_close(link);
        return -1;
    }
    fcntl(link->control, F_SETFL, O_NONBLOCK);
    fcntl(link->loading, F_SETFL, O_NONBLOCK);
    return 0;
}

void spawn_close(struct zygote_link *link)
{
    if (link->control >= 0)
        close(link->control);
    if (link->loading >= 0)
        close(link->loading);
    link->control = link->loading = -1;
}

/* ---- messages ---- */

int spawn_ask_spare(const struct zygote_link *link)
{
    const struct control message = {.kind = CONTROL_SPARE};
    return send(link->control, &message, sizeof(message), MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int spawn_receive(const struct zygote_link *link, struct control *message, struct spare *spare)
{
    struct iovec part = {message, sizeof(*message)};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int) * HAND_COUNT)];
    } control = {0};
    struct msghdr msg = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room)};
    ssize_t len = recvmsg(link->control, &msg, MSG_CMSG_CLOEXEC);

    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (len != (ssize_t)sizeof(*message))
        return -1;
    *spare = (struct spare){0};
    struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
    if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int) * HAND_COUNT)) {
        spare->pid = message->pid;
        memcpy(spare->fds, CMSG_DATA(head), sizeof(spare->fds));
        /* Our ends are separate open files: the script's changes to its ends do not affect them. */
        for (size_t i = HAND_SCRIPT; i < HAND_COUNT; i++)
            fcntl(spare->fds[i], F_SETFL, O_NONBLOCK);
    }
    return 1;
}

void spare_close(struct spare *spare)
{
    for (size_t i = 0; spare->pid && i < HAND_COUNT; i++)
        if (spare->fds[i] >= 0)
            close(spare->fds[i]);
    *spare = (struct spare){0};
}
