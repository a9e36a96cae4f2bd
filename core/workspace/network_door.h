#pragma once
/* How a launcher hands its listening socket over where its engine passes no descriptor on (docker): a Unix socket in a
 * folder of ours, which is visible inside. The first to connect is the launcher, for the program does not run before it
 * has; it is heard once, and then the folder is gone. */

#include "base/err.h"

struct loop;
struct network_door;

/* `taken` gets the socket, its own to close; from the loop, once at most. */
struct network_door *network_door_open(struct loop *loop, void (*taken)(void *user, int fd), void *user,
                                       struct err *err) CHECKED;
/* The folder that must be visible inside at the same path, and the socket in it. */
const char *network_door_folder(const struct network_door *door);
const char *network_door_socket(const struct network_door *door);
void network_door_free(struct network_door *door); /* NULL: nothing */
