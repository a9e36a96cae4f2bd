#include "models.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <string.h>

void models_init(struct models *models, struct provider *first, const char *name)
{
    *models = (struct models){.now = first, .name = name ? xstrdup(name) : NULL};
}

void models_release(struct models *models)
{
    for (size_t i = 0; i < models->count; i++)
        provider_free(models->opened[i]);
    free(models->opened);
    free(models->name);
}

static const char *model_of(const struct provider *provider)
{
    return provider->ops->model(provider);
}

int models_switch(struct models *models, struct model_source *source, const char *name, struct err *err)
{
    struct provider *opened;

    if (!source)
        return err_set(err, "the model of this session cannot be changed");
    if (!name || !*name)
        return err_set(err, "say which model");
    if (models->name && strcmp(models->name, name) == 0)
        return err_set(err, "the model is %.60s already", name);
    opened = source->open(source, name, err);
    if (!opened)
        return -1;
    GROW(models->opened, models->count, models->room);
    models->opened[models->count++] = opened;
    models->now = opened;
    free(models->name);
    models->name = xstrdup(name);
    return 0;
}

void models_write(struct strbuf *out, const struct models *models)
{
    struct json_writer w = json_begin(out);

    json_open(&w, NULL, '{');
    json_add_str(&w, "provider", models->now->ops->name);
    json_add_str(&w, "name", model_of(models->now));
    if (models->count)
        json_add_str(&w, "as", models->name);
    json_close(&w, '}');
}
