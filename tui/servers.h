#pragma once
/* keyturn doctor's part about tool servers: each is really started, and says what it offers or why not. */

#include "config/config.h"

/* `tell` is called with lines for people; `warn`: one of something that does not work. */
void servers_try(const struct config *config, void (*tell)(void *user, bool warn, const char *text), void *user);
