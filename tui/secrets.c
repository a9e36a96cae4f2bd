#include "secrets.h"
#include "base/redact.h"
#include "model/dialect.h"
#include "say.h"
#include <stdlib.h>
#include <string.h>

/* `where` is what the user wrote to name it. */
static void declare(const char *where, const char *name)
{
    const char *value = getenv(name);
    if (value && *value && !redact_add(name, value))
        say_notice("%s%s: the value has fewer than %d characters, and is not left out of what is recorded and shown",
                   where, name, REDACT_LEAST);
}

/* The variable that holds a model's key; NULL: none does. */
static const char *key_variable(const struct config_model *model)
{
    const struct dialect *dialect = model->provider ? dialect_find(model->provider) : NULL;
    if (model->key_env)
        return model->key_env;
    return dialect && !model->key_command && !model->base_url ? dialect->usual_env : NULL;
}

void secrets_declare(const struct options *options, const struct config *config)
{
    for (size_t i = 0; i < options->secrets.count; i++) {
        const char *name = options->secrets.items[i];
        if (config && !getenv(name))
            say_notice("--secret %s: there is no such variable in the environment", name);
        declare("--secret ", name);
    }
    for (size_t i = 0; config && i < config->secret_count; i++)
        declare("config: secrets: ", config->secrets[i]);
    for (size_t i = 0; config && i < config->model_count; i++)
        if (key_variable(&config->models[i]))
            declare("key of a model: ", key_variable(&config->models[i]));
}
