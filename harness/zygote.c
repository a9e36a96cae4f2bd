/* The zygote process: forks a child for each script and reports how the children ended. It never changes after it has
 * loaded the tools: one thread, no loop running, no script ever read. It exchanges no other messages. */

#include "zygote.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "child.h"
#include "pyhost.h"
#include "readonly_mounts.h"
#include "wire.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Children at once: those that wait, the one that runs, and those being killed. The supervisor asks for no more. */
#define CHILDREN_MAX 16

struct zygote {
    struct sandbox *sandbox;
    struct {
        pid_t pid;
        int pidfd;
    } children[CHILDREN_MAX];
    size_t count;
};

static int complain(const char *text)
{
    fprintf(stderr, "keyturn-harness: %s\n", text);
    return -1;
}

/* ---- the supervisor ---- */

static int report_spare(const struct control *message, const int *fds, size_t fd_count)
{
    struct iovec part = {(void *)(uintptr_t)message, sizeof(*message)};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int) * HAND_COUNT)];
    } control = {0};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

    if (fd_count) {
        msg.msg_control = control.room;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(head), fds, sizeof(int) * fd_count);
    }
    return sendmsg(ZYGOTE_CONTROL, &msg, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* ---- children ---- */

/* Makes pipes for a child: fds[i][0] is the end for reading. */
static int make_pipes(int fds[][2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pipe2(fds[i], O_CLOEXEC) == 0)
            continue;
        while (i--) {
            close(fds[i][0]);
            close(fds[i][1]);
        }
        return -1;
    }
    return 0;
}

static int make_spare(struct zygote *zygote)
{
    enum { SCRIPT, EVENTS, OUT, ERR, PIPES };
    int fds[PIPES][2], own = getpid(), result;
    struct control message = {.kind = CONTROL_SPARE};
    if (zygote->count == CHILDREN_MAX || make_pipes(fds, PIPES) < 0)
        return -1;
    pid_t pid = pyhost_fork();
    if (pid == 0)
        child_main(zygote->sandbox, own, fds[SCRIPT][0], fds[EVENTS][1], fds[OUT][1], fds[ERR][1]);
    int pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    const int hand[HAND_COUNT] = {pidfd, fds[SCRIPT][1], fds[EVENTS][0], fds[OUT][0], fds[ERR][0]};
    message.pid = pid;
    result = pidfd < 0 ? -1 : report_spare(&message, hand, HAND_COUNT);
    for (size_t i = 0; i < PIPES; i++) {
        close(fds[i][0]);
        close(fds[i][1]);
    }
    if (pidfd >= 0) {
        zygote->children[zygote->count].pid = pid;
        zygote->children[zygote->count++].pidfd = pidfd;
    }
    return result;
}

static int reap(struct zygote *zygote, size_t index)
{
    struct control message = {.kind = CONTROL_EXITED, .pid = zygote->children[index].pid};
    if (waitpid(message.pid, &message.status, 0) < 0)
        return -1;
    close(zygote->children[index].pidfd);
    zygote->children[index] = zygote->children[--zygote->count];
    return report_spare(&message, NULL, 0);
}

/* ---- serving ---- */

static int serve(struct zygote *zygote)
{
    for (;;) {
        struct pollfd wait[1 + CHILDREN_MAX] = {{.fd = ZYGOTE_CONTROL, .events = POLLIN}};
        size_t count = zygote->count;
        for (size_t i = 0; i < count; i++)
            wait[1 + i] = (struct pollfd){.fd = zygote->children[i].pidfd, .events = POLLIN};
        if (poll(wait, 1 + count, -1) < 0 && errno != EINTR)
            return 1;
        for (size_t i = count; i--;) /* backwards, because the last entry replaces a removed one */
            if (wait[1 + i].revents && reap(zygote, i) < 0)
                return 1;
        if (wait[0].revents) {
            struct control message;
            ssize_t len = recv(ZYGOTE_CONTROL, &message, sizeof(message), 0);
            if (len <= 0)
                return 0; /* the supervisor is gone */
            if (message.kind == CONTROL_SPARE && make_spare(zygote) < 0) {
                complain(strerror(errno));
                return 1;
            }
        }
    }
}

/* Prepares the layers and reports which are in effect. */
static int prepare_layers(struct zygote *zygote, const struct zygote_options *options)
{
    CLEANUP(strbuf) struct strbuf record = STRBUF_INIT;
    struct sandbox_options layers = options->sandbox;
    struct err err = ERR_INIT;
    layers.readonly = !options->no_readonly && mounts_make_readonly(layers.workspace, options->tools);
    layers.no_devices = !options->no_readonly && mounts_devices_open();
    zygote->sandbox = sandbox_prepare(&layers, &err);
    if (!zygote->sandbox)
        return complain(err.text);
    if (sandbox_try(zygote->sandbox, &err) < 0 && !options->allow_degraded)
        return complain(err.text);
    strbuf_addstr(&record, "\nS");
    sandbox_describe(&record, zygote->sandbox);
    strbuf_addch(&record, '\n');
    return write(ZYGOTE_LOADING, record.buf, record.len) == (ssize_t)record.len ? 0 : -1;
}

int zygote_main(const struct zygote_options *options)
{
    struct zygote zygote = {0};
    struct pyhost_options python = {.tools = options->tools, .left_out = options->left_out};
    struct err err = ERR_INIT;
    if (prepare_layers(&zygote, options) < 0)
        return STATUS_LAYER;
    prctl(PR_SET_DUMPABLE, 0); /* not earlier: writing the id map needs a dumpable process */
    if (pyhost_start(&python, ZYGOTE_LOADING, &err) < 0) {
        complain(err.text);
        return 1;
    }
    close(ZYGOTE_LOADING);
    if (pyhost_preload(&err) < 0) {
        complain(err.text);
        return 1;
    }
    return serve(&zygote);
}
