#pragma once
/* Starting the zygote, and what it hands over. */

#include "base/err.h"
#include "wire.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A child that waits for its script: its process and our ends of its pipes, none of which blocks. */
struct spare {
    pid_t pid; /* 0: there is none */
    int fds[HAND_COUNT];
};

struct zygote_link {
    pid_t pid;            /* 0: none runs */
    int control, loading; /* -1: closed */
};

/* Starts this program again as the zygote: a clean environment, and no descriptor but its own. The working folder is
 * that of the scripts. `program` is where the program lies, for machines without /proc; NULL: not known. */
int spawn_zygote(struct zygote_link *link, const char *program, char *const *arguments, const char *workspace,
                 struct err *err) CHECKED;
void spawn_close(struct zygote_link *link);

int spawn_ask_spare(const struct zygote_link *link);
/* One message: 1 and the message (and the spare that came with it), 0: none waits, -1: the zygote is gone. */
int spawn_receive(const struct zygote_link *link, struct control *message, struct spare *spare);
void spare_close(struct spare *spare);
