/* The network of a program: its variables and certificates, the forwarder, and the socket over which keyturn-launch
 * hands its port to us where it has no control connection (program_network.h).
 *
 *     keyturn-net-XXXXXX       0700: no other user of this machine can enter
 *     keyturn-net-XXXXXX/in    visible to the program
 *     keyturn-net-XXXXXX/in/s  the socket */

#include "program_network.h"
#include "base/file.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "event/emitter.h"
#include "programs_internal.h"
#include "sandbox/engines_program.h"
#include "sandbox/forwarder.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct host {
    char *name;
    unsigned port;
    bool summed;    /* further connections were not recorded one by one … */
    uint64_t bytes; /* … and these are their bytes */
};

struct program_network {
    struct programs *programs;
    struct forwarder *forwarder;
    struct network_door *door; /* NULL: the control connection is enough */
    const char **visible;      /* includes the folder of the door */
    char *call;
    size_t begun, told, host_count;
    struct host hosts[FORWARDER_HOSTS_MAX]; /* hosts that the program connected to */
};

bool program_network_on(const struct programs *programs)
{
    return programs->network.count && !programs->engine->unsafe;
}

/* ---- recording ---- */

static void record(struct program_network *network, const char *host, unsigned port, uint64_t bytes)
{
    emit(network->programs->emitter,
         &(struct event){
             .type = EVENT_NETWORK_CONNECTED,
             .network_connected = {.call = network->call, .host = host, .port = port, .bytes = (int64_t)bytes}});
}

/* NULL: no connection to it yet. */
static struct host *find_host(struct program_network *network, const struct forwarder_connection *connection)
{
    for (size_t i = 0; i < network->host_count; i++)
        if (network->hosts[i].port == connection->port && strcmp(network->hosts[i].name, connection->host) == 0)
            return &network->hosts[i];
    return NULL;
}

/* Records the host before any byte goes out, so that the journal has it even if Keyturn crashes. The forwarder never
 * has more hosts than fit here. */
static void on_program_network_connected(void *user, const struct forwarder_connection *connection)
{
    struct program_network *network = user;
    bool first = !find_host(network, connection);
    if (first && network->host_count < COUNT_OF(network->hosts))
        network->hosts[network->host_count++] =
            (struct host){.name = xstrdup(connection->host), .port = connection->port};
    if (network->begun++ < PROGRAM_CONNECTIONS_TOLD || first)
        record(network, connection->host, connection->port, 0);
}

static void on_program_network_closed(void *user, const struct forwarder_connection *connection)
{
    struct program_network *network = user;
    struct host *host = find_host(network, connection);
    uint64_t bytes = connection->sent + connection->received;
    if (network->told++ < PROGRAM_CONNECTIONS_TOLD || !host) {
        record(network, connection->host, connection->port, bytes);
        return;
    }
    host->summed = true;
    host->bytes += bytes;
}

static void on_taken(void *user, int fd)
{
    program_network_take(user, fd);
}

static const char *network_door_folder(const struct network_door *door);
static struct network_door *network_door_open(struct loop *loop, void (*taken)(void *user, int fd), void *user,
                                              struct err *err) CHECKED;
static const char *network_door_socket(const struct network_door *door);
static void network_door_free(struct network_door *door);

static int open_door(struct program_network *network, struct program_vector *vector, struct err *err)
{
    size_t count = 0;
    network->door = network_door_open(network->programs->loop, on_taken, network, err);
    if (!network->door)
        return -1;
    while (vector->visible && vector->visible[count])
        count++;
    network->visible = xcalloc(count + 2, sizeof(*network->visible));
    if (count)
        memcpy(network->visible, vector->visible, count * sizeof(*network->visible));
    network->visible[count] = network_door_folder(network->door);
    vector->visible = network->visible;
    vector->network_door = network_door_socket(network->door);
    return 0;
}

