#pragma once
/* Fields of events as JSON text, for tests that compare or search them. */

#include "event/event.h"

/* Returns the JSON of a field, or NULL if it is absent. The text lives until the program ends. */
const char *event_json(const struct event *event, const char *field);
/* The same for the struct of a type. */
const char *event_body_json(enum event_type type, const void *body, const char *field);
