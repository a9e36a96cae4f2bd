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

struct event_model_info models_to_event(const struct models *models)
{
    return (struct event_model_info){
        .provider = models->now->ops->name, .name = model_of(models->now), .as = models->count ? models->name : NULL};
}