struct program_network *program_network_new(struct programs *programs, const char *call, struct program_vector *vector,
                                            struct err *err)
{
    struct program_network *network = xcalloc(1, sizeof(*network));
    network->programs = programs;
    network->call = call ? xstrdup(call) : NULL;
    network->forwarder = forwarder_new(programs->loop, &programs->network,
                                       &(struct forwarder_listener){.connected = on_program_network_connected,
                                                                    .closed = on_program_network_closed,
                                                                    .user = network});
    if (!programs->engine->program->control && open_door(network, vector, err)) {
        program_network_free(network);
        return NULL;
    }
    return network;
}

void program_network_take(struct program_network *network, int take_fd)
{
    struct err err = ERR_INIT;
    if (forwarder_listen(network->forwarder, take_fd, &err))
        log_warn("network of a program: %s", err.text);
}

void program_network_free(struct program_network *network)
{
    if (!network)
        return;
    forwarder_free(network->forwarder);
    for (size_t i = 0; i < network->host_count; i++) {
        if (network->hosts[i].summed)
            record(network, network->hosts[i].name, network->hosts[i].port, network->hosts[i].bytes);
        free(network->hosts[i].name);
    }
    network_door_free(network->door);
    free(network->visible);
    free(network->call);
    free(network);
}

/* ---- variables and certificates ---- */

static bool has(char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return true;
    return false;
}

char **program_network_variables(const struct network_rules *rules, char **take_env)
{
    static const char *const names[] = {"NO_PROXY", "no_proxy"};
    const char *own = network_rules_name_loopback(rules) ? "" : "localhost,127.0.0.1,::1";
    size_t count = 0;
    while (take_env[count])
        count++;
    char **env = xreallocarray(take_env, count + COUNT_OF(names) + 1, sizeof(*env));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!has(env, names[i])) {
            env[count++] = xasprintf("%s=%s", names[i], own);
            env[count] = NULL;
        }
    return env;
}

/* Certificates of Debian, Fedora and Arch. Never all of /etc/ssl, because it has private keys that root could read. */
char **program_network_visible(const char *const *visible)
{
    static const char *const folders[] = {"/etc/ssl/certs", "/etc/pki/ca-trust/extracted", "/etc/pki/tls/certs",
                                          "/etc/ca-certificates/extracted"};
    size_t count = 0;
    while (visible && visible[count])
        count++;
    char **all = xcalloc(count + COUNT_OF(folders) + 1, sizeof(*all));
    for (size_t i = 0; i < count; i++)
        all[i] = xstrdup(visible[i]);
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        if (access(folders[i], R_OK | X_OK) == 0)
            all[count++] = xstrdup(folders[i]);
    return all;
}

/* ---- the socket of a launcher ---- */

/* Lets a launcher pass its listening socket if its engine passes no descriptors on (docker): a Unix socket in a
 * folder of ours that is visible inside. The first to connect is the launcher, because the program starts only after
 * that. The door accepts one connection, and then removes the folder. The head of this file shows the folder. */
struct network_door {
    struct loop *loop;
    char *around, *folder, *socket;
    int listening, launcher;
    struct loop_watch *watch;
    void (*taken)(void *user, int fd);
    void *user;
};

/* Closes the socket to others and removes its folder. */
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
        log_warn("cannot remove the folder of a socket: %s", err.text);
    free(steal(&door->around));
}

/* Returns the first descriptor that was passed and closes others. -1: none. */
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

/* Any user inside may connect, because the folder around the socket keeps other users of this machine out. */
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
        return err_set_errno(err, errno, "cannot create the socket %s", door->socket);
    return 0;
}

/* `taken` gets the socket and must close it. Called from the loop, at most once. */
static struct network_door *network_door_open(struct loop *loop, void (*taken)(void *user, int fd), void *user,
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

/* The folder that must be visible inside at the same path, and its socket. */
static const char *network_door_folder(const struct network_door *door)
{
    return door->folder;
}

static const char *network_door_socket(const struct network_door *door)
{
    return door->socket;
}

/* NULL is fine. */
static void network_door_free(struct network_door *door)
{
    if (!door)
        return;
    shut(door);
    free(door->folder);
    free(door->socket);
    free(door);
}
