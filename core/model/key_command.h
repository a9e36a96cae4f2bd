#pragma once
/* A live model whose key a command prints. The command runs on the loop, so the screen stays usable meanwhile. It
 * starts when the model is created, and earlier requests wait for its end. After a failure, the next request runs it
 * again.
 *
 * It has no terminal. A password prompt must open its own window, or the password must be unlocked already. */

#include "live.h"

struct key_command_spec {
    const char *name;      /* of the model, for error messages */
    const char *command;   /* for the shell */
    struct live_spec live; /* without a key */
    int64_t patience_ms;   /* time limit of the command; 0: the default */
    /* Called with the key before any other code sees it; `user` is passed along. */
    void (*got)(void *user, const char *key);
    void *user;
};

/* Copies everything of the spec except `user`. Returns NULL if the spec is invalid. */
struct provider *key_command_new(struct loop *loop, struct http *http, const struct key_command_spec *spec,
                                 struct err *err) CHECKED;

#define KEY_COMMAND_BYTES_MAX 4096 /* of a command's output: more than that is not a key */
/* Reads the key from the output of a command that ended. The caller frees it; NULL and err on failure. Cuts and wipes
 * `said`. `status` is the exit status, -1 if there is none. */
char *key_command_read(const char *name, struct strbuf *said, int status, struct err *err);
