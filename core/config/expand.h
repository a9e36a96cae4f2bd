#pragma once
/* "${NAME}" in a text of the config file stands for a variable of our environment, "${NAME:-instead}" for that or,
 * where it is not set or empty, for what follows: what is secret need not be in the file. Whatever comes from the
 * environment this way may be a key, wherever it stands, and is kept out of records from then on (redact.h). */

struct arena;

/* The text with the values in place, in the arena. `missing` is told of each name that is not set, which stands for
 * nothing. */
const char *config_expand(struct arena *arena, const char *text, void (*missing)(void *user, const char *name),
                          void *user);
