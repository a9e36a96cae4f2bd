#pragma once
/* keyturn replay --execute and --check. */

struct options;

int replay_run(const struct options *options, const char *file);
