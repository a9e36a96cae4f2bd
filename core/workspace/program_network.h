#pragma once
/* The network of a program: the forwarder (sandbox/forwarder.h) behind the port that keyturn-launch opens, and the
 * record of its connections. */

#include "base/err.h"
#include "sandbox/forwarder_rules.h"
#include <stdbool.h>

struct program_network;
struct program_vector;
struct programs;

/* Connections of one program that are recorded one by one: with 0 bytes before any byte goes out, and with all bytes
 * when the connection ends. Of further connections, the first to a host is also recorded before any byte goes out.
 * Their bytes are summed up by host when the program ends. */
#define PROGRAM_CONNECTIONS_TOLD 100

/* True if these programs have a network that Keyturn forwards. */
bool program_network_on(const struct programs *programs);
/* Creates the network for the program of that vector, and adds to the vector where its launcher passes the port
 * over. The vector must not outlive the result. `call`: the call of the program; NULL: none. */
struct program_network *program_network_new(struct programs *programs, const char *call, struct program_vector *vector,
                                            struct err *err) CHECKED;
/* Takes the socket on which the program's launcher listens. */
void program_network_take(struct program_network *network, int take_fd);
/* Ends all connections and records what is not recorded yet. NULL is fine. */
void program_network_free(struct program_network *network);

/* Adds NO_PROXY, the hosts to reach without the forwarder: the program's own loopback, unless the rules list this
 * machine's loopback. Takes the list and returns a longer one. */
char **program_network_variables(const struct network_rules *rules, char **take_env);
/* The existing folders of this machine that https needs, after `visible`; NULL-terminated, free with argv_free. */
char **program_network_visible(const char *const *visible);
