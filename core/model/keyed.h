#pragma once
/* A live model whose key a command prints. The command runs on the loop, so that whoever sits in front of a screen can
 * use it meanwhile: it begins when the model is made, and a request that comes before its end waits for it. One that
 * failed is run again for the next request.
 *
 * It has no terminal: what must ask for a password asks in a window of its own, or was asked before. */

#include "live.h"

struct keyed_spec {
    const char *name;      /* of the model, for sentences */
    const char *command;   /* for the shell */
    struct live_spec live; /* without a key */
    int64_t patience_ms;   /* with the command; 0: the usual one */
    /* The key is known, before anybody else has it; `user` goes along. */
    void (*got)(void *user, const char *key);
    void *user;
};

/* Everything of the spec but `user` is copied. NULL when the spec makes no sense. */
struct provider *keyed_new(struct loop *loop, struct http *http, const struct keyed_spec *spec,
                           struct err *err) CHECKED;

#define KEYED_BYTES_MAX 4096 /* of what a command prints: so much is no key any more */
/* What a command that ended has printed: the key, yours, or NULL and why not. `said` is cut and wiped. `status` is the
 * exit status, -1 where there is none. */
char *keyed_read(const char *name, struct strbuf *said, int status, struct err *err);
