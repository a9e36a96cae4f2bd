/* A program's way out: see program_network.h. */

#include "program_network.h"
#include "base/log.h"
#include "base/mem.h"
#include "event/emitter.h"
#include "network_door.h"
#include "programs_inside.h"
#include "sandbox/engines_program.h"
#include "sandbox/forwarder.h"
#include <string.h>
#include <unistd.h>

struct host {
    char *name;
    unsigned port;
    bool summed;    /* connections of it were not told one by one, */
    uint64_t bytes; /* and these are theirs */
};

struct program_network {
    struct programs *programs;
    struct forwarder *forwarder;
    struct network_door *door; /* NULL: the control line is enough */
    const char **visible;      /* with its folder */
    char *call;
    size_t begun, told, host_count;
    struct host hosts[FORWARDER_HOSTS_MAX]; /* that it connected to */
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

/* NULL: there was none. */
static struct host *find_host(struct program_network *network, const struct forwarder_connection *connection)
{
    for (size_t i = 0; i < network->host_count; i++)
        if (network->hosts[i].port == connection->port && strcmp(network->hosts[i].name, connection->host) == 0)
            return &network->hosts[i];
    return NULL;
}

/* Before any byte goes out: whatever happens to us, who was talked to is in the record. The forwarder has no more hosts
 * than fit. */
static void on_connected(void *user, const struct forwarder_connection *connection)
{
    struct program_network *network = user;
    bool first = !find_host(network, connection);
    if (first && network->host_count < COUNT_OF(network->hosts))
        network->hosts[network->host_count++] =
            (struct host){.name = xstrdup(connection->host), .port = connection->port};
    if (network->begun++ < PROGRAM_CONNECTIONS_TOLD || first)
        record(network, connection->host, connection->port, 0);
}

static void on_closed(void *user, const struct forwarder_connection *connection)
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
    network->forwarder =
        forwarder_new(programs->loop, &programs->network,
                      &(struct forwarder_listener){.connected = on_connected, .closed = on_closed, .user = network});
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

/* ---- what goes with it ---- */

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

/* Certificates of Debian, Fedora and Arch; never /etc/ssl whole, which has private keys that root could read. */
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
