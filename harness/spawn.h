#pragma once
/* Starts the zygote and receives the spare children it makes. */

#include "base/err.h"
#include "wire.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A child that waits for its script: its process and our non-blocking ends of its pipes. */
struct spare {
    pid_t pid; /* 0: no spare */
    int fds[HAND_COUNT];
};

struct zygote_link {
    pid_t pid;            /* 0: not running */
    int control, loading; /* -1: closed */
};

/* Starts this program again as the zygote, with a clean environment and only its own descriptors. Its working folder is
 * that of the scripts. `program` is the program's path, for machines without /proc; NULL: unknown. */
int spawn_zygote(struct zygote_link *link, const char *program, char *const *arguments, const char *workspace,
                 struct err *err) CHECKED;
void spawn_close(struct zygote_link *link);

int spawn_ask_spare(const struct zygote_link *link);
/* Receives one message. Returns 1 with the message and the spare that came with it, 0 if none waits, -1 if the zygote
 * is gone. */
int spawn_receive(const struct zygote_link *link, struct control *message, struct spare *spare);
void spare_close(struct spare *spare);
