#pragma once
/* The models of a session: the one that is asked now, and those that were asked before it. A model that is no longer
 * asked may still be answering, so none goes before the session does. */

#include "event/event.h"
#include "model/provider.h"

struct strbuf;

/* Who makes models by the names that people gave them. */
struct model_source {
    struct provider *(*open)(struct model_source *source, const char *name, struct err *err);
};

struct models {
    struct provider *now;
    struct provider **opened; /* by us, and ours to free */
    size_t count, room;
    char *name; /* by which people know the one that is asked now; NULL: by none */
};

/* The first one is not taken over. */
void models_init(struct models *models, struct provider *first, const char *name);
void models_release(struct models *models);
/* From now on `name` is asked. -1 and why not: then nothing has changed. */
int models_switch(struct models *models, struct model_source *source, const char *name, struct err *err) CHECKED;
/* The model that is asked now, and the name it was changed to by, if it was. */
struct event_model_info models_to_event(const struct models *models);
