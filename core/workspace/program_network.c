/* A program's way out: see program_network.h. */

#include "program_network.h"
#include "base/log.h"
#include "base/mem.h"
#include "network_door.h"
#include "programs_inside.h"
#include "sandbox/engines_program.h"
#include "sandbox/forwarder.h"
#include <string.h>
#include <unistd.h>

struct sum {
    char *host;
    unsigned port;
    uint64_t bytes;
};

struct program_network {
    struct programs *programs;
    struct forwarder *forwarder;
    struct network_door *door; /* NULL: the control line is enough */
    const char **visible;      /* with its folder */
    char *call;
    size_t told, sum_count;
    struct sum sums[PROGRAM_HOSTS_TOLD + 1];
};

bool program_network_on(const struct programs *programs)
{
    return programs->network.count && !programs->engine->unsafe;
}

/* ---- telling ---- */

static void tell(struct program_network *network, const char *host, unsigned port, uint64_t bytes)
{
    struct programs *programs = network->programs;
    if (programs->connected)
        programs->connected(programs->connected_user, network->call, host, port, (int64_t)bytes);
}

/* The last row is for whatever has none. */
static void add_up(struct program_network *network, const struct forwarder_connection *connection)
{
    size_t i = 0;
    while (i < network->sum_count && i < PROGRAM_HOSTS_TOLD &&
           (network->sums[i].port != connection->port || strcmp(network->sums[i].host, connection->host) != 0))
        i++;
    if (i == network->sum_count) {
        bool other = i == PROGRAM_HOSTS_TOLD;
        network->sums[network->sum_count++] = (struct sum){
            .host = xstrdup(other ? PROGRAM_OTHER_HOSTS : connection->host), .port = other ? 0 : connection->port};
    }
    network->sums[i].bytes += connection->sent + connection->received;
}

static void on_closed(void *user, const struct forwarder_connection *connection)
{
    struct program_network *network = user;
    if (network->told++ < PROGRAM_CONNECTIONS_TOLD)
        tell(network, connection->host, connection->port, connection->sent + connection->received);
    else
        add_up(network, connection);
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
    network->forwarder = forwarder_new(programs->loop, &programs->network,
                                       &(struct forwarder_listener){.closed = on_closed, .user = network});
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
    for (size_t i = 0; i < network->sum_count; i++) {
        tell(network, network->sums[i].host, network->sums[i].port, network->sums[i].bytes);
        free(network->sums[i].host);
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
