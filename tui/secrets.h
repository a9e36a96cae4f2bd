#pragma once
/* Which values must not be recorded or shown: the program's set of secrets (base/redact.h) is filled here. */

#include "config/config.h"
#include "options.h"

/* What --secret names, what the config file lists under "secrets", and the keys of its models. Values that are too
 * short to be looked for are told once. `config` may be NULL. */
void secrets_declare(const struct options *options, const struct config *config);
