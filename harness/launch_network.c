/* Opens the one way out of a network namespace (see launch.h). The host accepts on the socket itself, so no process in
 * the sandbox forwards its bytes. */

#include "launch.h"
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128

/* Brings the loopback interface up if the engine did not and we may. If it stays down, connecting fails with an
 * error. */
static void raise_loopback(int fd)
{
    struct ifreq request = {.ifr_name = "lo"};
    if (ioctl(fd, SIOCGIFFLAGS, &request) || (request.ifr_flags & IFF_UP))
        return;
    request.ifr_flags |= IFF_UP;
    ioctl(fd, SIOCSIFFLAGS, &request);
}

static int listen_here(int fd, int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    raise_loopback(fd);
    if (bind(fd, (struct sockaddr *)&address, len) || listen(fd, BACKLOG) ||
        getsockname(fd, (struct sockaddr *)&address, &len))
        return -1;
    *port = ntohs(address.sin_port);
    return 0;
}

static int send_socket(int control, int fd, int port)
{
    char text[32];
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } along = {.room = {0}};
    struct iovec line = {.iov_base = text, .iov_len = (size_t)snprintf(text, sizeof(text), "network %d\n", port)};
    struct msghdr message = {
        .msg_iov = &line, .msg_iovlen = 1, .msg_control = along.room, .msg_controllen = sizeof(along.room)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    ssize_t sent;
    do
        sent = sendmsg(control, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)line.iov_len ? 0 : -1;
}

/* Returns the port; 0 with errno on failure. */
static int open_port(int control)
{
    int port = 0, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool open = fd >= 0 && listen_here(fd, &port) == 0 && send_socket(control, fd, port) == 0;
    int code = errno;
    if (fd >= 0)
        close(fd); /* the host has the socket now; no process here may accept */
    errno = code;
    return open ? port : 0;
}

static int reach(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address))) {
        int code = errno;
        close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

/* ---- the program's variables ---- */

/* All of them name the HTTP proxy, because libraries without SOCKS fail on its scheme. SOCKS is on the same port. */
static const char *const proxies[] = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
                                      "http_proxy", "https_proxy", "all_proxy"};
#define PROXIES (sizeof(proxies) / sizeof(*proxies))

static bool is_proxy(const char *entry)
{
    for (size_t i = 0; i < PROXIES; i++) {
        size_t len = strlen(proxies[i]);
        if (strncmp(entry, proxies[i], len) == 0 && entry[len] == '=')
            return true;
    }
    return false;
}

static char **name_port(char **environment, int port)
{
    size_t count = 0, kept = 0;
    while (environment[count])
        count++;
    char **own = calloc(count + PROXIES + 1, sizeof(*own));
    if (!own)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_proxy(environment[i])) /* any other proxy is unreachable from here */
            own[kept++] = environment[i];
    for (size_t i = 0; i < PROXIES; i++)
        if (asprintf(&own[kept++], "%s=http://127.0.0.1:%d", proxies[i], port) < 0)
            return NULL;
    return own;
}

int launch_network(char ***environment, int control, const char *path)
{
    int line = path ? reach(path) : control;
    int port = line < 0 ? 0 : open_port(line), code = errno;
    if (path && line >= 0)
        close(line);
    errno = code;
    if (!port)
        return -1;
    char **named = name_port(*environment, port);
    if (named)
        *environment = named;
    return named ? 0 : -1;
}
