#pragma once
/* A program's way out: the forwarder (sandbox/forwarder.h) behind the port that keyturn-launch opens for it, and what
 * is told of its connections. */

#include "sandbox/forwarder_rules.h"
#include <stdbool.h>

struct program_network;
struct program_vector;
struct programs;

/* Of one program, one by one: with 0 bytes before any goes out, and with all of them when the connection ends. Of the
 * rest the first to a host is told before any byte goes out too, and their bytes are summed up by host when the program
 * ends. */
#define PROGRAM_CONNECTIONS_TOLD 100

/* Whether programs of these have a network that we forward. */
bool program_network_on(const struct programs *programs);
/* For the program of that vector, which is told where its launcher hands the port over; it must not outlive what comes
 * back. `call`: what the program belongs to; NULL: nothing. */
struct program_network *program_network_new(struct programs *programs, const char *call, struct program_vector *vector,
                                            struct err *err) CHECKED;
/* The socket that the program's launcher listens on. */
void program_network_take(struct program_network *network, int take_fd);
/* Ends all connections, and tells what was not told yet. NULL: nothing. */
void program_network_free(struct program_network *network);

/* The program's variables, with what says which hosts it reaches without the forwarder: its own loopback, unless the
 * list means this machine's by it. Takes the list and gives a longer one. */
char **program_network_variables(const struct network_rules *rules, char **take_env);
/* The folders of this machine that https needs, of those that are there; NULL-terminated, argv_free. */
char **program_network_visible(const char *const *visible);
