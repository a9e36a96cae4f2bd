#pragma once
/* keyturn doctor's part about tool servers: each is really started, and says what it offers or why not. */

#include "config/config.h"

enum servers_word { SERVERS_FINE, SERVERS_LACKING /* a tool that is left out */, SERVERS_FAILED };

struct servers_report {
    /* A line for people: `what` it is about ("tool server", "tool"), and what there is to say. */
    void (*tell)(void *user, enum servers_word word, const char *what, const char *text);
    void *user;
};
void servers_try(const struct config *config, const struct servers_report *report);
/* How long that may take. */
#define SERVERS_PATIENCE_S 30
