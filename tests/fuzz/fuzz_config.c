/* Fuzzes config files: no crash, and each error has a line number and one line of text. An accepted file is complete:
 * every model has a provider, every breakpoint a value. */

#include "base/mem.h"
#include "config/config.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    long lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    struct config *config = config_parse((const char *)data, size, &err);
    if (!config) {
        if (err.line < 1 || err.line > lines || !err.text[0])
            BUG("line %ld of %ld: \"%s\"", err.line, lines, err.text);
        return 0;
    }
    for (size_t i = 0; i < config->model_count; i++)
        if (!config->models[i].provider || config->models[i].line < 1 || config->models[i].line > lines ||
            !config_model(config, config->models[i].name))
            BUG("model %zu is not whole", i);
    for (size_t i = 0; i < config->breakpoint_count; i++)
        if (!strchr(config->breakpoints[i], '='))
            BUG("breakpoint %zu is none", i);
    config_nearest_model(config, "model");
    config_free(config);
    return 0;
}
