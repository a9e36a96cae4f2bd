#include "secrets.h"
#include "base/redact.h"
#include "say.h"
#include <stdlib.h>
#include <string.h>

/* `where` is what the user wrote to name it. */
static void declare(const char *where, const char *name)
{
    const char *value = getenv(name);
    if (value && *value && !redact_add(name, value))
        say_notice("%s%s: the value has fewer than %d characters, and is not left out of what is recorded and shown", where,
                   name, REDACT_LEAST);
}

void secrets_declare(const struct options *options, const struct config *config)
{
    for (size_t i = 0; i < options->secrets.count; i++)
        declare("--secret ", options->secrets.items[i]);
    for (size_t i = 0; config && i < config->secret_count; i++)
        declare("config: secrets: ", config->secrets[i]);
    for (size_t i = 0; config && i < config->model_count; i++)
        if (config->models[i].key_env)
            declare("config: key_env: ", config->models[i].key_env);
}
