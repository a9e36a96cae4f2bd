/* A Unix socket for one launcher: see network_door.h.
 *
 *     keyturn-net-XXXXXX       0700: no other user of this machine gets here
 *     keyturn-net-XXXXXX/in    shown to the program, whoever it is inside
 *     keyturn-net-XXXXXX/in/s  the socket */

#include "network_door.h"
#include "base/file.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

struct network_door {
    struct loop *loop;
    char *around, *folder, *socket;
    int listening, launcher;
    struct loop_watch *watch;
    void (*taken)(void *user, int fd);
    void *user;
};

/* Nobody else gets in, and nothing of it is left. */
static void shut(struct network_door *door)
{
    loop_watch_free(steal(&door->watch));
    if (door->listening >= 0)
        close(door->listening);
    if (door->launcher >= 0)
        close(door->launcher);
    door->listening = door->launcher = -1;
    struct err err = ERR_INIT;
    if (door->around && file_remove_tree(door->around, &err))
        log_warn("a folder for a socket stays: %s", err.text);
    free(steal(&door->around));
}

/* The first descriptor that came along; others are closed. -1: none. */
static int receive_socket(int from)
{
    char line[64];
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(4 * sizeof(int))];
    } along;
    struct iovec text = {.iov_base = line, .iov_len = sizeof(line)};
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = along.room, .msg_controllen = sizeof(along.room)};
    int found = -1;
    if (recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) <= 0)
        return -1;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(head) + i * sizeof(fd), sizeof(fd));
            if (found < 0)
                found = fd;
            else
                close(fd);
        }
    }
    return found;
}

static void on_said(void *data)
{
    struct network_door *door = data;
    int fd = receive_socket(door->launcher);
    shut(door);
    if (fd >= 0)
        door->taken(door->user, fd);
}

static void on_knock(void *data)
{
    struct network_door *door = data;
    door->launcher = accept4(door->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (door->launcher < 0)
        return;
    loop_watch_free(door->watch);
    door->watch = loop_watch_fd(door->loop, door->launcher, on_said, door);
    close(door->listening);
    door->listening = -1;
}

/* Whoever it is inside: the folder around it keeps others of this machine out. */
static int listen_at(struct network_door *door, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(door->socket) >= sizeof(address.sun_path))
        return err_set(err, "the path %s is too long for a socket (set TMPDIR to a shorter one)", door->socket);
    memcpy(address.sun_path, door->socket, strlen(door->socket));
    door->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (mkdir(door->folder, 0755) || chmod(door->folder, 0755) ||
        bind(door->listening, (const struct sockaddr *)&address, sizeof(address)) || chmod(door->socket, 0777) ||
        listen(door->listening, 1))
        return err_set_errno(err, errno, "cannot make the socket %s", door->socket);
    return 0;
}

struct network_door *network_door_open(struct loop *loop, void (*taken)(void *user, int fd), void *user,
                                       struct err *err)
{
    struct network_door *door = xcalloc(1, sizeof(*door));
    *door = (struct network_door){.loop = loop, .listening = -1, .launcher = -1, .taken = taken, .user = user};
    door->around = file_make_temp_dir(NULL, "keyturn-net-", err);
    if (door->around) {
        door->folder = xasprintf("%s/in", door->around);
        door->socket = xasprintf("%s/s", door->folder);
    }
    if (!door->around || listen_at(door, err)) {
        network_door_free(door);
        return NULL;
    }
    door->watch = loop_watch_fd(loop, door->listening, on_knock, door);
    return door;
}

const char *network_door_folder(const struct network_door *door)
{
    return door->folder;
}

const char *network_door_socket(const struct network_door *door)
{
    return door->socket;
}

void network_door_free(struct network_door *door)
{
    if (!door)
        return;
    shut(door);
    free(door->folder);
    free(door->socket);
    free(door);
}
